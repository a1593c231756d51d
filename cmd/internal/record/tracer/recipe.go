//go:build linux

package tracer

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// MakeVariable is the environment variable by which make names the target to the programs that it
// starts for a recipe. Its value is "LEVEL TARGET", where LEVEL is that of a recursive make. So the
// value of such a program is never that of its parent, but all programs that it starts itself
// inherit it.
const MakeVariable = "PTRACE_MAKE"

// recipes is what the tracer keeps for --make.
type recipes struct {
	begin, end posixtrace.EventID
	started    uint32
	environ    []byte
}

// inRecipe is what a process knows of recipes. Its children inherit it.
type inRecipe struct {
	value string // of MakeVariable
	key   uint64 // of the innermost span that the process runs for, 0 for none
	leads bool   // the span is that of the process
}

// inherited returns the recipe of a child.
func (r *inRecipe) inherited() inRecipe { return inRecipe{value: r.value, key: r.key} }

// openRecipes registers the event types. Like those of calls, it must do so before anything is
// traced.
func (t *tracer) openRecipes() (err error) {
	if !t.cfg.Want.Make {
		return nil
	}
	if t.recipes.begin, err = t.stream.EventID(catalog.RecipeSpan + ".begin"); err == nil {
		t.recipes.end, err = t.stream.EventID(catalog.RecipeSpan + ".end")
	}
	return err
}

// recipeStarted begins a span if a program that a process has executed is the first one for a line
// of a recipe.
func (t *tracer) recipeStarted(k *task, info *syscallInfo, command bool) {
	if !t.cfg.Want.Make || t.rec == nil {
		return
	}
	value := t.makeValue(k.tid)
	if value == "" || value == k.recipe.value {
		return
	}
	k.recipe.value = value
	_, target, ok := strings.Cut(value, " ")
	if command || !ok || k.recipe.leads || !t.wants(t.recipes.begin, k) {
		return
	}
	t.recipes.started++
	ev := posixtrace.EventInfo{ID: t.recipes.begin, PID: k.pid, TID: k.tid, Span: catalog.RecipeKey(t.recipes.started), Parent: k.recipe.key}
	k.recipe.key, k.recipe.leads = ev.Span, true
	d, _ := t.program(k.tid, info)
	d = t.redactProgram(d)
	t.buf = append(append(append(t.buf[:0], t.redactText([]byte(target), false)...), ": "...), recipeLine(d.Argv)...)
	t.rec.Record(ev, t.buf)
}

// recipeEnded ends the span of a process.
func (t *tracer) recipeEnded(k *task, status syscall.WaitStatus) {
	if !k.recipe.leads || t.rec == nil {
		return
	}
	n := status.ExitStatus()
	if status.Signaled() {
		n = 128 + int(status.Signal())
	}
	t.buf = strconv.AppendInt(t.buf[:0], int64(n), 10)
	t.rec.Record(posixtrace.EventInfo{ID: t.recipes.end, PID: k.pid, TID: k.pid, Span: k.recipe.key}, t.buf)
}

// recipeOf finds the recipe of a thread that is known before its parent has reported it. The
// thread still has its parent's environment.
func (t *tracer) recipeOf(tid int) (r inRecipe) {
	if !t.cfg.Want.Make {
		return r
	}
	if _, parent, ok := statOf(tid); ok && t.tasks[parent] != nil {
		return t.tasks[parent].recipe.inherited()
	}
	r.value = t.makeValue(tid)
	return r
}

// interpreters are the programs that make runs with the line of a recipe as the argument after an
// option. env(1) stands before another one.
var interpreters = []string{"sh", "ash", "bash", "dash", "ksh", "rksh", "mksh", "zsh", "env", "busybox", "perl", "python", "python2", "python3", "ruby"}

// recipeLine returns the line of a recipe that make runs by this command: the argument of an
// interpreter, or else all arguments.
func recipeLine(argv []string) string {
	n := len(argv)
	if n >= 3 && slices.Contains(interpreters, path.Base(argv[0])) {
		flag := argv[n-2]
		if len(flag) > 1 && flag[0] == '-' && (flag[len(flag)-1] == 'c' || flag == "-e") {
			return strings.TrimSpace(argv[n-1])
		}
	}
	return strings.Join(argv, " ")
}

// maxEnviron bounds how much of an environment is read, since the process controls its size.
const maxEnviron = 4 << 20

// makeValue returns the value of MakeVariable in the environment of a program, "" if it has none.
func (t *tracer) makeValue(tid int) string {
	fd, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	b := t.recipes.environ[:0]
	for len(b) < maxEnviron {
		if cap(b)-len(b) < 4096 {
			b = append(make([]byte, 0, 2*cap(b)+1<<14), b...)
		}
		n, err := unix.Read(fd, b[len(b):cap(b)])
		if err != nil || n <= 0 {
			break
		}
		b = b[:len(b)+n]
	}
	t.recipes.environ = b
	for len(b) > 0 {
		entry, rest, _ := bytes.Cut(b, []byte{0})
		if v, ok := bytes.CutPrefix(entry, []byte(MakeVariable+"=")); ok {
			return string(v)
		}
		b = rest
	}
	return ""
}
