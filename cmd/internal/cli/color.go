package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/fatih/color"
)

// Palette has the colours of one output stream.
type Palette struct {
	On      bool
	hint    *color.Color
	System  *color.Color // names of system events
	User    *color.Color // names of user events
	Stderr  *color.Color // standard error
	Time    *color.Color
	Failure *color.Color // what failed, or is lost
	Strong  *color.Color // what matters most
}

// Colors has the palettes of standard output and standard error. Each is decided on its
// own.
type Colors struct {
	known    bool
	Out, Err Palette
}

// setColor applies --color=when to both output streams.
func (e *Env) setColor(when string) {
	e.Colors.known = true
	e.Colors.Out = newPalette(e.wantColor(when, e.Stdout.w))
	e.Colors.Err = newPalette(e.wantColor(when, e.Stderr))
}

func (e *Env) wantColor(when string, w io.Writer) bool {
	switch when {
	case "always":
		return true
	case "never":
		return false
	}
	if e.Getenv("NO_COLOR") != "" {
		return false
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if v := e.Getenv(name); v != "" && v != "0" {
			return true
		}
	}
	return IsTerminal(w) && e.Getenv("TERM") != "dumb"
}

// newPalette sets each colour individually: the library's global switch tests standard
// output only and reads the environment again.
func newPalette(on bool) Palette {
	p := Palette{
		On:      on,
		hint:    color.New(color.FgCyan),
		System:  color.New(color.FgCyan),
		User:    color.New(color.Bold),
		Stderr:  color.New(color.FgYellow),
		Time:    color.New(color.Faint),
		Failure: color.New(color.FgRed),
		Strong:  color.New(color.Bold),
	}
	for _, c := range []*color.Color{p.hint, p.System, p.User, p.Stderr, p.Time, p.Failure, p.Strong} {
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	return isTerminal(f)
}

// OnTerminal reports whether standard output is a terminal.
func (e *Env) OnTerminal() bool { return IsTerminal(e.Stdout.w) }

// Width returns the number of columns of the terminal on standard output, or 0 if standard
// output is not a terminal.
func (e *Env) Width() int {
	width, _ := e.Size(e.Stdout.w)
	return width
}

// Size returns the columns and lines of a terminal, or 0 if w is none.
func (e *Env) Size(w any) (columns, lines int) {
	if !IsTerminal(w) {
		return 0, 0
	}
	f := w.(interface{ Fd() uintptr })
	columns, lines = terminalSize(f.Fd())
	if n := e.Columns(); n > 0 {
		columns = n
	}
	if n, err := strconv.Atoi(e.Getenv("LINES")); err == nil && n > 0 {
		lines = n
	}
	return columns, lines
}

// Columns returns the number of columns that the environment asks for, or 0.
func (e *Env) Columns() int {
	n, err := strconv.Atoi(e.Getenv("COLUMNS"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// ErrColors returns the palette of standard error.
func (e *Env) ErrColors() *Palette {
	if !e.Colors.known {
		e.setColor("")
	}
	return &e.Colors.Err
}

// Around returns the control sequences before and after text of a colour, "" if colours are off.
func Around(c *color.Color) (on, off string) {
	on, off, _ = strings.Cut(c.Sprint("\x00"), "\x00")
	return on, off
}

// Sequence returns the control sequence that selects a colour, "" if colours are off.
func Sequence(c *color.Color) string {
	on, _ := Around(c)
	return on
}
