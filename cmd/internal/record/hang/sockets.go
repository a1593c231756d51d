//go:build linux

package hang

import (
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// socket finds the other end of a socket of the thread. link is "socket:[INODE]".
func (t *thread) socket(fd int, link string) (e end) {
	inode, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]"))
	if err != nil {
		return end{unseen: true}
	}
	t.w.unixPeers()
	if peer, ok := t.w.peers[inode]; ok {
		e.text = "the peer of the Unix socket " + link[len("socket:"):]
		if peer == 0 {
			return end{text: "a peer of the Unix socket " + link[len("socket:"):], unseen: true, known: true}
		}
		e.holders(t.w, "socket:["+strconv.Itoa(peer)+"]", 0, "", "")
		e.unseen = e.unseen || len(e.on) == 0
		return e
	}
	table := t.w.tcpTable(t.PID)
	s, ok := table.sockets[inode]
	switch {
	case !ok:
		return end{unseen: true}
	case s.listens:
		return end{text: "a connection to " + s.local, unseen: true, known: true}
	}
	e.text = "the peer of TCP " + s.local + "->" + s.remote
	if peer := table.ends[addresses{s.remote, s.local}]; peer != 0 {
		e.holders(t.w, "socket:["+strconv.Itoa(peer)+"]", 0, "", "")
	}
	e.unseen = e.unseen || len(e.on) == 0
	return e
}

// unixPeers asks the kernel for the peers of all Unix sockets of this network namespace, once.
func (w *world) unixPeers() {
	if w.peers != nil {
		return
	}
	w.peers = map[int]int{}
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		w.hide("sockets", err)
		return
	}
	defer unix.Close(s)
	unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000})
	const (
		byFamily   = 20 // SOCK_DIAG_BY_FAMILY
		showPeer   = 4  // UDIAG_SHOW_PEER
		attrPeer   = 2  // UNIX_DIAG_PEER
		headerSize = 16 // struct unix_diag_msg
	)
	var q [40]byte
	le := binary.NativeEndian
	le.PutUint32(q[0:], uint32(len(q)))
	le.PutUint16(q[4:], byFamily)
	le.PutUint16(q[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	q[16] = unix.AF_UNIX
	le.PutUint32(q[20:], 1<<32-1) // all states
	le.PutUint32(q[28:], showPeer)
	if err := unix.Sendto(s, q[:], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		w.hide("sockets", err)
		return
	}
	for b := make([]byte, 64<<10); ; {
		n, _, err := unix.Recvfrom(s, b, 0)
		if err != nil {
			w.hide("sockets", err)
			return
		}
		list, err := syscall.ParseNetlinkMessage(b[:n])
		if err != nil {
			return
		}
		for _, m := range list {
			if m.Header.Type == unix.NLMSG_DONE || m.Header.Type == unix.NLMSG_ERROR || len(m.Data) < headerSize {
				return
			}
			inode := int(le.Uint32(m.Data[4:]))
			w.peers[inode] = 0
			for a := m.Data[headerSize:]; len(a) >= 8; {
				size := int(le.Uint16(a))
				if le.Uint16(a[2:]) == attrPeer {
					w.peers[inode] = int(le.Uint32(a[4:]))
				}
				a = a[min(len(a), max(4, (size+3)&^3)):]
			}
		}
	}
}

// addresses are those of a TCP socket.
type addresses struct{ local, remote string }

// tcpTable is the TCP sockets of a network namespace.
type tcpTable struct {
	sockets map[int]tcpSocket // by inode
	ends    map[addresses]int // the inode of a socket; two of one machine have the addresses the other way round
}

type tcpSocket struct {
	addresses
	listens bool
}

// tcpTable reads the TCP sockets of the network of a process, once for each network.
func (w *world) tcpTable(pid int) *tcpTable {
	key, err := os.Readlink(procfs.File(pid, "ns/net"))
	if err != nil {
		key = strconv.Itoa(pid)
	}
	if t := w.tcp[key]; t != nil {
		return t
	}
	t := &tcpTable{map[int]tcpSocket{}, map[addresses]int{}}
	if w.tcp == nil {
		w.tcp = map[string]*tcpTable{}
	}
	w.tcp[key] = t
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		b, err := os.ReadFile(procfs.File(pid, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 10 {
				continue
			}
			a := addresses{address(f[1]), address(f[2])}
			n, _ := strconv.Atoi(f[9])
			if a.local == "" || a.remote == "" || n == 0 { // of 0 no process has the socket any more
				continue
			}
			t.sockets[n] = tcpSocket{a, f[3] == "0A"}
			t.ends[a] = n
		}
	}
	return t
}

// address reads an address as /proc/net/tcp shows it: words in hexadecimal, in the byte order of the
// machine.
func address(s string) string {
	host, port, ok := strings.Cut(s, ":")
	p, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || len(host) != 8 && len(host) != 32 {
		return ""
	}
	var b []byte
	for ; len(host) > 0; host = host[8:] {
		v, err := strconv.ParseUint(host[:8], 16, 32)
		if err != nil {
			return ""
		}
		b = binary.NativeEndian.AppendUint32(b, uint32(v))
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(p)).String()
}
