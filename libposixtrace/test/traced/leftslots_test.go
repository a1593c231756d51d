package traced

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// slots returns how many slots of a stream's table of writers a process has.
func slots(t *testing.T, s *posixtrace.Stream, pid int) (n int) {
	t.Helper()
	layout, err := os.ReadFile(filepath.Join(ctest.Source, "layout.h"))
	tracetest.OK(t, "layout.h", err)
	m := regexp.MustCompile(`offsetof\(struct pxt_header, slots\) == (\d+)`).FindSubmatch(layout)
	at, err := strconv.Atoi(string(m[1]))
	tracetest.OK(t, "Atoi", err)
	b, err := os.ReadFile(path(t, s))
	tracetest.OK(t, "ReadFile", err)
	for i := range 1024 {
		if int(binary.LittleEndian.Uint64(b[at+8*i:])&(1<<22-1)) == pid {
			n++
		}
	}
	return n
}

// A program that exits gives back its slot of each stream, and its chunks.
func TestExitGivesSlotBack(t *testing.T) {
	native(t)
	s := inherited(t)
	other := inherited(t)
	p := startPeer(t)
	p.done("event %d 1000", p.number("open x"))
	if n, m := slots(t, s, p.pid), slots(t, other, p.pid); n != 1 || m != 1 {
		t.Errorf("a process that records has %d and %d slots", n, m)
	}
	p.end()
	if n, m := slots(t, s, p.pid), slots(t, other, p.pid); n != 0 || m != 0 {
		t.Errorf("a process that has ended has %d and %d slots", n, m)
	}
	for range 3 {
		out, list := guest(t, guestProgram(t), "places") // events in a destructor, too
		if n, err := strconv.Atoi(out[0]); err != nil || n != len(list) {
			t.Errorf("the program has recorded %s events, %d are in the stream", out, len(list))
		}
	}
	none(t, s)
}

// A child of a writer dies with all permits and open chunks. The writer recovers them itself, although no
// process attaches to the stream any more.
func TestWriterRecoversFromDead(t *testing.T) {
	native(t)
	program := ctest.Build(t, ctest.Program{Sources: []string{"testdata/crowd.c"}, Static: true})
	for _, policy := range []posixtrace.FullPolicy{posixtrace.PolicyUntilFull, posixtrace.PolicyLoop} {
		s := create(t, 0, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren, StreamSize: 1 << 20, StreamFullPolicy: policy})
		out, err := command(t, program, fmt.Sprint(300)).Output()
		if err != nil || string(out) != "302, the child is gone\n" {
			t.Fatalf("%v\n%s", err, out)
		}
		st, err := s.Status()
		tracetest.OK(t, "Status", err)
		if n := len(events(t, s)); n != 302 || st.Lost != 0 {
			t.Errorf("policy %v: %d events, lost %d, of 302", policy, n, st.Lost)
		}
		s.Shutdown()
	}
}
