package stream

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// TestEveryLossIsReportedInPlace has writers fill the stream at full speed while it is emptied. Every
// loss is reported, at its place and apart from the others (FUL-16 to FUL-19). The patience is long:
// here readers must not skip an event because the machine has stopped its writer in the middle;
// other tests do that.
func TestEveryLossIsReportedInPlace(t *testing.T) {
	setPatience(t, 10*time.Second)
	for _, how := range []string{"flush", "read"} {
		for _, writers := range []int{1, 3} {
			t.Run(fmt.Sprint(how, writers), func(t *testing.T) { testEpisodes(t, UntilFull, how == "flush", writers) })
			t.Run(fmt.Sprint("loop", how, writers), func(t *testing.T) { testEpisodes(t, Loop, how == "flush", writers) })
		}
	}
}

func testEpisodes(t *testing.T, policy uint8, flush bool, writers int) {
	m := newMem(t, 8<<10, policy)
	c := newWriter(t, m, 1)
	m.Start(c, Event{})
	var quit atomic.Bool
	var wg sync.WaitGroup
	var generated atomic.Uint64
	var recs []chunk.Record
	keep := func(rec chunk.Record) {
		rec.Data = slices.Clone(rec.Data)
		recs = append(recs, rec)
	}
	put := func(b *Block) error {
		return eachEvent(b, func(rec *chunk.Record) { keep(*rec) })
	}
	r := m.NewReader()
	take := func() {
		if flush {
			if _, err := flushTo(m, c.Slot(), put); err != nil {
				t.Fatal(err)
			}
		} else {
			var rec chunk.Record
			for range 1000 {
				if !r.Next(&rec) {
					break
				}
				keep(rec)
			}
		}
	}
	take() // the START, before it can be overwritten
	for i := range writers {
		w := newWriter(t, m, 1)
		wg.Go(func() {
			e := Event{ID: event.FirstUser, TID: uint32(i + 1)}
			n := uint64(0)
			for ; !quit.Load(); n++ {
				w.Record(0, &e, binary.LittleEndian.AppendUint64(nil, n))
				if writers > 1 && n%64 == 0 {
					time.Sleep(time.Microsecond)
				}
			}
			generated.Add(n)
		})
	}
	for more := lasting(300*time.Millisecond, func() bool { return m.Lost() > 0 }); more(); {
		take()
		m.Restart(c)
	}
	quit.Store(true)
	wg.Wait()
	for range 3 {
		take()
		m.Restart(c)
	}
	take()
	if flush {
		slices.SortStableFunc(recs, func(a, b chunk.Record) int {
			if a.Tick != b.Tick {
				return cmp.Compare(a.Tick, b.Tick)
			}
			return cmp.Compare(a.Event/event.FirstUser, b.Event/event.FirstUser)
		})
	}
	checkEpisodes(t, policy, recs, writers, generated.Load(), m.Lost(), m.h.late.Load())
}

func checkEpisodes(t *testing.T, policy uint8, recs []chunk.Record, writers int, generated, lost, late uint64) {
	t.Helper()
	n, kept, over := 0, uint64(0), false
	all := ""
	next := make([]uint64, writers)
	since := make([]string, writers) // marks since the writer's last event
	for _, rec := range recs {
		mark := ""
		switch rec.Event {
		case event.FlushStart, event.FlushStop:
			continue
		case event.Stop:
			mark = "P"
		case event.Overflow:
			mark, over = "O", true
		case event.Start:
			mark = "S"
		case event.Resume:
			mark, over = "R", false
		default:
			kept++
			i := int(rec.TID) - 1
			num := binary.LittleEndian.Uint64(rec.Data)
			if num < next[i] {
				t.Fatalf("event %d of writer %d stands behind %d", num, i, next[i])
			}
			if missing := num - next[i]; missing > 0 {
				n++
				// Under LOOP the losses of several writers are one gap; events that were kept from the
				// time of the gap stand within.
				if within := policy == Loop && writers > 1 && (over || strings.Contains(since[i], "R")); !within && !regexp.MustCompile(`O.*R`).MatchString(since[i]) {
					t.Fatalf("before event %d of writer %d %d are missing, and the marks since its last event are %q; the end of the story: %q; %d late", num, i, missing, since[i], tail(all, 60), late)
				}
			}
			if writers == 1 && num == next[i] && kept > 1 && since[i] != "" && since[i] != "PS" && since[i] != "S" {
				t.Fatalf("before event %d no event is missing, but the marks are %q", num, since[i])
			}
			next[i], since[i] = num+1, ""
			mark = "e"
		}
		if mark != "e" {
			for i := range since {
				since[i] += mark
			}
		}
		if mark != "e" || len(all) == 0 || all[len(all)-1] != 'e' {
			all += mark
		}
	}
	story := `^Se(P(OSR|S)e)*`
	end := `(PO?S?R?)?$`
	if policy == Loop {
		story, end = `^S?e?(ORe)*`, `O?$`
		if writers > 1 {
			story, end = `^S?e?(Oe?Re)*`, `(Oe?)?$`
		}
	}
	if !regexp.MustCompile(story + end).MatchString(all) {
		bad := regexp.MustCompile(story).FindString(all)
		t.Errorf("the story is wrong after ...%q: %q...", tail(bad, 20), all[len(bad):min(len(bad)+20, len(all))])
	}
	if kept+lost != generated {
		t.Errorf("%d generated, %d kept, %d lost", generated, kept, lost)
	}
	t.Logf("%d generated, %d kept, %d losses reported", generated, kept, n)
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
