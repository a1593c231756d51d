package posixtrace

import (
	"encoding/binary"
	"math"
	"time"
)

// The data of the events that a tracer of processes records.

// ForkKind is how a process or thread was created.
type ForkKind uint32

// The kinds of EventProcFork.
const (
	ForkPlain  ForkKind = iota // fork(2)
	ForkVfork                  // vfork(2): the parent waits until the child executes a program or ends
	ForkClone                  // clone(2) of a process
	ForkThread                 // clone(2) of a thread
)

// String returns "fork", "vfork", "clone" or "thread".
func (k ForkKind) String() string {
	switch k {
	case ForkPlain:
		return "fork"
	case ForkVfork:
		return "vfork"
	case ForkThread:
		return "thread"
	}
	return "clone"
}

// ForkData is the data of EventProcFork. Extension.
type ForkData struct {
	Child int // the new process, or the id of the new thread
	Kind  ForkKind
}

// Append appends the encoded form.
func (d *ForkData) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(d.Child))
	return binary.LittleEndian.AppendUint32(b, uint32(d.Kind))
}

// DecodeFork decodes the data of EventProcFork.
func DecodeFork(data []byte) (d ForkData, err error) {
	if len(data) < 8 {
		return d, einval("DecodeFork", "proc.fork data of %d bytes", len(data))
	}
	d.Child = int(int32(binary.LittleEndian.Uint32(data)))
	d.Kind = ForkKind(binary.LittleEndian.Uint32(data[4:]))
	return d, nil
}

// SignalData is the data of EventProcSignal: a signal on its way to a process. Extension.
type SignalData struct {
	Signal int
	Code   int // si_code: why it was sent; 0 is kill(2), below 0 another call, above 0 the kernel
	Sender int // the process that sent it, or whose end SIGCHLD reports; 0 if the kernel did, or unknown
	UID    int // the user of that process
}

// Append appends the encoded form.
func (d *SignalData) Append(b []byte) []byte {
	for _, v := range [...]int{d.Signal, d.Code, d.Sender, d.UID} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// DecodeSignal decodes the data of EventProcSignal.
func DecodeSignal(data []byte) (d SignalData, err error) {
	if len(data) < 16 {
		return d, einval("DecodeSignal", "proc.signal data of %d bytes", len(data))
	}
	v := func(i int) int { return int(int32(binary.LittleEndian.Uint32(data[4*i:]))) }
	d.Signal, d.Code, d.Sender, d.UID = v(0), v(1), v(2), v(3)
	return d, nil
}

// SyscallData is the data of a system event type syscall.NAME: a system call that
// has returned, or will not. Extension.
type SyscallData struct {
	Result   int64
	Errno    int           // the error number; Result is -1 then
	Duration time.Duration // from entry to return, as a tracer measures it
	Returned bool          // false: the process or thread ended in it
	// Restarted is not 0 for a call that a signal interrupted and that the kernel restarts. It is
	// an error number that the program does not see, such as 512 for ERESTARTSYS. Result and Errno
	// are 0. A program with a handler for the signal without SA_RESTART sees EINTR instead.
	Restarted int
	// Opened is what the result refers to, if that is a descriptor and the recording asked for it:
	// "/etc/passwd", "TCP:[127.0.0.1:5432]".
	Opened []byte
	Args   []SyscallArg
	// Stack has the callers of the call, if they were recorded: the innermost first. The address of
	// the event is that of the call itself.
	Stack    []SyscallFrame
	StackCut bool // there are more callers, or may be
}

// SyscallFrame is a caller in a stack of calls.
type SyscallFrame struct {
	Address     uint64 // where the caller goes on, behind its call; less than 1<<62
	Interrupted bool   // by a signal, so that Address is the next instruction, behind no call
	Guessed     bool   // a frame pointer was followed in code that does not say whether it keeps one
}

// SyscallArg is one argument of a system call.
type SyscallArg struct {
	Value  []byte // text: a number or the names of flags; or the bytes of a string
	String bool   // Value is the bytes of a string
	Cut    bool   // there was more of it
}

// An encoded system call: duration and result of 8 bytes each, error number and
// flags of 4; with syscallOpened, two bytes of length and what the result refers to; with
// syscallStack, two bytes of length and the frames; then the arguments, each two bytes of length and
// flags, and the value. The stack precedes them because a stream that truncates data keeps its start.
const (
	syscallDataSize = 8 + 8 + 4 + 4

	syscallReturned = 1 << 0
	syscallOpened   = 1 << 1
	syscallStack    = 1 << 2
	syscallStackCut = 1 << 3

	argString = 1 << 15
	argCut    = 1 << 14
	argMax    = argCut - 1
)

// Append appends the encoded form.
func (d *SyscallData) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(d.Duration))
	result, no := d.Result, d.Errno
	if d.Restarted != 0 {
		result, no = -1, d.Restarted
	}
	b = le.AppendUint64(b, uint64(result))
	b = le.AppendUint32(b, uint32(no))
	flags := uint32(0)
	if d.Returned {
		flags |= syscallReturned
	}
	if len(d.Opened) > 0 {
		flags |= syscallOpened
	}
	if len(d.Stack) > 0 || d.StackCut {
		flags |= syscallStack
	}
	if d.StackCut {
		flags |= syscallStackCut
	}
	b = le.AppendUint32(b, flags)
	if len(d.Opened) > 0 {
		v := d.Opened[:min(len(d.Opened), argMax)]
		b = append(le.AppendUint16(b, uint16(len(v))), v...)
	}
	if flags&syscallStack != 0 {
		b = appendStack(b, d.Stack)
	}
	for i := range d.Args {
		a := &d.Args[i]
		v, f := a.Value, uint16(0)
		if a.String {
			f |= argString
		}
		if a.Cut || len(v) > argMax {
			f |= argCut
			v = v[:min(len(v), argMax)]
		}
		b = append(le.AppendUint16(b, f|uint16(len(v))), v...)
	}
	return b
}

