package tool_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

func create(t *testing.T) (*posixtrace.Stream, posixtrace.StreamInfo) {
	t.Helper()
	dir, err := os.MkdirTemp("", "posixtrace-test-") // mode 0700
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	s, err := posixtrace.Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown() })
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	return s, info
}

func TestSpoolDir(t *testing.T) {
	_, info := create(t)
	dir, sealed := tool.SpoolDir(info.Path)
	if dir == "" || sealed == "" || dir == sealed || filepath.Dir(dir) != filepath.Dir(info.Path) {
		t.Errorf("SpoolDir(%q) = %q, %q", info.Path, dir, sealed)
	}
	if dir, sealed := tool.SpoolDir("/etc/passwd"); dir != "" || sealed != "" {
		t.Errorf("SpoolDir of a file that is no stream = %q, %q", dir, sealed)
	}
}

func TestBeforeShutdown(t *testing.T) {
	s, info := create(t)
	calls := 0
	tool.BeforeShutdown(func(s *posixtrace.Stream, ended int64) {
		if i, err := s.Info(); err != nil || i.Path != info.Path || ended != 0 {
			t.Errorf("called with %q, %v, ended %d; want %q", i.Path, err, ended, info.Path)
		}
		calls++
	})
	defer tool.BeforeShutdown(func(*posixtrace.Stream, int64) {})
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}

func TestLoseCountsInARunningStreamOnly(t *testing.T) {
	s, _ := create(t)
	r, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, want := range []uint64{0, 3} {
		tool.Lose(r, 3)
		if st, err := s.PeekStatus(); err != nil || st.Lost != want {
			t.Errorf("Lost = %d, %v, want %d", st.Lost, err, want)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// A stream that this process creates for another one belongs to that one, and so do its control events. The
// death of either process ends the stream.
func TestController(t *testing.T) {
	dir, err := os.MkdirTemp("", "posixtrace-test-") // mode 0700
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := tool.Controller{PID: cmd.Process.Pid, Command: "sleep\x00100"}
	s, err := c.Create(0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if i, err := s.Info(); err != nil || i.PID != c.PID || i.Owner != c.PID {
		t.Errorf("Info = %v, %v; want owner and target %d", i, err, c.PID)
	}
	at := tool.Point{PID: uint32(c.PID), TID: 4711, Addr: 0x1234}
	if err := tool.Start(s, at); err != nil {
		t.Fatal(err)
	}
	if err := tool.SetFilter(s, posixtrace.EventSet{}, posixtrace.FilterSet, at); err != nil {
		t.Fatal(err)
	}
	if err := tool.SetFilter(s, posixtrace.EventSet{}, 7, at); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("SetFilter with a wrong how: %v", err)
	}
	if err := tool.Stop(s, at); err != nil {
		t.Fatal(err)
	}
	for _, want := range []posixtrace.EventID{posixtrace.EventStart, posixtrace.EventFilter, posixtrace.EventStop} {
		ev, _, err := s.TryNext(nil)
		if err != nil || ev.ID != want || ev.PID != c.PID || ev.TID != 4711 || ev.Address != 0x1234 {
			t.Errorf("%v, %v; want event %d of %v", ev, err, want, at)
		}
	}
	if list, err := posixtrace.List(); err != nil || len(list) != 1 {
		t.Errorf("List = %v, %v; want the stream", list, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if list, err := posixtrace.List(); err != nil || len(list) != 0 {
		t.Errorf("List = %v, %v; want no stream of a dead owner", list, err)
	}
	if err := tool.Start(s, at); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Start of a stream that has ended: %v", err)
	}
}
