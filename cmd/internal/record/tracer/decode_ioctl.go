//go:build linux

package tracer

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Commands without a name in package unix, or not on each processor: ppc64le has no TCGETS2.
const (
	fionbio  = 0x5421
	fioasync = 0x5452
	tcgets2  = 0x802c542a
	tcsets2  = 0x402c542b
)

// appendCommand appends the name of a command of ioctl(2), or what the number says: the direction, the
// type, the number and the size of the argument.
func appendCommand(b []byte, v uint32) []byte {
	for _, f := range flagTables[fIoctl].values {
		if uint64(v) == f.bits {
			return append(b, f.name...)
		}
	}
	if v>>16 == 0 { // from the time before numbers had a size
		return appendHex(b, uint64(v))
	}
	b = append(append(b, "_IOC("...), []string{"_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE"}[v>>30]...)
	b = appendHex(append(b, ", "...), uint64(v>>8&0xff))
	b = appendHex(append(b, ", "...), uint64(v&0xff))
	return append(appendHex(append(b, ", "...), uint64(v>>16&0x3fff)), ')')
}

// appendControl appends the argument of a command of ioctl(2). Some set it only if the call
// succeeds.
func (t *tracer) appendControl(b []byte, tid int, command, v uint64, returned bool) []byte {
	switch uint32(command) {
	case unix.TIOCSPGRP, unix.TIOCSPTLCK, fionbio, fioasync:
		return t.appendInt(b, tid, v)
	case unix.TIOCSWINSZ:
		return t.appendWindow(b, tid, v)
	case unix.TCSETS, unix.TCSETSW, unix.TCSETSF:
		return t.appendTerminal(b, tid, v)
	case unix.FICLONE:
		return t.appendFD(b, tid, int(int32(v)))
	case unix.TCFLSH, unix.TCSBRK, unix.TCXONC, unix.TIOCSCTTY, unix.TIOCGPTPEER:
		return strconv.AppendInt(b, int64(int32(v)), 10)
	}
	if !returned {
		return appendAddress(b, v)
	}
	switch uint32(command) {
	case unix.TIOCINQ, unix.TIOCOUTQ, unix.TIOCGPGRP, unix.TIOCGSID, unix.TIOCGPTN:
		return t.appendInt(b, tid, v)
	case unix.TIOCGWINSZ:
		return t.appendWindow(b, tid, v)
	case unix.TCGETS:
		return t.appendTerminal(b, tid, v)
	}
	return appendAddress(b, v)
}

// appendWindow appends struct winsize.
func (t *tracer) appendWindow(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 8)
	if !ok {
		return appendAddress(b, addr)
	}
	b = strconv.AppendUint(append(b, "{rows="...), uint64(r.half()), 10)
	return append(strconv.AppendUint(append(b, " cols="...), uint64(r.half()), 10), '}')
}

// terminalModes are what people look at in the modes of a terminal: the word of struct termios, and
// the bits.
var terminalModes = []struct {
	word int
	bits uint32
	name string
}{
	{0, unix.ICRNL, "icrnl"}, {0, unix.IXON, "ixon"}, {1, unix.OPOST, "opost"}, {3, unix.ISIG, "isig"}, {3, unix.ICANON, "icanon"}, {3, unix.ECHO, "echo"},
}

// appendTerminal appends the modes of struct termios: {icrnl ixon opost isig -icanon -echo}.
func (t *tracer) appendTerminal(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 16)
	if !ok {
		return appendAddress(b, addr)
	}
	var words [4]uint32
	for i := range words {
		words[i] = uint32(r.int())
	}
	for i, m := range terminalModes {
		b = append(b, "{ "[min(i, 1)])
		if words[m.word]&m.bits == 0 {
			b = append(b, '-')
		}
		b = append(b, m.name...)
	}
	return append(b, '}')
}
