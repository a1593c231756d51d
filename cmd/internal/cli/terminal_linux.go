package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// terminalSize returns the columns and lines of a terminal, 0 where they are not known.
func terminalSize(fd uintptr) (columns, lines int) {
	ws, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(ws.Col), int(ws.Row)
}

// WasClosed reports whether the descriptor was closed when the process started. The Go
// runtime then opens /dev/null on it for reading and writing; a user discards output with a
// write-only /dev/null, a daemon with one /dev/null for input, output and errors. The kernel has
// nothing that tells a /dev/null of the runtime from one that the user opened for reading and writing,
// for this descriptor alone.
func WasClosed(f *os.File) bool {
	var st unix.Stat_t
	fd := int(f.Fd())
	if unix.Fstat(fd, &st) != nil {
		return false // the write reports the error
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, 3) {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR && !shared(fd)
}

// shared reports whether a standard descriptor is a copy of another one. Those of the runtime are not.
func shared(fd int) bool {
	for other := range 3 {
		if other == fd {
			continue
		}
		if same, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_QUERY, other); err == nil && same == 1 {
			return true
		}
		const file = 0 // KCMP_FILE, for kernels before Linux 6.10
		pid := uintptr(os.Getpid())
		if order, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, file, uintptr(fd), uintptr(other), 0); errno == 0 && order == 0 {
			return true
		}
	}
	return false
}
