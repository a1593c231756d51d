package samples

import (
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A program has the most that its processes had together, and the processor time that they used while they ran
// it; not that of a process that was old at the first sample, and not that of another process of its pid.
func TestUse(t *testing.T) {
	const ms, k = time.Millisecond, 1 << 10
	type list = []posixtrace.ResProcess
	var sent posixtrace.ResProcesses
	s := Samples{Programs: map[string]*Use{}}
	for i, processes := range []list{
		{{PID: 1, Program: "old", RSS: 9 * k, CPU: 1000 * ms}},
		{{PID: 1, Program: "old", RSS: 9 * k, CPU: 1010 * ms}, {PID: 2, Program: "a", RSS: k, CPU: 5 * ms}},
		{{PID: 1, Program: "old", RSS: 9 * k, CPU: 1010 * ms}, {PID: 2, Program: "a", RSS: 5 * k, CPU: 6 * ms}, {PID: 3, Program: "a", RSS: 2 * k, CPU: 7 * ms}},
		{{PID: 2, Program: "a", RSS: 6 * k, CPU: 6 * ms}, {PID: 3, Program: "b", RSS: 2 * k, CPU: 10 * ms}},
		{{PID: 2, Program: "a", RSS: k, CPU: 2 * ms}}, // another process
	} {
		d := posixtrace.ResSampleData{Number: i + 1, Full: i == 0}
		for _, data := range sent.Encode(nil, &d, processes, 4096) {
			s.Add(&posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventResSample, UnixNano: int64(i)}, Data: data})
		}
	}
	for name, want := range map[string]Use{
		"old": {Samples: 3, RSS: 9 * k, CPU: 10 * ms},
		"a":   {Samples: 4, RSS: 7 * k, CPU: (5 + 1 + 7 + 2) * ms},
		"b":   {Samples: 1, RSS: 2 * k, CPU: 3 * ms},
	} {
		got := *s.Programs[name]
		got.sample, got.now = 0, 0
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
