package spool

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The system's clock is set while a stream runs. Shells date their lines by the system's
// clock, and the stream continues by its own. The events have the stream's time and keep
// their order, however far and in whichever direction the clock was set.
func TestDrainCorrectsForClockSet(t *testing.T) {
	defer func() { wallClock = time.Now }()
	for _, by := range []time.Duration{0, -time.Hour, time.Hour, -30 * 365 * 24 * time.Hour, 200 * 365 * 24 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			wallClock = time.Now
			s, path := newStream(t, posixtrace.Attr{})
			// Wait until ten lines that are 20 ms apart fit between first and now.
			const apart = 20 * time.Millisecond
			first := time.Now().Add(apart)
			for time.Since(first) < 11*apart {
				time.Sleep(time.Until(first.Add(11 * apart)))
			}
			// A busy machine stops the process before and after it reads the clock.
			readings := 0
			wallClock = func() time.Time {
				if readings++; readings <= 2 {
					time.Sleep(2 * apart)
				}
				now := time.Now().Add(by)
				if readings == 2 || readings == 3 {
					time.Sleep(2 * apart)
				}
				return now
			}
			for i := range 10 {
				// Round removes the monotonic reading, which Add would move too.
				at := first.Add(time.Duration(i) * apart).Round(0).Add(by)
				appendTo(t, path, fmt.Sprintf("n\t1\t%d.%09d\t%d\n", at.Unix(), at.Nanosecond(), i))
			}
			drain(t, s, false)
			r, err := s.Reader()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := 0
			for {
				rec, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if rec.ID.System() {
					continue
				}
				want := first.Add(time.Duration(n) * apart)
				if d := time.Unix(0, rec.UnixNano).Sub(want); string(rec.Data) != fmt.Sprint(n) || d < -apart/2 || d > apart/2 {
					t.Errorf("event %d is %q, %v away from its time", n, rec.Data, d)
				}
				n++
			}
			if n != 10 || readings < 4 {
				t.Errorf("%d events, want 10, after %d readings of the clock", n, readings)
			}
		})
	}
}
