// Package readers_test tests the commands that read logs on the systems and processors that have no
// streams. scripts/extra/platforms records logs on Linux, has this package write what the readers print of
// them there, and runs it on the others.
package readers_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/diff"
	"github.com/posixtrace/posixtrace/cmd/internal/dump"
	"github.com/posixtrace/posixtrace/cmd/internal/export"
	"github.com/posixtrace/posixtrace/cmd/internal/filter"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

const (
	// corpusVar names the directory of logs, and expectVar that of what linux/amd64 prints of them, in
	// the environment. If recordVar is set, the tests write the latter.
	corpusVar = "POSIXTRACE_CORPUS"
	expectVar = "POSIXTRACE_EXPECT"
	recordVar = "POSIXTRACE_RECORD"
	// readerVar makes a process the command that it names.
	readerVar = "POSIXTRACE_READER"
)

var commands = map[string]*cli.Command{
	"ptrace-dump": dump.Command, "ptrace-diff": diff.Command, "ptrace-export": export.Command, "ptrace-filter": filter.Command,
}

func TestMain(m *testing.M) {
	if c := commands[os.Getenv(readerVar)]; c != nil {
		cli.Main(c)
	}
	os.Setenv("PTRACE_STREAM", "")
	time.Local = time.UTC
	os.Exit(m.Run())
}

// corpus copies logs, or all of them, to a directory of this test, which becomes the current one, and
// returns their names.
func corpus(t *testing.T, only ...string) []string {
	t.Helper()
	from := os.Getenv(corpusVar)
	tracetest.Only(t, from != "", "by scripts/extra/platforms")
	t.Chdir(tracetest.Dir(t))
	list, err := filepath.Glob(filepath.Join(from, "*.trace*"))
	tracetest.OK(t, "logs", err)
	if len(list) < 48 {
		t.Fatalf("only %d logs in %s", len(list), from)
	}
	var names []string
	for _, path := range list {
		if only != nil && !slices.Contains(only, filepath.Base(path)) {
			continue
		}
		b, err := os.ReadFile(path)
		tracetest.OK(t, "log", err)
		names = append(names, filepath.Base(path))
		tracetest.OK(t, "log", os.WriteFile(filepath.Base(path), b, 0o600))
	}
	if only != nil && len(names) != len(only) {
		t.Fatalf("the logs are %q, want %q", names, only)
	}
	return names
}

// result is what a command did.
type result struct {
	status         int
	stdout, stderr []byte
}

// run runs a command in this process.
func run(t *testing.T, stdin *os.File, name string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := commands[name].Execute(&cli.Env{
		Args: args, Stdin: stdin, Stdout: cli.NewWriter(&stdout), Stderr: &stderr, Getenv: func(string) string { return "" },
	})
	return result{status, stdout.Bytes(), stderr.Bytes()}
}

// command returns a command as a process of its own, under the emulator if there is one.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	tracetest.OK(t, "executable", err)
	argv := append(append(strings.Fields(os.Getenv(tracetest.EmulatorVar)), self), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), readerVar+"="+name, "TZ=UTC", "PTRACE_STREAM=")
	return cmd
}

// process runs a command as a process of its own.
func process(t *testing.T, stdin []byte, name string, args ...string) result {
	t.Helper()
	cmd := command(t, name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()}
}

// text shows a result and the files that the command wrote.
func (r result) text(t *testing.T, written string) []byte {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "status %d\n-- standard output --\n%s\n-- standard error --\n%s\n", r.status, r.stdout, r.stderr)
	if written == "" {
		return b.Bytes()
	}
	filepath.WalkDir(written, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			content, err := os.ReadFile(path)
			tracetest.OK(t, "output", err)
			if bytes.HasPrefix(content, []byte("PAR1")) {
				content = unpacked(t, content)
			}
			fmt.Fprintf(&b, "-- %s: %d bytes, sum %x --\n", filepath.ToSlash(path), len(content), sha256.Sum256(content))
		}
		return nil
	})
	return b.Bytes()
}

// unpacked returns all that a Parquet file holds, as text: the compressor has other code on amd64 than
// elsewhere, and its output has other bytes.
func unpacked(t *testing.T, content []byte) []byte {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	tracetest.OK(t, "Parquet", err)
	b := fmt.Appendf(nil, "%v\n%q\n", f.Schema(), f.Metadata().KeyValueMetadata)
	for _, group := range f.RowGroups() {
		b = fmt.Appendf(b, "%d rows\n", group.NumRows())
		rows, list := group.Rows(), make([]parquet.Row, 100)
		for {
			n, err := rows.ReadRows(list)
			for _, row := range list[:n] {
				b = fmt.Appendf(b, "%+v\n", row)
			}
			if err == io.EOF {
				break
			}
			tracetest.OK(t, "rows", err)
		}
		tracetest.OK(t, "rows", rows.Close())
	}
	return b
}

