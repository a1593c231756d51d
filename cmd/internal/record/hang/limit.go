//go:build linux

package hang

import (
	"strconv"
	"time"
)

// GivenUp says that a look was given up after a time.
func GivenUp(d time.Duration) string {
	return "the look was given up after " + strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}

// limit bounds the time of the look, unless d is 0.
func (w *world) limit(d time.Duration) {
	if w.within = d; d > 0 {
		w.until = time.Now().Add(d)
	}
}

// over reports whether the time of the look is over. What was found until then counts, but for what a thread that
// was not looked at may change: which threads can end a wait, and which are stuck.
func (w *world) over() bool {
	w.cut = w.cut || w.late()
	return w.cut
}

// late reports whether there is no time for what says no more of what threads wait for.
func (w *world) late() bool { return w.within > 0 && !time.Now().Before(w.until) }

// giveUp notes that it was not found what the thread waits for, as the time is over.
func (t *thread) giveUp() {
	switch t.State {
	case 'Z', 'X':
		t.Kind = Zombie
	case 'T', 't':
		t.Kind = Stopped
	case 'R':
		t.Kind = Runs
	}
	t.on, t.live = nil, true
	t.Note = GivenUp(t.w.within)
}
