package run

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Of the time of --hang, a command that does nothing may use one part in idlePart of a processor: runtimes
// with timers of their own do. Processor time is counted in ticks of 10 ms.
const (
	idlePart = 500
	tick     = 10 * time.Millisecond

	// looksPer is how many times --hang looks at the command in its time.
	looksPer = 8
)

// activity is what the processes of the command have done so far.
type activity struct {
	processes uint64 // which there are, in one number
	ticks     uint64 // of processor time
	written   uint64 // bytes
	running   bool   // one of them runs, or waits for a processor
}

// watchIdle reports once that the command has done nothing for the time of --hang. It returns a function
// that ends the watch.
func (s *session) watchIdle() (stop func()) {
	if s.plan.hang == 0 {
		return func() {}
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		every := max(s.plan.hang/looksPer, tick)
		timer := time.NewTicker(every)
		defer timer.Stop()
		since, was := time.Now(), activityOf(s.child.PID)
		looked := since
		for {
			select {
			case <-ended:
				return
			case <-timer.C:
			}
			now, is := time.Now(), activityOf(s.child.PID)
			late := now.Sub(looked) > 2*every+time.Second // this process was stopped, or the machine
			looked = now
			switch {
			case late, is.running, is.processes != was.processes, is.written != was.written, is.ticks-was.ticks > max(1, uint64(s.plan.hang/idlePart/tick)):
				since, was = now, is
			case now.Sub(since) < s.plan.hang:
			case s.recordedSince(since):
				since = now
			case s.reportHang(posixtrace.HangIdle, 0):
				return
			default:
				since = now
			}
		}
	}()
	return func() {
		close(ended)
		<-done
	}
}

// recordedSince reports whether the stream has an event of that time or later.
func (s *session) recordedSince(since time.Time) bool {
	r, err := s.stream.Reader()
	if err != nil {
		return false
	}
	defer r.Close()
	r.Select(posixtrace.Selection{Since: since})
	for {
		rec, err := r.Next()
		if err != nil {
			return err != io.EOF
		}
		switch rec.ID {
		case posixtrace.EventFlushStart, posixtrace.EventFlushStop:
		default:
			return true
		}
	}
}

// activityOf returns what a process and those below it have done.
func activityOf(root int) (a activity) {
	dir, err := os.Open("/proc")
	if err != nil {
		return a
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	type process struct {
		parent int
		start  uint64
		ticks  uint64
		runs   bool
		inside int8 // of the tree: 1 yes, -1 no, 0 unknown
	}
	all := map[int]*process{}
	for _, name := range names {
		pid, err := cli.ParseDigits(name)
		if err != nil {
			continue
		}
		if f := procfs.StatFields(int(pid)); len(f) > 19 {
			n := func(i int) uint64 { v, _ := strconv.ParseUint(f[i], 10, 64); return v }
			all[int(pid)] = &process{parent: int(n(1)), start: n(19), ticks: n(11) + n(12), runs: f[0] == "R"}
		}
	}
	if p := all[root]; p != nil {
		p.inside = 1
	}
	for pid, p := range all {
		// Find the first process above that is known to be inside or outside, and note it below.
		at, end := p, int8(-1)
		for depth := 0; at != nil && depth < len(all); depth++ {
			if at.inside != 0 {
				end = at.inside
				break
			}
			at = all[at.parent]
		}
		for q := p; q != nil && q != at && q.inside == 0; q = all[q.parent] {
			q.inside = end
		}
		if p.inside == 1 {
			a.processes += (uint64(pid)<<32 ^ p.start) * 0x9e3779b97f4a7c15
			a.ticks += p.ticks
			a.running = a.running || p.runs
			a.written += written(pid)
		}
	}
	return a
}

// written returns how many bytes a process has written, 0 if it cannot be seen.
func written(pid int) uint64 {
	b, err := procfs.Read(pid, "io")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("wchar: "))
	digits, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseUint(string(digits), 10, 64)
	return n
}
