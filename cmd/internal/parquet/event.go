package parquet

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/output"
	"github.com/posixtrace/posixtrace/cmd/internal/typename"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// textValue returns the value of a text. A string of Parquet is UTF-8; other bytes are escaped, and
// exact is false.
func textValue(s string) (v pq.Value, exact bool) {
	if exact = utf8.ValidString(s); !exact {
		s = escape.String(s)
	}
	return pq.ByteArrayValue([]byte(s)), exact
}

func text(s string) pq.Value {
	v, _ := textValue(s)
	return v
}

var (
	classes     = [2]pq.Value{text("system"), text("user")}
	truncations = [...]pq.Value{
		posixtrace.TruncationNone:   text(posixtrace.TruncationNone.String()),
		posixtrace.TruncationRecord: text(posixtrace.TruncationRecord.String()),
		posixtrace.TruncationRead:   text(posixtrace.TruncationRead.String()),
	}
)

// addRequired adds the columns that each event has, one after the other.
func (f *File) addRequired(recs []posixtrace.Record) {
	vals, l := f.vals[:len(recs)], f.log
	for i := range recs {
		vals[i] = pq.Int64Value(recs[i].UnixNano)
	}
	f.columns[colTime].write(vals)
	f.columns[colTimeNS].write(vals)
	for i := range recs {
		vals[i] = pq.Int64Value(int64(recs[i].PID))
	}
	f.columns[colPID].write(vals)
	for i := range recs {
		vals[i] = pq.Int64Value(int64(recs[i].TID))
	}
	f.columns[colTID].write(vals)
	for i := range recs {
		vals[i] = l.name(&recs[i])
	}
	f.columns[colEvent].write(vals)
	for i := range recs {
		vals[i] = pq.Int32Value(int32(recs[i].ID))
	}
	f.columns[colID].write(vals)
	for i := range recs {
		if recs[i].ID.System() {
			vals[i] = classes[0]
		} else {
			vals[i] = classes[1]
		}
	}
	f.columns[colClass].write(vals)
	for i := range recs {
		vals[i] = pq.Int64Value(int64(recs[i].Address))
	}
	f.columns[colAddress].write(vals)
	for i := range recs {
		vals[i] = truncations[recs[i].Truncation]
	}
	f.columns[colTruncation].write(vals)
	for i := range recs {
		vals[i] = pq.Int64Value(int64(len(recs[i].Data)))
	}
	f.columns[colSize].write(vals)
	for c, v := range l.same {
		for i := range vals {
			vals[i] = v
		}
		f.columns[colLogID+c].write(vals)
	}
}

// addEvent adds the other columns of the event that is this row.
func (f *File) addEvent(row int, rec *posixtrace.Record) {
	if rec.Span != 0 {
		f.columns[colSpan].put(row, pq.Int64Value(int64(rec.Span)), 0)
		if rec.Parent != 0 {
			f.columns[colParent].put(row, pq.Int64Value(int64(rec.Parent)), 0)
		}
	}
	if iv := f.log.ends.Of(rec); iv != nil {
		f.number(row, colDuration, iv.End-iv.Start)
	}
	f.keys, f.rest = f.keys[:0], f.rest[:0]
	m := members{f: f, row: row, exact: true}
	if rec.Coarse() {
		m.set("coarse", "true")
	}
	if !rec.ID.System() {
		f.data(row, rec.Data)
	} else if !m.add(rec) {
		f.data(row, rec.Data)
	} else if !m.exact {
		f.columns[colBinary].put(row, pq.ByteArrayValue(rec.Data), len(rec.Data))
	}
	m.end()
}

func (f *File) number(row, col int, n int64) { f.columns[col].put(row, pq.Int64Value(n), 0) }
func (f *File) small(row, col, n int)        { f.columns[col].put(row, pq.Int32Value(int32(n)), 0) }

// data adds data, as text if it is text.
func (f *File) data(row int, data []byte) {
	col := colData
	if !utf8.Valid(data) {
		col = colBinary
	}
	f.columns[col].put(row, pq.ByteArrayValue(data), len(data))
}

// members are the members of a system event. Those without a column of their own are in a map.
type members struct {
	f     *File
	row   int
	exact bool // each text is in its column as it is
}

// set adds a member to the map.
func (m *members) set(key, value string) {
	v, exact := textValue(value)
	m.exact = m.exact && exact
	m.member(key, v)
}

// member adds a member whose value is text.
func (m *members) member(key string, v pq.Value) {
	k, ok := m.f.known[key]
	if !ok {
		k = text(key)
		m.f.known[key] = k
	}
	m.f.keys, m.f.rest = append(m.f.keys, k), append(m.f.rest, v)
}

