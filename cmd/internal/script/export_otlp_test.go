package script_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/hostile"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// decoder builds testdata/modules/otlp, the strict decoder of the OpenTelemetry Collector.
func decoder(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "decoder")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir = filepath.Join("..", "..", "..", "testdata", "modules", "otlp")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// otlpItem is what the decoder prints: a span, a log record or a data point.
type otlpItem struct {
	Kind                      string
	Resource                  map[string]any
	Trace, Span, Parent, Name string
	State                     string
	Flags                     uint32
	Start, End                uint64
	Severity                  int
	Body                      any
	Attributes                map[string]any
	Events                    []struct {
		Name       string
		Time       uint64
		Attributes map[string]any
	}
	Dropped uint32
	Failed  bool
	Message string
	Unit    string
	Sum     bool
	Value   float64
}

// decodeOTLP decodes lines of OTLP/JSON strictly.
func decodeOTLP(t *testing.T, program string, lines []byte) (items []otlpItem) {
	t.Helper()
	for line := range bytes.Lines(lines) {
		if len(line) > 4<<20 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	cmd := exec.Command(program)
	cmd.Stdin = bytes.NewReader(lines)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("not OTLP: %v: %s", err, errs.Bytes())
	}
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	for d.More() {
		var it otlpItem
		if err := d.Decode(&it); err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return items
}

// exportOTLP returns the lines of logs, and what ptrace-export printed besides.
func exportOTLP(t *testing.T, dir string, env []string, args ...string) (lines, messages []byte) {
	t.Helper()
	cmd := exec.Command("ptrace-export", append([]string{"--to=otlp", "-o", "-"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 || bytes.Contains(errs.Bytes(), []byte("goroutine ")) {
		t.Fatalf("ptrace-export %q: %v: %s", args, err, errs.Bytes())
	}
	harmless(t, "standard error", errs.Bytes(), "")
	harmless(t, "otlp", out.Bytes(), "")
	return out.Bytes(), errs.Bytes()
}

// happened identifies an event: by its name, time, process, thread, and data if it is the user's.
type happened struct {
	name     string
	time     uint64
	pid, tid string
	data     string
	mapping  bool
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// rawName returns the name that ptrace-dump -j shows.
func rawName(name string, attributes map[string]any, suffix string) string {
	if raw, ok := attributes["posixtrace.name"].(string); ok {
		b, _ := base64.StdEncoding.DecodeString(raw)
		return string([]rune(string(b))) + suffix // each byte that is not UTF-8 becomes U+FFFD
	}
	return name + suffix
}

// eventsOf returns the events that spans and log records stand for.
func eventsOf(items []otlpItem) (list []happened) {
	for _, it := range items {
		a := it.Attributes
		pid, tid := text(a["process.pid"]), text(a["thread.id"])
		if it.Kind == "log" {
			data := text(it.Body)
			if data == "" {
				data = text(a["posixtrace.data"]) // of a system event that is not decoded
			}
			list = append(list, happened{rawName(it.Name, a, ""), it.Start, pid, tid, data, a["posixtrace.map.start"] != nil})
			continue
		}
		for _, e := range it.Events {
			p, th := pid, tid
			if v, ok := e.Attributes["process.pid"]; ok {
				p, th = text(v), text(e.Attributes["thread.id"])
			} else if v, ok := e.Attributes["thread.id"]; ok {
				p, th = "", text(v)
			}
			list = append(list, happened{rawName(e.Name, e.Attributes, ""), e.Time, p, th, text(e.Attributes["posixtrace.data"]), e.Attributes["posixtrace.map.start"] != nil})
		}
		_, forked := a["process.parent_pid"]
		_, executed := a["process.executable.path"]
		unfinished := a["posixtrace.unfinished"] == true
		switch {
		case it.Name == "posixtrace" && a["posixtrace.lost"] != nil && pid == "":
		case forked || executed:
			if executed {
				at := it.Start
				if v, ok := a["posixtrace.exec.time"]; ok {
					at, _ = strconv.ParseUint(text(v), 10, 64)
				}
				list = append(list, happened{"proc.exec", at, pid, "", "", false})
			}
			if a["posixtrace.user_ns"] != nil {
				list = append(list, happened{"proc.exit", it.End, pid, "", "", false})
			}
		default:
			list = append(list, happened{rawName(it.Name, a, ".begin"), it.Start, pid, tid, text(a["posixtrace.data"]), false})
			if !unfinished {
				if v, ok := a["posixtrace.end.thread.id"]; ok {
					tid = text(v)
				}
				list = append(list, happened{rawName(it.Name, a, ".end"), it.End, pid, tid, text(a["posixtrace.end.data"]), false})
			}
		}
	}
	return list
}

// dumpedEvents returns the events that ptrace-dump shows, and the number of lost ones.
func dumpedEvents(t *testing.T, dir string, env, selection []string, log string) (list []happened, lost uint64) {
	t.Helper()
	in := bufio.NewScanner(bytes.NewReader(dumpOf(t, dir, env, append([]string{"-j"}, selection...), log)))
	in.Buffer(nil, 1<<26)
	for in.Scan() {
		var ev struct {
			Sec      int64
			Nsec     int64
			PID, TID int
			Event    string
			ID       posixtrace.EventID
			Data     *string
			Base64   *string `json:"data_base64"`
		}
		if err := json.Unmarshal(in.Bytes(), &ev); err != nil {
			t.Fatal(err)
		}
		switch ev.ID { // a damaged log may have another name
		case posixtrace.EventProcExec:
			ev.Event = "proc.exec"
		case posixtrace.EventProcExit:
			ev.Event = "proc.exit"
		}
		h := happened{name: ev.Event, time: uint64(max(ev.Sec*1e9+ev.Nsec, 0)), pid: positive(ev.PID), tid: positive(ev.TID)}
		if ev.Data != nil {
			h.data = *ev.Data
		} else if ev.Base64 != nil {
			h.data = *ev.Base64
		}
		list = append(list, h)
	}
	var status struct {
		Lost    uint64
		LogLost uint64 `json:"log_lost"`
	}
	if out := dumpOf(t, dir, env, []string{"--status", "-j"}, log); len(out) > 0 {
		if err := json.Unmarshal(out, &status); err != nil {
			t.Fatal(err)
		}
	}
	return list, status.Lost + status.LogLost
}

func positive(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// alike leaves out what the forms show in different ways: the threads of processes, and data that
// a system event has when it is malformed.
func alike(h happened) happened {
	h.mapping = false
	switch {
	case strings.HasPrefix(h.name, "#"): // a damaged name: of a system event, perhaps
		h.data = ""
	case h.name == "proc.exec" || h.name == "proc.exit":
		h.tid, h.data = "", ""
	case strings.HasPrefix(h.name, "proc.") || strings.HasPrefix(h.name, "posix_trace_") && h.name != "posix_trace_unnamed_userevent" || strings.HasPrefix(h.name, "syscall."):
		h.data = ""
	}
	return h
}

// compareOTLP compares what the decoder reads with what ptrace-dump shows, of the same selection.
func compareOTLP(t *testing.T, program, dir string, env, selection []string, log string) {
	t.Helper()
	want, lost := dumpedEvents(t, dir, env, selection, log)
	lines, _ := exportOTLP(t, dir, env, append(slices.Clone(selection), log)...)
	items := decodeOTLP(t, program, lines)
	count := map[happened]int{}
	for _, h := range want {
		count[alike(h)]++
	}
	for _, h := range eventsOf(items) {
		if selection != nil || h.name != "proc.map" && !h.mapping { // which ptrace-dump shows only if asked
			count[alike(h)]--
		}
	}
	bad := 0
	for h, n := range count {
		if n != 0 && bad < 5 {
			bad++
			t.Errorf("%+v: %d more in ptrace-dump than in OTLP", h, n)
		}
	}
	var dropped uint64
	ids := map[string]bool{}
	for _, it := range items {
		if len(it.Events) > 128 {
			t.Errorf("a span of %d events", len(it.Events))
		}
		dropped += uint64(it.Dropped)
		if it.Kind == "span" {
			if ids[it.Span] {
				t.Errorf("two spans have the id %s", it.Span)
			}
			ids[it.Span] = true
			continue
		}
		if it.Attributes["event.name"] != it.Name {
			t.Errorf("a record named %q has the attribute %q", it.Name, it.Attributes["event.name"])
		}
		if id := text(it.Attributes["log.record.uid"]); id == "" || selection != nil && ids[id] { // damage makes equal events
			t.Errorf("another record has the id %q", id)
		} else {
			ids[id] = true
		}
	}
	if dropped != min(lost, math.MaxUint32) {
		t.Errorf("%d dropped events, want %d", dropped, lost)
	}
	if again, _ := exportOTLP(t, dir, env, append(slices.Clone(selection), log)...); !bytes.Equal(lines, again) {
		t.Error("another export is different")
	}
}

// Every event is in the export once, whatever the log has.
func TestExportOTLPHostile(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program := decoder(t)
	dir, env := hostileTrace(t)
	compareOTLP(t, program, dir, env, everything, "hostile.trace")
	log, err := os.ReadFile(filepath.Join(dir, "hostile.trace"))
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	for i := range tracetest.Scale(6, 300, 300) {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		b := slices.Clone(log[:len(log)-rng.IntN(2)*rng.IntN(len(log)/2)])
		for range 1 + rng.IntN(20) {
			b[rng.IntN(len(b))] = byte(rng.Uint32())
		}
		hostile.FixChecksums(b)
		if err := os.WriteFile(filepath.Join(dir, "evil.trace"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("seed %d %d", seed, i), func(t *testing.T) { compareOTLP(t, program, dir, env, nil, "evil.trace") })
	}
}

// The same of the logs of testdata/log.
func TestExportOTLPTextLogs(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program := decoder(t)
	dir, logs := textLogs(t)
	for _, log := range logs {
		t.Run(filepath.Base(log), func(t *testing.T) {
			compareOTLP(t, program, dir, append(os.Environ(), "PTRACE_STREAM=", "TZ=UTC"), nil, filepath.Base(log))
		})
	}
}

// The same of logs of each kind: with a loop, with lost events, with spans and signals.
func TestExportOTLPKinds(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	program := decoder(t)
	dir, env := hostileTrace(t)
	for _, kind := range []struct{ name, options, script string }{
		{"loop", "-c --log-size=64K --log-full-policy=loop", fillsLog},
		{"full", "-c --log-size=64K --log-full-policy=until-full", fillsLog},
		{"lost", "-c --stream-size=16K --stream-full-policy=until-full", "seq 5000"},
		{"spans", "-e proc", `eval "$(ptrace-event --shell=sh)"; pt_step a pt_step b true; pt point "a b"; (pt_step c true); exit 0`},
		{"calls", "-e syscall,signal,proc", `kill -WINCH $$; cat nothing 2>&1; printf '\377\376' >"$(printf 'x\377')"; exit 0`},
	} {
		t.Run(kind.name, func(t *testing.T) {
			cmd := exec.Command("ptrace-run", append(strings.Fields(kind.options), "-o", kind.name+".trace", "--", "sh", "-c", kind.script)...)
			cmd.Dir, cmd.Env = dir, env
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, stderr.Bytes())
			}
			compareOTLP(t, program, dir, env, everything, kind.name+".trace")
		})
	}
}
