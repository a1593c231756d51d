package symbols

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"io"
	"slices"
)

// lines finds lines of source in DWARF. It decodes the lines of a unit when an address in it is
// first looked up.
type lines struct {
	data  *dwarf.Data
	spans []span // sorted by address
	units []unit
	rows  int // decoded so far
}

// span is a range of addresses that a unit has.
type span struct {
	low, high uint64
	unit      int
}

// unit is a compilation unit.
type unit struct {
	entry   *dwarf.Entry
	decoded bool
	runs    []run
}

// run is a sequence of rows of rising addresses, the last of which ends it.
type run struct {
	low, high uint64
	rows      []row
}

// row is the line of the addresses from address on.
type row struct {
	address uint64
	file    *dwarf.LineFile
	line    int
}

// Bounds for the debug information of a file.
const (
	maxUnits = 1 << 20
	maxSpans = 1 << 22
	maxRows  = 1 << 25
)

var errLines = errors.New("malformed debug information")

// readLines reads the DWARF of a file, nil if it has none that can be used.
func readLines(e *elf.File, room *int64) *lines {
	sections := make(map[string][]byte)
	size := int64(0)
	for _, name := range []string{"abbrev", "info", "line", "ranges", "str", "addr", "line_str", "str_offsets", "rnglists"} {
		s := e.Section(".debug_" + name)
		if s == nil {
			continue
		}
		if size += int64(min(s.Size, maxSection)); size > *room {
			return nil
		}
		b, err := section(e, ".debug_"+name)
		if err != nil {
			return nil
		}
		sections[name] = b
	}
	if len(sections["info"]) == 0 || len(sections["line"]) == 0 {
		return nil
	}
	heads, err := unitHeads(sections["info"], sections["abbrev"], e.ByteOrder)
	if err != nil {
		return nil
	}
	d, err := dwarf.New(sections["abbrev"], nil, nil, sections["info"], sections["line"], nil, sections["ranges"], sections["str"])
	if err != nil {
		return nil
	}
	for _, name := range []string{"addr", "line_str", "str_offsets", "rnglists"} {
		if d.AddSection(".debug_"+name, sections[name]) != nil {
			return nil
		}
	}
	l := &lines{data: d}
	l.index(heads)
	*room -= size
	return l
}

// index finds the addresses of each unit. It leaves out units that are malformed.
func (l *lines) index(heads []dwarf.Offset) {
	r := l.data.Reader()
	for _, at := range heads {
		r.Seek(at)
		e, err := r.Next()
		if err != nil || e == nil || e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagSkeletonUnit && e.Tag != dwarf.TagPartialUnit {
			continue
		}
		ranges, err := l.data.Ranges(e)
		if err != nil || len(ranges) == 0 {
			continue
		}
		if len(l.spans)+len(ranges) > maxSpans {
			break
		}
		for _, s := range ranges {
			if s[0] < s[1] {
				l.spans = append(l.spans, span{s[0], s[1], len(l.units)})
			}
		}
		l.units = append(l.units, unit{entry: e})
	}
	slices.SortStableFunc(l.spans, func(a, b span) int { return cmp.Compare(a.low, b.low) })
}

// maxOverlap bounds how many ranges before an address are inspected: ranges do not overlap, except
// those of code that the linker has dropped.
const maxOverlap = 64

// find returns the line of an address, "" if none is known.
func (l *lines) find(at uint64) (name string, line int) {
	i, _ := slices.BinarySearchFunc(l.spans, at, func(s span, at uint64) int {
		if s.low <= at {
			return -1
		}
		return 1
	})
	for n := 0; i > 0 && n < maxOverlap; n++ {
		i--
		if s := l.spans[i]; at < s.high {
			if name, line := l.inUnit(&l.units[s.unit], at); name != "" {
				return name, line
			}
		}
	}
	return "", 0
}

// inUnit returns the line of an address in a unit.
func (l *lines) inUnit(u *unit, at uint64) (string, int) {
	if !u.decoded {
		u.decoded = true
		l.decode(u)
	}
	for i := range u.runs {
		r := &u.runs[i]
		if at < r.low || at >= r.high {
			continue
		}
		// Of several rows of an address, the last counts.
		k, _ := slices.BinarySearchFunc(r.rows, at, func(r row, at uint64) int {
			if r.address <= at {
				return -1
			}
			return 1
		})
		if k > 0 && r.rows[k-1].file != nil {
			return r.rows[k-1].file.Name, r.rows[k-1].line
		}
	}
	return "", 0
}

// decode reads the lines of a unit.
func (l *lines) decode(u *unit) {
	defer func() {
		if recover() != nil {
			u.runs = nil
		}
	}()
	in, err := l.data.LineReader(u.entry)
	if err != nil || in == nil {
		return
	}
	var now run
	for {
		var e dwarf.LineEntry
		if err := in.Next(&e); err != nil {
			if err != io.EOF {
				u.runs = nil
			}
			return
		}
		if l.rows++; l.rows > maxRows {
			return
		}
		if n := len(now.rows); n > 0 && e.Address < now.rows[n-1].address {
			now = run{} // no linker writes that
		}
		if !e.EndSequence {
			now.rows = append(now.rows, row{e.Address, e.File, e.Line})
			continue
		}
		if len(now.rows) > 0 {
			now.low, now.high = now.rows[0].address, e.Address
			u.runs = append(u.runs, now)
		}
		now = run{}
	}
}
