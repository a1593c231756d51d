package files

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Options are the choices of the user.
type Options struct {
	Globs []string // of which a path matches one; all paths if there are none
	JSON  bool
	Top   int    // rows, summary.All or summary.Screen
	Lost  uint64 // events
}

// Wants reports whether a path is selected.
func (o *Options) wants(path string) bool { return len(o.Globs) == 0 || Matches(o.Globs, path) }

// A show writes in large pieces.
type show struct {
	*Files
	*Options
	w     io.Writer
	buf   []byte
	err   error
	users *finder
}

func (f *Files) show(w io.Writer, o *Options) *show {
	return &show{Files: f, Options: o, w: w, users: f.newFinder()}
}

const showSize = 1 << 16

// line ends a line.
func (s *show) line(parts ...string) {
	for _, p := range parts {
		s.buf = append(s.buf, p...)
	}
	s.buf = append(s.buf, '\n')
	s.pass(showSize)
}

func (s *show) pass(size int) {
	if len(s.buf) < size || s.err != nil {
		return
	}
	_, s.err = s.w.Write(s.buf)
	s.buf = s.buf[:0]
}

func (s *show) finish() error {
	s.pass(1)
	return s.err
}

// fields writes an object of JSON.
func (s *show) fields(f output.Fields) {
	s.buf = f.AppendJSON(s.buf)
	s.pass(showSize)
}

// notes writes what makes the rest doubtful.
func (s *show) notes() {
	note := func(n uint64, one, many, text string) {
		if n > 0 {
			s.line(cli.Plural(n, one, many), text)
		}
	}
	note(s.Lost, "event was", "events were", " lost: accesses may be missing")
	note(s.LeftOut, "access is", "accesses are", " left out: too many, or of no known path")
	if s.Accesses > 0 && !s.processes.executed && s.Lost == 0 {
		s.line("no command is known: `ptrace-run -e proc,files` records them")
	}
	note(s.Unmoved, "renamed directory was", "renamed directories were", " not followed: too many files")
}

// since returns the seconds since the first event.
func (s *show) since(at int64) string {
	d := uint64(0)
	if at > s.First {
		d = uint64(at) - uint64(s.First)
	}
	micro := strconv.FormatUint(d/1000%1e6, 10)
	return strconv.FormatUint(d/1e9, 10) + "." + "000000"[len(micro):] + micro
}

// left pads text on the right, right on the left.
func left(text string, width int) string {
	if n := output.Width(text); n < width {
		return text + strings.Repeat(" ", width-n)
	}
	return text
}

func right(text string, width int) string {
	if n := output.Width(text); n < width {
		return strings.Repeat(" ", width-n) + text
	}
	return text
}

// who returns the label of the command of an access.
func (s *show) who(a *access) string {
	if a == nil {
		return "-"
	}
	return s.processes.label(a.command)
}

// commandLine returns the arguments of a command as words of a shell.
func (s *show) commandLine(i int32) string {
	var words []string
	for _, a := range s.processes.argv(i) {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("%+,-./:=@_", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r < 0x80
		}) {
			a = cli.ShellQuote(a)
		}
		words = append(words, a)
	}
	if words == nil {
		return "?"
	}
	text := strings.Join(words, " ")
	if s.processes.commands.of(i).forked {
		text += " (fork)"
	}
	return text
}

const (
	widestCommand = 400
	widestLabel   = 28
	widestPlace   = 80
	shownOrigin   = 8
)

// command returns the line of a command for text.
func (s *show) command(i int32) string {
	return summary.Shown(summary.Cut(s.commandLine(i), widestCommand))
}

// from returns what started a command, "" if that is unknown.
func (s *show) from(i int32) string {
	above, place, recipe := s.processes.origin(i)
	var list []string
	for n, c := range above {
		if n == shownOrigin {
			list = append(list, "...")
			break
		}
		list = append(list, summary.Cut(s.processes.label(c), 2*widestLabel))
	}
	text := strings.Join(list, " < ")
	place = summary.Cut(place, widestPlace)
	switch {
	case place == "":
	case recipe:
		text += ", recipe of " + place
	default:
		text += ", at " + place
	}
	return summary.Shown(text)
}

