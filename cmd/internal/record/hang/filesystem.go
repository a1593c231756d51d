//go:build linux

package hang

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A file system that does not answer is found by what the kernel knows of it: nothing here asks it.

// mounted returns the mount that the call of the thread is about: that of the path among its arguments, or of
// the descriptor.
func (t *thread) mounted() (m procfs.Mount, ok bool) {
	list := procfs.Mounts(t.PID)
	path := t.path
	if path == "" {
		if !t.onFile {
			return m, false
		}
		id := descriptor{t.PID, int(int32(t.args[0]))}.info("mnt_id")
		for _, m := range list {
			if m.ID == id {
				return m, true
			}
		}
		return m, false
	}
	return procfs.MountOf(list, path)
}

// describesFile reports whether the first argument of a call is a descriptor.
func describesFile(list []posixtrace.SyscallArg) bool {
	return len(list) > 0 && len(list[0].Value) > 0 && list[0].Value[0] >= '0' && list[0].Value[0] <= '9' && bytes.IndexByte(list[0].Value, '<') > 0
}

// pathOf returns the absolute path among the arguments of a call, "" if it has none that is known.
func (t *thread) pathOf(list []posixtrace.SyscallArg) string {
	if len(list) > 1 && bytes.HasPrefix(list[0].Value, []byte("AT_FDCWD")) {
		list = list[1:]
	}
	if len(list) == 0 || !list[0].String {
		return ""
	}
	path := string(list[0].Value)
	if filepath.IsAbs(path) {
		return path
	}
	if dir := readlink(procfs.File(t.PID, "cwd")); dir != "" {
		return filepath.Join(dir, path)
	}
	return ""
}

// asksServer reports whether the thread waits for the process that serves a file system in user space. The
// server itself waits for requests in another function.
func (t *thread) asksServer() bool {
	return strings.HasPrefix(t.Wait, "request_wait_answer") || strings.HasPrefix(t.Wait, "fuse_") && !strings.HasPrefix(t.Wait, "fuse_dev_")
}

// answer is a wait for the process that serves a file system in user space.
func (t *thread) answer() end {
	e := end{text: "an answer of a file system in user space (FUSE)", unseen: true}
	m, ok := t.mounted()
	if ok = ok && strings.HasPrefix(m.Kind, "fuse"); ok {
		e.text = "an answer of the file system " + m.String()
		_, connection, _ := strings.Cut(m.Device, ":")
		e.holders(t.w, "/dev/fuse", 0, "fuse_connection", connection)
	}
	switch {
	case len(e.on) > 0:
	case ok: // an older kernel does not say which connection a descriptor is for
		e.holders(t.w, "/dev/fuse", 0, "fuse_connection", "")
	default:
		e.holders(t.w, "/dev/fuse", 0, "", "")
	}
	if e.known = len(e.on) == 0; !e.known {
		e.text += ", from"
	}
	return e
}
