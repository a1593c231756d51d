package ctf

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/typename"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A string ends at a NUL and is UTF-8, so data that is not text has another event class with the
// same name, in which it is an array of bytes. So has a system event whose data is malformed.
type kind uint8

const (
	text         kind = iota // data is a string
	raw                      // data is bytes
	decoded                  // the members of a system event
	decodedBytes             // the same, with bytes where decoded has strings
	inSpan                   // besides: with the keys of spans
	kinds        = 2 * inSpan
)

// class is an event class.
type class struct {
	name   string
	span   bool
	fields []string
}

var (
	textFields = []string{"string data"}
	rawFields  = []string{"u32_t data_length", "u8_t data[data_length]"}
)

var le = binary.LittleEndian

// appendEvent appends an event.
func (t *Trace) appendEvent(b []byte, rec *posixtrace.Record) []byte {
	start := len(b)
	b = le.AppendUint16(b, 0)
	b = le.AppendUint64(b, uint64(rec.UnixNano-t.base))
	b = le.AppendUint32(b, uint32(rec.PID))
	b = le.AppendUint32(b, uint32(rec.TID))
	b = le.AppendUint64(b, rec.Address)
	b = append(b, byte(rec.Truncation))
	spans := kind(0)
	if rec.Span != 0 {
		spans = inSpan
		b = le.AppendUint64(b, rec.Span)
		b = le.AppendUint64(b, rec.Parent)
	}
	k := text
	var fields []string
	payload := len(b)
	if rec.ID.System() {
		b, k, fields = t.appendMembers(b, rec)
	}
	if fields == nil {
		b = b[:payload]
		if k, fields = text, textFields; !isText(rec.Data) {
			k, fields = raw, rawFields
		}
		b = appendData(b, rec.Data, k)
	}
	le.PutUint16(b[start:], t.class(rec.ID, k|spans, fields))
	return b
}

// class returns the number of the class of an event type.
func (t *Trace) class(id posixtrace.EventID, k kind, fields []string) uint16 {
	i := int(id)*int(kinds) + int(k)
	if i < len(t.numbers) && t.numbers[i] != 0 {
		return t.numbers[i] - 1
	}
	if i >= len(t.numbers) {
		t.numbers = append(t.numbers, make([]uint16, i+1-len(t.numbers)+256)...)
	}
	t.classes = append(t.classes, &class{typename.OrNumber(t.Name(id), id), k&inSpan != 0, fields})
	t.numbers[i] = uint16(len(t.classes))
	return t.numbers[i] - 1
}

// isText reports whether data can be a string of CTF.
func isText(data []byte) bool { return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) }

// appendData appends bytes as a string, or as an array.
func appendData(b, data []byte, k kind) []byte {
	if k == text || k == decoded {
		return append(append(b, data...), 0)
	}
	return append(le.AppendUint32(b, uint32(len(data))), data...)
}

func appendString(b []byte, s string) []byte { return append(append(b, s...), 0) }

