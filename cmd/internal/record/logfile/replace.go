package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Replace writes a file and gives it a name when it is whole: a reader finds the old file or the
// new one, and after a failure the old one. A file that is not regular, such as a pipe, is written
// as it is. A new file has the permissions of mode that the umask leaves, another one keeps its own.
func Replace(path string, mode fs.FileMode, write func(f *os.File) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		return writeTo(path, write)
	}
	f, e := createBeside(path, mode)
	if e != nil {
		return e
	}
	if err == nil {
		e = f.Chmod(st.Mode().Perm())
	}
	if e == nil {
		e = write(f)
	}
	if e2 := f.Close(); e == nil {
		e = e2
	}
	if e == nil {
		e = os.Rename(f.Name(), path)
	}
	if e != nil {
		os.Remove(f.Name())
	}
	return e
}

// writeTo writes what is not a regular file. It does not wait for the reader of a pipe.
func writeTo(path string, write func(f *os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|openFlags, 0)
	if err != nil {
		return err
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// createBeside creates a file in the directory of path.
func createBeside(path string, mode fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	base = base[:min(len(base), 200)] // a name has at most 255 bytes
	for n := 0; ; n++ {
		name := dir + "." + base + "." + strconv.Itoa(os.Getpid()) + "." + strconv.Itoa(n)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || n == 100 {
			return f, err
		}
	}
}

// CheckReplace reports whether Replace can create its file, before there is anything to write.
func CheckReplace(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return syscall.EISDIR
	case err == nil && !st.Mode().IsRegular():
		return mayWrite(path)
	}
	return MayCreateIn(filepath.Dir(path))
}
