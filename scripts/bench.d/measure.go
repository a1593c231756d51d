package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A sample has one value for each round.
type sample []float64

func (s sample) median() float64 {
	if len(s) == 0 {
		return 0
	}
	t := slices.Sorted(slices.Values(s))
	return (t[(len(t)-1)/2] + t[len(t)/2]) / 2
}

// spread returns half of the range in percent of the median.
func (s sample) spread() float64 {
	m := s.median()
	if m == 0 {
		return 0
	}
	return (slices.Max(s) - slices.Min(s)) / 2 / m * 100
}

// over returns the ratio of each round.
func (s sample) over(t sample) sample {
	r := make(sample, min(len(s), len(t)))
	for i := range r {
		r[i] = s[i] / t[i]
	}
	return r
}

// A series collects samples under the keys of items.
type series map[string]sample

func (s series) put(name string, v float64) { s[name] = append(s[name], v) }

// A group is a set of items measured together, by steps that run alternately.
type group struct {
	items  []*item
	rounds int
	setup  func() error // may be nil
	steps  []func(series) error
	end    func(series) error // may be nil: a final check
}

func (g *group) matches(want *regexp.Regexp) bool {
	return slices.ContainsFunc(g.items, func(it *item) bool { return want.MatchString(it.name) })
}

// measure runs the rounds, every other one backwards, so that no side always runs
// after the other.
func (g *group) measure() error {
	if g.setup != nil {
		if err := g.setup(); err != nil {
			return err
		}
	}
	s := series{}
	var cannot error // why the first round could not run one side
	steps := slices.Clone(g.steps)
	for n := range g.rounds {
		for i := range steps {
			if n%2 == 1 {
				i = len(steps) - 1 - i
			}
			if steps[i] == nil {
				continue
			}
			if err := steps[i](s); err != nil {
				if n > 0 {
					return err
				}
				cannot = cmp.Or(cannot, err)
				steps[i] = nil
			}
		}
	}
	for _, it := range g.items {
		it.ours, it.theirs = s[it.oursKey], s[it.theirsKey]
		it.ratio = it.ours.over(it.theirs)
		if cannot != nil && (len(it.ours) == 0 || it.theirsKey != "" && len(it.theirs) == 0) {
			it.why = cannot.Error()
		}
	}
	if g.end != nil && cannot == nil {
		return g.end(s)
	}
	return nil
}

// limit bounds each run, so that a hang is reported rather than waited for.
const limit = 10 * time.Minute

// A result is the outcome of a command.
type result struct {
	out  string
	wall float64 // seconds
	cpu  float64 // seconds, of the command and the children it waited for
	rss  float64 // maximum of the largest of them, in bytes
}

// command runs a command to its end. Its standard output goes to the file out, or into the
// result if out is empty.
func command(out string, argv ...string) (r result, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if out != "" {
		f, err := os.OpenFile(out, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return r, err
		}
		defer f.Close()
		cmd.Stdout = f
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	stop := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	r.wall = time.Since(start).Seconds()
	stop.Stop()
	r.out = stdout.String()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.rss = float64(u.Maxrss) * 1024
	}
	r.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		err = fmt.Errorf("%s: %w: %s", strings.Join(argv[:min(4, len(argv))], " "), err, first)
	}
	return r, err
}

// numbers runs a command that prints n numbers, and returns them.
func numbers(n int, argv ...string) ([]float64, error) {
	r, err := command("", argv...)
	if err != nil {
		return nil, err
	}
	f := strings.Fields(r.out)
	if len(f) != n {
		return nil, fmt.Errorf("%s printed %q", argv[0], r.out)
	}
	v := make([]float64, n)
	for i := range v {
		if v[i], err = strconv.ParseFloat(f[i], 64); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// pinned returns a command line that runs on one processor.
func (b *bench) pinned(argv ...string) []string {
	return append([]string{"taskset", "-c", b.cpus[0]}, argv...)
}

// onTwo returns a command line that runs on two processors.
func (b *bench) onTwo(argv ...string) []string {
	return append([]string{"taskset", "-c", strings.Join(b.cpus[:min(2, len(b.cpus))], ",")}, argv...)
}

// usableProcessors returns the numbers of the usable processors.
func usableProcessors() (list []string, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	for i := range 1024 {
		if set.IsSet(i) {
			list = append(list, strconv.Itoa(i))
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no processor")
	}
	return list, nil
}

// cpuTime returns the processor time of another process so far, in seconds.
func cpuTime(pid int) (float64, error) {
	const sched = 2 // CPUCLOCK_SCHED, see clock_getcpuclockid(3)
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &t); err != nil {
		return 0, err
	}
	return float64(t.Nano()) / 1e9, nil
}

// processors measures how many processors this process can really use: fewer than the
// machine has if others use it.
func processors() float64 {
	const long = 300 * time.Millisecond
	var before, after syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	start := time.Now()
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for time.Since(start) < long {
			}
		})
	}
	all.Wait()
	wall := time.Since(start)
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	return float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / float64(wall)
}
