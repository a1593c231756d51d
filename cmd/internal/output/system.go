package output

import (
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/linux"
	"github.com/posixtrace/posixtrace/cmd/internal/typename"
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
	case posixtrace.EventStart:
		if s, err := posixtrace.DecodeSet(rec.Data); err == nil {
			return appendSetText(append(b, " filter="...), src, &s)
		}
	case posixtrace.EventFilter:
		if old, new, err := posixtrace.DecodeFilter(rec.Data); err == nil {
			b = appendSetText(append(b, " old="...), src, &old)
			return appendSetText(append(b, " new="...), src, &new)
		}
	case posixtrace.EventStop:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return strconv.AppendInt(append(b, " auto="...), int64(n), 10)
		}
	case posixtrace.EventError:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			b = append(b, " errno="...)
			if name := linux.ErrnoName(n); name != "" {
				return append(b, name...)
			}
			return strconv.AppendInt(b, int64(n), 10)
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
	case posixtrace.EventProcMap:
		if d, err := posixtrace.DecodeMap(rec.Data); err == nil {
			return appendMapText(b, &d)
		}
	case posixtrace.EventProcContext:
		if d, err := posixtrace.DecodeContext(rec.Data); err == nil {
			return appendContextText(b, &d)
		}
	case posixtrace.EventProcTimeout:
		if d, err := posixtrace.DecodeTimeout(rec.Data); err == nil {
			b = AppendSeconds(append(b, " limit="...), int64(d.Limit))
			return append(append(b, " signal="...), SignalName(d.Signal)...)
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
		if isSyscall(src, rec.ID) {
			if d, err := posixtrace.DecodeSyscall(rec.Data); err == nil {
				return appendSyscallText(b, &d, rec.Truncation != posixtrace.TruncationNone, true)
			}
		}
	}
	return appendData(b, rec.Data, rec.Truncation)
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
	case posixtrace.EventStart:
		if s, err := posixtrace.DecodeSet(rec.Data); err == nil {
			return AppendMember(b, "filter", typename.OfSet(src.Name, &s))
		}
	case posixtrace.EventFilter:
		if old, new, err := posixtrace.DecodeFilter(rec.Data); err == nil {
			b = AppendMember(b, "old_filter", typename.OfSet(src.Name, &old))
			return AppendMember(b, "new_filter", typename.OfSet(src.Name, &new))
		}
	case posixtrace.EventStop:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return AppendMember(b, "auto", n)
		}
	case posixtrace.EventError:
		if n, err := posixtrace.DecodeInt(rec.Data); err == nil {
			return AppendMember(b, "errno", n)
		}
	case posixtrace.EventProcExec:
		if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
			b = AppendMember(b, "path", d.Path)
			return AppendMember(b, "argv", d.Argv)
		}
	case posixtrace.EventProcExit:
		if d, err := posixtrace.DecodeExit(rec.Data); err == nil {
			b = AppendMember(b, "status", d.Status)
			b = AppendMember(b, "signal", d.Signal)
			b = AppendMember(b, "core", d.CoreDumped)
			b = AppendMember(b, "user_ns", int64(d.User))
			b = AppendMember(b, "system_ns", int64(d.System))
			b = AppendMember(b, "maxrss", d.MaxRSS)
			b = AppendMember(b, "minor_faults", d.MinorFault)
			b = AppendMember(b, "major_faults", d.MajorFault)
			b = AppendMember(b, "blocks_in", d.BlocksIn)
			b = AppendMember(b, "blocks_out", d.BlocksOut)
			b = AppendMember(b, "voluntary_switches", d.Voluntary)
			b = AppendMember(b, "involuntary_switches", d.Involunt)
			if d.Processors > 0 {
				b = AppendMember(b, "run_delay_ns", int64(d.RunDelay))
				b = AppendMember(b, "processors", d.Processors)
			}
			if d.Others != 0 || d.Idle != 0 || d.Pressure != 0 {
				b = AppendMember(b, "others_ns", int64(d.Others))
				b = AppendMember(b, "idle_ns", int64(d.Idle))
				b = AppendMember(b, "pressure_ns", int64(d.Pressure))
			}
			return b
		}
	case posixtrace.EventProcMap:
		if d, err := posixtrace.DecodeMap(rec.Data); err == nil {
			return appendMapJSON(b, &d)
		}
	case posixtrace.EventProcContext:
		if d, err := posixtrace.DecodeContext(rec.Data); err == nil {
			return appendContextJSON(b, &d)
		}
	case posixtrace.EventProcTimeout:
		if d, err := posixtrace.DecodeTimeout(rec.Data); err == nil {
			return AppendMember(AppendMember(b, "limit_ns", int64(d.Limit)), "signal", d.Signal)
		}
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil {
			return appendForkJSON(b, &d)
		}
	case posixtrace.EventProcSignal:
		if d, err := posixtrace.DecodeSignal(rec.Data); err == nil {
			return AppendMember(appendSignalJSON(b, &d), "sender_uid", d.UID)
		}
	default:
		if isSyscall(src, rec.ID) {
			if d, err := posixtrace.DecodeSyscall(rec.Data); err == nil {
				return appendStackJSON(appendSyscallJSON(b, &d, true), src, rec, &d)
			}
		}
	}
	return appendDataJSON(b, rec.Data, rec.Truncation)
}

// SignalName returns the name of a signal without SIG, or its number.
func SignalName(n int) string {
	if s := linux.SignalName(n); len(s) > 3 {
		return s[3:]
	}
	return strconv.Itoa(n)
}

func appendSetText(b []byte, src *Source, set *posixtrace.EventSet) []byte {
	b = append(b, '[')
	for i, name := range typename.OfSet(src.Name, set) {
		if i > 0 {
			b = append(b, ',')
		}
		b = typename.Append(b, name)
	}
	return append(b, ']')
}
