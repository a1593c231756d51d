package capture

import (
	"golang.org/x/sys/unix"
)

// pipeSize is large so that the command can run ahead of the pump and the pump can read
// many lines at once.
const pipeSize = 1 << 20

// Pipe makes a pipe whose ends are closed on exec. Its write end is at least above,
// beyond every descriptor in use: syscall.StartProcess duplicates descriptors to numbers
// beyond the highest one it is given, which must not overwrite one that the command inherits.
func Pipe(above int) (r, w int, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, err
	}
	unix.FcntlInt(uintptr(fd[0]), unix.F_SETPIPE_SZ, pipeSize)
	if high, err := unix.FcntlInt(uintptr(fd[1]), unix.F_DUPFD_CLOEXEC, above); err == nil {
		unix.Close(fd[1])
		fd[1] = high
	}
	return fd[0], fd[1], nil
}

// fDupFDQuery is F_DUPFD_QUERY of Linux 6.10.
const fDupFDQuery = 1024 + 3

// SameOpenFile reports whether two descriptors refer to one open file description, so
// that writes to both keep their order.
func SameOpenFile(a, b int) bool {
	var sa, sb unix.Stat_t
	if unix.Fstat(a, &sa) != nil || unix.Fstat(b, &sb) != nil || sa.Dev != sb.Dev || sa.Ino != sb.Ino || sa.Rdev != sb.Rdev {
		return false
	}
	if same, err := unix.FcntlInt(uintptr(a), fDupFDQuery, b); err == nil {
		return same == 1
	}
	const kcmpFile = 0
	pid := uintptr(unix.Getpid())
	if r, _, err := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, uintptr(a), uintptr(b), 0); err == 0 {
		return r == 0
	}
	// The kernel refused both queries. Two descriptors of one pipe, terminal or file
	// opened with O_APPEND behave as one open file description does; of other files,
	// compare the positions.
	fa, erra := unix.FcntlInt(uintptr(a), unix.F_GETFL, 0)
	fb, errb := unix.FcntlInt(uintptr(b), unix.F_GETFL, 0)
	if erra != nil || errb != nil || fa != fb {
		return false
	}
	if sa.Mode&unix.S_IFMT != unix.S_IFREG || fa&unix.O_APPEND != 0 {
		return true
	}
	pa, _ := unix.Seek(a, 0, 1)
	pb, _ := unix.Seek(b, 0, 1)
	return pa == pb
}
