package output

import (
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The data of the events that package tracer records: forks, signals and system calls.

// isSyscall reports whether a type is one of the system calls.
func isSyscall(src *Source, id posixtrace.EventID) bool {
	return id.System() && id > posixtrace.EventUnnamed && strings.HasPrefix(src.Name(id), "syscall.")
}

// appendForkText appends the data of proc.fork. letter precedes the child if that is a
// number of golden output.
func appendForkText(b []byte, d *posixtrace.ForkData, letter string) []byte {
	b = append(append(b, " child="...), letter...)
	b = strconv.AppendInt(b, int64(d.Child), 10)
	return append(append(b, " kind="...), d.Kind.String()...)
}

func appendSignalText(b []byte, d *posixtrace.SignalData, letter string) []byte {
	b = append(append(b, " signal="...), SignalName(d.Signal)...)
	if d.Sender == 0 {
		return b
	}
	return strconv.AppendInt(append(append(b, " sender="...), letter...), int64(d.Sender), 10)
}

// appendSyscallText appends a system call as in C source, and its result.
func appendSyscallText(b []byte, d *posixtrace.SyscallData, cut, duration bool) []byte {
	b = append(b, " ("...)
	for i := range d.Args {
		a := &d.Args[i]
		if i > 0 {
			b = append(b, ", "...)
		}
		switch {
		case a.String:
			b = append(escape.Append(append(b, '"'), a.Value), '"')
		default:
			b = escape.AppendPrintable(b, a.Value)
		}
		if a.Cut {
			b = append(b, "..."...)
		}
	}
	if cut {
		b = append(b, ", ..."...)
	}
	b = append(b, ')')
	switch {
	case d.Restarted != 0:
		b = append(append(b, " restarted="...), ErrnoName(d.Restarted)...)
	case d.Returned:
		b = append(b, " result="...)
		if d.Result >= 1<<32 { // an address
			b = appendHex(append(b, "0x"...), uint64(d.Result))
		} else {
			b = strconv.AppendInt(b, d.Result, 10)
		}
		b = appendOpened(b, d)
		if d.Errno != 0 {
			b = append(append(b, " errno="...), ErrnoName(d.Errno)...)
		}
	}
	if duration {
		b = AppendSeconds(append(b, " duration="...), int64(d.Duration))
	}
	return b
}

// appendOpened appends what a result refers to: </etc/passwd>.
func appendOpened(b []byte, d *posixtrace.SyscallData) []byte {
	if len(d.Opened) == 0 {
		return b
	}
	return append(escape.AppendPrintable(append(b, '<'), d.Opened), '>')
}

// AppendCall appends the arguments and the result of a system call.
func AppendCall(b []byte, d *posixtrace.SyscallData, cut bool) []byte {
	n := len(b)
	b = appendSyscallText(b, d, cut, false)
	return append(b[:n], b[n+1:]...) // without the space
}

func appendSyscallJSON(b []byte, d *posixtrace.SyscallData, duration bool) []byte {
	b = append(b, `,"args":[`...)
	for i := range d.Args {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendJSONString(b, d.Args[i].Value)
	}
	b = append(b, ']')
	b = AppendMember(b, "returned", d.Returned)
	b = AppendMember(b, "result", d.Result)
	b = AppendMember(b, "errno", d.Errno)
	name := ""
	if d.Errno != 0 {
		name = ErrnoName(d.Errno)
	}
	b = AppendMember(b, "errno_name", name)
	b = AppendMember(b, "restarted", d.Restarted != 0)
	if len(d.Opened) > 0 {
		b = AppendJSONString(append(b, `,"opened":`...), d.Opened)
	}
	if duration {
		b = AppendMember(b, "duration_ns", int64(d.Duration))
	}
	return b
}

// restarts names the kernel-internal error numbers of calls that a signal interrupted and
// the kernel restarts.
var restarts = map[int]string{512: "ERESTARTSYS", 513: "ERESTARTNOINTR", 514: "ERESTARTNOHAND", 516: "ERESTART_RESTARTBLOCK"}

// errnoNames has the name that strace(1) and the manual pages use, for numbers with two
// names.
var errnoNames = map[int]string{11: "EAGAIN", 35: "EDEADLK", 95: "EOPNOTSUPP"}

// ErrnoName returns the name of an error number, or the number.
func ErrnoName(n int) string {
	if name := restarts[n]; name != "" {
		return name
	}
	if name := errnoNames[n]; name != "" {
		return name
	}
	if name := catalog.ErrnoName(n); name != "" {
		return name
	}
	return strconv.Itoa(n)
}
