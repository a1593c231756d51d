package test

import (
	"testing"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// A program sees the options and limits by the ways that the standard names.
func TestSysconf(t *testing.T) {
	ctest.Run(t, ctest.C(t, "testdata/sysconf.c"))
}
