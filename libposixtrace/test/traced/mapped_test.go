package traced

import (
	"debug/elf"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// named checks that the events of testdata/mapped.c have the addresses of the functions that their data
// names, in files that the processes have noted before, and returns how many events each name has.
func named(t *testing.T, s *posixtrace.Stream) map[string]int {
	t.Helper()
	r, err := s.Reader()
	tracetest.OK(t, "Reader", err)
	defer r.Close()
	plain := 0
	for _, err := range r.All() {
		tracetest.OK(t, "All", err)
		plain++
	}
	r.Select(posixtrace.Selection{Mappings: true})
	tracetest.OK(t, "Rewind", r.Rewind())
	known := map[int][]posixtrace.MapData{}
	found := map[string]int{}
	for rec, err := range r.All() {
		tracetest.OK(t, "All", err)
		if rec.ID != posixtrace.EventProcMap {
			plain--
		}
		switch {
		case rec.ID == posixtrace.EventProcMap:
			d, err := posixtrace.DecodeMap(rec.Data)
			tracetest.OK(t, "DecodeMap", err)
			if len(d.BuildID) != 20 || d.Program == 0 || d.Err != 0 || d.Removed {
				t.Errorf("%+v", d)
			}
			known[rec.PID] = append([]posixtrace.MapData{d}, known[rec.PID]...)
		case rec.ID.User():
			found[string(rec.Data)]++
			if name := functionAt(t, known[rec.PID], rec.Address-1); name != string(rec.Data) {
				t.Errorf("the address of %s in process %d is in %q", rec.Data, rec.PID, name)
			}
		}
	}
	if plain != 0 {
		t.Errorf("%d events less with the notes", plain)
	}
	return found
}

// functionAt returns the function at an address, by the mappings, the last one first.
func functionAt(t *testing.T, maps []posixtrace.MapData, addr uint64) string {
	t.Helper()
	for _, d := range maps {
		if addr < d.Start || addr >= d.End {
			continue
		}
		f, err := elf.Open(d.Path)
		tracetest.OK(t, "Open", err)
		defer f.Close()
		list, err := f.Symbols()
		tracetest.OK(t, "Symbols", err)
		at := addr - d.Start + d.Offset
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Off <= at && at < p.Off+p.Filesz {
				at += p.Vaddr - p.Off
				break
			}
		}
		for _, s := range list {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value <= at && at < s.Value+s.Size {
				return s.Name
			}
		}
		return d.Path
	}
	return "no mapping"
}

// A program notes its mappings beside its events: its own, that of a library that it loads later, that
// of a child, and those of the program that it executes. An address is that of the function that
// recorded the event, also in a stream that was overwritten many times or cleared, and for a writer
// of open chunks.
func TestNotesOfMappings(t *testing.T) {
	native(t)
	tracetest.Only(t, !ctest.Static() && !ctest.Sanitized(), "where programs load libraries")
	id := "-Wl,--build-id"
	pie := ctest.Build(t, ctest.Program{Sources: []string{"testdata/mapped.c"}, Flags: []string{id, "-fPIE", "-pie"}})
	library := ctest.Build(t, ctest.Program{Sources: []string{"testdata/mappedlib.c"}, Flags: []string{id, "-shared", "-fPIC"}})
	fixed := ctest.Build(t, ctest.Program{Sources: []string{"testdata/mapped.c"}, Flags: []string{id, "-fno-pie", "-no-pie"}})
	for _, size := range []int64{16 << 10, 1 << 20} {
		s := create(t, 0, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren, StreamSize: size, StreamFullPolicy: posixtrace.PolicyUntilFull})
		if out, err := command(t, pie, "3", library, fixed).Output(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		found := named(t, s)
		if found["in_program"] != 6 || found["in_library"] != 3 || found["in_child"] != 2 {
			t.Errorf("%d bytes: %v", size, found)
		}
		tracetest.OK(t, "Clear", s.Clear())
		if out, err := command(t, fixed, "3", library, pie).Output(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if found := named(t, s); found["in_program"] != 6 || found["in_library"] != 3 {
			t.Errorf("%d bytes, cleared: %v", size, found)
		}
		tracetest.OK(t, "Shutdown", s.Shutdown())
	}
	s := create(t, 0, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren, StreamSize: 16 << 10, StreamFullPolicy: posixtrace.PolicyLoop})
	if out, err := command(t, pie, "2000", library, fixed).Output(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if found := named(t, s); found["in_program"] == 0 || found["in_program"] > 3000 {
		t.Errorf("overwritten: %v", found)
	}
}
