//go:build linux

package tracer

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// redactCall replaces the secrets in the arguments of a call. Of the bytes that it moves, the decoder has left
// out what they are, unless they are to be kept.
func (t *tracer) redactCall(d *posixtrace.SyscallData) {
	if t.redact != nil {
		t.redact.Add(t.redact.Call(d))
	}
}

// redactText replaces the secrets in a text. cut: only its beginning is known.
func (t *tracer) redactText(b []byte, cut bool) []byte {
	if t.redact == nil {
		return b
	}
	return t.redact.Text(b, cut)
}

// redactProgram replaces the secrets in what a program was executed with.
func (t *tracer) redactProgram(d posixtrace.ExecData) posixtrace.ExecData {
	if t.redact == nil {
		return d
	}
	size := 0
	for _, a := range d.Argv {
		size += len(a) + 1
	}
	t.redact.Add(t.redact.Exec(&d, size > t.cfg.MaxData)) // more than this is not read
	return d
}
