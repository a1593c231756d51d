// Package files finds in the events of a run which process wrote, read, removed and renamed which file. It
// reads file.access, proc.* and the spans of steps and recipes. Its memory is bounded, whatever a log has.
//
// A file is known by the names that it has had, from the first access on until its last name is removed or
// given to another file. A file that is created under the same name later is another one.
//
// names.go has the names and what is below them, process.go the processes and the commands that they ran,
// access.go what an access does to a file. users.go says who wrote and read a file, race.go which two
// commands did without an order, declared.go what was not declared. table.go, history.go, outside.go and graph.go
// show them, words.go has what they share. ptrace-diff compares what users.go says of two runs.
package files

import (
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Files is what the logs say.
type Files struct {
	Accesses uint64 // that were read
	LeftOut  uint64 // accesses beyond the bounds, or of no known path
	Unmoved  uint64 // renamed directories whose files were not followed
	First    int64  // time of the first event

	any       bool
	names     names
	files     list[file]
	accesses  list[access]
	processes processes
	aliases   map[string]string
	sources   uint32
}

// The bounds. A log of 1,000,000 accesses to 100,000 files is far below them.
const (
	maxNames     = 1 << 19
	maxNameBytes = 48 << 20
	maxPath      = 1 << 13 // twice what the kernel takes: a directory may be as deep
	maxAccesses  = 1 << 21
	maxCommands  = 1 << 18
	maxArgs      = 1 << 12 // of a command
	maxArgBytes  = 32 << 20
	maxAliases   = 1 << 12
	// maxMoves bounds the files that are followed when directories are renamed.
	maxMoves = 1 << 21
)

// none is the index of nothing.
const none = -1

// file is a file that processes used.
type file struct {
	first, last int32 // accesses
	name        int32 // the latest one
	names       int32 // how many it has
	writer      int32 // the first access that writes, or none

	device, inode uint64
	directory     bool
	special       bool // a pipe or a device: what is written to it does not stay
}

// access is what a process did with a file.
type access struct {
	at      int64
	amount  int64 // bytes of FileClose, -1 unknown; times of FileMissing
	command int32
	name    int32 // of the file then
	other   int32 // the new name, none if there is none
	next    int32 // of the same file, or of those that failed for a name
	file    int32 // none if it failed
	mode    posixtrace.FileMode
	err     uint16
	kind    posixtrace.FileKind
}

// replaced is the kind of access by which a file loses its name to another one.
const replaced posixtrace.FileKind = 255

// New returns what no log says.
func New() *Files {
	f := &Files{aliases: map[string]string{}}
	f.names.init()
	f.processes.init()
	return f
}

// A Source is a log or stream. Equal paths in two of them are the same file, equal process ids are not the
// same process.
type Source struct {
	f     *Files
	index uint32
	name  func(posixtrace.EventID) string
	types catalog.Table[kind]
}

// kind is what the events of a type mean.
type kind uint8

const (
	other kind = iota
	accesses
	forks
	executes
	exits
	begins // a step or a recipe
	ends
)

// NewSource adds a log or stream. name returns the name of an event type, or "" if it has none.
func (f *Files) NewSource(name func(posixtrace.EventID) string) *Source {
	f.sources++
	return &Source{f: f, index: f.sources, name: name}
}

// Wants reports whether the events of a type say something of files or of what used them.
func Wants(id posixtrace.EventID, name string) bool { return kindOf(id, name) != other }

func kindOf(id posixtrace.EventID, name string) kind {
	switch id {
	case posixtrace.EventFileAccess:
		return accesses
	case posixtrace.EventProcFork:
		return forks
	case posixtrace.EventProcExec:
		return executes
	case posixtrace.EventProcExit:
		return exits
	}
	if span, ok := strings.CutSuffix(name, ".begin"); ok && id.User() && isPlace(span) {
		return begins
	}
	if span, ok := strings.CutSuffix(name, ".end"); ok && id.User() && isPlace(span) {
		return ends
	}
	return other
}

func isPlace(span string) bool { return span == analysis.StepSpan || span == catalog.RecipeSpan }

// Add adds events that follow each other. It does not keep them or their data.
func (s *Source) Add(recs []posixtrace.Record) {
	f := s.f
	for i := range recs {
		rec := &recs[i]
		k, known := s.types.Get(rec.ID)
		if !known {
			name := s.name(rec.ID)
			if k = kindOf(rec.ID, name); name != "" || rec.ID <= posixtrace.EventUnnamed {
				s.types.Put(rec.ID, k)
			}
		}
		if !f.any || rec.UnixNano < f.First {
			f.any, f.First = true, rec.UnixNano
		}
		switch k {
		case accesses:
			f.access(s, rec)
		case forks:
			f.processes.fork(s.index, rec)
		case executes:
			f.processes.exec(s.index, rec)
		case exits:
			f.processes.exit(s.index, rec)
		case begins:
			f.processes.begin(s.index, rec)
		case ends:
			f.processes.end(s.index, rec)
		}
	}
}

// list is a list whose elements do not move when it grows, so that it needs no second memory then.
type list[T any] struct {
	blocks [][]T
	count  int32
}

const listBlock = 1 << 12

// add adds an element and returns its index.
func (l *list[T]) add(v T) int32 {
	if int(l.count) == len(l.blocks)*listBlock {
		l.blocks = append(l.blocks, make([]T, listBlock))
	}
	i := l.count
	l.count++
	*l.of(i) = v
	return i
}

func (l *list[T]) of(i int32) *T { return &l.blocks[i/listBlock][i%listBlock] }

// byPath returns the names that have a file or a failed access and match a glob, sorted.
func (f *Files) byPath(wants func(path string) bool) []int32 {
	var list []int32
	for i := range f.names.all.count {
		n := f.names.all.of(i)
		if (n.files != none || n.failed != none) && wants(n.path) {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return strings.Compare(f.names.all.of(a).path, f.names.all.of(b).path) })
	return list
}
