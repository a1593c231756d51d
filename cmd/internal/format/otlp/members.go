package otlp

import (
	"bytes"
	"encoding/hex"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
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
			return l.appendSet(b, attr+"posixtrace.filter"+isArray, &s)
		}
	case posixtrace.EventFilter:
		if before, after, err := posixtrace.DecodeFilter(rec.Data); err == nil {
			return l.appendSet(l.appendSet(b, attr+"posixtrace.old_filter"+isArray, &before), attr+"posixtrace.new_filter"+isArray, &after)
		}
	case posixtrace.EventStop:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return appendIntAttribute(b, attr+"posixtrace.auto"+isInt, int64(n))
		}
	case posixtrace.EventError:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return appendErrno(b, n)
		}
	case posixtrace.EventProcExec:
		if program, more, ok := sysevent.Exec(rec.Data); ok {
			if b = appendExec(b, program); len(more) > 0 {
				return appendHow(b, rec.Data)
			}
			return b
		}
	case posixtrace.EventProcExit:
		if d, err := posixtrace.DecodeExit(rec.Data); err == nil {
			b = appendIntAttribute(b, attr+"process.exit.code"+isInt, int64(d.Status))
			if d.Signal != 0 {
				b = appendStringAttribute(b, attr+"posixtrace.signal"+isString, output.SignalName(d.Signal))
			}
			return appendUsage(b, &d)
		}
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil {
			return appendStringAttribute(appendIntAttribute(b, attr+"posixtrace.child"+isInt, int64(d.Child)), attr+"posixtrace.kind"+isString, d.Kind.String())
		}
	case posixtrace.EventProcSignal:
		if d, err := posixtrace.DecodeSignal(rec.Data); err == nil {
			b = appendStringAttribute(b, attr+"posixtrace.signal"+isString, output.SignalName(d.Signal))
			b = appendIntAttribute(b, attr+"posixtrace.code"+isInt, int64(d.Code))
			return appendIntAttribute(appendIntAttribute(b, attr+"posixtrace.sender"+isInt, int64(d.Sender)), attr+"posixtrace.sender_uid"+isInt, int64(d.UID))
		}
	case posixtrace.EventProcMap:
		if d, err := posixtrace.DecodeMap(rec.Data); err == nil {
			return appendMap(b, &d)
		}
	case posixtrace.EventProcContext:
		if d, err := posixtrace.DecodeContext(rec.Data); err == nil {
			return appendContext(b, &d)
		}
	case posixtrace.EventProcTimeout:
		if d, err := posixtrace.DecodeTimeout(rec.Data); err == nil {
			b = appendIntAttribute(b, attr+"posixtrace.limit_ns"+isInt, int64(d.Limit))
			return appendStringAttribute(b, attr+"posixtrace.signal"+isString, output.SignalName(d.Signal))
		}
	case posixtrace.EventHangThread:
		if d, err := posixtrace.DecodeHang(rec.Data); err == nil {
			return appendHang(b, &d)
		}
	case posixtrace.EventResSample:
		if d, err := posixtrace.DecodeResSample(rec.Data); err == nil {
			return appendResSample(b, &d)
		}
	case posixtrace.EventFileAccess:
		if d, err := posixtrace.DecodeFile(rec.Data); err == nil {
			return appendFile(b, &d)
		}
	default:
		if t.call {
			if l.call.Decode(rec.Data) == nil {
				return appendCall(b, rec.Address, &l.call)
			}
		}
	}
	return appendPayload(b, attr+"posixtrace.data"+isString, rec)
}

