package posixtrace

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// The data of a system event has a fixed format. The functions of this file decode it. The data is
// untrusted: they fail with EINVAL if no stream of this package records such data.

// Causes of a stop, the data of EventStop.
const (
	StopByCall     = 0 // posix_trace_stop or posix_trace_shutdown
	StopStreamFull = 1 // automatic: the stream was full
	StopLogFull    = 2 // automatic: the log was full
)

// DecodeInt decodes the data of EventStop and EventError: a C int.
func DecodeInt(data []byte) (int, error) {
	if len(data) != 4 {
		return 0, einval("DecodeInt", "int of %d bytes", len(data))
	}
	return int(int32(binary.LittleEndian.Uint32(data))), nil
}

// DecodeSet decodes the data of EventStart: the filter in force.
func DecodeSet(data []byte) (EventSet, error) {
	s, rest, err := event.DecodeSet(data)
	if err != nil || len(rest) != 0 {
		return EventSet{}, einval("DecodeSet", "malformed event set")
	}
	return EventSet{s}, nil
}

// DecodeFilter decodes the data of EventFilter: the filter before and after.
func DecodeFilter(data []byte) (old, new EventSet, err error) {
	o, rest, err := event.DecodeSet(data)
	if err == nil {
		var n event.Set
		if n, rest, err = event.DecodeSet(rest); err == nil && len(rest) == 0 {
			return EventSet{o}, EventSet{n}, nil
		}
	}
	return EventSet{}, EventSet{}, einval("DecodeFilter", "malformed pair of event sets")
}

// ExecData is the data of EventProcExec: a program that a process has executed, and how. Only a tracer
// records all of it. Extension.
type ExecData struct {
	Path string
	Argv []string

	Dir string // the working directory, "" if it is unknown

	// Stdin, Stdout and Stderr are "" if the descriptor refers to the same as in the program that executed
	// this one, or if that was not asked for. Otherwise they are what a shell writes behind the number of the descriptor: an operator and
	// what the kernel calls the file, such as "</etc/passwd", ">>/tmp/log", "<>/dev/tty" and ">pipe:[4711]",
	// or ">&1" for the file of another descriptor, or "<&-" if it is closed.
	Stdin, Stdout, Stderr string

	// Environment has the variables of the environment that the program that executed this one did not have with
	// this value, and Unset those that only that one had. Environment has names, or NAME=VALUE where the tracer was
	// asked for values. Of the first program that a tracer sees, both are empty.
	Environment, Unset []string

	Incomplete bool // not all of what follows Argv is known, or there was no room for it
}

// The members of ExecData behind the arguments. In the data, each is this byte, its text, and a NUL. The
// environment is last, so that it is the first to be truncated.
const (
	execIncomplete = 'c'
	execDir        = 'd'
	execStdin      = '0'
	execStdout     = '1'
	execStderr     = '2'
	execUnset      = 'u'
	execEnv        = 'e'
)

// execHeader is the size of the path and the arguments, with the NUL that ends each.
const execHeader = 4

// Append appends the encoded form: the size of the path and the arguments, these, each with a NUL, and what
// else is known.
func (d *ExecData) Append(b []byte) []byte {
	at := len(b)
	b = append(append(append(b, make([]byte, execHeader)...), d.Path...), 0)
	for _, a := range d.Argv {
		b = append(append(b, a...), 0)
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(min(uint64(len(b)-at-execHeader), math.MaxUint32)))
	if d.Incomplete {
		b = append(b, execIncomplete, 0)
	}
	for _, m := range [...]struct {
		kind byte
		text string
	}{{execDir, d.Dir}, {execStdin, d.Stdin}, {execStdout, d.Stdout}, {execStderr, d.Stderr}} {
		if m.text != "" {
			b = append(append(append(b, m.kind), m.text...), 0)
		}
	}
	for _, name := range d.Unset {
		b = append(append(append(b, execUnset), name...), 0)
	}
	for _, v := range d.Environment {
		b = append(append(append(b, execEnv), v...), 0)
	}
	return b
}

// DecodeExec decodes the data of EventProcExec. If the record was truncated in the arguments, the last one
// may be incomplete; what follows them is whole or left out. Errors: EINVAL malformed data.
func DecodeExec(data []byte) (d ExecData, err error) {
	if len(data) <= execHeader {
		return d, einval("DecodeExec", "proc.exec data of %d bytes", len(data))
	}
	size, program := binary.LittleEndian.Uint32(data), data[execHeader:]
	if size == 0 {
		return d, einval("DecodeExec", "proc.exec without a path")
	}
	var more []byte
	if uint64(size) <= uint64(len(program)) {
		program, more = program[:size], program[size:]
	} else {
		d.Incomplete = true
	}
	text := strings.TrimSuffix(string(program), "\x00") // the strings are parts of one
	path, rest, next := strings.Cut(text, "\x00")
	if d.Path = path; next {
		d.Argv = make([]string, 0, 1+strings.Count(rest, "\x00"))
	}
	for next {
		var arg string
		arg, rest, next = strings.Cut(rest, "\x00")
		d.Argv = append(d.Argv, arg)
	}
	d.decodeMore(string(more))
	return d, nil
}

