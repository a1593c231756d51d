package output

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Strace is the form of strace(1), for people who read system calls:
//
//	4711 openat(AT_FDCWD, "x", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000012>
//
// A log has calls when they return. Strace keeps events back, to write each call where it began.
// A call during which other threads have events has two lines, the second one for its return. If
// so many events follow its beginning that Strace cannot keep them all, it has one line, where it
// returned.
type Strace struct {
	StraceLines
	held straceHeld
}

func newStrace(s *Settings) (Form, error) {
	return &Strace{StraceLines: StraceLines{Text: s.Text, StringSize: s.StringSize, Shape: s.Shape, Result: s.Result}}, nil
}

// Begin appends nothing.
func (s *Strace) Begin(b []byte) []byte { return b }

// Append keeps an event, and appends earlier ones.
func (s *Strace) Append(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if s.held.keep(src, rec) {
		b = s.held.write(b, &s.StraceLines, half)
	}
	return b
}

// Flush appends the events that are kept back, for a reader that waits for them.
func (s *Strace) Flush(b []byte) []byte { return s.held.write(b, &s.StraceLines, now) }

// Held reports whether Flush has kept events back.
func (s *Strace) Held() bool { return len(s.held.events) > 0 }

// End appends the events that are kept back.
func (s *Strace) End(b []byte) []byte { return s.held.write(b, &s.StraceLines, all) }

// AppendEntered appends the line of a call that a thread is in, which has more arguments than these
// or not. The line of its event, unless others are missing, is that of its return.
func (s *Strace) AppendEntered(b []byte, tid int, call string, args []posixtrace.SyscallArg, more bool) []byte {
	b = append(s.appendName(s.appendStart(b, tid, 0), call), '(')
	b = s.appendArgs(b, s.shapeOf(call), args, 0)
	if more && len(args) > 0 {
		b = append(b, ", "...)
	}
	if s.held.entered == nil {
		s.held.entered = map[int]string{}
	}
	s.held.entered[tid] = call
	return append(b, " <unfinished ...>\n"...)
}

// CallShape is what a form needs to know of the arguments of a system call.
type CallShape struct {
	Entered int  // how many arguments, the first ones, are known when the call begins
	Paths   uint // a bit for each argument that is a path
}

// StraceLines writes single lines of the form Strace.
type StraceLines struct {
	Text       *Text                                               // the style of times, and the colours
	StringSize int                                                 // the bytes that are shown of a string that is no path
	Shape      func(call string) CallShape                         // nil: all arguments are known when a call begins
	Result     func(call string, d *posixtrace.SyscallData) string // what a result means, or ""; nil: nothing
	Prefix     func(b []byte, tid int) []byte                      // appends what precedes a line; nil: the thread
}

// callPart is the part of a call that a line shows.
type callPart uint8

const (
	wholeCall callPart = iota
	callEntered
	callResumed
)

// callPrefix begins the names of the event types of system calls.
const callPrefix = "syscall."

// decodeCall decodes an event that is a system call. ok is false for others, and malformed ones.
func decodeCall(src *Source, rec *posixtrace.Record) (d posixtrace.SyscallData, ok bool) {
	if !isSyscall(src, rec.ID) {
		return d, false
	}
	d, err := posixtrace.DecodeSyscall(rec.Data)
	return d, err == nil
}

func (l *StraceLines) shapeOf(call string) CallShape {
	if l.Shape == nil {
		return CallShape{Entered: 64}
	}
	return l.Shape(call)
}

// appendStart appends the thread and the time.
func (l *StraceLines) appendStart(b []byte, tid int, at int64) []byte {
	if l.Prefix != nil {
		b = l.Prefix(b, tid)
	} else {
		b = append(strconv.AppendInt(b, int64(tid), 10), ' ')
	}
	if l.Text.Style == NoTime {
		return b
	}
	b = l.Text.appendTime(append(b, l.Text.TimeOn...), at)
	if l.Text.Style == UnixTime { // strace -ttt has microseconds, and so have programs that read it
		b = append(b[:len(b)-len("000 ")], ' ')
	}
	return append(b, l.Text.TimeOff...)
}

func (l *StraceLines) paints() *Paints {
	if l.Text.Paints == nil {
		return &Paints{}
	}
	return l.Text.Paints
}

func (l *StraceLines) appendName(b []byte, call string) []byte {
	return l.paints().System.append(b, catalog.AppendType(nil, call))
}

// thread returns the thread of an event, or else its process.
func thread(rec *posixtrace.Record) int {
	if rec.TID == 0 {
		return rec.PID
	}
	return rec.TID
}

// appendCall appends the line of a call, or of a part of it.
func (l *StraceLines) appendCall(b []byte, src *Source, rec *posixtrace.Record, d *posixtrace.SyscallData, part callPart) []byte {
	call := src.Name(rec.ID)[len(callPrefix):]
	shape := l.shapeOf(call)
	at, from := rec.UnixNano, 0
	if part != callResumed {
		at = enteredAt(rec, d)
	}
	b = l.appendStart(b, thread(rec), at)
	if part == callResumed {
		b = append(catalog.AppendType(append(b, "<... "...), call), " resumed>"...)
		from = min(shape.Entered, len(d.Args))
	} else {
		b = append(l.appendName(b, call), '(')
	}
	args := d.Args
	if part == callEntered {
		args = args[:min(shape.Entered, len(args))]
	}
	b = l.appendArgs(b, shape, args, from)
	if part == callEntered {
		if len(args) < len(d.Args) && len(args) > 0 {
			b = append(b, ", "...)
		}
		return append(b, " <unfinished ...>\n"...)
	}
	if rec.Truncation != posixtrace.TruncationNone {
		b = append(b, ", ..."...)
	}
	b = l.appendResult(append(b, ") = "...), call, d)
	if d.Returned {
		us := d.Duration.Microseconds()
		b = strconv.AppendInt(append(b, " <"...), us/1e6, 10)
		b = append(append(b, '.'), strconv.FormatInt(1e6+us%1e6, 10)[1:]...)
		b = append(b, '>')
	}
	return appendStack(append(b, '\n'), src, rec, d)
}

