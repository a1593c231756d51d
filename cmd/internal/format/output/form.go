// Package output writes events in the forms of ptrace-dump. ptrace-run uses its Text for the
// last events of a failed command.
//
// A form is a type that implements Form, in a file of its own: Text, JSON, CSV, EventTable,
// Chrome, Format, Golden, Strace and Annotate. The table Forms lists them with the options that
// select them; add a new form there. A form gets each event with its Source, which caches the
// names of event types. system.go and process.go decode the data of system events for all
// forms. Every form escapes untrusted text with package escape.
//
// Fields shows an object, such as the status of a stream, as JSON or as a table.
package output

import (
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

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

// Holder is a Flusher whose Flush may keep events once more. Held reports whether it has. The caller then
// calls Flush again after FlushAgain.
type Holder interface {
	Flusher
	Held() bool
}

// FlushAgain is how long an event may wait for another one that is likely to come.
const FlushAgain = 25 * time.Millisecond

// FormInfo describes a form: the option of ptrace-dump that selects it, and how to make it.
type FormInfo struct {
	Name    string // the long option
	Short   byte   // the short option, 0 for none
	Arg     string // the option's argument, "" for none
	Choices []string
	Help    string

	Golden bool // the option may be given with --golden
	Modes  bool // the option also goes with --summary, --status and the like
	Marks  bool // the form has flush marks without --events; text and summaries leave them out

	New func(s *Settings) (Form, error)
}

// Forms has a row for each form except Text, the default. To add a form, implement Form in
// a file of its own, add a row here, and describe the option in man/ptrace-dump.1. The options
// of ptrace-dump come from this table.
var Forms = []FormInfo{
	{Name: "json", Short: 'j', Help: "write one JSON object per event", Golden: true, Modes: true, Marks: true, New: newJSON},
	{Name: "csv", Help: "write comma-separated values with a header line", Marks: true, New: newCSV},
	{Name: "table", Help: "write a table as wide as the terminal", Modes: true, New: newEventTable},
	{Name: "chrome", Help: "write trace-event JSON for timeline viewers", Marks: true, New: newChrome},
	{Name: "format", Arg: "FMT", Help: "write %t time, %p pid, %n name, %d data, %% \\n ...", Golden: true, New: newFormat},
	{Name: "golden", Help: "write reproducible text, or JSON with -j", New: newGolden},
	{Name: "strace", Help: "write system calls as strace(1) does", New: newStrace},
	{Name: "annotate", Arg: "STYLE", Choices: []string{"rel", "abs", "delta", "cost"}, Help: "write captured output, times rel, abs, delta, cost", New: newAnnotate},
}

// Settings are the user's choices that the forms depend on. Each form takes those
// that concern it.
type Settings struct {
	Text   *Text      // how times are shown, and in which colours
	Color  bool       // the output may have colours
	Width  func() int // of the terminal in columns, 0 for no limit
	Format string     // the argument of --format
	Golden bool       // json, format: with --golden
	Exits  bool       // annotate: show the ends of commands
	Masks  []Mask     // with --golden: what to replace

	StringSize int                                                 // strace: the bytes that are shown of a string
	Shape      func(call string) CallShape                         // strace: of the arguments of a system call
	Result     func(call string, d *posixtrace.SyscallData) string // strace: what a result means
}

// NewForm returns the form of this name, Text if the name is empty.
func NewForm(name string, s *Settings) (Form, error) {
	if name == "" {
		return s.Text, nil
	}
	for _, f := range Forms {
		if f.Name == name {
			return f.New(s)
		}
	}
	panic("output: no form " + name)
}
