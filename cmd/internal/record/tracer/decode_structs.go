//go:build linux

package tracer

import (
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/redact"
)

// The structures that system calls read and write. Each is copied once and then decoded,
// since its process may change it at any time. Only the beginning of a long list is shown.

const (
	listMax = 16 // elements that are shown of a list
	ioMax   = 8  // elements that are shown of an array of struct iovec
)

// reader reads the members of a copied structure in sequence.
type reader struct {
	b []byte
}

func (r *reader) word() (v uint64) {
	v, r.b = nativeWord(r.b), r.b[8:]
	return v
}

func (r *reader) int() (v int32) {
	v, r.b = int32(nativeUint32(r.b)), r.b[4:]
	return v
}

func (r *reader) half() (v uint16) {
	v, r.b = binary.NativeEndian.Uint16(r.b), r.b[2:]
	return v
}

// structure reads size bytes at addr, at most listMax of the largest elements. The result is
// valid until the next call.
func (t *tracer) structure(tid int, addr uint64, size int) (r reader, ok bool) {
	r.b = t.copied[:size]
	return r, readMemory(tid, addr, r.b) == size
}

// appendBlocks appends an array of struct iovec: up to total bytes of its data, and its
// lengths: [{"head", 4}, {"body", 4}].
func (t *tracer) appendBlocks(b []byte, tid int, addr uint64, count int, total uint64) []byte {
	var copied [ioMax * 16]byte
	shown := min(max(count, 0), ioMax)
	m := copied[:shown*16]
	if readMemory(tid, addr, m) < len(m) || addr == 0 {
		return appendAddress(b, addr)
	}
	b = append(b, '[')
	for i, r := 0, (reader{m}); i < shown; i++ {
		base, size := r.word(), r.word()
		if i > 0 {
			b = append(b, ", "...)
		}
		b = t.appendBlock(append(b, '{'), tid, base, min(size, total))
		b = append(strconv.AppendUint(append(b, ", "...), size, 10), '}')
		total -= min(size, total)
	}
	return appendEnd(b, count, shown)
}

// appendBlock appends the bytes of an element of such an array, as a text in quotes.
func (t *tracer) appendBlock(b []byte, tid int, base, size uint64) []byte {
	if t.leavesOut && base != 0 && size > 0 {
		return appendQuoted(b, []byte(redact.Mark))
	}
	data := t.memory(int(min(size, dataMax)))
	n := readMemory(tid, base, data)
	if n < len(data) {
		return appendAddress(b, base)
	}
	if b = appendQuoted(b, data); uint64(n) < size {
		b = append(b, "..."...)
	}
	return b
}

// appendEnd ends a list of count elements of which the first ones are shown.
func appendEnd(b []byte, count, shown int) []byte {
	if count > shown {
		b = append(b, ", ..."...)
	}
	return append(b, ']')
}

// appendMessage appends struct msghdr.
func (t *tracer) appendMessage(b []byte, tid int, addr, total uint64) []byte {
	r, ok := t.structure(tid, addr, 56)
	if !ok {
		return appendAddress(b, addr)
	}
	name, size := r.word(), uint32(r.word())
	blocks, count, control, controlSize, flags := r.word(), r.word(), r.word(), r.word(), r.word()
	b = append(b, '{')
	if name != 0 && size != 0 {
		b = append(t.appendSockaddr(append(b, "name="...), tid, name, uint64(size)), ' ')
	}
	b = t.appendBlocks(append(b, "iov="...), tid, blocks, int(min(count, 1024)), total)
	if control != 0 && controlSize != 0 {
		b = strconv.AppendUint(append(b, " control="...), controlSize, 10)
	}
	if f := uint64(uint32(flags)); f != 0 {
		b = flagTables[fMsg].append(append(b, " flags="...), f)
	}
	return append(b, '}')
}

// appendPoll appends an array of struct pollfd. revents is valid only on return.
func (t *tracer) appendPoll(b []byte, tid int, addr, count uint64, returned bool) []byte {
	shown := int(min(count, listMax))
	r, ok := t.structure(tid, addr, shown*8)
	if !ok && shown > 0 {
		return appendAddress(b, addr)
	}
	b = append(b, '[')
	for i := range shown {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = t.appendFD(append(b, "{fd="...), tid, int(r.int()))
		b = flagTables[fPoll].append(append(b, " events="...), uint64(r.half()))
		if got := r.half(); returned && got != 0 {
			b = flagTables[fPoll].append(append(b, " revents="...), uint64(got))
		}
		b = append(b, '}')
	}
	return appendEnd(b, int(min(count, 1<<30)), shown)
}

