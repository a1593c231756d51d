package output

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// appendSystemText appends the data of a system event as text: decoded, or as bytes if the
// type is unknown or the data is malformed.
func appendSystemText(b []byte, src *Source, rec *posixtrace.Record) []byte {
	switch rec.ID {
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			return appendLineFlags(appendQuoted(append(b, ' '), d.Line), rec, &d)
		}
	case posixtrace.EventProcExec:
		if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
			b = append(escape.Append(append(b, ' ', '"'), d.Path), '"')
			for _, a := range d.Argv[min(1, len(d.Argv)):] {
				b = append(escape.Append(append(b, ' ', '"'), a), '"')
			}
			if rec.Truncation != posixtrace.TruncationNone {
				b = append(b, "..."...)
			}
			return b
		}
	case posixtrace.EventProcExit:
		if d, err := posixtrace.DecodeExit(rec.Data); err == nil {
			b = appendHowEnded(b, &d)
			b = AppendSeconds(append(b, " user="...), int64(d.User))
			b = AppendSeconds(append(b, " system="...), int64(d.System))
			return strconv.AppendInt(append(b, " maxrss="...), d.MaxRSS, 10)
		}
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil {
			return appendForkText(b, &d, "")
		}
	case posixtrace.EventProcSignal:
		if d, err := posixtrace.DecodeSignal(rec.Data); err == nil {
			return appendSignalText(b, &d, "")
		}
	default:
		if e := src.data.Decode(rec); e != nil {
			return appendMembersText(b, src, e.Members)
		}
		if isSyscall(src, rec.ID) {
			if d, err := posixtrace.DecodeSyscall(rec.Data); err == nil {
				return appendSyscallText(b, &d, rec.Truncation != posixtrace.TruncationNone, true)
			}
		}
	}
	return appendData(b, rec.Data, rec.Truncation)
}

// appendMembersText appends the members of src.data that text shows.
func appendMembersText(b []byte, src *Source, members []sysevent.Member) []byte {
	d := &src.data
	for set := d.Shown; set != 0; set &= set - 1 {
		m := &members[set.First()]
		if m.Type == sysevent.Bool && !d.Bool(m) {
			continue
		}
		b = append(b, m.Key...)
		switch m.Type {
		case sysevent.Bool:
			b = append(b, "yes"...)
		case sysevent.Int, sysevent.Process:
			b = strconv.AppendInt(b, int64(d.Int32(m)), 10)
		case sysevent.Count, sysevent.Size:
			b = strconv.AppendInt(b, d.Int64(m), 10)
		case sysevent.Unsigned:
			b = strconv.AppendUint(b, d.Address(m), 10)
		case sysevent.Octal:
			b = strconv.AppendUint(append(b, '0'), uint64(uint32(d.Int32(m))), 8)
		case sysevent.Errno:
			b = appendErrno(b, int(d.Int32(m)))
		case sysevent.Signal:
			b = append(b, SignalName(int(d.Int32(m)))...)
		case sysevent.Byte:
			b = hex.AppendEncode(b, []byte{d.Byte(m)})
		case sysevent.Duration:
			b = AppendSeconds(b, d.Int64(m))
		case sysevent.Address:
			b = appendHex(append(b, "0x"...), d.Address(m))
		case sysevent.Hex:
			b = hex.AppendEncode(b, d.Bytes(m))
		case sysevent.Text:
			b = append(escape.Append(append(b, '"'), d.Text(m)), '"')
		case sysevent.Texts:
			b = append(b, '[')
			for text := range d.Texts(m) {
				b = append(escape.Append(append(b, '"'), text), '"', ',')
			}
			b[len(b)-1] = ']' // no empty list is shown
		case sysevent.Word:
			b = escape.Append(b, m.Word(d.Byte(m)))
		case sysevent.Flags:
			b = append(b, strings.Join(m.Words(d.Flags(m)), ",")...)
		case sysevent.Types:
			b = appendSetText(b, src, &d.Sets[set.First()])
		}
	}
	return b
}

func appendErrno(b []byte, n int) []byte {
	if name := catalog.ErrnoName(n); name != "" {
		return append(b, name...)
	}
	return strconv.AppendInt(b, int64(n), 10)
}

// appendLineFlags appends how a line of output ended, if not with a newline.
func appendLineFlags(b []byte, rec *posixtrace.Record, d *posixtrace.OutputData) []byte {
	if rec.Truncation != posixtrace.TruncationNone {
		b = append(b, "..."...)
	}
	if d.Continues {
		b = append(b, " continues=yes"...)
	}
	if d.NoNewline {
		b = append(b, " newline=no"...)
	}
	if d.Return {
		b = append(b, " return=yes"...)
	}
	return b
}

// appendHowEnded appends the status of a process that ended, or its signal.
func appendHowEnded(b []byte, d *posixtrace.ExitData) []byte {
	if d.Signal == 0 {
		return strconv.AppendInt(append(b, " status="...), int64(d.Status), 10)
	}
	b = append(append(b, " signal="...), SignalName(d.Signal)...)
	if d.CoreDumped {
		b = append(b, " core=yes"...)
	}
	return b
}

