package export

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
)

func TestWriteDirectory(t *testing.T) {
	base := tracetest.Dir(t)
	path := filepath.Join(base, "trace")
	two := func(dir string) error {
		for _, name := range []string{"last", "stream"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	check := func(dir string, want int) {
		t.Helper()
		if list, err := os.ReadDir(dir); err != nil || len(list) != want {
			t.Errorf("%s has %v, %v", filepath.Base(dir), list, err)
		}
	}
	failure := errors.New("failure")
	fails := func(dir string) error { two(dir); return failure }

	if err := writeDirectory(path, "last", fails); err != failure {
		t.Errorf("a failure: %v", err)
	}
	check(base, 0)
	tracetest.OK(t, "a new directory", writeDirectory(path+"/", "last", two))
	check(base, 1)
	check(path, 2)
	if err := writeDirectory(path, "last", two); err == nil {
		t.Error("a directory that is not empty is used")
	}
	tracetest.OK(t, "empty", emptyDirectory(path))
	if err := writeDirectory(path, "last", fails); err != failure {
		t.Errorf("a failure in a directory that exists: %v", err)
	}
	check(path, 0)
	tracetest.OK(t, "an empty directory", writeDirectory(path, "last", two))
	check(path, 2)
}

// The file without which no reader takes the rest for a trace comes last.
func TestMoveOutMovesTheLastFileLast(t *testing.T) {
	base := tracetest.Dir(t)
	from, to := filepath.Join(base, "from"), filepath.Join(base, "to")
	for _, dir := range []string{from, to, filepath.Join(to, "stream")} {
		tracetest.OK(t, "mkdir", os.Mkdir(dir, 0o700))
	}
	for _, name := range []string{"last", "another", "stream"} { // a file cannot take the place of the directory
		tracetest.OK(t, "write", os.WriteFile(filepath.Join(from, name), nil, 0o600))
	}
	if err := moveOut(from, to, "last"); err == nil {
		t.Error("a file has replaced a directory")
	}
	if list, _ := os.ReadDir(to); len(list) != 1 {
		t.Errorf("a failure leaves %v", list)
	}
	if _, err := os.Stat(filepath.Join(from, "last")); err != nil {
		t.Error("the last file was moved before another one")
	}
}
