//go:build linux

package tracer

import (
	"encoding/binary"
	"strconv"
)

// appendEnvironment appends the address of an environment and the number of its variables. The
// tracer never records what they are.
func appendEnvironment(b []byte, tid int, addr uint64) []byte {
	b = appendAddress(b, addr)
	if addr == 0 {
		return b
	}
	w := wordReader{tid: tid, at: addr}
	count := 0
	for w.next() != 0 {
		count++
	}
	if !w.ok() {
		return b
	}
	return appendCount(b, count, "var", "vars")
}

// appendCount appends a number of things as a comment of C.
func appendCount(b []byte, n int, one, many string) []byte {
	if n != 1 {
		one = many
	}
	b = strconv.AppendInt(append(b, " /* "...), int64(n), 10)
	return append(append(append(b, ' '), one...), " */"...)
}

// entriesMax bounds the bytes of the entries of a directory that are read.
const entriesMax = 1 << 16

// appendEntries appends the address of the entries of a directory, and their number.
func (t *tracer) appendEntries(b []byte, tid int, addr uint64, size int64) []byte {
	b = appendAddress(b, addr)
	if size < 0 || size > entriesMax {
		return b
	}
	m := t.memory(int(size))
	if readMemory(tid, addr, m) < len(m) {
		return b
	}
	count := 0
	for len(m) > 0 {
		const length = 16 // its offset in struct linux_dirent and struct linux_dirent64
		if len(m) < length+2 {
			return b
		}
		n := int(binary.NativeEndian.Uint16(m[length:]))
		if n < length+2 || n > len(m) {
			return b
		}
		m, count = m[n:], count+1
	}
	return appendCount(b, count, "entry", "entries")
}

// messagesMax is how many messages of sendmmsg(2) and recvmmsg(2) are shown.
const messagesMax = 4

// messageSize is the size of struct mmsghdr: struct msghdr, and how long the message was.
const messageSize = 64

// appendMessages appends an array of struct mmsghdr.
func (t *tracer) appendMessages(b []byte, tid int, addr uint64, count int, returned bool) []byte {
	if addr == 0 {
		return appendAddress(b, addr)
	}
	shown := min(count, messagesMax)
	b = append(b, '[')
	for i := range shown {
		if i > 0 {
			b = append(b, ", "...)
		}
		at := addr + uint64(i)*messageSize
		total := ^uint64(0)
		if returned {
			r, ok := t.structure(tid, at+56, 4)
			if !ok {
				b = appendAddress(b, at)
				continue
			}
			total = uint64(uint32(r.int()))
		}
		b = t.appendMessage(b, tid, at, total)
	}
	return appendEnd(b, count, shown)
}
