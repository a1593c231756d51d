package sys

import (
	"io/fs"
	"time"
)

// The types of files in FileStat.Mode, as in st_mode of Linux.
const (
	typeMask    = 0o170000
	typeDir     = 0o040000
	typeRegular = 0o100000
	typeLink    = 0o120000
)

// FileStat is the part of a file's status that this package needs.
type FileStat struct {
	Mode  uint32 // type and permissions, as in st_mode
	UID   uint32
	Nlink uint64
	Size  int64
	Ino   uint64
	Dev   uint64
	Mtime time.Time
}

// Regular reports whether it is a regular file.
func (s *FileStat) Regular() bool { return s.Mode&typeMask == typeRegular }

// IsDir reports whether it is a directory.
func (s *FileStat) IsDir() bool { return s.Mode&typeMask == typeDir }

// Symlink reports whether it is a symbolic link.
func (s *FileStat) Symlink() bool { return s.Mode&typeMask == typeLink }

// Perm returns the permission bits.
func (s *FileStat) Perm() fs.FileMode { return fs.FileMode(s.Mode & 0o777) }
