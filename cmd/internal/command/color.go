package command

import (
	"io"
	"os"
	"strconv"

	"github.com/fatih/color"
	"golang.org/x/sys/unix"
)

// palette is what may be coloured on one stream of output.
type palette struct {
	on     bool
	hint   *color.Color
	system *color.Color // names of system events
	time   *color.Color
}

// colors are the palettes of standard output and standard error, which are
// decided each for itself.
type colors struct {
	known     bool
	out, errs palette
}

// setColor decides for both streams what --color=when means.
func (e *Env) setColor(when string) {
	e.colors.known = true
	e.colors.out = newPalette(e.wantColor(when, e.Stdout.w))
	e.colors.errs = newPalette(e.wantColor(when, e.Stderr))
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
	return isTerminal(w) && e.Getenv("TERM") != "dumb"
}

// newPalette switches every colour by itself: the library's one global switch
// looks at standard output only and reads the environment again.
func newPalette(on bool) palette {
	p := palette{
		on:     on,
		hint:   color.New(color.FgCyan),
		system: color.New(color.FgCyan),
		time:   color.New(color.Faint),
	}
	for _, c := range []*color.Color{p.hint, p.system, p.time} {
		if on {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
	}
	return p
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// width returns how many columns the terminal has that standard output is, 0 if
// it is none.
func (e *Env) width() int {
	if !isTerminal(e.Stdout.w) {
		return 0
	}
	if n, err := strconv.Atoi(e.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	f := e.Stdout.w.(interface{ Fd() uintptr })
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Col)
}
