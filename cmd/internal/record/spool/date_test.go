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

// uptime returns the time as a shell reads it from /proc/uptime.
func uptime() string {
	up := bootTime() / 1e7
	return fmt.Sprintf("+%d.%02d", up/100, up%100)
}

// records returns the user events of a stream, in order.
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

// A line with a coarse time comes after every event that was recorded before the line was
// written, whether a command has left a mark in the file, a consumer has drained it in
// between, or the watcher was called.
func TestCoarseTimesKeepOrder(t *testing.T) {
	for _, how := range []string{"mark in the file", "consumer", "watcher", "line"} {
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
			w := &Watcher{c: k, stop: make(chan struct{})}
			for i := range 20 {
				if how != "line" {
					appendTo(t, path, fmt.Sprintf("a\t1\t%s\t%d\n", uptime(), 2*i))
				}
				if how == "consumer" {
					drain(t, s, false)
				}
				rec.Record(posixtrace.EventInfo{ID: id, PID: 1, TID: 1}, fmt.Append(nil, 2*i+1))
				switch how {
				case "mark in the file":
					Mark(path)
				case "consumer":
					appendTo(t, path, "x\t1\t\t\n") // without a line, Drain returns at once
					drain(t, s, false)
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
					t.Errorf("the line with a coarse time is event %d of %q, want it behind 38 and coarse", last, data)
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

// Mark writes nothing to a path that is not that of a spool.
func TestMarkIgnoresOtherPaths(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"", "spool", filepath.Join(dir, "l-x", "spool"), filepath.Join(dir, "new")} {
		Mark(path)
		if Pending(path) {
			t.Errorf("Pending(%q) = true, want false: not a spool", path)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("Mark made %v", left)
	}
}
