//go:build linux

package tracer

import "strconv"

// setMax bounds the bytes of a set of descriptors that are read.
const setMax = 128

// setSize returns how many bytes of each set select(2) uses.
func (c *call) setSize() int {
	n := min(max(int(int32(c.raw[0])), 0), 8*setMax)
	return (n + 63) / 64 * 8
}

// copySets copies the sets of descriptors of select(2), from argument i on, at its entry. On return
// they have the descriptors that are ready.
func (t *tracer) copySets(k *task, i int) {
	c := &k.call
	size := c.setSize()
	for ; i < 4; i++ {
		var m [setMax]byte
		n := readMemory(k.tid, c.raw[i], m[:size])
		if n < size {
			clear(m[:])
		}
		c.watched = append(c.watched, m[:size]...)
	}
}

// appendSelect appends the descriptors of argument i of select(2) and, if it has returned, those that
// are ready: [3 4 9], [3 4 9] ready=[4].
func (t *tracer) appendSelect(b []byte, k *task, i int, returned bool) []byte {
	c, addr := &k.call, k.call.raw[i]
	size := c.setSize()
	if addr == 0 || len(c.watched) < size*i || i < 1 {
		return appendAddress(b, addr)
	}
	var m [setMax]byte
	if readMemory(k.tid, addr, m[:size]) < size {
		return appendAddress(b, addr)
	}
	limit := int(int32(c.raw[0]))
	b = t.appendSet(b, k.tid, c.watched[size*(i-1):size*i], limit)
	if returned {
		b = t.appendSet(append(b, " ready="...), k.tid, m[:size], limit)
	}
	return b
}

// appendSet appends the descriptors below limit in a set.
func (t *tracer) appendSet(b []byte, tid int, set []byte, limit int) []byte {
	b = append(b, '[')
	shown := 0
	for fd := range min(limit, 8*len(set)) {
		if set[fd/8]>>(fd%8)&1 == 0 {
			continue
		}
		if shown > 0 {
			b = append(b, ' ')
		}
		if shown++; shown > listMax {
			return append(b, "...]"...)
		}
		b = t.appendFD(b, tid, fd)
	}
	return append(b, ']')
}

// appendBits appends the numbers of the bits of a set: [0 1 5].
func appendBits(b, set []byte) []byte {
	b = append(b, '[')
	shown := 0
	for n := range 8 * len(set) {
		if set[n/8]>>(n%8)&1 == 0 {
			continue
		}
		if shown > 0 {
			b = append(b, ' ')
		}
		if shown++; shown > 4*listMax {
			return append(b, "...]"...)
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}
