package posixtrace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
)

func init() {
	// load-burst: args[1] events as number args[0].
	tracetest.Helpers["load-burst"] = func(args []string) {
		id, err := OpenEventID("load")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		who, _ := strconv.ParseUint(args[0], 10, 64)
		n, _ := strconv.ParseUint(args[1], 10, 64)
		var b []byte
		for i := range n {
			b = crashData(b, who, i)
			Event(id, b)
		}
	}
}

// footprint is the resources that a process uses.
type footprint struct{ goroutines, descriptors, mappings, files, swept, anonKB int }

func footprintNow(t *testing.T) (f footprint) {
	t.Helper()
	for range 5 { // a collection after the last reference unmaps
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(os.Getenv("PTRACE_DIR"))
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	return footprint{
		runtime.NumGoroutine(), len(fds), strings.Count(string(maps), os.Getenv("PTRACE_DIR")), len(files), conn.SweptStreams(),
		statusNumber(string(status), "RssAnon:"),
	}
}

// counts is a footprint without its memory, which varies.
func (f footprint) counts() footprint {
	f.anonKB = 0
	return f
}

// settledFootprint returns footprintNow once what ends in the background, as goroutines of earlier tests
// do, has ended.
func settledFootprint(t *testing.T) footprint {
	t.Helper()
	f := footprintNow(t)
	for same := 0; same < 3; same++ {
		last := f
		if f = footprintNow(t); f.counts() != last.counts() {
			same = -1
		}
	}
	return f
}

// footprintOf is footprintNow after the counts have come down to those of before, or a timeout. Fewer
// files are as good: a sweep removes those of the dead.
func footprintOf(t *testing.T, before footprint) footprint {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		f := footprintNow(t)
		f.files = max(f.files, before.files)
		if f.counts() == before.counts() || time.Now().After(end) {
			return f
		}
	}
}

// flat compares two footprints, the second of which may have grown by that much memory.
func flat(t *testing.T, before, after footprint, kb int) {
	t.Helper()
	t.Logf("before %+v, after %+v", before, after)
	grown := after.anonKB - before.anonKB
	if tracetest.RaceEnabled {
		grown = 0 // memory of the race detector
	}
	if after.counts() != before.counts() || grown > kb {
		t.Errorf("%+v has become %+v, and %d KiB more", before.counts(), after.counts(), grown)
	}
}

// TestLoadCycles makes and shuts down streams by the thousand, some with a log.
func TestLoadCycles(t *testing.T) {
	n := tracetest.Scale(3000, 10000, 100000)
	if tracetest.RaceEnabled {
		n /= 20
	}
	id, err := OpenEventID("load.cycle")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cycle.trace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cycle := func(i int) {
		var s *Stream
		var err error
		if i%10 == 0 {
			s, err = CreateWithLog(0, &Attr{StreamSize: 1, MaxDataSize: new(64)}, f)
		} else {
			s, err = Create(0, &Attr{StreamSize: 1, MaxDataSize: new(64)})
		}
		if err == nil {
			err = s.Start()
		}
		Event(id, nil)
		if err == nil && i%10 != 0 {
			if _, _, err = s.TryNext(nil); err == nil {
				_, _, err = s.TryNext(nil)
			}
		}
		if err == nil {
			err = s.Shutdown()
		}
		if err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
	}
	for i := range 200 {
		cycle(i)
	}
	before := settledFootprint(t)
	for i := range n {
		cycle(i)
	}
	flat(t, before, footprintOf(t, before), 4<<10)
}

