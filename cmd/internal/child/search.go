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

// Search looks for the program of argv as execvp(3) does, and calls start for each
// candidate until one call succeeds. The error carries the exit status.
func Search(argv []string, start func(path string, args []string) error) error {
	var last error = syscall.ENOENT
	name := argv[0]
	if name == "" {
		name = "''"
	}
	for _, path := range candidates(argv[0]) {
		if err := executable(path); err != nil {
			last = worse(last, err)
			continue
		}
		err := start(path, argv)
		if err == syscall.ENOEXEC {
			// A program in no format known to the kernel is a shell script.
			err = start("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...))
		}
		switch err {
		case nil:
			return nil
		case syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES:
			last = worse(last, err)
			continue
		case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
			return cli.WithStatus(cli.Failure(name, err), StatusOwn)
		}
		return cli.WithStatus(cli.Failure(name, err), StatusNotExecutable)
	}
	status := StatusNotExecutable
	if last == syscall.ENOENT {
		status = StatusNotFound
	}
	return cli.WithStatus(cli.Failure(name, last), status)
}

// worse returns the more specific error: some file was found.
func worse(old, new error) error {
	switch {
	case new == syscall.ENOTDIR:
		return old
	case old == syscall.ENOENT:
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
	return slices.ContainsFunc(candidates(name), func(path string) bool { return executable(path) == nil })
}

// executable returns why path cannot be executed, as far as can be known without a fork.
func executable(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return syscall.EACCES
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}
