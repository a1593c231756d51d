package stream

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// queueLog is a log that writes a few blocks at a time.
type queueLog struct {
	m       *Mem
	t       *testing.T
	most    int // blocks in the queue
	left    int // how many blocks it still has room for
	refuse  int // the number of the block that it does not even queue
	waiting []Block
	seen    map[uint64]int // events, by address
}

var errNoRoom = errors.New("no room")

func (l *queueLog) write(b *Block) error {
	if l.left == 0 {
		return errNoRoom
	}
	l.left--
	return eachEvent(b, func(rec *chunk.Record) {
		if rec.Event.User() {
			l.seen[rec.Addr]++
		}
	})
}

func (l *queueLog) sink() *Sink {
	return &Sink{
		Room: math.MaxInt64, Lost: func(int) {},
		Space: func(n int) []byte {
			if len(l.waiting) >= l.most {
				return nil
			}
			return make([]byte, n)
		},
		Put: func(b *Block) (bool, error) {
			if !b.Later {
				return false, l.write(b)
			}
			if l.refuse--; l.refuse == 0 {
				return false, errNoRoom
			}
			if c := ctl(l.m.at(b.Index).ctl.Load()); c.state() != leaving {
				l.t.Errorf("chunk %d is %v before the log has it", b.Index, c.state())
			}
			l.waiting = append(l.waiting, *b)
			return true, nil
		},
		Commit: func() (n int, err error) {
			for ; n < len(l.waiting) && err == nil; n++ {
				if err = l.write(&l.waiting[n]); err != nil {
					break
				}
			}
			l.waiting = nil
			return n, err
		},
	}
}

// A flush to a log that writes several chunks at once frees those that the log has, and no other:
// wherever the log fails, a later flush brings the rest, and each event is in the log once.
func TestFlushInQueues(t *testing.T) {
	for most := 1; most <= 4; most++ {
		for fault := range 14 {
			testFlushInQueues(t, &queueLog{most: most, left: fault})
			testFlushInQueues(t, &queueLog{most: most, left: math.MaxInt, refuse: fault})
		}
	}
}

func testFlushInQueues(t *testing.T, l *queueLog) {
	m := newMem(t, 64<<10, Flush)
	w := newWriter(t, m, 1)
	m.Start(w, Event{})
	n := 0
	for used := 0; used < m.Chunks/2; used, _ = m.Used() {
		n++
		if !w.Record(0, &Event{ID: event.FirstUser, TID: 1, Addr: uint64(n)}, make([]byte, 500)) {
			t.Fatal("no room in the stream")
		}
	}
	l.m, l.t, l.seen = m, t, map[uint64]int{}
	what := fmt.Sprintf("queue of %d, room for %d, block %d refused", l.most, l.left, l.refuse)
	if _, err := m.Flush(w.Slot(), l.sink()); err != nil {
		if !errors.Is(err, errNoRoom) {
			t.Fatal(err)
		}
		if in := len(l.seen) + m.userEvents(); in != n {
			t.Errorf("%s: %d events in the log and the stream, want %d", what, in, n)
		}
		l.left = math.MaxInt
		if _, err := m.Flush(w.Slot(), l.sink()); err != nil {
			t.Fatalf("%s: again: %v", what, err)
		}
	} else if l.left < 8 {
		t.Errorf("%s: no error", what)
	}
	for a := 1; a <= n; a++ {
		if l.seen[uint64(a)] != 1 {
			t.Fatalf("%s: event %d is in the log %d times", what, a, l.seen[uint64(a)])
		}
	}
}

// userEvents counts the events of users in the stream.
func (m *Mem) userEvents() (n int) {
	r := m.Snapshot()
	var rec chunk.Record
	for r.Next(&rec) {
		if rec.Event.User() {
			n++
		}
	}
	return n
}