// did returns what an access was, in words.
func (s *show) did(a *access) string {
	text := ""
	switch a.kind {
	case posixtrace.FileOpen:
		text = opened(a.mode)
	case posixtrace.FileMap:
		if text = "mapped"; a.writes() {
			text = "mapped to write"
		}
	case posixtrace.FileExec:
		if text = "executed"; a.mode&posixtrace.FileInterpreter != 0 {
			text = "loaded to run a program"
		}
	case posixtrace.FileTruncate:
		text = "truncated"
	case posixtrace.FileMkdir:
		text = "created, a directory"
	case posixtrace.FileRmdir, posixtrace.FileUnlink:
		text = "removed"
	case posixtrace.FileRename:
		text = "renamed"
	case posixtrace.FileLink:
		text = "linked"
	case posixtrace.FileSymlink:
		text = "created, a symbolic link"
	case posixtrace.FileChmod:
		text = "changed the mode"
	case posixtrace.FileChown:
		text = "changed the owner"
	case posixtrace.FileClose:
		if text = "closed after writing"; a.amount >= 0 {
			text = "closed after writing " + cli.Plural(uint64(a.amount), "byte", "bytes")
		}
	case posixtrace.FileMissing:
		return "looked for, " + cli.Plural(uint64(a.amount), "time", "times") + ": " + reason(a.err)
	case replaced:
		text = "replaced"
	default:
		text = "used"
	}
	if a.err != 0 {
		text = "failed: " + text + ": " + reason(a.err)
	}
	return text
}

// opened returns how a file was opened.
func opened(m posixtrace.FileMode) string {
	var list []string
	add := func(on bool, text string) {
		if on {
			list = append(list, text)
		}
	}
	add(m&posixtrace.FileCreate != 0, "created")
	add(m&posixtrace.FileCut != 0 && m&posixtrace.FileCreate == 0, "truncated")
	write := "written"
	if m&posixtrace.FileAppend != 0 {
		write = "appended to"
	}
	add(m&(posixtrace.FileWrite|posixtrace.FileAppend) != 0, write)
	add(m&posixtrace.FileRead != 0 && m&posixtrace.FileByPath == 0, "read")
	if m&posixtrace.FileByPath != 0 || list == nil {
		list = append(list, "opened")
	}
	if m&posixtrace.FileDirectory != 0 {
		list = append(list, "a directory")
	}
	return strings.Join(list, ", ")
}

func reason(errno uint16) string {
	if errno == 0 {
		return "not found"
	}
	return catalog.ErrnoText(int(errno))
}

// appendCommand appends a member of JSON with a command.
func (s *show) appendCommand(b []byte, a *access, argv bool) []byte {
	b = append(b, '{')
	at := len(b)
	b = output.AppendMember(b, "pid", s.processes.pid(a.command))
	b = output.AppendMember(b, "command", s.processes.label(a.command))
	if argv {
		b = output.AppendMember(b, "argv", append([]string{}, s.processes.argv(a.command)...))
	}
	return append(append(b[:at], b[at+1:]...), '}')
}

// result writes how much was found as an object of JSON.
func (s *show) result(found int) {
	s.fields(output.Fields{{Key: "kind", Value: "result"}, {Key: "found", Value: found}, {Key: "accesses", Value: s.Accesses},
		{Key: "left_out", Value: s.LeftOut + s.Unmoved}, {Key: "lost", Value: s.Lost}})
}

// addTime adds a time of JSON.
func addTime(f *output.Fields, prefix string, at int64) { f.Add(prefix+"time", time.Unix(0, at)) }

// errorName returns the name of an error, "" for none.
func errorName(errno uint16) string {
	if errno == 0 {
		return ""
	}
	return catalog.ErrnoName(int(errno))
}
