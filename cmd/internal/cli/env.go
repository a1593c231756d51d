package cli

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
)

// Env is the environment in which a command runs.
type Env struct {
	Args   []string // without the program's name
	Stdin  *os.File
	Stdout *Writer
	Stderr io.Writer
	Getenv func(string) string

	Prog   string
	Colors Colors
	failed bool // Warn reported an error

	Conceal   func(text string) string // returns the text of a message without secrets; nil for none
	ClearLine func()                   // erases an unfinished line on standard error; nil for none
}

// NewEnv returns the environment of this process. argv begins with the name of the program.
func NewEnv(argv []string) *Env {
	e := &Env{
		Stdin:  os.Stdin,
		Stdout: NewWriter(os.Stdout),
		Stderr: os.Stderr,
		Getenv: os.Getenv,
	}
	if len(argv) > 0 {
		e.Args = argv[1:]
	}
	return e
}

// Note writes a message that is not an error to standard error, in one write. It escapes
// unprintable characters.
func (e *Env) Note(text string) { e.NoteHint(text, "") }

// Warn reports an error and continues; the command then exits with the status of a failure.
// Warn ignores a nil error.
func (e *Env) Warn(err error) {
	if err == nil {
		return
	}
	e.failed = true
	f := AsFault(err)
	e.NoteHint(f.Text, f.Hint)
}

// NoteHint writes a message and its hint in one write, so that messages of concurrent
// processes do not mix within a line.
func (e *Env) NoteHint(text, hint string) {
	// Flush earlier results first, in case both go to one terminal.
	e.Stdout.Flush()
	if e.ClearLine != nil {
		e.ClearLine()
	}
	if !e.Colors.known {
		e.setColor("")
	}
	var b bytes.Buffer
	b.WriteString(e.Prog)
	b.WriteString(": ")
	b.Write(e.harmless(text))
	b.WriteByte('\n')
	for _, line := range strings.Split(hint, "\n") {
		if line != "" {
			b.WriteString(e.Colors.Err.hint.Sprint("hint:"))
			b.WriteByte(' ')
			b.Write(e.harmless(line))
			b.WriteByte('\n')
		}
	}
	e.Stderr.Write(b.Bytes())
}

// harmless returns the text of a message for a terminal, and for the log of a CI job.
func (e *Env) harmless(text string) []byte {
	if e.Conceal != nil {
		text = e.Conceal(text)
	}
	return escape.Commands(escape.AppendPrintable(nil, text), false)
}

// report prints the error that a command ended with and returns the exit status.
func (e *Env) report(c *Command, err error) int {
	if err == nil {
		return 0
	}
	f := AsFault(err)
	if f.Silent {
		return f.Status
	}
	if f.Usage {
		var b []byte
		b = append(append(b, c.Name...), ": "...)
		b = append(b, e.harmless(f.Text)...)
		b = append(append(append(b, "\nTry '"...), c.Name...), " --help' for more information.\n"...)
		e.Stderr.Write(b)
		return c.usageStatus()
	}
	e.NoteHint(f.Text, f.Hint)
	if f.Status != 0 {
		return f.Status
	}
	return c.failStatus()
}
