package tracelog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
)

// cache is a file whose device has everything written before the last Sync, and any part of what
// was written since, in sectors and in no order.
type cache struct {
	disk
	synced int // how many of the writes the device has
	syncs  int
}

func (c *cache) Sync() error {
	c.synced = len(c.writes)
	c.syncs++
	return nil
}

// lose returns what the device may have after a loss of power. The length of a file and new parts
// of it reach the device independently.
func (c *cache) lose(rnd *rand.Rand) []byte {
	const sector = 512
	d := new(disk)
	for _, w := range c.writes[:c.synced] {
		d.apply(w)
	}
	like := rnd.IntN(4) // how much of it arrives
	for _, w := range c.writes[c.synced:] {
		if w.data == nil {
			if rnd.IntN(2) == 0 {
				d.apply(w)
			}
			continue
		}
		for at := int64(0); at < int64(len(w.data)); {
			n := min(sector-(w.off+at)%sector, int64(len(w.data))-at)
			if rnd.IntN(4) > like {
				d.apply(diskWrite{w.off + at, w.data[at : at+n]})
			}
			at += n
		}
	}
	return d.b
}

// Everything in a log that was synced survives any loss of power, except events that a loop log
// replaced by newer ones; and no other bytes count as an event.
func TestSyncedEventsSurvivePowerLoss(t *testing.T) {
	tracetest.OnlyWithoutRace(t)
	rounds := 150
	if tracetest.Full() {
		rounds = 20_000
	}
	for _, p := range []Policy{Append, UntilFull, Loop} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			cuts, saved, syncs := 0, 0, 0
			for round := range rounds {
				rnd := rand.New(rand.NewPCG(uint64(round), uint64(p)))
				c := new(cache)
				super := superFor(p)
				super.ChunkSize, super.LogSize = 4096, 1<<20
				if p == Loop {
					super.LogSize = uint64(2+rnd.IntN(6)) * 4096
				}
				w, err := create(&positionalSink{f: c}, super)
				must(t, err)
				must(t, w.Types(testTypes))
				var line []chunk.ClockAnchor // more than a sector of them
				for i := range 80 {
					line = append(line, chunk.ClockAnchor{Tick: uint64(1 + i), Nanos: int64(i) * 100})
				}
				must(t, w.Anchors(line))
				var all []block
				sure := map[uint64]bool{} // the events that must be there
				anchors := 0
				synced := false
				for i := range 2 + rnd.IntN(40) {
					switch rnd.IntN(8) {
					case 0:
						must(t, w.Sync())
						anchors, synced = len(w.anchors), true
						clear(sure)
						for _, e := range readAll(t, openFile(t, c.b)) {
							sure[e.Tick] = true
						}
					case 1:
						must(t, w.Anchors([]chunk.ClockAnchor{{Tick: uint64(1000 * i), Nanos: 1e9 + int64(i)*2e6}}))
					default:
						b := makeBlock(uint32(i), uint64(100+20*i), 1+rnd.IntN(9), rnd.IntN(430), false)
						must(t, w.Events(b.EventsBlock))
						all = append(all, b)
					}
				}
				// A slot that was overwritten since is there, or not.
				now := map[uint64]bool{}
				for _, e := range readAll(t, openFile(t, c.b)) {
					now[e.Tick] = true
				}
				known := ordered(all)
				for range 8 {
					cuts++
					b := c.lose(rnd)
					what := fmt.Sprintf("round %d", round)
					r, err := OpenFile(readerAt(b), int64(len(b)))
					if err != nil {
						if synced {
							t.Fatalf("%s: open: %v", what, err)
						}
						continue
					}
					got := readAll(t, r)
					there := map[uint64]bool{}
					for _, e := range got {
						if !slices.Contains(known, e) || there[e.Tick] {
							t.Fatalf("%s: wrong event %+v", what, e)
						}
						there[e.Tick] = true
					}
					for tick := range sure {
						if now[tick] && !there[tick] {
							s, err := r.State()
							t.Fatalf("%s: the event at %d is lost, one of %d that were synced (%v, %v)", what, tick, len(sure), s, err)
						}
					}
					saved += len(sure)
					if n := len(r.Clock().Anchors()); n < anchors {
						t.Fatalf("%s: %d clock anchors of %d that were synced", what, n, anchors)
					}
					if p != Loop && !slices.Equal(got, known[:len(got)]) {
						t.Fatalf("%s: not the first %d events", what, len(got))
					}
					if s, _ := r.State(); s == Finished {
						t.Fatalf("%s: finished", what)
					}
				}
				syncs += c.syncs
			}
			t.Logf("%d losses of power, %d synced events, %d syncs", cuts, saved, syncs)
		})
	}
}
