package create

import (
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
	"github.com/posixtrace/posixtrace/cmd/internal/record/newstream"
	"github.com/posixtrace/posixtrace/cmd/internal/record/tracer"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// With --events, a tracer attaches to the process. Of a stream with a keeper, the tracer ends with
// the keeper. Otherwise no other process stays, and the tracer ends with the stream.

// tracerOption makes this program a tracer.
var tracerOption = strings.TrimPrefix(tracer.Flag, "--")

// serveTracer is the main function of the tracer.
func serveTracer(args *cli.Args) error {
	control, err := args.Count(tracerOption, 0)
	if err == nil && !tracer.Serve(control) {
		err = cli.Usagef("option '--%s' is for the command's own use", tracerOption)
	}
	return err
}

// attach makes a tracer attach to the process and start the stream, if the plan says so. It
// returns the tracer's messages.
func (p *plan) attach(prog string, s *posixtrace.Stream, path string) (notes []string, err error) {
	var mu sync.Mutex
	p.tracer, err = tracer.Start(prog, child.FreeDescriptor(), func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, text)
	})
	if err != nil {
		return nil, newstream.AttachFault(p.target.PID, err)
	}
	p.tracer.Staged()
	cfg := tracer.Config{
		Stream: path, Want: p.trace, MaxData: *p.attr.MaxDataSize, Attach: p.target.PID, Start: p.start,
		Alone: p.attr.Inheritance != posixtrace.InheritChildren,
		Stay:  p.log == "" && !p.foreground,
	}
	if attr, err := s.Attr(); err == nil {
		cfg.MaxData = attr.MaxDataSize
	}
	if err = p.tracer.Configure(cfg); err == nil {
		err = p.tracer.Attached()
	}
	if err != nil {
		p.tracer.Release()
		return nil, newstream.AttachFault(p.target.PID, err)
	}
	mu.Lock()
	defer mu.Unlock()
	return append([]string(nil), notes...), nil
}

// detach makes the tracer detach.
func (p *plan) detach() {
	if p.tracer != nil {
		p.tracer.Release()
	}
}

// lastWait bounds how long awaitLast waits.
const lastWait = 5 * time.Second

// awaitLast waits, after the process has ended, until the tracer has recorded that.
func (p *plan) awaitLast() {
	if p.tracer == nil {
		return
	}
	recorded := make(chan bool, 1)
	go func() { recorded <- p.tracer.Exited() }()
	select {
	case <-recorded:
	case <-time.After(lastWait):
	}
}

// watchTracer records an error in the stream if the tracer ends before the process does. The
// function that it returns ends the watch.
func (p *plan) watchTracer(s *posixtrace.Stream) (stop func()) {
	if p.tracer == nil {
		return func() {}
	}
	rec, err := s.Recorder()
	if err != nil {
		return func() {}
	}
	go func() {
		if !p.tracer.Exited() && p.tracer.Killed() {
			rec.Record(posixtrace.EventInfo{ID: posixtrace.EventError}, binary.LittleEndian.AppendUint32(nil, uint32(unix.ESRCH)))
		}
	}()
	return func() { p.tracer.Release() }
}
