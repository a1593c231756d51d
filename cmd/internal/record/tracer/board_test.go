package tracer

import (
	"testing"
	"time"
)

// More threads than places come and go: each that finds a place shows its call, the others show nothing,
// and no place is lost.
func TestBoard(t *testing.T) {
	b := newBoard()
	if b == nil {
		t.Fatal("no board")
	}
	at := time.Now()
	for round := range 3 {
		tasks := make([]*task, boardPlaces+100)
		shown := 0
		for i := range tasks {
			k := &task{tid: 1 + i, call: call{nr: 7, entered: at}}
			b.enter(k)
			if k.place == nil {
				continue
			}
			shown++
			if p := k.place; int(p.tid.Load()) != k.tid || p.nr.Load() != 7 || p.entered.Load() != uint64(at.UnixNano()) {
				t.Fatalf("round %d: thread %d shows another call", round, k.tid)
			}
			if b.leave(k); k.place.entered.Load() != 0 {
				t.Fatalf("round %d: thread %d has left its call", round, k.tid)
			}
			tasks[i] = k
		}
		if shown != boardPlaces {
			t.Fatalf("round %d: %d threads show their calls, want %d", round, shown, boardPlaces)
		}
		for _, k := range tasks {
			if k != nil {
				b.forget(k)
			}
		}
	}
	var none *board
	k := &task{tid: 1}
	none.enter(k)
	none.leave(k)
	none.forget(k)
}
