package analysis

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// A process that failed either failed by itself, or passed on the failure of a child: a shell with
// `set -e`, make after a recipe. Blame follows the failures that were passed on, from the first command
// of a log to the one that failed by itself. All others were tolerated.
//
// A log does not say which failure a process passed on. What it does say decides:
//
//   - the status of the process is that of the child, or follows from it (derives);
//   - the process started no other command afterwards, or only such as clean up;
//   - the process printed nothing of its own after a child whose status 1 is an answer (answers).
//
// Where that does not decide, the process itself is to blame.
//
// A pipeline whose first command ends before the shell has started the next one looks like two commands, one
// after the other: there its failure counts as tolerated.

// Failure is a command that failed, as far as the log shows by itself.
type Failure struct {
	Command
	output *failureOutput // nil if there were too many failures since
}

// failure is a process that failed, and why.
type failure struct {
	own   *Failure // nil for a process that executed no program: it is a part of its parent
	child *failure // whose failure the process passed on; nil if it failed by itself
	// With child: the process failed by itself if it printed a line to standard error from a time on.
	asked bool
	from  int64
	to    int64
	fate  *fate
	timed bool // timeout(1) ended the process
}

// fate is what became of a failure.
type fate struct {
	blamed bool  // it made the first command fail
	with   *fate // or if that one did
}

// maxFates bounds how many processes a failure is followed through.
const maxFates = 1 << 10

func (f *fate) counted() bool {
	for range maxFates {
		if f == nil || f.blamed {
			break
		}
		f = f.with
	}
	return f != nil && f.blamed
}

// failedChild is a child that failed.
type failedChild struct {
	*failure
	status int // 128 and the signal, as shells have it, for one that a signal ended
	signal int
	start  int64
	nth    uint64 // processes so far when it ended
	answer bool
	later  bool // the parent has started another child since
	work   bool // which does more than clean up
	ended  bool // a child that was started later has ended
	after  bool // and then the parent has started another one
}

// maxFailedChildren bounds how many failed children of a process are considered: the latest.
const maxFailedChildren = 4

// answers have programs whose status 1 says no.
var answers = wordSet("grep egrep fgrep zgrep rg ag test [ cmp diff pgrep pidof which expr")

// cleaners have programs that a script may run after a failure, and end with it all the same.
var cleaners = wordSet("rm rmdir kill pkill killall umount fusermount docker podman date sleep sync")

// runners have programs that end by themselves if a command that they run fails, with a status of
// their own or with that one. They go on with others meanwhile, but make and ninja only with -k.
var runners = wordSet("make gmake ninja cmake ctest meson scons bazel gradle mvn xargs find parallel go cargo " +
	"npm npx yarn pnpm tox nox prove bats rake mix dune timeout env nice nohup setsid stdbuf time " +
	"sudo su doas runuser unshare nsenter chroot strace ltrace valgrind ccache sccache distcc cc c++ gcc g++ clang clang++ ptrace-run")

// timers have programs that end with a status of their own, statusTimedOut, when the time of their command
// is over.
var timers = wordSet("timeout ptrace-run")

const statusTimedOut = 124

// testers have programs that run tests in their own process. A test may expect a command to fail: which
// failure made a test fail, if any did, only the test knows, and its report says it.
var testers = wordSet("pytest pytest-3 py.test py.test-3 phpunit rspec busted")

// isTester reports whether a program is one of testers, or a module of Python that is.
func isTester(name string, args []byte) bool {
	if testers[name] {
		return true
	}
	if !strings.HasPrefix(name, "python") {
		return false
	}
	_, argv := argvOf(args)
	argv = operands(argv)
	i := slices.Index(argv, "-m")
	return i >= 0 && i+1 < len(argv) && (argv[i+1] == "pytest" || argv[i+1] == "unittest") && !slices.ContainsFunc(argv[:i], func(a string) bool { return !strings.HasPrefix(a, "-") })
}

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// goesOn reports whether a runner runs other commands after a failure.
func goesOn(name string, args []byte) bool {
	if name != "make" && name != "gmake" && name != "ninja" {
		return true
	}
	_, argv := argvOf(args)
	return slices.ContainsFunc(operands(argv), func(a string) bool {
		if strings.HasPrefix(a, "--") {
			return a == "--keep-going" || a == "--ignore-errors"
		}
		return strings.HasPrefix(a, "-") && strings.ContainsAny(a, "ki") && !strings.HasPrefix(a, "-C") && !strings.HasPrefix(a, "-f")
	})
}

