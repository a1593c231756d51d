package symbols

import (
	"errors"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func note(s *Spaces, pid int, time int64, d posixtrace.MapData) {
	s.Note(&posixtrace.Record{
		EventInfo: posixtrace.EventInfo{ID: posixtrace.EventProcMap, PID: pid, UnixNano: time}, Data: d.Append(nil),
	})
}

// An address means what the process had mapped at the time of the event: before and after it
// executed a program, in a child what its parent had mapped when it created the child.
func TestSpaces(t *testing.T) {
	s := NewSpaces(NewTable())
	at := func(path string, start uint64, first bool) posixtrace.MapData {
		return posixtrace.MapData{Path: path, Start: start, End: start + 0x1000, First: first}
	}
	note(s, 1, 10, at("[old]", 0x1000, true))
	note(s, 1, 20, at("[lib]", 0x8000, false))
	note(s, 2, 25, posixtrace.MapData{Parent: 1, First: true})
	note(s, 1, 30, at("[new]", 0x1000, true))
	note(s, 2, 40, at("[own]", 0x9000, false))
	note(s, 1, 50, at("[lib2]", 0x8000, false))
	note(s, 3, 60, posixtrace.MapData{Parent: 3, First: true})
	for _, c := range []struct {
		pid  int
		time int64
		addr uint64
		want string
	}{
		{1, 5, 0x1010, "0x1010"},
		{1, 10, 0x1010, "[old]+0x10"},
		{1, 25, 0x8010, "[lib]+0x10"},
		{1, 30, 0x1010, "[new]+0x10"},
		{1, 35, 0x8010, "0x8010"},
		{1, 55, 0x8010, "[lib2]+0x10"},
		{2, 55, 0x1010, "[old]+0x10"},
		{2, 55, 0x8010, "[lib]+0x10"},
		{2, 55, 0x9010, "[own]+0x10"},
		{3, 70, 0x1010, "0x1010"},
		{4, 70, 0x1010, "0x1010"},
	} {
		if got, _, err := s.Name(c.pid, c.time, c.addr, false); got != c.want || err == nil {
			t.Errorf("process %d, time %d: %#x is %s, %v, want %s", c.pid, c.time, c.addr, got, err, c.want)
		}
	}
}

// What a log can make a Spaces keep is bounded.
func TestSpacesBounded(t *testing.T) {
	s := NewSpaces(NewTable())
	for i := range 3 * maxMapped {
		note(s, 1, int64(i), posixtrace.MapData{Parent: 1})
	}
	if n := len(s.processes[1]); n > maxMapped {
		t.Errorf("%d mappings of a process", n)
	}
	if _, _, err := s.Name(1, 1<<40, 1, true); err != ErrUnknown {
		t.Errorf("Name: %v", err)
	}
	d := posixtrace.MapData{Path: string(make([]byte, 60<<10))}
	for i := range 2000 {
		note(s, i, 0, d)
	}
	if n := len(s.processes); n*len(d.Path) > maxMapRoom {
		t.Errorf("%d processes with a path of %d bytes each", n, len(d.Path))
	}
}

// A process that notes its own mappings repeats them, and each program has a number: an address is
// never that of another program. The note of another thread may come behind an event.
func TestSpacesOfNotes(t *testing.T) {
	s := NewSpaces(NewTable())
	own := func(path string, start, program uint64) posixtrace.MapData {
		return posixtrace.MapData{Path: path, Start: start, End: start + 0x1000, Program: program}
	}
	note(s, 1, 10, own("[one]", 0x1000, 7))
	note(s, 1, 20, own("[lib]", 0x8000, 7))
	for time := range int64(5000) {
		note(s, 1, 21+time, own("[one]", 0x1000, 7))
		note(s, 1, 21+time, own("[lib]", 0x8000, 7))
	}
	if n := len(s.processes[1]); n != 2 {
		t.Errorf("%d mappings of two", n)
	}
	note(s, 1, 6000, own("[two]", 0x4000, 8))
	note(s, 1, 6010, own("[again]", 0x1000, 8))
	note(s, 1, 6020, own("[three]", 0x1000, 9))
	note(s, 2, 50, posixtrace.MapData{End: 1<<64 - 1, Program: 7, Err: syscall.EACCES})
	note(s, 3, 50, own("[traced]", 0x1000, 0))
	for _, c := range []struct {
		pid  int
		time int64
		addr uint64
		want string
	}{
		{1, 5, 0x1010, "[one]+0x10"},
		{1, 10, 0x8010, "[lib]+0x10"},
		{1, 5999, 0x8010, "[lib]+0x10"},
		{1, 5999, 0x4010, "0x4010"},
		{1, 6000, 0x1010, "[again]+0x10"},
		{1, 6000, 0x8010, "0x8010"},
		{1, 6020, 0x4010, "0x4010"},
		{2, 51, 0x1010, "0x1010"},
		{3, 49, 0x1010, "0x1010"},
		{3, 50, 0x1010, "[traced]+0x10"},
	} {
		if got, _, err := s.Name(c.pid, c.time, c.addr, false); got != c.want || err == nil {
			t.Errorf("process %d, time %d: %#x is %s, %v, want %s", c.pid, c.time, c.addr, got, err, c.want)
		}
	}
	if _, _, err := s.Name(2, 51, 1, false); !errors.Is(err, syscall.EACCES) {
		t.Errorf("Name: %v, want %v", err, syscall.EACCES)
	}
}
