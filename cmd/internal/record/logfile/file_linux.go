package logfile

import (
	"golang.org/x/sys/unix"
)

// openFlags keep an open from waiting, and from making a terminal ours.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

func mayWrite(path string) error { return unix.Access(path, unix.W_OK) }

// MayCreateIn reports why files cannot be created in a directory, or nil.
func MayCreateIn(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
