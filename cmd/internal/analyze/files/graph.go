package files

import (
	"io"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// systemDirectories hold what all programs read. A graph without globs leaves them out unless a command
// wrote there.
var systemDirectories = []string{"/usr/", "/lib/", "/lib32/", "/lib64/", "/bin/", "/sbin/", "/etc/", "/opt/", "/dev/", "/proc/", "/sys/"}

func isSystem(p string) bool {
	for _, d := range systemDirectories {
		if strings.HasPrefix(p, d) {
			return true
		}
	}
	return false
}

// WriteGraph writes which command wrote and read which file, in the language of dot(1), or as objects of JSON.
// A file that was renamed is one node, with its last name.
func (f *Files) WriteGraph(w io.Writer, o *Options) error {
	s := f.show(w, o)
	if !s.JSON {
		s.line("digraph files {")
		s.line("\trankdir=LR; node [fontname=monospace];")
	}
	commands := make([]bool, f.processes.commands.count)
	seen := make([]bool, f.files.count)
	command := func(i int32) {
		if commands[i] {
			return
		}
		commands[i] = true
		if s.JSON {
			g := output.Fields{{Key: "kind", Value: "command"}, {Key: "id", Value: int(i)}, {Key: "pid", Value: s.processes.pid(i)}, {Key: "command", Value: s.processes.label(i)},
				{Key: "argv", Value: append([]string{}, s.processes.argv(i)...)}}
			by := none
			if up := s.processes.commands.of(i).by; up != none {
				by = int(up)
			}
			g.Add("started_by", by)
			s.fields(g)
			return
		}
		s.line("\tc", strconv.Itoa(int(i)), " [shape=box, label=", quoted(s.processes.label(i)), "];")
	}
	edge := func(file, c int32, write bool) {
		what, from, to := "read", "f"+strconv.Itoa(int(file)), "c"+strconv.Itoa(int(c))
		if write {
			what, from, to = "write", to, from
		}
		if s.JSON {
			s.fields(output.Fields{{Key: "kind", Value: what}, {Key: "command", Value: int(c)}, {Key: "file", Value: int(file)}})
			return
		}
		s.line("\t", from, " -> ", to, ";")
	}
	for _, i := range f.byPath(o.wants) {
		n := f.names.all.of(i)
		if isDevice(n.path) {
			continue
		}
		for l := n.files; l != none; l = f.names.links.of(l).next {
			file := f.names.links.of(l).file
			if seen[file] || f.files.of(file).directory {
				continue
			}
			seen[file] = true
			u := s.users.of(file)
			if len(u.writers)+len(u.readers) == 0 || len(o.Globs) == 0 && len(u.writers) == 0 && isSystem(n.path) {
				continue
			}
			p := f.names.all.of(f.files.of(file).name).path
			if s.JSON {
				s.fields(output.Fields{{Key: "kind", Value: "path"}, {Key: "id", Value: int(file)}, {Key: "path", Value: p}, {Key: "removed", Value: f.files.of(file).names == 0}})
			} else {
				s.line("\tf", strconv.Itoa(int(file)), " [label=", quoted(p), "];")
			}
			for _, a := range u.writers {
				if a.command != none {
					command(a.command)
					edge(file, a.command, true)
				}
			}
			for _, a := range u.readers {
				if a.command != none {
					command(a.command)
					edge(file, a.command, false)
				}
			}
		}
	}
	if !s.JSON {
		s.line("}")
	}
	return s.finish()
}

// quoted returns text as a string of dot(1), in which a backslash begins an escape sequence.
func quoted(text string) string {
	text = summary.Shown(summary.Cut(text, widestCommand))
	return `"` + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `\"`) + `"`
}
