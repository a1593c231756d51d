package posixtrace

import (
	"encoding/binary"
	"math"
	"syscall"
)

// FileKind is what a process did with a file.
type FileKind uint8

// The kinds of EventFileAccess.
const (
	FileOpen     FileKind = iota + 1 // opened; or created by mknod(2), with FileCreate alone
	FileMap                          // mapped so that writing to memory writes to the file
	FileExec                         // executed
	FileTruncate                     // by truncate(2) or ftruncate(2); FileCut is of an open
	FileMkdir
	FileRmdir
	FileUnlink
	FileRename
	FileLink
	FileSymlink
	FileChmod
	FileChown
	FileClose   // a file that was open for writing is so no longer
	FileMissing // there was no such file; without a path: files for which the tracer had no room
)

var fileKinds = [...]string{"", "open", "map", "exec", "truncate", "mkdir", "rmdir", "unlink", "rename", "link", "symlink", "chmod", "chown", "close", "missing"}

// String returns "open", "map", "exec", "truncate", "mkdir", "rmdir", "unlink", "rename", "link",
// "symlink", "chmod", "chown", "close", "missing" or "unknown".
func (k FileKind) String() string {
	if k == 0 {
		return "unknown"
	}
	return wordOf(fileKinds[:], uint8(k))
}

// FileMode is how a process used a file: bits.
type FileMode uint16

// The modes of EventFileAccess.
const (
	FileRead        FileMode = 1 << iota
	FileWrite                // FileAppend is set as well if that is how
	FileAppend               //
	FileCreate               // the file was not there before
	FileCut                  // it was truncated when it was opened (O_TRUNC)
	FileDirectory            //
	FileByPath               // only the path was looked up (O_PATH)
	FileUnnamed              // the file has no name (O_TMPFILE, memfd_create(2))
	FileInterpreter          // of FileExec: the interpreter of a script or of a program: the dynamic linker
	FileSpecial              // a named pipe, a device or a socket
)

var fileModes = [...]string{"read", "write", "append", "create", "cut", "directory", "path", "unnamed", "interpreter", "special"}

// Words returns the names of the modes: "read", "write", "append", "create", "cut", "directory", "path",
// "unnamed", "interpreter" and "special".
func (m FileMode) Words() (words []string) {
	for i, word := range fileModes {
		if m&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}

// FileData is the data of EventFileAccess: a process has used a file. A tracer records one event for each
// process, path and kind with its modes, and each that changes what a path names. Events of FileMissing and
// FileClose come when the process has ended. Extension.
type FileData struct {
	Kind FileKind
	Mode FileMode
	Err  syscall.Errno // why it failed, or 0; of FileMissing ENOENT or ENOTDIR

	Device, Inode uint64 // of the file; 0 if unknown
	Bytes         int64  // of FileClose: written to the file since it was opened; -1 if unknown
	Count         int64  // of FileMissing: how often, else 0
	Perm          uint32 // of FileChmod, FileMkdir and FileCreate: the mode bits
	UID, GID      int32  // of FileChown: -1 if unchanged

	// Path is the path by which the process named the file, made absolute in the root directory of the
	// tracer. Of FileSymlink it is the text of the link.
	Path string
	// Canonical is the path without symbolic links, "" if it is Path or unknown.
	Canonical string
	// To is the new name, of FileRename, FileLink and FileSymlink.
	To string
}

const (
	fileDataSize = 4*8 + 4*4 + 2 + 1 + 1

	maxFilePath = 1<<16 - 1
)

// Append appends the encoded form. The paths follow the numbers in the order Path, To, Canonical: a stream
// that truncates data loses the canonical path first, the new name next.
func (d *FileData) Append(b []byte) []byte {
	le := binary.LittleEndian
	for _, v := range [...]uint64{d.Device, d.Inode, uint64(max(d.Bytes, -1)), uint64(max(d.Count, 0))} {
		b = le.AppendUint64(b, v)
	}
	for _, v := range [...]uint32{uint32(d.Err), d.Perm, uint32(d.UID), uint32(d.GID)} {
		b = le.AppendUint32(b, v)
	}
	b = append(le.AppendUint16(b, uint16(d.Mode)), byte(d.Kind), 0)
	for _, s := range [...]string{d.Path, d.To, d.Canonical} {
		s = s[:min(len(s), maxFilePath)]
		b = append(le.AppendUint16(b, uint16(len(s))), s...)
	}
	return b
}

// DecodeFile decodes the data of EventFileAccess. If the record was truncated, the last path may be
// incomplete, and what follows it is lacking: first the canonical path, then To, then Path.
// Errors: EINVAL malformed data.
func DecodeFile(data []byte) (d FileData, err error) {
	if len(data) < fileDataSize {
		return d, einval("DecodeFile", "file.access data of %d bytes", len(data))
	}
	le := binary.LittleEndian
	d.Device, d.Inode = le.Uint64(data), le.Uint64(data[8:])
	d.Bytes, d.Count = max(int64(le.Uint64(data[16:])), -1), int64(min(le.Uint64(data[24:]), math.MaxInt64))
	d.Err, d.Perm = syscall.Errno(le.Uint32(data[32:])), le.Uint32(data[36:])
	d.UID, d.GID = int32(le.Uint32(data[40:])), int32(le.Uint32(data[44:]))
	d.Mode, d.Kind = FileMode(le.Uint16(data[48:])), FileKind(data[50])
	data = data[fileDataSize:]
	for _, to := range [...]*string{&d.Path, &d.To, &d.Canonical} {
		if len(data) < 2 {
			break
		}
		n := min(int(le.Uint16(data)), len(data)-2)
		*to, data = string(data[2:2+n]), data[2+n:]
	}
	return d, nil
}

// ReplaceFilePaths replaces the paths in the data of EventFileAccess by what path returns for them, and
// returns data itself if it is malformed or no path changes.
func ReplaceFilePaths(data []byte, path func(string) string) []byte {
	d, err := DecodeFile(data)
	if err != nil {
		return data
	}
	changed := false
	for _, p := range [...]*string{&d.Path, &d.To, &d.Canonical} {
		if *p == "" {
			continue
		}
		if s := path(*p); s != *p {
			*p, changed = s, true
		}
	}
	if !changed {
		return data
	}
	return d.Append(nil)
}
