package logfile

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// OpenRegular opens a regular file for reading. It never opens a pipe, which would steal
// the pipe from its reader, even if one replaces the file at this moment.
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
	return procfs.Reopen(fd, path, unix.O_RDONLY)
}
