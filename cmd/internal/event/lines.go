package event

import (
	"bytes"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/capture"
	"github.com/posixtrace/posixtrace/cmd/internal/record/destination"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// maxLine bounds what is kept of a line of standard input. A stream with a smaller
// max-data-size marks the event as truncated.
const maxLine = 64 << 10

// lines records one event for each line of standard input.
func (p *plan) lines(t *destination.Target) error {
	id, err := t.ID(p.name)
	if err != nil && !p.tee {
		return err
	}
	out := -1
	if p.tee {
		out = 1
	}
	if p.tee && cli.WasClosed(os.Stdout) {
		pumpInput(&lineEvents{target: t, id: id, rewrite: p.secrets.lines()}, -1)
		return cli.Failure("write error", syscall.EBADF)
	}
	if err := pumpInput(&lineEvents{target: t, id: id, rewrite: p.secrets.lines()}, out); err != nil {
		return err
	}
	return err
}

// pumpInput passes the lines of standard input to sink and copies them to the descriptor
// out, or nowhere if out is -1. If the reader of our output is gone, SIGPIPE ends the
// process, as it ends tee(1). If the output cannot be written for another reason, the lines still
// become events, as tee(1) still writes its other files.
func pumpInput(sink capture.Sink, out int) error {
	pump := &capture.Pump{In: 0, Shared: true, Out: out, Done: -1, Lines: capture.NewSplitter(sink, maxLine), Persist: true}
	if pump.Run() == capture.Broken {
		cli.DieBy(unix.SIGPIPE)
	}
	if pump.Err != nil {
		return cli.Failure("write error", pump.Err)
	}
	if pump.InErr == unix.EIO {
		return nil // the end of a terminal
	}
	return inputFault(pump.InErr)
}

// outlast makes this process read its input to the end, whatever asks it to end meanwhile. At a
// terminal, the user who types the input ends it so.
func outlast() {
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil {
		cli.Outlast()
	}
}

// inputFault returns what a command reports for an error of standard input.
func inputFault(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return cli.Failure("standard input", err)
}

// lineEvents records each line as an event of one type.
type lineEvents struct {
	target  *destination.Target
	id      posixtrace.EventID
	inside  bool // in the rest of a line whose start was recorded
	partial bool // in a line of which nothing was recorded

	rewrite func(line []byte, f capture.Flags) []byte
}

func (l *lineEvents) Batch() {}

func (l *lineEvents) Line(framed []byte, f capture.Flags) {
	data := l.rewrite(framed[1:], f)
	if !l.inside && !l.target.Record(l.id, data) {
		l.target.Refused = true
	}
	l.inside = f&capture.Continues != 0
	l.Partial(false)
}

func (l *lineEvents) Partial(line bool) {
	if line = line && !l.inside; line != l.partial {
		l.partial = line
		l.target.Owe(l.id, line)
	}
}

// batch records one event for each line of standard input, which names the event.
func batch(t *destination.Target) error {
	b := &batchEvents{target: t}
	if err := pumpInput(b, -1); err != nil {
		return err
	}
	return b.err
}

// batchEvents records lines of the form NAME TAB DATA.
type batchEvents struct {
	target *destination.Target
	inside bool
	err    error // of the first line that was refused
}

func (b *batchEvents) Batch() {}

func (b *batchEvents) Partial(bool) {}

func (b *batchEvents) Line(framed []byte, f capture.Flags) {
	inside := b.inside
	b.inside = f&capture.Continues != 0
	name, data, _ := bytes.Cut(framed[1:], []byte{'\t'})
	if inside || len(framed) == 1 {
		return
	}
	if len(name) == 0 {
		b.fail(cli.Failf("empty event name"))
		return
	}
	if len(name) > posixtrace.EventNameMax {
		b.fail(cli.Failf("event name of more than %d bytes", posixtrace.EventNameMax))
		return
	}
	if err := b.target.CutEvent(string(name), data, b.inside); err != nil {
		b.fail(err)
	}
}

func (b *batchEvents) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}
