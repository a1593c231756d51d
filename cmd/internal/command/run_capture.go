package command

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/capture"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// capturePlan says which output of the command is recorded.
type capturePlan struct {
	out, err bool
	apart    bool // even where both are one open file
	drain    time.Duration
}

// taps are the pipes between the command and our own output.
type taps struct {
	files [3]int // the command's standard descriptors
	list  []*tap
	done  [2]int // its write end is closed when the command has ended
	wg    sync.WaitGroup
}

type tap struct {
	pump   capture.Pump
	id     posixtrace.EventID
	result capture.Result
}

// newTaps makes the pipes.
func newTaps(p capturePlan) (*taps, error) {
	t := &taps{files: [3]int{0, 1, 2}, done: [2]int{-1, -1}}
	if !p.out && !p.err {
		return t, nil
	}
	if err := unix.Pipe2(t.done[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	high := highestDescriptor() + 1
	// The reading ends and whatever else comes are beneath the writing ends.
	above := high + 16
	one := p.out && p.err && !p.apart && capture.SameOpenFile(1, 2)
	for _, want := range []struct {
		fd  int
		any bool
		id  posixtrace.EventID
	}{
		{1, p.out, posixtrace.EventOutputStdout},
		{2, p.err && !one, posixtrace.EventOutputStderr},
	} {
		if !want.any {
			continue
		}
		r, w, err := capture.Pipe(above)
		if err != nil {
			return nil, err
		}
		t.files[want.fd] = w
		t.list = append(t.list, &tap{id: want.id, pump: capture.Pump{In: r, Out: want.fd, Done: t.done[0], Drain: p.drain}})
	}
	if one {
		t.files[2] = t.files[1]
	}
	return t, nil
}

// started gives up the command's ends of the pipes: it has its own now.
func (t *taps) started() {
	for i, fd := range t.files {
		if fd != i && !(i == 2 && fd == t.files[1]) {
			unix.Close(fd)
		}
	}
}

// run starts passing the output on, and recording it.
func (t *taps) run(s *session) {
	limit := capture.LineLimit(s.plan.attr.MaxDataSize)
	if attr, err := s.stream.Attr(); err == nil {
		limit = capture.LineLimit(attr.MaxDataSize)
	}
	for _, tap := range t.list {
		rec, err := s.stream.Recorder()
		if err != nil {
			s.env.Note("output is not recorded: " + reason(err))
		} else {
			tap.pump.Lines = capture.NewSplitter(capture.NewOutput(rec, tap.id, s.child.pid), limit)
		}
		t.wg.Go(func() {
			tap.result = tap.pump.Run()
			if rec != nil {
				rec.Close()
			}
		})
	}
}

// drain waits for the end of the output, but not for ever: what outlives the
// command and holds its output is left to a relay.
func (t *taps) drain(s *session) {
	if len(t.list) == 0 {
		return
	}
	unix.Close(t.done[1])
	t.wg.Wait()
	unix.Close(t.done[0])
	var left []*capture.Pump
	for _, tap := range t.list {
		switch {
		case tap.result == capture.Left:
			left = append(left, &tap.pump)
		case tap.pump.Err != nil:
			name := "standard output"
			if tap.pump.Out == 2 {
				name = "standard error"
			}
			s.env.Note(name + ": " + reason(tap.pump.Err))
			s.outputLost = true
		}
	}
	if left != nil {
		if err := capture.StartRelay(s.env.prog, left); err != nil {
			s.env.Note("cannot go on copying output: " + reason(err))
		}
	}
}
