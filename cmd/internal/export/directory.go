package export

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/logfile"
)

// writeDirectory makes a directory that appears under its name when write has filled it. It refuses a
// name that exists, unless that is an empty directory.
func writeDirectory(path string, write func(dir string) error) error {
	switch path {
	case "":
		return cli.Failure("''", syscall.ENOENT)
	case "-":
		return cli.Failf("the format is a directory, not for standard output")
	}
	path = filepath.Clean(path)
	if list, err := os.ReadDir(path); err == nil && len(list) > 0 {
		return cli.Failure(path, syscall.ENOTEMPTY)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.Failure(path, logfile.Bare(err))
	}
	temp, err := makeBeside(path)
	if err != nil {
		return cli.Failure(path, logfile.Bare(err))
	}
	err = write(temp)
	if err == nil {
		if e := os.Rename(temp, path); e != nil {
			err = cli.Failure(path, errors.Unwrap(e))
		}
	}
	if err != nil {
		os.RemoveAll(temp)
	}
	return err
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
