package readers_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// What needs a stream fails in one line, with a hint, where there are no streams.
func TestStreamsOnLinuxOnly(t *testing.T) {
	tracetest.Only(t, runtime.GOOS != "linux", "on other systems than Linux")
	const log = "calls_recorded.trace"
	corpus(t, log)
	for _, c := range []struct {
		command string
		args    []string
		status  int
		text    string
	}{
		{"ptrace-dump", []string{"-S", "web"}, 1, "web: streams exist on Linux only"},
		{"ptrace-dump", []string{"-f", "-S", "web"}, 1, "web: streams exist on Linux only"},
		{"ptrace-dump", []string{"-S", "./web"}, 1, "./web: streams exist on Linux only"},
		{"ptrace-dump", []string{"-S", log}, 1, log + ": streams exist on Linux only"},
		{"ptrace-dump", []string{"web"}, 1, "web: "},
		{"ptrace-dump", []string{"-f", "web"}, 1, "web: "},
		{"ptrace-dump", nil, 2, "missing operand: no log"},
		{"ptrace-filter", nil, 2, "missing operand: no log"},
		{"ptrace-filter", []string{"-S", "web", "-x", "a"}, 1, "web: streams exist on Linux only"},
		{"ptrace-filter", []string{"web"}, 1, "web: streams exist on Linux only"},
		{"ptrace-filter", []string{filepath.Join(".", "web")}, 1, "web: streams exist on Linux only"},
		{"ptrace-filter", []string{log}, 1, log + ": streams exist on Linux only"},
		{"ptrace-diff", []string{"web", log}, 2, "web: "},
		{"ptrace-export", []string{"--to=otlp", "-o", "-", "web"}, 1, "web: "},
	} {
		r := run(t, os.Stdin, c.command, c.args...)
		first, rest, _ := strings.Cut(string(r.stderr), "\n")
		if r.status != c.status || !strings.HasPrefix(first, c.command+": "+c.text) || len(r.stdout) > 0 {
			t.Errorf("%s %q: status %d, %q, want %d and %q", c.command, c.args, r.status, r.stderr, c.status, c.text)
		}
		hinted := strings.HasPrefix(rest, "hint: ") || strings.HasPrefix(rest, "Try '")
		if want := strings.Contains(c.text, "Linux") || c.status == 2 && c.command != "ptrace-diff"; hinted != want || strings.Count(rest, "\n") > 1 {
			t.Errorf("%s %q: after its message: %q", c.command, c.args, rest)
		}
		if strings.Contains(string(r.stderr), "ptrace-ctl") {
			t.Errorf("%s %q names a command that is not there: %q", c.command, c.args, r.stderr)
		}
	}
}

// A program with trace points runs where there are no streams, and its control calls fail.
func TestTracePointsElsewhere(t *testing.T) {
	tracetest.Only(t, runtime.GOOS != "linux", "on other systems than Linux")
	id := posixtrace.MustEventID("portable.event")
	if posixtrace.Enabled(id) {
		t.Error("an event is enabled")
	}
	posixtrace.Event(id, []byte("data"))
	if list, err := posixtrace.List(); len(list) > 0 {
		t.Errorf("List() = %v, %v", list, err)
	}
	if s, err := posixtrace.Create(0, nil); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("Create() = %v, %v", s, err)
	}
	if s, err := posixtrace.Attach("web"); err == nil {
		t.Errorf("Attach() = %v", s)
	}
}

// Open reads a log, also when its file was closed, and again after Rewind. All readers of the package agree.
func TestOpenLog(t *testing.T) {
	for _, name := range corpus(t) {
		f, err := os.Open(name)
		tracetest.OK(t, "open", err)
		l, err := posixtrace.Open(f)
		f.Close()
		if err != nil {
			if !errors.Is(err, syscall.EINVAL) {
				t.Errorf("%s: Open: %v", name, err)
			}
			continue
		}
		var counts [2]int
		for i := range counts {
			for _, err := range l.All() {
				tracetest.OK(t, name, err)
				counts[i]++
			}
			tracetest.OK(t, "rewind", l.Rewind())
		}
		if counts[0] != counts[1] && name != "damaged_recorded.trace" {
			t.Errorf("%s: %d events, then %d", name, counts[0], counts[1])
		}
		tracetest.OK(t, "close", l.Close())
		if strings.HasSuffix(name, "_recorded.trace") && counts[0] == 0 && name != "empty_recorded.trace" {
			t.Errorf("%s: no events", name)
		}
	}
	f, err := os.Create("closed")
	tracetest.OK(t, "create", err)
	f.Close()
	if _, err := posixtrace.Open(f); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Open of a closed file: %v, want EBADF", err)
	}
}

