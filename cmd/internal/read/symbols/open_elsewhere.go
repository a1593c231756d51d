//go:build !linux

package symbols

import (
	"io/fs"
	"time"
)

const openFlags = 0

// changed returns when the content of a file last changed.
func changed(fi fs.FileInfo) time.Time { return fi.ModTime() }
