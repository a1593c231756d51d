package redact

import (
	"bytes"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/sysevent"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Filter replaces the matches in the events of one stream or log, which it must get in their order.
// It is not safe for concurrent use. A nil Filter replaces nothing.
type Filter struct {
	Count uint64 // matches replaced

	set   *Set
	name  func(posixtrace.EventID) string
	lines map[output]*Line
	full  bool // there was no room for a line: one that is unknown may have an open match
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
		rec.Data = f.exec(rec.Data, more)
	case id == posixtrace.EventProcContext:
		if d, err := posixtrace.DecodeContext(rec.Data); err == nil {
			rec.Data = f.end(rec.Data, len(d.State), more)
		}
	case id == posixtrace.EventProcMap:
		if d, err := posixtrace.DecodeMap(rec.Data); err == nil {
			rec.Data = f.end(rec.Data, len(d.Path), more)
		}
	case id == posixtrace.EventHangThread:
		if d, err := posixtrace.DecodeHang(rec.Data); err == nil && f.Hang(&d, more) {
			rec.Data = d.Append(nil)
		}
	case id == posixtrace.EventResSample:
		rec.Data = posixtrace.RenameResSample(rec.Data, func(name string) string { return string(f.piece([]byte(name), Ends)) })
	case id == posixtrace.EventFileAccess:
		rec.Data = posixtrace.ReplaceFilePaths(rec.Data, func(path string) string { return string(f.piece([]byte(path), more)) })
	case id == posixtrace.EventProcExit:
		f.exit(rec.PID)
	default:
		if name := f.name(id); strings.HasPrefix(name, "syscall.") {
			f.call(name, rec)
		}
	}
}

// Hang replaces in what a thread does, and reports whether that changes it.
func (f *Filter) Hang(d *posixtrace.HangData, more More) (changed bool) {
	count := f.Count
	if call := f.set.movedBy(d.Call); call != d.Call {
		d.Call, changed = call, true
	}
	for _, text := range [...]*string{&d.Program, &d.Call, &d.Wait, &d.For, &d.Note} {
		*text = string(f.piece([]byte(*text), more))
	}
	for _, list := range [...]*[]string{&d.Args, &d.Stack} {
		if all := strings.Join(*list, "\x00"); all != "" {
			*list = strings.Split(string(f.strings([]byte(all), more)), "\x00")
		}
	}
	return changed || f.Count > count
}

// exit forgets a process that has ended.
func (f *Filter) exit(pid int) {
	for key := range f.lines {
		if key.pid == pid && key.id != posixtrace.EventOutputStdout && key.id != posixtrace.EventOutputStderr {
			delete(f.lines, key) // the lines of its output come later
		}
	}
}

// String replaces the matches in a name or another short text, without counting them.
func (f *Filter) String(text string) string {
	if f == nil {
		return text
	}
	return f.set.String(text)
}

// Strings replaces the matches in the arguments of a program, without counting them.
func (f *Filter) Strings(texts []string) []string {
	if f == nil {
		return texts
	}
	texts, _ = f.set.Strings(texts)
	return texts
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

// exec replaces in the path and the arguments of a program, and in what follows them.
func (f *Filter) exec(b []byte, more More) []byte {
	if more == Ends && !f.set.suspects(b) && (f.set.known == nil || !f.set.known.suspects(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))) {
		return b
	}
	d, err := posixtrace.DecodeExec(b)
	if err != nil {
		return b
	}
	if n := f.set.Exec(&d, more == Continues && len(sysevent.ExecHead(b)) == len(b)); n > 0 {
		f.Count += uint64(n)
	} else if more == Ends {
		return b
	}
	return d.Append(nil) // without the beginning of a truncated text behind the arguments
}

// strings replaces in texts of which a NUL ends each.
func (f *Filter) strings(b []byte, more More) []byte {
	if more == Ends && !f.set.suspects(b) && (f.set.known == nil || !f.set.known.suspects(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))) {
		return b
	}
	var words []Word
	for text := range bytes.SplitSeq(b, []byte{0}) {
		words = append(words, Word{Text: text})
	}
	words[len(words)-1].Cut = more == Continues
	texts, n := f.set.Words(words)
	if n == 0 {
		return b
	}
	f.Count += uint64(n)
	return bytes.Join(texts, []byte{0})
}

