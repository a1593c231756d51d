package dump

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	p := position{window: 10 * time.Millisecond}
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
		p.again()
		for _, rec := range snapshot {
			if !p.passed(rec) {
				p.advance(rec)
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
		p := position{window: time.Hour}
		n := 3 * maxSeen
		for round := range 2 {
			p.again()
			unseen := 0
			for i := range n {
				if rec := event(int64(i)*step, fmt.Sprint(i)); !p.passed(rec) {
					p.advance(rec)
					unseen++
				}
			}
			if round == 0 && unseen != n || len(p.seen) > maxSeen {
				t.Errorf("step %d: %d of %d events are new, %d kept", step, unseen, n, len(p.seen))
			}
			if round == 1 && step > 0 && unseen != 0 {
				t.Errorf("%d events are shown twice", unseen)
			}
		}
	}
}

// A saved cursor file reads back the same, and any other content is harmless.
func FuzzCursor(f *testing.F) {
	f.Add([]byte(cursorMagic + "\nkey 1 2 a,b\nother -5 7 ffffffffffffffff\n"))
	f.Add([]byte(cursorMagic + "\n"))
	f.Add([]byte("ptrace-dump cursor 2\n"))
	f.Add([]byte(cursorMagic + "\nkey 1 2 ,\n\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "cursor")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		c := &cursors{path: path}
		if c.read() != nil {
			return
		}
		for _, l := range c.lines {
			cur := &cursor{}
			if err := cur.parse(l.rest); err != nil {
				t.Fatalf("%q was read and is not understood: %v", l.rest, err)
			}
			c.mine, c.keys = append(c.mine, cur), append(c.keys, l.key)
		}
		if err := c.save(); err != nil {
			t.Fatal(err)
		}
		again := &cursors{path: path}
		if err := again.read(); err != nil {
			t.Fatalf("%v in what was written: %q", err, c.wrote)
		}
		for i, l := range again.lines {
			cur := &cursor{}
			if err := cur.parse(l.rest); err != nil {
				t.Fatal(err)
			}
			if was := c.mine[i]; l.key != c.keys[i] || cur.time != was.time || cur.base != was.base || !slices.Equal(cur.seen, was.seen) {
				t.Fatalf("%+v comes back as %+v", was, cur)
			}
		}
	})
}
