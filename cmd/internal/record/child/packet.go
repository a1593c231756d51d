// Messages between the processes of ptrace-run: itself, its tracer, the monitor of a
// pseudo-terminal, and the process that becomes the command. A message is a packet on a socket: one
// byte for the type, and data.

package child

import (
	"os"

	"golang.org/x/sys/unix"
)

// maxSize bounds a packet. It is enough for a path and a message about the path.
const maxSize = 64 << 10

// Pair makes a pair of connected sockets, which are closed on exec. The second is for a
// process to inherit: its number is at least above, beyond the descriptors that the process
// starts with.
func PacketPair(above int) (ours, theirs int, err error) {
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

// Send sends a packet, truncated to its maximum size.
func SendPacket(fd int, what byte, data []byte) error {
	b := append([]byte{what}, data...)
	b = b[:min(len(b), maxSize)]
	for {
		err := unix.Sendto(fd, b, unix.MSG_NOSIGNAL, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// Receive waits for a packet. At the end of the socket, and on any error, what is 0.
func ReceivePacket(fd int) (what byte, data []byte) {
	b := make([]byte, maxSize)
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
