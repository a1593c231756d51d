package registry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A stream may have a spool beside it, a directory l-ID in which programs that cannot map the
// stream leave events. This package only removes it, with the stream. Sealing a spool renames it,
// so that programs leave nothing in it any more.

const sealedSuffix = ".sealed"

// SpoolDir returns the path of the spool of a stream's file.
func SpoolDir(streamPath string) (string, bool) {
	id, ok := StreamIDOfPath(streamPath)
	return filepath.Join(filepath.Dir(streamPath), spoolName(id)), ok
}

// SealedSpoolDir returns the path of the spool after it was sealed.
func SealedSpoolDir(streamPath string) (string, bool) {
	dir, ok := SpoolDir(streamPath)
	return dir + sealedSuffix, ok
}

// parseSpoolName returns the stream of a spool, sealed or not.
func parseSpoolName(name string) (uint64, bool) {
	return parseID(strings.TrimSuffix(name, sealedSuffix), "l-")
}

// spoolTries bounds how often a spool is emptied while programs go on writing to it.
const spoolTries = 100

// removeSpool removes the spools of a stream that is gone.
func (d *Dir) removeSpool(id uint64) {
	open, sealed := spoolName(id), spoolName(id)+sealedSuffix
	// Under the sealed name no program finds it to add files. If there is a sealed spool
	// already, the other may have to be emptied under its own name.
	sys.RenameNoReplace(d.f, open, sealed)
	d.removeSpoolDir(sealed)
	d.removeSpoolDir(open)
}

func (d *Dir) removeSpoolDir(name string) {
	for range spoolTries {
		err := sys.RemoveDirAt(d.f, name)
		if !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) {
			return
		}
		dir, err := sys.OpenAt(d.f, name, os.O_RDONLY|sys.Directory, 0)
		if err != nil {
			return
		}
		files, _ := dir.Readdirnames(-1)
		for _, f := range files {
			if errors.Is(sys.UnlinkAt(dir, f), syscall.EISDIR) {
				sys.RemoveDirAt(dir, f) // not made by this project
			}
		}
		dir.Close()
	}
}

// sweepSpools removes spools of streams that are gone. A stream exists before its spool, so a
// listing never has the spool of a live stream without the stream.
func (d *Dir) sweepSpools(names []string) {
	there := map[uint64]bool{}
	for _, name := range names {
		if id, ok := parseStreamName(name); ok {
			there[id] = true
		}
	}
	for _, name := range names {
		if id, ok := parseSpoolName(name); ok && !there[id] {
			d.removeSpool(id)
		}
	}
}
