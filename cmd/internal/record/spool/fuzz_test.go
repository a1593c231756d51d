package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// parse makes a valid event of any line or rejects it, and unescape reverses
// escape.Append.
func FuzzLine(f *testing.F) {
	for _, s := range []string{
		"build.step\t4711\t1795169520.123456\tfile.c 12", "a\t1\t\t\\n\\x41\\", "\t1\t\t64", "a\t0\t\t", "a\tb",
		"a\t1\t1795169520,5\t\xff", "", "\t\t\t", "a\t1\t9999999999.9\t",
		"a.begin\t9:9.1:9.2:" + given + ":" + around + ":rojo=1,a=b:c\t\t", "a.begin\t9:9.1::" + given + "::\t\t",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		raw := bytes.Clone(b)
		l, ok := parse(bytes.Clone(b))
		if ok && l.name != nil && (len(l.name) == 0 || len(l.name) > posixtrace.EventNameMax || l.pid <= 0 || l.pid > maxPID || l.nanos < 0 || len(l.data) > len(b)) {
			t.Errorf("parse(%q) = %+v", raw, l)
		}
		if _, err := posixtrace.DecodeContext(l.trace); l.trace != nil && err != nil {
			t.Errorf("parse(%q) has the context %x: %v", raw, l.trace, err)
		}
		if got := unescape(escape.Append(nil, raw)); !bytes.Equal(got, raw) {
			t.Errorf("unescape of escaped %q = %q", raw, got)
		}
	})
}

// Commands of other versions drain the same spool. What changes in the state, or in the meaning of a value,
// changes the number behind ptrace-spool in stateForm: a state of another number counts as that of a new spool.
func TestStateHasItsVersion(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st := state{gen: 1, done: 2, skipping: true, tryGen: 3, tryEnd: 4, since: 5, floor: 6, rotated: []rotated{{7, 8}, {9, 10}}}
	if err := st.write(f); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Name())
	if got, want := string(b), "ptrace-spool 2 1 2 true 3 4 5 6 2: 7/8 9/10"; err != nil || strings.TrimRight(got, " \n") != want || len(got) != 1024 {
		t.Errorf("the state is %q, want %q and spaces, 1024 bytes. Raise the number in stateForm, and that of this test.", got, want)
	}
}

// The state file is untrusted. readState returns values within their bounds, and the same
// after they are written again.
func FuzzState(f *testing.F) {
	for _, s := range []string{
		"ptrace-spool 2 3 4096 false 3 8192 1795169520000000000 0 2: 1/7 2/9", "ptrace-spool 2 0 0 true 0 0 0 0 0:",
		"ptrace-spool 2 -1 0 true 0 0 0 0 0:", "ptrace-spool 2 9223372036854775807 9223372036854775807 true 9223372036854775807 9223372036854775807 1 0 1: 1/9223372036854775807",
		"ptrace-spool 2 0 0 true 0 0 0 0 17:" + strings.Repeat(" 1/1", 17), "ptrace-spool 2 0 0 true 0 0 0 0:", "ptrace-spool 2 99999999999999999999 0 true 0 0 0 0 0:", "ptrace-spool 2 0 0 true 0 0 0 0 1: 1/1/1 ",
	} {
		f.Add([]byte(s))
	}
	fd, err := unix.MemfdCreate("state", unix.MFD_CLOEXEC)
	if err != nil {
		f.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "state")
	f.Cleanup(func() { file.Close() })
	f.Fuzz(func(t *testing.T, b []byte) {
		file.Truncate(0)
		if _, err := file.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		st := readState(file)
		if min(st.gen, st.done, st.tryGen, st.tryEnd, st.since, st.floor) < 0 || len(st.rotated) > maxRotated {
			t.Fatalf("readState of %q = %+v, out of bounds", b, st)
		}
		if err := st.write(file); err != nil {
			t.Fatal(err)
		}
		if again := readState(file); !reflect.DeepEqual(again, st) {
			t.Fatalf("%+v, written and read again, is %+v", st, again)
		}
	})
}

// FuzzDrain drains spools with any content and any state. A line becomes at most one event,
// unless the state, or planted files that look rotated, make a consumer start again: then
// once more for each of them.
func FuzzDrain(f *testing.F) {
	const state = "ptrace-spool 2 0 0 false 0 0 0 0 0:"
	f.Add([]byte("a\t1\t\tdata\nb\t2\t1795169520.5\t\\x00\n"), []byte(""), []byte(state))
	f.Add([]byte("a\t1\t\tdata\nno end"), []byte("old\t1\t\tx\n"), []byte("ptrace-spool 2 1 0 false 0 0 0 0 1: 0/0"))
	f.Add([]byte("\n\n\t\t\t5\n\t1\t\t1048577\n"), []byte("\n"), []byte("ptrace-spool 2 0 1 true 0 9 0 0 0:"))
	f.Add(bytes.Repeat([]byte("x"), 70000), []byte(""), []byte("ptrace-spool 2 9223372036854775807 0 false 9223372036854775807 1 0 0 0:"))
	f.Add([]byte("posix_trace_start\t1\t\tx\nproc.exec\t1\t\t\n"), []byte(""), []byte(""))
	f.Fuzz(func(t *testing.T, lines, rotated, state []byte) {
		if len(lines)+len(rotated) > 1<<17 || len(state) > 2*stateSize {
			return
		}
		s, path := newStream(t, posixtrace.Attr{StreamSize: 64 << 10})
		dir := filepath.Dir(path)
		for name, b := range map[string][]byte{stateName: state, rotatedName(0): rotated, rotatedName(1): rotated} {
			if len(b) > 0 {
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		appendTo(t, path, string(lines))
		effort := tracetest.NewEffort()
		for _, last := range []bool{false, false, true} {
			k, err := NewConsumer(s, false)
			if err != nil {
				t.Fatal(err)
			}
			if last {
				k.Finish(time.Second)
			} else {
				k.Drain(time.Second)
			}
			k.Close()
		}
		if took, over := effort.Over(5 * time.Second); over {
			t.Fatalf("draining took %s", took)
		}
		most := bytes.Count(lines, newline) + 2*bytes.Count(rotated, newline)
		if len(state) > 0 || len(rotated) > 0 {
			most *= 4
		}
		if got := len(events(t, s)); got > most {
			t.Fatalf("%d events, want at most %d", got, most)
		}
	})
}