// restarts reports whether an error number is internal to the kernel: ERESTARTSYS, ERESTARTNOINTR,
// ERESTARTNOHAND or ERESTART_RESTARTBLOCK.
func restarts(errno int) bool { return 512 <= errno && errno <= 516 && errno != 515 }

// DecodeSyscall decodes the data of a system call. If the record was truncated, the last argument
// may be incomplete. Values point into data. Errors: EINVAL malformed data.
func DecodeSyscall(data []byte) (d SyscallData, err error) {
	err = d.Decode(data)
	return d, err
}

// Decode decodes like DecodeSyscall. It replaces d, whose Args and Stack it reuses.
func (d *SyscallData) Decode(data []byte) error {
	*d = SyscallData{Args: d.Args[:0], Stack: d.Stack[:0]}
	if len(data) < syscallDataSize {
		return einval("DecodeSyscall", "system call data of %d bytes", len(data))
	}
	le := binary.LittleEndian
	d.Duration = time.Duration(min(le.Uint64(data), math.MaxInt64))
	d.Result = int64(le.Uint64(data[8:]))
	d.Errno = int(int32(le.Uint32(data[16:])))
	if restarts(d.Errno) {
		d.Result, d.Errno, d.Restarted = 0, 0, d.Errno
	}
	flags := le.Uint32(data[20:])
	d.Returned = flags&syscallReturned != 0
	data = data[syscallDataSize:]
	if flags&syscallOpened != 0 && len(data) >= 2 {
		n := min(int(le.Uint16(data)&argMax), len(data)-2)
		if n > 0 {
			d.Opened = data[2 : 2+n : 2+n]
		}
		data = data[2+n:]
	}
	if flags&syscallStack != 0 {
		d.StackCut = flags&syscallStackCut != 0
		data = d.decodeStack(data)
	}
	d.decodeArgs(data)
	return nil
}

// usualArgs is the number of arguments that one allocation is for: few calls have more.
const usualArgs = 6

func (d *SyscallData) decodeArgs(data []byte) {
	le := binary.LittleEndian
	for len(data) >= 2 {
		h := le.Uint16(data)
		data = data[2:]
		n := int(h & argMax)
		cut := h&argCut != 0
		if n > len(data) {
			n, cut = len(data), true
		}
		if d.Args == nil {
			d.Args = make([]SyscallArg, 0, usualArgs)
		}
		d.Args = append(d.Args, SyscallArg{Value: data[:n:n], String: h&argString != 0, Cut: cut})
		data = data[n:]
	}
}

// ContextData is the data of EventProcContext: the W3C trace context of a span. The span is the one
// that the next event of the same process and thread starts: proc.exec, or an event NAME.begin. It
// is recorded only if the environment has a valid TRACEPARENT. Extension.
type ContextData struct {
	TraceID [16]byte
	SpanID  [8]byte // of the span, the parent-id that its command finds in TRACEPARENT
	Parent  [8]byte // of the span around it, the parent-id that came in
	Flags   byte
	State   string // the value of TRACESTATE; "" if there is none, or none that is valid
}

const contextDataSize = 16 + 8 + 8 + 1

// Append appends the encoded form.
func (d *ContextData) Append(b []byte) []byte {
	b = append(b, d.TraceID[:]...)
	b = append(b, d.SpanID[:]...)
	b = append(b, d.Parent[:]...)
	return append(append(b, d.Flags), d.State...)
}

// DecodeContext decodes the data of EventProcContext. If the record was truncated, State may be
// incomplete. Errors: EINVAL malformed data.
func DecodeContext(data []byte) (d ContextData, err error) {
	if len(data) < contextDataSize {
		return d, einval("DecodeContext", "proc.context data of %d bytes", len(data))
	}
	copy(d.TraceID[:], data)
	copy(d.SpanID[:], data[16:])
	copy(d.Parent[:], data[24:])
	d.Flags, d.State = data[32], string(data[contextDataSize:])
	return d, nil
}
