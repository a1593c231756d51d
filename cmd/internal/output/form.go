package output

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// Form is one way to write events. Each method appends to b and returns it; a
// Form keeps no output of its own. It is not safe for concurrent use.
type Form interface {
	// Begin appends what stands before the first event.
	Begin(b []byte) []byte
	// Append appends one event, which came from src.
	Append(b []byte, src *Source, rec *posixtrace.Record) []byte
	// End appends what stands after the last event.
	End(b []byte) []byte
}

// Flusher is a Form that holds events back. Flush appends what it holds.
type Flusher interface {
	Flush(b []byte) []byte
}

// FormInfo is one row of Forms.
type FormInfo struct {
	// Name is the long option of ptrace-dump that selects the form, "" for the default.
	Name string
	// New returns the form for these settings.
	New func(s *Settings) (Form, error)
}

// Forms has a row for each output form. To add one, implement Form in a file of its
// own and add its row.
var Forms = []FormInfo{
	{"", newText},
	{"json", newJSON},
	{"csv", newCSV},
	{"table", newEventTable},
	{"chrome", newChrome},
	{"format", newFormat},
	{"golden", newGolden},
	{"annotate", newAnnotate},
}

// Settings are the user's choices that the forms depend on. Each form takes those
// that concern it.
type Settings struct {
	Text   *Text      // how times are shown, and in which colours
	Color  bool       // the output may have colours
	Width  func() int // of the terminal in columns, 0 for no limit
	Format string     // the argument of --format
	Golden bool       // json, format: with --golden
	Masks  []Mask     // with --golden: what to replace
}

// NewForm returns the form that an option selects.
func NewForm(name string, s *Settings) (Form, error) {
	for _, f := range Forms {
		if f.Name == name {
			return f.New(s)
		}
	}
	panic("output: no form " + name)
}
