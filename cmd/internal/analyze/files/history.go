package files

import (
	"cmp"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Matches reports whether a path is one of some paths, or matches one as a glob. One that is not absolute is
// the end of a path.
func Matches(wanted []string, p string) bool {
	for _, w := range wanted {
		if p == w || selection.Match(w, p) {
			return true
		}
		if w != "" && w[0] != '/' && w[0] != '*' {
			if w = path.Clean(w); strings.HasSuffix(p, "/"+w) || selection.Match("*/"+w, p) {
				return true
			}
		}
	}
	return false
}

// WriteHistory writes what processes did with the files that have, or had, one of the names that the options
// select, in order, under all names of these files. It returns false if there is no such file.
func (f *Files) WriteHistory(w io.Writer, o *Options) (bool, error) {
	s := f.show(w, o)
	var list []*access
	seen := make([]bool, f.files.count)
	add := func(at int32) {
		for ; at != none; at = f.accesses.of(at).next {
			list = append(list, f.accesses.of(at))
		}
	}
	wanted := f.byPath(o.wants)
	several := len(wanted) > 1
	for _, i := range wanted {
		add(f.names.all.of(i).failed)
		for _, file := range f.filesOf(i) {
			if !seen[file] {
				seen[file] = true
				add(f.files.of(file).first)
			}
		}
	}
	if len(list) == 0 {
		return false, nil
	}
	slices.SortStableFunc(list, func(a, b *access) int { return cmp.Compare(a.at, b.at) })
	for _, a := range list {
		several = several || a.name != list[0].name || a.other != none
	}
	for i, a := range list {
		if s.JSON {
			s.event(a)
			continue
		}
		text := right(s.since(a.at), 12) + right(number(s.processes.pid(a.command)), 9) + "  " + s.did(a)
		if several {
			text += "  " + summary.Shown(f.names.all.of(a.name).path)
			if a.other != none {
				text += " -> " + summary.Shown(f.names.all.of(a.other).path)
			}
		}
		s.line(text)
		if i == len(list)-1 || list[i+1].command != a.command || a.command == none {
			s.line(strings.Repeat(" ", 23), s.command(a.command))
			if from := s.from(a.command); from != "" {
				s.line(strings.Repeat(" ", 23), "started by ", from)
			}
		}
	}
	if !s.JSON {
		s.notes()
	}
	return true, s.finish()
}

func number(n int) string { return strconv.Itoa(n) }

// event writes an access as an object of JSON.
func (s *show) event(a *access) {
	f := output.Fields{{Key: "kind", Value: "access"}}
	addTime(&f, "", a.at)
	what := a.kind.String()
	if a.kind == replaced {
		what = "replaced"
	}
	f.Add("what", what)
	f.Add("modes", append([]string{}, a.mode.Words()...))
	f.Add("error", errorName(a.err))
	f.Add("path", s.names.all.of(a.name).path)
	to := ""
	if a.other != none {
		to = s.names.all.of(a.other).path
	}
	f.Add("to", to)
	switch a.kind {
	case posixtrace.FileClose:
		f.Add("bytes", a.amount)
	case posixtrace.FileMissing:
		f.Add("count", a.amount)
	}
	above, place, _ := s.processes.origin(a.command)
	from := []string{}
	for _, c := range above {
		from = append(from, s.processes.label(c))
	}
	f.Add("pid", s.processes.pid(a.command))
	f.Add("command", s.processes.label(a.command))
	f.Add("argv", append([]string{}, s.processes.argv(a.command)...))
	f.Add("started_by", from)
	f.Add("place", place)
	s.fields(f)
}
