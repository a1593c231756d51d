//go:build linux

package tracer

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// arg is an argument of a call: 1 is the first, 0 none.
type arg int8

// fileCall says what a call does with which of its arguments.
type fileCall struct {
	kind      posixtrace.FileKind // 0: it changes how the tracer sees paths
	dir, path arg
	toDir, to arg
	text      arg // of a symbolic link
	fd        arg // instead of a path
	flags     arg
	how       arg // struct open_how
	perm      arg
	uid, gid  arg
	result    bool // the path is that of the descriptor that the call returns
	inDir     bool // it changes the directory that the path lies in, and no symbolic link is followed
}

// fileCallsByName has the calls that the tracer follows for -e files. Some have other names on some machines, or
// do not exist there.
var fileCallsByName = map[string]fileCall{
	"open":              {kind: posixtrace.FileOpen, path: 1, flags: 2, perm: 3},
	"openat":            {kind: posixtrace.FileOpen, dir: 1, path: 2, flags: 3, perm: 4},
	"openat2":           {kind: posixtrace.FileOpen, dir: 1, path: 2, how: 3},
	"creat":             {kind: posixtrace.FileOpen, path: 1, perm: 2},
	"open_by_handle_at": {kind: posixtrace.FileOpen, flags: 3, result: true},
	"memfd_create":      {kind: posixtrace.FileOpen, result: true},
	"mknod":             {kind: posixtrace.FileOpen, path: 1, perm: 2, inDir: true},
	"mknodat":           {kind: posixtrace.FileOpen, dir: 1, path: 2, perm: 3, inDir: true},
	"execve":            {kind: posixtrace.FileExec, path: 1},
	"execveat":          {kind: posixtrace.FileExec, dir: 1, path: 2, flags: 5},
	"mmap":              {kind: posixtrace.FileMap, fd: 5},
	"truncate":          {kind: posixtrace.FileTruncate, path: 1},
	"ftruncate":         {kind: posixtrace.FileTruncate, fd: 1},
	"mkdir":             {kind: posixtrace.FileMkdir, path: 1, perm: 2, inDir: true},
	"mkdirat":           {kind: posixtrace.FileMkdir, dir: 1, path: 2, perm: 3, inDir: true},
	"rmdir":             {kind: posixtrace.FileRmdir, path: 1, inDir: true},
	"unlink":            {kind: posixtrace.FileUnlink, path: 1, inDir: true},
	"unlinkat":          {kind: posixtrace.FileUnlink, dir: 1, path: 2, flags: 3, inDir: true},
	"rename":            {kind: posixtrace.FileRename, path: 1, to: 2, inDir: true},
	"renameat":          {kind: posixtrace.FileRename, dir: 1, path: 2, toDir: 3, to: 4, inDir: true},
	"renameat2":         {kind: posixtrace.FileRename, dir: 1, path: 2, toDir: 3, to: 4, flags: 5, inDir: true},
	"link":              {kind: posixtrace.FileLink, path: 1, to: 2, inDir: true},
	"linkat":            {kind: posixtrace.FileLink, dir: 1, path: 2, toDir: 3, to: 4, flags: 5, inDir: true},
	"symlink":           {kind: posixtrace.FileSymlink, text: 1, to: 2},
	"symlinkat":         {kind: posixtrace.FileSymlink, text: 1, toDir: 2, to: 3},
	"chmod":             {kind: posixtrace.FileChmod, path: 1, perm: 2},
	"fchmod":            {kind: posixtrace.FileChmod, fd: 1, perm: 2},
	"fchmodat":          {kind: posixtrace.FileChmod, dir: 1, path: 2, perm: 3},
	"fchmodat2":         {kind: posixtrace.FileChmod, dir: 1, path: 2, perm: 3, flags: 4},
	"chown":             {kind: posixtrace.FileChown, path: 1, uid: 2, gid: 3},
	"lchown":            {kind: posixtrace.FileChown, path: 1, uid: 2, gid: 3, inDir: true},
	"fchown":            {kind: posixtrace.FileChown, fd: 1, uid: 2, gid: 3},
	"fchownat":          {kind: posixtrace.FileChown, dir: 1, path: 2, uid: 3, gid: 4, flags: 5},

	"chroot": {}, "pivot_root": {}, "setns": {}, "unshare": {}, "mount": {}, "move_mount": {}, "io_uring_setup": {},
}

// fileCalls has them by number.
var fileCalls = func() (list [len(tracer{}.wanted)]*fileCall) {
	for nr, name := range names {
		if c, ok := fileCallsByName[name]; ok && nr < len(list) {
			list[nr] = &c
		}
	}
	return list
}()

// fileStops returns the numbers of these calls.
func fileStops() (nrs []int) {
	for nr, c := range fileCalls {
		if c != nil {
			nrs = append(nrs, nr)
		}
	}
	return nrs
}

// sharedWrite reports whether mmap(2) maps a file so that writing to memory writes to the file. The filter tests
// the same.
func sharedWrite(args [6]uint64) bool {
	return args[2]&unix.PROT_WRITE != 0 && args[3]&unix.MAP_SHARED != 0 && args[3]&unix.MAP_ANONYMOUS == 0
}

