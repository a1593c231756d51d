package sys

import (
	"fmt"
	"os"
	"syscall"
)

// DupForReading duplicates the handle of f. Reading finds out whether f is open for reading.
func DupForReading(f *os.File) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, syscall.EBADF)
	}
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return nil, err
	}
	var dup syscall.Handle
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = syscall.DuplicateHandle(self, syscall.Handle(fd), self, &dup, 0, false, syscall.DUPLICATE_SAME_ACCESS)
	})
	if err != nil { // f is closed
		return nil, fmt.Errorf("%w: %w", err, syscall.EBADF)
	}
	if failed != nil {
		return nil, failed
	}
	return os.NewFile(uintptr(dup), f.Name()), nil
}

// DupForWriting fails.
func DupForWriting(*os.File) (*os.File, error) { return nil, errElsewhere }
