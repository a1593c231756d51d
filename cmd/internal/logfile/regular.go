package logfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/reopen"
)

var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a regular file for reading. A pipe is its reader's: it is not opened,
// also if somebody puts it there just now.
func OpenRegular(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, ErrNotRegular
	}
	return reopen.File(fd, path, unix.O_RDONLY)
}

// Bare takes the path, which is not the one that was asked for, out of an error.
func Bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
