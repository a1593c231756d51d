package files

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// run is a log that a test writes.
type run struct {
	*Files
	src *Source
	at  int64
}

func newRun() *run {
	r := &run{Files: New()}
	r.src = r.NewSource(func(id posixtrace.EventID) string {
		return map[posixtrace.EventID]string{stepBegin: "step.begin", stepEnd: "step.end"}[id]
	})
	return r
}

const (
	stepBegin = posixtrace.EventUnnamed + 1 + iota
	stepEnd
)

func (r *run) event(pid int, id posixtrace.EventID, data []byte) {
	r.at += int64(time.Millisecond)
	r.src.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: id, PID: pid, TID: pid, UnixNano: r.at}, Data: data}})
}

func (r *run) fork(pid, child int) {
	r.event(pid, posixtrace.EventProcFork, (&posixtrace.ForkData{Child: child}).Append(nil))
}

func (r *run) exec(pid int, argv ...string) {
	r.event(pid, posixtrace.EventProcExec, (&posixtrace.ExecData{Path: "/usr/bin/" + argv[0], Argv: argv}).Append(nil))
}

func (r *run) exit(pid int) {
	r.event(pid, posixtrace.EventProcExit, (&posixtrace.ExitData{}).Append(nil))
}

func (r *run) access(pid int, d posixtrace.FileData) {
	r.event(pid, posixtrace.EventFileAccess, d.Append(nil))
}

func (r *run) make(pid int, path string) {
	r.access(pid, posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileWrite | posixtrace.FileCreate, Path: path})
}

func (r *run) read(pid int, path string) {
	r.access(pid, posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileRead, Path: path})
}

func (r *run) rename(pid int, from, to string) {
	r.access(pid, posixtrace.FileData{Kind: posixtrace.FileRename, Path: from, To: to})
}

// who returns the labels of the writers and readers of the file that has, or had, a path, and what became of it.
func (r *run) who(t *testing.T, path string) string {
	t.Helper()
	i, ok := r.names.index[path]
	if !ok || r.fileAt(i) == none {
		return "none"
	}
	file := r.fileAt(i)
	u := r.newFinder().of(file)
	text := ""
	for _, a := range u.writers {
		text += "w " + r.processes.label(a.command) + "; "
	}
	for _, a := range u.readers {
		text += "r " + r.processes.label(a.command) + "; "
	}
	if a := r.endOf(file, i); a != nil {
		text += a.kind.String() + " " + r.processes.label(a.command)
	} else if r.names.all.of(i).file == none {
		text += "moved to " + r.names.all.of(r.files.of(file).name).path
	}
	return strings.TrimSuffix(text, "; ")
}

func (r *run) expect(t *testing.T, path, want string) {
	t.Helper()
	if got := r.who(t, path); got != want {
		t.Errorf("%s: %q, want %q", path, got, want)
	}
	r.check(t)
}

// check verifies that names and files agree.
func (f *Files) check(t *testing.T) {
	t.Helper()
	have := map[int32]int32{}
	for i := range f.names.all.count {
		n := f.names.all.of(i)
		if n.file != none {
			have[n.file]++
		}
		if n.parent != none && directoryOf(n.path) != f.names.all.of(n.parent).path || f.names.index[n.path] != i {
			t.Fatalf("%+v", n)
		}
	}
	for i := range f.accesses.count {
		if a := f.accesses.of(i); a.next != none && (a.next <= i || f.accesses.of(a.next).file != a.file) {
			t.Fatalf("%d: %+v", i, a)
		}
	}
	for i := range f.files.count {
		d := f.files.of(i)
		if d.names != have[i] || (d.first == none) != (d.last == none) {
			t.Fatalf("file %d has %d names: %+v", i, have[i], d)
		}
	}
	for i := range f.processes.all.count {
		if p := f.processes.all.of(i); p.parent >= i {
			t.Fatalf("%d: %+v", i, p)
		}
	}
	for i := range f.processes.commands.count {
		if c := f.processes.commands.of(i); c.by >= i {
			t.Fatalf("%d: %+v", i, c)
		}
	}
}

