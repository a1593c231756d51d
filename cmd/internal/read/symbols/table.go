package symbols

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Object is a file that a process has mapped, executable.
type Object struct {
	Path       string
	BuildID    []byte // empty if the file has none
	Start, End uint64 // the addresses of the mapping
	Offset     uint64 // the place in the file of the byte at Start
	Mapped     int64  // the time when it was seen mapped, in nanoseconds since the epoch, or 0
}

// Place is what an address means.
type Place struct {
	Func   string // the function, readable; "" if no symbol covers the address
	Offset uint64 // the distance of the address from the start of the function
	File   string // the file of the source; "" if there is no debug information
	Line   int
}

// Table finds places. It keeps what it has read of each file. It is not safe for concurrent use.
type Table struct {
	// DebugDirs are the directories that have separate debug files below .build-id.
	DebugDirs []string

	files  map[fileKey]*opened
	room   int64 // how many more bytes of debug information may be kept
	closed bool
}

// fileKey identifies a file: one of the same path may have been another one earlier.
type fileKey struct{ path, id string }

// opened is a file that was opened, or the reason why it cannot be used.
type opened struct {
	file    *file
	changed time.Time // of the file, if it has no build id
	err     error
}

// totalRoom bounds the debug information that a table keeps in memory.
const totalRoom = 1 << 30

// maxFiles bounds the files that a table keeps: a trace may name any number of them.
const maxFiles = 4096

// NewTable returns a table that looks for separate debug files where distributions put them.
func NewTable() *Table {
	return &Table{DebugDirs: []string{"/usr/lib/debug"}, files: make(map[fileKey]*opened), room: totalRoom}
}

// Close makes the table find places only in the files that it has read.
func (t *Table) Close() { t.closed = true }

// Reasons why an address has no name.
var (
	errTooMany  = errors.New("too many files")
	errNoSymbol = errors.New("no symbol")
	errOutside  = errors.New("the mapping is no part of the file's program")
	errReplaced = errors.New("the file has another build id now")
	errNewer    = errors.New("the file has changed since, and has no build id")
)

// Find returns the place of an address in a mapped file. The error says why there is none.
func (t *Table) Find(o *Object, addr uint64) (Place, error) {
	if addr < o.Start || addr >= o.End {
		return Place{}, errOutside
	}
	f, err := t.open(o)
	if err != nil {
		return Place{}, err
	}
	at, ok := f.address(addr - o.Start + o.Offset)
	if !ok {
		return Place{}, errOutside
	}
	p := f.place(at)
	if p.Func == "" && p.File == "" {
		return p, errNoSymbol
	}
	return p, nil
}

// open returns the file of an object if it is the file that was mapped.
func (t *Table) open(o *Object) (*file, error) {
	key := fileKey{o.Path, string(o.BuildID)}
	n, ok := t.files[key]
	if !ok {
		if len(t.files) >= maxFiles || t.closed {
			return nil, errTooMany
		}
		n = &opened{}
		n.file, n.changed, n.err = t.read(o)
		t.files[key] = n
	}
	if n.err != nil {
		return nil, n.err
	}
	if len(o.BuildID) == 0 && o.Mapped != 0 && n.changed.UnixNano() > o.Mapped {
		return nil, errNewer
	}
	return n.file, nil
}

// read reads the file of an object and, where it is stripped, its separate debug file.
func (t *Table) read(o *Object) (f *file, changed time.Time, err error) {
	in, changed, err := openRegular(o.Path)
	if err != nil {
		var e *fs.PathError
		if errors.As(err, &e) {
			err = e.Err // the caller knows the path
		}
		return nil, changed, err
	}
	defer in.Close()
	f, err = readFile(in, &t.room)
	if err != nil {
		return nil, changed, err
	}
	if len(o.BuildID) > 0 && !bytes.Equal(f.buildID, o.BuildID) && !bytes.Equal(f.loaded, o.BuildID) {
		return nil, changed, fmt.Errorf("%w: it was %x", errReplaced, shortID(o.BuildID))
	}
	if !f.complete() {
		t.addDebugFile(f, o)
	}
	return f, changed, nil
}

// shortID returns as much of a build id as a person compares.
func shortID(id []byte) []byte { return id[:min(len(id), 8)] }
