package stream

import (
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// TestStatusOfOneInstant checks that the members of the status are of one instant: a stream that was
// not started again since a loss does not run.
func TestStatusOfOneInstant(t *testing.T) {
	looks, at := 0, 0
	for range 400 {
		m := newMem(t, 4<<10, UntilFull)
		c, w := newWriter(t, m, 1), newWriter(t, m, 1)
		m.Start(c, Event{})
		done := make(chan bool)
		go func() {
			e := Event{ID: event.FirstUser}
			for w.Record(0, &e, make([]byte, 1000)) {
			}
			for range 50 {
				w.Record(0, &e, nil)
			}
			done <- true
		}()
		for over := false; !over; looks++ {
			select {
			case over = <-done:
			default:
			}
			st := m.Status(false)
			if st.Lost > 0 {
				at++
			}
			if st.Running && (st.Lost > 0 || st.Full || st.Overrun) || st.Overrun != (st.Lost > 0) {
				t.Fatalf("%+v", st)
			}
		}
	}
	t.Logf("looked %d times, %d of them after a loss", looks, at)
}
