package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Another process of the user plants links and FIFOs in place of the spool and of its
// files. The consumer changes nothing outside the spool, and does not block.
func TestDrainResistsPlantedFiles(t *testing.T) {
	const precious = "not to be changed\n"
	outside := t.TempDir()
	victim := filepath.Join(outside, "victim")
	theirs := filepath.Join(outside, "theirs")
	fresh := func() {
		os.RemoveAll(theirs)
		if err := errors.Join(os.WriteFile(victim, []byte(precious), 0o640), os.Mkdir(theirs, 0o700),
			os.WriteFile(filepath.Join(theirs, "spool"), []byte("e\t1\t\tx\n"), 0o640), os.WriteFile(filepath.Join(theirs, "old.0"), []byte(precious), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	replace := map[string]func(path string) error{
		"symlink":             func(path string) error { return os.Symlink(victim, path) },
		"dangling":            func(path string) error { return os.Symlink(filepath.Join(outside, "made"), path) },
		"hard link":           func(path string) error { return os.Link(victim, path) },
		"fifo":                func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory":           func(path string) error { return os.Mkdir(path, 0o700) },
		"link to a directory": func(path string) error { return os.Symlink(theirs, path) },
	}
	for _, name := range []string{".", "state", "new", "old.0", "spool"} {
		for kind, plant := range replace {
			t.Run(name+"/"+kind, func(t *testing.T) {
				fresh()
				s, path := newStream(t, posixtrace.Attr{StreamSize: 16 << 10})
				target := filepath.Join(filepath.Dir(path), name)
				if name == "spool" {
					target = path
				}
				before := snapshot(t, outside)
				appendTo(t, path, strings.Repeat("e\t1\t\tx\n", 4096)) // enough for a rotation
				moved := filepath.Join(outside, "..", filepath.Base(outside)+".moved")
				if err := os.Rename(target, moved); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				defer os.RemoveAll(moved)
				if err := plant(target); err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(target)
				done := make(chan struct{})
				go func() {
					defer close(done)
					for _, drain := range []func(*Consumer) error{
						func(k *Consumer) error { _, err := k.Drain(0); return err },
						func(k *Consumer) error { return k.Finish(0) },
					} {
						if k, err := NewConsumer(s, false); err == nil {
							drain(k)
							k.Close()
						}
					}
				}()
				select {
				case <-done:
				case <-time.After(60 * time.Second):
					t.Fatal("a consumer blocks")
				}
				if after := snapshot(t, outside); after != before {
					t.Errorf("outside the spool, before:\n%s\nafter:\n%s", before, after)
				}
			})
		}
	}
}

// snapshot returns the names, modes and contents of the files below dir.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + fi.Mode().String() + "\n")
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.Write(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