// dumps are the forms and modes of ptrace-dump.
var dumps = []string{
	"", "-j", "--csv", "--table", "-s", "-s -j", "--html", "--markdown", "--junit", "--folded", "--tree", "--timeline", "--files", "--strace",
	"--golden", "--golden -j", "--chrome", "--annotate=delta", "--annotate=cost", "--check", "--status", "--status -j", "-a", "-a -j",
	"--types", "--time=abs", "--time=delta", "--format=%t|%p|%i|%n|%d|%x|%a|%c|%q", "-e @user", "-j -e @all,proc.map", "-x @system --strict",
	"--failed", "--slower-than=1ms", "--last=5", "--head=3 -j", "--since=+0.01s", "--since=-1s", "--until=10:00:00", "--redact=@tokens -j",
	"--color=always", "--stack",
}

// exports are exports of one log to the file or directory "out".
var exports = []string{
	"--to=ctf -o out", "--to=otlp -o out", "--to=otlp -o -", "--to=parquet -o out", "--to=parquet -o out/", "--to=ctf -e @user -o out",
}

// filters are filters of one log.
var filters = []string{"-o out -x @system", "-o - --only=@user", "-l", "-n -x posix_trace_start"}

// diffs compare two logs.
var diffs = []string{"", "-j", "--markdown", "--table", "--html", "--golden"}

// oneCase is a command line, and the name of the file with what it prints.
type oneCase struct {
	file, command string
	args          []string
}

// cases returns all command lines for some logs.
func cases(logs []string) (list []oneCase) {
	add := func(command string, options []string, before, after []string) {
		for i, o := range options {
			operands := append(slices.Clone(before), strings.Fields(o)...)
			operands = append(operands, after...)
			list = append(list, oneCase{
				file:    fmt.Sprintf("%s-%d-%s", command, i, strings.Join(append(before, after...), "-")),
				command: command, args: operands,
			})
		}
	}
	for i, log := range logs {
		add("ptrace-dump", dumps, nil, []string{log})
		add("ptrace-export", exports, nil, []string{log})
		add("ptrace-filter", filters, []string{"-i", log}, nil)
		add("ptrace-diff", diffs, nil, []string{logs[max(i-1, 0)], log})
	}
	some := func(suffix string) []string {
		var of []string
		for _, log := range logs {
			if strings.HasSuffix(log, suffix+".trace") {
				of = append(of, log)
			}
		}
		return of
	}
	recorded := some("_recorded")
	add("ptrace-dump", []string{"", "-j", "-s"}, nil, recorded)
	add("ptrace-export", exports[:4], nil, recorded)
	return list
}

// Each reader prints on this system, byte for byte, what it prints on linux/amd64, writes the same files
// and ends with the same status.
func TestSameOutput(t *testing.T) {
	logs := corpus(t)
	expect, record := os.Getenv(expectVar), os.Getenv(recordVar) != ""
	if record {
		tracetest.OK(t, "expected output", os.MkdirAll(expect, 0o777))
	}
	ran, differ, left := 0, 0, 0
	for _, c := range cases(logs) {
		if strconv.IntSize == 32 && slices.Contains(c.args, "hostile_names.txtar.trace") {
			left++ // its process 2^32-1, which no Linux has, is a negative number there
			run(t, os.Stdin, c.command, c.args...)
			tracetest.RemoveAll(t, "out")
			continue
		}
		tracetest.RemoveAll(t, "out")
		if slices.Contains(c.args, "out/") {
			tracetest.OK(t, "directory", os.Mkdir("out", 0o777))
		}
		r := run(t, os.Stdin, c.command, c.args...)
		var content []byte
		if c.command == "ptrace-filter" && slices.Contains(c.args, "-o") {
			content = filtered(t, &r)
		}
		got := append(r.text(t, "out"), content...)
		path := filepath.Join(expect, strings.ReplaceAll(c.file, "/", "_"))
		if record {
			tracetest.OK(t, "expected output", os.WriteFile(path, got, 0o600))
			continue
		}
		want, err := os.ReadFile(path)
		tracetest.OK(t, "expected output", err)
		ran++
		if !bytes.Equal(got, want) {
			if differ++; differ <= 20 {
				t.Errorf("%s %q:\n%s", c.command, c.args, difference(got, want))
			}
		}
	}
	if record {
		return
	}
	t.Logf("%s/%s: %d command lines over %d logs, %d differ, %d not compared", runtime.GOOS, runtime.GOARCH, ran, len(logs), differ, left)
	if ran < 1000 || differ > 0 {
		t.Errorf("%d of %d command lines differ", differ, ran)
	}
}

