package summary

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// addUse adds a run of two programs whose samples show all that they can, and whose calls failed.
func addUse(a *analysis.Analysis) {
	const mib, second = 1 << 20, int64(time.Second)
	s := a.NewSource(func(id posixtrace.EventID) string {
		if id == openCall {
			return "syscall.openat"
		}
		return ""
	})
	add := func(at int64, id posixtrace.EventID, pid int, data []byte) {
		s.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: at}, Data: data}})
	}
	var sent posixtrace.ResProcesses
	sample := func(at int64, d posixtrace.ResSampleData, processes ...posixtrace.ResProcess) {
		for _, p := range processes {
			d.RSS += p.RSS
		}
		d.Group, d.Limit = true, 1000*mib
		for _, data := range sent.Encode(nil, &d, processes, 4096) {
			add(at, posixtrace.EventResSample, 1, data)
		}
	}
	add(0, posixtrace.EventProcExec, 1, (&posixtrace.ExecData{Path: "/bin/make", Argv: []string{"make"}}).Append(nil))
	sample(0, posixtrace.ResSampleData{Number: 1, Full: true}, posixtrace.ResProcess{PID: 1, Program: "make", RSS: 3 * mib})
	cc := func(pid int) posixtrace.ResProcess {
		return posixtrace.ResProcess{PID: pid, Program: "cc1", RSS: 300 * mib}
	}
	sample(3*second, posixtrace.ResSampleData{Number: 2, Memory: 950 * mib}, posixtrace.ResProcess{PID: 1, Program: "make", RSS: 3 * mib}, cc(2), cc(3), cc(4))
	failed := posixtrace.SyscallData{Result: -1, Errno: 28, Returned: true, Args: []posixtrace.SyscallArg{{Value: []byte("/x"), String: true}}}
	add(4*second, openCall, 1, failed.Append(nil))
	add(4*second, openCall, 1, failed.Append(nil))
	sample(10*second, posixtrace.ResSampleData{Number: 3, Memory: 5 * mib, OOMKills: 2, OOMProcess: 3, Throttled: 2 * time.Second, MemoryStall: 3 * time.Second, IOStall: 4 * time.Second, TemporaryFull: true})
	add(10*second, posixtrace.EventProcExit, 1, (&posixtrace.ExitData{Status: 2}).Append(nil))
}

// JSON has the numbers of samples that the text has.
func TestUseInJSON(t *testing.T) {
	show := func(o *Options) []byte {
		a := New(o)
		addUse(a)
		a.Finish()
		return Append(nil, a, 0, o)
	}
	rows := map[string][]map[string]any{}
	for line := range bytes.Lines(show(&Options{Top: All, Form: JSON})) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		kind := row["kind"].(string)
		rows[kind] = append(rows[kind], row)
	}
	if len(rows["samples"]) != 1 || len(rows["peak"]) != 2 || len(rows["exhausted"]) != 2 {
		t.Fatalf("%v", rows)
	}
	bytesOf := func(v any) string { return size(int64(v.(float64))) }
	timeOf := func(v any) string { return duration(int64(v.(float64))) }
	percentOf := func(v any) string { return output.Percent(v.(float64)) }
	m, p, e := rows["samples"][0], rows["peak"], rows["exhausted"][0]
	text := string(show(&Options{Top: All}))
	for _, want := range []string{
		"the OOM killer killed 2 processes of the cgroup, of the command cc1: memory " + bytesOf(m["group_memory"]) + " of " + bytesOf(m["group_limit"]) + " at " + timeOf(m["at_ns"]) +
			": 3 x cc1, " + bytesOf(p[0]["memory"]) + "; make, " + bytesOf(p[1]["memory"]) + "\n",
		"its quota of processor time stopped the cgroup for " + percentOf(m["throttled"]) + " of the time\n",
		"threads of the cgroup waited for memory for " + percentOf(m["stalled_memory"]) + " of the time\n",
		"threads of the cgroup waited for devices for " + percentOf(m["stalled_io"]) + " of the time\n",
		"disk full: " + e["call"].(string) + " failed with ENOSPC at " + timeOf(e["at_ns"]) + ", the first of 2 such calls: make (pid 1)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if m["memory"].(float64) != 903<<20 || m["oom_kills"].(float64) != 2 || m["oom_program"] != "cc1" || p[0]["count"].(float64) != 3 || e["resource"] != "space" || e["count"].(float64) != 2 ||
		rows["exhausted"][1]["where"] != "temporary" || rows["exhausted"][1]["at_ns"].(float64) != 1e10 {
		t.Errorf("%v", rows)
	}
}
