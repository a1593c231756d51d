package export

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/logfile"
)

// writeDirectory makes a directory that appears under its name when write has filled it. A directory
// that exists must be empty. It keeps its owner and its mode: write fills another one inside, whose
// files are moved out, the file last without which no reader takes the rest for a trace.
func writeDirectory(path, last string, write func(dir string) error) error {
	fault := func(err error) error { return cli.Failure(path, logfile.Bare(err)) }
	list, err := os.ReadDir(path)
	exists := err == nil
	switch {
	case len(list) > 0:
		return cli.WithHint(fault(syscall.ENOTEMPTY), "remove it, or name another directory")
	case exists:
	case !errors.Is(err, fs.ErrNotExist):
		return fault(err)
	default:
		if _, err := os.Lstat(path); err == nil { // a link to nothing
			return fault(syscall.EEXIST)
		}
		path = filepath.Clean(path)
	}
	beside := path
	if exists {
		beside = path + "/export"
	}
	temp, err := makeBeside(beside)
	if err != nil {
		return fault(err)
	}
	defer os.RemoveAll(temp) // nothing is left of it after success
	if err := write(temp); err != nil {
		return err
	}
	if exists {
		return fault(moveOut(temp, path, last))
	}
	if err := os.Rename(temp, path); err != nil {
		return fault(errors.Unwrap(err))
	}
	return nil
}

// makeBeside makes a directory in the directory of path.
func makeBeside(path string) (string, error) {
	dir, base := filepath.Split(path)
	base = base[:min(len(base), 200)] // a name has at most 255 bytes
	for n := 0; ; n++ {
		name := dir + "." + base + "." + strconv.Itoa(os.Getpid()) + "." + strconv.Itoa(n)
		err := os.Mkdir(name, 0o777)
		if !errors.Is(err, fs.ErrExist) || n == 100 {
			return name, err
		}
	}
}

// moveOut moves what is in a directory to another one, or nothing.
func moveOut(from, to, last string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	slices.SortStableFunc(list, func(a, b fs.DirEntry) int {
		return strings.Compare(lastKey(a, last), lastKey(b, last))
	})
	for i, e := range list {
		// link(2) would refuse a file that exists, but not all file systems have it.
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			for _, e := range list[:i] {
				os.RemoveAll(filepath.Join(to, e.Name()))
			}
			return errors.Unwrap(err)
		}
	}
	return nil
}

// lastKey sorts one name behind the others.
func lastKey(e fs.DirEntry, last string) string {
	if e.Name() == last {
		return "1"
	}
	return "0"
}

// emptyDirectory removes what is in a directory.
func emptyDirectory(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o777)
}
