package script_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// Samples are metrics: each number of each sample is a data point, in a file and at a collector, which take them
// as they are. What grew is a sum since the first sample.
func TestExportMetrics(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program := decoder(t)
	dir := t.TempDir()
	env := append(os.Environ(), "PTRACE_STREAM=", "OTEL_RESOURCE_ATTRIBUTES=", "OTEL_SERVICE_NAME=")
	cmd := exec.Command("ptrace-run", "--sample=20ms", "-n", "job", "-o", "a.trace", "sh", "-c", "sleep 0.3; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type sample struct {
		Name    string `json:"event"`
		Sample  int
		RSS     float64
		CPU     float64 `json:"cpu_ns"`
		Threads float64
		Group   float64 `json:"group_memory"`
	}
	var samples []sample
	dump := exec.Command("ptrace-dump", "-j", "-e", "res.sample", "a.trace")
	dump.Dir, dump.Env = dir, env
	out, err := dump.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var s sample
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		samples = append(samples, s)
	}
	if len(samples) < 3 {
		t.Fatalf("%d samples", len(samples))
	}
	check := func(where string, lines []byte) {
		t.Helper()
		points := map[string][]otlpItem{}
		for _, it := range decodeOTLP(t, program, lines) {
			if it.Kind == "metric" {
				if it.Resource["service.name"] != "job" {
					t.Errorf("%s: the resource is %v", where, it.Resource)
				}
				points[it.Name] = append(points[it.Name], it)
			}
		}
		for _, want := range []struct {
			name, unit string
			sum        bool
			of         func(s *sample) float64
		}{
			{"posixtrace.memory.usage", "By", false, func(s *sample) float64 { return s.RSS }},
			{"posixtrace.thread.count", "{thread}", false, func(s *sample) float64 { return s.Threads }},
			{"posixtrace.cpu.time", "s", true, func(s *sample) float64 { return (s.CPU - samples[0].CPU) / 1e9 }},
		} {
			list := points[want.name]
			if len(list) != len(samples) {
				t.Errorf("%s: %d points of %s, %d samples", where, len(list), want.name, len(samples))
				continue
			}
			for i, p := range list {
				if p.Unit != want.unit || p.Sum != want.sum || p.Value != want.of(&samples[i]) || want.sum && p.Start != list[0].End {
					t.Errorf("%s: sample %d: %+v, want %v", where, i+1, p, want.of(&samples[i]))
				}
			}
		}
		if n := len(points["posixtrace.disk.io"]); n != 2*len(samples) {
			t.Errorf("%s: %d points of reads and writes", where, n)
		}
		if n := len(points["posixtrace.cgroup.memory.usage"]); samples[0].Group > 0 && n != len(samples) {
			t.Errorf("%s: %d points of the cgroup", where, n)
		}
	}
	lines, _ := exportOTLP(t, dir, env, "a.trace")
	check("a file", lines)

	c := newCollector(t, nil)
	c.Start()
	s := &sender{dir: dir, env: env}
	s.want(t, nil, []string{"--endpoint=" + c.URL, "--strict", "a.trace"}, 0, "^$")
	check("a collector", []byte(strings.Join(c.took(t), "\n")))

	// A server for metrics alone gets them, and a spool keeps what it does not.
	alone := newCollector(t, nil)
	alone.Start()
	s.want(t, []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + alone.URL + "/v1/metrics"}, []string{"a.trace"}, 0, `no endpoint for traces .*not sent`)
	check("a server of its own", []byte(strings.Join(alone.took(t), "\n")))
	spool := filepath.Join(dir, "spool")
	s.want(t, nil, []string{"--endpoint=http://127.0.0.1:1", "--spool=" + spool, "--timeout=100ms", "a.trace"}, 0, `batches kept in`)
	if list, _ := filepath.Glob(filepath.Join(spool, "*.metrics.json")); len(list) != 1 {
		t.Errorf("the spool has %q", list)
	}
	later := newCollector(t, nil)
	later.Start()
	s.want(t, nil, []string{"--endpoint=" + later.URL, "--spool=" + spool, "-e", "nothing", "a.trace"}, 0, ``)
	check("from the spool", []byte(strings.Join(later.took(t), "\n")))

	// Without the samples there are no metrics.
	lines, _ = exportOTLP(t, dir, env, "-x", "res.sample", "a.trace")
	if bytes.Contains(lines, []byte("resourceMetrics")) {
		t.Error("metrics without samples")
	}
}