// decodeMore decodes what follows the arguments.
func (d *ExecData) decodeMore(more string) {
	for more != "" {
		item, rest, whole := strings.Cut(more, "\x00")
		more = rest
		if !whole {
			d.Incomplete = true
			return
		}
		if item == "" {
			continue
		}
		switch text := item[1:]; item[0] {
		case execIncomplete:
			d.Incomplete = true
		case execDir:
			d.Dir = text
		case execStdin:
			d.Stdin = text
		case execStdout:
			d.Stdout = text
		case execStderr:
			d.Stderr = text
		case execUnset:
			d.Unset = append(d.Unset, text)
		case execEnv:
			d.Environment = append(d.Environment, text)
		}
	}
}

// ExitData is the data of EventProcExit: how a process ended and what it used. Extension.
type ExitData struct {
	Status     int // exit status, if Signal is 0
	Signal     int // the signal that killed it, or 0
	CoreDumped bool
	User       time.Duration
	System     time.Duration
	MaxRSS     int64 // bytes
	MinorFault int64
	MajorFault int64
	BlocksIn   int64
	BlocksOut  int64
	Voluntary  int64 // context switches
	Involunt   int64

	// Where the kernel says so. 0 is unknown.
	RunDelay   time.Duration // how long its threads were ready to run and waited for a processor
	Processors int           // that it might use

	// Of what ptrace-run ran, while that ran. All 0 are unknown.
	Others   time.Duration // processor time of all other processes of the machine
	Idle     time.Duration // processor time that no process used
	Pressure time.Duration // for how long some thread of the machine waited for a processor
}

const (
	exitDataSize   = 4*3 + 4 + 8*9
	exitDelaySize  = exitDataSize + 8*2
	exitOthersSize = exitDelaySize + 8*3
)

// Append appends the encoded form. What is unknown at the end is left out.
func (d *ExitData) Append(b []byte) []byte {
	le := binary.LittleEndian
	core := uint32(0)
	if d.CoreDumped {
		core = 1
	}
	b = le.AppendUint32(b, uint32(d.Status))
	b = le.AppendUint32(b, uint32(d.Signal))
	b = le.AppendUint32(b, core)
	b = le.AppendUint32(b, 0)
	for _, v := range []int64{int64(d.User), int64(d.System), d.MaxRSS, d.MinorFault, d.MajorFault,
		d.BlocksIn, d.BlocksOut, d.Voluntary, d.Involunt} {
		b = le.AppendUint64(b, uint64(v))
	}
	others := d.Others != 0 || d.Idle != 0 || d.Pressure != 0
	if others || d.RunDelay != 0 || d.Processors != 0 {
		b = le.AppendUint64(b, uint64(d.RunDelay))
		b = le.AppendUint64(b, uint64(d.Processors))
	}
	if others {
		b = le.AppendUint64(b, uint64(d.Others))
		b = le.AppendUint64(b, uint64(d.Idle))
		b = le.AppendUint64(b, uint64(d.Pressure))
	}
	return b
}

// DecodeExit decodes the data of EventProcExit. Errors: EINVAL malformed data, or a negative status or
// signal.
func DecodeExit(data []byte) (d ExitData, err error) {
	if len(data) < exitDataSize {
		return d, einval("DecodeExit", "proc.exit data of %d bytes", len(data))
	}
	le := binary.LittleEndian
	d.Status = int(int32(le.Uint32(data)))
	d.Signal = int(int32(le.Uint32(data[4:])))
	if d.Status < 0 || d.Signal < 0 {
		return ExitData{}, einval("DecodeExit", "proc.exit with status %d and signal %d", d.Status, d.Signal)
	}
	d.CoreDumped = le.Uint32(data[8:]) != 0
	v := func(i int) int64 { return int64(min(le.Uint64(data[16+8*i:]), math.MaxInt64)) }
	d.User, d.System = time.Duration(v(0)), time.Duration(v(1))
	d.MaxRSS, d.MinorFault, d.MajorFault = v(2), v(3), v(4)
	d.BlocksIn, d.BlocksOut, d.Voluntary, d.Involunt = v(5), v(6), v(7), v(8)
	if len(data) >= exitDelaySize {
		d.RunDelay, d.Processors = time.Duration(v(9)), int(min(v(10), math.MaxInt32))
	}
	if len(data) >= exitOthersSize {
		d.Others, d.Idle, d.Pressure = time.Duration(v(11)), time.Duration(v(12)), time.Duration(v(13))
	}
	return d, nil
}

// OutputData is the data of EventOutputStdout and EventOutputStderr: one line
// of captured output. Extension.
type OutputData struct {
	Line      []byte // as written, without the newline or carriage return that ended it
	NoNewline bool   // the output ended without one
	Continues bool   // the line is longer than max-data-size and goes on in the next event
	Return    bool   // a carriage return ended the line, as of a progress bar, and no newline followed
}

const (
	outputNoNewline = 1 << iota
	outputContinues
	outputReturn
)

// Append appends the encoded form: a byte of flags, then the line.
func (d *OutputData) Append(b []byte) []byte {
	f := byte(0)
	if d.NoNewline {
		f |= outputNoNewline
	}
	if d.Continues {
		f |= outputContinues
	}
	if d.Return {
		f |= outputReturn
	}
	return append(append(b, f), d.Line...)
}

// DecodeOutput decodes the data of EventOutputStdout and EventOutputStderr. Line
// points into data.
func DecodeOutput(data []byte) (d OutputData, err error) {
	if len(data) == 0 {
		return d, einval("DecodeOutput", "output event without flags")
	}
	f := data[0]
	return OutputData{
		Line: data[1:], NoNewline: f&outputNoNewline != 0, Continues: f&outputContinues != 0, Return: f&outputReturn != 0,
	}, nil
}
