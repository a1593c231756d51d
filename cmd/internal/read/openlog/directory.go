package openlog

import (
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// maxFiles bounds the files and directories of which Directory looks at one.
const maxFiles = 100_000

// Directory returns the names of the logs in a directory and in those below it, in the order of the
// names. It looks at the start of each regular file, and follows no link but dir itself.
func Directory(dir string) (logs []string, err error) {
	root := dir
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		root += string(os.PathSeparator) // a link to a directory is that directory
	}
	seen := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return cli.Failure(path, err)
		}
		if seen++; seen > maxFiles {
			return cli.Failf("%s: more than %d files in this directory", dir, maxFiles)
		}
		if !e.Type().IsRegular() {
			return nil
		}
		yes, err := isLog(path)
		if yes {
			logs = append(logs, filepath.Clean(path))
		}
		return cli.Failure(path, err)
	})
	if err == nil && len(logs) == 0 {
		err = cli.Failf("%s: no trace log in this directory", dir)
	}
	return logs, err
}

// magic is how a log begins, see ptrace-log(5).
const magic = "\x93PTLOG\r\n"

// isLog reports whether a file begins as a log does, compressed or not.
func isLog(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var head [len(magic)]byte
	_, err = io.ReadFull(NewUnpacker(io.NewSectionReader(f, 0, math.MaxInt64)), head[:])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return string(head[:]) == magic, err
}
