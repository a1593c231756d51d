package script_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// newHanging returns the address of a server that takes requests and does not answer before release.
func newHanging(t *testing.T, release <-chan struct{}) string {
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { hangs.CloseClientConnections(); hangs.Close() })
	return hangs.URL
}

// A spool that cannot be used keeps nothing from a collector that is up, and is reported.
func TestSendSpoolUnusable(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	if err := os.WriteFile(filepath.Join(s.dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(s.dir, "loop")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ spool, reason string }{
		{"file", "file: Not a directory"}, {"file/below", "file.*: Not a directory"}, {"loop", "loop: Too many levels"}, {"/proc/none/spool", "/proc/none.*: No such"},
	} {
		c := newCollector(t, nil)
		c.Start()
		s.want(t, nil, []string{"--timeout=20s", "--endpoint=" + c.URL, "--spool=" + tt.spool, "a.trace"}, 0, tt.reason)
		if sent := len(c.took(t)); sent != 2 {
			t.Errorf("--spool=%s: %d batches sent", tt.spool, sent)
		}
		c.Close()
		down := []string{"--timeout=300ms", "--endpoint=" + c.URL, "--spool=" + tt.spool, "a.trace"}
		s.want(t, nil, down, 0, "; 2 batches not sent: .*"+tt.reason)
		s.want(t, nil, append(down, "--strict"), 1, "; 2 batches not sent: .*"+tt.reason)
	}
}

// An export that a signal ends while it sends keeps all that was not sent, and dies by that signal.
// Without a spool it dies at once.
func TestSendInterrupted(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	s.record(t, "many.trace", 30000)
	if status, text := s.export(t, nil, "-o", "many.json", "many.trace"); status != 0 {
		t.Fatal(text)
	}
	file, err := os.ReadFile(filepath.Join(s.dir, "many.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
	for _, tt := range []struct {
		sig   syscall.Signal
		after int // requests that are answered
		spool bool
		again bool // the spool has the batches already
	}{
		{unix.SIGINT, 0, true, false}, {unix.SIGTERM, 2, true, false}, {unix.SIGHUP, 1, true, false},
		{unix.SIGINT, 1, true, true}, {unix.SIGINT, 1, false, false},
	} {
		release, asked := make(chan struct{}), make(chan struct{}, 100)
		var n, took atomic.Int32
		c := newCollector(t, nil)
		inner := c.Config.Handler
		c.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if int(n.Add(1)) > tt.after {
				asked <- struct{}{}
				<-release
				return
			}
			inner.ServeHTTP(w, r)
			took.Add(1)
		})
		c.Start()
		spool := filepath.Join(s.dir, "spool")
		if tt.again {
			s.want(t, nil, []string{"--timeout=1ms", "--endpoint=http://127.0.0.1:1", "--spool=spool", "many.trace"}, 0, `kept in spool$`)
		}
		args := []string{"--to=otlp", "--timeout=50s", "--endpoint=" + c.URL}
		if tt.spool {
			args = append(args, "--spool=spool")
		}
		cmd := exec.Command("ptrace-export", append(args, "many.trace")...)
		var messages strings.Builder
		cmd.Dir, cmd.Env, cmd.Stderr = s.dir, s.env, &messages
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-asked
		cmd.Process.Signal(tt.sig)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var over bool
		tracetest.Wait(t, "the end of the export", func() bool {
			select {
			case <-ended:
				over = true
			default:
			}
			return over
		})
		close(release)
		c.Close()
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != tt.sig {
			t.Errorf("%+v: ended with %v: %s", tt, cmd.ProcessState, messages.String())
		}
		have := c.took(t)
		list, _ := os.ReadDir(spool)
		for _, e := range list {
			body, err := os.ReadFile(filepath.Join(spool, e.Name()))
			if err != nil || !strings.HasSuffix(e.Name(), ".json") {
				t.Error(e.Name(), err)
			}
			have = append(have, string(body))
		}
		missing := 0
		for _, line := range all {
			if !slices.Contains(have, line) {
				missing++
			}
		}
		if tt.spool && (missing > 0 || !matches(`^ptrace-export: interrupted; \d+ batches kept in spool\n$`, messages.String())) || !tt.spool && missing == 0 {
			t.Errorf("%+v: %d of %d batches are neither sent nor kept; %q", tt, missing, len(all), messages.String())
		}
		os.RemoveAll(spool)
	}
}

// An export that has nothing to send says so.
func TestSendNothing(t *testing.T) {
	t.Parallel()
	s := newSender(t)
	c := newCollector(t, nil)
	c.Start()
	for _, none := range []string{"-x@all", "-p1", "-T1", "--since=2100-01-01T00:00:00Z", "--until=2001-01-01T00:00:00Z"} {
		args := []string{"--endpoint=" + c.URL, none, "a.trace"}
		s.want(t, nil, args, 0, `^ptrace-export: nothing to send: no event is selected$`)
		s.want(t, nil, append(args, "--strict"), 1, `^ptrace-export: nothing to send: no event is selected$`)
	}
	if n := len(c.took(t)); n > 0 {
		t.Errorf("%d batches", n)
	}
}
