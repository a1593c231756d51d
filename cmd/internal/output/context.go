package output

import (
	"encoding/hex"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// appendContextText appends the data of proc.context.
func appendContextText(b []byte, d *posixtrace.ContextData) []byte {
	b = hex.AppendEncode(append(b, " trace="...), d.TraceID[:])
	b = hex.AppendEncode(append(b, " span="...), d.SpanID[:])
	b = hex.AppendEncode(append(b, " parent="...), d.Parent[:])
	b = hex.AppendEncode(append(b, " flags="...), []byte{d.Flags})
	if d.State == "" {
		return b
	}
	return append(escape.Append(append(b, ` state="`...), []byte(d.State)), '"')
}

func appendContextJSON(b []byte, d *posixtrace.ContextData) []byte {
	b = AppendMember(b, "trace_id", hex.EncodeToString(d.TraceID[:]))
	b = AppendMember(b, "span_id", hex.EncodeToString(d.SpanID[:]))
	b = AppendMember(b, "parent_span_id", hex.EncodeToString(d.Parent[:]))
	b = AppendMember(b, "trace_flags", int(d.Flags))
	return AppendMember(b, "tracestate", d.State)
}
