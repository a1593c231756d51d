package posixtrace

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"pgregory.net/rapid"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
)

// cast is the processes that act in the schedules of a test, besides the test's own.
type cast struct {
	dir      string // of logs
	workers  []*worker
	peers    []*peer  // of streams that others have created
	inC      []*cPeer // controllers and analyzers in C; each stream and log has any of them, or the test
	children []string // the operations that start a worker's child, in any worker

	childless int // of so many schedules and one more, one has a child, which takes time
}

// goCast has processes in Go alone.
func goCast(t *testing.T, workers int) *cast {
	c := &cast{dir: t.TempDir(), children: []string{"spawn " + os.Args[0]}, childless: 99}
	// With one processor a process is one writer, whose oldest events go first.
	t.Setenv("GOMAXPROCS", "1")
	for range workers {
		c.employ(tracetest.Start(t, "worker"))
	}
	for range 2 {
		c.peers = append(c.peers, &peer{Child: tracetest.Start(t, "model-peer")})
	}
	return c
}

// mixedCast has processes in C, too: at least a worker, controllers and analyzers.
func mixedCast(t *testing.T, workers int) *cast {
	ctest.Need(t)
	ctest.Agent(t)
	program := ctest.C(t, "testdata/modelpeer.c")
	t.Cleanup(conn.ForgetDir)
	t.Setenv("PTRACE_DIR", ctest.TraceDir(t))
	conn.ForgetDir()
	c := goCast(t, workers-1)
	c.children, c.childless = append(c.children, "spawn "+program), 24
	for range 2 {
		c.inC = append(c.inC, newCPeer(t, program))
	}
	c.employ(startC(t, program, "worker")).fork = true
	return c
}

// employ adds a worker. It registers the names.
func (c *cast) employ(child *tracetest.Child) *worker {
	w := &worker{Child: child}
	w.Line()
	for _, n := range modelNames {
		w.Say("1 " + n + " 0 0 0")
	}
	c.workers = append(c.workers, w)
	return w
}

// child has a worker start a child, in any language.
func (c *cast) child(t *rapid.T, w *worker) {
	how := c.children
	if w.fork {
		how = append([]string{"fork"}, how...)
	}
	var err error
	if w.kid, err = strconv.Atoi(w.Ask("%s", rapid.SampledFrom(how).Draw(t, "starts"))); err != nil {
		t.Fatal(err)
	}
}

// startC starts the program in C, which ends with the test. files are its descriptors from 3 on.
func startC(t *testing.T, program, role string, files ...*os.File) *tracetest.Child {
	t.Helper()
	cmd := ctest.Command(t, os.Getenv("PTRACE_DIR"), program, role)
	cmd = &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, ExtraFiles: files} // without a limit of time
	child, err := tracetest.StartCommand(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return child
}

// cPeer is a process in C that creates streams and opens logs. Its second thread performs operations, too.
type cPeer struct {
	*tracetest.Child
	second  *tracetest.Child
	numbers int
}

func newCPeer(t *testing.T, program string) *cPeer {
	t.Helper()
	inR, inW, err := os.Pipe()
	tracetest.OK(t, "Pipe", err)
	outR, outW, err := os.Pipe()
	tracetest.OK(t, "Pipe", err)
	c := startC(t, program, "model-peer", inR, outW)
	inR.Close()
	outW.Close()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return &cPeer{Child: c, second: &tracetest.Child{T: t, Cmd: c.Cmd, In: inW, Out: bufio.NewReader(outR), PID: c.PID}}
}

// anyC draws a process in C, or nil for the test itself.
func (c *cast) anyC(t *rapid.T, what string) *cPeer {
	if i := rapid.IntRange(0, len(c.inC)).Draw(t, what); i > 0 {
		return c.inC[i-1]
	}
	return nil
}

// number returns a new number for a stream or log. The process knows 64.
func (p *cPeer) number() int {
	p.numbers++
	return p.numbers % 64
}

// create makes a stream. Both threads of the process are its hands.
func (p *cPeer) create(t *rapid.T, pid int, attr *Attr, log string) (hands []hand) {
	n := p.number()
	line := fmt.Sprintf("%d create %d %s %d %d %d %d", n, pid, attr.Name, attr.Inheritance, attr.StreamFullPolicy,
		attr.StreamSize, *attr.MaxDataSize)
	if log != "" {
		line += fmt.Sprintf(" %d %d %s", attr.LogFullPolicy, attr.LogSize, log)
	}
	if r := p.Ask("%s", line); r != "done" {
		t.Fatalf("%s: %s", line, r)
	}
	for _, thread := range []*tracetest.Child{p.Child, p.second} {
		hands = append(hands, hand{p.PID, func(op string) string {
			if op == "close" { // only one that attached to a stream closes it
				return "done"
			}
			return thread.Ask("%d %s", n, op)
		}})
	}
	return hands
}

// open opens a log and returns what performs operations on it.
func (p *cPeer) open(path string) (func(op string) string, string) {
	n := p.number()
	r := p.Ask("%d open %s", n, path)
	return func(op string) string { return p.Ask("%d %s", n, op) }, r
}

// openLog opens a log in the test's own process.
func openLog(path string) (func(op string) string, string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err.Error()
	}
	defer f.Close()
	l, err := Open(f)
	return func(op string) string { return operateLog(l, op) }, answer(err)
}

// ended checks that a stream takes no operation after its shutdown, and shuts it down before if need be.
func (x *trial) ended(t *rapid.T) {
	if x.inC {
		if r := x.hands[0].do("shutdown"); r != "done" && r != refused(syscall.EINVAL) {
			t.Errorf("shutdown: %s", r)
		}
		if err := x.s.Close(); err != nil {
			t.Error(err)
		}
	} else if !x.s.isClosed() {
		if err := x.s.Shutdown(); err != nil {
			t.Error(err)
		}
	}
	if r := x.hands[0].do("start"); r != refused(syscall.EINVAL) {
		t.Errorf("start after shutdown: %s", r)
	}
}
