//go:build linux

package tracer

import (
	"github.com/posixtrace/posixtrace/cmd/internal/redact"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// transfer is a direction of a descriptor of a process.
type transfer struct {
	pid, fd int
	out     bool
}

// maxTransfers bounds the descriptors with an open match.
const maxTransfers = 1024

// redactCall replaces the secrets in the arguments of a call. A secret that a program reads or writes in
// several calls is hidden but for its first bytes.
func (t *tracer) redactCall(k *task, d *posixtrace.SyscallData) {
	if t.redact == nil {
		return
	}
	list := k.call.kinds()
	if len(list) > 1 && list[0] == kFD && (list[1] == kIn || list[1] == kOut) && len(d.Args) > 1 && d.Args[1].String {
		key := transfer{k.pid, int(int32(k.call.raw[0])), list[1] == kIn}
		d.Args[1].Value = t.redactData(key, &d.Args[1])
	}
	t.redact.Add(t.redact.Call(d))
}

// redactData replaces the secrets in the bytes that a call has transferred.
func (t *tracer) redactData(key transfer, a *posixtrace.SyscallArg) []byte {
	l := t.transfers[key]
	if l == nil {
		l = t.redact.NewLine()
	}
	more := redact.MayContinue
	if a.Cut {
		more = redact.Continues
	}
	b, n := l.Piece(a.Value, more)
	t.redact.Add(n)
	delete(t.transfers, key)
	if !a.Cut && !l.Idle() && len(t.transfers) < maxTransfers { // what was cut off is unknown
		t.transfers[key] = l
	}
	return b
}

// redactText replaces the secrets in a text. cut: only its beginning is known.
func (t *tracer) redactText(b []byte, cut bool) []byte {
	if t.redact == nil {
		return b
	}
	more := redact.Ends
	if cut {
		more = redact.Continues
	}
	b, n := t.redact.NewLine().Piece(b, more)
	t.redact.Add(n)
	return b
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
