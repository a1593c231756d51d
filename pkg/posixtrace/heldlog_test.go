package posixtrace_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// BeginLog writes the events recorded before it to a held log; until then the file is
// unchanged.
func TestHeldLogIsUnchangedUntilBeginLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	create := func(policy posixtrace.FullPolicy) (*posixtrace.Stream, *os.File) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{HoldLog: true, LogFullPolicy: policy}, f)
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		return s, f
	}
	holds := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("the file holds %d bytes (%v), want %d as before", len(b), err, len(want))
		}
	}
	id, err := posixtrace.OpenEventID("held")
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []posixtrace.FullPolicy{posixtrace.PolicyAppend, posixtrace.PolicyLoop, posixtrace.PolicyUntilFull} {
		const old = "what was there"
		if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
		s, f := create(policy)
		posixtrace.Event(id, []byte("1"))
		wantErr(t, s.Flush(), syscall.EAGAIN)
		other, err := posixtrace.Attach(mustInfo(t, s).Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.RequestFlush(); err != nil {
			t.Error(err)
		}
		// A reader gets the events of the stream only.
		if n := countHeld(t, other, id); n != 1 {
			t.Errorf("%d events are read while the log is held back, want 1", n)
		}
		holds(old)
		if err := errors.Join(s.Clear(), s.Start(), s.Shutdown()); err != nil {
			t.Error(err)
		}
		other.Close()
		f.Close()
		holds(old)

		s, f = create(policy)
		if err := s.SetSync(policy == posixtrace.PolicyLoop); err != nil {
			t.Error(err)
		}
		posixtrace.Event(id, []byte("2"))
		if err := errors.Join(s.BeginLog(), s.BeginLog()); err != nil {
			t.Error(err)
		}
		posixtrace.Event(id, []byte("3"))
		if err := errors.Join(s.Flush(), s.Shutdown()); err != nil {
			t.Error(err)
		}
		r, err := posixtrace.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		if state, _ := r.State(); state != posixtrace.LogFinished {
			t.Errorf("the log is in state %v", state)
		}
		got := ""
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if rec.ID == id {
				got += string(rec.Data)
			}
		}
		if got != "23" {
			t.Errorf("policy %v: the log holds %q, want 23", policy, got)
		}
		r.Close()
		f.Close()
	}
	s, err := posixtrace.Create(0, &posixtrace.Attr{HoldLog: true})
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.BeginLog(), syscall.EINVAL)
	s.Shutdown()
}

// A shutdown by another process starts a held log: the process gets the events that it saw
// recorded. So does the process that completes the log of an owner that died before it started the
// log.
func TestShutdownByOthersStartsHeldLog(t *testing.T) {
	id, err := posixtrace.OpenEventID("held")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, old string
		killed    bool
	}{
		{"owner alive", "what was there", false},
		{"owner killed", "what was there", true},
		{"owner killed, empty file", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			killed, old := c.killed, c.old
			name := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
				t.Fatal(err)
			}
			owner := tracetest.Start(t, "held-owner", name)
			other, err := posixtrace.Attach(owner.Line())
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			posixtrace.Event(id, []byte("1"))
			if killed {
				owner.Cmd.Process.Kill()
				owner.Cmd.Wait()
			}
			if err := other.Shutdown(); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := posixtrace.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if state, _ := r.State(); state != posixtrace.LogFinished {
				t.Errorf("the log is in state %v", state)
			}
			n := 0
			for rec, err := range r.All() {
				if err != nil {
					t.Fatal(err)
				}
				if rec.ID == id && rec.Name == "held" {
					n++
				}
			}
			if n != 1 {
				t.Errorf("the log has %d of 1 events", n)
			}
		})
	}
}

// An owner that died before it started the log, and before anything was traced, leaves the file as it
// was.
func TestKilledOwnerWithoutEventsLeavesHeldLogAlone(t *testing.T) {
	const old = "what was there"
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	owner := tracetest.Start(t, "held-owner", name)
	other, err := posixtrace.Attach(owner.Line())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	owner.Cmd.Process.Kill()
	owner.Cmd.Wait()
	if err := other.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != old {
		t.Errorf("the file holds %q (%v), want %q", b, err, old)
	}
}

// A stream whose file is truncated has no events for its held log. The file keeps its contents.
func TestTruncatedStreamLeavesHeldLogAlone(t *testing.T) {
	const old = "what was there"
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	owner := tracetest.Start(t, "held-owner", name)
	path := owner.Line()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			break // the owner has shut the stream down
		}
		if time.Now().After(deadline) {
			t.Fatal("the owner does not shut the stream down")
		}
	}
	owner.In.Close()
	owner.Cmd.Wait()
	if b, err := os.ReadFile(name); err != nil || string(b) != old {
		t.Errorf("the file holds %q (%v), want %q", b, err, old)
	}
}

func init() {
	// The owner of a stream of its parent, whose log it never starts.
	tracetest.Helpers["held-owner"] = func(args []string) {
		f, err := os.OpenFile(args[0], os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		s, err := posixtrace.CreateWithLog(os.Getppid(), &posixtrace.Attr{HoldLog: true}, f)
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			panic(err)
		}
		info, err := s.Info()
		if err != nil {
			panic(err)
		}
		fmt.Println(info.Path)
		io.Copy(io.Discard, os.Stdin)
	}
}

// After its timeout a log that is not read is given up, and no call waits for it.
func TestLogTimeout(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s, err := posixtrace.CreateWithLog(0, &posixtrace.Attr{StreamSize: 512 << 10, LogFullPolicy: posixtrace.PolicyAppend}, w)
	if err != nil {
		t.Fatal(err)
	}
	id, err := posixtrace.OpenEventID("timeout")
	if err := errors.Join(err, s.Start()); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	for range 300 { // more than a pipe holds, less than half of the stream
		posixtrace.Event(id, make([]byte, 700))
	}
	flushed := make(chan error)
	go func() { flushed <- s.Flush() }()
	select {
	case err := <-flushed:
		t.Fatalf("Flush of a log that nothing reads: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := s.SetLogTimeout(10 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	wantErr(t, <-flushed, syscall.ETIMEDOUT)
	// Events find no room, and do not wait.
	for i := range 3000 {
		rec.Record(posixtrace.EventInfo{ID: posixtrace.EventOutputStdout, PID: i}, make([]byte, 700))
	}
	if st, err := s.PeekStatus(); err != nil || st.Lost < 1000 {
		t.Errorf("%d events are lost (%v), want most of 3000", st.Lost, err)
	}
	rec.Close()
	wantErr(t, s.Shutdown(), syscall.ETIMEDOUT)

	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err = posixtrace.CreateWithLog(0, nil, f); err != nil {
		t.Fatal(err)
	}
	wantErr(t, s.SetLogTimeout(time.Second), syscall.EINVAL)
	s.Shutdown()
}

func wantErr(t *testing.T, err error, want syscall.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func mustInfo(t *testing.T, s *posixtrace.Stream) posixtrace.StreamInfo {
	t.Helper()
	info, err := s.Info()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func countHeld(t *testing.T, s *posixtrace.Stream, id posixtrace.EventID) (n int) {
	t.Helper()
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
		if rec.ID == id {
			n++
		}
	}
}
