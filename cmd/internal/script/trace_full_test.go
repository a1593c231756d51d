package script_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// counted is TID (-1, I, SEEK_SET) result=-1 errno=EBADF ...
var counted = regexp.MustCompile(`(?m)^(\d+) \(-1, (\d+), SEEK_SET\) result=-1 errno=EBADF `)

// There are more events than the stream holds. The policies that forbid it lose and reorder
// none; with the others the number of lost events is exact.
func TestTraceFull(t *testing.T) {
	const threads, each = 3, 700
	const total = 2 * threads * each
	for _, tt := range []struct {
		policy string
		lossy  bool
		begin  bool // the stream keeps the first calls of each thread
	}{
		{"flush", false, true},
		{"until-full", true, true},
		{"loop", true, false},
	} {
		t.Run(tt.policy, func(t *testing.T) {
			dir := t.TempDir()
			traces := filepath.Join(dir, "traces")
			if err := os.Mkdir(traces, 0o700); err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(traces, "x.trace")
			script := fmt.Sprintf("trace-count %d %d & trace-count %d %d; wait", threads, each, threads, each)
			traceCommand(t, dir, traces, nil, "ptrace-run", "--stream-size=16K", "--stream-full-policy="+tt.policy, "-e", "syscall.lseek", "-x", "proc.map", "-o", log, "--", "sh", "-c", script)
			out := traceCommand(t, dir, traces, nil, "ptrace-dump", "--format=%i %d\n", "-e", "syscall.lseek", log).String()
			next, recorded := map[string]int{}, 0
			for _, m := range counted.FindAllStringSubmatch(out, -1) {
				i, _ := strconv.Atoi(m[2])
				n, seen := next[m[1]]
				switch {
				case tt.begin && i != n, seen && i < n:
					t.Errorf("thread %s: call %d, want %d", m[1], i, n)
				}
				next[m[1]] = i + 1
				recorded++
			}
			if lines := strings.Count(out, "\n"); lines != recorded {
				t.Errorf("%d of %d lines are calls that were made", recorded, lines)
			}
			status := traceCommand(t, dir, traces, nil, "ptrace-dump", "--status", "--json", log).String()
			lost := 0
			if m := regexp.MustCompile(`"lost":(\d+)`).FindStringSubmatch(status); m != nil {
				lost, _ = strconv.Atoi(m[1])
			}
			if recorded+lost != total || recorded == 0 || (lost > 0) != tt.lossy {
				t.Errorf("%d calls recorded and %d lost, want %d in all", recorded, lost, total)
			}
			if !tt.begin && !slices.Contains(slices.Collect(maps.Values(next)), each) {
				t.Errorf("the last calls are missing after %v", next)
			}
		})
	}
}
