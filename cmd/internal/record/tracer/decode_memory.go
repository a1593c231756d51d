//go:build linux

package tracer

import (
	"encoding/binary"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
)

func nativeUint32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }

// appendString appends a string of a process, or its address if the string cannot be read.
func (t *tracer) appendString(b []byte, tid int, addr uint64, limit int) (_ []byte, isString, cut bool) {
	s, cut, ok := readString(tid, addr, t.memory(min(limit, max(t.cfg.MaxData, 16))))
	if !ok {
		return appendAddress(b, addr), false, false
	}
	return append(b, s...), true, cut
}

// appendData appends at most limit of size bytes of a process, or their address if they
// cannot be read.
func (t *tracer) appendData(b []byte, tid int, addr, size uint64, limit int) (_ []byte, isString, cut bool) {
	if addr == 0 {
		return appendAddress(b, addr), false, false
	}
	m := t.memory(int(min(size, uint64(limit))))
	n := readMemory(tid, addr, m)
	if n < len(m) {
		return appendAddress(b, addr), false, false
	}
	return append(b, m...), true, size > uint64(n)
}

// appendMoved appends bytes that a call moves, or what stands for them where they are left out.
func (t *tracer) appendMoved(b []byte, tid int, addr, size uint64) (_ []byte, isString, cut bool) {
	if t.leavesOut && addr != 0 && size > 0 {
		return append(b, redact.Mark...), true, false
	}
	return t.appendData(b, tid, addr, size, dataMax)
}

// stringsMax bounds the number of strings that are shown of an array.
const stringsMax = 32

// appendStrings appends an array of strings in the syntax of JSON.
func (t *tracer) appendStrings(b []byte, tid int, addr uint64) (_ []byte, cut bool) {
	if addr == 0 {
		return appendAddress(b, addr), false
	}
	w := wordReader{tid: tid, at: addr}
	b = append(b, '[')
	for i := 0; ; i++ {
		p := w.next()
		if p == 0 {
			break
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		if i == stringsMax {
			return append(b, "...]"...), false
		}
		s, more, ok := readString(tid, p, t.memory(256))
		if !ok {
			b = appendAddress(b, p)
			continue
		}
		b = appendQuoted(b, s)
		if more {
			b = append(b, "..."...)
		}
	}
	return append(b, ']'), false
}

// appendQuoted appends s in quotes. It leaves bytes that are not printable as they are: an
// analyzer must escape them anyway.
func appendQuoted(b, s []byte) []byte {
	b = append(b, '"')
	for _, c := range s {
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

func (t *tracer) appendFDs(b []byte, tid int, addr uint64) []byte {
	var m [8]byte
	if readMemory(tid, addr, m[:]) < len(m) {
		return appendAddress(b, addr)
	}
	b = t.appendFD(append(b, '['), tid, int(int32(nativeUint32(m[:]))))
	b = t.appendFD(append(b, ", "...), tid, int(int32(nativeUint32(m[4:]))))
	return append(b, ']')
}

// appendFD appends a descriptor, and what it refers to if that is wanted.
func (t *tracer) appendFD(b []byte, tid, fd int) []byte {
	b = strconv.AppendInt(b, int64(fd), 10)
	if t.cfg.Want.Paths {
		b = appendOpened(b, tid, fd)
	}
	return b
}

// appendStat appends the mode and the size of a struct stat.
func (t *tracer) appendStat(b []byte, tid int, addr uint64) []byte {
	var st unix.Stat_t
	m := unsafe.Slice((*byte)(unsafe.Pointer(&st)), unsafe.Sizeof(st))
	if readMemory(tid, addr, m) < len(m) {
		return appendAddress(b, addr)
	}
	return appendFile(b, st.Mode, st.Size, uint64(unix.Major(st.Rdev)), uint64(unix.Minor(st.Rdev)))
}

// appendFile appends the mode of a file, and its size or the numbers of its device.
func appendFile(b []byte, mode uint32, size int64, major, minor uint64) []byte {
	b = appendFileMode(append(b, "{mode="...), mode)
	if kind := mode & unix.S_IFMT; kind == unix.S_IFCHR || kind == unix.S_IFBLK {
		b = strconv.AppendUint(append(b, " rdev="...), major, 10)
		b = strconv.AppendUint(append(b, ':'), minor, 10)
	} else {
		b = strconv.AppendInt(append(b, " size="...), size, 10)
	}
	return append(b, '}')
}

// appendFileMode appends the type of a file and its permissions.
func appendFileMode(b []byte, mode uint32) []byte {
	for _, f := range fileTypes {
		if mode&unix.S_IFMT == f.mode {
			b = append(append(b, f.name...), '|')
		}
	}
	return strconv.AppendUint(append(b, '0'), uint64(mode&0o7777), 8)
}

var fileTypes = []struct {
	mode uint32
	name string
}{
	{unix.S_IFREG, "S_IFREG"}, {unix.S_IFDIR, "S_IFDIR"}, {unix.S_IFLNK, "S_IFLNK"}, {unix.S_IFCHR, "S_IFCHR"},
	{unix.S_IFBLK, "S_IFBLK"}, {unix.S_IFIFO, "S_IFIFO"}, {unix.S_IFSOCK, "S_IFSOCK"},
}

// appendStatus appends a wait status.
func (t *tracer) appendStatus(b []byte, tid int, addr uint64) []byte {
	var m [4]byte
	if readMemory(tid, addr, m[:]) < len(m) {
		return appendAddress(b, addr)
	}
	switch ws := syscall.WaitStatus(nativeUint32(m[:])); {
	case ws.Exited():
		b = strconv.AppendInt(append(b, "{status="...), int64(ws.ExitStatus()), 10)
	case ws.Signaled():
		b = appendSignal(append(b, "{signal="...), int(ws.Signal()))
	case ws.Stopped():
		b = appendSignal(append(b, "{stopped="...), int(ws.StopSignal()))
	default:
		b = appendHex(append(b, "{"...), uint64(ws))
	}
	return append(b, '}')
}
