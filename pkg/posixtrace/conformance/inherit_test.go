package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Section INH: processes that fork, execute programs and exit.

// actor is a process that takes commands from one FIFO and answers in another, so that it
// can have any parent.
type actor struct {
	t   *testing.T
	cmd *exec.Cmd // nil for one that another actor has started
	pid int
	in  *os.File
	out *os.File
	buf *bufio.Reader
}

func init() {
	tracetest.Helpers["actor"] = runActor
	// obedient is an actor at the standard input and output.
	tracetest.Helpers["obedient"] = func([]string) {
		for sc := bufio.NewScanner(os.Stdin); sc.Scan(); {
			f := strings.Fields(sc.Text())
			answer, err := actorDo(f[0], f[1:], nil)
			if err != nil {
				answer = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
			}
			fmt.Println(answer)
		}
	}
	// pidreuse is the first process of a pid namespace and says "ok".
	tracetest.Helpers["inh-pidreuse"] = reusePID
	tracetest.Helpers["inh-setuid"] = runSetuid
	tracetest.Helpers["inh-silent"] = func([]string) {
		id, err := posixtrace.OpenEventID("inh.setuid")
		if err == nil {
			posixtrace.Event(id, []byte("after"))
		}
		fmt.Println("passed", os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid())
	}
}

var actorStreams = map[string]*posixtrace.Stream{}

func runActor(args []string) {
	in, err := os.OpenFile(args[0], os.O_RDONLY, 0)
	if err != nil {
		os.Exit(3)
	}
	out, err := os.OpenFile(args[1], os.O_WRONLY, 0)
	if err != nil {
		os.Exit(3)
	}
	fmt.Fprintln(out, os.Getpid())
	for sc := bufio.NewScanner(in); sc.Scan(); {
		f := strings.Fields(sc.Text())
		answer, err := actorDo(f[0], f[1:], args)
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Fprintln(out, strings.TrimSpace("done "+answer))
	}
}

func actorDo(verb string, f, self []string) (string, error) {
	if (verb == "handover" || verb == "flush" || verb == "state" || verb == "path") && actorStreams[f[0]] == nil {
		return "", syscall.EINVAL
	}
	switch verb {
	case "event": // NAME DATA
		id, err := posixtrace.OpenEventID(f[0])
		if err != nil {
			return "", err
		}
		posixtrace.Event(id, []byte(f[1]))
		return strconv.Itoa(int(id)), nil
	case "open": // NAME
		id, err := posixtrace.OpenEventID(f[0])
		return strconv.Itoa(int(id)), err
	case "raw": // ID DATA: without opening a name
		n, _ := strconv.Atoi(f[0])
		posixtrace.Event(posixtrace.EventID(n), []byte(f[1]))
		return "", nil
	case "spawn": // IN OUT [setsid | setpgid]
		cmd := exec.Command(os.Args[0], f[0], f[1])
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=actor")
		cmd.Stderr = os.Stderr
		how := append(f, "")[2]
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: how == "setsid", Setpgid: how == "setpgid"}
		err := cmd.Start()
		go cmd.Wait()
		return "", err
	case "exec":
		os.Setenv(tracetest.HelperVar, "actor")
		return "", syscall.Exec(os.Args[0], append([]string{os.Args[0]}, self...), os.Environ())
	case "burn": // N: as many names
		n, _ := strconv.Atoi(f[0])
		last := ""
		for i := range n {
			id, err := posixtrace.OpenEventID(fmt.Sprintf("%s.%d", f[1], i))
			if err != nil {
				return "", err
			}
			last = strconv.Itoa(int(id))
		}
		return last, nil
	case "create": // NAME PID INHERIT [LOG STREAMPOLICY LOGPOLICY]
		pid, _ := strconv.Atoi(f[1])
		attr := posixtrace.Attr{Name: f[0], StreamFullPolicy: posixtrace.PolicyUntilFull}
		if f[2] == "inherit" {
			attr.Inheritance = posixtrace.InheritChildren
		}
		var s *posixtrace.Stream
		var err error
		if len(f) > 3 {
			sp, _ := strconv.Atoi(f[4])
			lp, _ := strconv.Atoi(f[5])
			attr.StreamFullPolicy, attr.LogFullPolicy = posixtrace.FullPolicy(sp), posixtrace.FullPolicy(lp)
			file, err := os.OpenFile(f[3], os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				return "", err
			}
			defer file.Close()
			s, err = posixtrace.CreateWithLog(pid, &attr, file)
			if err != nil {
				return "", err
			}
		} else if s, err = posixtrace.Create(pid, &attr); err != nil {
			return "", err
		}
		actorStreams[f[0]] = s
		return "", s.Start()
	case "handover": // NAME PID
		pid, _ := strconv.Atoi(f[1])
		return "", actorStreams[f[0]].Handover(pid)
	case "flush":
		return "", actorStreams[f[0]].Flush()
	case "state":
		st, err := actorStreams[f[0]].PeekStatus()
		return st.StreamStatus.String(), err
	case "list":
		list, err := posixtrace.List()
		return strconv.Itoa(len(list)), err
	case "fsize": // N: no file may grow beyond that
		n, _ := strconv.Atoi(f[0])
		return "", syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(n), Max: ^uint64(0)})
	case "gc":
		runtime.GC()
		return strconv.Itoa(len(tracetest.Mappings())), nil
	case "path": // NAME: of the stream's file
		i, err := actorStreams[f[0]].Info()
		return i.Path, err
	case "openlog": // PATH: its state and the data of its user events
		file, err := os.Open(f[0])
		if err != nil {
			return "", err
		}
		defer file.Close()
		r, err := posixtrace.NewReader(file)
		if err != nil {
			return "", err
		}
		defer r.Close()
		said := ""
		for {
			rec, err := r.Next()
			if err == io.EOF {
				state, _ := r.State()
				return state.String() + said, nil
			}
			if err != nil {
				return "", err
			}
			if rec.ID.User() {
				said += " " + string(rec.Data)
			}
		}
	case "exit":
		os.Exit(0)
	}
	return "", errors.New("no such verb")
}

