package stream

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"
	"testing"
)

// onlyAppend and onlyAppendSpan are the lines in which the bodies of Append and AppendSpan differ.
const (
	onlyAppend = `
if w.refused(&Event{ID: id, Tick: tick}, st, try) {
now := tick
if (uint64(c)^tag)&tagMask != 0 || c.off()+chunk.Overhead+chunk.Align(size) > w.chunk ||
e := Event{ID: id, PID: uint32(who), TID: uint32(who >> 32), Addr: addr, Tick: tick}
if ok, done := w.slow(s, &e, data[:size], size < len(data), try); done {
if tick != 0 {
now = w.behind(now, s.last, tick != 0)
off += chunk.HeaderSize + chunk.Align(size)
`
	onlyAppendSpan = `
pid := e.PID
if pid == 0 {
pid = w.pid
}
id, who, addr := e.ID, Who(pid, e.TID), e.Addr
if w.refused(e, st, try) {
now := e.Tick
if (uint64(c)^tag)&tagMask != 0 || c.off()+chunk.NoteSize+chunk.Overhead+chunk.Align(size) > w.chunk ||
if e.Span.Key == 0 {
e.Span.Key = NewKey()
}
if ok, done := w.slow(s, e, data[:size], size < len(data), try); done {
if e.Tick != 0 {
now = w.behind(now, s.last, e.Tick != 0)
key := e.Span.Key
if key == 0 {
if s.keys&(1<<keyBits-1) == 0 {
s.keys = NewKey()
}
key = s.keys
e.Span.Key = key
s.keys++
}
store64(unsafe.Add(p, 8), key)
note := chunk.NoteSize - 8
if e.Span.Parent != 0 {
store64(unsafe.Add(p, 16), e.Span.Parent)
note = chunk.NoteSize
}
store64(p, chunk.Header(chunk.SpanNote, note-chunk.HeaderSize, chunk.KindPad))
p = unsafe.Add(p, note)
off += note + chunk.HeaderSize + chunk.Align(size)
`
)

// TestAppendSpanIsLikeAppend compares the code of AppendSpan, which repeats Append, with the original.
// A change of one must be made in the other, or here.
func TestAppendSpanIsLikeAppend(t *testing.T) {
	a, b := body(t, "writer.go", "Append"), body(t, "span.go", "AppendSpan")
	gone, added := diff(a, b)
	if got, want := strings.Join(gone, "\n"), strings.TrimSpace(onlyAppend); got != want {
		t.Errorf("only Append has\n%s\nwant\n%s", got, want)
	}
	if got, want := strings.Join(added, "\n"), strings.TrimSpace(onlyAppendSpan); got != want {
		t.Errorf("only AppendSpan has\n%s\nwant\n%s", got, want)
	}
}

// body returns the lines of a method of Writer, without comments and indentation.
func body(t *testing.T, file, name string) (lines []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
			var b strings.Builder
			if err := printer.Fprint(&b, set, fn.Body); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(b.String()) {
				if l = strings.TrimSpace(l); l != "" {
					lines = append(lines, l)
				}
			}
			return lines
		}
	}
	t.Fatalf("%s has no %s", file, name)
	return nil
}

// diff returns the lines that only a has and those that only b has, beside a longest common
// subsequence.
func diff(a, b []string) (gone, added []string) {
	common := make([][]int, len(a)+1) // length for the lines from i and from j on
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i++
			j++
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			gone = append(gone, a[i])
			i++
		default:
			added = append(added, b[j])
			j++
		}
	}
	return gone, added
}
