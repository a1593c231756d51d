// Package test tests the C library: programs in C, below testdata, do what a test asks.
package test

import (
	"testing"

	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

func TestMain(m *testing.M) { ctest.Main(m) }
