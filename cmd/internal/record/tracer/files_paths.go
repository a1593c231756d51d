//go:build linux

package tracer

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A path of a process becomes one of the tracer by the links in /proc: of its directories, root directory and
// descriptors. The kernel reads them without a look at the file system. Other look-ups are made by openCached.

func procFD(tid, fd int) string { return "/proc/" + strconv.Itoa(tid) + "/fd/" + strconv.Itoa(fd) }

// linkText returns the text of a link.
func (t *tracer) linkText(name string) (string, error) {
	n, err := unix.Readlink(name, t.link[:])
	if err != nil {
		return "", err
	}
	return string(t.link[:n]), nil
}

// readLink returns the text of a link, "" if it cannot be read.
func (t *tracer) readLink(name string) string {
	text, _ := t.linkText(name)
	return text
}

// linkOf returns the path of a descriptor of a thread, or of its directory; "" if it is unknown.
func (t *tracer) linkOf(tid, fd int) string {
	if fd == unix.AT_FDCWD {
		return t.readLink(procfs.File(tid, "cwd"))
	}
	return t.readLink(procFD(tid, fd))
}

// rootOf returns the path of the root directory of a thread, "" if it is that of the tracer.
func (t *tracer) rootOf(tid int) string {
	if !t.files.moved {
		return ""
	}
	if root := t.readLink(procfs.File(tid, "root")); root != "/" {
		return root
	}
	return ""
}

// pathAt reads a path at an address of a process and makes it absolute. plain is set if it has no directory of its
// own. If empty is set, an empty path is that of the descriptor; if inRoot is, the directory is the root of the path. A path whose directory is unknown stays relative.
func (t *tracer) pathAt(k *task, dirfd int, addr uint64, empty, inRoot bool) (path string, plain, ok bool) {
	b, cut, ok := readString(k.tid, addr, t.memory(pathMax))
	if !ok || cut {
		return "", false, false
	}
	switch {
	case len(b) == 0 && empty:
		return t.linkOf(k.tid, dirfd), true, true
	case len(b) == 0:
		return "", false, false
	case b[0] == '/' && !inRoot:
		if rest, ok := strings.CutPrefix(string(b), "/proc/self/"); ok {
			b = []byte(procfs.File(k.pid, rest))
		}
		return joinPath(t.rootOf(k.tid), b), false, true
	}
	dir := t.linkOf(k.tid, dirfd)
	plain = true
	for i, c := range b {
		plain = plain && (c != '/' || i == len(b)-1)
	}
	if dir == "" {
		return string(b), plain, true
	}
	return joinPath(dir, b), plain && b[0] != '.', true
}

// joinPath returns a path in a directory, without empty names and ".", which change nothing. It leaves "..", which
// depends on symbolic links.
func joinPath(dir string, path []byte) string {
	if dir == "/" {
		dir = ""
	}
	b := make([]byte, len(dir), len(dir)+1+len(path))
	copy(b, dir)
	for len(path) > 0 {
		n := 0
		for n < len(path) && path[n] != '/' {
			n++
		}
		if name := path[:n]; len(name) > 0 && (len(name) > 1 || name[0] != '.') {
			b = append(append(b, '/'), name...)
		}
		path = path[min(n+1, len(path)):]
	}
	if len(b) == 0 {
		return "/"
	}
	return string(b)
}

// splitPath returns the directory of an absolute path, and the name in it; ok is false of "/", of ".." and of
// a relative path.
func splitPath(path string) (dir, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || path[i+1:] == "" || path[i+1:] == ".." {
		return "", "", false
	}
	if i == 0 {
		return "/", path[1:], true
	}
	return path[:i], path[i+1:], true
}

// resolveCached is RESOLVE_CACHED, which kernels before 5.12 refuse.
const resolveCached = 0x20

