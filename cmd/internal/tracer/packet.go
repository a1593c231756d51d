package tracer

import (
	"os"

	"golang.org/x/sys/unix"
)

// What the three processes say to each other are packets on two sockets: a byte that
// says what, and data.

// Between ptrace-run and the tracer.
const (
	orderConfig  = 'c' // a Config, as JSON
	orderRelease = 'q' // record no more, and let go of what can be let go
	tellAttached = 'a' // the command is traced; data: an error number if it is not
	tellNote     = 'm' // a message for the user
	tellExit     = 'e' // proc.exit of the command is recorded
	tellReleased = 'r'
)

// Between the tracer and the thread that executes or starts the command.
const (
	stageHere   = 'h' // pid and thread that will execute the command
	stageLaunch = 's' // pid and thread that will start it
	stageGo     = 'g' // it is traced; data: the filter to set
	stageLone   = 'l' // it is not; go on alone
	stageSet    = 'f' // the filter is set; data: an error number if it is not
)

const maxPacket = 64 << 10

// socketPair makes the two ends of a socket. The second is for a process to inherit:
// it lies above the descriptors of a process that is being started.
func socketPair(above int) (ours, theirs int, err error) {
	fd, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	theirs, err = unix.FcntlInt(uintptr(fd[1]), unix.F_DUPFD_CLOEXEC, above)
	unix.Close(fd[1])
	if err == unix.EINVAL {
		err = unix.EMFILE // the limit is lower
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

// receive waits for a packet. At the end, and after any error, what is 0.
func receive(fd int) (what byte, data []byte) {
	b := make([]byte, maxPacket)
	for {
		n, err := unix.Read(fd, b)
		switch {
		case err == unix.EINTR, err == unix.ECONNRESET:
			// The latter is told once, of another end that was closed before it had read
			// everything; what that had sent comes behind it.
			continue
		case err != nil || n <= 0:
			return 0, nil
		}
		return b[0], b[1:n]
	}
}