func (m *members) setInt(key string, value int64) {
	from := len(m.f.digits)
	m.f.digits = strconv.AppendInt(m.f.digits, value, 10)
	m.member(key, pq.ByteArrayValue(m.f.digits[from:]))
}

func (m *members) setBool(key string, value bool) {
	v := falseValue
	if value {
		v = trueValue
	}
	m.member(key, v)
}

var falseValue, trueValue = text("false"), text("true")

func (m *members) setSet(key string, set *posixtrace.EventSet) {
	m.set(key, strings.Join(typename.OfSet(m.f.log.Name, set), ","))
}

// setUnless adds a member that mostly has the same value.
func (m *members) setUnless(usual bool, key string, value bool) {
	if value != usual {
		m.setBool(key, value)
	}
}

// bytes returns the value of bytes that stay as they are until the row is written.
func (m *members) bytes(b []byte) pq.Value {
	if utf8.Valid(b) {
		return pq.ByteArrayValue(b)
	}
	m.exact = false
	return text(string(b))
}

// end adds the map.
func (m *members) end() {
	if len(m.f.rest) == 0 {
		return
	}
	m.f.columns[colMemberKey].list(m.row, len(m.f.keys), func(i int) (pq.Value, int) { return m.f.keys[i], len(m.f.keys[i].ByteArray()) })
	m.f.columns[colMemberValue].list(m.row, len(m.f.rest), func(i int) (pq.Value, int) {
		return m.f.rest[i], len(m.f.rest[i].ByteArray())
	})
}

// add adds the decoded members of a system event, under the names that ptrace-dump --json uses. It
// reports false if it cannot decode them.
func (m *members) add(rec *posixtrace.Record) bool {
	f, row := m.f, m.row
	switch rec.ID {
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		d, err := posixtrace.DecodeOutput(rec.Data)
		if err != nil {
			return false
		}
		f.data(row, d.Line)
		m.setUnless(true, "newline", !d.NoNewline && !d.Continues && !d.Return)
		m.setUnless(false, "continues", d.Continues)
		m.setUnless(false, "return", d.Return)
	case posixtrace.EventStart:
		s, err := posixtrace.DecodeSet(rec.Data)
		if err != nil {
			return false
		}
		m.setSet("filter", &s)
	case posixtrace.EventFilter:
		before, after, err := posixtrace.DecodeFilter(rec.Data)
		if err != nil {
			return false
		}
		m.setSet("old_filter", &before)
		m.setSet("new_filter", &after)
	case posixtrace.EventStop, posixtrace.EventError:
		n, err := posixtrace.DecodeInt(rec.Data)
		switch {
		case err != nil:
			return false
		case rec.ID == posixtrace.EventError:
			f.small(row, colErrno, n)
			f.columns[colErrnoName].put(row, f.errnoName(n), 0)
		default:
			m.setInt("auto", int64(n))
		}
	case posixtrace.EventProcContext:
		d, err := posixtrace.DecodeContext(rec.Data)
		if err != nil {
			return false
		}
		m.set("trace_id", hex.EncodeToString(d.TraceID[:]))
		m.set("span_id", hex.EncodeToString(d.SpanID[:]))
		m.set("parent_span_id", hex.EncodeToString(d.Parent[:]))
		m.setInt("trace_flags", int64(d.Flags))
		m.set("tracestate", d.State)
	default:
		return m.addProcess(rec)
	}
	return true
}

// addProcess is add for the events of processes and system calls.
func (m *members) addProcess(rec *posixtrace.Record) bool {
	f, row := m.f, m.row
	switch rec.ID {
	case posixtrace.EventProcExec:
		if len(rec.Data) == 0 {
			return false
		}
		m.addExec(rec.Data)
	case posixtrace.EventProcExit:
		d, err := posixtrace.DecodeExit(rec.Data)
		if err != nil {
			return false
		}
		m.addExit(&d)
	case posixtrace.EventProcMap:
		d, err := posixtrace.DecodeMap(rec.Data)
		if err != nil {
			return false
		}
		m.addMap(&d)
	case posixtrace.EventProcFork:
		d, err := posixtrace.DecodeFork(rec.Data)
		if err != nil {
			return false
		}
		f.small(row, colChild, d.Child)
		m.set("kind", d.Kind.String())
	case posixtrace.EventProcSignal:
		d, err := posixtrace.DecodeSignal(rec.Data)
		if err != nil {
			return false
		}
		f.small(row, colSignal, d.Signal)
		m.setInt("code", int64(d.Code))
		m.setInt("sender", int64(d.Sender))
		m.setInt("sender_uid", int64(d.UID))
	case posixtrace.EventProcTimeout:
		d, err := posixtrace.DecodeTimeout(rec.Data)
		if err != nil {
			return false
		}
		m.setInt("limit_ns", int64(d.Limit))
		f.small(row, colSignal, d.Signal)
	default:
		if !f.log.isCall(rec) {
			return false
		}
		if f.call.Decode(rec.Data) != nil {
			return false
		}
		m.addCall(rec.Address, &f.call)
	}
	return true
}