// TestLoadStreams has sixteen writers and short-lived processes record into sixty streams at
// once while the test reads. For each stream, read plus lost events are the generated ones, none
// torn, none repeated.
func TestLoadStreams(t *testing.T) {
	const streams, writers, each = 60, 16, 20
	processes, duration := tracetest.Scale(30, 1000, 1000), time.Duration(tracetest.Scale(300, 10000, 60000))*time.Millisecond
	if tracetest.RaceEnabled {
		processes /= 6
	}
	id, err := OpenEventID("load")
	if err != nil {
		t.Fatal(err)
	}
	Event(id, nil)
	// A traced process and a controller keep a page, names and the directory; all exist before. A
	// sweep removes the files of the dead.
	createTwice := func() {
		for range 2 {
			s, err := Create(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Shutdown(); err != nil {
				t.Fatal(err)
			}
		}
	}
	createTwice()
	before := settledFootprint(t)
	var list [streams]*Stream
	for i := range list {
		s, err := Create(0, &Attr{Inheritance: InheritChildren, StreamSize: 32 << 10, StreamFullPolicy: PolicyLoop, Name: fmt.Sprintf("load%d", i)})
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		list[i] = s
	}
	var generated atomic.Uint64
	var work, readers sync.WaitGroup
	var quit, done atomic.Bool
	for w := range uint64(writers) {
		work.Go(func() {
			var b []byte
			for n := uint64(0); !quit.Load(); n++ {
				b = crashData(b, w, n)
				Event(id, b)
				generated.Add(1)
				if n%16 == 0 {
					time.Sleep(100 * time.Microsecond) // so that the reader gets some of its events
				}
			}
		})
	}
	var next atomic.Uint64
	for range 2 {
		work.Go(func() {
			for {
				n := next.Add(1)
				if n > uint64(processes) {
					return
				}
				cmd := exec.Command(os.Args[0], fmt.Sprint(writers+n), fmt.Sprint(each))
				cmd.Env = append(os.Environ(), tracetest.HelperVar+"=load-burst", tracetest.Quick)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("a process: %v, %s", err, out)
				}
				generated.Add(each)
			}
		})
	}
	var seen [streams]crashSeen
	drain := func(i int) error {
		buf := make([]byte, 4096)
		for range 200 {
			ev, n, err := list[i].TryNext(buf)
			switch {
			case err == ErrUnavailable:
				return nil
			case err != nil:
				return err
			case ev.ID == EventStart:
				seen[i].n++
			case ev.ID == id:
				if err := seen[i].add(buf[:n]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for r := range 2 {
		readers.Go(func() {
			for !done.Load() {
				for i := r; i < streams; i += 2 {
					if err := drain(i); err != nil {
						t.Errorf("stream %d: %v", i, err)
						return
					}
				}
			}
		})
	}
	time.Sleep(duration)
	for next.Load() <= uint64(processes) && !t.Failed() {
		time.Sleep(10 * time.Millisecond)
	}
	quit.Store(true)
	work.Wait()
	done.Store(true)
	readers.Wait()
	var read, lost uint64
	for i, s := range list {
		for range 20 {
			if err := drain(i); err != nil {
				t.Errorf("stream %d: %v", i, err)
			}
		}
		st, err := s.PeekStatus()
		if err != nil {
			t.Fatal(err)
		}
		if want := generated.Load() + 1; seen[i].n+st.Lost != want {
			t.Errorf("stream %d: %d read + %d lost = %d, not %d", i, seen[i].n, st.Lost, seen[i].n+st.Lost, want)
		}
		read, lost = read+seen[i].n, lost+st.Lost
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d streams, %d writers, %d processes: %d events generated, each for every stream; %d read, %d lost", streams, writers, processes, generated.Load(), read, lost)
	list = [streams]*Stream{}
	createTwice()
	flat(t, before, footprintOf(t, before), 64<<10)
}

// TestLoadStorm compares the cost of an event in a stream that is far too small with that in a
// large one: at most twice as much.
func TestLoadStorm(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	id, err := OpenEventID("load.storm")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 16)
	const batch = 20000
	for _, policy := range []FullPolicy{PolicyLoop, PolicyUntilFull} {
		small := running(t, 0, Attr{StreamSize: 1, MaxDataSize: new(16), StreamFullPolicy: policy})
		large := running(t, 0, Attr{StreamSize: 8 << 20, MaxDataSize: new(16), StreamFullPolicy: policy})
		storm := func(on, off *Stream) time.Duration {
			if err := off.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := on.Clear(); err != nil { // start again, full or not
				t.Fatal(err)
			}
			if err := on.Start(); err != nil {
				t.Fatal(err)
			}
			for range 1000 {
				Event(id, data)
			}
			begin := time.Now()
			for range batch {
				Event(id, data)
			}
			return time.Since(begin)
		}
		// The quickest of many short batches ran undisturbed.
		s, l := time.Hour, time.Hour
		ratio := tracetest.AtMost(t, 2, func() float64 {
			for range 60 {
				s, l = min(s, storm(small, large)), min(l, storm(large, small))
			}
			return float64(s) / float64(l)
		})
		st, err := small.PeekStatus()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: %.1f ns in the small one, of whose events %d were lost, %.1f ns in the large one: %.2f times", policy,
			float64(s.Nanoseconds())/batch, st.Lost, float64(l.Nanoseconds())/batch, ratio)
		if st.Lost == 0 {
			t.Errorf("%v: the small stream has lost nothing", policy)
		}
		small.Shutdown()
		large.Shutdown()
	}
}
