package traced

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func init() {
	tracetest.Helpers["stopped-holder"] = func(paths []string) {
		for _, path := range paths {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			tracetest.Check(err == nil, "%v", err)
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
			tracetest.Check(err == nil, "lock %s: %v", path, err)
		}
		fmt.Println("held")
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(time.Hour)
	}
}

// stopWithLocks starts a process that is stopped while it holds the locks of the files of a pattern in
// the trace directory.
func stopWithLocks(t *testing.T, pattern string) *tracetest.Child {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(traceDir(t), pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	holder := tracetest.Start(t, "stopped-holder", paths...)
	if line := holder.Line(); line != "held" {
		t.Fatalf("the holder says %q", line)
	}
	tracetest.Wait(t, "the stop", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", holder.PID))
		_, rest, _ := strings.Cut(string(b), ") ")
		return strings.HasPrefix(rest, "T")
	})
	return holder
}

// atOnce is how long a trace point may take that waits for nothing, on a busy machine. A wait for a lock
// was 1 s or 3 s.
const atOnce = 500 * time.Millisecond

// quick fails unless f returns at once.
func quick(t *testing.T, what string, f func()) {
	t.Helper()
	before := time.Now()
	f()
	if d := time.Since(before); d > atOnce {
		t.Errorf("%s took %v", what, d)
	}
}

// longest makes a peer record for a while beside a thread that opens a name, or without; it checks the
// longest trace point, and returns how many there were.
func longest(t *testing.T, p *peer, id int) (n int) {
	t.Helper()
	var us int64
	fmt.Sscan(p.ask("longest %d 100", id), &us, &n)
	if d := time.Duration(us) * time.Microsecond; d > atOnce || n == 0 {
		t.Errorf("of %d trace points the longest took %v", n, d)
	}
	return n
}

// A process is stopped while it holds a lock of the trace directory, as by SIGSTOP in the middle of a
// registration. No trace point waits for it: not the first of a process or of a child, none beside
// a thread that waits for the lock to register a name, none for a new stream or of a type that
// another process has registered. All are recorded. When the process goes on, each name can be opened.
func TestStoppedHolderDelaysNoTracePoint(t *testing.T) {
	native(t)
	known, err := posixtrace.OpenEventID("known")
	tracetest.OK(t, "OpenEventID", err)
	for _, lock := range []string{"n-*", "lock", "s-*", "*"} {
		for language, cmd := range languages {
			t.Run(language+" "+lock, func(t *testing.T) {
				s := inherited(t)
				p, fresh, second := startCommand(t, cmd(t)), startCommand(t, cmd(t)), startCommand(t, cmd(t))
				id := p.number("open of the parent")
				p.done("event %d 1", id)
				want := 1
				attached := create(t, second.pid, nil) // its page and names are there; it has yet to connect
				wantAttached := 0
				holder := stopWithLocks(t, lock)
				if language == "C" {
					// Its parent's types are in the child, which has yet to find that they are registered.
					p.number("fork")
					quick(t, "the first event of a child", func() { p.done("event %d 1", id) })
					want++
				}
				quick(t, "the first event of a process", func() { fresh.done("event %d 1", known) })
				want++
				name := strings.ReplaceAll(t.Name(), "/", ".")
				fresh.done("beside new.%s", name)
				want += longest(t, fresh, int(known))
				want += longest(t, fresh, id)
				second.done("beside second.%s", name)
				n := longest(t, second, int(known))
				want, wantAttached = want+n, wantAttached+n
				syscall.Kill(holder.PID, syscall.SIGCONT)
				holder.Cmd.Process.Kill()
				holder.Cmd.Wait()
				for what, p := range map[string]*peer{"fresh": fresh, "second": second} {
					// The call itself waits, and gives up after seconds.
					if got := p.number("opened"); got < 0 && got != -int(syscall.EAGAIN) {
						t.Errorf("%s: a name opened meanwhile: %d", what, got)
					}
					for i := range 20 {
						if got := p.number("open after.%s.%s.%d", what, name, i); got < 0 {
							t.Errorf("%s: a name opened afterwards: %v", what, syscall.Errno(-got))
						}
					}
				}
				if got := len(events(t, s)); got != want {
					t.Errorf("%d events, want %d", got, want)
				}
				if got := len(events(t, attached)); got != wantAttached {
					t.Errorf("%d events in the stream of one process, want %d", got, wantAttached)
				}
				none(t, s)
				none(t, attached)
				p.end()
				fresh.end()
				second.end()
			})
		}
	}
}