// noteFailed notes that a child has failed, or was ended by a signal.
func (q *process) noteFailed(f *failure, child *process, d *posixtrace.ExitData, nth uint64) {
	c := failedChild{failure: f, status: d.Status, signal: d.Signal, start: child.start, nth: nth}
	if d.Signal != 0 {
		c.status = 128 + d.Signal
	}
	c.answer = d.Status == 1 && child.executed && child.program != nil && answers[child.program.Name]
	if len(q.failures) >= maxFailedChildren {
		q.failures = slices.Delete(q.failures, 0, 1)
	}
	q.failures = append(q.failures, c)
	if q.executed && q.program != nil && f.fate.with == nil && (runners[q.program.Name] && goesOn(q.program.Name, q.args) || isTester(q.program.Name, q.args)) {
		f.fate.with = q.theFate()
	}
}

func (q *process) theFate() *fate {
	if q.fate == nil {
		q.fate = new(fate)
	}
	return q.fate
}

// noteStarted notes that a child has been started, or has executed a program.
func (q *process) noteStarted(child *process) {
	for i := range q.failures {
		c := &q.failures[i]
		if child.nth <= c.nth {
			continue
		}
		c.later = true
		c.after = c.after || c.ended
		if child.executed && child.program != nil && !cleaners[child.program.Name] {
			c.work = true
		}
	}
}

// noteEnded notes that a child has ended.
func (q *process) noteEnded(child *process) {
	q.endedChild = max(q.endedChild, child.nth)
	for i := range q.failures {
		q.failures[i].ended = q.failures[i].ended || child.nth > q.failures[i].nth
	}
}

// parallel reports whether q, make or ninja, may have started another job before it noticed a failure.
func (q *process) parallel() bool {
	for range maxFailedChildren {
		if q == nil || q.program == nil {
			break
		}
		if _, argv := argvOf(q.args); q.program.Name == "ninja" || slices.ContainsFunc(operands(argv), func(a string) bool {
			return strings.HasPrefix(a, "-j") || strings.HasPrefix(a, "--jobs")
		}) {
			return true
		}
		q = q.around()
	}
	return false
}

// wentOn reports whether a runner went on after the failure of a child, as make does after one that a
// Makefile has it ignore.
func (q *process) wentOn(c *failedChild) bool {
	switch {
	case !c.later, goesOn(q.program.Name, q.args):
		return false
	case q.parallel():
		return c.after
	}
	return true
}

// passedOn returns the failed child whose failure a process with status d has passed on, nil if it
// failed by itself.
func (q *process) passedOn(d *posixtrace.ExitData) *failedChild {
	name := ""
	if q.program != nil {
		name = q.program.Name
	}
	if d.Signal == 0 && isTester(name, q.args) {
		return nil
	}
	runner := runners[name]
	var best *failedChild
	for i := len(q.failures) - 1; i >= 0; i-- {
		c := &q.failures[i]
		switch {
		case !c.derives(name, runner, d):
		case runner:
			// A runner may stop the others after a failure.
			if !q.wentOn(c) && (best == nil || best.signal != 0 && c.signal == 0) {
				best = c
			}
		case c.later && (c.answer || c.status == 1 && c.work):
		case best == nil:
			best = c
		}
	}
	return best
}

// derives reports whether the end of a process can follow from that of a child.
func (c *failedChild) derives(name string, runner bool, d *posixtrace.ExitData) bool {
	switch {
	case d.Signal != 0:
		return c.signal == d.Signal
	case c.signal == pipeSignal:
		return d.Status == c.status
	case runner, d.Status == c.status:
		return true
	}
	// A shell ends with the very status of a command.
	return d.Status == 1 && !c.later && !c.answer && !shells[name]
}

// fail notes that q, which ended with d, failed as command c, and tells its parent.
func (p *processes) fail(q *process, c *Command, d *posixtrace.ExitData) {
	f := &failure{from: c.Start, to: sum(c.Start, c.Wall), fate: q.theFate()}
	if q.executed || q.around() == nil {
		own := &Failure{Command: *c}
		own.args = bytes.Clone(q.args)
		f.own = own
		q.src.takeOutput(own, q == q.src.root)
	}
	if child := q.passedOn(d); child != nil {
		f.child, f.from = child.failure, child.start
		f.asked = child.answer && !runners[q.program.Name]
		if timers[q.program.Name] && d.Status == statusTimedOut && child.status != statusTimedOut {
			child.timed = true
		}
		if child.fate.with == nil {
			child.fate.with = f.fate
		}
	}
	if q == q.src.root {
		q.src.failure = f
	}
	if parent := q.around(); parent != nil {
		parent.noteFailed(f, q, d, p.used)
	} else if d.Signal != 0 {
		p.killed.child(q, f, d.Signal)
	}
	if d.Signal != 0 && q.inner > 0 {
		p.killed.add(killed{nth: q.nth, at: f.to, signal: d.Signal, failure: f})
	}
	if !q.src.rooted && f.own != nil && f.child == nil && c.Failed() {
		if len(p.orphans) >= maxFailedRows {
			p.orphans = slices.Delete(p.orphans, 0, 1)
		}
		p.orphans = append(p.orphans, f.own)
	}
}