// appendSystemJSON appends the decoded members of a system event, with a comma before each.
func appendSystemJSON(b []byte, src *Source, rec *posixtrace.Record) []byte {
	switch rec.ID {
	case posixtrace.EventOutputStdout, posixtrace.EventOutputStderr:
		if d, err := posixtrace.DecodeOutput(rec.Data); err == nil {
			b = appendDataJSON(b, d.Line, rec.Truncation)
			b = strconv.AppendBool(append(b, `,"newline":`...), !d.NoNewline && !d.Continues && !d.Return)
			b = strconv.AppendBool(append(b, `,"continues":`...), d.Continues)
			return strconv.AppendBool(append(b, `,"return":`...), d.Return)
		}
	case posixtrace.EventProcExec:
		if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
			return appendExecJSON(b, &d)
		}
	default:
		if e := src.data.Decode(rec); e != nil {
			return appendMembersJSON(b, src, e.Members, src.data.Known)
		}
		if isSyscall(src, rec.ID) {
			if d, err := posixtrace.DecodeSyscall(rec.Data); err == nil {
				return appendStackJSON(appendSyscallJSON(b, &d, true), src, rec, &d)
			}
		}
	}
	return appendDataJSON(b, rec.Data, rec.Truncation)
}

// appendExecJSON appends the members of proc.exec: of those behind the arguments, the ones that it has.
func appendExecJSON(b []byte, d *posixtrace.ExecData) []byte {
	b = AppendMember(b, "path", d.Path)
	b = AppendMember(b, "argv", d.Argv)
	for _, m := range [...]struct{ name, text string }{{"dir", d.Dir}, {"stdin", d.Stdin}, {"stdout", d.Stdout}, {"stderr", d.Stderr}} {
		if m.text != "" {
			b = AppendMember(b, m.name, m.text)
		}
	}
	if len(d.Environment) > 0 {
		b = AppendMember(b, "environment", d.Environment)
	}
	if len(d.Unset) > 0 {
		b = AppendMember(b, "unset", d.Unset)
	}
	if d.Incomplete {
		b = AppendMember(b, "incomplete", true)
	}
	return b
}

// appendMembersJSON appends members of src.data.
func appendMembersJSON(b []byte, src *Source, members []sysevent.Member, set sysevent.Members) []byte {
	d := &src.data
	for ; set != 0; set &= set - 1 {
		m := &members[set.First()]
		b = append(append(append(b, ',', '"'), m.Name...), '"', ':')
		switch m.Type {
		case sysevent.Bool:
			b = strconv.AppendBool(b, d.Bool(m))
		case sysevent.ForkKind:
			b = AppendJSONString(b, posixtrace.ForkKind(d.Int32(m)).String())
		case sysevent.Address:
			b = append(appendHex(append(b, `"0x`...), d.Address(m)), '"')
		case sysevent.Hex:
			b = append(hex.AppendEncode(append(b, '"'), d.Bytes(m)), '"')
		case sysevent.Text:
			b = AppendJSONString(b, d.Text(m))
		case sysevent.Texts:
			list := []string{}
			for text := range d.Texts(m) {
				list = append(list, string(text))
			}
			b = appendListJSON(b, list)
		case sysevent.Word:
			b = AppendJSONString(b, m.Word(d.Byte(m)))
		case sysevent.Flags:
			b = appendListJSON(b, m.Words(d.Flags(m)))
		case sysevent.Unsigned:
			b = strconv.AppendUint(b, d.Address(m), 10)
		case sysevent.Types:
			b = appendListJSON(b, catalog.TypesOfSet(src.Name, &d.Sets[set.First()]))
		default:
			b = strconv.AppendInt(b, d.Number(m), 10)
		}
	}
	return b
}

// SignalName returns the name of a signal without SIG, or its number.
func SignalName(n int) string {
	if s := catalog.SignalName(n); len(s) > 3 {
		return s[3:]
	}
	return strconv.Itoa(n)
}

// EndPhrase returns how a process ended, as "status 1" or "killed by TERM".
func EndPhrase(status, signal int) string {
	if signal != 0 {
		return "killed by " + SignalName(signal)
	}
	return "status " + strconv.Itoa(status)
}

// EndWord is EndPhrase where a heading says what it is: "1" or "TERM".
func EndWord(status, signal int) string {
	if signal != 0 {
		return SignalName(signal)
	}
	return strconv.Itoa(status)
}

func appendSetText(b []byte, src *Source, set *posixtrace.EventSet) []byte {
	b = append(b, '[')
	for i, name := range catalog.TypesOfSet(src.Name, set) {
		if i > 0 {
			b = append(b, ',')
		}
		b = catalog.AppendType(b, name)
	}
	return append(b, ']')
}
