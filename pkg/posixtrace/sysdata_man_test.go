package posixtrace_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The tables of ptrace-log(5) for the data of system events end where the encoded data does, and a
// number of each row is at the row's offset.
func TestManPageOfSystemData(t *testing.T) {
	page, err := os.ReadFile("../../man/ptrace-log.5")
	if err != nil {
		t.Fatal(err)
	}
	exit := posixtrace.ExitData{Status: 1, Signal: 2, CoreDumped: true, User: 16, System: 24, MaxRSS: 32, MinorFault: 40,
		MajorFault: 48, BlocksIn: 56, BlocksOut: 64, Voluntary: 72, Involunt: 80, RunDelay: 88, Processors: 96, Others: 104, Idle: 112, Pressure: 120}
	fork := posixtrace.ForkData{Child: 4711, Kind: posixtrace.ForkThread}
	signal := posixtrace.SignalData{Signal: 1, Code: 4, Sender: 8, UID: 12}
	call := posixtrace.SyscallData{Duration: 8, Result: 8, Errno: 16, Returned: true}
	output := posixtrace.OutputData{}
	mapped := posixtrace.MapData{}
	context := posixtrace.ContextData{}
	timeout := posixtrace.TimeoutData{}
	hang := posixtrace.HangData{}
	sample := posixtrace.ResSampleData{}
	file := posixtrace.FileData{}
	for _, c := range []struct {
		item string
		data []byte
	}{
		{"proc.exit", exit.Append(nil)},
		{"proc.fork", fork.Append(nil)},
		{"proc.signal", signal.Append(nil)},
		{"proc.map", mapped.Append(nil)},
		{"proc.context", context.Append(nil)},
		{"proc.timeout", timeout.Append(nil)},
		{"hang.thread", hang.Append(nil)[:28]}, // seven texts follow
		{"res.sample", sample.Append(nil)},
		{"file.access", file.Append(nil)[:52]}, // three paths follow
		{"syscall. Ns Ar name", call.Append(nil)},
		{"output.stdout , Li output.stderr", output.Append(nil)},
	} {
		_, table, ok := strings.Cut(string(page), ".It Li "+c.item+"\n.Bl -column")
		if !ok {
			t.Errorf("the page has no table for %s", c.item)
			continue
		}
		table, _, _ = strings.Cut(table, "\n.El")
		end := 0
		for _, row := range strings.Split(table, "\n")[1:] {
			var at, bits int
			var kind rune
			if n, _ := fmt.Sscanf(row, ".It %d Ta %c%d", &at, &kind, &bits); n < 3 {
				bits = 0 // bytes, arguments: what follows the fixed part
			}
			end = at + bits/8
			// The values of ExitData from User on are their offsets.
			if c.item == "proc.exit" && at >= 16 && at+8 <= len(c.data) && binary.LittleEndian.Uint64(c.data[at:]) != uint64(at) {
				t.Errorf("%s: other value at offset %d", c.item, at)
			}
		}
		if end != len(c.data) {
			t.Errorf("%s: the table ends at %d, the data at %d", c.item, end, len(c.data))
		}
	}
}
