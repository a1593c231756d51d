package ctf

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// appendMembers appends the decoded members of a system event. It returns no fields if it cannot.
func (t *Trace) appendMembers(b []byte, rec *posixtrace.Record) ([]byte, kind, []string) {
	switch rec.ID {
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			return t.appendLine(b, &d)
		}
	case posixtrace.EventStart:
		if s, err := posixtrace.DecodeSet(rec.Data); err == nil {
			return appendStrings(b, t.setNames(&s)), decoded, startFields
		}
	case posixtrace.EventFilter:
		if before, after, err := posixtrace.DecodeFilter(rec.Data); err == nil {
			return appendStrings(appendStrings(b, t.setNames(&before)), t.setNames(&after)), decoded, filterFields
		}
	case posixtrace.EventStop:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return le.AppendUint32(b, uint32(n)), decoded, stopFields
		}
	case posixtrace.EventError:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return le.AppendUint32(b, uint32(n)), decoded, errorFields
		}
	case posixtrace.EventProcExec, posixtrace.EventProcExit, posixtrace.EventProcFork, posixtrace.EventProcSignal,
		posixtrace.EventProcMap, posixtrace.EventProcContext, posixtrace.EventProcTimeout, posixtrace.EventHangThread, posixtrace.EventResSample, posixtrace.EventFileAccess:
		return t.appendProcess(b, rec)
	default:
		if rec.ID <= posixtrace.EventUnnamed || !strings.HasPrefix(t.Name(rec.ID), "syscall.") {
			break
		}
		if t.call.Decode(rec.Data) == nil {
			return t.appendCall(b, &t.call)
		}
	}
	return b, raw, nil
}

// appendProcess appends the members of an event of a process.
func (t *Trace) appendProcess(b []byte, rec *posixtrace.Record) ([]byte, kind, []string) {
	switch rec.ID {
	case posixtrace.EventProcExec:
		if program, more, ok := sysevent.Exec(rec.Data); ok && len(more) == 0 {
			if b, ok := appendPlainExec(b, program); ok {
				return b, decoded, execFields
			}
		}
		if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
			return t.appendExec(b, &d)
		}
	case posixtrace.EventProcExit:
		if d, err := posixtrace.DecodeExit(rec.Data); err == nil {
			return appendExit(b, &d), decoded, exitFields
		}
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil {
			return le.AppendUint32(le.AppendUint32(b, uint32(d.Child)), uint32(d.Kind)), decoded, forkFields
		}
	case posixtrace.EventProcSignal:
		if d, err := posixtrace.DecodeSignal(rec.Data); err == nil {
			b = le.AppendUint32(le.AppendUint32(b, uint32(d.Signal)), uint32(d.Code))
			return le.AppendUint32(le.AppendUint32(b, uint32(d.Sender)), uint32(d.UID)), decoded, signalFields
		}
	case posixtrace.EventProcMap:
		if d, err := posixtrace.DecodeMap(rec.Data); err == nil {
			return t.appendMap(b, &d)
		}
	case posixtrace.EventProcContext:
		if d, err := posixtrace.DecodeContext(rec.Data); err == nil {
			return t.appendContext(b, &d)
		}
	case posixtrace.EventProcTimeout:
		if d, err := posixtrace.DecodeTimeout(rec.Data); err == nil {
			return le.AppendUint32(le.AppendUint64(b, uint64(d.Limit)), uint32(d.Signal)), decoded, timeoutFields
		}
	case posixtrace.EventHangThread:
		if d, err := posixtrace.DecodeHang(rec.Data); err == nil {
			return t.appendHang(b, &d)
		}
	case posixtrace.EventResSample:
		if d, err := posixtrace.DecodeResSample(rec.Data); err == nil {
			return appendResSample(b, &d), decoded, resFields
		}
	case posixtrace.EventFileAccess:
		if d, err := posixtrace.DecodeFile(rec.Data); err == nil {
			return t.appendFile(b, &d)
		}
	}
	return b, raw, nil
}

// setNames returns the members of a set of event types.
func (t *Trace) setNames(set *posixtrace.EventSet) []string {
	return catalog.TypesOfSet(func(id posixtrace.EventID) string {
		return escape.String(catalog.TypeOrNumber(t.Name(id), id))
	}, set)
}

