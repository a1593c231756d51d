package spool

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// uptime is the time that a shell reads from /proc/uptime.
func uptime() string {
	up := bootTime() / 1e7
	return fmt.Sprintf("+%d.%02d", up/100, up%100)
}

// records returns what a stream has of a name, in order.
func records(t *testing.T, s *posixtrace.Stream) (list []posixtrace.EventInfo, data []string) {
	t.Helper()
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return list, data
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.ID.User() {
			list, data = append(list, rec.EventInfo), append(data, string(rec.Data))
		}
	}
}

// A line with a coarse time lies between what was recorded before it was written and now,
// whether a command has left a mark in the file, a taker was there in between, or a
// watcher has been called.
func TestCoarseOrder(t *testing.T) {
	for _, how := range []string{"mark in the file", "taker", "watcher", "line"} {
		t.Run(how, func(t *testing.T) {
			s, path := newStream(t, posixtrace.Attr{})
			rec, err := s.Recorder()
			if err != nil {
				t.Fatal(err)
			}
			defer rec.Close()
			id, err := s.EventID("between")
			if err != nil {
				t.Fatal(err)
			}
			k, err := NewConsumer(s, false)
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			w := &Watcher{t: k, stop: make(chan struct{})}
			for i := range 20 {
				if how != "line" {
					appendTo(t, path, fmt.Sprintf("a\t1\t%s\t%d\n", uptime(), 2*i))
				}
				if how == "taker" {
					take(t, s, false)
				}
				rec.Record(posixtrace.EventInfo{ID: id, PID: 1, TID: 1}, fmt.Append(nil, 2*i+1))
				switch how {
				case "mark in the file":
					Mark(path)
				case "taker":
					appendTo(t, path, "x\t1\t\t\n") // only then there is something to take
					take(t, s, false)
				case "watcher":
					w.Mark(rec.Now())
				case "line":
					now := time.Now()
					appendTo(t, path, fmt.Sprintf("a\t1\t%d.%09d\t%d\n", now.Unix(), now.Nanosecond(), 2*i))
				}
			}
			if how == "line" {
				appendTo(t, path, "a\t1\t"+uptime()+"\tlast\n")
			}
			if _, err := k.Drain(0); err != nil {
				t.Fatal(err)
			}
			if w.d != nil {
				w.d.close()
			}
			list, data := records(t, s)
			if how == "line" {
				last := slices.Index(data, "last")
				if last < slices.Index(data, "38") || !list[last].Coarse() {
					t.Errorf("the last line is event %d of %q", last, data)
				}
				return
			}
			next := 0
			for i, d := range data {
				if d == "" {
					continue
				}
				if want := fmt.Sprint(next); d != want {
					t.Fatalf("event %d is %s, want %s: %q", i, d, want, data)
				}
				if coarse := next%2 == 0; list[i].Coarse() != coarse {
					t.Errorf("event %s: Coarse is %v, want %v", d, !coarse, coarse)
				}
				next++
			}
		})
	}
}

// What is no spool gets no mark.
func TestMarkElsewhere(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"", "spool", filepath.Join(dir, "l-x", "spool"), filepath.Join(dir, "new")} {
		Mark(path)
		if Pending(path) {
			t.Errorf("%q is taken for a spool with lines", path)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("Mark made %v", left)
	}
}
