package tracetest

import (
	"os"
	"strconv"
)

// Scale returns how often a test repeats something of which no number is enough: in an ordinary
// run, with POSIXTRACE_FULL set (scripts/check --all), and with POSIXTRACE_SOAK set
// (scripts/extra/soak).
func Scale(each, full, soak int) int {
	switch {
	case os.Getenv("POSIXTRACE_SOAK") != "":
		return soak
	case os.Getenv("POSIXTRACE_FULL") != "":
		return full
	}
	return each
}

// Full reports whether tests are to try all cases and not only a sample.
func Full() bool { return Scale(0, 1, 1) > 0 }

// Stride returns the step from case to case of a test that tries very many that are alike: 1, or where
// each takes long, as under qemu in scripts/extra/platforms, what POSIXTRACE_STRIDE says.
func Stride() int {
	n, err := strconv.Atoi(os.Getenv("POSIXTRACE_STRIDE"))
	if err != nil || n < 1 {
		return 1
	}
	return n
}
