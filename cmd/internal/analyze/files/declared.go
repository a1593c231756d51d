package files

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Declared are the files that a run may read and write.
type Declared struct{ read, write []pattern }

// pattern is a line of a declaration.
type pattern struct {
	glob   string
	within string // the directory that a relative glob is in, with a slash; "" for an absolute glob
	except bool
}

const (
	maxDeclared     = 1 << 12 // lines
	maxDeclaredLine = 1 << 13
)

// ReadDeclared reads a declaration. Relative globs are in a directory, which is absolute.
//
// A line is "read GLOB" or "write GLOB", or one of these with "!" before the glob. The last line of its kind
// that matches a path says whether it is declared. Lines that begin with "#" are comments.
func ReadDeclared(r io.Reader, directory string) (*Declared, error) {
	d := &Declared{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxDeclaredLine)
	line := 1
	for ; in.Scan(); line++ {
		text := strings.TrimSpace(in.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		if len(d.read)+len(d.write) >= maxDeclared {
			return nil, fmt.Errorf("line %d: more than %d globs", line, maxDeclared)
		}
		end := strings.IndexAny(text, " \t")
		if end < 0 {
			end = len(text)
		}
		word, glob := text[:end], strings.TrimSpace(text[end:])
		var set *[]pattern
		switch word {
		case "read":
			set = &d.read
		case "write":
			set = &d.write
		default:
			return nil, fmt.Errorf("line %d: '%s': not read or write", line, word)
		}
		p := pattern{}
		p.glob, p.except = strings.CutPrefix(glob, "!")
		if p.glob == "" {
			return nil, fmt.Errorf("line %d: '%s': no glob follows", line, strings.TrimSpace(word+" "+glob))
		}
		if !strings.HasPrefix(p.glob, "/") && !strings.HasPrefix(p.glob, "*") {
			p.within, p.glob = strings.TrimSuffix(directory, "/")+"/", path.Clean(p.glob)
			for strings.HasPrefix(p.glob, "../") {
				p.within, p.glob = strings.TrimSuffix(path.Dir(strings.TrimSuffix(p.within, "/")), "/")+"/", p.glob[3:]
			}
		}
		*set = append(*set, p)
	}
	if err := in.Err(); err == bufio.ErrTooLong {
		return nil, fmt.Errorf("line %d: longer than %d bytes", line, maxDeclaredLine)
	} else if err != nil {
		return nil, err
	}
	return d, nil
}

func has(set []pattern, p string) bool {
	for i := len(set) - 1; i >= 0; i-- {
		w := &set[i]
		rest, ok := strings.CutPrefix(p, w.within)
		if ok && selection.Match(w.glob, rest) {
			return !w.except
		}
		if !ok && w.glob == "." && p+"/" == w.within {
			return !w.except
		}
	}
	return false
}

// touched is a name that was used outside of a declaration.
type touched struct {
	name  int32
	write bool
	by    *access // the first one
	more  int     // processes beside that one
}

// undeclared returns what was used outside of a declaration, by name, reads before writes. What the run itself
// has made is no input of it: only who made it needs a declaration.
func (f *Files) undeclared(d *Declared, wants func(string) bool) (list []touched) {
	type outside struct {
		name, at int32
		write    bool
	}
	var all []outside
	const known, read, write = 1, 2, 4
	declared := make([]uint8, f.names.all.count)
	is := func(name int32, use uint8) bool {
		if declared[name] == 0 {
			p := f.names.all.of(name).path
			declared[name] = known
			if has(d.read, p) || !wants(p) {
				declared[name] |= read
			}
			if has(d.write, p) || !wants(p) {
				declared[name] |= write
			}
		}
		return declared[name]&use != 0
	}
	made := make([]bool, f.files.count)
	for at := range f.accesses.count {
		a := f.accesses.of(at)
		if a.file == none {
			continue
		}
		if a.takes() && !made[a.file] && !is(a.name, read) {
			all = append(all, outside{a.name, at, false})
		}
		if a.changes() && !is(a.name, write) {
			all = append(all, outside{a.name, at, true})
		}
		if a.other != none && !is(a.other, write) {
			all = append(all, outside{a.other, at, true})
		}
		made[a.file] = made[a.file] || a.makes()
	}
	slices.SortStableFunc(all, func(x, y outside) int {
		switch {
		case x.name != y.name:
			return cmp.Compare(f.names.all.of(x.name).path, f.names.all.of(y.name).path)
		case x.write == y.write:
			return 0
		case x.write:
			return 1
		}
		return -1
	})
	u := f.newFinder()
	for i, o := range all {
		if i == 0 || o.name != all[i-1].name || o.write != all[i-1].write {
			list = append(list, touched{name: o.name, write: o.write})
			u.turn++
		}
		list[len(list)-1].add(u, f.accesses.of(o.at))
	}
	return list
}

func (t *touched) add(u *finder, a *access) {
	p := u.process(a)
	switch {
	case u.read[p] == u.turn:
		return
	case t.by == nil:
		t.by = a
	default:
		t.more++
	}
	u.read[p] = u.turn
}

// takes reports whether a process gets what a file had in it before.
func (a *access) takes() bool {
	return a.reads() || a.kind == posixtrace.FileOpen && a.mode&posixtrace.FileRead != 0 && a.mode&posixtrace.FileByPath == 0 && !a.makes()
}

// changes reports whether an access changes a file, its attributes or its name.
func (a *access) changes() bool {
	switch a.kind {
	case posixtrace.FileChmod, posixtrace.FileChown, posixtrace.FileRename, posixtrace.FileUnlink, posixtrace.FileRmdir:
		return true
	}
	return a.writes()
}

// filesOf returns the files that have had a name, the first one first.
func (f *Files) filesOf(name int32) (list []int32) {
	for l := f.names.all.of(name).files; l != none; l = f.names.links.of(l).next {
		list = append(list, f.names.links.of(l).file)
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// OpenDeclared reads the declaration in a file. Relative globs are in the directory of the file.
func OpenDeclared(name string) (*Declared, error) {
	if name == "" {
		return nil, cli.Usagef("invalid argument '' for '--undeclared'")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, cli.Failure(name, err)
	}
	defer f.Close()
	directory, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, cli.Failure(name, err)
	}
	if real, err := filepath.EvalSymlinks(directory); err == nil {
		directory = real
	}
	d, err := ReadDeclared(f, directory)
	if err != nil {
		return nil, cli.Failure(name, err)
	}
	return d, nil
}