var fifoCount atomic.Int64

// fifos makes the pair of FIFOs of an actor.
func newFIFOPair(t *testing.T) (paths [2]string, in, out *os.File) {
	t.Helper()
	dir := t.TempDir()
	var files [2]*os.File
	for i := range paths {
		paths[i] = filepath.Join(dir, fmt.Sprintf("fifo%d", fifoCount.Add(1)))
		tracetest.OK(t, "Mkfifo", syscall.Mkfifo(paths[i], 0o600))
		f, err := os.OpenFile(paths[i], os.O_RDWR, 0)
		tracetest.OK(t, "OpenFile", err)
		t.Cleanup(func() { f.Close() })
		files[i] = f
	}
	return paths, files[0], files[1]
}

// newActor starts an actor as a child of the test.
func newActor(t *testing.T, env ...string) *actor {
	t.Helper()
	paths, in, out := newFIFOPair(t)
	a := &actor{t: t, in: in, out: out, buf: bufio.NewReader(out)}
	a.cmd = exec.Command(os.Args[0], paths[0], paths[1])
	a.cmd.Env = append(append(os.Environ(), tracetest.HelperVar+"=actor", tracetest.Quick), env...)
	a.cmd.Stderr = os.Stderr
	tracetest.OK(t, "Start", a.cmd.Start())
	a.hello()
	return a
}

func (a *actor) hello() {
	a.t.Helper()
	pid, err := strconv.Atoi(a.line())
	tracetest.OK(a.t, "pid of an actor", err)
	a.pid = pid
	a.t.Cleanup(a.kill)
}

// kill kills the actor and waits until it is gone.
func (a *actor) kill() {
	syscall.Kill(a.pid, syscall.SIGKILL)
	a.gone()
}

func (a *actor) gone() {
	if a.cmd != nil {
		a.cmd.Wait()
		return
	}
	waitGone(a.t, a.pid)
}

// waitGone waits until a process that is not our child has ended.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	tracetest.Wait(t, fmt.Sprintf("process %d has ended", pid), func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return true
		}
		rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
		return strings.HasPrefix(strings.TrimSpace(rest), "Z")
	})
}

func (a *actor) line() string {
	a.t.Helper()
	a.out.SetReadDeadline(time.Now().Add(time.Minute))
	l, err := a.buf.ReadString('\n')
	if err != nil {
		a.t.Fatalf("actor %d says %q, %v", a.pid, l, err)
	}
	return strings.TrimSuffix(l, "\n")
}

// do has a line done and returns the answer.
func (a *actor) do(format string, args ...any) string {
	a.t.Helper()
	fmt.Fprintf(a.in, format+"\n", args...)
	l := a.line()
	if !strings.HasPrefix(l, "done") || strings.Contains(l, "error") {
		a.t.Fatalf("actor %d, asked to %s, says %q", a.pid, fmt.Sprintf(format, args...), l)
	}
	return strings.TrimSpace(strings.TrimPrefix(l, "done"))
}

