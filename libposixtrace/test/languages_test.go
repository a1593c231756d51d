package test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
)

// actor is a peer in C or in Go, with which the test exchanges lines.
type actor struct {
	t   *testing.T
	pid string
	in  *os.File
	out *bufio.Reader
	end *os.File
}

// cast are the actors of one schedule.
type cast struct {
	t       *testing.T
	dir     string // the trace directory
	work    string // of FIFOs and logs
	program string // the peer in C
	fifos   int
}

// meet makes the FIFOs of an actor.
func (c *cast) meet() (a *actor, paths [2]string) {
	c.t.Helper()
	var files [2]*os.File
	for i := range paths {
		c.fifos++
		paths[i] = filepath.Join(c.work, strconv.Itoa(c.fifos))
		tracetest.OK(c.t, "Mkfifo", syscall.Mkfifo(paths[i], 0o600))
		f, err := os.OpenFile(paths[i], os.O_RDWR, 0)
		tracetest.OK(c.t, "OpenFile", err)
		c.t.Cleanup(func() { f.Close() })
		files[i] = f
	}
	return &actor{t: c.t, in: files[0], out: bufio.NewReader(files[1]), end: files[1]}, paths
}

// start starts a peer in that language.
func (c *cast) start(language string) *actor {
	c.t.Helper()
	a, paths := c.meet()
	var cmd *exec.Cmd
	if language == "C" {
		cmd = ctest.Command(c.t, c.dir, c.program, "-peer", paths[0], paths[1])
	} else {
		cmd = exec.Command(os.Args[0], paths[0], paths[1])
		cmd.Env = append(os.Environ(), tracetest.HelperVar+"=language-peer", tracetest.Quick, "PTRACE_DIR="+c.dir, "GOMAXPROCS=1")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second // children may hold it
	tracetest.OK(c.t, "Start", cmd.Start())
	c.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if c.t.Failed() && stderr.Len() > 0 {
			c.t.Logf("%s: %s", language, &stderr)
		}
	})
	a.pid = a.line()
	a.alone()
	return a
}

// child has an actor start another one.
func (c *cast) child(parent *actor) *actor {
	c.t.Helper()
	a, paths := c.meet()
	if l := parent.ask("spawn %s %s", paths[0], paths[1]); l != "done" {
		c.t.Fatal(l)
	}
	a.pid = a.line()
	pid, err := strconv.Atoi(a.pid)
	tracetest.OK(c.t, "pid", err)
	c.t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	a.alone()
	return a
}

func (a *actor) line() string {
	a.t.Helper()
	a.end.SetReadDeadline(time.Now().Add(30 * time.Second))
	l, err := a.out.ReadString('\n')
	if err != nil {
		a.t.Fatalf("peer %s says %q, %v", a.pid, l, err)
	}
	return strings.TrimSuffix(l, "\n")
}

func (a *actor) ask(format string, args ...any) string {
	a.t.Helper()
	fmt.Fprintf(a.in, format+"\n", args...)
	return a.line()
}

// alone makes the actor one writer, whose events lie in one order.
func (a *actor) alone() {
	a.t.Helper()
	if l := a.ask("alone"); l != "done" {
		a.t.Fatal(l)
	}
}

// exec has the actor execute its program again.
func (a *actor) exec() string {
	a.t.Helper()
	same := a.ask("exec") == a.pid
	a.alone()
	return fmt.Sprint(same)
}

// A schedule is played by a controller, a traced process with a child, and an analyzer, each in C or
// in Go. In every other schedule the stream has room for all events: then what each call returns and
// what the analyzer reads is the same in all languages. In the rest it has not: then the calls and
// the states are the same, and each event is read or counted as lost.
func TestLanguages(t *testing.T) {
	program := conformance(t)
	schedules := tracetest.Scale(16, 200, 200)
	for seed := range schedules {
		for _, logged := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d, log %v", seed, logged), func(t *testing.T) {
				t.Parallel()
				want := ""
				for i := range 8 {
					who := [3]string{}
					for k := range who {
						who[k] = []string{"Go", "C"}[i>>k&1]
					}
					if !logged && who[0] == "Go" && who[2] == "C" {
						continue // a C program reads no active stream but its own
					}
					have := newPlay(t, program, who, uint64(seed), logged).run()
					if i == 0 {
						want = have
					} else if have != want {
						t.Errorf("controller, traced process and analyzer in %v:\n%s\nin Go:\n%s", who, differ(have, want), differ(want, have))
					}
				}
			})
		}
	}
}

// differ returns the first line in which two texts differ, from there, with those before.
func differ(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i, l := range as {
		if i < len(bs) && l == bs[i] {
			continue
		}
		k := 0
		for i < len(bs) && k < len(l) && k < len(bs[i]) && l[k] == bs[i][k] {
			k++
		}
		from := max(0, k-60)
		return strings.Join(append(as[max(0, i-3):i:i], fmt.Sprintf("byte %d: %.300s", from, l[from:])), "\n")
	}
	return "(the end)"
}

// play is one performance of a schedule.
type play struct {
	cast
	r                         *rand.Rand
	logged, lossy             bool
	controller, traced, child *actor
	analyzer                  *actor
	names                     map[string]string // of processes
	story                     strings.Builder   // what was asked and answered
	next                      int               // the number of the next event
	counted                   int               // events that were read or are lost
}

