package traced

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// path returns the path of a stream's file.
func path(t testing.TB, s *posixtrace.Stream) string {
	t.Helper()
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	return info.Path
}

// missed checks how many processes a stream counts as missed, and why.
func missed(t testing.TB, s *posixtrace.Stream, n uint64, why syscall.Errno) {
	t.Helper()
	if st, err := s.PeekStatus(); err != nil || st.Missed != n || st.MissedError != why {
		t.Errorf("missed %d (%v), %v, want %d (%v)", st.Missed, st.MissedError, err, n, why)
	}
}

// A stream of another header version, in the page of the process or by its name, records nothing of the
// process. It counts that once if it is in the page; by the name alone the process does not learn whether
// it should be traced. The process records in other streams, also in later ones.
func TestOtherVersion(t *testing.T) {
	const offset = 8 // of the version in the file
	for _, version := range []uint16{0, 2, 0x0fff} {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, named %v", version, named), func(t *testing.T) {
				p := startPeer(t)
				other := create(t, p.pid, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
				f, err := os.OpenFile(path(t, other), os.O_RDWR, 0)
				tracetest.OK(t, "OpenFile", err)
				defer f.Close()
				var own [2]byte
				_, err = f.ReadAt(own[:], offset)
				tracetest.OK(t, "ReadAt", err)
				_, err = f.WriteAt([]byte{byte(version), byte(version >> 8)}, offset)
				tracetest.OK(t, "WriteAt", err)
				if named {
					time.Sleep(20 * time.Millisecond) // start times count in hundredths of a second
					p = startPeer(t, "PTRACE_STREAM="+path(t, other))
				}
				id := p.number("open x")
				var streams []*posixtrace.Stream
				for range 3 {
					p.done("event %d 10", id)
					streams = append(streams, create(t, p.pid, nil))
				}
				p.done("event %d 10", id)
				p.done("unnamed late")
				for i, s := range streams {
					if n := len(events(t, s)); n != 31-10*i {
						t.Errorf("stream %d of this version has %d events", i, n)
					}
					none(t, s)
				}
				_, err = f.WriteAt(own[:], offset)
				tracetest.OK(t, "WriteAt", err)
				if !named {
					missed(t, other, 1, syscall.EPROTONOSUPPORT)
				} else {
					missed(t, other, 0, 0)
				}
				if n := len(events(t, other)); n != 0 {
					t.Errorf("%d events are in the stream of the other version", n)
				}
				p.end()
			})
		}
	}
}

// A stream of another pid namespace, inherited or by its name, records nothing of the process: there the
// number of the process denotes another one.
func TestOtherPidNamespace(t *testing.T) {
	native(t)
	program := ctest.C(t, "testdata/peer.c")
	for _, proc := range []bool{true, false} {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprintf("own proc %v, named %v", proc, named), func(t *testing.T) {
				s := inherited(t)
				cmd := ctest.InPidNamespace(t, command(t, program), proc)
				if named {
					cmd.Env = append(cmd.Env, "PTRACE_STREAM="+path(t, s))
				}
				p := startCommand(t, cmd)
				if pid := p.number("pid"); pid != 1 {
					t.Fatalf("pid %d", pid)
				}
				id := p.number("open x")
				if !proc && id > 0 || proc && id < 0 {
					t.Errorf("open: %d", id)
				}
				p.done("event %d 10", max(id, 32))
				p.done("unnamed x")
				p.number("fork")
				p.done("event %d 10", max(id, 32))
				fmt.Fprintln(p.in, "exec")
				p.number("pid")
				p.done("unnamed executed")
				p.end()
				if list := events(t, s); len(list) != 0 {
					t.Errorf("events: %v", list)
				}
				// Without its /proc, a process does not learn that the stream is another namespace's.
				if st, err := s.PeekStatus(); err != nil || st.Missed > 0 && (proc || st.MissedError != syscall.ENOSYS) {
					t.Errorf("missed %d (%v), %v", st.Missed, st.MissedError, err)
				}
			})
		}
	}
}

// hold has a program open the files whose names begin so.
func hold(t testing.TB, p *peer, dir, prefix string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no file %s*, %v", prefix, err)
	}
	for _, name := range list {
		p.number("hold %s", name)
	}
}

// The trace directory is removed. Another process that creates a stream for a program finds the page of
// the program, if the program has it open as the Go runtime has, makes a new one and sends the program
// there. If the program has it not, the other process learns that it cannot, until the program has made
// a page itself.
func TestPageMovedByAnotherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	for _, held := range []bool{true, false} {
		t.Run(fmt.Sprint("held ", held), func(t *testing.T) {
			p := startPeer(t)
			names := []string{"n.0"}
			first := p.number("open n.0")
			attr := &posixtrace.Attr{Inheritance: posixtrace.InheritChildren}
			create(t, p.pid, attr)
			for round := range 3 {
				if held {
					hold(t, p, dir, fmt.Sprintf("p-%d-", p.pid))
					hold(t, p, dir, "n-")
				}
				tracetest.OK(t, "RemoveAll", os.RemoveAll(dir))
				if !held {
					if _, err := posixtrace.Create(p.pid, nil); err == nil {
						t.Error("a page that cannot be found was moved")
					}
					p.number("open n.0") // known: no reason to look
					names = append(names, fmt.Sprint("x.", round))
					p.number("open x.%d", round)
				}
				s := create(t, p.pid, attr)
				p.done("event %d 1", first)
				names = append(names, fmt.Sprint("n.", round+1))
				last := p.number("open n.%d", round+1)
				if want := first + len(names) - 1; last != want {
					t.Errorf("the id of a name after the move is %d, want %d", last, want)
				}
				p.done("event %d 1", last)
				p.done("unnamed x")
				var got []string
				for _, e := range events(t, s) {
					got = append(got, e.name)
				}
				if want := fmt.Sprintf("[n.0 n.%d posix_trace_unnamed_userevent]", round+1); fmt.Sprint(got) != want {
					t.Errorf("round %d: %q, want %s", round, got, want)
				}
				none(t, s)
				// A child and a program that it executes have the streams and the names.
				if round == 2 {
					child := p.number("fork")
					p.done("event %d 1", last)
					list := events(t, s)
					if len(list) != 1 || list[0].PID != child || list[0].name != names[len(names)-1] {
						t.Errorf("of the child: %v", list)
					}
				}
			}
			p.end()
		})
	}
}
