package redact

import (
	"bytes"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Filter replaces the matches in the events of one stream or log, which it must get in their order.
// It is not safe for concurrent use. A nil Filter replaces nothing.
type Filter struct {
	Count uint64 // matches replaced

	set   *Set
	name  func(posixtrace.EventID) string
	lines map[output]*Line
}

// output is the captured output of a process, or another sequence of lines.
type output struct {
	id  posixtrace.EventID
	pid int
}

// maxOutputs bounds the outputs with an open match.
const maxOutputs = 1024

// NewFilter returns a filter for events whose types have the names that name returns, nil for no
// set.
func (s *Set) NewFilter(name func(posixtrace.EventID) string) *Filter {
	if s == nil {
		return nil
	}
	return &Filter{set: s, name: name, lines: map[output]*Line{}}
}

// Records replaces the matches in the data of events.
func (f *Filter) Records(recs []posixtrace.Record) {
	if f == nil {
		return
	}
	for i := range recs {
		f.Record(&recs[i])
	}
}

// Record replaces the matches in the data of an event. Where there are any, rec.Data is new.
func (f *Filter) Record(rec *posixtrace.Record) {
	if f == nil || len(rec.Data) == 0 {
		return
	}
	more := Ends
	if rec.Truncation != posixtrace.TruncationNone {
		more = Continues
	}
	switch id := rec.ID; {
	case id == posixtrace.EventOutputStdout || id == posixtrace.EventOutputStderr:
		f.output(rec, more)
	case id.User():
		f.user(rec, more)
	case id == posixtrace.EventProcExec:
		rec.Data = f.strings(rec.Data, more)
	case id == posixtrace.EventProcContext:
		if d, err := posixtrace.DecodeContext(rec.Data); err == nil {
			rec.Data = f.end(rec.Data, len(d.State), more)
		}
	case id == posixtrace.EventProcMap:
		if d, err := posixtrace.DecodeMap(rec.Data); err == nil {
			rec.Data = f.end(rec.Data, len(d.Path), more)
		}
	case strings.HasPrefix(f.name(id), "syscall."):
		f.call(rec)
	}
}

// String replaces the matches in a name or another short text, without counting them.
func (f *Filter) String(text string) string {
	if f == nil {
		return text
	}
	return f.set.String(text)
}

// Strings is String for several texts.
func (f *Filter) Strings(texts []string) []string {
	if f == nil {
		return texts
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = f.String(text)
	}
	return out
}

func (f *Filter) piece(b []byte, more More) []byte {
	b, n := f.set.NewLine().Piece(b, more)
	f.Count += uint64(n)
	return b
}

// end replaces in the last n bytes of b.
func (f *Filter) end(b []byte, n int, more More) []byte {
	head := b[: len(b)-n : len(b)-n]
	text := f.piece(b[len(b)-n:], more)
	return append(head, text...)
}

// strings replaces in strings that end with a NUL each.
func (f *Filter) strings(b []byte, more More) []byte {
	if more == Ends && !f.set.suspects(b) {
		return b
	}
	var out []byte
	for {
		text, rest, whole := bytes.Cut(b, []byte{0})
		if !whole {
			return append(out, f.piece(text, more)...)
		}
		out = append(append(out, f.piece(text, Ends)...), 0)
		b = rest
	}
}

// output replaces in a line of captured output, or a part of one.
func (f *Filter) output(rec *posixtrace.Record, more More) {
	d, err := posixtrace.DecodeOutput(rec.Data)
	if err != nil {
		return
	}
	if d.Continues {
		more = Continues
	}
	if line, n := f.next(rec, d.Line, more); n > 0 || len(line) == 0 || &line[0] != &d.Line[0] {
		f.Count += uint64(n)
		d.Line = line
		rec.Data = d.Append(nil)
	}
}

// user replaces in the data of an event of a program, which may be a line of its output.
func (f *Filter) user(rec *posixtrace.Record, more More) {
	b, n := f.next(rec, rec.Data, more)
	f.Count += uint64(n)
	rec.Data = b
}

// next replaces in a line of a sequence of lines.
func (f *Filter) next(rec *posixtrace.Record, b []byte, more More) ([]byte, int) {
	key := output{rec.ID, rec.PID}
	l := f.lines[key]
	if l == nil {
		if more == Ends && !f.set.suspects(b) {
			return b, 0
		}
		l = f.set.NewLine()
	}
	b, n := l.Next(b, more)
	switch {
	case l.Idle():
		delete(f.lines, key)
	case len(f.lines) < maxOutputs:
		f.lines[key] = l
	}
	return b, n
}

// call replaces in the arguments of a system call.
func (f *Filter) call(rec *posixtrace.Record) {
	d, err := posixtrace.DecodeSyscall(rec.Data)
	if err != nil {
		return
	}
	n := f.set.Call(&d)
	cut := rec.Truncation != posixtrace.TruncationNone
	if last := len(d.Args) - 1; cut && last >= 0 {
		d.Args[last].Value = f.piece(d.Args[last].Value, Continues)
	} else if cut {
		d.Opened = f.piece(d.Opened, Continues)
	}
	if n == 0 && !cut {
		return
	}
	f.Count += uint64(n)
	rec.Data = d.Append(nil)
}

// Call replaces the matches in a system call, and returns their number. An argument that stands for a
// number, or for the names of flags, is no text.
func (s *Set) Call(d *posixtrace.SyscallData) (n int) {
	if s == nil {
		return 0
	}
	d.Opened, n = s.Bytes(d.Opened)
	for i := range d.Args {
		a := &d.Args[i]
		if !a.String && !bytes.ContainsAny(a.Value, "\"<:/@") {
			continue
		}
		more := Ends
		if a.Cut {
			more = Continues
		}
		l := Line{set: s}
		b, k := l.Piece(a.Value, more)
		a.Value = b
		n += k
	}
	return n
}

// suspects reports whether a text, or a part of it, may match.
func (s *Set) suspects(b []byte) bool {
	if s.all || len(s.always) > 0 {
		return true
	}
	found := false
	s.pairs.each(b, func(int) { found = true })
	return found
}
