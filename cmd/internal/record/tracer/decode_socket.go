//go:build linux

package tracer

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// appendSockaddr appends the address of a socket: AF_INET:127.0.0.1:80,
// AF_INET6:[::1]:80, AF_UNIX:/run/x, AF_UNIX:@abstract.
func (t *tracer) appendSockaddr(b []byte, tid int, addr, size uint64) []byte {
	var m [128]byte // struct sockaddr_storage
	n := int(min(size, uint64(len(m))))
	if n < 2 || readMemory(tid, addr, m[:n]) < n {
		return appendAddress(b, addr)
	}
	family := binary.NativeEndian.Uint16(m[:])
	b = flagTables[fDomain].append(b, uint64(family))
	port := func() uint16 { return binary.BigEndian.Uint16(m[2:]) }
	switch {
	case family == unix.AF_INET && n >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(m[4:8])), port()).AppendTo(append(b, ':'))
	case family == unix.AF_INET6 && n >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(m[8:24])), port()).AppendTo(append(b, ':'))
	case family == unix.AF_UNIX && n > 2:
		name := m[2:n]
		if name[0] == 0 {
			return append(append(b, ":@"...), name[1:]...)
		}
		name, _, _ = bytes.Cut(name, []byte{0})
		return append(append(b, ':'), name...)
	case family == unix.AF_NETLINK && n >= 12:
		return strconv.AppendUint(append(b, ':'), uint64(nativeUint32(m[4:])), 10)
	}
	return b
}
