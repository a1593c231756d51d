package stream

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// TestReaderWaitsForClaim holds the writer of a LOOP stream up in the middle of each claim: the
// events of the chunk are lost, and not yet accounted for. A reader that comes to the chunk then
// waits for the account, because OVERFLOW and RESUME stand before the events behind the gap.
func TestReaderWaitsForClaim(t *testing.T) {
	setPatience(t, 10*time.Second)
	m := newMem(t, 64<<10, Loop)
	w := newWriter(t, m, 1)
	m.Start(w, Event{})
	r := m.NewReader()
	var recs []chunk.Record
	take := func(most int) {
		var rec chunk.Record
		for range most {
			if !r.Next(&rec) {
				break
			}
			rec.Data = slices.Clone(rec.Data)
			recs = append(recs, rec)
		}
	}
	take(1) // START
	var wg sync.WaitGroup
	quit := make(chan bool)
	generated := uint64(0)
	var read atomic.Uint64
	wg.Go(func() {
		e := Event{ID: event.FirstUser, TID: 1}
		for {
			select {
			case <-quit:
				return
			default:
			}
			for range m.ChunkSize / chunk.EventSize(8) {
				w.Record(0, &e, binary.LittleEndian.AppendUint64(nil, generated))
				generated++
			}
			for n := read.Load() + 2; read.Load() < n; {
				select {
				case <-quit:
					return
				default:
				}
			}
			for t, d := time.Now(), rand.N(6*time.Microsecond); time.Since(t) < d; {
			}
			overwriteSlowly(m)
		}
	})
	for more := lasting(700*time.Millisecond, func() bool { return m.Lost() > 0 }); more(); {
		take(1)
		read.Add(1)
		r.heap = r.heap[:0] // the next one looks at the chunks anew
	}
	close(quit)
	wg.Wait()
	take(1 << 20)
	checkEpisodes(t, Loop, recs, 1, generated, m.Lost(), m.h.late.Load())
}

// overwriteSlowly takes the oldest closed chunk as a claim does and stops in the middle.
func overwriteSlowly(m *Mem) {
	best, age := -1, ^uint64(0)
	for i := range m.Chunks {
		if c := ctl(m.at(i).ctl.Load()); c.state().closed() && !c.busy() && m.ages[i].Load() < age {
			best, age = i, m.ages[i].Load()
		}
	}
	if best < 0 {
		return
	}
	d := m.at(best)
	c := ctl(d.ctl.Load())
	if !c.state().closed() || c.busy() || !d.ctl.CompareAndSwap(uint64(c), uint64(c.with(0, claiming))) {
		return
	}
	rd := readWord(d.read.Load())
	for !rd.frozen() && rd.gen() == c.gen() && !d.read.CompareAndSwap(uint64(rd), uint64(rd)|frozenBit) {
		rd = readWord(d.read.Load())
	}
	for t := time.Now(); time.Since(t) < 20*time.Microsecond; {
	}
	m.empty(best, c)
	m.release(best)
}