// spawn has the actor start a child.
func (a *actor) spawn(how ...string) *actor {
	a.t.Helper()
	paths, in, out := newFIFOPair(a.t)
	a.do("spawn %s %s %s", paths[0], paths[1], strings.Join(how, " "))
	c := &actor{t: a.t, in: in, out: out, buf: bufio.NewReader(out)}
	c.hello()
	return c
}

// exec has the actor execute its program again.
func (a *actor) exec() {
	a.t.Helper()
	fmt.Fprintln(a.in, "exec")
	if pid := a.line(); pid != strconv.Itoa(a.pid) {
		a.t.Fatalf("after exec process %d is %q", a.pid, pid)
	}
}

func (a *actor) exit() {
	fmt.Fprintln(a.in, "exit")
	a.gone()
}

func (a *actor) got(name, data string) got { return got{name, data, a.pid} }

var _ = conform("INH-01/fork", func(t *testing.T) {
	a := newActor(t)
	id := a.do("event inh.before 0")
	s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	b := a.spawn()
	// The child's first trace point, of a type that it has not opened itself.
	b.do("raw %s first", id)
	if have := b.do("event inh.before second"); have != id {
		t.Errorf("inh.before is %s in the child and %s in the parent", have, id)
	}
	equal(t, drain(t, s), b.got("inh.before", "first"), b.got("inh.before", "second"))
})

// The same for a child that has executed nothing, a subshell.
var _ = conform("INH-01/fork/alone", func(t *testing.T) {
	shell, fork := startShell(t)
	s := running(t, shell, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	recordFor(t, shell, "inh.filler", "shell")
	id := recordFor(t, shell, "inh.forked", "shell")
	sub := fork()
	if have := recordFor(t, sub, "inh.forked", "subshell"); have != id {
		t.Errorf("inh.forked is %d in the child and %d in the parent", have, id)
	}
	equal(t, drain(t, s), got{"inh.filler", "shell", shell}, got{"inh.forked", "shell", shell}, got{"inh.forked", "subshell", sub})
})

// startShell starts a shell. It forks when the function is called, which returns
// the number of a process that has executed nothing.
func startShell(t *testing.T) (shell int, fork func() int) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range []string{"go", "pid", "end"} {
		tracetest.OK(t, "Mkfifo", syscall.Mkfifo(filepath.Join(dir, f), 0o600))
	}
	cmd := exec.Command("sh", "-c", `read x <go; (sh -c 'echo $PPID' >pid; read x <end; :); :`)
	cmd.Dir = dir
	tracetest.OK(t, "Start", cmd.Start())
	sub := 0
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if sub != 0 {
			syscall.Kill(sub, syscall.SIGKILL)
			waitGone(t, sub)
		}
	})
	return cmd.Process.Pid, func() int {
		t.Helper()
		tracetest.OK(t, "WriteFile", os.WriteFile(filepath.Join(dir, "go"), []byte("\n"), 0))
		b, err := os.ReadFile(filepath.Join(dir, "pid"))
		tracetest.OK(t, "ReadFile", err)
		sub, err = strconv.Atoi(strings.TrimSpace(string(b)))
		tracetest.OK(t, "pid", err)
		if sub == cmd.Process.Pid {
			t.Fatal("the shell has not forked")
		}
		return sub
	}
}

// recordFor records an event for a process that cannot do so itself.
func recordFor(t *testing.T, pid int, name, data string) posixtrace.EventID {
	t.Helper()
	p, err := posixtrace.OpenProcess(pid)
	tracetest.OK(t, "OpenProcess", err)
	defer p.Close()
	id, err := p.OpenEventID(name)
	tracetest.OK(t, "OpenEventID", err)
	p.Event(id, []byte(data))
	return id
}

var _ = conform("INH-02/fork", func(t *testing.T) {
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritNone})
	b := a.spawn()
	b.do("event inh.child 1")
	c := b.spawn()
	c.do("event inh.child 2")
	a.do("event inh.parent 3")
	equal(t, drain(t, s), a.got("inh.parent", "3"))
})

var _ = conform("INH-03/fork", func(t *testing.T) {
	a := newActor(t)
	early := a.spawn()
	passed := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	kept := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritNone})
	b := a.spawn()
	late := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	c := a.spawn()
	// The children record only now; their start decides.
	grandchild := early.spawn()
	for _, p := range []*actor{a, early, b, c, grandchild} {
		p.do("event inh.which %d", p.pid)
	}
	ev := func(p *actor) got { return p.got("inh.which", strconv.Itoa(p.pid)) }
	equal(t, drain(t, passed), ev(a), ev(b), ev(c))
	equal(t, drain(t, kept), ev(a))
	equal(t, drain(t, late), ev(a), ev(c))
})

