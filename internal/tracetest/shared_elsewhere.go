//go:build !linux

package tracetest

import "os"

// makeShared makes a directory.
func makeShared() (dir string, release func(), err error) {
	dir, err = os.MkdirTemp("", "posixtrace-test-run-")
	return dir, func() {}, err
}
