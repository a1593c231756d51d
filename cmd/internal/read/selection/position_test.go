package selection

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func event(at int64, data string) *posixtrace.Record {
	return &posixtrace.Record{EventInfo: posixtrace.EventInfo{ID: 33, PID: 7, TID: 7, UnixNano: at}, Data: []byte(data)}
}

// Readers that return more events each time, and events of one time in any order, together
// show each event once.
func TestPosition(t *testing.T) {
	const ms = int64(time.Millisecond)
	p := Position{Window: 10 * time.Millisecond}
	var shown []string
	for _, snapshot := range [][]*posixtrace.Record{
		{},
		{event(1*ms, "a"), event(2*ms, "b")},
		{event(1*ms, "a"), event(2*ms, "b")},
		// c appears late, and b shares its time with d.
		{event(1*ms, "a"), event(1*ms+1, "c"), event(2*ms, "d"), event(2*ms, "b"), event(2*ms, "b")},
		{event(1*ms, "a"), event(1*ms+1, "c"), event(2*ms, "b"), event(2*ms, "b"), event(2*ms, "d"), event(20*ms, "e")},
		// Events that are too late count as seen.
		{event(3*ms, "x"), event(9*ms, "x"), event(10*ms, "f"), event(20*ms, "e"), event(20*ms, "g")},
	} {
		p.Again()
		for _, rec := range snapshot {
			if !p.Passed(rec) {
				p.Advance(rec)
				shown = append(shown, string(rec.Data))
			}
		}
	}
	if got := strings.Join(shown, ""); got != "abcdbefg" {
		t.Errorf("shown: %s", got)
	}
}

// With any number of events at once, memory stays bounded and no event is missed.
func TestPositionBounded(t *testing.T) {
	for _, step := range []int64{0, 1} {
		p := Position{Window: time.Hour}
		n := 3 * maxSeen
		for round := range 2 {
			p.Again()
			unseen := 0
			for i := range n {
				if rec := event(int64(i)*step, fmt.Sprint(i)); !p.Passed(rec) {
					p.Advance(rec)
					unseen++
				}
			}
			if round == 0 && unseen != n || len(p.Seen) > maxSeen {
				t.Errorf("step %d: %d of %d events are new, %d kept", step, unseen, n, len(p.Seen))
			}
			if round == 1 && step > 0 && unseen != 0 {
				t.Errorf("%d events are shown twice", unseen)
			}
		}
	}
}
