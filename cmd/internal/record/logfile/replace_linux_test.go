package logfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// check checks what a directory and one of its files hold.
func check(t *testing.T, path, text string, mode os.FileMode, files int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || string(b) != text {
		t.Errorf("%q, %v, want %q", b, err, text)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
		t.Errorf("mode %v, want %v", fi.Mode(), mode)
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != files {
		t.Errorf("the directory has %v", list)
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	writes := func(text string, result error) func(f *os.File) error {
		return func(f *os.File) error {
			f.WriteString(text)
			return result
		}
	}
	tracetest.OK(t, "new file", Replace(path, 0o400, writes("one", nil)))
	check(t, path, "one", 0o400, 1)
	tracetest.OK(t, "chmod", os.Chmod(path, 0o640))
	tracetest.OK(t, "old file", Replace(path, 0o600, writes("two", nil)))
	check(t, path, "two", 0o640, 1)

	failure := errors.New("failure")
	if err := Replace(path, 0o600, writes("three", failure)); err != failure {
		t.Errorf("Replace: %v", err)
	}
	check(t, path, "two", 0o640, 1)

	link := path + "-link"
	tracetest.OK(t, "symlink", os.Symlink("file", link))
	tracetest.OK(t, "by link", Replace(link, 0o600, writes("four", nil)))
	check(t, path, "four", 0o640, 2)
	if fi, err := os.Lstat(link); err != nil || fi.Mode().IsRegular() {
		t.Errorf("the link has become a file: %v", err)
	}
	if err := CheckReplace(filepath.Dir(path)); err == nil {
		t.Error("a directory can be replaced")
	}
	if err := CheckReplace(path + "/below"); err == nil {
		t.Error("a file below a file can be made")
	}
	tracetest.OK(t, "CheckReplace", CheckReplace(path))
}
