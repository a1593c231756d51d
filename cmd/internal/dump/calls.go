package dump

import (
	"bytes"
	"path"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// callSelection selects system calls, commands and spans by what they did. All its conditions must hold.
type callSelection struct {
	given  bool
	failed bool
	slower time.Duration // what took longer, if given
	slow   bool
	paths  []string // names and globs, of which one must match
}

func readCallSelection(args *cli.Args) (s callSelection, err error) {
	s.failed, s.slow, s.paths = args.Has("failed"), args.Has("slower-than"), args.All("path")
	if s.slower, err = args.Duration("slower-than", 0); err != nil {
		return s, err
	}
	for _, p := range s.paths {
		if p == "" {
			return s, cli.Usagef("invalid argument '' for '--path'")
		}
	}
	s.given = s.failed || s.slow || s.paths != nil
	return s, nil
}

// needsSpans reports whether a span or a command can be selected: neither has a path.
func (s *callSelection) needsSpans() bool { return s.given && s.paths == nil }

// has reports whether an event is a system call that is selected, or the end of a command or a span that
// is. No other event is. ended is what the event ends, or nil.
func (s *callSelection) has(src *output.Source, rec *posixtrace.Record, ended *analysis.Interval) bool {
	if !rec.ID.System() || rec.ID == posixtrace.EventProcExit {
		return s.paths == nil && ended != nil && (!s.failed || ended.Failed) && (!s.slow || ended.End-ended.Start > int64(s.slower))
	}
	name, ok := strings.CutPrefix(src.Name(rec.ID), tracer.Prefix)
	if !ok {
		return false
	}
	d, err := posixtrace.DecodeSyscall(rec.Data)
	if err != nil {
		return false
	}
	return (!s.failed || d.Errno != 0) && (!s.slow || d.Duration > s.slower) && (s.paths == nil || s.touches(name, &d))
}

// endedBy returns what is shown of the command or the span that an event ends, nil if it ends none.
func endedBy(iv *analysis.Interval) *output.Ended {
	if iv == nil {
		return nil
	}
	e := &output.Ended{Duration: iv.End - iv.Start}
	if iv.Kind == analysis.SpanKind {
		e.Begin = bytes.Clone(iv.Data)
	} else if iv.Name != "" {
		l := analysis.NewLabels() // this one is compared with no other
		l.Add(iv.Data)
		e.Command = l.Of(iv.Data, iv.Forked)
	}
	return e
}

// touches reports whether an argument of a call is one of the paths, or a descriptor of it, or its
// result is such a descriptor.
func (s *callSelection) touches(name string, d *posixtrace.SyscallData) bool {
	if len(d.Opened) > 0 && s.matches(withoutDeleted(string(d.Opened))) {
		return true
	}
	shape := tracer.ShapeOf(name)
	directory := ""
	for i := range d.Args {
		a := &d.Args[i]
		opened := openedPath(a.Value)
		switch {
		case !a.String:
			if opened != "" && s.matches(opened) {
				return true
			}
			if unix, ok := bytes.CutPrefix(a.Value, []byte("AF_UNIX:")); ok && s.matches(string(unix)) {
				return true
			}
		case i < 64 && shape.Paths&(1<<i) != 0:
			p := string(a.Value)
			if s.matches(p) || directory != "" && !path.IsAbs(p) && s.matches(path.Join(directory, p)) {
				return true
			}
		}
		directory = opened
	}
	return false
}

// openedPath returns what a descriptor among the arguments refers to, as ptrace-run -y records it:
// 3</etc/passwd>, AT_FDCWD</>; "" for other arguments.
func openedPath(arg []byte) string {
	number, rest, ok := bytes.Cut(arg, []byte("<"))
	if !ok || len(rest) == 0 || rest[len(rest)-1] != '>' {
		return ""
	}
	if string(number) != "AT_FDCWD" && (len(number) == 0 || len(bytes.Trim(number, "0123456789")) > 0) {
		return ""
	}
	return withoutDeleted(string(rest[:len(rest)-1]))
}

func withoutDeleted(p string) string { return strings.TrimSuffix(p, " (deleted)") }

func (s *callSelection) matches(p string) bool {
	for _, want := range s.paths {
		if p == want || selection.Match(want, p) {
			return true
		}
	}
	return false
}