// A filter replaces the log that it reads, and another one.
func TestFilterInPlace(t *testing.T) {
	const log = "calls_recorded.trace"
	corpus(t, log)
	if r := run(t, os.Stdin, "ptrace-filter", "-i", log, "-o", "b.trace", "-x", "proc.*"); r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	for _, out := range []string{log, "b.trace"} {
		if r := run(t, os.Stdin, "ptrace-filter", "-i", log, "-o", out, "-x", "proc.*"); r.status != 0 || len(r.stderr) > 0 {
			t.Errorf("-o %s: status %d: %s", out, r.status, r.stderr)
		}
	}
	a, b := run(t, os.Stdin, "ptrace-dump", "-j", log), run(t, os.Stdin, "ptrace-dump", "-j", "b.trace")
	if a.status != 0 || len(a.stdout) == 0 || !bytes.Equal(a.stdout, b.stdout) || bytes.Contains(a.stdout, []byte("proc.exec")) {
		t.Errorf("filtered in place: status %d, %d bytes, and %d", a.status, len(a.stdout), len(b.stdout))
	}
	left, _ := filepath.Glob(".ptrace-filter*")
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Exports replace older ones, a directory appears when it is whole, and the names of all files can be
// used on every system.
func TestExportFiles(t *testing.T) {
	logs := []string{"calls_recorded.trace", "output_recorded.trace"}
	corpus(t, logs...)
	for _, to := range []string{"--to=parquet", "--to=otlp"} {
		tracetest.OK(t, "directory", os.MkdirAll("many", 0o777))
		for _, dest := range []string{"one", "one", "many", "many" + string(filepath.Separator)} {
			if r := run(t, os.Stdin, "ptrace-export", append([]string{to, "-o", dest}, logs...)...); r.status != 0 {
				t.Errorf("%s -o %s: status %d: %s", to, dest, r.status, r.stderr)
			}
		}
	}
	tracetest.OK(t, "directory", os.Mkdir("empty", 0o777))
	for _, dest := range []string{"new", "empty", filepath.Join("empty", "sub") + string(filepath.Separator)} {
		if r := run(t, os.Stdin, "ptrace-export", append([]string{"--to=ctf", "-o", dest}, logs...)...); (r.status == 0) != (dest != "empty"+string(filepath.Separator)) {
			t.Errorf("--to=ctf -o %s: status %d: %s", dest, r.status, r.stderr)
		}
	}
	n := 0
	filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		tracetest.OK(t, "walk", err)
		n++
		if name := filepath.Base(path); strings.ContainsAny(name, `<>:"\|?*`) || path != "." && strings.HasSuffix(name, ".") || reserved(name) {
			t.Errorf("%q is no name of a file on Windows", name)
		}
		return nil
	})
	if n < 15 {
		t.Errorf("only %d files", n)
	}
}

// reserved reports whether a name is that of a device on Windows.
func reserved(name string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(name), ".")
	return slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, base) ||
		len(base) == 4 && (strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT")) && base[3] >= '0' && base[3] <= '9'
}

// A cursor continues after the last event shown, and its file is replaced.
func TestCursorFile(t *testing.T) {
	const log = "output_recorded.trace"
	corpus(t, log)
	first := run(t, os.Stdin, "ptrace-dump", "--cursor=c", "--head=2", log)
	rest := run(t, os.Stdin, "ptrace-dump", "--cursor=c", log)
	none := run(t, os.Stdin, "ptrace-dump", "--cursor=c", log)
	all := run(t, os.Stdin, "ptrace-dump", log)
	if first.status+rest.status+none.status != 0 || len(none.stdout) > 0 || len(first.stdout) == 0 || string(first.stdout)+string(rest.stdout) != string(all.stdout) {
		t.Errorf("with a cursor: %+v, %+v, %+v", first, rest, none)
	}
}

