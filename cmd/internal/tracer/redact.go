//go:build linux

package tracer

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// redactCall replaces the secrets in the arguments of a call.
func (t *tracer) redactCall(k *task, d *posixtrace.SyscallData) {
	if t.redact == nil {
		return
	}
	t.redact.Add(t.transfers.Call(callName(k.call.nr), k.pid, d, func(part int) []byte { return t.tail(k, d, part) }))
}

// tailMax bounds the bytes of which a call shows nothing and that are searched for the beginning of a
// match.
const tailMax = 4096

// tail returns the last bytes of a block that a call has passed on, or of all that it has passed on.
func (t *tracer) tail(k *task, d *posixtrace.SyscallData, part int) []byte {
	list := k.call.kinds()
	if len(list) < 2 || !d.Returned || d.Errno != 0 || d.Result <= 0 {
		return nil
	}
	raw, total := &k.call.raw, uint64(d.Result)
	switch list[1] {
	case kIn, kOut:
		return readTail(k.tid, raw[1], min(total, raw[2]))
	case kBlocksIn, kBlocksOut:
		return t.blockTail(k.tid, raw[1], raw[2], total, part)
	case kMessageIn, kMessageOut:
		if r, ok := t.structure(k.tid, raw[1], 56); ok {
			r.word()
			r.word()
			blocks := r.word()
			return t.blockTail(k.tid, blocks, r.word(), total, part)
		}
	}
	return nil
}

// blockTail returns the last bytes of an element of an array of struct iovec, or of the one with the
// last of total bytes.
func (t *tracer) blockTail(tid int, addr, count, total uint64, part int) []byte {
	w := wordReader{tid: tid, at: addr}
	for i := 0; i < int(min(count, maxBlocks)); i++ {
		base := w.next()
		size := min(w.next(), total)
		total -= size
		if i == part || total == 0 {
			return readTail(tid, base, size)
		}
	}
	return nil
}

func readTail(tid int, addr, size uint64) []byte {
	b := make([]byte, min(size, tailMax))
	if readMemory(tid, addr+size-uint64(len(b)), b) < len(b) {
		return nil
	}
	return b
}

// redactText replaces the secrets in a text. cut: only its beginning is known.
func (t *tracer) redactText(b []byte, cut bool) []byte {
	if t.redact == nil {
		return b
	}
	return t.redact.Text(b, cut)
}

// redactProgram replaces the secrets in the path and the arguments of a program.
func (t *tracer) redactProgram(d posixtrace.ExecData) posixtrace.ExecData {
	if t.redact == nil {
		return d
	}
	d.Path = string(t.redactText([]byte(d.Path), false))
	size := 0
	for i, a := range d.Argv {
		size += len(a) + 1
		// More than this is not read.
		d.Argv[i] = string(t.redactText([]byte(a), size > t.cfg.MaxData))
	}
	return d
}
