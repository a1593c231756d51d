package script_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// start is a way to start a command.
type start struct {
	words   string
	differs string // the lines that may differ: a regular expression for their starts
	attach  bool   // start the command plainly, and attach to it
}

// What differs in every start under ptrace-run: the variables that lead to the stream.
const differsAlways = `environ (PTRACE_STREAM|PTRACE_SPOOL)=`

const (
	differsFiltered = `prctl PR_GET_(SECCOMP|NO_NEW_PRIVS) |status (Seccomp|Seccomp_filters|NoNewPrivs):`
	differsCaptured = `descriptor [12] `
	differsGroup    = `group ` // ptrace-run leads the group
	differsMake     = `environ MAKEFILES=`
	differsSession  = `descriptor [012] |session |autogroup `
)

var starts = []start{
	{words: "ptrace-run"},
	{words: "ptrace-run -n name -o x.trace"},
	{words: "ptrace-run -t 60 -o x.trace", differs: differsGroup},
	{words: "ptrace-run -c -o x.trace", differs: differsCaptured},
	{words: "ptrace-run -e proc -o x.trace"},
	{words: "ptrace-run -e signal,syscall -o x.trace"},
	{words: "ptrace-run -e proc,syscall.openat,syscall.futex -o x.trace", differs: differsFiltered},
	{words: "ptrace-run --make -c -e proc -o x.trace", differs: differsCaptured + "|" + differsMake},
	{words: "ptrace-event -r span"},
	{words: "ptrace-run -e proc -o x.trace ptrace-event -r span ptrace-run -o y.trace"},
	{words: "ptrace-run -p PID -e proc -o x.trace", attach: true},
	{words: "ptrace-run -p PID -e syscall -o x.trace", attach: true},
}

// A command under ptrace-run finds itself as if it had been started without: in all that /proc,
// prctl(2), its signals, its descriptors and its environment show, but for a short list.
func TestPlainStart(t *testing.T) {
	self, _ := compile(t, "self")
	unusual, _ := compile(t, "unusual")
	for _, before := range [][]string{nil, {unusual}} {
		plain := shownBy(t, before, start{}, self)
		for _, s := range starts {
			compareStarts(t, strings.Join(slices.Concat(before, []string{s.words}), " "), plain, shownBy(t, before, s, self), s.differs)
		}
	}
}

// The same at a terminal, where a captured command has a terminal of its own.
func TestPlainStartAtTerminal(t *testing.T) {
	self, _ := compile(t, "self")
	unusual, _ := compile(t, "unusual")
	tm := newTerminal(t)
	shown := func(words string) string {
		os.Remove(filepath.Join(tm.dir, "shown"))
		if out := tm.run(words + " " + self + " shown"); out != "" {
			t.Errorf("%s prints %q", words, out)
		}
		b, err := os.ReadFile(filepath.Join(tm.dir, "shown"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, before := range []string{"", unusual} {
		plain := shown(before)
		for _, s := range []start{
			{words: "ptrace-run", differs: differsGroup},
			{words: "ptrace-run -e proc -o x.trace", differs: differsGroup},
			{words: "ptrace-run -c -o x.trace", differs: differsSession},
			{words: "ptrace-run -c -e proc -o x.trace", differs: differsSession},
			{words: "ptrace-run -c -e syscall.openat -o x.trace", differs: differsSession + "|" + differsFiltered},
		} {
			compareStarts(t, before+" "+s.words, plain, shown(before+" "+s.words), "environ _=|"+s.differs)
		}
	}
}

// shownBy returns what self shows of a start.
func shownBy(t *testing.T, before []string, s start, self string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "shown")
	words := strings.Fields(strings.ReplaceAll(s.words, " -o ", " -o "+dir+"/"))
	argv := slices.Concat(before, words, []string{self, file})
	if s.attach {
		argv = slices.Concat(before, []string{self, file, "traced"})
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "PTRACE_STREAM=", "PTRACE_SPOOL=")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
	if s.attach {
		words[slices.Index(words, "PID")] = strconv.Itoa(cmd.Process.Pid)
		// The process may end before the tracer reports it: status 125.
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Errorf("%q: %v: %s", words, err, out)
		}
	}
	err := cmd.Wait()
	kill.Stop()
	if err != nil || out.Len() > 0 {
		t.Fatalf("%q: %v: %s", argv, err, out.String())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// compareStarts compares what is shown of two starts, but for the lines that may differ.
func compareStarts(t *testing.T, name, plain, ours, differs string) {
	t.Helper()
	skip := regexp.MustCompile("^(" + strings.Trim(differsAlways+"|"+differs, "|") + ")")
	kept := func(s string) (list []string) {
		for l := range strings.Lines(s) {
			if !skip.MatchString(l) {
				list = append(list, l)
			}
		}
		return list
	}
	a, b := kept(plain), kept(ours)
	for _, l := range a {
		if !slices.Contains(b, l) {
			t.Errorf("%s: no %q", name, l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			t.Errorf("%s: has %q", name, l)
		}
	}
	if !t.Failed() && !slices.Equal(a, b) {
		t.Errorf("%s: the order or the number of lines differs", name)
	}
	if len(a) < 100 {
		t.Errorf("%s: only %d lines compared", name, len(a))
	}
}