// openCached returns a descriptor of a file, only to name it, without waiting for a process that waits for the
// tracer: where one might serve a file system, only if the kernel knows the path by heart.
func (t *tracer) openCached(k *task, path string, flags int) (fd int, ok bool) {
	how := unix.OpenHow{Flags: uint64(unix.O_PATH | unix.O_CLOEXEC | flags), Resolve: resolveCached}
	root := t.rootOf(k.tid)
	at := unix.AT_FDCWD
	if t.files.moved {
		dir, err := unix.Open(procfs.File(k.tid, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, false
		}
		defer unix.Close(dir)
		at, how.Resolve = dir, how.Resolve|unix.RESOLVE_IN_ROOT
		if path = strings.TrimPrefix(path, root); path == "" {
			path = "/"
		}
	}
	fd, err := unix.Openat2(at, path, &how)
	if err == unix.EAGAIN && t.mayAsk() {
		how.Resolve = unix.RESOLVE_NO_MAGICLINKS
		fd, err = unix.Openat2(at, path, &how)
	}
	return fd, err == nil
}

// mayAsk reports whether no file system can wait for a traced process: none that a process or another machine
// serves was mounted when the tracer first asked, and no traced process has mounted one since.
func (t *tracer) mayAsk() bool {
	if t.files.mounts == mountsUnknown {
		t.files.mounts = mountsLocal
		list := procfs.Mounts(os.Getpid())
		// autofs(5) asks its daemon only below places of its own, and systemd has one on most machines.
		waits := func(m procfs.Mount) bool { return m.Served() && m.Kind != "autofs" }
		if len(list) == 0 || slices.ContainsFunc(list, waits) {
			t.files.mounts = mountsServed
		}
	}
	return t.files.mounts == mountsLocal && !t.files.moved
}

// mounts says what file systems there are.
type mounts uint8

const (
	mountsUnknown mounts = iota
	mountsLocal
	mountsServed
)

// linkOfOwn returns the path of a descriptor of the tracer.
func (t *tracer) linkOfOwn(fd int) string { return t.readLink("/proc/self/fd/" + strconv.Itoa(fd)) }

// canonicalIn returns the path of a name in a directory, without symbolic links in that of the directory; "" if
// that is unknown.
func (t *tracer) canonicalIn(k *task, path string) string {
	dir, name, ok := splitPath(path)
	if !ok {
		return ""
	}
	fd, ok := t.openCached(k, dir, unix.O_DIRECTORY)
	if !ok {
		return ""
	}
	defer unix.Close(fd)
	if dir = t.linkOfOwn(fd); dir == "" {
		return ""
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// lookUp finds what a path names. flags: 0, or O_NOFOLLOW for a symbolic link itself.
func (t *tracer) lookUp(k *task, d *posixtrace.FileData, flags int) bool {
	if d.Path == "" || d.Path[0] != '/' {
		return false
	}
	fd, ok := t.openCached(k, d.Path, flags)
	if !ok {
		return false
	}
	defer unix.Close(fd)
	d.Canonical = t.linkOfOwn(fd)
	t.identify(d, "/proc/self/fd/"+strconv.Itoa(fd))
	return true
}

// linkSource returns the canonical path of the file that got another name: that of a descriptor, if the
// process named the file by a link in /proc.
func (t *tracer) linkSource(k *task, d *posixtrace.FileData) string {
	if fd, ok := strings.CutPrefix(d.Path, procfs.File(k.pid, "fd/")); ok && k.file.flags&unix.AT_SYMLINK_FOLLOW != 0 {
		n, err := strconv.Atoi(fd)
		if err != nil {
			return ""
		}
		t.identify(d, procFD(k.tid, n))
		return t.linkOf(k.tid, n)
	}
	if k.file.plain {
		return ""
	}
	return t.canonicalIn(k, d.Path)
}

// identify finds the inode of a file by a link in /proc, as far as the kernel knows it without asking the
// file system.
func (t *tracer) identify(d *posixtrace.FileData, link string) {
	st := &t.stat
	if unix.Statx(unix.AT_FDCWD, link, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, st) != nil {
		return
	}
	d.Device, d.Inode = unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		d.Mode |= posixtrace.FileDirectory
	case unix.S_IFIFO, unix.S_IFCHR, unix.S_IFBLK, unix.S_IFSOCK:
		d.Mode |= posixtrace.FileSpecial
	}
}

// served are the types of file systems that a process or another machine may serve.
var served = map[int64]bool{
	unix.FUSE_SUPER_MAGIC: true, unix.NFS_SUPER_MAGIC: true, unix.SMB_SUPER_MAGIC: true, unix.SMB2_SUPER_MAGIC: true, unix.CIFS_SUPER_MAGIC: true,
	unix.V9FS_MAGIC: true, unix.CEPH_SUPER_MAGIC: true, unix.AFS_SUPER_MAGIC: true, unix.AFS_FS_MAGIC: true, unix.CODA_SUPER_MAGIC: true, unix.AUTOFS_SUPER_MAGIC: true,
}

// absent reports whether a directory has no file of a name, if it is one that can be asked.
func (t *tracer) absent(k *task, path string) bool {
	dir, name, ok := splitPath(path)
	if !ok {
		return false
	}
	fd, ok := t.openCached(k, dir, unix.O_DIRECTORY)
	if !ok {
		return false
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || served[int64(fs.Type)] {
		return false
	}
	return unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &t.stat) == unix.ENOENT
}
