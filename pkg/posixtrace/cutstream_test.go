//go:build amd64 || arm64

package posixtrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// TestCutStreamEndsNoProcess truncates the file of a stream, anywhere, while another process records
// and the test makes all other calls. The traced process continues, every call returns, each
// event read was recorded, and nothing is left behind.
func TestCutStreamEndsNoProcess(t *testing.T) {
	c := tracetest.Start(t, "target")
	c.Line()
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	reported, rounds := 0, tracetest.Scale(100, 2000, 50000)
	for round := range rounds {
		if cutOnce(t, c, rng, round%2 == 0) {
			reported++
		}
		if t.Failed() {
			return
		}
		c.Say("after that")
	}
	t.Logf("%d files cut, %d reported", rounds, reported)
	if reported == 0 {
		t.Error("no call reported a cut file")
	}
}

// harmed starts a stream on c, for a test to damage, with a log at path if logged, and attaches
// to it a second time.
func harmed(t *testing.T, c *tracetest.Child, attr *Attr, logged bool, path string) (s, other *Stream, info StreamInfo) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if logged {
		f, e := os.Create(path)
		must(e)
		defer f.Close()
		s, err = CreateWithLog(c.PID, attr, f)
	} else {
		s, err = Create(c.PID, attr)
	}
	must(err)
	must(s.Start())
	info, err = s.Info()
	must(err)
	other, err = Attach(info.Path)
	must(err)
	return s, other, info
}

func cutOnce(t *testing.T, c *tracetest.Child, rng *rand.Rand, logged bool) (reported bool) {
	path := filepath.Join(t.TempDir(), "cut.trace")
	attr := &Attr{StreamSize: 64 << 10, LogFullPolicy: PolicyAppend}
	s, other, info := harmed(t, c, attr, logged, path)
	defer other.Close()
	st, err := os.Stat(info.Path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c.In, "20000*ev payload")
	var wg sync.WaitGroup
	quit := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if !logged {
		wg.Go(func() { // waits for events until the stream ends
			for {
				if _, _, err := other.Next(ctx, nil); err != nil {
					if ctx.Err() != nil {
						t.Error("a reader waits for events of a stream that is gone")
					}
					return
				}
			}
		})
	}
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				useAll(t, s, other, info, "payload")
			}
		}
	})
	pauseUpTo(time.Millisecond)
	size := rng.Int64N(st.Size())
	switch rng.IntN(3) {
	case 0:
		size &^= 4095
	case 1:
		size = 0
	}
	if err := os.Truncate(info.Path, size); err != nil {
		t.Error(err)
	}
	if l := c.Line(); l != "done" {
		t.Errorf("the traced process says %q", l)
	}
	pauseUpTo(time.Millisecond)
	close(quit)
	err = s.Shutdown()
	if err != nil && !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	t.Logf("cut to %d of %d, logged %v: %v", size, st.Size(), logged, err)
	reported = err != nil && strings.Contains(err.Error(), "cut short")
	if size == 0 && !reported {
		t.Errorf("the shutdown of a stream without a file: %v", err)
	}
	wg.Wait()
	if _, err := os.Stat(info.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
	if logged {
		checkCutLog(t, path, reported)
	}
	return reported
}

// pauseUpTo waits for a random time.
func pauseUpTo(d time.Duration) { time.Sleep(rand.N(d)) }

// useAll makes every call once and ignores the results.
func useAll(t *testing.T, s, other *Stream, info StreamInfo, want string) {
	var none EventSet
	for _, s := range []*Stream{s, other} {
		s.PeekStatus()
		s.Status()
		s.Attr()
		s.Info()
		s.Filter()
		s.SetFilter(none, FilterSet)
		s.Stop()
		s.Start()
		s.EventName(EventStart)
		s.Clear()
		if r, err := s.Reader(); err == nil {
			readAll(t, r, want)
			r.Close()
		}
		if r, err := s.Recorder(); err == nil {
			r.Record(EventInfo{ID: EventProcExit}, []byte("payload"))
			r.Close()
		}
		s.TryNext(nil)
		if info.LogPath != "" {
			s.Flush()
		}
	}
	List()
}

// readAll reads the remaining events, each of which must have the data want; "" is any.
func readAll(t *testing.T, r *Reader, want string) (n int) {
	for ; ; n++ {
		rec, err := r.Next()
		if err != nil {
			if want != "" && err != io.EOF && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.EINVAL) {
				t.Errorf("reading: %v", err)
			}
			return n
		}
		if rec.ID.User() && want != "" && string(rec.Data) != want {
			t.Errorf("an event with %q was never recorded", rec.Data)
			return n
		}
	}
}

func checkCutLog(t *testing.T, path string, reported bool) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := readAll(t, r, "payload")
	state, err := r.State()
	if want := map[bool]LogState{true: LogUnfinished, false: LogFinished}[reported]; state != want {
		t.Errorf("the log is %v (%v) after %d events, cut reported: %v", state, err, n, reported)
	}
}

// The process that faults on the truncated file maps zeros over the stream and then marks it as
// dead. Interrupted in between, it leaves a stream that is neither running nor dead. Other
// processes treat that stream as truncated, and do not shut it down.
func TestCutStreamWithoutState(t *testing.T) {
	for _, logged := range []bool{false, true} {
		s, other, info := harmed(t, &tracetest.Child{}, &Attr{StreamSize: 64 << 10, LogFullPolicy: PolicyAppend}, logged, filepath.Join(t.TempDir(), "cut.trace"))
		var elsewhere atomic.Uint64
		for _, s := range []*Stream{s, other} {
			s.c.Guard.WhenCut(&elsewhere, 0)
		}
		if err := os.Truncate(info.Path, 0); err != nil {
			t.Fatal(err)
		}
		for _, s := range []*Stream{s, other} {
			if s.c.CheckCut(); s.c.Mem.State() != 0 {
				t.Fatalf("the state is %x, not that of zeros", s.c.Mem.State())
			}
		}
		if _, err := other.Status(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EIO) {
			t.Errorf("logged %v: Status: %v", logged, err)
		}
		if err := s.Start(); !errors.Is(err, syscall.EIO) {
			t.Errorf("logged %v: Start: %v", logged, err)
		}
		if err := s.Shutdown(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("logged %v: Shutdown: %v", logged, err)
		}
		other.Close()
		if _, err := os.Stat(info.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("logged %v: the file: %v", logged, err)
		}
	}
}
