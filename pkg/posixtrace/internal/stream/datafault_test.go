package stream

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// TestDataFaultLeavesNoBusyChunk records data that cannot be read, or not to its end, in a program
// that survives the fault (debug.SetPanicOnFault). No chunk stays busy, and later events are
// recorded.
func TestDataFaultLeavesNoBusyChunk(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	page := os.Getpagesize()
	none, err := syscall.Mmap(-1, 0, 4*page, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(none)
	// A hole in the middle, and a file that ends before its mapping does.
	hole, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(hole)
	if err := syscall.Mprotect(hole[page:2*page], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "short"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(2 * page)); err != nil {
		t.Fatal(err)
	}
	short, err := syscall.Mmap(int(f.Fd()), 0, 2*page, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(short)
	if err := f.Truncate(int64(page)); err != nil {
		t.Fatal(err)
	}
	largest := 3 * page
	for what, data := range map[string][]byte{
		"none": none[:100], "one byte": none[7:8], "end of a page": none[page-1 : page], "all of it": none,
		"hole": hole, "behind the hole's start": hole[page-50 : page+50], "before its end": hole[2*page-50 : 2*page+50],
		"cut": short[page-20 : page+20], "behind the cut": short[page : page+8],
	} {
		for _, span := range []bool{false, true} {
			for _, alone := range []bool{false, true} { // own and open chunks
				g, ok := Measure(1<<20, largest, 1)
				if !ok {
					t.Fatal("Measure")
				}
				m, err := Format(make([]byte, g.Size), &Config{Geometry: g, ID: 1, Attributes: attributes(largest, Loop)}, true)
				if err != nil {
					t.Fatal(err)
				}
				w := newWriter(t, m, 1)
				if alone {
					w.Short()
				}
				m.Start(w, Event{})
				e := Event{ID: event.FirstUser}
				if span {
					e.Span.Key = 5
				}
				w.Record(0, &e, []byte("first"))
				for range 3 {
					func() {
						defer func() {
							if recover() == nil {
								t.Errorf("%s: there is no fault", what)
							}
						}()
						w.Record(0, &e, data)
					}()
				}
				w.Record(0, &e, []byte("last"))
				for i := range m.Chunks {
					if word(m, i).busy() {
						t.Errorf("%s, span %v, alone %v: chunk %d stays busy", what, span, alone, i)
					}
				}
				n := 0
				for _, rec := range readAll(t, m.NewReader()) {
					if rec.Event == event.FirstUser {
						n++
					}
				}
				if n != 2 {
					t.Errorf("%s, span %v, alone %v: %d events are there", what, span, alone, n)
				}
			}
		}
	}
}
