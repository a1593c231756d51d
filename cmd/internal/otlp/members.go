package otlp

import (
	"encoding/hex"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/cmd/internal/typename"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// appendMembers appends the members of a system event, or its data if that is malformed. Their names
// are those of the semantic conventions where they have one.
func (l *Log) appendMembers(b []byte, rec *posixtrace.Record, t *eventType) []byte {
	switch rec.ID {
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			return appendOutput(b, rec, &d)
		}
	case posixtrace.EventStart:
		if s, err := posixtrace.DecodeSet(rec.Data); err == nil {
			return l.appendSet(b, "posixtrace.filter", &s)
		}
	case posixtrace.EventFilter:
		if before, after, err := posixtrace.DecodeFilter(rec.Data); err == nil {
			return l.appendSet(l.appendSet(b, "posixtrace.old_filter", &before), "posixtrace.new_filter", &after)
		}
	case posixtrace.EventStop:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return appendIntAttribute(b, "posixtrace.auto", int64(n))
		}
	case posixtrace.EventError:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return appendErrno(b, n)
		}
	case posixtrace.EventProcExec:
		if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
			return appendExec(b, &d)
		}
	case posixtrace.EventProcExit:
		if d, err := posixtrace.DecodeExit(rec.Data); err == nil {
			b = appendIntAttribute(b, "process.exit.code", int64(d.Status))
			if d.Signal != 0 {
				b = appendStringAttribute(b, "posixtrace.signal", output.SignalName(d.Signal))
			}
			return appendUsage(b, &d)
		}
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil {
			return appendStringAttribute(appendIntAttribute(b, "posixtrace.child", int64(d.Child)), "posixtrace.kind", d.Kind.String())
		}
	case posixtrace.EventProcSignal:
		if d, err := posixtrace.DecodeSignal(rec.Data); err == nil {
			b = appendStringAttribute(b, "posixtrace.signal", output.SignalName(d.Signal))
			b = appendIntAttribute(b, "posixtrace.code", int64(d.Code))
			return appendIntAttribute(appendIntAttribute(b, "posixtrace.sender", int64(d.Sender)), "posixtrace.sender_uid", int64(d.UID))
		}
	case posixtrace.EventProcMap:
		if d, err := posixtrace.DecodeMap(rec.Data); err == nil {
			return appendMap(b, &d)
		}
	case posixtrace.EventProcContext:
		if d, err := posixtrace.DecodeContext(rec.Data); err == nil {
			return appendContext(b, &d)
		}
	default:
		if t.call {
			if d, err := posixtrace.DecodeSyscall(rec.Data); err == nil {
				return appendCall(b, &d)
			}
		}
	}
	return appendPayload(b, "posixtrace.data", rec)
}

var streams = [2]string{"stdout", "stderr"}

func appendOutput(b []byte, rec *posixtrace.Record, d *posixtrace.OutputData) []byte {
	stream := streams[0]
	if rec.ID == posixtrace.EventOutputStderr {
		stream = streams[1]
	}
	b = appendKey(b, "log.iostream")
	b = append(append(append(b, `{"stringValue":"`...), stream...), `"}}`...)
	for _, f := range [...]struct {
		key string
		is  bool
	}{{"posixtrace.continues", d.Continues}, {"posixtrace.no_newline", d.NoNewline}, {"posixtrace.return", d.Return}} {
		if f.is {
			b = appendBoolAttribute(b, f.key, true)
		}
	}
	return b
}

func (l *Log) appendSet(b []byte, key string, set *posixtrace.EventSet) []byte {
	names := typename.OfSet(func(id posixtrace.EventID) string { return escape.String(typename.OrNumber(l.name(id), id)) }, set)
	return appendArray(b, key, names, bytesOf)
}

func appendErrno(b []byte, n int) []byte {
	if n == 0 {
		return b
	}
	b = appendStringAttribute(b, "error.type", output.ErrnoName(n))
	return appendIntAttribute(b, "posixtrace.errno", int64(n))
}

func appendExec(b []byte, d *posixtrace.ExecData) []byte {
	b = appendStringAttribute(b, "process.executable.path", d.Path)
	return appendArray(b, "process.command_args", d.Argv, bytesOf)
}

// appendUsage appends what a process used.
func appendUsage(b []byte, d *posixtrace.ExitData) []byte {
	if d.CoreDumped {
		b = appendBoolAttribute(b, "posixtrace.core", true)
	}
	for _, m := range [...]struct {
		key string
		n   int64
	}{
		{"posixtrace.user_ns", int64(d.User)}, {"posixtrace.system_ns", int64(d.System)}, {"posixtrace.maxrss", d.MaxRSS},
		{"posixtrace.minor_faults", d.MinorFault}, {"posixtrace.major_faults", d.MajorFault},
		{"posixtrace.blocks_in", d.BlocksIn}, {"posixtrace.blocks_out", d.BlocksOut},
		{"posixtrace.voluntary_switches", d.Voluntary}, {"posixtrace.involuntary_switches", d.Involunt},
	} {
		b = appendIntAttribute(b, m.key, m.n)
	}
	return b
}

func appendMap(b []byte, d *posixtrace.MapData) []byte {
	b = appendStringAttribute(b, "posixtrace.map.file", d.Path)
	b = appendHexAttribute(b, "posixtrace.map.start", d.Start)
	b = appendHexAttribute(b, "posixtrace.map.end", d.End)
	b = appendHexAttribute(b, "posixtrace.map.offset", d.Offset)
	b = appendStringAttribute(b, "posixtrace.map.build_id", hex.EncodeToString(d.BuildID))
	b = appendBoolAttribute(b, "posixtrace.map.removed", d.Removed)
	b = appendBoolAttribute(b, "posixtrace.map.first", d.First)
	return appendIntAttribute(b, "posixtrace.map.parent", int64(d.Parent))
}

func appendContext(b []byte, d *posixtrace.ContextData) []byte {
	b = appendStringAttribute(b, "posixtrace.trace_id", hex.EncodeToString(d.TraceID[:]))
	b = appendStringAttribute(b, "posixtrace.span_id", hex.EncodeToString(d.SpanID[:]))
	b = appendStringAttribute(b, "posixtrace.parent_span_id", hex.EncodeToString(d.Parent[:]))
	b = appendIntAttribute(b, "posixtrace.trace_flags", int64(d.Flags))
	return appendStringAttribute(b, "posixtrace.tracestate", d.State)
}

func appendCall(b []byte, d *posixtrace.SyscallData) []byte {
	b = appendArray(b, "posixtrace.args", d.Args, func(a posixtrace.SyscallArg) []byte { return a.Value })
	b = appendBoolAttribute(b, "posixtrace.returned", d.Returned)
	b = appendIntAttribute(b, "posixtrace.result", d.Result)
	b = appendErrno(b, d.Errno)
	if d.Restarted != 0 {
		b = appendStringAttribute(b, "posixtrace.restarted", output.ErrnoName(d.Restarted))
	}
	return appendIntAttribute(b, "posixtrace.duration_ns", int64(d.Duration))
}