func appendResSample(b []byte, d *posixtrace.ResSampleData) []byte {
	for _, a := range [...]struct {
		is    string
		value int64
	}{
		{attr + "posixtrace.sample" + isInt, int64(d.Number)}, {attr + "posixtrace.part" + isInt, int64(d.Part)},
		{attr + "posixtrace.interval_ns" + isInt, int64(d.Interval)}, {attr + "posixtrace.processes" + isInt, int64(d.Processes)},
		{attr + "posixtrace.threads" + isInt, int64(d.Threads)}, {attr + "posixtrace.descriptors" + isInt, int64(d.Descriptors)},
		{attr + "posixtrace.rss" + isInt, d.RSS}, {attr + "posixtrace.cpu_ns" + isInt, int64(d.CPU)},
		{attr + "posixtrace.read_bytes" + isInt, d.Read}, {attr + "posixtrace.written_bytes" + isInt, d.Written},
		{attr + "posixtrace.oom_process" + isInt, int64(d.OOMProcess)},
	} {
		b = appendIntAttribute(b, a.is, a.value)
	}
	b = appendBoolAttribute(appendBoolAttribute(b, attr+"posixtrace.full"+isBool, d.Full), attr+"posixtrace.more"+isBool, d.Continues)
	b = appendIntAttribute(b, attr+"posixtrace.limit_process"+isInt, int64(d.LimitProcess))
	b = appendBoolAttribute(b, attr+"posixtrace.directory_full"+isBool, d.DirectoryFull)
	b = appendBoolAttribute(b, attr+"posixtrace.temporary_full"+isBool, d.TemporaryFull)
	if !d.Group {
		return b
	}
	for _, a := range [...]struct {
		is    string
		value int64
	}{
		{attr + "posixtrace.group_memory" + isInt, d.Memory}, {attr + "posixtrace.group_peak" + isInt, d.Peak},
		{attr + "posixtrace.group_limit" + isInt, d.Limit}, {attr + "posixtrace.oom_kills" + isInt, d.OOMKills},
		{attr + "posixtrace.throttled_ns" + isInt, int64(d.Throttled)}, {attr + "posixtrace.cpu_stall_ns" + isInt, int64(d.CPUStall)},
		{attr + "posixtrace.memory_stall_ns" + isInt, int64(d.MemoryStall)}, {attr + "posixtrace.io_stall_ns" + isInt, int64(d.IOStall)},
	} {
		b = appendIntAttribute(b, a.is, a.value)
	}
	return b
}

func appendFile(b []byte, d *posixtrace.FileData) []byte {
	b = appendStringAttribute(b, attr+"posixtrace.kind"+isString, d.Kind.String())
	b = appendStrings(b, attr+"posixtrace.modes"+isArray, d.Mode.Words())
	b = appendErrno(b, int(d.Err))
	b = appendTextAttribute(b, attr+"file.path"+isString, []byte(d.Path))
	for _, a := range [...]struct{ is, value string }{
		{attr + "posixtrace.to" + isString, d.To}, {attr + "posixtrace.canonical" + isString, d.Canonical},
	} {
		if a.value != "" {
			b = appendTextAttribute(b, a.is, []byte(a.value))
		}
	}
	for _, a := range [...]struct {
		is    string
		value int64
	}{
		{attr + "posixtrace.device" + isInt, int64(d.Device)}, {attr + "file.inode" + isInt, int64(d.Inode)},
		{attr + "posixtrace.count" + isInt, d.Count}, {attr + "posixtrace.perm" + isInt, int64(d.Perm)},
	} {
		if a.value != 0 {
			b = appendIntAttribute(b, a.is, a.value)
		}
	}
	if d.Bytes >= 0 {
		b = appendIntAttribute(b, attr+"posixtrace.bytes"+isInt, d.Bytes)
	}
	if d.Kind == posixtrace.FileChown {
		b = appendIntAttribute(appendIntAttribute(b, attr+"posixtrace.uid"+isInt, int64(d.UID)), attr+"posixtrace.gid"+isInt, int64(d.GID))
	}
	return b
}

func appendOutput(b []byte, rec *posixtrace.Record, d *posixtrace.OutputData) []byte {
	stream := attr + "log.iostream" + isString + "stdout" + stringEnd
	if rec.ID == posixtrace.EventOutputStderr {
		stream = attr + "log.iostream" + isString + "stderr" + stringEnd
	}
	b = append(b, stream...)
	if d.Continues {
		b = appendBoolAttribute(b, attr+"posixtrace.continues"+isBool, true)
	}
	if d.NoNewline {
		b = appendBoolAttribute(b, attr+"posixtrace.no_newline"+isBool, true)
	}
	if d.Return {
		b = appendBoolAttribute(b, attr+"posixtrace.return"+isBool, true)
	}
	return b
}

func (l *Log) appendSet(b []byte, is string, set *posixtrace.EventSet) []byte {
	names := catalog.TypesOfSet(func(id posixtrace.EventID) string { return escape.String(catalog.TypeOrNumber(l.name(id), id)) }, set)
	return appendStrings(b, is, names)
}

func appendErrno(b []byte, n int) []byte {
	if n == 0 {
		return b
	}
	b = appendStringAttribute(b, attr+"error.type"+isString, output.ErrnoName(n))
	return appendIntAttribute(b, attr+"posixtrace.errno"+isInt, int64(n))
}

// appendExec appends what posixtrace.DecodeExec would decode first: strings that end with a NUL, the path
// and the arguments.
func appendExec(b, data []byte) []byte {
	b, data, more := appendToNUL(append(b, attr+"process.executable.path"+isString...), bytes.TrimSuffix(data, nul))
	b = append(b, "}"+attr+"process.command_args"+isArray...)
	for first := true; more; first = false {
		if !first {
			b = append(b, ',')
		}
		b, data, more = appendToNUL(append(b, aString...), data)
	}
	return append(b, arrayEnd...)
}