// A pattern is expanded where the shell does not do it, long paths and those of Windows are read.
func TestOperands(t *testing.T) {
	const log = "calls_recorded.trace"
	corpus(t, log)
	dir, err := os.Getwd()
	tracetest.OK(t, "directory", err)
	want := run(t, os.Stdin, "ptrace-dump", "-j", log)
	content, err := os.ReadFile(log)
	tracetest.OK(t, "log", err)
	long := filepath.Join(dir, strings.Repeat("d", 100), strings.Repeat("e", 100), strings.Repeat("f", 100))
	tracetest.OK(t, "directory", os.MkdirAll(long, 0o777))
	long = filepath.Join(long, log)
	tracetest.OK(t, "log", os.WriteFile(long, content, 0o600))
	tracetest.OK(t, "log", os.WriteFile("a [1] b.trace", content, 0o600))
	paths := []string{log, filepath.Join(dir, log), long, "./" + log, "a [1] b.trace"}
	if runtime.GOOS == "windows" {
		paths = append(paths, `.\`+log, `\\?\`+filepath.Join(dir, log), "calls_*.trace", "calls_recorde?.trace", `.\calls_*.trace`, "?[1]*.trace", "a [1] *.trace")
	}
	for _, path := range paths {
		r := run(t, os.Stdin, "ptrace-dump", "-j", path)
		if strings.HasPrefix(path, "?") {
			if r.status != 1 { // no name of one character before a bracket
				t.Errorf("%s: status %d", path, r.status)
			}
			continue
		}
		if r.status != 0 || !bytes.Equal(r.stdout, want.stdout) {
			t.Errorf("%s: status %d, %d bytes, want %d: %s", path, r.status, len(r.stdout), len(want.stdout), r.stderr)
		}
	}
	if r := run(t, os.Stdin, "ptrace-dump", "no*.such"); r.status != 1 || !strings.HasPrefix(string(r.stderr), "ptrace-dump: no*.such: ") {
		t.Errorf("no*.such: %d, %s", r.status, r.stderr)
	}
}

// A reader that ends early ends the command without a message.
func TestReaderGone(t *testing.T) {
	corpus(t, "calls_recorded.trace")
	r, w, err := os.Pipe()
	tracetest.OK(t, "pipe", err)
	r.Close()
	defer w.Close()
	// into runs the command with files as its output, and returns how it ended.
	into := func(stdout, stderr *os.File) *os.ProcessState {
		cmd := command(t, "ptrace-dump", "--html", "calls_recorded.trace")
		cmd.Stdout, cmd.Stderr = stdout, stderr
		if _, ok := cmd.Run().(*exec.ExitError); !ok && cmd.ProcessState == nil {
			t.Fatal("the command does not start")
		}
		return cmd.ProcessState
	}
	if state := into(w, w); state.Success() {
		t.Errorf("%v", state)
	}
	if runtime.GOOS != "windows" {
		return
	}
	// Standard error is another file: it stays empty.
	e, err := os.Create("stderr")
	tracetest.OK(t, "create", err)
	defer e.Close()
	state := into(w, e)
	if text, _ := os.ReadFile("stderr"); state.ExitCode() != 1 || len(text) > 0 {
		t.Errorf("%v: %q", state, text)
	}
}

// A log longer than an int of 32 bits can count is read: what follows its seal is ignored or reported as
// on 64 bits, in bounded memory and time.
func TestLongLog(t *testing.T) {
	tracetest.Only(t, runtime.GOOS == "linux", "where a hole in a file takes no space")
	const log = "cut_recorded.trace"
	corpus(t, log)
	f, err := os.OpenFile(log, os.O_RDWR, 0)
	tracetest.OK(t, "open", err)
	defer f.Close()
	st, err := f.Stat()
	tracetest.OK(t, "stat", err)
	short := run(t, os.Stdin, "ptrace-dump", "-j", log)
	if err := f.Truncate(3<<30 + 5); err != nil { // a hole
		tracetest.Need(t, false, "files of 3 GiB with a hole: "+err.Error())
	}
	content := make([]byte, st.Size())
	_, err = f.ReadAt(content, 0)
	tracetest.OK(t, "read", err)
	// The same blocks at the end, beyond 2 GiB: a reader seeks there for the seal or the index.
	_, err = f.WriteAt(content, 3<<30-st.Size())
	tracetest.OK(t, "write", err)
	r := run(t, os.Stdin, "ptrace-dump", "-j", log)
	if r.status != 1 || !bytes.HasPrefix(r.stdout, short.stdout) || len(short.stdout) == 0 {
		t.Errorf("status %d, %d bytes, want status 1 and those of the short log first, %d bytes: %s", r.status, len(r.stdout), len(short.stdout), r.stderr)
	}
	if r := run(t, os.Stdin, "ptrace-dump", "--check", log); r.status != 1 || len(r.stderr)+len(r.stdout) == 0 {
		t.Errorf("--check: status %d, %s%s", r.status, r.stdout, r.stderr)
	}
}

// A log that grows is followed until its end.
func TestFollowPipe(t *testing.T) {
	const log = "calls_recorded.trace"
	corpus(t, log)
	content, err := os.ReadFile(log)
	tracetest.OK(t, "log", err)
	want := run(t, os.Stdin, "ptrace-dump", "-j", log)
	r, w, err := os.Pipe()
	tracetest.OK(t, "pipe", err)
	go func() {
		defer w.Close()
		io.Copy(w, bytes.NewReader(content[:len(content)/2]))
		io.Copy(w, bytes.NewReader(content[len(content)/2:]))
	}()
	if got := run(t, r, "ptrace-dump", "-f", "-j", "-"); got.status != 0 || !bytes.Equal(got.stdout, want.stdout) {
		t.Errorf("followed: status %d, %d bytes, want %d: %s", got.status, len(got.stdout), len(want.stdout), got.stderr)
	}
}
