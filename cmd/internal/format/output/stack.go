package output

import (
	"path/filepath"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// FrameNames names an address of a process at a time, as Symbols does. next reports that the address is
// that of the instruction behind a call.
type FrameNames func(pid int, time int64, addr uint64, next bool) (where, source string, err error)

// SetFrames makes the forms for people show the stacks of calls, with these names, and JSON name the
// frames.
func (s *Source) SetFrames(f FrameNames) { s.frames = f }

// appendStack appends the stack of a call, a line for each frame, the innermost first:
//
//	" > write+0x14 (write.c:26)"
//
// A question mark means that only a frame pointer led to the frame. Dots stand for the callers that are
// not known.
func appendStack(b []byte, src *Source, rec *posixtrace.Record, d *posixtrace.SyscallData) []byte {
	if src.frames == nil || len(d.Stack) == 0 && !d.StackCut {
		return b
	}
	frames := framesOf(src, rec, d)
	for i := range frames {
		f := &frames[i]
		b = append(b, " > "...)
		if f.Guessed {
			b = append(b, "? "...)
		}
		b = escape.AppendPrintable(b, []byte(f.where))
		source := f.source
		if f.err != nil {
			source = f.err.Error()
		} else if source != "" {
			source = filepath.Base(source)
		}
		if source != "" {
			b = append(escape.AppendPrintable(append(b, " ("...), []byte(source)), ')')
		}
		b = append(b, '\n')
	}
	if d.StackCut {
		b = append(b, " > ...\n"...)
	}
	return b
}

// frame is a frame of a stack with its name.
type frame struct {
	posixtrace.SyscallFrame
	where, source string
	err           error
}

// signalFrame is the name of the frame between a signal handler and what the signal interrupted. Its
// function is the C library's, or the kernel's.
const signalFrame = "<signal handler called>"

// framesOf returns the frames of a stack: that of the call itself, and the callers.
func framesOf(src *Source, rec *posixtrace.Record, d *posixtrace.SyscallData) []frame {
	list := make([]frame, 0, 1+len(d.Stack))
	list = append(list, frame{SyscallFrame: posixtrace.SyscallFrame{Address: rec.Address}})
	for _, f := range d.Stack {
		list = append(list, frame{SyscallFrame: f})
	}
	for i := range list {
		f := &list[i]
		switch {
		case src.frames == nil:
		case i+1 < len(list) && list[i+1].Interrupted:
			f.where = signalFrame
		default:
			f.where, f.source, f.err = src.frames(rec.PID, rec.UnixNano, f.Address, !f.Interrupted)
		}
	}
	return list
}

// appendStackOf appends the stack of an event, if it is a call.
func appendStackOf(b []byte, src *Source, rec *posixtrace.Record) []byte {
	if src.frames == nil {
		return b
	}
	if d, ok := decodeCall(src, rec); ok {
		b = appendStack(b, src, rec, &d)
	}
	return b
}

// appendStackJSON appends the members of a stack, if one was recorded.
func appendStackJSON(b []byte, src *Source, rec *posixtrace.Record, d *posixtrace.SyscallData) []byte {
	if len(d.Stack) == 0 && !d.StackCut {
		return b
	}
	b = append(b, `,"stack":[`...)
	for i, f := range framesOf(src, rec, d) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendHex(append(b, `{"address":"0x`...), f.Address), '"')
		if f.where != "" {
			b = AppendMember(b, "symbol", f.where)
		}
		if f.source != "" {
			b = AppendMember(b, "source", f.source)
		}
		if f.err != nil {
			b = AppendMember(b, "no_symbol", f.err.Error())
		}
		if f.Interrupted {
			b = AppendMember(b, "interrupted", true)
		}
		if f.Guessed {
			b = AppendMember(b, "guessed", true)
		}
		b = append(b, '}')
	}
	return AppendMember(append(b, ']'), "stack_cut", d.StackCut)
}
