package spool

import (
	"bytes"
	"encoding/hex"

	"github.com/posixtrace/posixtrace/cmd/internal/record/tracecontext"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// traceContext parses TRACEPARENT:PARENT:TRACESTATE, the value that pt_step gives to its command, the
// parent-id of the value that came in, and the state, which may be empty. It returns the data of
// posixtrace.EventProcContext, or nil if the text is malformed.
func traceContext(b []byte) []byte {
	value, b, _ := bytes.Cut(b, colon)
	parent, state, ok := bytes.Cut(b, colon)
	d, err := tracecontext.Parse(string(value))
	if err != nil || !ok || len(parent) != hex.EncodedLen(len(d.Parent)) {
		return nil
	}
	if _, err := hex.Decode(d.Parent[:], parent); err != nil || d.Parent == [8]byte{} {
		return nil
	}
	if s := string(state); tracecontext.ValidState(s) {
		d.State = s
	}
	return d.Append(nil)
}

// rewriteState rewrites the state of a context, the only text in it.
func rewriteState(trace []byte, rewrite Rewrite) []byte {
	d, err := posixtrace.DecodeContext(trace)
	if err != nil || d.State == "" {
		return trace
	}
	d.State = string(rewrite([]byte(d.State), false))
	return d.Append(nil)
}