var _ = conform("INH-04/fork", func(t *testing.T) {
	a := newActor(t)
	log := filepath.Join(t.TempDir(), "log.trace")
	a.do("create inh4 0 inherit")
	a.do("create inh4log 0 close %s %d %d", log, posixtrace.PolicyUntilFull, posixtrace.PolicyAppend)
	b := a.spawn()
	// The child has no id of its parent's streams, and its exit, however it
	// comes, shuts none of them down.
	for _, verb := range []string{"flush", "state", "handover"} {
		fmt.Fprintln(b.in, verb, "inh4log", b.pid)
		if l := b.line(); !strings.Contains(l, "invalid argument") {
			t.Errorf("a child that is to %s its parent's stream says %q", verb, l)
		}
	}
	b.kill()
	c := a.spawn()
	if n := c.do("list"); n != "2" {
		t.Errorf("the child sees %s streams, want 2", n)
	}
	c.exit()
	a.spawn().kill()
	for _, name := range []string{"inh4", "inh4log"} {
		if st := a.do("state %s", name); st != "running" {
			t.Errorf("%s is %s after the exit of the controller's children", name, st)
		}
	}
	a.kill()
	if list, err := posixtrace.List(); err != nil || len(list) != 0 {
		t.Errorf("after the controller's own death: %v, %v", list, err)
	}
})

var _ = conform("INH-05/posix_spawn", func(t *testing.T) {
	// os/exec is what posix_spawn is: a fork and an exec in one call.
	for _, inherit := range []posixtrace.Inheritance{posixtrace.InheritChildren, posixtrace.InheritNone} {
		a := newActor(t)
		s := running(t, a.pid, posixtrace.Attr{Inheritance: inherit})
		b := a.spawn("setsid")
		b.do("event inh.spawned x")
		if inherit == posixtrace.InheritChildren {
			equal(t, drain(t, s), b.got("inh.spawned", "x"))
		} else {
			equal(t, drain(t, s))
		}
	}
})

var _ = conform("INH-06", func(t *testing.T) {
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	// A chain of five that are silent until all but the last have died; the
	// first one of them has a session of its own, so nothing leads up but the family.
	chain := []*actor{a}
	for i := range 4 {
		how := ""
		if i == 0 {
			how = "setsid"
		}
		chain = append(chain, chain[i].spawn(how))
	}
	last := chain[4]
	last.do("event inh.deep alive")
	for _, p := range chain[:4] {
		p.kill()
	}
	last.do("event inh.deep orphan")
	child := last.spawn()
	child.do("event inh.deep child")
	equal(t, drain(t, s), last.got("inh.deep", "alive"), last.got("inh.deep", "orphan"), child.got("inh.deep", "child"))
})

// A double fork: the process in the middle is gone before the last one passes
// its first trace point.
var _ = conform("INH-06/reparented", func(t *testing.T) {
	for _, when := range []string{"same session", "process group", "PTRACE_STREAM"} {
		t.Run(when, func(t *testing.T) {
			a := newActor(t)
			if when == "process group" {
				// As a shell starts a command. The traced process itself ends, too.
				a = a.spawn("setpgid")
				s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
				middle := a.spawn()
				last := middle.spawn()
				middle.kill()
				a.kill()
				last.do("event inh.daemon last")
				equal(t, drain(t, s), last.got("inh.daemon", "last"))
				return
			}
			s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
			var middle, last *actor
			if when == "PTRACE_STREAM" {
				info, err := s.Info()
				tracetest.OK(t, "Info", err)
				// A daemon: a session of its own, and the environment to go by.
				a.kill()
				a = newActor(t, "PTRACE_STREAM="+info.Path)
				a.do("event inh.daemon top")
				middle = a.spawn("setsid")
				last = middle.spawn("setsid")
			} else {
				leader := a.spawn("setsid")
				leader.do("event inh.daemon top")
				middle = leader.spawn()
				last = middle.spawn()
				a = leader
			}
			middle.kill()
			last.do("event inh.daemon last")
			equal(t, drain(t, s), a.got("inh.daemon", "top"), last.got("inh.daemon", "last"))
		})
	}
})

