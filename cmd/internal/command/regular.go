package command

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/reopen"
)

var errNotRegular = errors.New("not a regular file")

// openRegular opens a regular file for reading. A pipe is its reader's: it is not opened,
// also if somebody puts it there just now.
func openRegular(path string) (*os.File, error) {
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
		return nil, errNotRegular
	}
	return reopen.File(fd, path, unix.O_RDONLY)
}

// bare takes the path, which is not the one that was asked for, out of an error.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
