package cli

import (
	"os"
	"syscall"
)

// The runtime opens filesOfRuntime descriptors of its own when a program opens its first file or
// pipe, and ends the program with a traceback if it cannot.
const (
	filesOfRuntime = 2
	filesOfPipe    = 2
	manyFiles      = 32 // with so many left, none of this matters
)

// prepareFiles makes the runtime open its descriptors, or returns why it could not, if few
// descriptors are left.
func prepareFiles() error {
	var lim syscall.Rlimit
	first, err := openRoot()
	if err != nil {
		return err
	}
	opened := []int{first}
	defer func() {
		for _, fd := range opened {
			syscall.Close(fd)
		}
	}()
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil || uint64(first)+manyFiles < lim.Cur {
		return nil
	}
	for len(opened) < filesOfRuntime+filesOfPipe {
		fd, err := openRoot()
		if err != nil {
			return err
		}
		opened = append(opened, fd)
	}
	for _, fd := range opened {
		syscall.Close(fd)
	}
	opened = nil
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	r.Close()
	w.Close()
	return nil
}

// openRoot opens a file that every process has.
func openRoot() (fd int, err error) {
	fd, err = syscall.Open("/", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	return fd, os.NewSyscallError("open", err)
}