// enteredAt returns when a call began.
func enteredAt(rec *posixtrace.Record, d *posixtrace.SyscallData) int64 {
	at := rec.UnixNano - max(0, int64(d.Duration))
	if at > rec.UnixNano {
		return rec.UnixNano
	}
	return at
}

// restartTexts are the texts of strace(1) for the numbers in restarts.
var restartTexts = map[int]string{
	512: "To be restarted if SA_RESTART is set", 513: "To be restarted", 514: "To be restarted if no handler",
	516: "Interrupted by signal",
}

// appendResult appends the result of a call.
func (l *StraceLines) appendResult(b []byte, call string, d *posixtrace.SyscallData) []byte {
	switch {
	case d.Restarted != 0:
		b = append(append(b, "? "...), ErrnoName(d.Restarted)...)
		if text := restartTexts[d.Restarted]; text != "" {
			b = append(append(append(b, " ("...), text...), ')')
		}
		return b
	case !d.Returned:
		return append(b, '?')
	case d.Errno != 0:
		text := append([]byte("-1 "), ErrnoName(d.Errno)...)
		text = append(appendErrorText(append(text, " ("...), d.Errno), ')')
		return l.paints().Failure.append(b, text)
	}
	switch {
	case d.Result > 0 && returnsHex(call, d), d.Result >= 1<<32:
		b = appendHex(append(b, "0x"...), uint64(d.Result))
	case call == "umask" && d.Result > 0:
		b = strconv.AppendInt(append(b, '0'), d.Result, 8)
	default:
		b = strconv.AppendInt(b, d.Result, 10)
	}
	b = appendOpened(b, d)
	if l.Result == nil {
		return b
	}
	if text := l.Result(call, d); text != "" {
		b = append(append(append(b, " ("...), text...), ')')
	}
	return b
}

// returnsHex reports whether a call returns an address or flags.
func returnsHex(call string, d *posixtrace.SyscallData) bool {
	switch call {
	case "mmap", "brk", "mremap", "shmat":
		return true
	case "fcntl":
		return len(d.Args) > 1 && (string(d.Args[1].Value) == "F_GETFD" || string(d.Args[1].Value) == "F_GETFL")
	}
	return false
}

// appendErrorText appends the text of an error number, as strerror(3) writes it.
func appendErrorText(b []byte, n int) []byte {
	text := catalog.ErrnoText(n)
	r, size := utf8.DecodeRuneInString(text)
	return append(utf8.AppendRune(b, unicode.ToUpper(r)), text[size:]...)
}

// appendOther appends the line of an event that is no call.
func (l *StraceLines) appendOther(b []byte, src *Source, rec *posixtrace.Record) []byte {
	b = l.appendStart(b, thread(rec), rec.UnixNano)
	switch rec.ID {
	case posixtrace.EventProcSignal:
		if d, err := posixtrace.DecodeSignal(rec.Data); err == nil {
			return append(l.paints().System.append(b, appendSignalLine(nil, &d)), '\n')
		}
	case posixtrace.EventProcExit:
		if d, err := posixtrace.DecodeExit(rec.Data); err == nil {
			paint := l.paints().System
			if failure(rec) {
				paint = l.paints().Failure
			}
			return append(paint.append(b, appendEndLine(nil, &d)), '\n')
		}
	}
	paint := l.paints().User
	switch {
	case loss(rec.ID):
		paint = l.paints().Failure
	case rec.ID == posixtrace.EventOutputStderr:
		paint = l.paints().Stderr
	case rec.ID.System():
		paint = l.paints().System
	}
	return append(appendBody(paint.append(b, src.name(rec.ID).text), src, rec), '\n')
}

// appendSignalLine appends a signal: --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=1} ---
func appendSignalLine(b []byte, d *posixtrace.SignalData) []byte {
	name := fullSignalName(d.Signal)
	b = append(append(b, "--- "...), name...)
	b = append(append(b, " {si_signo="...), name...)
	b = append(append(b, ", si_code="...), signalCode(d)...)
	if d.Sender != 0 {
		b = strconv.AppendInt(append(b, ", si_pid="...), int64(d.Sender), 10)
		b = strconv.AppendInt(append(b, ", si_uid="...), int64(d.UID), 10)
	}
	return append(b, "} ---"...)
}

func fullSignalName(n int) string {
	name := SignalName(n)
	if name[0] >= '0' && name[0] <= '9' || name[0] == '-' {
		return name
	}
	return "SIG" + name
}

// appendEndLine appends the end of a process.
func appendEndLine(b []byte, d *posixtrace.ExitData) []byte {
	if d.Signal == 0 {
		return append(strconv.AppendInt(append(b, "+++ exited with "...), int64(d.Status), 10), " +++"...)
	}
	b = append(append(b, "+++ killed by "...), fullSignalName(d.Signal)...)
	if d.CoreDumped {
		b = append(b, " (core dumped)"...)
	}
	return append(b, " +++"...)
}
