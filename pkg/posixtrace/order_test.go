package posixtrace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// judge checks the order of the numbered events of each writer, as a reader reports them.
type judge struct {
	last  map[uint32]uint32 // by writer
	wrong string
	seen  int
}

func (j *judge) see(data []byte) {
	data, ok := bytes.CutPrefix(data, []byte("line"))
	if !ok {
		return // an event of the trace system
	}
	w, n := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
	if j.last == nil {
		j.last = map[uint32]uint32{}
	}
	if last := j.last[w]; n <= last && j.wrong == "" {
		j.wrong = fmt.Sprintf("writer %d: event %d after %d", w, n, last)
	}
	j.last[w] = max(j.last[w], n)
	j.seen++
}

// scribe records numbered events.
type scribe struct {
	id   uint32
	n    uint32
	data [28]byte
}

func (s *scribe) next(size int) []byte {
	s.n++
	copy(s.data[:], "line")
	binary.LittleEndian.PutUint32(s.data[4:], s.id)
	binary.LittleEndian.PutUint32(s.data[8:], s.n)
	return s.data[:12+size%(len(s.data)-12)]
}

// scribes runs several writers of every kind until the stream has taken total events or stop is
// closed. The kinds are Recorders that give all lines of a batch one time, that give times from
// elsewhere, some of them old, and that mix both with the present; Recorders that live for one
// batch and leave partial chunks to others; and a trace point.
func scribes(t *testing.T, s *Stream, seed uint64, total int, stop <-chan struct{}) {
	t.Helper()
	id, err := OpenEventID("order.line")
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	var numbers, taken atomic.Uint32
	over := func() bool {
		select {
		case <-stop:
			return true
		default:
			return int(taken.Load()) >= total
		}
	}
	for kind := range 4 {
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(kind)))
			var rec *Recorder
			var w scribe
			for !over() {
				if rec == nil {
					r, err := s.Recorder()
					if err != nil {
						t.Error(err)
						return
					}
					rec, w = r, scribe{id: numbers.Add(1)}
				}
				at := rec.Now()
				for i := range 1 + rnd.IntN(300) {
					ev := EventInfo{ID: id, PID: os.Getpid(), UnixNano: at}
					switch kind {
					case 1:
						ev.UnixNano = time.Now().Add(-time.Duration(rnd.IntN(3)) * time.Millisecond).UnixNano()
					case 2:
						if i%16 == 0 {
							ev.UnixNano = 0
						}
					}
					if rec.Record(ev, w.next(i)) {
						taken.Add(1)
					}
				}
				if kind == 3 || rnd.IntN(50) == 0 {
					rec.Close()
					rec = nil
				}
				runtime.Gosched()
			}
			if rec != nil {
				rec.Close()
			}
		})
	}
	writers.Go(func() {
		runtime.LockOSThread() // the events of one thread
		w := scribe{id: numbers.Add(1)}
		for i := 0; !over(); i++ {
			Event(id, w.next(i))
			if i%100 == 0 {
				runtime.Gosched()
			}
		}
	})
	writers.Wait()
}

// The events of one writer keep their order, whatever times it gives them, through flushes,
// merging, following and live reading, in streams of any size.
func TestEventsOfOneWriterKeepTheirOrder(t *testing.T) {
	rounds := tracetest.Scale(1, 2, 8)
	total := tracetest.Scale(20_000, 60_000, 200_000)
	for round := range rounds {
		for _, size := range []int64{4 << 10, 16 << 10, 64 << 10, 1 << 20} {
			seed := uint64(round)
			if tracetest.Full() {
				seed = rand.Uint64()
			}
			t.Run(fmt.Sprintf("log/%dK/%d", size>>10, seed), func(t *testing.T) { orderInLog(t, size, seed, total) })
			t.Run(fmt.Sprintf("live/%dK/%d", size>>10, seed), func(t *testing.T) { orderLive(t, size, seed, total) })
		}
	}
}

func orderInLog(t *testing.T, size int64, seed uint64, total int) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := CreateWithLog(0, &Attr{StreamSize: size, StreamFullPolicy: PolicyFlush, LogFullPolicy: PolicyAppend}, f)
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	stop := make(chan struct{})
	var flusher sync.WaitGroup
	flusher.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			s.Flush()
			if i%50 == 0 {
				if wrong := judgePeek(t, s); wrong != "" {
					t.Errorf("a look at the live log: %s", wrong)
				}
			}
			runtime.Gosched()
		}
	})
	scribes(t, s, seed, total, nil)
	close(stop)
	flusher.Wait()
	if err := s.Shutdown(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		name string
		in   io.Reader
	}{{"the file", f}, {"a pipe", bytes.NewReader(log)}} {
		r, err := NewReader(way.in)
		if err != nil {
			t.Fatal(err)
		}
		var j judge
		for rec := range records(t, r) {
			j.see(rec.Data)
		}
		r.Close()
		if j.wrong != "" || j.seen < total/2 {
			t.Errorf("%s: %s (%d events)", way.name, j.wrong, j.seen)
		}
	}
}

// judgePeek reads the events so far.
func judgePeek(t *testing.T, s *Stream) (wrong string) {
	r, err := s.Reader()
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Close()
	var j judge
	for rec := range records(t, r) {
		j.see(rec.Data)
	}
	return j.wrong
}

// records yields the events up to the end.
func records(t *testing.T, r *Reader) func(func(Record) bool) {
	return func(yield func(Record) bool) {
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if !yield(*rec) {
				return
			}
		}
	}
}

func orderLive(t *testing.T, size int64, seed uint64, total int) {
	s, err := Create(0, &Attr{StreamSize: size, StreamFullPolicy: PolicyLoop})
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		scribes(t, s, seed, total, stop)
	}()
	defer func() { <-done }()
	defer close(stop)
	var j judge
	var data [64]byte
	peeks := 0
	for over := false; !over && j.wrong == ""; {
		select {
		case <-done:
			over = true
		default:
		}
		for n := 0; n < 2000; n++ {
			_, k, err := s.TryNext(data[:])
			if err != nil || k < 0 {
				break
			}
			j.see(data[:k])
		}
		if peeks++; peeks%4 == 0 {
			if wrong := judgePeek(t, s); wrong != "" {
				t.Errorf("a peek: %s", wrong)
			}
		}
		runtime.Gosched()
	}
	if j.wrong != "" || j.seen == 0 {
		t.Errorf("live: %s (%d events)", j.wrong, j.seen)
	}
}
