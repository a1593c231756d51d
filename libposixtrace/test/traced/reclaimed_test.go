package traced

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// memory returns how many mappings a process has, and the size of its address space in kB.
func memory(t *testing.T, pid int) (mappings, kB int) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	tracetest.OK(t, "maps", err)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	tracetest.OK(t, "status", err)
	_, rest, _ := strings.Cut(string(status), "VmSize:")
	fmt.Sscan(rest, &kB)
	return strings.Count(string(maps), "\n"), kB
}

// Streams come and go while threads record all the time, in each of the ways in which a thread leaves a
// trace point or stays in it. Each stream gets events. The memory of those that are over goes.
func TestMemoryOfEndedStreamsGoes(t *testing.T) {
	native(t)
	for _, how := range []string{"plain", "plain plain", "nested", "jump", "deep", "fork", "brief", "exit", "plain nested jump deep fork brief", "brief brief" + strings.Repeat(" idle", 80)} {
		for _, sanitize := range []bool{false, true} {
			t.Run(fmt.Sprintf("%.40s, sanitized %v", how, sanitize), func(t *testing.T) {
				tracetest.Only(t, !sanitize || !strings.Contains(how, "exit"), "where the sanitizers know how a thread ends")
				program := ctest.Build(t, ctest.Program{Sources: []string{"testdata/recorders.c"}, Sanitize: sanitize && !ctest.Musl()})
				p := startCommand(t, command(t, program, strings.Fields(how)...))
				if line := p.line(); line != "ready" {
					t.Fatalf("the program says %q", line)
				}
				streams := tracetest.Scale(60, 1200, 5000)
				var first, firstSize, n, size, most int
				pass := func() {
					t.Helper()
					s := create(t, p.pid, &posixtrace.Attr{StreamSize: 64 << 10})
					tracetest.Wait(t, "an event", func() bool {
						ev, _, err := s.TryNext(nil)
						return err == nil && ev.ID.User()
					})
					n, size = memory(t, p.pid)
					most = max(most, n)
					if st, err := s.Status(); err != nil || st.Missed != 0 {
						t.Errorf("missed %d (%v), %v", st.Missed, st.MissedError, err)
					}
					tracetest.OK(t, "Shutdown", s.Shutdown())
				}
				for range 6 {
					pass()
				}
				first, firstSize = n, size
				for range streams {
					pass()
				}
				if most > first+100 {
					t.Errorf("%d mappings with %d streams one after the other, %d at first", most, streams, first)
				}
				// A thread that waits for a processor in the middle of a trace point keeps some for a while.
				tracetest.Wait(t, "the memory of the streams to go", func() bool {
					pass()
					return n <= first+12 && size <= firstSize+8<<10
				})
				t.Logf("%d streams: %d mappings at most, %d at first", streams, most, first)
				p.end()
			})
		}
	}
}

// A handler keeps a thread in the middle of a trace point while the stream of the trace point ends and
// others come and go. The memory of the stream stays as long, and goes when the trace point is over, however
// that ends.
func TestMemoryStaysForTracePoint(t *testing.T) {
	native(t)
	program := ctest.Build(t, ctest.Program{Sources: []string{"testdata/inside.c"}, Static: true})
	for _, how := range []string{"return", "jump", "exit", "fork"} {
		t.Run(how, func(t *testing.T) {
			p := startProgram(t, program)
			// Private memory takes the place of a stream that is over, until no trace point uses it.
			mappings := func() int {
				t.Helper()
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid))
				tracetest.OK(t, "maps", err)
				return strings.Count(string(b), "\n")
			}
			// pass creates a stream, makes the main thread connect to it, and ends it.
			pass := func() {
				t.Helper()
				s := create(t, p.pid, &posixtrace.Attr{StreamSize: 64 << 10})
				p.done("event")
				if n := len(events(t, s)); n != 1 {
					t.Errorf("%d events", n)
				}
				tracetest.OK(t, "Shutdown", s.Shutdown())
				time.Sleep(2 * time.Millisecond) // the pause of a grace period is 10 ms
			}
			s := create(t, p.pid, &posixtrace.Attr{StreamSize: 64 << 10})
			p.done("event")
			p.done("inside %s", how)
			first := mappings()
			tracetest.OK(t, "Shutdown", s.Shutdown())
			const streams = 40
			for range streams {
				pass()
			}
			if n := mappings(); n < first+streams {
				t.Errorf("%d mappings after %d streams, %d at first: those of trace points under way are gone", n, streams, first)
			}
			p.done("go")
			tracetest.Wait(t, "the end of the mappings", func() bool {
				pass()
				return mappings() <= first+12
			})
			p.end()
		})
	}
}
