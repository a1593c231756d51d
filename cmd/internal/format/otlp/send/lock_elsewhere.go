//go:build !unix

package send

import "os"

const noFollow = 0

// lock does nothing: two exports at once may send the same batch, whose ids are the same.
func lock(*os.File) bool { return true }

// isOurs returns true: the directory is this user's.
func isOurs(*os.File) bool { return true }

// remove closes a file first: an open one cannot be removed.
func remove(f *os.File) error {
	f.Close()
	return os.Remove(f.Name())
}

// rename closes a file first, too.
func rename(f *os.File, name string) error {
	f.Close()
	return os.Rename(f.Name(), name)
}
