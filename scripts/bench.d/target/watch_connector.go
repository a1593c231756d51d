package main

import (
	"encoding/binary"
	"os/exec"

	"golang.org/x/sys/unix"
)

// connector reads the events of all processes of the machine from the netlink socket of the process
// connector.
type connector struct{ fd int }

// Of linux/cn_proc.h.
const (
	processIndex, processValue = 1, 1
	listenToProcesses          = 1
	forkHappened               = 1
	execHappened               = 2
	exitHappened               = 1 << 31
)

func openConnector() (source, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: processIndex}); err != nil {
		return nil, err
	}
	// A header of netlink, one of the connector, and the operation.
	const size = 16 + 20 + 4
	b := binary.NativeEndian.AppendUint32(nil, size)
	b = binary.NativeEndian.AppendUint16(b, unix.NLMSG_DONE)
	b = append(b, make([]byte, 10)...)
	b = binary.NativeEndian.AppendUint32(b, processIndex)
	b = binary.NativeEndian.AppendUint32(b, processValue)
	b = append(b, make([]byte, 8)...)
	b = binary.NativeEndian.AppendUint16(b, 4)
	b = append(b, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, listenToProcesses)
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	return &connector{fd}, nil
}

func (c *connector) start(cmd *exec.Cmd) error { return cmd.Start() }

func (c *connector) read(n *counts) error {
	if err := readable([]int{c.fd}); err != nil {
		return err
	}
	var b [4096]byte
	for {
		size, _, err := unix.Recvfrom(c.fd, b[:], 0)
		switch {
		case err == unix.EAGAIN:
			return nil
		case err == unix.ENOBUFS:
			n.lost++ // it does not say how many
			continue
		case err != nil:
			return err
		}
		if size < 40 {
			continue
		}
		switch binary.NativeEndian.Uint32(b[36:]) {
		case forkHappened:
			n.forks++
		case execHappened:
			n.execs++
		case exitHappened:
			n.exits++
		}
	}
}
