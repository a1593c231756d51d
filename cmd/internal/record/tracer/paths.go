//go:build linux

package tracer

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// appendOpened appends, behind the number of a descriptor of a process, what it refers to:
// 3</etc/passwd>, 4<TCP:[127.0.0.1:5432]>. It appends nothing if that cannot be read.
func appendOpened(b []byte, tid, fd int) []byte {
	file := "/proc/" + strconv.Itoa(tid)
	switch {
	case fd == unix.AT_FDCWD:
		file += "/cwd"
	case fd < 0:
		return b
	default:
		file += "/fd/" + strconv.Itoa(fd)
	}
	var link [unix.PathMax]byte
	n, err := unix.Readlink(file, link[:])
	if err != nil {
		return b
	}
	name := link[:n]
	b = append(b, '<')
	if inode, ok := strings.CutPrefix(string(name), "socket:["); ok {
		start := len(b)
		if b, err = appendSocket(b, tid, fd, strings.TrimSuffix(inode, "]")); err == nil {
			return append(b, '>')
		}
		b = b[:start]
	}
	return append(append(b, name...), '>')
}

// errSocket says that a socket has no description of its own.
var errSocket = errors.New("a socket of another family")

// appendSocket appends the protocol and the addresses of a socket of a process. It looks at the
// socket itself, through a descriptor of its own that it closes at once.
func appendSocket(b []byte, tid, fd int, inode string) ([]byte, error) {
	pidfd, err := unix.PidfdOpen(tid, 0)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) { // a thread that does not lead its process
		pid := procfs.Of(tid)
		if pid == 0 {
			return b, err
		}
		pidfd, err = unix.PidfdOpen(pid, 0)
	}
	if err != nil {
		return b, err
	}
	defer unix.Close(pidfd)
	s, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return b, err
	}
	defer unix.Close(s)
	domain, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return b, err
	}
	switch domain {
	case unix.AF_INET, unix.AF_INET6:
		return appendInet(b, s, domain)
	case unix.AF_UNIX:
		return appendUnix(b, s, inode)
	}
	return b, errSocket
}

// protocols names the protocols of Internet sockets.
var protocols = map[int]string{unix.IPPROTO_TCP: "TCP", unix.IPPROTO_UDP: "UDP", unix.IPPROTO_ICMP: "ICMP", unix.IPPROTO_SCTP: "SCTP", unix.IPPROTO_MPTCP: "MPTCP"}

// appendInet appends TCP:[local->remote] or, of a socket without a peer, TCP:[local].
func appendInet(b []byte, s, domain int) ([]byte, error) {
	protocol, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if err != nil {
		return b, err
	}
	name := protocols[protocol]
	if name == "" {
		name = "PROTOCOL-" + strconv.Itoa(protocol)
	}
	if domain == unix.AF_INET6 {
		name += "v6"
	}
	local, err := unix.Getsockname(s)
	if err != nil {
		return b, err
	}
	b = appendEndpoint(append(append(b, name...), ":["...), local)
	if remote, err := unix.Getpeername(s); err == nil {
		b = appendEndpoint(append(b, "->"...), remote)
	}
	return append(b, ']'), nil
}

func appendEndpoint(b []byte, a unix.Sockaddr) []byte {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).AppendTo(b)
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)).AppendTo(b)
	}
	return append(b, '?')
}

// appendUnix appends the kind of a Unix socket, its inode, and its name or that of its peer:
// UNIX-STREAM:[4711,"/run/x"], UNIX-STREAM:[4711->"/run/x"].
func appendUnix(b []byte, s int, inode string) ([]byte, error) {
	kind, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return b, err
	}
	switch kind {
	case unix.SOCK_STREAM:
		b = append(b, "UNIX-STREAM:["...)
	case unix.SOCK_DGRAM:
		b = append(b, "UNIX-DGRAM:["...)
	default:
		b = append(b, "UNIX-SEQPACKET:["...)
	}
	b = append(b, inode...)
	if name := unixName(unix.Getsockname(s)); name != "" {
		b = appendQuoted(append(b, ','), []byte(name))
	} else if name := unixName(unix.Getpeername(s)); name != "" {
		b = appendQuoted(append(b, "->"...), []byte(name))
	}
	return append(b, ']'), nil
}

// unixName returns the path of a Unix socket, or @ and its abstract name, or "".
func unixName(a unix.Sockaddr, err error) string {
	// The library shows a socket without a name as an empty abstract name.
	if u, ok := a.(*unix.SockaddrUnix); ok && err == nil && u.Name != "@" {
		return u.Name
	}
	return ""
}