// appendHow appends what the data of proc.exec has behind the arguments.
func appendHow(b, data []byte) []byte {
	d, err := posixtrace.DecodeExec(data)
	if err != nil {
		return b
	}
	for _, m := range [...]struct{ is, text string }{
		{attr + "process.working_directory" + isString, d.Dir}, {attr + "posixtrace.stdin" + isString, d.Stdin},
		{attr + "posixtrace.stdout" + isString, d.Stdout}, {attr + "posixtrace.stderr" + isString, d.Stderr},
	} {
		if m.text != "" {
			b = appendStringAttribute(b, m.is, m.text)
		}
	}
	if len(d.Environment) > 0 {
		b = appendStrings(b, attr+"posixtrace.environment"+isArray, d.Environment)
	}
	if len(d.Unset) > 0 {
		b = appendStrings(b, attr+"posixtrace.unset"+isArray, d.Unset)
	}
	if d.Incomplete {
		b = appendBoolAttribute(b, attr+"posixtrace.incomplete"+isBool, true)
	}
	return b
}

var nul = []byte{0}

// appendToNUL appends the string at the start of data as text. It returns what follows the NUL, if
// there is one.
func appendToNUL(b, data []byte) (to, rest []byte, more bool) {
	start := len(b)
	b, n := escape.AppendPlain(b, data)
	switch {
	case n == len(data):
		return append(b, `"}`...), nil, false
	case data[n] == 0:
		return append(b, `"}`...), data[n+1:], true
	}
	text, rest, more := bytes.Cut(data, nul)
	return appendText(b[:start], text), rest, more
}

// programOf returns the last part of the path in the data of proc.exec.
func programOf(data []byte) []byte {
	path := sysevent.ExecPath(data)
	if i := bytes.LastIndexByte(path, '/'); i >= 0 && i+1 < len(path) {
		return path[i+1:]
	}
	if len(path) == 0 {
		return []byte("process")
	}
	return path
}

// appendUsage appends what a process used.
func appendUsage(b []byte, d *posixtrace.ExitData) []byte {
	if d.CoreDumped {
		b = appendBoolAttribute(b, attr+"posixtrace.core"+isBool, true)
	}
	b = appendIntAttribute(b, attr+"posixtrace.user_ns"+isInt, int64(d.User))
	b = appendIntAttribute(b, attr+"posixtrace.system_ns"+isInt, int64(d.System))
	b = appendIntAttribute(b, attr+"posixtrace.maxrss"+isInt, d.MaxRSS)
	b = appendIntAttribute(b, attr+"posixtrace.minor_faults"+isInt, d.MinorFault)
	b = appendIntAttribute(b, attr+"posixtrace.major_faults"+isInt, d.MajorFault)
	b = appendIntAttribute(b, attr+"posixtrace.blocks_in"+isInt, d.BlocksIn)
	b = appendIntAttribute(b, attr+"posixtrace.blocks_out"+isInt, d.BlocksOut)
	b = appendIntAttribute(b, attr+"posixtrace.voluntary_switches"+isInt, d.Voluntary)
	b = appendIntAttribute(b, attr+"posixtrace.involuntary_switches"+isInt, d.Involunt)
	if d.Processors > 0 {
		b = appendIntAttribute(b, attr+"posixtrace.run_delay_ns"+isInt, int64(d.RunDelay))
		b = appendIntAttribute(b, attr+"posixtrace.processors"+isInt, int64(d.Processors))
	}
	if d.Others != 0 || d.Idle != 0 || d.Pressure != 0 {
		b = appendIntAttribute(b, attr+"posixtrace.others_ns"+isInt, int64(d.Others))
		b = appendIntAttribute(b, attr+"posixtrace.idle_ns"+isInt, int64(d.Idle))
		b = appendIntAttribute(b, attr+"posixtrace.pressure_ns"+isInt, int64(d.Pressure))
	}
	return b
}

func appendMap(b []byte, d *posixtrace.MapData) []byte {
	b = appendStringAttribute(b, attr+"posixtrace.map.file"+isString, d.Path)
	b = appendHexAttribute(b, attr+"posixtrace.map.start"+isHex, d.Start)
	b = appendHexAttribute(b, attr+"posixtrace.map.end"+isHex, d.End)
	b = appendHexAttribute(b, attr+"posixtrace.map.offset"+isHex, d.Offset)
	b = appendStringAttribute(b, attr+"posixtrace.map.build_id"+isString, hex.EncodeToString(d.BuildID))
	b = appendBoolAttribute(b, attr+"posixtrace.map.removed"+isBool, d.Removed)
	b = appendBoolAttribute(b, attr+"posixtrace.map.first"+isBool, d.First)
	return appendIntAttribute(b, attr+"posixtrace.map.parent"+isInt, int64(d.Parent))
}

