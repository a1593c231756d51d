//go:build linux

package tracer

import (
	"hash/maphash"
	"maps"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// With -e files the tracer records what processes do with files: it follows the calls that fileCalls has
// (files_calls.go), and what a program executes (files_exec.go). files_paths.go makes paths absolute. None of it
// may wait for a file system, which may be one that a traced process serves.

// files is what the tracer keeps for that.
type files struct {
	of     map[int]*fileUse // by process
	seeds  [2]maphash.Seed
	seen   int // the entries of all processes
	kept   int // the bytes of all paths in missing and written
	mounts mounts
	moved  bool // a traced process may have another root directory, or other mounts, than the tracer had
	uring  bool // reported
}

// fileUse is what the tracer keeps of a process.
type fileUse struct {
	seen    map[fileKey]struct{} // what is recorded
	changes map[uint64]uint32    // how often the process changed what a path names
	missing map[missingFile]int64
	others  int64 // look-ups of missing files that found no room in missing
	written []posixtrace.FileData
}

// fileKey stands for an event. Two hashes of a random seed each: another event does not have both.
type fileKey [2]uint64

type missingFile struct {
	path string
	err  syscall.Errno
}

// Bounds of what is kept for all processes. Events that are forgotten are recorded again; look-ups of missing
// files are counted without their paths.
var (
	seenFiles = 1 << 18
	keptPaths = 32 << 20
)

// pathCost is what an entry takes beside its path.
const pathCost = 128

// useOf returns what is kept of a process.
func (t *tracer) useOf(pid int) *fileUse {
	u := t.files.of[pid]
	if u == nil {
		if t.files.of == nil {
			t.files.of = make(map[int]*fileUse)
			t.files.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
		}
		u = &fileUse{seen: make(map[fileKey]struct{})}
		t.files.of[pid] = u
	}
	return u
}

// isNew reports whether an event of a process is to be recorded, because it is not or is forgotten. It ignores
// what only a look at the file tells.
func (t *tracer) isNew(k *task, d *posixtrace.FileData) bool {
	u := t.useOf(k.pid)
	b := append(t.key[:0], byte(d.Kind), byte(d.Mode), byte(d.Mode>>8), byte(d.Err), byte(d.Err>>8))
	for _, v := range [...]uint32{d.Perm, uint32(d.UID), uint32(d.GID)} {
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	if len(u.changes) > 0 {
		v := u.changes[t.pathHash(d.Path)]
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	b = append(append(append(b, d.Path...), 0), d.To...)
	t.key = b
	key := fileKey{maphash.Bytes(t.files.seeds[0], b), maphash.Bytes(t.files.seeds[1], b)}
	if _, ok := u.seen[key]; ok {
		return false
	}
	t.makeRoom()
	u.seen[key] = struct{}{}
	t.files.seen++
	return true
}

// makeRoom forgets all events if there is no room for one more, and the counts that are part of them.
func (t *tracer) makeRoom() {
	if t.files.seen < seenFiles {
		return
	}
	for _, u := range t.files.of {
		t.forgetSeen(u)
	}
}

// forgetSeen makes the tracer record again what a process does.
func (t *tracer) forgetSeen(u *fileUse) {
	t.files.seen = max(t.files.seen-len(u.seen)-len(u.changes), 0)
	clear(u.seen)
	clear(u.changes)
}

func (t *tracer) pathHash(path string) uint64 { return maphash.String(t.files.seeds[0], path) }

// changesName notes that a path of a process names something else from now on.
func (t *tracer) changesName(k *task, path string) {
	u := t.useOf(k.pid)
	if u.changes == nil {
		u.changes = make(map[uint64]uint32)
	}
	h := t.pathHash(path)
	if _, ok := u.changes[h]; !ok {
		t.makeRoom()
		t.files.seen++
	}
	u.changes[h]++
}

// recordFile records an event.
func (t *tracer) recordFile(k *task, d *posixtrace.FileData) {
	if d.Canonical == d.Path {
		d.Canonical = ""
	}
	if t.redact != nil {
		for _, p := range [...]*string{&d.Path, &d.To, &d.Canonical} {
			if *p != "" {
				*p = string(t.redactText([]byte(*p), false))
			}
		}
	}
	t.buf = d.Append(t.buf[:0])
	t.record(posixtrace.EventFileAccess, k, 0, t.buf)
}

// miss counts a look-up of a file that is missing.
func (t *tracer) miss(k *task, path string, err syscall.Errno) {
	u := t.useOf(k.pid)
	m := missingFile{path, err}
	if _, ok := u.missing[m]; !ok {
		if t.files.kept >= keptPaths {
			u.others++
			return
		}
		t.files.kept += len(path) + pathCost
		if u.missing == nil {
			u.missing = make(map[missingFile]int64)
		}
	}
	u.missing[m]++
}

// writes notes that a process has a file open to write. Without room there will be no event when it is closed.
func (t *tracer) writes(k *task, d *posixtrace.FileData) {
	if t.files.kept >= keptPaths {
		return
	}
	c := posixtrace.FileData{Kind: posixtrace.FileClose, Mode: posixtrace.FileWrite | d.Mode&posixtrace.FileUnnamed, Bytes: -1, Path: d.Path}
	if !t.isNew(k, &c) {
		return
	}
	c.Device, c.Inode, c.Canonical = d.Device, d.Inode, d.Canonical
	t.files.kept += len(c.Path) + len(c.Canonical) + pathCost
	u := t.useOf(k.pid)
	u.written = append(u.written, c)
}

// filesEnded records what follows the end of a process: the files that it has closed, and those that it
// looked for in vain.
func (t *tracer) filesEnded(k *task) {
	u := t.files.of[k.pid]
	if u == nil {
		return
	}
	delete(t.files.of, k.pid)
	t.forgetSeen(u)
	wanted := t.wants(posixtrace.EventFileAccess, k)
	for i := range u.written {
		d := &u.written[i]
		t.files.kept -= len(d.Path) + len(d.Canonical) + pathCost
		if wanted {
			t.recordFile(k, d)
		}
	}
	list := slices.SortedFunc(maps.Keys(u.missing), func(a, b missingFile) int {
		switch {
		case a.path < b.path || a.path == b.path && a.err < b.err:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	for _, m := range list {
		t.files.kept -= len(m.path) + pathCost
		if wanted {
			t.recordFile(k, &posixtrace.FileData{Kind: posixtrace.FileMissing, Err: m.err, Bytes: -1, Count: u.missing[m], Path: m.path})
		}
	}
	if wanted && u.others > 0 {
		t.recordFile(k, &posixtrace.FileData{Kind: posixtrace.FileMissing, Err: unix.ENOENT, Bytes: -1, Count: u.others})
	}
}

// allFilesEnded does the same for processes that the tracer leaves.
func (t *tracer) allFilesEnded() {
	for _, pid := range slices.Sorted(maps.Keys(t.files.of)) {
		t.filesEnded(&task{tid: pid, pid: pid})
	}
}
