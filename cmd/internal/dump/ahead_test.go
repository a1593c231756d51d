package dump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// After the last event that is shown, the goroutine that reads ahead no longer uses the reader, which
// the notes at the end use. The race detector sees it if it does.
func TestHeadEndsReadingAhead(t *testing.T) {
	const events = 60_000
	log := manyEvents(t, events)
	for _, options := range []string{"--since=2001-01-01T00:00:00Z", "--until=2201-01-01T00:00:00Z", "-e many.event,absent", "-e many.*,absent*", "--strict", "--json"} {
		// The goroutine starts after aheadAfter batches of 256 events, and is then some 12,000 ahead.
		args := append([]string{"--head=26000", log}, strings.Fields(options)...)
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		said, err := os.Create(filepath.Join(t.TempDir(), "said"))
		if err != nil {
			t.Fatal(err)
		}
		status := Command.Execute(&cli.Env{Args: args, Stdin: os.Stdin, Stdout: cli.NewWriter(out), Stderr: said, Getenv: os.Getenv})
		b, err := os.ReadFile(said.Name())
		want := ""
		if strings.Contains(options, "absent") {
			want = "absent"
		}
		if status != 0 || err != nil || (len(b) > 0) != (want != "") || !strings.Contains(string(b), want) {
			t.Errorf("%q: status %d, %v\n%s", args, status, err, b)
		}
		out.Close()
		said.Close()
	}
}

// manyEvents records a log.
func manyEvents(t *testing.T, events int) string {
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.Mkdir(traces, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tool.ForgetDirectory)
	t.Setenv("PTRACE_DIR", traces)
	tool.ForgetDirectory()
	f, err := os.Create(filepath.Join(dir, "many.trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := posixtrace.CreateWithLog(os.Getpid(), &posixtrace.Attr{StreamSize: 8 << 20, LogFullPolicy: posixtrace.PolicyAppend}, f)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	id, err := posixtrace.OpenEventID("many.event")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	for n := range events {
		posixtrace.Event(id, []byte("0123456789"))
		if n%10_000 == 0 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return f.Name()
}