func TestFollowed(t *testing.T) {
	r := newRun()
	r.exec(1, "sh")
	for pid, name := range []string{"", "", "write", "read", "move", "late"} {
		if name != "" {
			r.fork(1, pid)
			r.exec(pid, name)
		}
	}
	// A directory that is renamed takes its files along, and another file gets the name of one.
	r.make(2, "/d/a")
	r.make(2, "/d/e/b")
	r.rename(4, "/d", "/f")
	r.read(3, "/f/a")
	r.read(3, "/f/e/b")
	r.make(5, "/d/a")
	r.expect(t, "/f/a", "w write; r read")
	r.expect(t, "/f/e/b", "w write; r read")
	r.expect(t, "/d/e/b", "w write; r read; rename move")
	r.expect(t, "/d/a", "w late")

	// A file that replaces another one.
	r.make(2, "/old")
	r.read(3, "/old")
	r.make(5, "/new")
	r.rename(4, "/new", "/old")
	r.expect(t, "/old", "w late")
	r.expect(t, "/new", "w late; rename move")

	// Two names of one file: it is there until both are removed.
	r.make(2, "/x")
	r.access(4, posixtrace.FileData{Kind: posixtrace.FileLink, Path: "/x", To: "/y"})
	r.access(5, posixtrace.FileData{Kind: posixtrace.FileUnlink, Path: "/x"})
	r.read(3, "/y")
	r.expect(t, "/y", "w write; r read")
	r.expect(t, "/x", "w write; r read; unlink late")
	if n := r.files.of(r.fileAt(r.names.index["/y"])).names; n != 1 {
		t.Errorf("%d names", n)
	}

	// A rename of a file to itself, to another name of it, and to a directory below itself.
	r.rename(4, "/y", "/y")
	r.expect(t, "/y", "w write; r read")
	r.rename(4, "/f", "/f/e/g")

	// A file that another process than the traced ones replaced has another inode.
	r.access(2, posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileWrite, Path: "/i", Inode: 1})
	r.access(3, posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileRead, Path: "/i", Inode: 2})
	r.expect(t, "/i", "r read")

	if r.accesses.of(r.accesses.count-1).kind != posixtrace.FileOpen || r.accesses.of(r.accesses.count-2).kind != posixtrace.FileOpen {
		t.Error("the reader has replaced the file")
	}

	// What is recorded of a descriptor whose file has lost its name belongs to that file.
	r.make(2, "/tmp/t")
	r.access(4, posixtrace.FileData{Kind: posixtrace.FileUnlink, Path: "/tmp/t"})
	r.access(2, posixtrace.FileData{Kind: posixtrace.FileClose, Bytes: 7, Path: "/tmp/t"})
	r.expect(t, "/tmp/t", "w write; unlink move")
	r.make(5, "/tmp/t")
	r.expect(t, "/tmp/t", "w late")
	r.make(2, "/tmp/u")
	r.rename(4, "/tmp/u", "/tmp/v")
	r.access(2, posixtrace.FileData{Kind: posixtrace.FileClose, Bytes: 7, Path: "/tmp/u"})
	r.expect(t, "/tmp/u", "w write; rename move")
	if b := r.newFinder().of(r.fileAt(r.names.index["/tmp/v"])).bytes; b != 7 {
		t.Errorf("%d bytes", b)
	}

	// A directory that is a symbolic link: what was opened there is known in the other directory.
	r.access(2, posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileWrite | posixtrace.FileCreate, Path: "/l/k.tmp", Canonical: "/real/k.tmp"})
	r.rename(4, "/l/k.tmp", "/l/k")
	r.read(3, "/real/k")
	r.expect(t, "/real/k", "w write; r read")
	// The link becomes a directory.
	r.make(5, "/l/m")
	r.access(4, posixtrace.FileData{Kind: posixtrace.FileUnlink, Path: "/l/m"})
	r.expect(t, "/l/m", "w late; unlink move")
}

func TestProcesses(t *testing.T) {
	r := newRun()
	r.exec(1, "sh", "-c", "x")
	// The shell opens what the output is redirected to before it executes the command.
	r.fork(1, 2)
	r.make(2, "/out")
	r.exec(2, "cc", "a.c")
	r.expect(t, "/out", "w cc a.c")
	// A program that executes another one.
	r.exec(2, "as", "a.s")
	r.make(2, "/obj")
	r.expect(t, "/obj", "w as a.s")
	if above, _, _ := r.processes.origin(r.accesses.of(1).command); len(above) != 2 || r.processes.label(above[0]) != "cc a.c" {
		t.Error(above)
	}
	r.exit(2)
	// What is recorded at the end of a process, after it. A new process has the number of an old one.
	r.access(2, posixtrace.FileData{Kind: posixtrace.FileMissing, Count: 3, Path: "/none"})
	if n := r.names.all.of(r.names.index["/none"]); n.missing != 3 || r.processes.label(r.accesses.of(n.failed).command) != "as a.s" {
		t.Errorf("%+v", n)
	}
	r.fork(1, 2)
	r.make(2, "/second")
	r.expect(t, "/second", "w sh -c x (fork)")
	// The first event of a process may come before that of its start.
	r.exec(3, "early")
	r.fork(1, 3)
	r.make(3, "/early")
	r.expect(t, "/early", "w early")
	if above, _, _ := r.processes.origin(r.accesses.of(r.accesses.count - 1).command); len(above) != 1 {
		t.Error(above)
	}
	// The step of a script that starts a command.
	r.event(1, stepBegin, []byte("a.sh:3 tool"))
	r.fork(1, 4)
	r.exec(4, "tool")
	r.make(4, "/stepped")
	r.event(1, stepEnd, []byte("0"))
	r.fork(1, 5)
	for i, want := range map[int32]string{r.accesses.of(r.accesses.count - 1).command: "a.sh:3 tool", r.processes.commands.count - 1: ""} {
		if _, place, _ := r.processes.origin(i); place != want {
			t.Errorf("%s: place %q, want %q", r.processes.label(i), place, want)
		}
	}
	r.check(t)
}

