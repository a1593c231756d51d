package files

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// directory has what was done with the files of a directory, without those of the directories in it.
type directory struct {
	path                      string
	files, written, read, out int
	bytes                     int64
	missing                   int64
}

const pipedDirectories = 20

// WriteTable writes who wrote, read and removed each file. Of unused, only those that were written and that no
// other process read.
func (f *Files) WriteTable(w io.Writer, o *Options, unused bool) error {
	s := f.show(w, o)
	directories := map[string]*directory{}
	total := directory{}
	rows, sought := 0, 0
	for _, i := range f.byPath(o.wants) {
		n := f.names.all.of(i)
		file := f.fileAt(i)
		if n.missing > 0 && file == none {
			sought++
		}
		d := directories[directoryOf(n.path)]
		if d == nil {
			d = &directory{path: directoryOf(n.path)}
			directories[d.path] = d
		}
		if !unused {
			d.missing += min(n.missing, 1<<62-d.missing)
			total.missing += min(n.missing, 1<<62-total.missing)
		}
		if file == none {
			if s.JSON && !unused {
				s.object(i, file, nil)
			}
			continue
		}
		u := s.users.of(file)
		t := f.files.of(file)
		never := len(u.writers) > 0 && len(u.readers) == 0 && !t.directory && !t.special && !isDevice(n.path)
		away := f.renamedAway(file, i)
		if unused && (!never || away) {
			continue
		}
		for _, t := range []*directory{d, &total} {
			if away {
				break // it counts where its last name is
			}
			t.files++
			t.written += oneIf(len(u.writers) > 0)
			t.read += oneIf(len(u.readers) > 0)
			t.out += oneIf(n.file == none)
			t.bytes += min(max(u.bytes, 0), 1<<62-t.bytes)
		}
		switch {
		case s.JSON:
			s.object(i, file, u)
		case o.Top <= 0 || rows < o.Top:
			if rows == 0 {
				s.line(right("first", 12), right("last", 12), right("readers", 9), right("bytes", 8), "  ", left("first writer", widestLabel), "  ", left("removed by", widestLabel), "  path")
			}
			s.row(i, file, u)
		}
		rows++
	}
	if s.JSON {
		s.total(&total, directories, unused)
		return s.finish()
	}
	if o.Top > 0 && rows > o.Top {
		s.line("... ", strconv.Itoa(rows-o.Top), " more")
	}
	if !unused {
		s.directories(directories)
	}
	s.last(&total, unused, sought)
	s.notes()
	return s.finish()
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// renamedAway reports whether a file has got another name, under which it is shown.
func (f *Files) renamedAway(file, name int32) bool {
	a := f.endOf(file, name)
	return f.names.all.of(name).file != file && (a == nil || a.kind == posixtrace.FileRename)
}

// row writes a file as a line.
func (s *show) row(name, file int32, u *users) {
	writer, end := "-", "-"
	if len(u.writers) > 0 {
		writer = s.who(u.writers[0])
	}
	path := summary.Shown(s.names.all.of(name).path)
	if s.files.of(file).directory && path != "/" {
		path += "/"
	}
	switch a := s.endOf(file, name); {
	case a != nil:
		end = s.who(a)
		if a.kind == posixtrace.FileRename && a.other != none {
			path += " -> " + summary.Shown(s.names.all.of(a.other).path)
		}
	case s.names.all.of(name).file != file:
		path += " -> " + summary.Shown(s.names.all.of(s.files.of(file).name).path)
	}
	size := "-"
	if u.bytes >= 0 {
		size = cmp.Or(summary.Size(u.bytes), "0")
		if u.bytes == 0 {
			size = "0"
		}
	}
	s.line(right(s.since(u.first), 12), right(s.since(u.last), 12), right(strconv.Itoa(len(u.readers)), 9), right(size, 8), "  ", s.label(writer), "  ", s.label(end), "  ", path)
}

// label returns a label as a cell.
func (s *show) label(text string) string {
	text = summary.Shown(text)
	if output.Width(text) > widestLabel {
		text = output.Truncate(text, widestLabel, "…")
	}
	return left(text, widestLabel)
}

// object writes a name, and the file that has or had it, as an object of JSON.
func (s *show) object(name, file int32, u *users) {
	n := s.names.all.of(name)
	f := output.Fields{{Key: "kind", Value: "file"}, {Key: "path", Value: n.path}, {Key: "missing", Value: n.missing}}
	if file == none {
		f.Add("state", "missing")
		s.fields(f)
		return
	}
	t := s.files.of(file)
	f.Add("directory", t.directory)
	addTime(&f, "first_", u.first)
	addTime(&f, "last_", u.last)
	f.Add("bytes", u.bytes)
	f.Add("inode", t.inode)
	end, state, newName := s.endOf(file, name), "there", ""
	switch {
	case end != nil && end.kind == posixtrace.FileRename:
		if state = "renamed"; end.other != none {
			newName = s.names.all.of(end.other).path
		}
	case end != nil && end.kind == replaced:
		state = "replaced"
	case end != nil:
		state = "removed"
	case n.file != file:
		state, newName = "renamed", s.names.all.of(t.name).path
	}
	f.Add("state", state)
	f.Add("new_name", newName)
	f.Add("old_names", s.oldNames(file, name))
	s.buf = f.AppendJSON(s.buf)
	s.buf = s.buf[:len(s.buf)-2] // the end of the object, to which more is added
	if len(u.writers) > 0 {
		s.buf = s.appendCommand(append(s.buf, `,"first_writer":`...), u.writers[0], true)
	}
	if end != nil {
		s.buf = s.appendCommand(append(s.buf, `,"ended_by":`...), end, true)
	}
	s.buf = s.appendCommands(append(s.buf, `,"writers":[`...), u.writers)
	s.buf = s.appendCommands(append(s.buf, `],"readers":[`...), u.readers)
	s.line("]}")
}

func (s *show) appendCommands(b []byte, list []*access) []byte {
	for i, a := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.appendCommand(b, a, false)
	}
	return b
}

