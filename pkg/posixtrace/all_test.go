package posixtrace

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"syscall"
	"testing"
)

// collectAll returns name and data of the user events of an iterator, and its error.
func collectAll(seq iter.Seq2[Record, error]) (list []string, err error) {
	for rec, err := range seq {
		if err != nil {
			return list, err
		}
		if rec.ID.User() {
			list = append(list, rec.Name+" "+string(rec.Data))
		} else if rec.Name == "" {
			list = append(list, fmt.Sprint("no name for ", rec.ID))
		}
	}
	return list, nil
}

// Stream, Log and Reader iterate over the same events, with the same names and data.
func TestAllIteratesOverStreamLogAndReader(t *testing.T) {
	id := MustEventID("all.one")
	live := running(t, 0, Attr{})
	logged, path := withLog(t, &Attr{LogFullPolicy: PolicyAppend})
	if err := logged.Start(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		Event(id, fmt.Append(nil, i))
	}
	want := fmt.Sprint([]string{"all.one 0", "all.one 1", "all.one 2"})
	check := func(what string, all iter.Seq2[Record, error]) {
		t.Helper()
		if got, err := collectAll(all); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
	snapshot, err := live.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	check("Reader of a stream", snapshot.All())
	check("Stream", live.All())
	if got, err := collectAll(live.All()); err != nil || len(got) != 0 {
		t.Errorf("Stream reports twice: %v, %v", got, err)
	}
	if err := logged.Shutdown(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	check("Log", l.All())
	if err := l.Rewind(); err != nil {
		t.Fatal(err)
	}
	// A loop that ends early goes on where it was.
	for rec, err := range l.All() {
		if err != nil {
			t.Fatal(err)
		}
		if string(rec.Data) == "0" {
			break
		}
	}
	if got, err := collectAll(l.All()); err != nil || len(got) != 2 {
		t.Errorf("after a break: %v, %v", got, err)
	}
	r, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	check("Reader of a log", r.All())
	if err := r.Rewind(); err != nil {
		t.Fatal(err)
	}
	var b Batch
	for {
		if err := r.NextBatch(&b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Records {
			if rec := &b.Records[i]; rec.Name != r.EventName(rec.ID) {
				t.Errorf("NextBatch: type %d is %q, want %q", rec.ID, rec.Name, r.EventName(rec.ID))
			}
		}
	}
	r.Close()
	l.Close()
	live.Shutdown()
	for what, all := range map[string]iter.Seq2[Record, error]{"Stream": live.All(), "Log": l.All(), "Reader": r.All()} {
		if got, err := collectAll(all); !errors.Is(err, syscall.EINVAL) || len(got) != 0 {
			t.Errorf("%s after Close: %v, %v, want EINVAL", what, got, err)
		}
	}
}