// Nothing that a log has makes the analysis slow or large.
func TestBounds(t *testing.T) {
	r := newRun()
	for i := range 2000 {
		r.make(1, fmt.Sprintf("/d/%d/%d", i%10, i))
	}
	for i := range 5000 {
		names := []string{"/d", "/e"}
		r.rename(1, names[i%2], names[(i+1)%2])
	}
	if r.names.moves < maxMoves || r.Unmoved == 0 || r.names.bytes > maxNameBytes {
		t.Errorf("%d moves, %d directories were not followed, %d bytes of names", r.names.moves, r.Unmoved, r.names.bytes)
	}
	r.check(t)
	deep := New()
	src := deep.NewSource(func(posixtrace.EventID) string { return "" })
	for i := range 20 {
		d := posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileRead, Path: "/" + strings.Repeat(fmt.Sprintf("%d/", i), 2000) + strings.Repeat("x", i%2<<15)}
		src.Add([]posixtrace.Record{{EventInfo: posixtrace.EventInfo{ID: posixtrace.EventFileAccess, PID: 1}, Data: d.Append(nil)}})
	}
	if n := deep.names.all.count; n < 20000 || n > maxNames || deep.LeftOut != 10 {
		t.Errorf("%d names, %d accesses left out", n, deep.LeftOut)
	}
	deep.check(t)
}

// A file that gets very many names, and two files that exchange theirs, take a time that grows with their number.
func TestRenameStorm(t *testing.T) {
	storm := tracetest.Scale(10_000, 30_000, 30_000)
	r := newRun()
	r.exec(1, "make")
	for pid := range 4 {
		r.fork(1, pid+2)
		r.exec(pid+2, "mv", "x")
	}
	r.make(2, "/n0")
	r.make(2, "/a")
	r.make(2, "/b")
	r.make(2, "/linked")
	r.access(3, posixtrace.FileData{Kind: posixtrace.FileMissing, Count: 1, Path: "/a"})
	for i := range storm {
		r.rename(2+i%4, fmt.Sprintf("/n%d", i), fmt.Sprintf("/n%d", i+1))
		r.access(2+i%4, posixtrace.FileData{Kind: posixtrace.FileLink, Path: "/linked", To: fmt.Sprintf("/link%d", i)})
		r.rename(2, "/a", "/t")
		r.rename(3, "/b", "/a")
		r.rename(4, "/t", "/b")
	}
	r.check(t)
	limit := tracetest.NewEffort()
	r.forms(func(name string, j bool, form func(w io.Writer, o *Options) error) {
		if err := form(io.Discard, &Options{JSON: j}); err != nil {
			t.Fatal(err)
		}
	})
	text, over := limit.Over(time.Duration(storm) * 500 * time.Microsecond)
	if t.Log(text); over {
		t.Error("too long")
	}
	if i := r.files.of(r.fileAt(r.names.index["/n7"])).name; r.names.all.of(i).path != fmt.Sprint("/n", storm) {
		t.Errorf("/n7 is %s now", r.names.all.of(i).path)
	}
}

