package parquet

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
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
	m.set(key, strings.Join(catalog.TypesOfSet(m.f.log.Name, set), ","))
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
	if e := m.f.decoded.Decode(rec); e != nil {
		m.addDecoded(e, columnsOf[rec.ID])
		return true
	}
	switch rec.ID {
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		d, err := posixtrace.DecodeOutput(rec.Data)
		if err != nil {
			return false
		}
		m.f.data(m.row, d.Line)
		m.setUnless(true, "newline", !d.NoNewline && !d.Continues && !d.Return)
		m.setUnless(false, "continues", d.Continues)
		m.setUnless(false, "return", d.Return)
	case posixtrace.EventProcExec:
		program, more, ok := sysevent.Exec(rec.Data)
		if !ok {
			return false
		}
		if m.addExec(program); len(more) > 0 {
			m.addHow(rec.Data)
		}
	default:
		if !m.f.log.isCall(rec) || m.f.call.Decode(rec.Data) != nil {
			return false
		}
		m.addCall(rec.Address, &m.f.call)
	}
	return true
}

// columnsOf has the column of each member of the predefined events, colMemberKey for the map.
var columnsOf = func() (list [posixtrace.EventUnnamed][]int) {
	for id := range list {
		for _, m := range sysevent.Of(posixtrace.EventID(id)).Members {
			leaf, ok := schema.Lookup(m.Name)
			if !ok {
				leaf.ColumnIndex = colMemberKey
			}
			list[id] = append(list[id], leaf.ColumnIndex)
		}
	}
	return list
}()

// addDecoded adds the members that the decoded data has.
func (m *members) addDecoded(e *sysevent.Event, columns []int) {
	d := &m.f.decoded
	for set := d.Known; set != 0; set &= set - 1 {
		i := set.First()
		v := &e.Members[i]
		if columns[i] == colArgv {
			m.addTexts(columns[i], d, v)
			continue
		}
		if columns[i] != colMemberKey {
			m.addColumn(columns[i], v.Type, d.Number(v))
			continue
		}
		switch v.Type {
		case sysevent.Bool:
			m.setBool(v.Name, d.Bool(v))
		case sysevent.ForkKind:
			m.set(v.Name, posixtrace.ForkKind(d.Int32(v)).String())
		case sysevent.Address:
			m.set(v.Name, "0x"+strconv.FormatUint(d.Address(v), 16))
		case sysevent.Hex:
			m.set(v.Name, hex.EncodeToString(d.Bytes(v)))
		case sysevent.Text:
			m.set(v.Name, string(d.Text(v)))
		case sysevent.Texts:
			m.set(v.Name, string(bytes.Join(slices.Collect(d.Texts(v)), []byte{'\n'})))
		case sysevent.Word:
			m.set(v.Name, v.Word(d.Byte(v)))
		case sysevent.Flags:
			m.set(v.Name, strings.Join(v.Words(d.Flags(v)), "\n"))
		case sysevent.Unsigned:
			m.set(v.Name, strconv.FormatUint(d.Address(v), 10))
		case sysevent.Types:
			m.setSet(v.Name, &d.Sets[i])
		default:
			m.setInt(v.Name, d.Number(v))
		}
	}
}

// addTexts adds a list that has a column of its own.
func (m *members) addTexts(col int, d *sysevent.Data, v *sysevent.Member) {
	texts := slices.Collect(d.Texts(v))
	m.f.columns[col].list(m.row, len(texts), func(i int) (pq.Value, int) { return m.bytes(texts[i]), len(texts[i]) })
}

// addColumn adds a number that has a column of its own.
func (m *members) addColumn(col int, t sysevent.Type, n int64) {
	switch t {
	case sysevent.Count, sysevent.Size, sysevent.Duration:
		m.f.number(m.row, col, n)
	case sysevent.Errno:
		m.f.small(m.row, col, int(n))
		m.f.columns[colErrnoName].put(m.row, m.f.errnoName(int(n)), 0)
	default:
		m.f.small(m.row, col, int(n))
	}
}

// addExec adds the path and the arguments that posixtrace.DecodeExec would return: each ends with a NUL.
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

// addHow adds what the data of proc.exec has behind the arguments.
func (m *members) addHow(data []byte) {
	d, err := posixtrace.DecodeExec(data)
	if err != nil {
		return
	}
	for _, v := range [...]struct{ name, text string }{
		{"dir", d.Dir}, {"stdin", d.Stdin}, {"stdout", d.Stdout}, {"stderr", d.Stderr}, {"environment", strings.Join(d.Environment, "\n")}, {"unset", strings.Join(d.Unset, "\n")},
	} {
		if v.text != "" {
			m.set(v.name, v.text)
		}
	}
	if d.Incomplete {
		m.setBool("incomplete", true)
	}
}

var nul = []byte{0}

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