var _ = conform("INH-07/exec", func(t *testing.T) {
	a := newActor(t)
	s, kept := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren}), running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritNone})
	want := []got{}
	for i := range 4 {
		a.do("event inh.image %d", i)
		want = append(want, a.got("inh.image", strconv.Itoa(i)))
		a.exec()
	}
	equal(t, drain(t, s), want...)
	equal(t, drain(t, kept), want...)
	// Also an image that executes another before its first trace point, and a
	// child that does so.
	b := a.spawn()
	b.exec()
	a.exec()
	a.do("event inh.image a")
	b.do("event inh.image b")
	equal(t, drain(t, s), a.got("inh.image", "a"), b.got("inh.image", "b"))
	equal(t, drain(t, kept), a.got("inh.image", "a"))
	// The slots of the earlier images are free again.
	slots := 0
	memoryOf(t, s).RecoverSlots(func(_ uint64, p sys.Proc) (dead bool) {
		if int(p.PID) == a.pid {
			slots++
		}
		return false
	})
	if slots != 1 {
		t.Errorf("process %d has %d places among the writers of the stream", a.pid, slots)
	}
})

var _ = conform("INH-08/exec", func(t *testing.T) {
	a := newActor(t)
	running(t, a.pid, posixtrace.Attr{})
	// The old image has used all the names that a process may have.
	a.do("burn %d inh.old", posixtrace.UserEventMax)
	if id := a.do("event inh.more 1"); id != strconv.Itoa(int(posixtrace.EventUnnamed)) {
		t.Errorf("past the limit the id is %s", id)
	}
	a.exec()
	// The new one has its own count.
	if id := a.do("event inh.new 1"); id == strconv.Itoa(int(posixtrace.EventUnnamed)) {
		t.Error("the new image is at the limit of the old one")
	}
})

var _ = conform("INH-09/exec", func(t *testing.T) {
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{})
	one, two := a.do("event inh.one old"), a.do("event inh.two old")
	a.exec()
	three := a.do("event inh.three new")
	if again := a.do("event inh.two new"); again != two {
		t.Errorf("inh.two is %s, and after exec %s", two, again)
	}
	if three == one || three == two {
		t.Errorf("the new image has reused id %s", three)
	}
	equal(t, drain(t, s), a.got("inh.one", "old"), a.got("inh.two", "old"), a.got("inh.three", "new"), a.got("inh.two", "new"))
})

var _ = conform("INH-10/exec", func(t *testing.T) {
	tg := newActor(t)
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{})
	a.do("create inh10 %d close", tg.pid)
	tg.do("event inh.target 1")
	if _, err := findStream("inh10"); err != nil {
		t.Fatal(err)
	}
	a.exec()
	// The stream that it owns is gone, the stream that traces it is not.
	if i, err := findStream("inh10"); err != nil || i != nil {
		t.Errorf("a stream of a controller that has executed a program: %+v, %v", i, err)
	}
	a.do("event inh.target 2")
	equal(t, drain(t, s), a.got("inh.target", "2"))
	tg.do("event inh.target 3")
	// The same with an exit.
	a.do("create inh10 %d close", tg.pid)
	a.exit()
	if i, err := findStream("inh10"); err != nil || i != nil {
		t.Errorf("a stream of a controller that has exited: %+v, %v", i, err)
	}
	if st, err := s.Status(); err != nil || st.StreamStatus != posixtrace.StatusRunning {
		t.Errorf("a stream whose target has exited: %+v, %v", st, err)
	}
})

// findStream looks for an active stream by name, nil if there is none.
func findStream(name string) (*posixtrace.StreamInfo, error) {
	list, err := posixtrace.List()
	for _, i := range list {
		if i.Name == name {
			return &i, err
		}
	}
	return nil, err
}

var _ = conform("INH-11", func(t *testing.T) {
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	b, c := a.spawn(), a.spawn()
	id := b.do("event inh.shared b")
	for _, p := range []*actor{a, c, c.spawn()} {
		if have := p.do("event inh.shared x"); have != id {
			t.Errorf("inh.shared is %s in process %d and %s in another", have, p.pid, id)
		}
	}
	found := 0
	for have, name := range eventTypesOf(t, s) {
		if name == "inh.shared" && strconv.Itoa(int(have)) == id {
			found++
		}
	}
	if found != 1 {
		t.Errorf("the stream lists inh.shared %d times", found)
	}
})

