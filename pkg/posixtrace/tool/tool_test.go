package tool_test

import (
	"os"
	"path/filepath"
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
	t.Setenv("PTRACE_DIR", dir)
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
	tool.BeforeShutdown(func(s *posixtrace.Stream, orphan bool) {
		if i, err := s.Info(); err != nil || i.Path != info.Path || orphan {
			t.Errorf("called with %q, %v, orphan %v; want %q", i.Path, err, orphan, info.Path)
		}
		calls++
	})
	defer tool.BeforeShutdown(func(*posixtrace.Stream, bool) {})
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
