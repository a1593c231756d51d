package run

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// capturePlan selects the output of the command that is recorded.
type capturePlan struct {
	out, err bool
	apart    bool // record them separately even if both are one open file
	pty      string
	drain    time.Duration
}

// taps are the pipes between the command and our own output, or the command's terminal.
type taps struct {
	files [3]int   // the command's standard descriptors
	term  *console // nil if all taps are pipes
	list  []*tap
	done  [2]int // a pipe; drain closes its write end when the command has ended
	wg    sync.WaitGroup
}

type tap struct {
	pump   capture.Pump
	id     posixtrace.EventID
	cr     bool // a terminal puts a carriage return before each newline
	result capture.Result
}

// newTaps makes the pipes, or the pseudo-terminal.
func newTaps(p capturePlan) (*taps, error) {
	t := &taps{files: [3]int{0, 1, 2}, done: [2]int{-1, -1}}
	if !p.out && !p.err {
		return t, nil
	}
	if err := unix.Pipe2(t.done[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	// The write ends get numbers above the read ends and all other descriptors.
	above := child.FreeDescriptor()
	if p.wantsConsole() {
		term, err := newConsole(above)
		if err == nil {
			return t, t.useConsole(term, p, above)
		}
		if p.pty == "yes" {
			return nil, err
		}
	}
	one := p.out && p.err && !p.apart && capture.SameOpenFile(1, 2)
	if p.out {
		if err := t.pipe(1, posixtrace.EventOutputStdout, p, above); err != nil {
			return nil, err
		}
	}
	if one {
		t.files[2] = t.files[1]
	} else if p.err {
		return t, t.pipe(2, posixtrace.EventOutputStderr, p, above)
	}
	return t, nil
}

// pipe puts a pipe in front of our descriptor fd.
func (t *taps) pipe(fd int, id posixtrace.EventID, p capturePlan, above int) error {
	r, w, err := capture.Pipe(above)
	if err != nil {
		return err
	}
	t.files[fd] = w
	t.list = append(t.list, &tap{id: id, pump: capture.Pump{In: r, Out: fd, Done: t.done[0], Drain: p.drain}})
	return nil
}

// useConsole puts the pseudo-terminal in front of standard output, and of the other standard
// descriptors that are the same terminal.
func (t *taps) useConsole(term *console, p capturePlan, above int) error {
	in, err := unix.FcntlInt(uintptr(term.master), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		term.close()
		return err
	}
	t.term = term
	t.files[1] = term.slave
	out := &tap{id: posixtrace.EventOutputStdout, cr: isTTY(1), pump: capture.Pump{In: in, Out: 1, Done: t.done[0], Drain: p.drain}}
	t.list = append(t.list, out)
	term.pump = &out.pump
	if sameTerminal(0, 1) {
		t.files[0] = term.slave
	}
	if sameTerminal(1, 2) || capture.SameOpenFile(1, 2) {
		t.files[2] = term.slave
		return nil
	}
	return t.pipe(2, posixtrace.EventOutputStderr, p, above)
}

// closeCommandEnds closes our copies of the command's descriptors, once it has been started.
func (t *taps) closeCommandEnds() {
	closed := map[int]bool{}
	for i, fd := range t.files {
		if fd != i && !closed[fd] {
			unix.Close(fd)
			closed[fd] = true
		}
	}
	if t.term != nil {
		t.term.slave = -1
	}
}

// run starts to pass the output on and to record it.
func (t *taps) run(s *session) {
	limit := capture.LineLimit(*s.plan.attr.MaxDataSize)
	if attr, err := s.stream.Attr(); err == nil {
		limit = capture.LineLimit(attr.MaxDataSize)
	}
	for _, tap := range t.list {
		rec, err := s.stream.Recorder()
		if err != nil {
			s.env.Note("output is not recorded: " + cli.Reason(err))
		} else {
			out := capture.NewOutput(rec, tap.id, s.child.PID)
			out.Owe = func(id posixtrace.EventID, owing bool) { tool.Owe(rec, id, owing) }
			out.Rewrite = redactLines(s.plan.redact, &s.redacted)
			if s.spool != nil {
				out.OnBatch = s.spool.Mark
			}
			tap.pump.Lines = capture.NewSplitter(out, limit)
			tap.pump.Lines.Terminal, tap.pump.Lines.Returns = tap.cr, true
		}
		t.wg.Go(func() {
			tap.result = tap.pump.Run()
			if t.term != nil && tap.result == capture.Broken {
				t.term.hangUp()
			}
			if rec != nil {
				rec.Close()
			}
		})
	}
}

// drain waits for the end of the output, at most for the drain time after the command's end.
// It leaves pipes that other processes still hold to a relay.
func (t *taps) drain(s *session) {
	if len(t.list) == 0 {
		return
	}
	unix.Close(t.done[1])
	t.wg.Wait()
	unix.Close(t.done[0])
	if t.term != nil {
		t.term.finish()
	}
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
			s.env.Note(name + ": " + cli.Reason(tap.pump.Err))
			s.outputLost = true
		}
	}
	if left != nil {
		if err := capture.StartRelay(s.env.Prog, left); err != nil {
			s.env.Note("cannot continue to copy output: " + cli.Reason(err))
		}
	}
}
