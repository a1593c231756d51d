package spool

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// patternsName is the file with the patterns of --redact, for each process that records in the stream.
const patternsName = "redact"

// Rewrite replaces the secrets in a text. cut: the text is only the beginning of one.
type Rewrite func(text []byte, cut bool) []byte

// Rewriter returns the function that replaces secrets in the lines of the spool of the stream at this
// path, and one to call behind the last line; nil if there is nothing to replace. A command that
// drains spools sets it. Package plain, which does not, has no use for the expressions.
var Rewriter func(stream string) (rewrite Rewrite, end func())

// WritePatterns keeps the patterns of a stream that has a spool. Only its user can read them.
func WritePatterns(stream string, text []byte) error {
	d, err := open(stream)
	if err != nil {
		return err
	}
	defer d.close()
	f, err := d.create(patternsName, os.O_WRONLY)
	if err == nil {
		_, err = f.Write(text)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	return err
}

// maxPatterns bounds the file of the patterns.
const maxPatterns = 8 << 20

// ReadPatterns returns the open file with the patterns of a stream and what it has. If the stream has
// none, the error is fs.ErrNotExist.
func ReadPatterns(stream string) (*os.File, []byte, error) {
	d, err := open(stream)
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	f, _, err := d.file(patternsName, os.O_RDWR)
	if err != nil {
		return nil, nil, err
	}
	text, err := readMapped(f)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, text, nil
}

// readMapped returns what a file has. A system call that read it would show the patterns in the log of a
// tracer.
func readMapped(f *os.File) (text []byte, err error) {
	fi, err := f.Stat()
	if err != nil || fi.Size() == 0 {
		return nil, err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(min(fi.Size(), maxPatterns)), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return io.ReadAll(io.LimitReader(f, maxPatterns)) // as on some file systems
	}
	defer unix.Munmap(m)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // another process may truncate the file
	defer func() {
		if recover() != nil {
			err = unix.EIO
		}
	}()
	return bytes.Clone(m), nil
}

// HasPatterns reports whether a stream has, or may have, patterns.
func HasPatterns(stream string) bool {
	name, sealed := tool.SpoolDir(stream)
	for _, dir := range []string{name, sealed} {
		if dir != "" && unix.Faccessat(unix.AT_FDCWD, filepath.Join(dir, patternsName), unix.F_OK, unix.AT_SYMLINK_NOFOLLOW) != unix.ENOENT {
			return true
		}
	}
	return false
}
