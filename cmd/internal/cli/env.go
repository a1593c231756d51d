package cli

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/escape"
)

// Env is the world as a command sees it.
type Env struct {
	Args   []string // without the program's name
	Stdin  *os.File
	Stdout *Writer
	Stderr io.Writer
	Getenv func(string) string

	Prog   string
	Colors Colors
	failed bool // Warn was called

	ClearLine func() // takes an unfinished line off standard error; nil for none
}

// NewEnv returns the environment of this process. argv begins with the
// program's name.
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

// Note writes a message that is no failure to standard error, in one write. Each
// line of text is made printable.
func (e *Env) Note(text string) { e.NoteHint(text, "") }

// Warn reports an error and lets the command go on; its status will be that of
// a failure. A nil error is nothing to report.
func (e *Env) Warn(err error) {
	if err == nil {
		return
	}
	e.failed = true
	f := AsFault(err)
	e.NoteHint(f.Text, f.Hint)
}

// NoteHint writes one message with its hint, all in one write, so that messages
// of several processes never mix within a line.
func (e *Env) NoteHint(text, hint string) {
	// Results written so far come first where both go to one terminal.
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
	b.Write(escape.AppendPrintable(nil, text))
	b.WriteByte('\n')
	for _, line := range strings.Split(hint, "\n") {
		if line != "" {
			b.WriteString(e.Colors.errs.hint.Sprint("hint:"))
			b.WriteByte(' ')
			b.Write(escape.AppendPrintable(nil, line))
			b.WriteByte('\n')
		}
	}
	e.Stderr.Write(b.Bytes())
}

// report writes the error that a command ended with and returns the status.
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
		b = escape.AppendPrintable(b, f.Text)
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
