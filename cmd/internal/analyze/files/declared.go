package files

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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
	u := f.newFinder()
	for _, i := range f.byPath(wants) {
		n := f.names.all.of(i)
		read, write := has(d.read, n.path), has(d.write, n.path)
		if read && write || n.files == none {
			continue
		}
		r, w := touched{name: i}, touched{name: i, write: true}
		u.turn++
		for _, file := range f.filesOf(i) {
			made := false
			for at := f.files.of(file).first; at != none; at = f.accesses.of(at).next {
				a := f.accesses.of(at)
				here := a.name == i
				if !read && here && !made && a.takes() {
					r.add(u.read, u, a)
				}
				if !write && (here && a.changes() || a.other == i && a.kind != posixtrace.FileMissing) {
					w.add(u.wrote, u, a)
				}
				made = made || a.makes()
			}
		}
		if r.by != nil {
			list = append(list, r)
		}
		if w.by != nil {
			list = append(list, w)
		}
	}
	return list
}

func (t *touched) add(seen []uint32, u *finder, a *access) {
	p := u.process(a)
	switch {
	case seen[p] == u.turn:
		return
	case t.by == nil:
		t.by = a
	default:
		t.more++
	}
	seen[p] = u.turn
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
