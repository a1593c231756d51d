package posixtrace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/tracee"
)

func init() {
	// wiped DIR WHAT: all calls still work in a program whose trace directory, or its content, is
	// removed again and again.
	tracetest.Helpers["wiped"] = func(args []string) {
		dir := filepath.Join(args[0], "traces")
		os.Setenv("PTRACE_DIR", dir)
		log, err := os.Create(filepath.Join(args[0], "l.trace"))
		tracetest.Check(err == nil, "%v", err)
		owned, err := CreateWithLog(0, nil, log)
		tracetest.Check(err == nil, "CreateWithLog: %v", err)
		tracetest.Check(owned.Start() == nil, "Start")
		first, err := OpenEventID("wiped.first")
		tracetest.Check(err == nil, "OpenEventID: %v", err)
		n := 0
		event := func(id EventID) { Event(id, nil); n++ }
		event(first)
		for round := range 4 {
			files, _ := filepath.Glob(dir + "/*")
			if args[1] == "directory" {
				files = []string{dir}
			}
			for _, f := range files {
				tracetest.Check(os.RemoveAll(f) == nil, "remove %s", f)
			}
			name := fmt.Sprint("wiped.", round)
			var id EventID
			early := round%2 == 0
			if early {
				id, err = OpenEventID(name)
				tracetest.Check(err == nil, "round %d: OpenEventID: %v", round, err)
			}
			_, err := List()
			tracetest.Check(err == nil, "round %d: List: %v", round, err)
			s, err := Create(0, nil)
			tracetest.Check(err == nil, "round %d: Create: %v", round, err)
			tracetest.Check(s.Start() == nil, "Start")
			if !early {
				id, err = OpenEventID(name)
				tracetest.Check(err == nil, "round %d: OpenEventID: %v", round, err)
			}
			event(first)
			event(id)
			var names []string
			for {
				ev, _, err := s.TryNext(nil)
				if err == ErrUnavailable {
					break
				}
				tracetest.Check(err == nil, "round %d: TryNext: %v", round, err)
				got, err := s.EventName(ev.ID)
				tracetest.Check(err == nil, "round %d: EventName: %v", round, err)
				names = append(names, got)
			}
			want := fmt.Sprint([]string{"posix_trace_start", "wiped.first", name})
			tracetest.Check(fmt.Sprint(names) == want, "round %d: %s, want %s", round, names, want)
			p, err := OpenProcess(os.Getppid())
			tracetest.Check(err == nil, "round %d: OpenProcess: %v", round, err)
			if _, err = p.OpenEventID("x"); err != nil {
				tracetest.Check(false, "round %d: Process.OpenEventID: %v", round, err)
			}
			p.Close()
			tracetest.Check(s.Shutdown() == nil, "round %d: Shutdown", round)
		}
		err = owned.Shutdown()
		tracetest.Check(err == nil, "Shutdown of a stream whose file was removed: %v", err)
		l, err := Open(log)
		tracetest.Check(err == nil, "Open: %v", err)
		got := 0
		for {
			ev, _, err := l.Next(nil)
			if err != nil {
				break
			}
			if name, _ := l.EventName(ev.ID); ev.ID.User() {
				tracetest.Check(name != "", "event %d of the log has no name", got)
				got++
			}
		}
		tracetest.Check(got == n, "%d events in the log of before, want %d", got, n)
		// The process is no longer traced, and its trace points are off.
		tracetest.Check(*tracee.LoadWord() == 0, "word %d", *tracee.LoadWord())
		runtime.GC()
		left, _ := filepath.Glob(dir + "/[st]-*")
		tracetest.Check(len(left) == 0, "left: %q", left)
		fmt.Println("ok")
	}
}

// TestTraceDirectoryRemoved removes the trace directory of a running program: see the helper.
func TestTraceDirectoryRemoved(t *testing.T) {
	for _, what := range []string{"directory", "files"} {
		t.Run(what, func(t *testing.T) { tracetest.RunHelper(t, nil, "wiped", t.TempDir(), what) })
	}
}
