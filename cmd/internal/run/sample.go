package run

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/resources"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const (
	// sampleInterval is the time between samples if the user names none.
	sampleInterval = time.Second
	// leastInterval is the least: the kernel counts processor time in 10 ms.
	leastInterval = 10 * time.Millisecond
	// lastSampleWait bounds how long the last sample delays the end: a log in a pipe may have a slow reader.
	lastSampleWait = time.Second
)

// setSample reads --sample, which --report implies.
func (p *runPlan) setSample(args *cli.Args) (err error) {
	if p.report != "" {
		p.sample = sampleInterval
	}
	if v, ok := args.Lookup("sample"); ok && v == "" {
		p.sample = sampleInterval
	} else if p.sample, err = args.Duration("sample", p.sample); err != nil {
		return err
	}
	if p.sample != 0 {
		p.sample = max(p.sample, leastInterval)
	}
	return nil
}

// sampling samples the command and the processes below it.
type sampling struct {
	stop chan bool // whether the command failed
	done chan struct{}
}

// startSampling starts to sample a process, if the plan is to.
func (s *session) startSampling(pid int) {
	if s.plan.sample == 0 {
		return
	}
	rec, err := s.stream.Recorder() // s.rec is that of another goroutine
	if err != nil {
		return
	}
	maxData := *s.plan.attr.MaxDataSize
	if attr, err := s.stream.Attr(); err == nil {
		maxData = attr.MaxDataSize
	}
	s.sampling = &sampling{stop: make(chan bool, 1), done: make(chan struct{})}
	var conceal func(string) string
	if s.plan.redact != nil {
		conceal = s.plan.redact.String
	}
	go s.sampling.run(pid, s.plan.sample, maxData, rec, conceal)
}

func (s *sampling) run(pid int, interval time.Duration, size int, rec *posixtrace.Recorder, conceal func(string) string) {
	defer close(s.done)
	defer rec.Close()
	runtime.LockOSThread() // the sampler measures the processor time of the thread
	defer runtime.UnlockOSThread()
	sampler := resources.New(pid, interval, size)
	defer sampler.Close()
	sampler.Conceal = conceal
	record := func(sample func() [][]byte) {
		ev := posixtrace.EventInfo{ID: posixtrace.EventResSample, PID: pid, TID: pid, UnixNano: time.Now().UnixNano()}
		for _, data := range sample() {
			rec.Record(ev, data)
		}
	}
	record(sampler.Sample)
	timer := time.NewTimer(sampler.Interval())
	defer timer.Stop()
	for {
		select {
		case failed := <-s.stop:
			if failed {
				record(func() [][]byte { return sampler.Last(".", os.TempDir()) })
			} else {
				record(sampler.Sample)
			}
			return
		case <-timer.C:
			record(sampler.Sample)
			timer.Reset(sampler.Interval())
		}
	}
}

// endSampling takes the last sample, of a command that failed or did not.
func (s *session) endSampling(failed bool) {
	if s.sampling == nil {
		return
	}
	s.sampling.stop <- failed
	select {
	case <-s.sampling.done:
	case <-time.After(lastSampleWait):
	}
	s.sampling = nil
}

// awaitEnd returns when a process has ended that is no child.
func awaitEnd(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}
