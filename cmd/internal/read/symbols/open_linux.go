package symbols

import (
	"io/fs"
	"syscall"
	"time"
)

const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// changed returns when the content or a name of a file last changed.
func changed(fi fs.FileInfo) time.Time {
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return fi.ModTime()
}