func newPlay(t *testing.T, program string, who [3]string, seed uint64, logged bool) *play {
	t.Helper()
	p := &play{cast: cast{t: t, dir: ctest.TraceDir(t), work: t.TempDir(), program: program},
		r: rand.New(rand.NewPCG(seed, 17)), logged: logged, lossy: seed%2 == 1}
	p.controller, p.traced = p.start(who[0]), p.start(who[1])
	p.analyzer = p.controller
	if logged || who[2] != who[0] {
		p.analyzer = p.start(who[2])
	}
	p.names = map[string]string{p.traced.pid: "TRACED", p.controller.pid: "CONTROLLER"}
	return p
}

func (p *play) log() string { return filepath.Join(p.work, "log") }

// say asks an actor and records the answer.
func (p *play) say(a *actor, format string, args ...any) string {
	p.t.Helper()
	line := fmt.Sprintf(format, args...)
	answer := a.ask("%s", line)
	shown, verb := answer, strings.Fields(line)[0]
	switch {
	case verb == "read":
		answer = p.byName(answer)
		if shown = answer; p.lossy {
			shown = ""
		}
	case p.lossy && verb == "status":
		shown = strings.Fields(answer)[0]
	case verb == "create":
		line = strings.Replace(line, p.traced.pid, "TRACED", 1)
	}
	fmt.Fprintf(&p.story, "%s: %s\n", strings.ReplaceAll(line, p.work, ""), shown)
	return answer
}

// byName puts the names of processes in the place of their numbers, and counts the events.
func (p *play) byName(events string) string {
	list := strings.Split(events, "\t")
	for i, e := range list {
		f := strings.SplitN(e, " ", 3)
		if len(f) < 3 {
			continue
		}
		if f[1] != "0" { // of the marks that the trace system makes
			p.counted++
		}
		if name := p.names[f[1]]; name != "" {
			f[1] = name
		}
		list[i] = strings.Join(f, " ")
	}
	return strings.Join(list, "\t")
}

// settings draws the attributes of the stream.
func (p *play) settings() string {
	size, logsize := 4<<20, 8<<20
	if p.lossy {
		size, logsize = 1+p.r.IntN(2)*32768, 1+p.r.IntN(200000)
	}
	s := fmt.Sprintf("policy=%d inherited=%d size=%d data=%d", 1+p.r.IntN(2), p.r.IntN(2), size, 16+p.r.IntN(64))
	if p.logged {
		s += fmt.Sprintf(" logpolicy=%d logsize=%d log=%s", []int{1, 2, 4}[p.r.IntN(3)], logsize, p.log())
	}
	return s
}

func (p *play) run() string {
	p.t.Helper()
	p.say(p.traced, "event early 1")
	p.say(p.controller, "create s %s %s", p.traced.pid, p.settings())
	if p.analyzer != p.controller && !p.logged {
		if l := p.analyzer.ask("attach s"); l != "done" {
			p.t.Fatal(l)
		}
	}
	p.child = p.cast.child(p.traced)
	p.names[p.child.pid] = "CHILD"
	for range 40 {
		p.step()
	}
	if p.logged {
		p.say(p.controller, "shutdown s")
	} else {
		p.say(p.analyzer, "read s")
		p.say(p.analyzer, "types s")
	}
	p.say(p.traced, "event late 1")
	if p.logged {
		p.readLog()
	} else {
		p.countLost(p.say(p.controller, "status s"))
		p.say(p.controller, "shutdown s")
	}
	return p.story.String()
}

// readLog reads the log, twice.
func (p *play) readLog() {
	p.t.Helper()
	p.say(p.analyzer, "openlog l %s", p.log())
	p.say(p.analyzer, "types l")
	all := p.say(p.analyzer, "read l")
	p.countLost(p.say(p.analyzer, "status l"))
	p.say(p.analyzer, "rewind l")
	counted := p.counted
	if again := p.byName(p.analyzer.ask("read l")); again != all {
		p.t.Error("after a rewind the log has other events")
	}
	p.counted = counted
	p.say(p.analyzer, "close l")
}

// countLost adds what a status counts as lost.
func (p *play) countLost(status string) {
	p.t.Helper()
	f := strings.Fields(status)
	if len(f) != 9 {
		p.t.Fatalf("status is %q", status)
	}
	if p.lossy {
		fmt.Fprintln(&p.story, "read and lost:", p.counted+number(f[7])+number(f[8]))
	} else if f[7] != "0" || f[8] != "0" {
		p.t.Errorf("lost are %s and %s", f[7], f[8])
	}
}

func (p *play) step() {
	p.t.Helper()
	writer := []*actor{p.traced, p.child}[p.r.IntN(2)]
	name := []string{"a", "b", "c", "d"}[p.r.IntN(4)]
	n, size := 1+p.r.IntN(20), p.r.IntN(90)
	switch k := p.r.IntN(24); {
	case k == 8 && p.lossy: // more than it has room for
		n = 3000
		fallthrough
	case k < 8:
		p.say(writer, "times %s %d %d %d", name, p.next, n, size)
		p.next += n
	case k < 10:
		p.say(writer, "event new.%d x", p.r.IntN(8))
	case k < 13:
		p.say(p.controller, "start s")
	case k < 14:
		p.say(p.controller, "stop s")
	case k < 15 && !p.lossy: // it would vanish without being counted
		p.say(p.controller, "clear s")
	case k < 17:
		p.say(p.controller, "filter s %d %s", p.r.IntN(3), []string{name, "", name + " new.3", "SYSTEM"}[p.r.IntN(4)])
	case k < 18:
		fmt.Fprintln(&p.story, "exec", p.traced.exec())
	case k < 20 && p.logged:
		p.say(p.controller, "flush s")
	case k < 22 && !p.logged:
		p.say(p.analyzer, "read s")
	default:
		p.say(p.controller, "status s")
	}
}
