package posixtrace

// ContextData is the data of EventProcContext: the W3C trace context of a span. The span is the one
// that the next event of the same process and thread starts: proc.exec, or an event NAME.begin. It
// is recorded only if the environment has a valid TRACEPARENT. Extension.
type ContextData struct {
	TraceID [16]byte
	SpanID  [8]byte // of the span, the parent-id that its command finds in TRACEPARENT
	Parent  [8]byte // of the span around it, the parent-id that came in
	Flags   byte
	State   string // the value of TRACESTATE; "" if there is none, or none that is valid
}

const contextDataSize = 16 + 8 + 8 + 1

// Append appends the encoded form.
func (d *ContextData) Append(b []byte) []byte {
	b = append(b, d.TraceID[:]...)
	b = append(b, d.SpanID[:]...)
	b = append(b, d.Parent[:]...)
	return append(append(b, d.Flags), d.State...)
}

// DecodeContext decodes the data of EventProcContext. If the record was truncated, State may be
// incomplete. Errors: EINVAL malformed data.
func DecodeContext(data []byte) (d ContextData, err error) {
	if len(data) < contextDataSize {
		return d, einval("DecodeContext", "proc.context data of %d bytes", len(data))
	}
	copy(d.TraceID[:], data)
	copy(d.SpanID[:], data[16:])
	copy(d.Parent[:], data[24:])
	d.Flags, d.State = data[32], string(data[contextDataSize:])
	return d, nil
}
