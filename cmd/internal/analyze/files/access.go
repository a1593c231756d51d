package files

import (
	"math"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// access adds an access.
func (f *Files) access(s *Source, rec *posixtrace.Record) {
	f.Accesses++
	d, err := posixtrace.DecodeFile(rec.Data)
	if err != nil || !whole(&d, rec) || f.accesses.count >= maxAccesses {
		f.LeftOut++
		return
	}
	if d.Mode&posixtrace.FileUnnamed != 0 {
		return // it has no name that another process can use
	}
	a := access{at: rec.UnixNano, kind: d.Kind, mode: d.Mode, command: none, other: none, next: none, amount: d.Bytes}
	if int(d.Err) > 0 && int(d.Err) < math.MaxUint16 {
		a.err = uint16(d.Err)
	}
	if q := f.processes.of(s.index, rec.PID, rec.UnixNano); q != none {
		a.command = f.processes.all.of(q).command
	}
	path := d.Path
	switch {
	case d.Kind == posixtrace.FileSymlink:
		path = f.resolve(d.To) // the link; the text of it names no file yet
	case d.Canonical != "":
		f.learn(d.Path, d.Canonical)
		path = d.Canonical
	case a.err == 0 && (d.Kind == posixtrace.FileOpen || d.Kind == posixtrace.FileExec):
		path = clean(path) // it is the canonical one
		delete(f.aliases, directoryOf(path))
	default:
		path = f.resolve(path)
	}
	if path == "" || path[0] != '/' {
		f.LeftOut++
		return
	}
	if isOwn(path) {
		return
	}
	a.name = f.names.of(path)
	if a.name == none {
		f.LeftOut++
		return
	}
	if d.Kind == posixtrace.FileMissing || a.err != 0 {
		f.fail(a, d.Count)
		return
	}
	switch d.Kind {
	case posixtrace.FileRename:
		f.rename(a, d.To)
	case posixtrace.FileLink:
		f.hardLink(a, d.To)
	case posixtrace.FileUnlink, posixtrace.FileRmdir:
		f.remove(a)
	case posixtrace.FileMkdir, posixtrace.FileSymlink:
		f.unbind(a.name) // what had the name went unseen
		f.use(f.fileOf(a.name), a, &d)
	case posixtrace.FileClose, posixtrace.FileTruncate, posixtrace.FileMap, posixtrace.FileChmod, posixtrace.FileChown:
		f.use(f.opened(a.name, &d), a, &d)
	default:
		if n := f.names.all.of(a.name); n.file != none && f.isAnother(f.files.of(n.file), &d) {
			f.unbind(a.name) // by a process that is not traced
		}
		f.use(f.fileOf(a.name), a, &d)
	}
}

// isOwn reports whether a file is the one that ptrace-run --make gives make to read.
func isOwn(p string) bool {
	name, ok := strings.CutPrefix(p[strings.LastIndexByte(p, '/')+1:], "ptrace-run-")
	name, makefile := strings.CutSuffix(name, ".mk")
	return ok && makefile && name != "" && strings.Trim(name, "0123456789") == ""
}

// whole reports whether the paths of an access are. Of a record that was truncated, the last may be a part.
func whole(d *posixtrace.FileData, rec *posixtrace.Record) bool {
	if rec.Truncation == posixtrace.TruncationNone || d.Canonical != "" {
		if rec.Truncation != posixtrace.TruncationNone {
			d.Canonical = ""
		}
		return true
	}
	switch d.Kind {
	case posixtrace.FileRename, posixtrace.FileLink, posixtrace.FileSymlink:
		return false
	}
	return d.To != ""
}

// isAnother reports whether a file that is opened is not the one that had the name: processes that were not
// traced can replace it.
func (f *Files) isAnother(have *file, d *posixtrace.FileData) bool {
	if d.Kind == posixtrace.FileOpen && d.Mode&posixtrace.FileCreate != 0 {
		return have.first != none
	}
	return have.inode != 0 && d.Inode != 0 && (have.inode != d.Inode || have.device != d.Device)
}

// opened returns the file of a descriptor, which may have lost its name since it was opened.
func (f *Files) opened(name int32, d *posixtrace.FileData) int32 {
	n := f.names.all.of(name)
	if n.file != none && (d.Inode == 0 || f.files.of(n.file).inode == 0 || f.files.of(n.file).inode == d.Inode) {
		return n.file
	}
	for l, looked := n.files, 0; l != none && looked < maxOpened; l, looked = f.names.links.of(l).next, looked+1 {
		i := f.names.links.of(l).file
		if t := f.files.of(i); d.Inode == 0 || t.inode == 0 || t.inode == d.Inode && t.device == d.Device {
			return i
		}
	}
	if n.file == none {
		return f.fileOf(name)
	}
	i := f.files.add(file{first: none, last: none, writer: none, name: name})
	n.files = f.names.links.add(link{i, n.files})
	return i
}

// maxOpened bounds the files of one name among which opened looks.
const maxOpened = 64

// use adds an access to a file.
func (f *Files) use(i int32, a access, d *posixtrace.FileData) {
	t := f.files.of(i)
	if t.inode == 0 {
		t.device, t.inode = d.Device, d.Inode
	}
	if d.Mode&posixtrace.FileDirectory != 0 || d.Kind == posixtrace.FileMkdir {
		t.directory = true
	}
	t.special = t.special || d.Mode&posixtrace.FileSpecial != 0
	f.put(i, a)
}

func (f *Files) put(i int32, a access) int32 {
	t := f.files.of(i)
	a.file = i
	at := f.accesses.add(a)
	if t.writer == none && a.writes() {
		t.writer = at
	}
	if t.last == none {
		t.first = at
	} else {
		f.accesses.of(t.last).next = at
	}
	t.last = at
	return at
}

// fail adds an access that failed to its name.
func (f *Files) fail(a access, count int64) {
	n := f.names.all.of(a.name)
	if a.kind == posixtrace.FileMissing {
		a.amount = max(count, 1)
		n.missing += min(a.amount, math.MaxInt64-n.missing)
	}
	a.file = none
	at := f.accesses.add(a)
	if n.failed == none {
		n.failed = at
	} else {
		f.accesses.of(n.failedLast).next = at
	}
	n.failedLast = at
}

// lose takes the name from the file that has it, if any, since a rename gives it to another one.
func (f *Files) lose(a access) {
	i := f.unbind(a.name)
	if i == none {
		return
	}
	a.kind, a.mode, a.amount, a.other = replaced, 0, -1, none
	f.names.all.of(a.name).end = f.put(i, a)
}

func (f *Files) remove(a access) {
	i := f.fileOf(a.name)
	f.unbind(a.name)
	at := f.put(i, a)
	f.names.all.of(a.name).end = at
	if a.kind == posixtrace.FileRmdir {
		f.files.of(i).directory = true
	}
}

func (f *Files) rename(a access, to string) {
	a.other = f.newName(to)
	i := f.fileOf(a.name)
	if a.other == a.name || a.other != none && f.names.all.of(a.other).file == i {
		return // two names of one file: rename(2) does nothing
	}
	f.unbind(a.name)
	f.names.all.of(a.name).end = f.put(i, a)
	if a.other == none {
		f.LeftOut++
		return
	}
	victim := a
	victim.name = a.other
	f.lose(victim)
	f.bind(a.other, i)
	if f.names.all.of(a.name).child != none && !strings.HasPrefix(f.names.all.of(a.other).path, f.names.all.of(a.name).path+"/") {
		f.moveBelow(a)
	}
}

func (f *Files) hardLink(a access, to string) {
	a.other = f.newName(to)
	i := f.fileOf(a.name)
	f.put(i, a)
	if a.other == none {
		f.LeftOut++
		return
	}
	if f.names.all.of(a.other).file == i {
		return
	}
	f.unbind(a.other) // link(2) replaces no file
	name := f.files.of(i).name
	f.bind(a.other, i)
	f.files.of(i).name = name
}

// newName returns the name that a file gets.
func (f *Files) newName(to string) int32 {
	if to = f.resolve(to); to == "" || to[0] != '/' {
		return none
	}
	return f.names.of(to)
}
