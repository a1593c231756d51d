package script_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A recorded call has the process and the thread that made it, and the address of its
// instruction, in every way of tracing.
func TestTraceWhere(t *testing.T) {
	for _, events := range []string{"syscall", "syscall.lseek", "syscall.lseek,proc,signal"} {
		dir := t.TempDir()
		traces := filepath.Join(dir, "traces")
		if err := os.Mkdir(traces, 0o700); err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(traces, "x.trace")
		out := traceCommand(t, dir, traces, nil, "ptrace-run", "-e", events, "-o", log, "--", "trace-where")
		var pid, a, b int
		var begin, end uint64
		if _, err := fmt.Sscanf(out.String(), "%d %d %d\n%x %x", &pid, &a, &b, &begin, &end); err != nil || a == b {
			t.Fatalf("%v: %s", err, out)
		}
		out = traceCommand(t, dir, traces, nil, "ptrace-dump", "-j", "-e", "syscall.lseek", log)
		var seen []int
		addresses := map[uint64]bool{}
		for line := range strings.Lines(out.String()) {
			var e struct {
				PID, TID int
				Address  string
				Args     []string
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if e.Args[0] != "-1" {
				continue
			}
			seen = append(seen, e.TID)
			address, err := strconv.ParseUint(strings.TrimPrefix(e.Address, "0x"), 16, 64)
			if addresses[address] = true; err != nil || address < begin || address >= end || e.PID != pid {
				t.Errorf("-e %s: want process %d and an address from %x to %x: %s", events, pid, begin, end, line)
			}
		}
		if len(seen) != 2 || seen[0] != a || seen[1] != b || len(addresses) != 1 {
			t.Errorf("-e %s: calls of threads %v at %d addresses, not one of %d and one of %d at one", events, seen, len(addresses), a, b)
		}
	}
}
