package posixtrace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// pairEvents is the number of events in each stream of TestConcurrentPairsOfMethods. A third
// of them is flushed before the calls.
const pairEvents = 3000

func init() {
	// pairs-owner: makes args[1] streams with logs in directory args[0], records the numbers in
	// all of them, and prints their paths.
	tracetest.Helpers["pairs-owner"] = func(args []string) {
		n, _ := strconv.Atoi(args[1])
		var paths []string
		list, err := pairStreams(args[0], n)
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		for _, s := range list {
			paths = append(paths, s.c.Path)
		}
		fmt.Println(strings.Join(paths, " "))
		os.Stdin.Read(make([]byte, 1))
	}
}

func pairLog(dir string, i int) string { return filepath.Join(dir, strconv.Itoa(i)+".trace") }

// pairStreams makes streams that trace this process, with all events recorded and a
// third of them flushed.
func pairStreams(dir string, n int) (list []*Stream, err error) {
	id, err := OpenEventID("pairs")
	if err != nil {
		return nil, err
	}
	for i := range n {
		f, err := os.Create(pairLog(dir, i))
		if err != nil {
			return list, err
		}
		s, err := CreateWithLog(0, &Attr{StreamFullPolicy: PolicyUntilFull, StreamSize: 256 << 10}, f)
		f.Close()
		if err != nil {
			return list, err
		}
		list = append(list, s)
		if err := s.Start(); err != nil {
			return list, err
		}
	}
	var data [24]byte
	for i := range pairEvents {
		if i == pairEvents/3 {
			for _, s := range list {
				if err := s.Flush(); err != nil {
					return list, err
				}
			}
		}
		binary.LittleEndian.PutUint32(data[:], uint32(i))
		Event(id, data[:])
	}
	return list, nil
}

// pairMethods are all methods of a Stream.
var pairMethods = map[string]func(s *Stream) error{
	"Adopt": func(s *Stream) error { return s.Adopt(os.Getpid()) },
	"All": func(s *Stream) error {
		for _, err := range s.All() {
			return err
		}
		return nil
	},
	"Attr":     func(s *Stream) error { _, err := s.Attr(); return err },
	"BeginLog": func(s *Stream) error { return s.BeginLog() },
	"Clear":    func(s *Stream) error { return s.Clear() },
	"Close":    func(s *Stream) error { return s.Close() },
	"EventID": func(s *Stream) error {
		_, err := s.EventID("pairs " + strconv.Itoa(rand.IntN(8)))
		return err
	},
	"EventName": func(s *Stream) error { _, err := s.EventName(EventStart); return err },
	"EventTypes": func(s *Stream) error {
		_, err := s.EventTypes()
		return err
	},
	"Filter": func(s *Stream) error { _, err := s.Filter(); return err },
	"FilterOps": func(s *Stream) error {
		return s.FilterOps([]FilterOp{{How: FilterAdd, Patterns: []string{"x*"}}})
	},
	"Flush":         func(s *Stream) error { return s.Flush() },
	"Handover":      func(s *Stream) error { return s.Handover(1 << 22) }, // no such process
	"Info":          func(s *Stream) error { _, err := s.Info(); return err },
	"MadeRoom":      func(s *Stream) error { s.MadeRoom(); return nil },
	"NextEventType": func(s *Stream) error { _, _, err := s.NextEventType(); return err },
	"Next": func(s *Stream) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		_, _, err := s.Next(ctx, nil)
		return err
	},
	"OpenSystemEventIDs": func(s *Stream) error { _, err := s.OpenSystemEventIDs("pairs.system"); return err },
	"PeekStatus":         func(s *Stream) error { _, err := s.PeekStatus(); return err },
	"Reader": func(s *Stream) error {
		r, err := s.Reader()
		if err != nil {
			return err
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			return err
		}
		return nil
	},
	"Recorder": func(s *Stream) error {
		r, err := s.Recorder()
		if err != nil {
			return err
		}
		return r.Close()
	},
	"RequestFlush":     func(s *Stream) error { return s.RequestFlush() },
	"RewindEventTypes": func(s *Stream) error { return s.RewindEventTypes() },
	"SetLogTimeout":    func(s *Stream) error { return s.SetLogTimeout(time.Hour) },
	"SetFilter":        func(s *Stream) error { return s.SetFilter(EventSet{}, FilterAdd) },
	"SetSync":          func(s *Stream) error { return s.SetSync(true) },
	"Shutdown":         func(s *Stream) error { return s.Shutdown() },
	"Start":            func(s *Stream) error { return s.Start() },
	"Status":           func(s *Stream) error { _, err := s.Status(); return err },
	"Stop":             func(s *Stream) error { return s.Stop() },
	"Sync":             func(s *Stream) error { return s.Sync() },
	"TimedNext":        func(s *Stream) error { _, _, err := s.TimedNext(time.Now(), nil); return err },
	"TryNext":          func(s *Stream) error { _, _, err := s.TryNext(nil); return err },
}

