package conn

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// ReopenLog opens the log by its path. It returns nil if the path leads to no file or to another one.
func (c *Conn) ReopenLog(flags int) (*os.File, error) {
	m := c.Mem
	if m.LogPath == "" {
		return nil, nil
	}
	f, err := sys.OpenChecked(nil, m.LogPath, flags|syscall.O_NONBLOCK, 0, func(st *sys.FileStat) error {
		if !st.Regular() || st.Dev != m.LogDev || st.Ino != m.LogIno {
			return errNotLog
		}
		return nil
	})
	if errors.Is(err, errNotLog) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, syscall.EISDIR) {
		return nil, nil
	}
	return f, err
}

var errNotLog = errors.New("not the file of the log")

// SyncName syncs the directory of the log: otherwise a new log could be missing after a loss of
// power. A log without a name needs no sync.
func (c *Conn) SyncName() error {
	if c.Mem.LogPath == "" {
		return nil
	}
	dir, err := sys.OpenFile(filepath.Dir(c.Mem.LogPath), os.O_RDONLY|sys.Directory, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// SyncLog syncs the log of a stream that is shut down.
func (c *Conn) SyncLog() error {
	f, err := c.ReopenLog(os.O_RDONLY)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