// fileTask is what a thread has passed to a call.
type fileTask struct {
	path, to string
	plain    bool // the path has no directory of its own
	known    bool // the path could be read, if it has one
	absent   bool // the file to open was not there
	flags    uint64
	perm     uint32
}

// usesFile reports whether a call that a thread enters is one to follow.
func (t *tracer) usesFile(k *task, nr int, args [6]uint64) bool {
	if !t.cfg.Want.Files || nr < 0 || nr >= len(fileCalls) || fileCalls[nr] == nil {
		return false
	}
	c := fileCalls[nr]
	switch {
	case k.preExec:
		return c.kind == posixtrace.FileExec
	case c.kind == 0:
		t.files.moved = t.files.moved || nr != unix.SYS_IO_URING_SETUP
		if nr == unix.SYS_IO_URING_SETUP {
			t.reportMissing(k, &t.files.uring, "the files that ", " uses by io_uring(7) are not recorded")
		}
		return false
	case c.kind == posixtrace.FileMap && !sharedWrite(args):
		return false
	}
	return t.wants(posixtrace.EventFileAccess, k)
}

// fileEntered notes what a thread passes to a call.
func (t *tracer) fileEntered(k *task) {
	args, c, f := &k.call.raw, fileCalls[k.call.nr], &k.file
	*f = fileTask{known: true}
	value := func(a arg) uint64 {
		if a == 0 {
			return 0
		}
		return args[a-1]
	}
	f.flags, f.perm = uint64(uint32(value(c.flags))), uint32(value(c.perm))
	inRoot := false
	switch {
	case c.how != 0:
		var how [24]byte // struct open_how: flags, mode, resolve
		f.known = readMemory(k.tid, value(c.how), how[:]) == len(how)
		f.flags, f.perm = nativeWord(how[:]), uint32(nativeWord(how[8:]))
		inRoot = nativeWord(how[16:])&unix.RESOLVE_IN_ROOT != 0
	case k.call.nr == createCall:
		f.flags = unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	case c.result && c.flags == 0: // memfd_create(2)
		f.flags = unix.O_RDWR
	}
	if c.path != 0 {
		empty := c.kind == posixtrace.FileExec || c.kind == posixtrace.FileLink || c.kind == posixtrace.FileChmod || c.kind == posixtrace.FileChown
		f.path, f.plain, f.known = t.pathAt(k, directory(c.dir, value(c.dir)), value(c.path), empty && f.flags&unix.AT_EMPTY_PATH != 0, inRoot)
	}
	if c.to != 0 && f.known {
		f.to, _, f.known = t.pathAt(k, directory(c.toDir, value(c.toDir)), value(c.to), false, false)
	}
	if c.text != 0 && f.known {
		var text []byte
		text, _, f.known = readString(k.tid, value(c.text), t.memory(pathMax))
		f.path = string(text)
	}
	if c.kind == posixtrace.FileOpen && c.path != 0 && !c.inDir && f.known && f.flags&unix.O_CREAT != 0 && f.flags&unix.O_PATH == 0 {
		f.absent = f.flags&unix.O_EXCL != 0 || t.absent(k, f.path)
	}
}

// directory returns the descriptor of the directory that a path is relative to.
func directory(a arg, value uint64) int {
	if a == 0 {
		return unix.AT_FDCWD
	}
	return int(int32(value))
}

// fileReturned records what a call has done.
func (t *tracer) fileReturned(k *task, info *syscallInfo) {
	args, c, f := &k.call.raw, fileCalls[k.call.nr], &k.file
	if !f.known {
		return
	}
	d := posixtrace.FileData{Kind: c.kind, Bytes: -1, Path: f.path, To: f.to, Perm: f.perm}
	if info.failed() {
		d.Err = syscall.Errno(-info.result())
		if restarts(int(d.Err)) {
			return
		}
	}
	if c.uid != 0 {
		d.UID, d.GID = int32(args[c.uid-1]), int32(args[c.gid-1])
	}
	switch c.kind {
	case posixtrace.FileOpen:
		d.Mode, d.Perm = f.modes(c)
	case posixtrace.FileExec:
		if d.Err == 0 {
			return // recorded when it was executed
		}
	case posixtrace.FileMap:
		d.Mode = posixtrace.FileWrite
		if args[2]&unix.PROT_READ != 0 {
			d.Mode |= posixtrace.FileRead
		}
	case posixtrace.FileTruncate:
		d.Mode = posixtrace.FileWrite
	case posixtrace.FileUnlink:
		if f.flags&unix.AT_REMOVEDIR != 0 {
			d.Kind = posixtrace.FileRmdir
		}
	}
	switch {
	case d.Err != 0:
		t.fileFailed(k, c, &d)
	case c.kind == posixtrace.FileOpen && !c.inDir:
		t.fileOpened(k, c, &d, int(info.result()))
	case c.fd != 0:
		t.fileOfDescriptor(k, &d, int(int32(args[c.fd-1])))
	default:
		t.fileChanged(k, c, &d)
	}
}

