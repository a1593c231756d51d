package posixtrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
)

// mappedStreams counts the mappings of streams, without a garbage collection.
func mappedStreams() int { return len(tracetest.Mappings()) }

// Calls that inspect streams, and Close, unmap them at once. A program with a big heap may not
// collect garbage for hours, and the kernel allows 65,530 mappings.
func TestClosedStreamsAreUnmapped(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "a.trace"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s, err := CreateWithLog(0, &Attr{Name: "mapped", Inheritance: InheritChildren}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Shutdown()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if err := s.FilterOps([]FilterOp{{How: FilterAdd, Patterns: []string{"x*"}}}); err != nil {
		t.Fatal(err)
	}
	plain := running(t, os.Getpid(), Attr{})
	id, err := OpenEventID("mapped")
	if err != nil {
		t.Fatal(err)
	}
	Event(id, nil)
	runtime.GC()
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, f := range map[string]func(n int){
		"List": func(int) { _, err := List(); check(err) },
		"OpenEventID": func(n int) {
			if n < 10 {
				_, err := OpenEventID(fmt.Sprintf("mapped %d", n))
				check(err)
			}
		},
		"OpenSystemEventIDs": func(n int) {
			if n < 10 {
				_, err := s.OpenSystemEventIDs(fmt.Sprintf("mapped.%d", n))
				check(err)
			}
		},
		"Attach": func(int) {
			if _, err := Attach("nothing of that name"); !errors.Is(err, syscall.ENOENT) {
				t.Fatal(err)
			}
		},
		"OpenProcess": func(int) {
			p, err := OpenProcess(os.Getpid())
			check(err)
			p.Event(id, nil)
			check(p.Close())
		},
		"Reader": func(int) {
			r, err := s.Reader()
			check(err)
			check(r.Close())
			r, err = plain.Reader()
			check(err)
			check(r.Close())
		},
	} {
		before := mappedStreams()
		for n := range tracetest.Scale(100, 2000, 10000) {
			f(n)
		}
		if after := mappedStreams(); after > before {
			t.Errorf("%s: %d mappings, before %d", what, after, before)
		}
	}
}

// Shutdown frees a stream's memory even while traced processes map it: they may not pass a
// trace point, or collect garbage, for hours.
func TestShutdownFreesMemory(t *testing.T) {
	child := tracetest.Start(t, "target")
	child.Line()
	for _, kill := range []bool{false, true} {
		s := running(t, child.PID, Attr{StreamSize: 8 << 20})
		child.Say("100000*some " + strings.Repeat("x", 100))
		f, err := os.Open(s.c.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var before, after syscall.Stat_t
		if err := syscall.Fstat(int(f.Fd()), &before); err != nil {
			t.Fatal(err)
		}
		path := s.c.Path
		if kill { // as after the death of its owner
			if err := owner.FinishOrphan(s.c, s.c.Lock); err != nil {
				t.Fatal(err)
			}
			if err := conn.Remove(s.c, false); err != nil {
				t.Fatal(err)
			}
		} else if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", child.PID))
		if err != nil || !strings.Contains(string(maps), path) {
			t.Fatalf("the traced process does not have it mapped: %v", err)
		}
		if err := syscall.Fstat(int(f.Fd()), &after); err != nil {
			t.Fatal(err)
		}
		if before.Blocks < 8<<20/512 || after.Blocks > before.Blocks/8 {
			t.Errorf("%d blocks, before Shutdown %d", after.Blocks, before.Blocks)
		}
		child.Say("after") // and it continues
		s.Close()
	}
}

// A collection whose finalizers run late does not postpone the next one.
func TestCollectionFollowsLateFinalizers(t *testing.T) {
	s := running(t, os.Getpid(), Attr{StreamSize: 1})
	collectAt, mapped, collectEvery := conn.CollectAt()
	defer collectAt.Store(collectAt.Load())
	collectAt.Store(mapped.Load() + 10*collectEvery)
	c, err := conn.OpenPath(s.c.Path)
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	if at, n := collectAt.Load(), mapped.Load(); at > n+collectEvery {
		t.Errorf("the next collection is at %d mappings, with %d", at, n)
	}
}

// A closed stream waits for a garbage collection. Many of them cause one.
func TestMappingsAreCollectedInTime(t *testing.T) {
	s := running(t, os.Getpid(), Attr{StreamSize: 1})
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	_, _, collectEvery := conn.CollectAt()
	touch := func() {
		a, err := Attach(s.c.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 * collectEvery {
		touch()
	}
	for end := time.Now().Add(patience); mappedStreams() > 3*int(collectEvery); {
		if time.Now().After(end) {
			t.Fatalf("%d mappings", mappedStreams())
		}
		touch()
		time.Sleep(time.Millisecond)
	}
}
