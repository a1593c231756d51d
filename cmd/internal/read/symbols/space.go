package symbols

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Spaces knows from the events proc.map what processes have mapped, and when. It is not safe for
// concurrent use.
type Spaces struct {
	table     *Table
	processes map[int][]mapped // in the order of time
	room      int
}

// mapped is an event proc.map.
type mapped struct {
	time int64
	posixtrace.MapData
}

// Bounds of what is kept: a log is untrusted.
const (
	maxMapped  = 4096     // for each process
	maxMapRoom = 64 << 20 // bytes
	maxParents = 256      // that share a mapping
	maxRepeats = 64       // how many mappings are compared with a new one
)

// NewSpaces returns an empty Spaces.
func NewSpaces(t *Table) *Spaces {
	return &Spaces{table: t, processes: make(map[int][]mapped), room: maxMapRoom}
}

// Note takes an event. It ignores all but proc.map, and one that says nothing new.
func (s *Spaces) Note(rec *posixtrace.Record) {
	if rec.ID != posixtrace.EventProcMap {
		return
	}
	d, err := posixtrace.DecodeMap(rec.Data)
	list := s.processes[rec.PID]
	if err != nil || s.room < 0 || len(list) >= maxMapped {
		return
	}
	i, _ := slices.BinarySearchFunc(list, rec.UnixNano, func(m mapped, t int64) int {
		if m.time <= t {
			return -1
		}
		return 1
	})
	if repeats(list[max(i-maxRepeats, 0):i], &d, rec.UnixNano) {
		return
	}
	const overhead = 200
	s.room -= overhead + len(rec.Data)
	s.processes[rec.PID] = slices.Insert(list, i, mapped{rec.UnixNano, d})
}

// repeats reports whether the last mappings, in the order of time, have one already that is valid up to
// a time. A process that notes its own mappings repeats them, for the readers of a part of its events.
func repeats(list []mapped, d *posixtrace.MapData, time int64) bool {
	for i := len(list) - 1; i >= 0; i-- {
		m := &list[i]
		switch {
		case m.Start == d.Start && m.Parent == d.Parent && (m.time == time || m.same(d)):
			return true
		case d.Program == 0 || m.Program != d.Program || m.Start < d.End && d.Start < m.End:
			return false // what came before may be gone
		}
	}
	return false
}

// same reports whether d is the same mapping, of the same program.
func (m *mapped) same(d *posixtrace.MapData) bool {
	return d.Program != 0 && m.Program == d.Program && m.End == d.End && m.Offset == d.Offset && m.Path == d.Path &&
		m.Removed == d.Removed && m.Err == d.Err && bytes.Equal(m.BuildID, d.BuildID)
}

// ErrUnknown means that no event proc.map has an address.
var ErrUnknown = errors.New("no proc.map event has it")

// Name returns the function, the file and the line of an address of a process at a time, as
// "function+0x1f" and "file:42". Without a symbol, where is the place in the file, and the error says
// why. next reports that the address is that of the instruction after the one that counts, such as a call.
func (s *Spaces) Name(pid int, time int64, addr uint64, next bool) (where, source string, err error) {
	less := uint64(0)
	if next && addr > 0 {
		less = 1
	}
	m := s.find(pid, time, addr-less)
	if m == nil {
		return hexadecimal(addr), "", ErrUnknown
	}
	base := filepath.Base(m.Path)
	offset := base + "+" + hexadecimal(addr-m.Start+m.Offset)
	switch {
	case m.Err != 0:
		return hexadecimal(addr), "", fmt.Errorf("the process could not read its mappings: %w", m.Err)
	case m.Path == "":
		return hexadecimal(addr), "", errors.New("the code is no file's")
	case m.Path[0] != '/':
		return offset, "", errors.New("not a file")
	}
	p, err := s.table.Find(&Object{
		Path: m.Path, BuildID: m.BuildID, Start: m.Start, End: m.End, Offset: m.Offset, Mapped: m.time,
	}, addr-less)
	if err != nil {
		return offset, "", err
	}
	if p.File != "" {
		source = p.File + ":" + strconv.Itoa(p.Line)
	}
	if p.Func == "" {
		return offset, source, nil
	}
	return p.Func + "+" + hexadecimal(p.Offset+less), source, nil
}

// find returns the mapping that has an address of a process at a time, nil if it is not known.
func (s *Spaces) find(pid int, time int64, addr uint64) *mapped {
	for range maxParents {
		list := s.processes[pid]
		parent := 0
		program := uint64(0) // that the process executes
		n, _ := slices.BinarySearchFunc(list, time, func(m mapped, t int64) int {
			if m.time <= t {
				return -1
			}
			return 1
		})
		for i := n - 1; i >= 0 && parent == 0; i-- {
			m := &list[i]
			if m.Program != 0 {
				if program == 0 {
					program = m.Program
				} else if program != m.Program {
					break // what the program before had is gone
				}
			}
			switch {
			case m.Parent != 0:
				parent, time = m.Parent, m.time
			case m.Start <= addr && addr < m.End:
				return m
			case m.First:
				return nil
			}
		}
		if parent == 0 {
			return later(list[n:], program, addr)
		}
		pid = parent
	}
	return nil
}

// later returns a mapping that a process has noted of the given program, or if that is 0 of its first
// one, after an event with the address: of two threads, the first may note what the second does not, and
// record its event later.
func later(list []mapped, program, addr uint64) *mapped {
	for i := range list {
		m := &list[i]
		switch {
		case m.Program == 0:
			if m.First || m.Parent != 0 {
				return nil
			}
		case program != 0 && m.Program != program:
			return nil
		case m.Start <= addr && addr < m.End:
			return m
		default:
			program = m.Program
		}
	}
	return nil
}

func hexadecimal(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
