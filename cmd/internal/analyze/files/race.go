package files

import (
	"path"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A race is a file that one command writes and another one reads, or looks for in vain, where the log has no
// order between the two. Both run for a make, which started one of its children while the other one ran: so it
// waited for neither before it started the other, and knows no order between them. It may be that they wait for
// each other in a way that the log does not have, by a lock or a pipe.
type race struct {
	name           int32
	writer, reader *access
	maker          int32 // the command of make
	write, read    int32 // its children
	others         int   // pairs beside this one
}

// schedulers start what they know to be in no order at a time, and wait for what they know to be in one.
var schedulers = map[string]bool{"make": true, "gmake": true, "gnumake": true, "ninja": true, "samu": true}

const (
	// maxPairs bounds the pairs of a file that are compared, and maxCompared those of all files.
	maxPairs    = 1 << 16
	maxCompared = 1 << 22
	maxRaces    = 1 << 12
)

// races returns the races of the files with a name that is wanted, by name, and whether there may be more.
func (f *Files) races(wants func(string) bool) (list []race, more bool) {
	u := f.newFinder()
	f.closeProcesses()
	compared := 0
	seen := make([]bool, f.files.count)
	for _, i := range f.byPath(wants) {
		n := f.names.all.of(i)
		if isDevice(n.path) {
			continue
		}
		for l := n.files; l != none; l = f.names.links.of(l).next {
			file := f.names.links.of(l).file
			if t := f.files.of(file); t.directory || t.special || seen[file] && n.failed == none {
				continue
			}
			c := comparison{f: f}
			if writers, readers := u.rivals(file); !seen[file] {
				c.compare(writers, readers)
			}
			c.compare(f.makers(file, i), u.seekers(i))
			seen[file] = true
			if compared += c.compared; compared+u.again > maxCompared || len(list) >= maxRaces {
				return list, true
			}
			if c.found != nil {
				list = append(list, *c.found)
			} else if c.compared >= maxPairs {
				more = true
			}
		}
	}
	return list, more
}

// comparison looks for a race among pairs of accesses to a file.
type comparison struct {
	f        *Files
	found    *race
	compared int
}

func (c *comparison) compare(writers, readers []*access) {
	for _, w := range writers {
		for _, r := range readers {
			if c.compared >= maxPairs {
				return
			}
			c.compared++
			maker, write, read := c.f.unordered(w.command, r.command)
			switch {
			case maker == none:
			case c.found != nil:
				c.found.others++
			default:
				c.found = &race{name: r.name, writer: w, reader: r, maker: maker, write: write, read: read}
			}
		}
	}
}

// rivals returns the processes that write a file, or take it from its name, and those that read it.
func (u *finder) rivals(file int32) (writers, readers []*access) {
	s := u.of(file)
	writers = s.writers
	for at := u.f.files.of(file).first; at != none; at = u.f.accesses.of(at).next {
		if a := u.f.accesses.of(at); a.kind == posixtrace.FileUnlink || a.kind == replaced || a.kind == posixtrace.FileRename {
			if p := u.process(a); u.wrote[p] != u.turn {
				u.wrote[p] = u.turn
				writers = append(writers, a)
			}
		}
	}
	return writers, s.readers
}

// makers returns the accesses that gave a file a name that had none.
func (f *Files) makers(file, name int32) (list []*access) {
	for at := f.files.of(file).first; at != none; at = f.accesses.of(at).next {
		a := f.accesses.of(at)
		if a.other == name || a.name == name && a.kind == posixtrace.FileOpen && a.mode&posixtrace.FileCreate != 0 {
			list = append(list, a)
		}
	}
	return list
}

// seekers returns the processes that looked for a name when it had no file, and did not use the file that
// rivals was called for last.
func (u *finder) seekers(name int32) (list []*access) {
	for at := u.f.names.all.of(name).failed; at != none; at = u.f.accesses.of(at).next {
		a := u.f.accesses.of(at)
		if p := u.process(a); a.kind == posixtrace.FileMissing && u.wrote[p] != u.turn && u.read[p] != u.turn {
			u.read[p] = u.turn
			list = append(list, a)
		}
	}
	return list
}

// unordered returns the command of make that started two of its children at a time, of which one is, or is
// above, the process of the first command, and the other that of the second one; none if there is no such make.
func (f *Files) unordered(a, b int32) (maker, x, y int32) {
	if a == none || b == none {
		return none, none, none
	}
	p := &f.processes
	var path [maxDepth]int32
	n := 0
	x = p.commands.of(a).process
	for at := x; at != none && n < maxDepth; at = p.all.of(at).parent {
		path[n] = at
		n++
	}
	// The parent of a process has a smaller index, so both lists fall.
	i, y := 0, p.commands.of(b).process
	for depth := 0; depth < maxDepth; depth++ {
		for i < n && path[i] > y {
			i++
		}
		if i < n && path[i] == y {
			return none, none, none // one is above the other
		}
		up := p.all.of(y).parent
		if up == none {
			return none, none, none
		}
		for i < n && path[i] > up {
			i++
		}
		if i == n {
			return none, none, none
		}
		if path[i] != up {
			y = up
			continue
		}
		if i == 0 {
			return none, none, none // the first process is above the second one
		}
		x = path[i-1]
		q, r := p.all.of(x), p.all.of(y)
		if q.by != r.by || q.by == none || !schedulers[p.program(q.by)] || !q.known || !r.known {
			return none, none, none
		}
		if q.end <= r.start || r.end <= q.start {
			return none, none, none
		}
		return q.by, x, y
	}
	return none, none, none
}

// maxDepth bounds the processes above each other that unordered looks at.
const maxDepth = 256

// closeProcesses gives processes whose end the log does not have one: the time of their start, since no more
// of their life is known.
func (f *Files) closeProcesses() {
	for i := range f.processes.all.count {
		if q := f.processes.all.of(i); !q.ended {
			q.end = q.start
		}
	}
}

// isDevice reports whether a path is that of a device, of what the kernel shows of itself, or of the pipe by
// which a make counts the jobs of those below it. Each process may use them at any time.
func isDevice(p string) bool {
	for _, top := range []string{"/dev/", "/proc/", "/sys/"} {
		if strings.HasPrefix(p, top) && !strings.HasPrefix(p, "/dev/shm/") {
			return true
		}
	}
	rest, ok := strings.CutPrefix(path.Base(p), "GMfifo")
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}
