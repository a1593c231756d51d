package tracetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Dir makes a directory that is removed after the test. It replaces T.TempDir where the test also runs in
// wine.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "posixtrace-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { RemoveAll(t, dir) })
	return dir
}

// RemoveAll is os.RemoveAll, for which wine 8 lacks a call. It also shows that all files are closed:
// Windows removes no open one.
func RemoveAll(t testing.TB, path string) {
	t.Helper()
	list, _ := os.ReadDir(path)
	for _, e := range list {
		if name := filepath.Join(path, e.Name()); e.IsDir() {
			RemoveAll(t, name)
		} else if err := os.Remove(name); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Errorf("remove: %v", err)
	}
}
