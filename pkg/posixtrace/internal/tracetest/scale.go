package tracetest

import "os"

// Scale is how often a test does a thing that cannot be done often enough: each time the
// tests are run; with POSIXTRACE_FULL set (scripts/check --full); and with
// POSIXTRACE_SOAK (scripts/soak).
func Scale(each, full, soak int) int {
	switch {
	case os.Getenv("POSIXTRACE_SOAK") != "":
		return soak
	case os.Getenv("POSIXTRACE_FULL") != "":
		return full
	}
	return each
}

// Full reports whether tests are to try everything that they can try and not only a
// sample of it.
func Full() bool { return Scale(0, 1, 1) > 0 }