// Several goroutines call each pair of methods on one Stream at the same time, and the log gets
// every event once and in order: on the owner's Stream, on another process's, and on that of a
// killed owner, whose log the calls complete.
func TestConcurrentPairsOfMethods(t *testing.T) {
	var names []string
	typ := reflect.TypeFor[*Stream]()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if pairMethods[name] == nil {
			t.Errorf("the test does not call %s", name)
			continue
		}
		names = append(names, name)
	}
	// Methods that complete or empty a log are always tried with each other, the rest in samples.
	first := []string{"Flush", "RequestFlush", "Sync", "SetSync", "Shutdown", "Clear"}
	var pairs [][2]string
	for i, a := range first {
		for _, b := range first[i:] {
			pairs = append(pairs, [2]string{a, b})
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	if tracetest.Full() {
		pairs = pairs[:0]
		for i, a := range names {
			for _, b := range names[i:] {
				pairs = append(pairs, [2]string{a, b})
			}
		}
		rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	} else {
		for range 11 {
			pairs = append(pairs, [2]string{names[rng.IntN(len(names))], first[rng.IntN(len(first))]})
		}
	}
	for _, owner := range []string{"dead", "alive", "own"} {
		t.Run(owner, func(t *testing.T) {
			for rest := pairs; len(rest) > 0 && !t.Failed(); {
				n := min(len(rest), 16)
				tryPairs(t, owner, rest[:n])
				rest = rest[n:]
			}
		})
	}
}

// tryPairs tries each pair on a stream of its own.
func tryPairs(t *testing.T, owner string, pairs [][2]string) {
	dir := t.TempDir()
	var list []*Stream
	var paths []string
	if owner == "own" {
		var err error
		list, err = pairStreams(dir, len(pairs))
		defer func() {
			for _, s := range list {
				if !s.isClosed() {
					s.Shutdown()
				}
			}
		}()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			paths = append(paths, s.c.Path)
		}
	} else {
		c := tracetest.Start(t, "pairs-owner", dir, strconv.Itoa(len(pairs)))
		paths = strings.Fields(c.Line())
		if len(paths) != len(pairs) {
			t.Fatalf("the owner says %q", paths)
		}
		for _, path := range paths {
			s, err := Attach(path)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		if owner == "dead" {
			c.Cmd.Process.Kill()
			c.Cmd.Wait()
		}
		defer func() {
			c.Cmd.Process.Kill()
			c.Cmd.Wait()
			if _, err := List(); err != nil {
				t.Error(err)
			}
		}()
	}
	for i, p := range pairs {
		s := list[i]
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%s and %s, owner %s: %s", p[0], p[1], owner, fmt.Sprintf(format, args...))
		}
		const each = 3
		var errs [2 * each]error
		var all sync.WaitGroup
		begin := make(chan struct{})
		for k := range errs {
			f := pairMethods[p[k%2]]
			all.Go(func() {
				<-begin
				errs[k] = f(s)
			})
		}
		close(begin)
		done := make(chan struct{})
		go func() {
			all.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			fail("the calls do not return")
			panic("stuck")
		}
		// Shut the stream down if no call did.
		if !s.isClosed() {
			if err := s.Shutdown(); err != nil && !errors.Is(err, syscall.EINVAL) {
				fail("Shutdown: %v", err)
			}
		} else if s, err := Attach(paths[i]); err == nil {
			if err := s.Shutdown(); err != nil {
				fail("Shutdown by another: %v", err)
			}
		}
		if !s.c.Dead() {
			fail("the stream lives")
		}
		if _, err := os.Stat(paths[i]); !errors.Is(err, os.ErrNotExist) {
			fail("the stream's file: %v", err)
		}
		cleared := owner != "dead" && (p[0] == "Clear" || p[1] == "Clear")
		if n, err := readPairs(pairLog(dir, i)); err != nil || n != pairEvents && (n != 0 || !cleared) {
			fail("%d of %d events are in the log, %v; the calls: %v", n, pairEvents, err, errs)
		}
		s.Close()
	}
}

// readPairs reads a log, which must be finished and hold the first numbers.
func readPairs(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return n, err
		}
		if r.EventName(rec.ID) != "pairs" {
			continue
		}
		if len(rec.Data) != 24 || binary.LittleEndian.Uint32(rec.Data) != uint32(n) {
			return n, fmt.Errorf("after %d comes %x", n, rec.Data)
		}
		n++
	}
	if state, err := r.State(); state != LogFinished {
		return n, fmt.Errorf("the log is %v: %w", state, err)
	}
	if st := r.Status(); n > 0 && st.Lost+st.LogLost > 0 {
		return n, fmt.Errorf("%d lost, and %d for the log", st.Lost, st.LogLost)
	}
	return n, nil
}