func TestDeclared(t *testing.T) {
	d, err := ReadDeclared(strings.NewReader("# a\n\n read /a/* \nread !/a/b*\nread\t/a/bc\nwrite x y\nwrite ../z/*\nwrite *.tmp\nread .\n"), "/home/me/")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path        string
		read, write bool
	}{{"/a/x", true, false}, {"/a/bd", false, false}, {"/a/bc", true, false}, {"/a", false, false}, {"/home/me/x y", false, true}, {"/home/z/q/r", false, true}, {"/t/x.tmp", false, true}, {"/home/me", true, false}} {
		if r, w := has(d.read, c.path), has(d.write, c.path); r != c.read || w != c.write {
			t.Errorf("%s: read %v, write %v", c.path, r, w)
		}
	}
	for text, want := range map[string]string{
		"read /a\nwrit /b":                "line 2: 'writ': not read or write",
		"read":                            "line 1: 'read': no glob follows",
		"\n\nwrite !":                     "line 3: 'write !': no glob follows",
		strings.Repeat("a", 1<<14):        "line 1: longer than 8192 bytes",
		strings.Repeat("read a\n", 1<<13): "line 4097: more than 4096 globs",
	} {
		if _, err := ReadDeclared(strings.NewReader(text), "/"); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

// forms writes all forms.
func (f *Files) forms(write func(name string, json bool, f func(w io.Writer, o *Options) error)) {
	d, _ := ReadDeclared(strings.NewReader("read /a*\nwrite !*b\n"), "/")
	for _, j := range []bool{false, true} {
		for name, form := range map[string]func(w io.Writer, o *Options) error{
			"files":      func(w io.Writer, o *Options) error { return f.WriteTable(w, o, false) },
			"unused":     func(w io.Writer, o *Options) error { return f.WriteTable(w, o, true) },
			"history":    func(w io.Writer, o *Options) error { _, err := f.WriteHistory(w, o); return err },
			"dot":        f.WriteGraph,
			"races":      func(w io.Writer, o *Options) error { _, _, err := f.WriteRaces(w, o); return err },
			"undeclared": func(w io.Writer, o *Options) error { _, _, err := f.WriteUndeclared(w, o, d); return err },
		} {
			write(name, j, form)
		}
	}
}

var schema = sync.OnceValue(func() *jsonschema.Schema {
	return jsonschema.NewCompiler().MustCompile("../../../ptrace-dump/files.schema.json")
})

// checkObject checks a line of JSON: it is as the schema says, and has no member that the schema lacks.
func checkObject(t *testing.T, name string, line []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err == nil {
		err = schema().Validate(v)
	}
	if err != nil {
		t.Fatalf("%s: %v in %s", name, err, line)
	}
	for member := range v.(map[string]any) {
		if schema().Properties[member] == nil {
			t.Fatalf("%s: the schema lacks %s", name, member)
		}
	}
}

// Whatever a log contains, names and files agree, text has no control characters, and JSON is valid.
func FuzzFiles(f *testing.F) {
	open := (&posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileWrite, Path: "/a"}).Append(nil)
	f.Add([]byte("\x01\x01\x02\x00\x00\x01\x00/a/b\x1b[31m\n\x00\x08\x01\x03\x00\x00\x00\x00/a\x00/c"), open)
	f.Add([]byte("\x00\x01\x02\x00\x02\x01make\x00\x01\x02\x01\x03\x00\x00\x08\x02/x/y\x00/z\x00\x01\x03\x01\x00\x01\x02/x"), open)
	f.Fuzz(func(t *testing.T, b, raw []byte) {
		r := newRun()
		for n := 0; len(b) >= 8 && n < 200; n++ {
			head, size := b[:8], min(int(b[7]%24), len(b)-8)
			text := b[8 : 8+size]
			b = b[8+size:]
			pid := int(head[1] % 6)
			switch head[0] % 8 {
			case 0:
				r.fork(pid, int(head[2]%6))
			case 1:
				r.exec(pid, []string{"make", "cc", string(text)}[head[2]%3], string(text))
			case 2:
				r.exit(pid)
			case 3:
				r.event(pid, stepBegin, text)
			case 4:
				r.event(pid, stepEnd, text)
			case 5:
				r.event(pid, posixtrace.EventFileAccess, raw)
			default:
				path, to, _ := strings.Cut(string(text), "\x00")
				d := posixtrace.FileData{Kind: posixtrace.FileKind(head[2] % 18), Mode: posixtrace.FileMode(head[3]) | posixtrace.FileMode(head[4]&3)<<8, Inode: uint64(head[5] % 3),
					Bytes: int64(head[6]) << 55, Count: int64(head[6]) << 55, Path: "/" + path, To: "/" + to}
				if head[4]&4 != 0 {
					d.Canonical = "/" + to
				}
				if head[4]&8 != 0 {
					d.Err = 13
				}
				r.access(pid, d)
			}
			r.at -= int64(head[6]) << 10
		}
		r.check(t)
		r.forms(func(name string, j bool, form func(w io.Writer, o *Options) error) {
			var out bytes.Buffer
			if err := form(&out, &Options{JSON: j}); err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(out.Bytes()) {
				if j {
					checkObject(t, name, line)
				}
				if line = bytes.TrimSuffix(line, []byte("\n")); name == "dot" && !j {
					line = bytes.TrimPrefix(line, []byte("\t"))
				}
				if bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Fatalf("%s: %q", name, line)
				}
			}
		})
	})
}

func BenchmarkFiles(b *testing.B) {
	data := make([][]byte, 1<<12)
	for i := range data {
		d := posixtrace.FileData{Kind: posixtrace.FileOpen, Mode: posixtrace.FileRead, Path: fmt.Sprintf("/usr/include/library%d/header%d.h", i%10, i)}
		data[i] = d.Append(nil)
	}
	r := newRun()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%maxAccesses == 0 {
			r = newRun()
		}
		r.event(i/100%1000, posixtrace.EventFileAccess, data[i%len(data)])
	}
}