// addExec adds the strings that posixtrace.DecodeExec would return: each ends with a NUL.
func (m *members) addExec(data []byte) {
	path, rest, more := bytes.Cut(bytes.TrimSuffix(data, nul), nul)
	m.f.columns[colPath].put(m.row, m.bytes(path), len(path))
	n := 0
	if more {
		n = 1 + bytes.Count(rest, nul)
	}
	m.f.columns[colArgv].list(m.row, n, func(int) (pq.Value, int) {
		var arg []byte
		arg, rest, _ = bytes.Cut(rest, nul)
		return m.bytes(arg), len(arg)
	})
}

var nul = []byte{0}

func (m *members) addExit(d *posixtrace.ExitData) {
	m.f.small(m.row, colStatus, d.Status)
	m.f.small(m.row, colSignal, d.Signal)
	m.f.number(m.row, colUserNS, int64(d.User))
	m.f.number(m.row, colSystemNS, int64(d.System))
	m.f.number(m.row, colMaxRSS, d.MaxRSS)
	m.setBool("core", d.CoreDumped)
	m.setInt("minor_faults", d.MinorFault)
	m.setInt("major_faults", d.MajorFault)
	m.setInt("blocks_in", d.BlocksIn)
	m.setInt("blocks_out", d.BlocksOut)
	m.setInt("voluntary_switches", d.Voluntary)
	m.setInt("involuntary_switches", d.Involunt)
	if d.Processors > 0 {
		m.setInt("run_delay_ns", int64(d.RunDelay))
		m.setInt("processors", int64(d.Processors))
	}
	if d.Others != 0 || d.Idle != 0 || d.Pressure != 0 {
		m.setInt("others_ns", int64(d.Others))
		m.setInt("idle_ns", int64(d.Idle))
		m.setInt("pressure_ns", int64(d.Pressure))
	}
}

func (m *members) addMap(d *posixtrace.MapData) {
	if d.Parent != 0 {
		m.setInt("map_parent", int64(d.Parent))
		return
	}
	address := func(key string, n uint64) { m.set(key, "0x"+strconv.FormatUint(n, 16)) }
	m.set("map_file", d.Path)
	address("map_start", d.Start)
	address("map_end", d.End)
	address("map_offset", d.Offset)
	m.set("build_id", hex.EncodeToString(d.BuildID))
	m.setBool("map_removed", d.Removed)
}

func (m *members) addCall(at uint64, d *posixtrace.SyscallData) {
	f, row := m.f, m.row
	f.columns[colArgs].list(row, len(d.Args), func(i int) (pq.Value, int) {
		a := d.Args[i].Value
		return m.bytes(a), len(a)
	})
	f.number(row, colResult, d.Result)
	f.small(row, colErrno, d.Errno)
	f.columns[colErrnoName].put(row, f.errnoName(d.Errno), 0)
	m.setUnless(true, "returned", d.Returned)
	m.setUnless(false, "restarted", d.Restarted != 0)
	if len(d.Opened) > 0 {
		m.set("opened", string(d.Opened))
	}
	if len(d.Stack) > 0 || d.StackCut {
		m.set("stack", stackText(at, d.Stack))
		m.setBool("stack_cut", d.StackCut)
	}
	f.number(row, colDuration, int64(d.Duration))
}

// noErrno is the name of error number 0, as in JSON.
var noErrno = text("")

func (f *File) errnoName(n int) pq.Value {
	if n == 0 {
		return noErrno
	}
	return text(output.ErrnoName(n))
}

// stackText returns a call stack as JSON: the call itself first, then its callers.
func stackText(at uint64, callers []posixtrace.SyscallFrame) string {
	b := appendFrame([]byte{'['}, at)
	for _, c := range callers {
		b = appendFrame(append(b, ','), c.Address)
		if c.Interrupted {
			b = append(b[:len(b)-1], `,"interrupted":true}`...)
		}
		if c.Guessed {
			b = append(b[:len(b)-1], `,"guessed":true}`...)
		}
	}
	return string(append(b, ']'))
}

func appendFrame(b []byte, address uint64) []byte {
	return append(strconv.AppendUint(append(b, `{"address":"0x`...), address, 16), `"}`...)
}
