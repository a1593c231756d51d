package posixtrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestStreamOutlivesItsClosedOwner closes the connection that owns a stream with log. Other
// connections of the process still flush, clear and shut the stream down, and its log is whole.
func TestStreamOutlivesItsClosedOwner(t *testing.T) {
	for _, policy := range []FullPolicy{PolicyLoop, PolicyUntilFull, PolicyFlush} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			name := fmt.Sprintf("close-owner-%d-%d", os.Getpid(), policy)
			path := filepath.Join(t.TempDir(), "log")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := CreateWithLog(0, &Attr{Name: name, StreamFullPolicy: policy, LogFullPolicy: PolicyAppend}, f)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			other, err := Attach(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			Event(EventUnnamed, []byte("before"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("the second Close: %v", err)
			}
			if err := s.Flush(); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("Flush after Close: %v", err)
			}
			Event(EventUnnamed, []byte("after"))
			ends(t, "Flush", other.Flush)
			ends(t, "Sync", other.Sync)
			Event(EventUnnamed, []byte("last"))
			ends(t, "Shutdown", other.Shutdown)
			if got := fmt.Sprint(unnamed(t, path)); got != "[before after last]" {
				t.Errorf("the log has %s", got)
			}
		})
	}
}

// TestCloseOfOwnerDuringFlushes closes it while other connections ask for flushes.
func TestCloseOfOwnerDuringFlushes(t *testing.T) {
	for range 20 {
		s, path := withLog(t, &Attr{StreamSize: 8 << 10, LogFullPolicy: PolicyAppend})
		info, err := s.Info()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			other, err := Attach(info.Path)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				defer other.Close()
				for range 3 {
					Event(EventUnnamed, []byte("x"))
					ends(t, "Flush", other.Flush)
				}
			})
		}
		other, err := Attach(info.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		ends(t, "Shutdown", other.Shutdown)
		if n := len(unnamed(t, path)); n != 9 {
			t.Errorf("the log has %d events of 9", n)
		}
	}
}

// ends calls f, which must return.
func ends(t *testing.T, what string, f func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(30 * time.Second):
		t.Errorf("%s waits for an owner that has closed the stream", what)
	}
}

// The number of a thread is not the number of a process.
func TestCreateRefusesThreadNumbers(t *testing.T) {
	tids := make(chan int)
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			runtime.LockOSThread()
			tids <- syscall.Gettid()
			<-quit
		})
	}
	for range 2 {
		tid := <-tids
		if tid == os.Getpid() {
			continue
		}
		if s, err := Create(tid, nil); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("a stream for thread %d of process %d: %v", tid, os.Getpid(), err)
			if err == nil {
				s.Shutdown()
			}
		}
	}
	s, err := Create(os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Handover(syscall.Gettid() + 1<<21); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a handover to nothing: %v", err)
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	close(quit)
	wg.Wait()
}