func (t *Trace) appendLine(b []byte, d *posixtrace.OutputData) ([]byte, kind, []string) {
	k, fields := decoded, lineFields
	if !isText(d.Line) {
		k, fields = decodedBytes, lineBytesFields
	}
	b = t.appendData(b, d.Line, k)
	b = appendBool(b, !d.NoNewline && !d.Continues && !d.Return)
	return appendBool(appendBool(b, d.Continues), d.Return), k, fields
}

// appendPlainExec appends the members of an exec whose strings are text and not empty, as nearly all are.
// They lie in the data as CTF has them: each ends at a NUL. There is nothing behind them. It reports false for
// any other.
func appendPlainExec(b, data []byte) ([]byte, bool) {
	data = bytes.TrimSuffix(data, nul)
	path, args, more := bytes.Cut(data, nul)
	if !more || len(path) == 0 || len(args) == 0 || args[0] == 0 || args[len(args)-1] == 0 || bytes.Contains(args, twoNULs) || !utf8.Valid(data) {
		return b, false
	}
	b = append(append(b, path...), 0)
	b = le.AppendUint32(b, 1+uint32(bytes.Count(args, nul)))
	return append(append(append(b, args...), 0), noLists[:]...), true
}

// noLists are the fields behind the arguments if all are empty.
var noLists [4*6 + 1]byte

var (
	nul     = []byte{0}
	twoNULs = []byte{0, 0}
)

func (t *Trace) appendExec(b []byte, d *posixtrace.ExecData) ([]byte, kind, []string) {
	k, fields := decoded, execFields
	lists := [...][]string{d.Argv, oneOrNone(d.Dir), oneOrNone(d.Stdin), oneOrNone(d.Stdout), oneOrNone(d.Stderr), d.Environment, d.Unset}
	n, text := 1, isText([]byte(d.Path))
	for _, list := range lists {
		text = text && areText(n, list, func(s string) []byte { return []byte(s) })
		n += len(list)
	}
	if !text {
		k, fields = decodedBytes, execBytesFields
	}
	b = t.appendData(b, []byte(d.Path), k)
	for _, list := range lists {
		b = le.AppendUint32(b, uint32(len(list)))
		for _, s := range list {
			b = t.appendData(b, []byte(s), k)
		}
	}
	return appendBool(b, d.Incomplete), k, fields
}

// oneOrNone returns a text that may be unknown as a list.
func oneOrNone(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func appendExit(b []byte, d *posixtrace.ExitData) []byte {
	b = le.AppendUint32(le.AppendUint32(b, uint32(d.Status)), uint32(d.Signal))
	b = appendBool(b, d.CoreDumped)
	for _, v := range [...]int64{int64(d.User), int64(d.System), d.MaxRSS, d.MinorFault, d.MajorFault, d.BlocksIn, d.BlocksOut, d.Voluntary, d.Involunt,
		int64(d.RunDelay), int64(d.Processors), int64(d.Others), int64(d.Idle), int64(d.Pressure)} {
		b = le.AppendUint64(b, uint64(v))
	}
	return b
}

func (t *Trace) appendMap(b []byte, d *posixtrace.MapData) ([]byte, kind, []string) {
	k, fields := decoded, mapFields
	if !isText([]byte(d.Path)) {
		k, fields = decodedBytes, mapBytesFields
	}
	b = t.appendData(b, []byte(d.Path), k)
	b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, d.Start), d.End), d.Offset)
	b = t.appendData(b, hex.AppendEncode(nil, d.BuildID), decoded)
	b = appendBool(appendBool(b, d.Removed), d.First)
	return le.AppendUint32(b, uint32(d.Parent)), k, fields
}

func (t *Trace) appendContext(b []byte, d *posixtrace.ContextData) ([]byte, kind, []string) {
	k, fields := decoded, contextFields
	if !isText([]byte(d.State)) {
		k, fields = decodedBytes, contextBytesFields
	}
	b = append(hex.AppendEncode(b, d.TraceID[:]), 0)
	b = append(hex.AppendEncode(b, d.SpanID[:]), 0)
	b = append(hex.AppendEncode(b, d.Parent[:]), 0)
	return t.appendData(append(b, d.Flags), []byte(d.State), k), k, fields
}

