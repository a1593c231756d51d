package symbols

import (
	"errors"
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
)

// NewSpaces returns an empty Spaces.
func NewSpaces(t *Table) *Spaces {
	return &Spaces{table: t, processes: make(map[int][]mapped), room: maxMapRoom}
}

// Note takes an event. It ignores all but proc.map, and one that it has taken before.
func (s *Spaces) Note(rec *posixtrace.Record) {
	if rec.ID != posixtrace.EventProcMap {
		return
	}
	d, err := posixtrace.DecodeMap(rec.Data)
	list := s.processes[rec.PID]
	const overhead = 160
	if s.room -= overhead + len(rec.Data); err != nil || s.room < 0 || len(list) >= maxMapped {
		return
	}
	i, _ := slices.BinarySearchFunc(list, rec.UnixNano, func(m mapped, t int64) int {
		if m.time <= t {
			return -1
		}
		return 1
	})
	if i > 0 && list[i-1].time == rec.UnixNano && list[i-1].Start == d.Start && list[i-1].Parent == d.Parent {
		return
	}
	s.processes[rec.PID] = slices.Insert(list, i, mapped{rec.UnixNano, d})
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
		for i := len(list) - 1; i >= 0 && parent == 0; i-- {
			m := &list[i]
			switch {
			case m.time > time:
				continue
			case m.Parent != 0:
				parent, time = m.Parent, m.time
			case m.Start <= addr && addr < m.End:
				return m
			case m.First:
				return nil
			}
		}
		if parent == 0 {
			return nil
		}
		pid = parent
	}
	return nil
}

func hexadecimal(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
