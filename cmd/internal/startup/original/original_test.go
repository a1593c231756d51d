//go:build linux

package original

import (
	"os"
	"slices"
	"testing"
)

// Package syscall raises the limit of descriptors when the program starts. A program that this one starts
// gets back what there was, unless another process has set the limit since.
func TestFiles(t *testing.T) {
	defer func(old Limit) { files = old }(files)
	for _, c := range []struct {
		start, now Limit
		set        bool
	}{
		{Limit{1024, 4096}, Limit{4095, 4096}, true},
		{Limit{4095, 4096}, Limit{4095, 4096}, false},
		{Limit{1024, 4096}, Limit{2048, 4096}, false},
		{Limit{1024, 4096}, Limit{4095, 5000}, false},
		{Limit{}, Limit{4095, 4096}, false},
	} {
		files = c.start
		if got, set := Files(c.now); set != c.set || set && got != c.start {
			t.Errorf("started with %v, now %v: %v, %v", c.start, c.now, got, set)
		}
	}
}

func TestEnvironIsThatOfTheStart(t *testing.T) {
	before := slices.Clone(Environ())
	t.Setenv("ORIGINAL_TEST", "later")
	if !slices.Equal(Environ(), before) || os.Getenv("ORIGINAL_TEST") != "later" {
		t.Error("the environment of the start has changed")
	}
}