var _ = conform("INH-12", func(t *testing.T) {
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	b := a.spawn()
	c := b.spawn()
	family := []*actor{a, b, c}
	all := func(data string) (list []got) {
		for _, p := range family {
			p.do("event inh.whole %s", data)
			list = append(list, p.got("inh.whole", data))
		}
		return
	}
	want := all("running")
	equal(t, drain(t, s), want...)
	tracetest.OK(t, "Stop", s.Stop())
	all("stopped")
	tracetest.OK(t, "Start", s.Start())
	equal(t, drain(t, s))
	id, err := s.EventID("inh.whole")
	tracetest.OK(t, "EventID", err)
	var set posixtrace.EventSet
	set.Add(id)
	tracetest.OK(t, "SetFilter", s.SetFilter(set, posixtrace.FilterSet))
	all("filtered")
	equal(t, drain(t, s))
	tracetest.OK(t, "SetFilter", s.SetFilter(posixtrace.EventSet{}, posixtrace.FilterSet))
	all("cleared")
	tracetest.OK(t, "Clear", s.Clear())
	equal(t, drain(t, s))
	want = all("again")
	equal(t, drain(t, s), want...)
	tracetest.OK(t, "Shutdown", s.Shutdown())
	all("gone")
})

var _ = conform("INH-13/fork", func(t *testing.T) {
	a := newActor(t)
	a.do("event inh.apart 0")
	b := a.spawn() // not traced: there is no stream at all
	id := b.do("event inh.apart 1")
	sa, sb := running(t, a.pid, posixtrace.Attr{}), running(t, b.pid, posixtrace.Attr{})
	a.do("event inh.onlya 2")
	b.do("event inh.onlyb 3")
	b.do("event inh.apart 4")
	equal(t, drain(t, sa), a.got("inh.onlya", "2"))
	equal(t, drain(t, sb), b.got("inh.onlyb", "3"), b.got("inh.apart", "4"))
	// Private: what one registers does not show in the other's.
	for _, c := range []struct {
		s    *posixtrace.Stream
		name string
	}{{sa, "inh.onlyb"}, {sb, "inh.onlya"}} {
		for _, name := range eventTypesOf(t, c.s) {
			if name == c.name {
				t.Errorf("%s shows in the stream of another process", name)
			}
		}
	}
	if have, err := sb.EventID("inh.apart"); err != nil || strconv.Itoa(int(have)) != id {
		t.Errorf("inh.apart is %v in the stream and %s in the process, %v", have, id, err)
	}
})

// The copy: the types of the parent are in the child's map under the same
// ids, unless it has executed a program (INH-08).
var _ = conform("INH-13/copy", func(t *testing.T) {
	shell, fork := startShell(t)
	recordFor(t, shell, "inh.filler", "")
	id := recordFor(t, shell, "inh.copied", "")
	sub := fork()
	s := running(t, sub, posixtrace.Attr{})
	if name, err := s.EventName(id); name != "inh.copied" {
		t.Errorf("type %d is %q in the child, %v", id, name, err)
	}
	if have := recordFor(t, sub, "inh.copied", "x"); have != id {
		t.Errorf("inh.copied is %d in the child and %d in the parent", have, id)
	}
	equal(t, drain(t, s), got{"inh.copied", "x", sub})
	// From here on each has its own map.
	mine := recordFor(t, sub, "inh.mine", "")
	parent := running(t, shell, posixtrace.Attr{})
	if name, err := parent.EventName(mine); err == nil {
		t.Errorf("type %d of the child is %q in the parent", mine, name)
	}
	if theirs := recordFor(t, shell, "inh.theirs", ""); theirs != mine {
		t.Errorf("the next id is %d in the parent and %d in the child", theirs, mine)
	}
	// A child that has executed a program starts with an empty map.
	a := newActor(t)
	a.do("event inh.filler 0")
	a.do("event inh.copied 0")
	b := a.spawn()
	for _, name := range eventTypesOf(t, running(t, b.pid, posixtrace.Attr{})) {
		if strings.HasPrefix(name, "inh.") {
			t.Errorf("%s is in the map of a program that has not registered it", name)
		}
	}
})

