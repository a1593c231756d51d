package script_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/internal/tracetest"
)

// delays is the program of testdata/delay.c and a directory for traces.
type delays struct {
	t            *testing.T
	program, dir string
}

func newDelays(t *testing.T) *delays {
	t.Helper()
	ran, waited := procfs.Delay(os.Getpid())
	tracetest.Need(t, ran > 0 && waited > 0, "a kernel with CONFIG_SCHED_INFO")
	program, traces := compile(t, "delay")
	t.Cleanup(func() { reap(t, "PTRACE_DIR="+traces) })
	return &delays{t, program, traces}
}

// command returns the output of a command.
func (d *delays) command(name string, args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), "PTRACE_DIR="+d.dir, "PTRACE_STREAM=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	// 1: ptrace-diff has found differences; 124: the time of ptrace-run was out
	if status := cmd.ProcessState.ExitCode(); err != nil && status != 1 && status != 124 {
		d.t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, stderr.Bytes())
	}
	return string(out)
}

// record records a command to a log and returns the lines of its summary.
func (d *delays) record(log string, args ...string) (run delayLine, commands []delayLine) {
	d.t.Helper()
	d.command("ptrace-run", append([]string{"-o", log}, args...)...)
	for line := range strings.Lines(d.command("ptrace-dump", "-s", "-j", log)) {
		var l delayLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			d.t.Fatalf("%v: %s", err, line)
		}
		switch l.Kind {
		case "run":
			run = l
		case "command":
			commands = append(commands, l)
		}
	}
	return run, commands
}

type delayLine struct {
	Kind       string
	Command    string
	Wall       float64 `json:"wall_ns"`
	Delay      float64 `json:"run_delay_ns"`
	Others     float64 `json:"others_ns"`
	Idle       float64 `json:"idle_ns"`
	Processors int
	Waited     float64
}

// beside starts programs that use the processor of the commands. stop ends them.
func (d *delays) beside(n int) (stop func()) {
	d.t.Helper()
	var list []*exec.Cmd
	stop = func() {
		for _, c := range list {
			c.Process.Kill()
			c.Wait()
		}
		list = nil
	}
	d.t.Cleanup(stop)
	for range n {
		c := exec.Command(d.program, "loop")
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			d.t.Fatal(err)
		}
		list = append(list, c)
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			d.t.Fatalf("%q, %v", line, err)
		}
	}
	return stop
}

var busyLine = regexp.MustCompile(`(?m)^the machine was busy: \d+ % of the wall time waited for a processor$`)

// A command that shares its processor with five others waits longer than one that does not, and the summary,
// the page and the comparison say that others were the reason. How long a command waits without the
// five depends on the machine; so the test compares.
func TestStarvedRun(t *testing.T) {
	t.Parallel()
	d := newDelays(t)
	script := d.program + " work 100; sleep 0.1; " + d.program + " work 150"
	const attempts = 5
	for attempt := 1; ; attempt++ {
		calm, _ := d.record("calm.trace", "-e", "proc", "sh", "-c", script)
		stop := d.beside(5)
		starved, commands := d.record("starved.trace", "-e", "proc", "sh", "-c", script)
		alone, _ := d.record("alone.trace", d.program, "work", "50")
		stop()
		// At most two processes wait at a time, a parent and a child.
		for _, l := range []delayLine{calm, starved, alone} {
			if l.Delay > 2*l.Wall || l.Waited < 0 || l.Waited > 1 {
				t.Errorf("%s: wait %.0f in %.0f, %.2f of it lost", l.Command, l.Delay, l.Wall, l.Waited)
			}
		}
		if slices.ContainsFunc(commands, func(l delayLine) bool { return strings.HasPrefix(l.Command, "delay") && l.Delay == 0 }) {
			t.Errorf("no wait: %+v", commands)
		}
		diff := d.command("ptrace-diff", "calm.trace", "starved.trace")
		said := strings.Contains(diff, ": the machine was busier: ")
		if starved.Waited > .4 && starved.Waited > calm.Waited && starved.Delay > 1.2*calm.Delay && alone.Delay > .4*alone.Wall && said {
			break
		}
		if attempt == attempts {
			t.Fatalf("calm: %+v, starved: %+v, alone: %+v\n%s", calm, starved, alone, diff)
		}
	}
	text := d.command("ptrace-dump", "-s", "starved.trace")
	if !busyLine.MatchString(text) || !regexp.MustCompile(`(?m)^command +wall +self +cpu +wait +memory +status$`).MatchString(text) {
		t.Errorf("summary: %s", text)
	}
	// One that is ended with its child, which has waited, has waited, too. A child that gets no processor for a
	// second after the signal does not count.
	for attempt := 1; ; attempt++ {
		stop := d.beside(5)
		limited, _ := d.record("limited.trace", "-t", "1", "-e", "proc", "sh", "-c", d.program+" work 20000; :")
		stop()
		if limited.Waited >= .3 {
			break
		}
		if attempt == attempts {
			t.Fatalf("a run with a time limit: %+v", limited)
		}
	}
	// A command that sleeps hardly waits, unless the machine is as busy as that; the line says which.
	calm, _ := d.record("again.trace", "-e", "proc", "sleep", "0.5")
	if text := d.command("ptrace-dump", "-s", "again.trace"); busyLine.MatchString(text) != (calm.Waited >= .2 && calm.Waited*calm.Wall >= 100e6) {
		t.Errorf("%+v, summary: %s", calm, text)
	}
	page := d.command("ptrace-dump", "--html", "starved.trace")
	for _, want := range []string{"<dt>waited for a processor</dt>", "<li>the machine was busy: "} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if text := d.command("ptrace-dump", "-s", "--markdown", "starved.trace"); !strings.Contains(text, "\n- the machine was busy: ") {
		t.Errorf("markdown: %s", text)
	}
}

// A process has waited as long as all of its threads: those that have ended, those that end with it, and
// those that end when another one executes a program.
func TestDelayOfThreads(t *testing.T) {
	t.Parallel()
	d := newDelays(t)
	for _, how := range []string{"end", "exit", "exec"} {
		// Three threads share a processor, and the first one sleeps. Where each needs 50 ms, they wait for
		// 150 ms together at least: the one that is served last waits for all the others.
		const least = 100e6
		run, _ := d.record(how+".trace", "-e", "proc", d.program, "threads", "50", how)
		if run.Delay < least || run.Delay > 4*run.Wall {
			t.Errorf("%s: threads waited for %.0f in %.0f, want at least %.0f", how, run.Delay, run.Wall, least)
		}
		if how != "exec" && run.Processors != 1 {
			t.Errorf("%s: %d processors, want 1", how, run.Processors)
		}
	}
	// Without a tracer, the wait of threads that have ended is unknown.
	run, _ := d.record("untraced.trace", d.program, "threads", "50", "end")
	if run.Delay != 0 || run.Processors == 0 || run.Others == 0 && run.Idle == 0 {
		t.Errorf("untraced: %+v", run)
	}
	// That of a command whose first thread did the work is known.
	if run, _ := d.record("single.trace", d.program, "work", "50"); run.Delay == 0 {
		t.Errorf("single: %+v", run)
	}
}