// killed is a process that a signal ended while a child of it ran. A signal to all processes of a group
// ends the child at the same time, and the log may have it later.
type killed struct {
	nth    uint64
	at     int64
	signal int
	*failure
}

// killedList has the latest of them.
type killedList struct {
	ring [64]killed
	n    int
}

func (l *killedList) add(k killed) {
	l.ring[l.n%len(l.ring)] = k
	l.n++
}

// child notes that a process whose parent had ended failed: the parent passed that on if the same signal
// ended both.
func (l *killedList) child(q *process, f *failure, signal int) {
	for i := range min(l.n, len(l.ring)) {
		if k := &l.ring[i]; k.nth == q.parentNth && k.signal == signal && since(f.to, k.at) <= killedTogether {
			if k.failure.child == nil {
				k.failure.child, k.from = f, q.start
			}
			f.fate.with = k.fate
			return
		}
	}
}

// killedTogether is how long after a process one of its children may end by the same kill.
const killedTogether = 1e8

// resolve returns the command that is to blame for a failure. The failure of a process that executed no
// program is that of the program around it.
func (s *Source) resolve(f *failure) *Failure {
	own, timed := f.own, false
	for range maxFates {
		if f.child == nil || f.asked && s.complained(f.from, sum(f.to, printedLate)) {
			break
		}
		f = f.child
		timed = timed || f.timed
		if f.own != nil {
			own = f.own
		}
	}
	if own != nil {
		own.TimedOut = timed
	}
	return own
}

// stops are the signals with which a person or the system ends a run as a whole: HUP, INT, QUIT, KILL and
// TERM. What it ends with the first command has not failed.
var stops = map[int]bool{1: true, 2: true, 3: true, 9: true, 15: true}

// stopped returns, of a first command that a signal of stops ended with all that it waited for, the
// command that ran then, and those around it: the innermost first. It returns nil if that is not so, or
// the command ran no other.
func (f *failure) stopped() (chain []*Command) {
	signal := f.own.Signal
	if !stops[signal] || f.child == nil {
		return nil
	}
	for range maxNested {
		if f == nil {
			break
		}
		if f.own != nil {
			if f.own.Signal != signal {
				return nil
			}
			chain = append(chain, &f.own.Command)
		}
		f = f.child
	}
	slices.Reverse(chain)
	if len(chain) < 2 {
		return nil
	}
	return chain
}

// complained reports whether a line of standard error was printed between two times. Where the command
// had one file for both, all lines are recorded as those of standard output.
func (s *Source) complained(from, to int64) bool {
	if t := &s.printedAt[1]; t.n > 0 {
		return t.any(from, to)
	}
	return s.printedAt[0].any(from, to)
}

// blame decides which commands are to blame.
func (a *Analysis) blame() {
	for _, s := range a.sources {
		if s.failure == nil || s.timeout != nil {
			continue
		}
		s.failure.fate.blamed = true
		if chain := s.failure.stopped(); chain != nil {
			a.blamed = append(a.blamed, s.failure.own)
			if r := a.runOf(int(s.index)); r != nil {
				r.Running = chain
			}
			continue
		}
		if f := s.resolve(s.failure); f != nil && s.failure.own.Failed() {
			a.blamed = append(a.blamed, f)
		}
	}
	a.blamed = append(a.blamed, a.processes.orphans...)
	end := func(f *Failure) int64 { return sum(f.Start, f.Wall) }
	slices.SortStableFunc(a.blamed, func(x, y *Failure) int { return cmp.Compare(end(y), end(x)) })
}

// Tolerated reports whether a command failed, and did not make the first command of its log fail.
func (a *Analysis) Tolerated(c *Command) bool {
	return c.Failed() && Fate{c.fate, a.sources[c.Source]}.Tolerated()
}

// maxOutputs bounds the failures whose output is kept, the latest.
const maxOutputs = 16

// commandOutput is the output of the failure of a command.
type commandOutput struct {
	failureOutput
	of *Failure
}

// takeOutput keeps the output of the time of a failure. all says that what follows its end is its
// output, too.
func (s *Source) takeOutput(f *Failure, all bool) {
	o := &s.outputs[s.failures%maxOutputs]
	s.failures++
	if o.of != nil {
		o.of.output = nil
	}
	o.of, f.output = f, &o.failureOutput
	o.all = all
	o.take(s, f.Start, sum(f.Start, f.Wall))
	s.outputUntil = max(s.outputUntil, sum(o.to, printedLate))
}

// lineTimes are the times of the latest lines.
type lineTimes struct {
	ring [1 << 10]int64
	n    int
}

func (t *lineTimes) add(at int64) {
	t.ring[t.n%len(t.ring)] = at
	t.n++
}

// any reports whether there is a line between two times.
func (t *lineTimes) any(from, to int64) bool {
	return slices.ContainsFunc(t.ring[:min(t.n, len(t.ring))], func(at int64) bool { return at >= from && at <= to })
}