// output replaces in a line of captured output, or a part of one.
func (f *Filter) output(rec *posixtrace.Record, more More) {
	d, err := posixtrace.DecodeOutput(rec.Data)
	if err != nil {
		return
	}
	switch {
	case d.Continues:
		more = Continues
	case d.Return && more == Ends:
		more = Returns
	}
	if line, n := f.next(rec, d.Line, more); n > 0 || len(line) == 0 || &line[0] != &d.Line[0] {
		f.Count += uint64(n)
		d.Line = line
		rec.Data = d.Append(nil)
	}
}

// user replaces in the data of an event of a program, which may be a line of its output.
func (f *Filter) user(rec *posixtrace.Record, more More) {
	if rec.Address&posixtrace.SpoolAddress == posixtrace.SpoolAddress && shellCut(f.name(rec.ID), rec.Data) {
		more = Continues
	}
	b, n := f.next(rec, rec.Data, more)
	f.Count += uint64(n)
	rec.Data = b
}

// shellCut reports whether a shell may have written only the beginning of the data of an event: a line has
// room for 4040 bytes of name and data with escape sequences, or for 980.
func shellCut(name string, data []byte) bool {
	n := len(name) + len(data)
	for _, c := range data {
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\t':
			n++
		case c < ' ' || c == 0x7f:
			n += 3
		}
	}
	return n >= 977 && n <= 980 || n >= 4037 // an escape sequence may be cut, too
}

// next replaces in a line of a sequence of lines.
func (f *Filter) next(rec *posixtrace.Record, b []byte, more More) ([]byte, int) {
	key := output{rec.ID, rec.PID}
	l := f.lines[key]
	if l == nil {
		if f.full {
			return []byte(Mark), 1
		}
		if more == Ends && !f.set.suspects(b) {
			return b, 0
		}
		l = f.set.NewLine()
	}
	b, n := l.Next(b, more)
	_, known := f.lines[key]
	switch {
	case l.Idle():
		delete(f.lines, key)
	case known || len(f.lines) < maxOutputs:
		f.lines[key] = l
	default:
		f.full = true
	}
	return b, n
}

// call replaces in the arguments of a system call.
func (f *Filter) call(name string, rec *posixtrace.Record) {
	d, err := posixtrace.DecodeSyscall(rec.Data)
	if err != nil {
		return
	}
	cut := rec.Truncation != posixtrace.TruncationNone
	last := len(d.Args) - 1
	if cut && last >= 0 {
		d.Args[last].Cut = true
	}
	changed := f.set.moved(name, &d)
	n := f.set.Call(&d)
	changed = changed || n > 0 || cut
	if cut && last >= 0 {
		d.Args[last].Value = f.piece(d.Args[last].Value, Continues)
	} else if cut {
		d.Opened = f.piece(d.Opened, Continues)
	}
	if !changed {
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
		spans, _ := s.NewLine().spans(a.Value, more)
		if a.String {
			spans = s.escaped(spans, a.Value, more)
		} else {
			spans = s.quoted(spans, a.Value)
		}
		var k int
		a.Value, k = replace(a.Value, spans)
		n += k
	}
	return n
}

// escaped appends the matches in the text that b stands for, if b has escape sequences: the functions of
// shells write such lines.
func (s *Set) escaped(spans []span, b []byte, more More) []span {
	if bytes.IndexByte(b, '\\') < 0 {
		return spans
	}
	var text []byte
	var at []int // of each byte of the text in b
	for i := 0; i < len(b); {
		c, n := escape.Byte(b[i:])
		text, at = append(text, c), append(at, i)
		i += n
	}
	at = append(at, len(b))
	list, _ := s.NewLine().spans(text, more)
	for _, m := range list {
		spans = append(spans, span{at[m.from], at[m.to]})
	}
	return spans
}

// suspects reports whether a text, or a part of it, may match.
func (s *Set) suspects(b []byte) bool {
	if s.all || len(s.always) > 0 {
		return true
	}
	found := false
	coded := s.pairs.each(b, func(int) { found = true })
	return found || coded
}