func (t *Trace) appendHang(b []byte, d *posixtrace.HangData) ([]byte, kind, []string) {
	k, fields := decoded, hangFields
	state := ""
	if d.State != 0 {
		state = string([]byte{d.State})
	}
	texts := [...]string{d.Program, state, d.Call, d.Wait, d.For, d.Note}
	toBytes := func(s string) []byte { return []byte(s) }
	if !areText(0, texts[:], toBytes) || !areText(len(texts), d.Args, toBytes) || !areText(len(texts)+len(d.Args), d.Stack, toBytes) {
		k, fields = decodedBytes, hangBytesFields
	}
	for _, s := range texts {
		b = t.appendData(b, []byte(s), k)
	}
	for _, list := range [...][]string{d.Args, d.Stack} {
		b = le.AppendUint32(b, uint32(len(list)))
		for _, s := range list {
			b = t.appendData(b, []byte(s), k)
		}
	}
	b = append(b, byte(d.Kind), byte(d.Cause))
	b = le.AppendUint64(b, uint64(d.Since))
	b = appendBool(appendBool(appendBool(b, d.Exact), d.Stuck), d.Cycle)
	for _, v := range [...]int{d.ForPID, d.ForTID, d.Signal, d.Report} {
		b = le.AppendUint32(b, uint32(v))
	}
	return b, k, fields
}

func appendResSample(b []byte, d *posixtrace.ResSampleData) []byte {
	b = le.AppendUint32(le.AppendUint32(b, uint32(d.Number)), uint32(d.Part))
	b = le.AppendUint64(appendBool(appendBool(b, d.Full), d.Continues), uint64(d.Interval))
	for _, v := range [...]int{d.Processes, d.Threads, d.Descriptors} {
		b = le.AppendUint32(b, uint32(v))
	}
	for _, v := range [...]int64{d.RSS, int64(d.CPU), d.Read, d.Written} {
		b = le.AppendUint64(b, uint64(v))
	}
	b = appendBool(b, d.Group)
	for _, v := range [...]int64{d.Memory, d.Peak, d.Limit, d.OOMKills, int64(d.Throttled), int64(d.CPUStall), int64(d.MemoryStall), int64(d.IOStall)} {
		b = le.AppendUint64(b, uint64(v))
	}
	b = le.AppendUint32(le.AppendUint32(b, uint32(d.OOMProcess)), uint32(d.LimitProcess))
	return appendBool(appendBool(b, d.DirectoryFull), d.TemporaryFull)
}

func (t *Trace) appendFile(b []byte, d *posixtrace.FileData) ([]byte, kind, []string) {
	paths := [...]string{d.Path, d.To, d.Canonical}
	k, fields := decoded, fileFields
	if !areText(0, paths[:], func(s string) []byte { return []byte(s) }) {
		k, fields = decodedBytes, fileBytesFields
	}
	b = appendStrings(append(b, byte(d.Kind)), d.Mode.Words())
	b = le.AppendUint32(b, uint32(d.Err))
	for _, v := range [...]uint64{d.Device, d.Inode, uint64(d.Bytes), uint64(d.Count)} {
		b = le.AppendUint64(b, v)
	}
	for _, v := range [...]uint32{d.Perm, uint32(d.UID), uint32(d.GID)} {
		b = le.AppendUint32(b, v)
	}
	for _, s := range paths {
		b = t.appendData(b, []byte(s), k)
	}
	return b, k, fields
}

func (t *Trace) appendCall(b []byte, d *posixtrace.SyscallData) ([]byte, kind, []string) {
	k := decoded
	if len(d.Args) > 60 || !isText(d.Opened) || !areText(1, d.Args, func(a posixtrace.SyscallArg) []byte { return a.Value }) {
		k = decodedBytes
	}
	b = le.AppendUint32(b, uint32(len(d.Args)))
	for i := range d.Args {
		b = t.appendData(b, d.Args[i].Value, k)
	}
	b = le.AppendUint64(appendBool(b, d.Returned), uint64(d.Result))
	b = le.AppendUint32(le.AppendUint32(b, uint32(d.Errno)), uint32(d.Restarted))
	b = t.appendData(le.AppendUint64(b, uint64(d.Duration)), d.Opened, k)
	if len(d.Stack) == 0 && !d.StackCut {
		return b, k, callFields[k]
	}
	b = le.AppendUint32(b, uint32(len(d.Stack)))
	for _, f := range d.Stack {
		b = appendBool(appendBool(le.AppendUint64(b, f.Address), f.Interrupted), f.Guessed)
	}
	return appendBool(b, d.StackCut), k | withStack, callFields[k|withStack]
}
