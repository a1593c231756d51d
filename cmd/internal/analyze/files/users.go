package files

import (
	"iter"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// writes reports whether an access changes what a file has in it, or makes it.
func (a *access) writes() bool {
	const changes = posixtrace.FileWrite | posixtrace.FileAppend | posixtrace.FileCreate | posixtrace.FileCut
	switch a.kind {
	case posixtrace.FileOpen:
		return a.mode&changes != 0 && a.mode&posixtrace.FileByPath == 0
	case posixtrace.FileMap:
		return a.mode&posixtrace.FileWrite != 0
	case posixtrace.FileTruncate, posixtrace.FileClose, posixtrace.FileMkdir, posixtrace.FileSymlink:
		return true
	}
	return false
}

// reads reports whether an access reads a file, and nothing else: the content of a file that is opened to
// read and write may be that of the process itself.
func (a *access) reads() bool {
	switch a.kind {
	case posixtrace.FileOpen:
		return a.mode&posixtrace.FileRead != 0 && a.mode&posixtrace.FileByPath == 0 && !a.writes()
	case posixtrace.FileMap:
		return !a.writes()
	}
	return a.kind == posixtrace.FileExec
}

// makes reports whether what a file has in it after an access comes from the run alone.
func (a *access) makes() bool {
	switch a.kind {
	case posixtrace.FileOpen:
		return a.mode&(posixtrace.FileCreate|posixtrace.FileCut) != 0
	}
	return a.kind == posixtrace.FileMkdir || a.kind == posixtrace.FileSymlink
}

// users are the processes that have used a file: of each the first access of its kind.
type users struct {
	writers, readers []*access // by process; a process that writes is no reader
	first, last      int64
	bytes            int64 // -1 if unknown
}

// A finder finds the users of files.
type finder struct {
	f     *Files
	wrote []uint32 // by process: the turn in which it was seen
	read  []uint32
	turn  uint32
	users users
	known []bool // by file
	again int    // accesses that were looked at more than once
}

// maxAgain bounds how many accesses are looked at for further names of files. Beyond it, only the first
// writer is known there.
const maxAgain = 1 << 22

func (f *Files) newFinder() *finder {
	n := f.processes.all.count + 1 // the last one is an unknown process
	return &finder{f: f, wrote: make([]uint32, n), read: make([]uint32, n), known: make([]bool, f.files.count)}
}

func (u *finder) process(a *access) int32 {
	if a.command == none {
		return u.f.processes.all.count
	}
	return u.f.processes.commands.of(a.command).process
}

// of returns the users of a file, valid until the next call.
func (u *finder) of(i int32) *users {
	u.turn++
	s := &u.users
	s.writers, s.readers, s.bytes = s.writers[:0], s.readers[:0], -1
	t := u.f.files.of(i)
	known := u.known[i]
	if u.known[i] = true; known && u.again > maxAgain {
		first, last := u.f.accesses.of(t.first), u.f.accesses.of(t.last)
		if s.first, s.last = first.at, last.at; t.writer != none {
			s.writers = append(s.writers, u.f.accesses.of(t.writer))
		}
		return s
	}
	for at := t.first; at != none; at = u.f.accesses.of(at).next {
		a := u.f.accesses.of(at)
		if known {
			u.again++
		}
		if at == t.first {
			s.first, s.last = a.at, a.at
		}
		s.first, s.last = min(s.first, a.at), max(s.last, a.at)
		if a.kind == posixtrace.FileClose && a.amount >= 0 {
			s.bytes = max(s.bytes, 0)
			s.bytes += min(a.amount, 1<<62-s.bytes)
		}
		if p := u.process(a); a.writes() && u.wrote[p] != u.turn {
			u.wrote[p] = u.turn
			s.writers = append(s.writers, a)
		}
	}
	for at := t.first; at != none; at = u.f.accesses.of(at).next {
		a := u.f.accesses.of(at)
		if p := u.process(a); a.reads() && u.wrote[p] != u.turn && u.read[p] != u.turn {
			u.read[p] = u.turn
			s.readers = append(s.readers, a)
		}
	}
	return s
}

// fileAt returns the file of a name, or the last one that had it.
func (f *Files) fileAt(i int32) int32 {
	n := f.names.all.of(i)
	if n.file != none {
		return n.file
	}
	if n.files == none {
		return none
	}
	return f.names.links.of(n.files).file
}

// endOf returns the access that took its name from a file, nil if it has the name, or if a directory above it
// was renamed.
func (f *Files) endOf(file, name int32) (end *access) {
	n := f.names.all.of(name)
	if n.file == file || n.end == none {
		return nil
	}
	return f.accesses.of(n.end)
}

// Use is what processes did with a file.
type Use uint8

// The uses of a file.
const (
	Read Use = 1 << iota
	Written
)

// Used returns the paths that processes read and wrote, without devices.
func (f *Files) Used() iter.Seq2[string, Use] {
	return func(yield func(string, Use) bool) {
		used := make([]Use, f.names.all.count)
		for at := range f.accesses.count {
			a := f.accesses.of(at)
			if a.file == none {
				continue
			}
			if a.other != none {
				used[a.other] |= Written
			}
			switch {
			case a.writes():
				used[a.name] |= Written
			case a.reads():
				used[a.name] |= Read
			}
		}
		for i, use := range used {
			if p := f.names.all.of(int32(i)).path; use != 0 && !isDevice(p) && !yield(p, use) {
				return
			}
		}
	}
}
