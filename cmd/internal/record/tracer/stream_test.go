package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// ownTraceDir makes the test's streams lie in a directory of its own.
func ownTraceDir(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "traces")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", dir)
	tool.ForgetDirectory()
}

// runningStream returns a stream that records. The caller shuts it down.
func runningStream(t *testing.T) *posixtrace.Stream {
	t.Helper()
	s, err := posixtrace.Create(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		s.Shutdown()
		t.Fatal(err)
	}
	return s
}

// startTracer starts a tracer that records to s.
func startTracer(t *testing.T, s *posixtrace.Stream, cfg Config) *Tracer {
	t.Helper()
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Start("tracer", 16, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Stream, cfg.MaxData = info.Path, 4096
	if err := tr.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	return tr
}