// oldNames returns the names that a file had before one.
func (s *show) oldNames(file, name int32) []string {
	list := []string{}
	if s.files.of(file).name != name {
		return list // the last name has them
	}
	for at := s.files.of(file).first; at != none && len(list) < maxOldNames; at = s.accesses.of(at).next {
		if a := s.accesses.of(at); a.kind == posixtrace.FileRename && a.name != name {
			if p := s.names.all.of(a.name).path; !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

const maxOldNames = 16

// byCount returns directories, those with most files first.
func byCount(m map[string]*directory) []*directory {
	list := slices.Collect(maps.Values(m))
	list = slices.DeleteFunc(list, func(d *directory) bool { return d.files == 0 && d.missing == 0 })
	slices.SortFunc(list, func(a, b *directory) int {
		return cmp.Or(cmp.Compare(b.files, a.files), cmp.Compare(b.missing, a.missing), cmp.Compare(a.path, b.path))
	})
	return list
}

// directories writes the totals of directories.
func (s *show) directories(m map[string]*directory) {
	list := byCount(m)
	most := s.Top
	switch most {
	case summary.Screen:
		most = pipedDirectories
	case summary.All:
		most = len(list)
	}
	for i, d := range list[:min(most, len(list))] {
		if i == 0 {
			s.line()
			s.line(right("files", 7), right("written", 9), right("read", 7), right("removed", 9), right("bytes", 8), right("missing", 9), "  directory")
		}
		s.line(right(strconv.Itoa(d.files), 7), right(strconv.Itoa(d.written), 9), right(strconv.Itoa(d.read), 7), right(strconv.Itoa(d.out), 9),
			right(summary.Size(d.bytes), 8), right(strconv.FormatInt(d.missing, 10), 9), "  ", summary.Shown(d.path))
	}
	if n := len(list) - most; n > 0 {
		s.line("... ", strconv.Itoa(n), " more")
	}
	if len(list) > 0 {
		s.line()
	}
}

// last writes the totals.
func (s *show) last(d *directory, unused bool, sought int) {
	if s.Accesses == 0 {
		s.line("no file accesses: `ptrace-run -e files` records them")
		return
	}
	if unused {
		s.line(cli.Plural(uint64(d.files), "file was", "files were"), " written and read by no other process")
		return
	}
	text := cli.Plural(uint64(d.files), "file", "files") + ": " + strconv.Itoa(d.written) + " written, " + strconv.Itoa(d.read) + " read, " + strconv.Itoa(d.out) + " removed"
	if d.missing > 0 {
		text += "; " + cli.Plural(uint64(d.missing), "look-up", "look-ups") + " found nothing, of " + cli.Plural(uint64(sought), "path", "paths") + " that had no file"
	}
	s.line(text)
}

// total writes the totals as objects of JSON.
func (s *show) total(total *directory, m map[string]*directory, unused bool) {
	if !unused {
		for _, d := range byCount(m) {
			s.fields(output.Fields{{Key: "kind", Value: "directory"}, {Key: "path", Value: d.path}, {Key: "files", Value: d.files}, {Key: "written", Value: d.written},
				{Key: "read", Value: d.read}, {Key: "removed", Value: d.out}, {Key: "bytes", Value: d.bytes}, {Key: "missing", Value: d.missing}})
		}
	}
	s.fields(output.Fields{{Key: "kind", Value: "total"}, {Key: "files", Value: total.files}, {Key: "written", Value: total.written}, {Key: "read", Value: total.read},
		{Key: "removed", Value: total.out}, {Key: "bytes", Value: total.bytes}, {Key: "missing", Value: total.missing}, {Key: "accesses", Value: s.Accesses},
		{Key: "left_out", Value: s.LeftOut + s.Unmoved}, {Key: "lost", Value: s.Lost}})
}
