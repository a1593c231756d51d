package files

import (
	"io"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// WriteUndeclared writes what was used outside of a declaration, and returns whether anything was. Where
// accesses may be missing, it is not known that nothing was: known is false then.
func (f *Files) WriteUndeclared(w io.Writer, o *Options, d *Declared) (found, known bool, err error) {
	s := f.show(w, o)
	list := f.undeclared(d, o.wants)
	for i, t := range list {
		if o.Top > 0 && i == o.Top && !s.JSON {
			s.line("... ", strconv.Itoa(len(list)-i), " more")
			break
		}
		what := "read"
		if t.write {
			what = "written"
		}
		p := f.names.all.of(t.name).path
		if s.JSON {
			g := output.Fields{{Key: "kind", Value: "undeclared"}, {Key: "what", Value: what}, {Key: "path", Value: p}, {Key: "others", Value: t.more}}
			addTime(&g, "", t.by.at)
			s.buf = g.AppendJSON(s.buf)
			s.buf = s.appendCommand(append(s.buf[:len(s.buf)-2], `,"by":`...), t.by, true)
			s.line("}")
			continue
		}
		more := ""
		if t.more > 0 {
			more = " and " + cli.Plural(uint64(t.more), "other process", "other processes")
		}
		s.line(left(what, 9), summary.Shown(p), " by ", strconv.Itoa(s.processes.pid(t.by.command)), ", ", s.command(t.by.command), more)
	}
	known = s.Lost == 0 && f.LeftOut == 0 && f.Accesses > 0
	if s.JSON {
		s.result(len(list))
	} else {
		s.lastUndeclared(list)
		s.notes()
	}
	return len(list) > 0, known, s.finish()
}

func (s *show) lastUndeclared(list []touched) {
	reads, writes := 0, 0
	for _, t := range list {
		if t.write {
			writes++
		} else {
			reads++
		}
	}
	switch {
	case s.Accesses == 0:
		s.line("no file accesses: `ptrace-run -e files` records them")
	case len(list) == 0:
		s.line("nothing undeclared in ", cli.Plural(s.Accesses, "access", "accesses"))
	default:
		s.line("undeclared: ", cli.Plural(uint64(reads), "path", "paths"), " read, ", strconv.Itoa(writes), " written")
	}
}

// WriteRaces writes the files that two commands of one make wrote and read without an order, and returns
// whether there are any.
func (f *Files) WriteRaces(w io.Writer, o *Options) (found, known bool, err error) {
	s := f.show(w, o)
	list, more := f.races(o.wants)
	for i, r := range list {
		if o.Top > 0 && i == o.Top && !s.JSON {
			s.line("... ", strconv.Itoa(len(list)-i), " more")
			break
		}
		p := f.names.all.of(r.name).path
		if s.JSON {
			g := output.Fields{{Key: "kind", Value: "race"}, {Key: "path", Value: p}, {Key: "what", Value: s.did(r.writer)}, {Key: "others", Value: r.others}}
			addTime(&g, "write_", r.writer.at)
			addTime(&g, "read_", r.reader.at)
			s.buf = g.AppendJSON(s.buf)
			s.buf = s.appendCommand(append(s.buf[:len(s.buf)-2], `,"writer":`...), r.writer, true)
			s.buf = s.appendCommand(append(s.buf, `,"reader":`...), r.reader, true)
			s.buf = s.appendCommand(append(s.buf, `,"make":`...), &access{command: r.maker}, true)
			s.line("}")
			continue
		}
		s.line(summary.Shown(p))
		s.side(r.writer)
		s.side(r.reader)
		text := "  no order: " + strconv.Itoa(s.processes.pid(r.maker)) + ", " + s.command(r.maker) + ", ran both at a time"
		if r.others > 0 {
			text += ", and " + cli.Plural(uint64(r.others), "other pair", "other pairs")
		}
		s.line(text)
	}
	if s.JSON {
		s.result(len(list))
	} else {
		switch {
		case s.Accesses == 0:
			s.line("no file accesses: `ptrace-run -e files` records them")
		case more:
			s.line(strconv.Itoa(len(list)), " races; there may be more, the rest was not compared")
		case len(list) == 0:
			s.line("no races in ", cli.Plural(s.Accesses, "access", "accesses"))
		default:
			s.line(cli.Plural(uint64(len(list)), "race", "races"))
		}
		s.notes()
	}
	known = s.Lost == 0 && f.LeftOut == 0 && f.Accesses > 0 && !more
	return len(list) > 0, known, s.finish()
}

// side writes one of the two commands of a race.
func (s *show) side(a *access) {
	s.line("  ", s.since(a.at), "  ", s.did(a), " by ", strconv.Itoa(s.processes.pid(a.command)), ", ", s.command(a.command))
	if from := s.from(a.command); from != "" {
		s.line("            started by ", from)
	}
}