// filtered returns what ptrace-dump shows of a log that ptrace-filter wrote to the file "out" or to
// standard output, and removes the log: each has an identity, a random number that its blocks repeat.
func filtered(t *testing.T, r *result) []byte {
	t.Helper()
	if len(r.stdout) > 0 {
		tracetest.OK(t, "filtered log", os.WriteFile("out", r.stdout, 0o600))
		r.stdout = nil
	}
	if _, err := os.Stat("out"); err != nil {
		return nil
	}
	var shown []byte
	for _, o := range []string{"-j", "-j -e proc.map", "-a"} {
		shown = append(shown, run(t, os.Stdin, "ptrace-dump", append(strings.Fields(o), "out")...).text(t, "")...)
	}
	tracetest.OK(t, "filtered log", os.Remove("out"))
	return shown
}

// difference shows the first line that differs.
func difference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(g), len(w)) {
		line := func(l [][]byte) string {
			if i >= len(l) {
				return "(end)"
			}
			return string(l[i][:min(len(l[i]), 400)])
		}
		if line(g) != line(w) {
			return fmt.Sprintf("line %d: %q\nlinux/amd64: %q", i+1, line(g), line(w))
		}
	}
	return "longer lines differ"
}

// A process prints what the command printed in this process: its output is binary, and so is its
// standard input. No line ends with a carriage return.
func TestProcesses(t *testing.T) {
	const log = "calls_recorded.trace"
	corpus(t, log, "cut_recorded.trace", "output_recorded.trace")
	content, err := os.ReadFile(log)
	tracetest.OK(t, "log", err)
	for _, c := range []struct {
		command string
		args    []string
		status  int
	}{
		{"ptrace-dump", []string{log}, 0},
		{"ptrace-dump", []string{"-j", log}, 0},
		{"ptrace-dump", []string{"--html", log}, 0},
		{"ptrace-dump", []string{"--time=abs", log}, 0},
		{"ptrace-dump", []string{"missing.trace"}, 1},
		{"ptrace-dump", []string{"--nonsense", log}, 2},
		{"ptrace-dump", []string{"--check", "cut_recorded.trace"}, 1},
		{"ptrace-dump", []string{"--version"}, 0},
		{"ptrace-dump", []string{"--help"}, 0},
		{"ptrace-diff", []string{log, log}, 0},
		{"ptrace-diff", []string{log, "output_recorded.trace"}, 1},
		{"ptrace-diff", []string{log, "missing.trace"}, 2},
		{"ptrace-export", []string{"--to=parquet", "-o", "-", log}, 0},
		{"ptrace-filter", []string{"-i", log, "-o", "-", "-x", "proc.*"}, 0},
	} {
		want, got := run(t, os.Stdin, c.command, c.args...), process(t, nil, c.command, c.args...)
		if got.status != c.status || want.status != c.status {
			t.Errorf("%s %q: status %d, in this process %d, want %d\n%s", c.command, c.args, got.status, want.status, c.status, got.stderr)
		}
		if c.command == "ptrace-filter" {
			got.stdout, want.stdout = filtered(t, &got), filtered(t, &want)
		}
		if !bytes.Equal(got.stdout, want.stdout) || !bytes.Equal(got.stderr, want.stderr) {
			t.Errorf("%s %q: the process prints\n%.300q\n%q, not\n%.300q\n%q", c.command, c.args, got.stdout, got.stderr, want.stdout, want.stderr)
		}
		if slices.Contains(c.args, "-o") {
			continue // not text
		}
		if bytes.Contains(got.stdout, []byte("\r\n")) || bytes.Contains(got.stderr, []byte("\r")) {
			t.Errorf("%s %q prints carriage returns", c.command, c.args)
		}
	}
	want := run(t, os.Stdin, "ptrace-dump", "-j", log)
	if got := process(t, content, "ptrace-dump", "-j", "-"); got.status != 0 || !bytes.Equal(got.stdout, want.stdout) {
		t.Errorf("from standard input: status %d, %d bytes, want %d: %s", got.status, len(got.stdout), len(want.stdout), got.stderr)
	}
	got := process(t, content, "ptrace-filter", "-i", "-", "-o", "-", "-x", "posix_trace_start")
	if shown := filtered(t, &got); got.status != 0 || !bytes.Contains(shown, want.stdout[bytes.IndexByte(want.stdout, '\n'):]) {
		t.Errorf("ptrace-filter from standard input: status %d: %s\n%.300s", got.status, got.stderr, shown)
	}
}
