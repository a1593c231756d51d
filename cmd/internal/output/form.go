// Package output writes events in the forms of ptrace-dump, and shows untrusted bytes so
// that they are harmless on a terminal.
//
// A form is a type that implements Form, in a file of its own: Text, JSON, CSV, EventTable,
// Chrome, Format, Golden and Annotate. Forms lists them with the options that select them;
// add a new form there. A form gets each event with its Source, which caches the names of
// event types. system.go and process.go decode the data of system events for all forms.
//
// Table draws small tables, and Fields shows an object as JSON or as a table, for the other
// output of the commands. AppendEscaped and its variants are the rules for untrusted text;
// every command uses them, for messages too.
package output

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// Form is one way to write events. Each method appends to b and returns the result; a
// Form writes nothing itself. It is not safe for concurrent use.
type Form interface {
	// Begin appends the text before the first event.
	Begin(b []byte) []byte
	// Append appends one event, which came from src. The form may keep it back.
	Append(b []byte, src *Source, rec *posixtrace.Record) []byte
	// End appends the events that are kept back and the text after the last event.
	End(b []byte) []byte
}

// Flusher is a Form that keeps events back. Flush appends them.
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
