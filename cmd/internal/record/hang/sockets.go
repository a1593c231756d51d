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
		e.unseen = len(e.on) == 0
		return e
	}
	local, remote, peer, listens := tcpPeer(t.PID, inode)
	switch {
	case local == "":
		return end{unseen: true}
	case listens:
		return end{text: "a connection to " + local, unseen: true, known: true}
	}
	e.text = "the peer of TCP " + local + "->" + remote
	if peer != 0 {
		e.holders(t.w, "socket:["+strconv.Itoa(peer)+"]", 0, "", "")
	}
	e.unseen = len(e.on) == 0
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

// tcpPeer finds a TCP socket by its inode in the network of a process, and the inode of the other end of a
// connection within that network. peer is 0 if there is none.
func tcpPeer(pid, inode int) (local, remote string, peer int, listens bool) {
	type row struct{ local, remote string }
	ends := map[row]int{}
	var ours row
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
			l, r := address(f[1]), address(f[2])
			if l == "" || r == "" {
				continue
			}
			n, _ := strconv.Atoi(f[9])
			if n == inode {
				ours, listens = row{l, r}, f[3] == "0A"
			} else if n != 0 {
				ends[row{l, r}] = n
			}
		}
	}
	if ours.local == "" {
		return "", "", 0, false
	}
	return ours.local, ours.remote, ends[row{ours.remote, ours.local}], listens
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