func appendContext(b []byte, d *posixtrace.ContextData) []byte {
	b = appendStringAttribute(b, attr+"posixtrace.trace_id"+isString, hex.EncodeToString(d.TraceID[:]))
	b = appendStringAttribute(b, attr+"posixtrace.span_id"+isString, hex.EncodeToString(d.SpanID[:]))
	b = appendStringAttribute(b, attr+"posixtrace.parent_span_id"+isString, hex.EncodeToString(d.Parent[:]))
	b = appendIntAttribute(b, attr+"posixtrace.trace_flags"+isInt, int64(d.Flags))
	return appendStringAttribute(b, attr+"posixtrace.tracestate"+isString, d.State)
}

func appendHang(b []byte, d *posixtrace.HangData) []byte {
	b = appendStringAttribute(b, attr+"process.executable.name"+isString, d.Program)
	b = appendStrings(b, attr+"process.command_args"+isArray, d.Args)
	if d.State != 0 {
		b = appendStringAttribute(b, attr+"posixtrace.state"+isString, string([]byte{d.State}))
	}
	b = appendStringAttribute(b, attr+"posixtrace.kind"+isString, d.Kind.String())
	for _, a := range [...]struct{ is, value string }{
		{attr + "posixtrace.call" + isString, d.Call}, {attr + "posixtrace.wait" + isString, d.Wait},
		{attr + "posixtrace.for" + isString, d.For}, {attr + "posixtrace.note" + isString, d.Note},
	} {
		if a.value != "" {
			b = appendStringAttribute(b, a.is, a.value)
		}
	}
	if d.Since >= 0 {
		b = appendIntAttribute(b, attr+"posixtrace.since_ns"+isInt, int64(d.Since))
	}
	b = appendBoolAttribute(b, attr+"posixtrace.exact"+isBool, d.Exact)
	b = appendIntAttribute(b, attr+"posixtrace.for_pid"+isInt, int64(d.ForPID))
	b = appendIntAttribute(b, attr+"posixtrace.for_tid"+isInt, int64(d.ForTID))
	b = appendBoolAttribute(b, attr+"posixtrace.stuck"+isBool, d.Stuck)
	b = appendBoolAttribute(b, attr+"posixtrace.cycle"+isBool, d.Cycle)
	b = appendStrings(b, attr+"posixtrace.callers"+isArray, d.Stack)
	b = appendStringAttribute(b, attr+"posixtrace.cause"+isString, d.Cause.String())
	if d.Signal != 0 {
		b = appendStringAttribute(b, attr+"posixtrace.signal"+isString, output.SignalName(d.Signal))
	}
	return appendIntAttribute(b, attr+"posixtrace.report"+isInt, int64(d.Report))
}

func appendCall(b []byte, at uint64, d *posixtrace.SyscallData) []byte {
	b = append(b, attr+"posixtrace.args"+isArray...)
	for i := range d.Args {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, aString...), d.Args[i].Value)
	}
	b = append(b, arrayEnd...)
	b = appendBoolAttribute(b, attr+"posixtrace.returned"+isBool, d.Returned)
	b = appendIntAttribute(b, attr+"posixtrace.result"+isInt, d.Result)
	b = appendErrno(b, d.Errno)
	if d.Restarted != 0 {
		b = appendStringAttribute(b, attr+"posixtrace.restarted"+isString, output.ErrnoName(d.Restarted))
	}
	if len(d.Opened) > 0 {
		b = appendTextAttribute(b, attr+"posixtrace.opened"+isString, d.Opened)
	}
	if len(d.Stack) > 0 || d.StackCut {
		b = appendStack(b, at, d)
	}
	return appendIntAttribute(b, attr+"posixtrace.duration_ns"+isInt, int64(d.Duration))
}

// appendStack appends a call stack, an address a line: the call itself first, then its callers.
func appendStack(b []byte, at uint64, d *posixtrace.SyscallData) []byte {
	b = strconv.AppendUint(append(b, attr+"code.stacktrace"+isString+"0x"...), at, 16)
	for _, f := range d.Stack {
		b = strconv.AppendUint(append(b, `\n0x`...), f.Address, 16)
	}
	b = append(b, `"}}`...)
	if d.StackCut {
		b = appendBoolAttribute(b, attr+"posixtrace.stack_cut"+isBool, true)
	}
	return b
}