// appendEpoll appends count of struct epoll_event.
func (t *tracer) appendEpoll(b []byte, tid int, addr uint64, count int, list bool) []byte {
	shown := min(max(count, 0), listMax)
	r, ok := t.structure(tid, addr, shown*epollEventSize)
	if !ok && shown > 0 || addr == 0 {
		return appendAddress(b, addr)
	}
	if list {
		b = append(b, '[')
	}
	for i := range shown {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = flagTables[fEpoll].append(append(b, "{events="...), uint64(uint32(r.int())))
		r.b = r.b[epollEventSize-12:]
		b = append(appendHex(append(b, " data="...), r.word()), '}')
	}
	if !list {
		return b
	}
	return appendEnd(b, count, shown)
}

// epollEventSize is the size of struct epoll_event. Its last member is data.
const epollEventSize = int(unsafe.Sizeof(unix.EpollEvent{}))

// actionMask is the offset of the mask in the kernel's struct sigaction: behind the handler,
// the flags and the restorer.
const actionMask = 24

// appendStatx appends the mode of a struct statx, and its size or device.
func (t *tracer) appendStatx(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 136)
	if !ok {
		return appendAddress(b, addr)
	}
	mode, size := binary.NativeEndian.Uint16(r.b[28:]), nativeWord(r.b[40:])
	return appendFile(b, uint32(mode), int64(size), uint64(nativeUint32(r.b[128:])), uint64(nativeUint32(r.b[132:])))
}

// appendCloneArgs appends struct clone_args.
func (t *tracer) appendCloneArgs(b []byte, tid int, addr, size uint64) []byte {
	if size < 40 {
		return appendAddress(b, addr)
	}
	r, ok := t.structure(tid, addr, 40)
	if !ok {
		return appendAddress(b, addr)
	}
	b = flagTables[fClone3].append(append(b, "{flags="...), r.word())
	r.b = r.b[24:]
	if sig := int(r.word()); sig != 0 {
		b = appendSignal(append(b, " exit_signal="...), sig)
	}
	return append(b, '}')
}

// appendHow appends struct open_how.
func (t *tracer) appendHow(b []byte, tid int, addr, size uint64) []byte {
	if size < 24 {
		return appendAddress(b, addr)
	}
	r, ok := t.structure(tid, addr, 24)
	if !ok {
		return appendAddress(b, addr)
	}
	b = flagTables[fOpen].append(append(b, "{flags="...), r.word())
	b = strconv.AppendUint(append(b, " mode=0"...), r.word(), 8)
	return append(appendHex(append(b, " resolve="...), r.word()), '}')
}

// appendAction appends the kernel's struct sigaction.
func (t *tracer) appendAction(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, actionMask+8)
	if !ok {
		return appendAddress(b, addr)
	}
	mask := nativeWord(r.b[actionMask:])
	b = append(b, "{handler="...)
	switch handler := r.word(); handler {
	case 0:
		b = append(b, "SIG_DFL"...)
	case 1:
		b = append(b, "SIG_IGN"...)
	default:
		b = appendHex(b, handler)
	}
	b = flagTables[fAction].append(append(b, " flags="...), r.word())
	return append(appendSignals(append(b, " mask="...), mask), '}')
}

// appendSignalSet appends a set of signals.
func (t *tracer) appendSignalSet(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 8)
	if !ok {
		return appendAddress(b, addr)
	}
	return appendSignals(b, r.word())
}

// appendSignals appends a set of signals: its members, or the missing ones if it is nearly
// full: [INT TERM], ~[KILL].
func appendSignals(b []byte, set uint64) []byte {
	count := 0
	for s := set; s != 0; s &= s - 1 {
		count++
	}
	if count > 32 {
		b, set = append(b, '~'), ^set
	}
	b = append(b, '[')
	first := true
	for n := 1; n <= 64; n++ {
		if set>>(n-1)&1 == 0 {
			continue
		}
		if !first {
			b = append(b, ' ')
		}
		first = false
		b = appendSignal(b, n)
	}
	return append(b, ']')
}

// appendLimits appends struct rlimit.
func (t *tracer) appendLimits(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 16)
	if !ok {
		return appendAddress(b, addr)
	}
	limit := func(b []byte, v uint64) []byte {
		if v == unix.RLIM_INFINITY {
			return append(b, "RLIM_INFINITY"...)
		}
		return strconv.AppendUint(b, v, 10)
	}
	b = limit(append(b, "{cur="...), r.word())
	return append(limit(append(b, " max="...), r.word()), '}')
}

// appendInt appends an int.
func (t *tracer) appendInt(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 4)
	if !ok {
		return appendAddress(b, addr)
	}
	return append(strconv.AppendInt(append(b, '['), int64(r.int()), 10), ']')
}

// appendOption appends the name of a socket option, which depends on the level.
func appendOption(b []byte, level, v uint64) []byte {
	switch int32(level) {
	case unix.SOL_SOCKET:
		return flagTables[fOption].append(b, v)
	case unix.SOL_TCP:
		return flagTables[fOptionTCP].append(b, v)
	}
	return strconv.AppendInt(b, int64(int32(v)), 10)
}