func reusePID(args []string) {
	tracetest.Check(os.Getpid() == 1, "pid %d", os.Getpid())
	tracetest.Check(syscall.Mount("proc", "/proc", "proc", 0, "") == nil, "mount /proc")
	os.Setenv("PTRACE_DIR", args[0])
	run := func() (*exec.Cmd, *bufio.Reader, *os.File) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=target", tracetest.Quick)
		r, w, err := os.Pipe()
		tracetest.Check(err == nil, "Pipe: %v", err)
		cmd.Stdin = r
		out, err := cmd.StdoutPipe()
		tracetest.Check(err == nil, "StdoutPipe: %v", err)
		err = cmd.Start()
		tracetest.Check(err == nil, "Start: %v", err)
		r.Close()
		br := bufio.NewReader(out)
		br.ReadString('\n')
		return cmd, br, w
	}
	say := func(br *bufio.Reader, w *os.File, line string) {
		fmt.Fprintln(w, line)
		l, err := br.ReadString('\n')
		tracetest.Check(err == nil && l == "done\n", "target says %q, %v", l, err)
	}
	first, br, w := run()
	pid := first.Process.Pid
	s, err := posixtrace.Create(pid, &posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	tracetest.Check(err == nil, "Create: %v", err)
	s.Start()
	say(br, w, "mine 1")
	id, _ := s.EventID("mine")
	left, err := posixtrace.Create(pid, &posixtrace.Attr{Name: "left"})
	tracetest.Check(err == nil && left.Handover(pid) == nil, "Handover: %v", err)
	first.Process.Kill()
	first.Wait()
	// Start times count in ticks; no process can get the number of another in the same one
	// unless it is meant to, as here.
	for tick := sys.NowTicks(); sys.NowTicks() == tick; {
		time.Sleep(time.Millisecond)
	}
	// The next process gets the same number, unless another process starts first.
	for range 50 {
		err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0)
		tracetest.Check(err == nil, "ns_last_pid: %v", err)
		second, br, w := run()
		if second.Process.Pid != pid {
			second.Process.Kill()
			second.Wait()
			continue
		}
		say(br, w, "other 1")
		say(br, w, "mine 2")
		buf := make([]byte, 100)
		var list []string
		for {
			ev, n, err := s.TryNext(buf)
			if err != nil {
				break
			}
			if ev.ID.User() {
				list = append(list, string(buf[:n]))
			}
		}
		tracetest.Check(fmt.Sprint(list) == "[1]", "events of both processes: %v", list)
		types, err := s.EventTypes()
		tracetest.Check(err == nil, "EventTypes: %v", err)
		for _, et := range types {
			tracetest.Check(et.Name != "other", "a name of the second process is in the first one's map")
		}
		// Nor is the second process the owner of what was left to the first.
		list2, err := posixtrace.List()
		tracetest.Check(err == nil && len(list2) == 2, "List: %v, %v", list2, err)
		for _, i := range list2 {
			tracetest.Check(i.Stale == (i.Name == "left"), "the owner is gone, and its number is used again: %+v", i)
		}
		left.Shutdown()
		// A stream created for the number is one for the second process.
		s2, err := posixtrace.Create(pid, nil)
		tracetest.Check(err == nil, "Create: %v", err)
		types, err = s2.EventTypes()
		tracetest.Check(err == nil, "EventTypes: %v", err)
		for _, et := range types {
			if et.Name == "mine" {
				id2, _ := s2.EventID("mine")
				m, _, err := mapStream(s)
				tracetest.Check(err == nil, "map the first stream: %v", err)
				m2, _, err := mapStream(s2)
				tracetest.Check(err == nil, "map the second stream: %v", err)
				tracetest.Check(id2 != id || m2.Family() != m.Family(), "the map was inherited")
			}
		}
		s2.Start()
		say(br, w, "other 3")
		_, _, err = s2.TryNext(buf)
		tracetest.Check(err == nil, "TryNext: %v", err)
		_, n, err := s2.TryNext(buf)
		tracetest.Check(err == nil && string(buf[:n]) == "3", "TryNext: %q, %v", buf[:n], err)
		_, _, err = s.TryNext(buf)
		tracetest.Check(err == posixtrace.ErrUnavailable, "TryNext on the first one's stream: %v", err)
		second.Process.Kill()
		second.Wait()
		s.Shutdown()
		s2.Shutdown()
		fmt.Println("ok")
		return
	}
	fmt.Println("no process got the number again")
}

var _ = conform("INH-14", func(t *testing.T) {
	tracetest.NeedRoot(t)
	dir, err := os.MkdirTemp(os.Getenv("PTRACE_DIR"), "ns")
	tracetest.OK(t, "MkdirTemp", err)
	defer os.RemoveAll(dir)
	tracetest.RunHelper(t, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}, "inh-pidreuse", dir)
})

// runSetuid is an ordinary user who traces a process that executes args[0], which
// is set-uid or set-gid.
func runSetuid(args []string) {
	s, err := posixtrace.CreateForChild(&posixtrace.Attr{Inheritance: posixtrace.InheritChildren}, nil)
	tracetest.Check(err == nil, "Create: %v", err)
	s.Start()
	info, _ := s.Info()
	for i, prog := range []string{args[1], args[0]} {
		cmd := exec.Command(prog)
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=inh-silent", "PTRACE_STREAM="+info.Path, tracetest.Quick)
		out, err := cmd.CombinedOutput()
		tracetest.Check(err == nil && string(out) == fmt.Sprintf("passed %v\n", i == 1), "%s: %q, %v", prog, out, err)
		buf := make([]byte, 100)
		n := 0
		for {
			ev, _, err := s.TryNext(buf)
			if err != nil {
				break
			}
			if ev.ID.User() {
				n++
			}
		}
		tracetest.Check(n == 1-i, "%d events of %s", n, prog)
	}
	s.Shutdown()
	fmt.Println("ok")
}

