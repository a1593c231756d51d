package sys

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Map maps the first size bytes of f, shared with every other process that maps it. If the file is
// shorter, or is cut short later, the first access to the missing part replaces the whole mapping
// by private zeros, and its Guard reports that.
func Map(f *os.File, size int, write bool) ([]byte, error) {
	prot := unix.PROT_READ
	if write {
		prot |= unix.PROT_WRITE
	}
	var mem []byte
	err := retry(func() (err error) {
		mem, err = unix.Mmap(int(f.Fd()), 0, size, prot, unix.MAP_SHARED)
		return err
	})
	runtime.KeepAlive(f)
	if err != nil {
		return nil, fmt.Errorf("mmap %s: %w", f.Name(), err)
	}
	protect(mem)
	return mem, nil
}

// MapAnon returns size bytes of zeroed memory outside of the Go heap.
func MapAnon(size int) ([]byte, error) {
	var mem []byte
	err := retry(func() (err error) {
		mem, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	return mem, nil
}

// Unmap removes a mapping made by Map or MapAnon; nil is no mapping.
func Unmap(mem []byte) error {
	if mem == nil {
		return nil
	}
	unprotect(mem)
	return retry(func() error { return unix.Munmap(mem) })
}

// allocStep bounds one fallocate. On tmpfs a signal undoes the whole call; in steps a call that is
// interrupted again and again still makes progress.
const allocStep = 32 << 20

// Allocate allocates size bytes for f, so that a store to a mapping of it never meets a full file
// system. On a file system without fallocate it writes zeros from the end of the file up to size:
// the file is expected to be new.
func Allocate(f *os.File, size int64) error {
	// Refuse a size that cannot fit before fallocate has taken all free space for it.
	if free, ok := Free(f); ok && size > free {
		return fmt.Errorf("allocate %d bytes for %s: %w", size, f.Name(), unix.ENOSPC)
	}
	for off := int64(0); off < size; off += allocStep {
		n := min(size-off, allocStep)
		err := retry(func() error { return unix.Fallocate(int(f.Fd()), 0, off, n) })
		runtime.KeepAlive(f)
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // a sandbox may refuse it
			return fillZeros(f, size)
		}
		if err != nil {
			return fmt.Errorf("allocate %d bytes for %s: %w", size, f.Name(), err)
		}
	}
	return nil
}

// Punch frees the space of a part of f, which reads as zeros from then on. A mapping of it may
// still be read; a store to the mapping needs space again and ends the process if there is none.
func Punch(f *os.File, off, n int64) error {
	return onFile(f, func(fd uintptr) error {
		return unix.Fallocate(int(fd), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
}

// Free returns the free space of the file system of f, false if it is not known.
func Free(f *os.File) (bytes int64, ok bool) {
	var fs unix.Statfs_t
	err := retry(func() error { return unix.Fstatfs(int(f.Fd()), &fs) })
	runtime.KeepAlive(f)
	if err != nil || fs.Blocks == 0 || fs.Bsize <= 0 {
		return 0, false
	}
	if fs.Bavail > math.MaxInt64/uint64(fs.Bsize) {
		return math.MaxInt64, true
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}

func fillZeros(f *os.File, size int64) error {
	off, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var zero [64 << 10]byte
	for off < size {
		n, err := f.WriteAt(zero[:min(size-off, int64(len(zero)))], off)
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}
