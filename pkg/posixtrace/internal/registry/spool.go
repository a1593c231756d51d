package registry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// A stream may have a directory beside it, l-ID, for what programs leave that
// cannot map the stream. This package only removes it, with the stream. It may have
// the name of a sealed one, in which nobody leaves anything any more.

const sealedSuffix = ".sealed"

// SpoolDir returns the path of the directory that goes with a stream's file.
func SpoolDir(streamPath string) (string, bool) {
	id, ok := StreamIDOfPath(streamPath)
	return filepath.Join(filepath.Dir(streamPath), spoolName(id)), ok
}

// SealedSpoolDir returns the path that SpoolDir has once it is sealed.
func SealedSpoolDir(streamPath string) (string, bool) {
	dir, ok := SpoolDir(streamPath)
	return dir + sealedSuffix, ok
}

// parseSpoolName returns the stream a directory belongs to, sealed or not.
func parseSpoolName(name string) (uint64, bool) {
	return parseID(strings.TrimSuffix(name, sealedSuffix), "l-")
}

// spoolTries bounds how often a directory is emptied into which somebody goes on
// putting files.
const spoolTries = 100

// removeSpool removes the directories of a stream that is gone.
func (d *Dir) removeSpool(id uint64) {
	open, sealed := spoolName(id), spoolName(id)+sealedSuffix
	// Under the other name nobody finds it who would put more files into it. Where
	// there is a sealed one already, it may have to be emptied as it is.
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
		dir, err := sys.OpenAt(d.f, name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
		if err != nil {
			return
		}
		files, _ := dir.Readdirnames(-1)
		for _, f := range files {
			if errors.Is(sys.UnlinkAt(dir, f), syscall.EISDIR) {
				sys.RemoveDirAt(dir, f) // nobody of ours makes one
			}
		}
		dir.Close()
	}
}

// sweepSpools removes the directories of streams that are gone. A stream is there
// before its directory is made, so that both are in names or neither.
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