// modes returns how open(2) opens a file.
func (f *fileTask) modes(c *fileCall) (m posixtrace.FileMode, perm uint32) {
	if c.inDir { // mknod(2)
		if m = posixtrace.FileCreate; f.perm&unix.S_IFMT != 0 && f.perm&unix.S_IFMT != unix.S_IFREG {
			m |= posixtrace.FileSpecial
		}
		return m, f.perm
	}
	if f.flags&unix.O_PATH != 0 {
		return posixtrace.FileByPath, 0
	}
	switch f.flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		m = posixtrace.FileRead
	case unix.O_WRONLY:
		m = posixtrace.FileWrite
	case unix.O_RDWR:
		m = posixtrace.FileRead | posixtrace.FileWrite
	}
	if f.flags&unix.O_APPEND != 0 {
		m |= posixtrace.FileAppend
	}
	if f.flags&unix.O_TRUNC != 0 {
		m |= posixtrace.FileCut
	}
	if f.flags&unix.O_TMPFILE == unix.O_TMPFILE {
		m |= posixtrace.FileUnnamed
	}
	if f.absent {
		m |= posixtrace.FileCreate
		perm = f.perm
	}
	return m, perm
}

// fileFailed records a call that failed, or counts it if the file is missing.
func (t *tracer) fileFailed(k *task, c *fileCall, d *posixtrace.FileData) {
	switch {
	case d.Path == "": // a descriptor
		return
	case (d.Err == unix.ENOENT || d.Err == unix.ENOTDIR) && d.To == "":
		t.miss(k, d.Path, d.Err)
		return
	}
	d.Mode &^= posixtrace.FileCreate
	if t.isNew(k, d) {
		t.recordFile(k, d)
	}
}

// fileOpened records that a file was opened.
func (t *tracer) fileOpened(k *task, c *fileCall, d *posixtrace.FileData, fd int) {
	if c.result {
		d.Path = t.linkOf(k.tid, fd)
		if c.flags == 0 { // memfd_create(2)
			d.Mode |= posixtrace.FileCreate | posixtrace.FileUnnamed
		}
	}
	if d.Path == "" {
		return
	}
	if k.file.absent {
		t.changesName(k, d.Path)
	}
	if !t.isNew(k, d) {
		return
	}
	d.Canonical = t.linkOf(k.tid, fd)
	t.identify(d, procFD(k.tid, fd))
	t.recordFile(k, d)
	if d.Mode&posixtrace.FileWrite != 0 {
		t.writes(k, d)
	}
}

// fileOfDescriptor records what a call did with an open file.
func (t *tracer) fileOfDescriptor(k *task, d *posixtrace.FileData, fd int) {
	if d.Path = t.linkOf(k.tid, fd); d.Path == "" || d.Path[0] != '/' {
		return // a socket or a pipe
	}
	t.identify(d, procFD(k.tid, fd))
	if d.Inode == 0 || t.isNew(k, d) {
		t.recordFile(k, d)
	}
}

// fileChanged records what a call did with a path. A process may do this again and again: each time counts,
// as it says what the path names from then on.
func (t *tracer) fileChanged(k *task, c *fileCall, d *posixtrace.FileData) {
	switch {
	case d.Kind == posixtrace.FileLink:
		d.Canonical = t.linkSource(k, d)
		if strings.HasSuffix(d.Path, " (deleted)") || strings.HasSuffix(d.Canonical, " (deleted)") {
			d.Mode |= posixtrace.FileUnnamed
		}
	case c.inDir || d.Kind == posixtrace.FileChown && k.file.flags&unix.AT_SYMLINK_NOFOLLOW != 0:
		if !k.file.plain {
			d.Canonical = t.canonicalIn(k, d.Path)
		}
	case d.Kind != posixtrace.FileSymlink:
		t.lookUp(k, d, 0)
	}
	if d.Kind == posixtrace.FileChmod || d.Kind == posixtrace.FileChown || d.Kind == posixtrace.FileTruncate {
		if !t.isNew(k, d) {
			return
		}
	}
	other := false // paths in it name other files now
	if d.Kind == posixtrace.FileRename {
		to := posixtrace.FileData{Path: d.To}
		other = !t.lookUp(k, &to, unix.O_NOFOLLOW) || t.stat.Mode&unix.S_IFMT != unix.S_IFREG
		d.Device, d.Inode, d.Mode = to.Device, to.Inode, to.Mode
	}
	exchanged := d.Kind == posixtrace.FileRename && k.file.flags&unix.RENAME_EXCHANGE != 0
	path, to := d.Path, d.To
	t.recordFile(k, d)
	if exchanged {
		t.recordFile(k, &posixtrace.FileData{Kind: d.Kind, Bytes: -1, Path: to, To: path})
	}
	switch {
	case other || exchanged || d.Kind == posixtrace.FileSymlink:
		t.forgetSeen(t.useOf(k.pid))
		return
	case c.inDir && d.Kind != posixtrace.FileLink && d.Kind != posixtrace.FileChown:
		t.changesName(k, path)
	}
	if to != "" {
		t.changesName(k, to)
	}
}
