package tracetest

import "os"

// Full reports whether tests are to try everything that they can try and not only
// a sample of it: scripts/check --full sets POSIXTRACE_FULL.
func Full() bool { return os.Getenv("POSIXTRACE_FULL") != "" }