func appendStrings(b []byte, list []string) []byte {
	b = le.AppendUint32(b, uint32(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendMembers appends the decoded members of a system event. It returns no fields if it cannot.
func (t *Trace) appendMembers(b []byte, rec *posixtrace.Record) ([]byte, kind, []string) {
	switch rec.ID {
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			k, fields := decoded, lineFields
			if !isText(d.Line) {
				k, fields = decodedBytes, lineBytesFields
			}
			b = appendData(b, d.Line, k)
			b = appendBool(b, !d.NoNewline && !d.Continues && !d.Return)
			return appendBool(appendBool(b, d.Continues), d.Return), k, fields
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
	case posixtrace.EventProcExec:
		if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
			return appendStrings(appendString(b, d.Path), d.Argv), decoded, execFields
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
		if d, err := posixtrace.DecodeMap(rec.Data); err == nil && strings.IndexByte(d.Path, 0) < 0 {
			return appendMap(b, &d), decoded, mapFields
		}
	default:
		if rec.ID <= posixtrace.EventUnnamed || !strings.HasPrefix(t.Name(rec.ID), "syscall.") {
			break
		}
		if d, err := posixtrace.DecodeSyscall(rec.Data); err == nil {
			return appendCall(b, &d)
		}
	}
	return b, raw, nil
}

// setNames returns the members of a set of event types.
func (t *Trace) setNames(set *posixtrace.EventSet) []string {
	return typename.OfSet(func(id posixtrace.EventID) string {
		return escape.String(typename.OrNumber(t.Name(id), id))
	}, set)
}

var (
	lineFields      = []string{"string data", "bool_t newline", "bool_t continues", "bool_t return"}
	lineBytesFields = []string{"u32_t data_length", "u8_t data[data_length]", "bool_t newline", "bool_t continues", "bool_t return"}
	startFields     = []string{"u32_t filter_length", "string filter[filter_length]"}
	filterFields    = []string{"u32_t old_filter_length", "string old_filter[old_filter_length]",
		"u32_t new_filter_length", "string new_filter[new_filter_length]"}
	stopFields   = []string{"i32_t auto"}
	errorFields  = []string{"errno_t errno"}
	execFields   = []string{"string path", "u32_t argv_length", "string argv[argv_length]"}
	forkFields   = []string{"i32_t child", "fork_t kind"}
	signalFields = []string{"signal_t signal", "i32_t code", "i32_t sender", "i32_t sender_uid"}
	exitFields   = []string{"i32_t status", "signal_t signal", "bool_t core", "i64_t user_ns", "i64_t system_ns", "i64_t maxrss",
		"i64_t minor_faults", "i64_t major_faults", "i64_t blocks_in", "i64_t blocks_out", "i64_t voluntary_switches", "i64_t involuntary_switches"}
	mapFields = []string{"string map_file", "address_t map_start", "address_t map_end", "address_t map_offset",
		"string build_id", "bool_t map_removed", "bool_t map_first", "i32_t map_parent"}
	resultFields    = []string{"bool_t returned", "i64_t result", "errno_t errno", "errno_t restarted", "i64_t duration_ns"}
	callFields      = append([]string{"u32_t args_length", "string args[args_length]"}, resultFields...)
	callBytesFields = append([]string{"u32_t args_length", "struct { u32_t length; u8_t bytes[length]; } args[args_length]"}, resultFields...)
)

func appendExit(b []byte, d *posixtrace.ExitData) []byte {
	b = le.AppendUint32(le.AppendUint32(b, uint32(d.Status)), uint32(d.Signal))
	b = appendBool(b, d.CoreDumped)
	for _, v := range [...]int64{int64(d.User), int64(d.System), d.MaxRSS, d.MinorFault, d.MajorFault, d.BlocksIn, d.BlocksOut, d.Voluntary, d.Involunt} {
		b = le.AppendUint64(b, uint64(v))
	}
	return b
}

func appendMap(b []byte, d *posixtrace.MapData) []byte {
	b = appendString(b, d.Path)
	b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, d.Start), d.End), d.Offset)
	b = append(hex.AppendEncode(b, d.BuildID), 0)
	b = appendBool(appendBool(b, d.Removed), d.First)
	return le.AppendUint32(b, uint32(d.Parent))
}

func appendCall(b []byte, d *posixtrace.SyscallData) ([]byte, kind, []string) {
	k, fields := decoded, callFields
	for i := range d.Args {
		if !isText(d.Args[i].Value) {
			k, fields = decodedBytes, callBytesFields
		}
	}
	b = le.AppendUint32(b, uint32(len(d.Args)))
	for i := range d.Args {
		b = appendData(b, d.Args[i].Value, k)
	}
	b = le.AppendUint64(appendBool(b, d.Returned), uint64(d.Result))
	b = le.AppendUint32(le.AppendUint32(b, uint32(d.Errno)), uint32(d.Restarted))
	return le.AppendUint64(b, uint64(d.Duration)), k, fields
}