var _ = conform("INH-15/EINVAL", func(t *testing.T) {
	// A stream such as a program of another word size makes: its header says so, and
	// everything else may mean anything.
	s, err := posixtrace.Create(0, &posixtrace.Attr{Name: "inh15"})
	tracetest.OK(t, "Create", err)
	info, err := s.Info()
	tracetest.OK(t, "Info", err)
	f, err := os.OpenFile(info.Path, os.O_RDWR, 0)
	tracetest.OK(t, "OpenFile", err)
	defer f.Close()
	mark := make([]byte, 2)
	_, err = f.ReadAt(mark, 10)
	tracetest.OK(t, "ReadAt", err)
	if int(mark[0]) != strconv.IntSize {
		t.Fatalf("the header says %d bits", mark[0])
	}
	other := []byte{byte(32 + 64 - strconv.IntSize), 0}
	_, err = f.WriteAt(other, 10)
	tracetest.OK(t, "WriteAt", err)
	_, err = posixtrace.Attach(info.Path)
	wantErrno(t, err, syscall.EINVAL)
	if i, err := findStream("inh15"); err != nil || i == nil || i.Path != info.Path {
		t.Errorf("List: %+v, %v", i, err)
	} else {
		wantErrno(t, i.Err, syscall.EINVAL)
	}
	// A target of the other kind is not traced, nor harmed.
	a := newActor(t, "PTRACE_STREAM="+info.Path)
	a.do("event inh.foreign x")
	// Nor is the stream, which has an owner: even a create that tidies up leaves it.
	tidyDirectory(t)
	if list, _ := filepath.Glob(filepath.Join(filepath.Dir(info.Path), "s-*")); len(list) != 1 || list[0] != info.Path {
		t.Errorf("%d streams are left: %v", len(list), list[:min(3, len(list))])
	}
	_, err = f.WriteAt(mark, 10)
	tracetest.OK(t, "WriteAt", err)
	tracetest.OK(t, "Start", s.Start())
	posixtrace.Event(eventID(t, "inh.foreign"), []byte("y"))
	equal(t, drain(t, s), got{"inh.foreign", "y", os.Getpid()})
	tracetest.OK(t, "Shutdown", s.Shutdown())
})

var _ = conform("INH-16", func(t *testing.T) {
	// Only its user has access to anything there.
	a := newActor(t)
	s := running(t, a.pid, posixtrace.Attr{Inheritance: posixtrace.InheritChildren})
	a.do("event inh.mode x")
	drain(t, s)
	dir := os.Getenv("PTRACE_DIR")
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v", dir, st.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	tracetest.OK(t, "ReadDir", err)
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", e.Name(), fi.Mode())
		}
	}
	for _, sgid := range []bool{false, true} {
		t.Run(map[bool]string{false: "setuid", true: "setgid"}[sgid], func(t *testing.T) {
			tracetest.NeedRoot(t)
			const stranger = 65534
			// Such a program uses the standard trace directory, so it must not be traced there.
			base, err := os.MkdirTemp("", "posixtrace-setuid-") // of a file system that gives such programs their rights
			tracetest.OK(t, "MkdirTemp", err)
			defer os.RemoveAll(base)
			tracetest.OK(t, "Chmod", os.Chmod(base, 0o755))
			b, err := os.ReadFile(os.Args[0])
			tracetest.OK(t, "ReadFile", err)
			plain, set := filepath.Join(base, "plain"), filepath.Join(base, "set")
			tracetest.OK(t, "WriteFile", os.WriteFile(plain, b, 0o755))
			tracetest.OK(t, "WriteFile", os.WriteFile(set, b, 0o755))
			mode := os.ModeSetuid | 0o755
			if sgid {
				mode = os.ModeSetgid | 0o755
			}
			tracetest.OK(t, "Chmod", os.Chmod(set, mode))
			cmd := exec.Command(plain, set, plain)
			cmd.Dir = base
			cmd.Env = append(os.Environ(), tracetest.HelperVar+"=inh-setuid", tracetest.Quick, "PTRACE_DIR=")
			tracetest.InOwnShm(t, cmd, stranger)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != "ok" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
})
