package child

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// shellPath is the program that executes a program in no format known to the kernel: a shell script.
const shellPath = "/bin/sh"

// scriptArgv returns the arguments of the shell that executes the script path.
func scriptArgv(path string, argv []string) []string {
	return append([]string{shellPath, path}, argv[1:]...)
}

// Search looks for the program of argv as execvp(3) does, and calls exec for each candidate
// until one call does not return. The error carries the exit status.
func Search(argv []string, exec func(path string, args []string) error) error {
	last := syscall.ENOENT
	for _, path := range candidates(argv[0]) {
		if no := executable(path); no != 0 {
			last = worse(last, no)
			continue
		}
		err := exec(path, argv)
		if err == syscall.ENOEXEC {
			err = exec(shellPath, scriptArgv(path, argv))
		}
		no, ok := err.(syscall.Errno)
		if !ok || !tryNext(no) {
			return unexecuted(argv[0], err)
		}
		last = worse(last, no)
	}
	return unexecuted(argv[0], last)
}

// unexecuted returns the fault that the program of a name could not be executed. It carries the exit
// status.
func unexecuted(name string, err error) error {
	if name == "" {
		name = "''"
	}
	status := StatusNotExecutable
	switch err {
	case syscall.ENOENT:
		status = StatusNotFound
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		status = StatusOwn
	}
	return cli.WithStatus(cli.Failure(name, err), status)
}

// tryNext reports whether the next candidate is to be tried after a failure to execute one.
//
//go:nosplit
//go:norace
func tryNext(err syscall.Errno) bool {
	return err == syscall.ENOENT || err == syscall.ENOTDIR || err == syscall.EACCES
}

// worse returns the more specific error: some file was found.
//
//go:nosplit
//go:norace
func worse(old, new syscall.Errno) syscall.Errno {
	if old == syscall.ENOENT && new != syscall.ENOTDIR {
		return new
	}
	return old
}

// candidates returns the paths that name may refer to.
func candidates(name string) (paths []string) {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	if name == "" {
		return nil
	}
	path, ok := os.LookupEnv("PATH")
	if !ok {
		path = "/bin:/usr/bin" // confstr(_CS_PATH)
	}
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		if !strings.HasSuffix(dir, "/") {
			dir += "/"
		}
		paths = append(paths, dir+name)
	}
	if path == "" {
		paths = []string{"./" + name}
	}
	return paths
}

// IsCommand reports whether name refers to an executable program.
func IsCommand(name string) bool {
	return slices.ContainsFunc(candidates(name), func(path string) bool { return executable(path) == 0 })
}

// executable returns why path cannot be executed, as far as can be known without a fork, or 0.
func executable(path string) syscall.Errno {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		return syscall.EACCES
	}
	if err == nil {
		err = unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
	}
	no, _ := err.(syscall.Errno)
	return no
}
