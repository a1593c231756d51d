package tracer

import (
	"os"

	"golang.org/x/sys/unix"
)

// The three processes exchange packets on two sockets: a byte for the type, and data.

// Between ptrace-run and the tracer.
const (
	orderConfig    = 'c' // a Config, as JSON
	orderRelease   = 'q' // stop recording, and detach where no filter is set
	reportAttached = 'a' // the command is traced; data: an error number if it is not
	reportNote     = 'm' // a message for the user
	reportExit     = 'e' // proc.exit of the command is recorded
	reportReleased = 'r'
)

// Between the tracer and the thread that executes or starts the command.
const (
	stageHere     = 'h' // pid and tid of the thread that will execute the command
	stageLaunch   = 's' // pid and tid of the thread that will start it
	stageGo       = 'g' // the thread is traced; data: the filter to set
	stageUntraced = 'l' // the thread is not traced; continue without
	stageSet      = 'f' // the filter is set; data: 0, or an error number if it is not
)

const maxPacket = 64 << 10

// socketPair makes a pair of connected sockets. The second is for a process to inherit: its
// number is at least above, beyond the descriptors that the process starts with.
func socketPair(above int) (ours, theirs int, err error) {
	fd, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	theirs, err = unix.FcntlInt(uintptr(fd[1]), unix.F_DUPFD_CLOEXEC, above)
	unix.Close(fd[1])
	if err == unix.EINVAL {
		err = unix.EMFILE // RLIMIT_NOFILE is lower than above
	}
	if err != nil {
		unix.Close(fd[0])
		return -1, -1, os.NewSyscallError("dup", err)
	}
	return fd[0], theirs, nil
}

func send(fd int, what byte, data []byte) error {
	b := append([]byte{what}, data...)
	for {
		err := unix.Sendto(fd, b, unix.MSG_NOSIGNAL, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// receive waits for a packet. At the end of the socket, and on any error, what is 0.
func receive(fd int) (what byte, data []byte) {
	b := make([]byte, maxPacket)
	for {
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR, err == unix.ECONNRESET:
			// The kernel reports ECONNRESET once if the peer closed its end before it had
			// read everything. The peer's last packets follow.
			continue
		case err != nil || n <= 0:
			return 0, nil
		}
		return b[0], b[1:n]
	}
}
