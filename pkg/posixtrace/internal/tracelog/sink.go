package tracelog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"syscall"
)

// sink is the file or pipe that a Writer writes its blocks to.
//
// put writes a block at off. If it fails, nothing that counts has been written and the same put may
// be tried again, unless the sink is broken: then every put fails with the same error.
type sink interface {
	put(off int64, head, payload []byte) error
	truncate(size int64) error
	reserve(size int64) error
	preallocate(end int64) error
	sync() error
	seekable() bool // put goes anywhere, truncate works
}

// file is the part of *os.File that the sinks need.
type file interface {
	io.Writer
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// Suits reports whether a log of this policy can be created in f.
func Suits(f *os.File, p Policy) error {
	_, err := newSink(f, p)
	return err
}

// newSink returns the sink for f by its type and flags. A file type that does not suit the policy
// is EINVAL (CRE-21, CRE-22).
func newSink(f *os.File, p Policy) (sink, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	switch m := fi.Mode(); {
	case m.IsRegular() && hasType(fi):
		flags, err := openFlags(f)
		if err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		if flags&syscall.O_APPEND == 0 {
			return &positionalSink{f: f, raw: f, end: fi.Size()}, nil
		}
		if p != Append {
			return nil, fmt.Errorf("log is open in append mode, which does not suit policy %v: %w", p, syscall.EINVAL)
		}
		return &appendSink{f: f}, nil
	case m&(os.ModeNamedPipe|os.ModeSocket|os.ModeCharDevice) != 0:
		if p != Append {
			return nil, fmt.Errorf("log is not a regular file, which policy %v needs: %w", p, syscall.EINVAL)
		}
		return &pipeSink{f: f}, nil
	default:
		return nil, fmt.Errorf("log is not a kind of file that can hold one: %w", syscall.EINVAL)
	}
}

// small is the size up to which a block is written by one call from a copy; larger payloads are
// written from where they are.
const small = 4096

// positionalSink writes blocks at their offset: the payload first and the header last, so that a
// partial block of a dying process has no valid header. Blocks behind the end of the file need no
// such care (queue.go).
type positionalSink struct {
	f      file
	raw    *os.File // for reserve; nil in tests
	old    bool     // the file has contents that the superblock replaces
	end    int64    // the file has nothing from here on
	kept   int64    // the file has space up to here
	buf    []byte
	broken error
}

func (s *positionalSink) put(off int64, head, payload []byte) error {
	if s.broken != nil {
		return s.broken
	}
	s.end = max(s.end, off+int64(len(head)+len(payload)))
	if len(head)+len(payload) <= small {
		s.buf = append(append(s.buf[:0], head...), payload...)
		_, err := s.f.WriteAt(s.buf, off)
		return err
	}
	if len(payload) > 0 {
		if _, err := s.f.WriteAt(payload, off+int64(len(head))); err != nil {
			return err
		}
	}
	_, err := s.f.WriteAt(head, off)
	return err
}

func (s *positionalSink) extends(off int64) bool { return s.broken == nil && off >= s.end }

func (s *positionalSink) extend(off int64, blocks []byte) error {
	if s.broken != nil {
		return s.broken
	}
	n, err := s.f.WriteAt(blocks, off)
	s.end = off + int64(n)
	if err != nil {
		s.broken = s.erase(off, blocks[:n], err)
	}
	return err
}

// erase overwrites the headers of blocks, the last of which may be cut, after a write that failed with
// err. The file keeps their space: if the disk is full, that of one of them is all there is for the
// seal. The last header goes first, so that the log ends within a block if this process is killed.
func (s *positionalSink) erase(off int64, blocks []byte, err error) error {
	var heads []int
	for at := 0; at < len(blocks); {
		heads = append(heads, at)
		if len(blocks)-at < headerSize {
			break
		}
		at += headerSize + int(le.Uint32(blocks[at+4:]))
	}
	var failed error
	for _, at := range slices.Backward(heads) {
		zeros := make([]byte, min(headerSize, len(blocks)-at))
		if _, e := s.f.WriteAt(zeros, off+int64(at)); e != nil {
			failed = fmt.Errorf("%w (and erasing what was written failed: %v)", err, e)
		}
	}
	return failed
}

func (s *positionalSink) truncate(size int64) error {
	err := s.f.Truncate(size)
	if err == nil {
		s.end, s.kept = size, 0
	}
	return err
}

// replace writes super before it truncates the file. Where there is no room for that, as in a file
// system that never overwrites, it truncates first.
func (s *positionalSink) replace(super []byte) error {
	s.old = false
	if err := s.put(0, super, nil); err != nil {
		return s.truncate(0)
	}
	return s.truncate(int64(len(super)))
}

func (s *positionalSink) sync() error    { return s.f.Sync() }
func (s *positionalSink) seekable() bool { return true }

// reserve allocates space if the file system can. Only a lack of space is an error; the length of
// the file does not change.
func (s *positionalSink) reserve(size int64) error {
	if s.raw == nil {
		return nil
	}
	length, err := allocateAll(s.raw, size)
	if err == nil {
		s.kept = max(s.kept, size)
	} else if errors.Is(err, syscall.ENOSPC) {
		s.f.Truncate(length) // frees the space behind the end
		return fmt.Errorf("reserve %d bytes: %w", size, err)
	}
	return nil
}

// preallocate allocates space up to end if the file system can, beyond the length of the file. Only a lack of
// space is an error.
func (s *positionalSink) preallocate(end int64) error {
	from := max(s.kept, s.end)
	if s.raw == nil || end <= from {
		return nil
	}
	const block = 4096 // no file system allocates less
	end = (end + block - 1) &^ (block - 1)
	switch err := allocate(s.raw, from, end); err {
	case nil:
		s.kept = end
	case syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG:
		return fmt.Errorf("allocate space up to %d: %w", end, err)
	default:
		s.kept = math.MaxInt64 // a file system that cannot
	}
	return nil
}

// appendSink writes to a regular file in append mode. It cuts off what a failed write has left.
type appendSink struct {
	f      file
	broken error
}

func (s *appendSink) put(off int64, head, payload []byte) error {
	if s.broken != nil {
		return s.broken
	}
	err := writeAll(s.f, head, payload)
	if err != nil {
		s.broken = cutOff(s.f, off, err)
	}
	return err
}

// cutOff removes what a write that failed with err has left in a file from off on. It returns an error
// if it cannot.
func cutOff(f file, off int64, err error) error {
	if cut := f.Truncate(off); cut != nil {
		return fmt.Errorf("%w (and cutting off what was written failed: %v)", err, cut)
	}
	return nil
}

func (s *appendSink) extends(int64) bool { return s.broken == nil }

func (s *appendSink) extend(off int64, blocks []byte) error {
	if s.broken != nil {
		return s.broken
	}
	_, err := s.f.Write(blocks)
	if err != nil {
		s.broken = cutOff(s.f, off, err)
	}
	return err
}

func (s *appendSink) truncate(size int64) error { return s.f.Truncate(size) }
func (s *appendSink) reserve(int64) error       { return nil }
func (s *appendSink) preallocate(int64) error   { return nil }
func (s *appendSink) sync() error               { return s.f.Sync() }
func (s *appendSink) seekable() bool            { return true }

// pipeSink writes to a pipe, a terminal or the like. After a part of a block was written it is
// broken.
type pipeSink struct {
	f      io.Writer
	broken error
	before func() // called before each write, if not nil
}

// piece is the size of a write where each one is reported.
const piece = 16 << 10

func (s *pipeSink) write(b []byte) (n int, err error) {
	if s.before == nil {
		return s.f.Write(b)
	}
	for len(b) > 0 && err == nil {
		s.before()
		var m int
		m, err = s.f.Write(b[:min(len(b), piece)])
		n, b = n+m, b[m:]
	}
	return n, err
}

func (s *pipeSink) put(_ int64, head, payload []byte) error {
	if s.broken != nil {
		return s.broken
	}
	n, err := s.write(together(head, payload))
	if err == nil && len(head)+len(payload) > small {
		var m int
		m, err = s.write(payload)
		n += m
	}
	late := errors.Is(err, os.ErrDeadlineExceeded)
	if late {
		err = fmt.Errorf("%w: %w", err, syscall.ETIMEDOUT)
	}
	if err != nil && (n > 0 || late) {
		s.broken = err
	}
	return err
}

func (s *pipeSink) truncate(int64) error    { return nil }
func (s *pipeSink) reserve(int64) error     { return nil }
func (s *pipeSink) preallocate(int64) error { return nil }
func (s *pipeSink) sync() error             { return nil }
func (s *pipeSink) seekable() bool          { return false }

// together returns head and payload as one if they are small, else head.
func together(head, payload []byte) []byte {
	if len(head)+len(payload) > small {
		return head
	}
	return append(append(make([]byte, 0, len(head)+len(payload)), head...), payload...)
}

func writeAll(w io.Writer, head, payload []byte) error {
	if _, err := w.Write(together(head, payload)); err != nil {
		return err
	}
	if len(head)+len(payload) > small {
		_, err := w.Write(payload)
		return err
	}
	return nil
}
