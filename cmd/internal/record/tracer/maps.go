//go:build linux

package tracer

import (
	"errors"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// space is what the tracer has recorded of the address space of a process (proc.map): the mappings
// of the addresses that events had.
type space struct {
	fresh    bool // nothing is recorded since the process executed its program, or was first seen
	known    []addresses
	searches int // how often its mappings were read
	left     int // how many more addresses are looked up before all mappings are recorded again
}

// addresses are those of a mapping.
type addresses struct{ start, end uint64 }

const (
	// again is after how many addresses mappings are recorded again. A loop stream may have lost
	// the earlier events, and the process may have replaced a library.
	again = 16384
	// maxSearches bounds the time that a program which maps code all the time can cost.
	maxSearches = 1024
)

// locate records the mapping of an address, unless it is recorded already. An event with that
// address follows. The thread is stopped.
func (t *tracer) locate(k *task, ip uint64) {
	if ip == 0 || !t.wants(posixtrace.EventProcMap, k) {
		return
	}
	s := t.spaces[k.pid]
	if s == nil {
		s = &space{fresh: true}
		t.setSpace(k.pid, s)
	}
	if s.left--; s.left <= 0 {
		s.left, s.known, s.searches = again, nil, 0
	}
	for i, a := range s.known {
		if a.start <= ip && ip < a.end {
			s.known[0], s.known[i] = a, s.known[0] // likely also the next one
			return
		}
	}
	if s.searches++; s.searches > maxSearches {
		return
	}
	d, err := tool.Mapping(k.tid, ip)
	if err != nil {
		if !errors.Is(err, tool.ErrUnmapped) {
			s.searches = maxSearches // the next search fails, too
		}
		return
	}
	d.First, s.fresh = s.fresh, false
	d.Path = string(t.redactText([]byte(d.Path), false))
	s.known = append(s.known, addresses{d.Start, d.End})
	t.recordMap(k, &d)
}

func (t *tracer) recordMap(k *task, d *posixtrace.MapData) {
	t.buf = d.Append(t.buf[:0])
	t.record(posixtrace.EventProcMap, k, 0, t.buf)
}

// copySpace notes that a new process has the mappings of its parent.
func (t *tracer) copySpace(k *task, child *task) {
	s := t.spaces[k.pid]
	if s == nil || len(s.known) == 0 || child.pid == k.pid || t.spaces[child.pid] != nil || !t.wants(posixtrace.EventProcMap, child) {
		return
	}
	t.recordMap(child, &posixtrace.MapData{Parent: k.pid, First: true})
	t.setSpace(child.pid, &space{known: slices.Clone(s.known), left: s.left})
}

func (t *tracer) setSpace(pid int, s *space) {
	if t.spaces == nil {
		t.spaces = make(map[int]*space)
	}
	t.spaces[pid] = s
}

// forgetSpace forgets the mappings of a process that executes a program or has ended.
func (t *tracer) forgetSpace(pid int) {
	delete(t.spaces, pid)
	t.stacks.forget(pid)
}
