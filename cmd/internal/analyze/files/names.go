package files

import (
	"path"
	"strings"
)

// names are the paths by which files were used, and the directories above them.
type names struct {
	index map[string]int32
	all   list[name]
	links list[link]
	bytes int
	moves int // files that have moved with their directories
}

// name is a path.
type name struct {
	path                   string
	parent, child, sibling int32
	file                   int32 // that has the name now, or none
	files                  int32 // links to all that have had it, the latest first
	end                    int32 // the access that took the name from the last file, none if a rename of a directory did
	failed, failedLast     int32 // accesses that failed
	missing                int64 // look-ups that found nothing
}

// link connects a name with a file that has, or had it.
type link struct{ file, next int32 }

func (n *names) init() { n.index = map[string]int32{} }

// nameless returns a name that no file has.
func nameless(p string) name {
	return name{path: p, parent: none, child: none, sibling: none, file: none, files: none, end: none, failed: none, failedLast: none}
}

// of returns a name, none if there are too many. The path begins with a slash.
func (n *names) of(p string) int32 {
	if i, ok := n.index[p]; ok {
		return i
	}
	if n.all.count >= maxNames || n.bytes+len(p) > maxNameBytes || len(p) > maxPath {
		return none
	}
	n.bytes += len(p)
	i := n.all.add(nameless(p))
	n.index[p] = i
	for {
		above := directoryOf(p)
		if above == p {
			return i
		}
		known := true
		up, ok := n.index[above]
		if !ok {
			if n.all.count >= maxNames {
				return i
			}
			known = false
			up = n.all.add(nameless(above))
			n.index[above] = up
		}
		below := n.all.of(n.index[p])
		below.parent, below.sibling = up, n.all.of(up).child
		n.all.of(up).child = n.index[p]
		if known {
			return i
		}
		p = above
	}
}

// directoryOf returns the directory of a clean absolute path; of the root, and of what is no path, itself.
func directoryOf(p string) string {
	i := strings.LastIndexByte(p, '/')
	switch {
	case i < 0 || p == "/":
		return p
	case i == 0:
		return "/"
	}
	return p[:i]
}

// clean returns a path without what names no other directory. Most paths are clean.
func clean(p string) string {
	if strings.Contains(p, "//") || strings.Contains(p, "/.") || len(p) > 1 && p[len(p)-1] == '/' {
		return path.Clean(p)
	}
	return p
}

// bind gives a file a name, which no other file has.
func (f *Files) bind(at, to int32) {
	n := f.names.all.of(at)
	if n.files == none || f.names.links.of(n.files).file != to {
		n.files = f.names.links.add(link{to, n.files})
	}
	n.file, n.end = to, none
	d := f.files.of(to)
	d.name = at
	d.names++
}

// unbind takes the name from its file and returns the file.
func (f *Files) unbind(at int32) int32 {
	n := f.names.all.of(at)
	i := n.file
	if i != none {
		n.file = none
		f.files.of(i).names--
	}
	return i
}

// fileOf returns the file of a name. It adds one if the name has none.
func (f *Files) fileOf(at int32) int32 {
	if i := f.names.all.of(at).file; i != none {
		return i
	}
	i := f.files.add(file{first: none, last: none, writer: none})
	f.bind(at, i)
	return i
}

// moveBelow gives the files below a directory that an access has renamed their new names.
func (f *Files) moveBelow(rename access) {
	type pair struct{ from, to int32 }
	for todo := []pair{{rename.name, rename.other}}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for c := f.names.all.of(p.from).child; c != none; c = f.names.all.of(c).sibling {
			if f.names.moves++; f.names.moves > maxMoves || f.accesses.count >= maxAccesses {
				f.Unmoved++
				return
			}
			n := f.names.all.of(c)
			if n.child == none && n.file == none {
				continue
			}
			base := n.path[strings.LastIndexByte(n.path, '/')+1:]
			at := f.names.of(path.Join(f.names.all.of(p.to).path, base))
			if at == none || at == c {
				f.Unmoved++
				return
			}
			if i := f.unbind(c); i != none {
				a := rename
				a.name, a.other = c, at
				f.names.all.of(c).end = f.put(i, a)
				a.name = at
				f.lose(a)
				f.bind(at, i)
			}
			todo = append(todo, pair{c, at})
		}
	}
}

// learn notes that a directory is reached through a symbolic link.
func (f *Files) learn(named, canonical string) {
	if named == canonical || path.Base(named) != path.Base(canonical) || len(f.aliases) >= maxAliases {
		return
	}
	if d := directoryOf(canonical); f.aliases[directoryOf(named)] != d {
		f.aliases[strings.Clone(directoryOf(named))] = strings.Clone(d)
	}
}

// resolve returns a path in a directory that is known to be reached through a symbolic link without it.
func (f *Files) resolve(p string) string {
	p = clean(p)
	if d, ok := f.aliases[directoryOf(p)]; ok {
		return path.Join(d, path.Base(p))
	}
	return p
}
