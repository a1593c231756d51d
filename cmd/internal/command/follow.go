package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

var (
	errTimeout = errors.New("timed out")
	errNothing = errors.New("no event now")
)

// A reader shows what there was when it was made, its picture. Making the next
// one must not take more than a small part of our time.
const (
	pictureEvery = 50 * time.Millisecond
	pictureShare = 8
)

// poll returns the next event of an input that is followed, errNothing if there
// is none now and io.EOF if there will be none any more. The record is valid
// until the next call.
func (in *input) poll() (*posixtrace.Record, error) {
	switch {
	case in.reader == nil:
		return in.pollConsuming()
	case in.open == nil:
		return in.pollPipe()
	}
	for {
		rec, err := in.reader.Next()
		if err == nil {
			if in.tail.passed(rec) {
				continue
			}
			in.tail.advance(rec)
			return rec, nil
		}
		if err != io.EOF {
			return nil, err
		}
		if state, _ := in.reader.State(); state != posixtrace.LogLive {
			return nil, io.EOF
		}
		now := time.Now()
		if now.Before(in.nextPicture) {
			return nil, errNothing
		}
		r, err := in.open()
		if err != nil {
			if in.stream != nil && in.gone() {
				return nil, io.EOF
			}
			return nil, err
		}
		sel := in.narrowed
		if in.tail.begun && in.tail.floor > in.since {
			sel.Since = time.Unix(0, in.tail.floor)
		}
		r.Select(sel)
		in.tail.again()
		in.reader.Close()
		in.reader = r
		in.pictured = now
		in.nextPicture = time.Now().Add(max(pictureEvery, pictureShare*time.Since(now)))
	}
}

func (in *input) pollConsuming() (*posixtrace.Record, error) {
	in.pictured = time.Now()
	ev, n, err := in.stream.TryNext(in.buf)
	switch {
	case err == nil:
		in.rec = posixtrace.Record{EventInfo: ev, Data: in.buf[:n]}
		return &in.rec, nil
	case errors.Is(err, posixtrace.ErrUnavailable):
		in.status()
		return nil, errNothing
	case in.gone():
		return nil, io.EOF
	}
	return nil, err
}

// pipeDelay is how long an event may be on its way through a pipe while those of
// other inputs wait for it.
const pipeDelay = 200 * time.Millisecond

// pollPipe looks at a log that can only be read forward.
func (in *input) pollPipe() (*posixtrace.Record, error) {
	in.readOn()
	in.pictured = time.Now().Add(-pipeDelay)
	select {
	case p, ok := <-in.pumped:
		return in.take(p, ok)
	default:
		return nil, errNothing
	}
}

// nextPiped waits for the next event of a log that can only be read forward.
func (in *input) nextPiped(ctx context.Context) (*posixtrace.Record, error) {
	rec, err := in.pollPipe()
	if err != errNothing {
		return rec, err
	}
	in.out.flush()
	select {
	case p, ok := <-in.pumped:
		return in.take(p, ok)
	case <-ctx.Done():
		return nil, errTimeout
	}
}

// readOn lets the reading go on, which is a goroutine of its own: nobody knows
// how long it waits.
func (in *input) readOn() {
	if in.pumped == nil {
		in.pipe.out = nil // it is ours to flush
		in.pumped = make(chan pumped)
		in.taken = make(chan struct{})
		go in.pump()
	}
	if in.holding {
		in.holding = false
		in.taken <- struct{}{}
	}
}

func (in *input) take(p pumped, ok bool) (*posixtrace.Record, error) {
	if !ok {
		return nil, io.EOF
	}
	in.holding, in.ended = p.err == nil, p.err != nil
	return p.rec, p.err
}

// pumped is what a reading of its own hands over.
type pumped struct {
	rec *posixtrace.Record
	err error
}

// pump reads one event at a time, each after the one before was taken.
func (in *input) pump() {
	for {
		rec, err := in.reader.Next()
		in.pumped <- pumped{rec, err}
		if err != nil {
			close(in.pumped)
			return
		}
		<-in.taken
	}
}

// nextFollowed waits for the next event of the only input.
func (in *input) nextFollowed(ctx context.Context) (*posixtrace.Record, error) {
	if in.open == nil {
		return in.nextPiped(ctx)
	}
	for {
		rec, err := in.poll()
		if err != errNothing {
			return rec, err
		}
		in.out.flush()
		if !pause(ctx, time.Until(in.nextPicture)) {
			return nil, errTimeout
		}
	}
}

// catchInterrupts returns a context that is done when the user or the system wants
// us to stop, so that what was taken from a stream is still shown, and its form and
// cursor are completed. The second time it kills. The function returns the signal,
// nil if there was none.
func catchInterrupts(ctx context.Context) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan os.Signal, 1)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	var got atomic.Pointer[os.Signal]
	go func() {
		sig := <-ch
		signal.Reset()
		got.Store(&sig)
		cancel()
	}()
	return ctx, func() os.Signal {
		if sig := got.Load(); sig != nil {
			return *sig
		}
		return nil
	}
}

// pause waits for d or until ctx is done, and then returns false.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// maxHold bounds how long an event waits for older ones of other inputs.
const maxHold = time.Second

// nextFollowed returns the next event of several inputs that are followed. An
// event is reported once all others are known to have none that is older: their
// latest picture is newer than it, or than the picture that it was in.
func (m *merge) nextFollowed(ctx context.Context) (*input, *posixtrace.Record, error) {
	if m.latest >= 0 {
		m.heads[m.latest] = nil
	}
	for {
		open := false
		for i, in := range m.inputs {
			if m.heads[i] != nil || m.ended[i] {
				open = open || !m.ended[i]
				continue
			}
			rec, err := in.poll()
			switch {
			case err == nil:
				m.heads[i], m.since[i] = rec, time.Now()
			case err != errNothing:
				m.ended[i] = true
				if err != io.EOF {
					m.env.Warn(failure(in.name, err))
				}
				continue
			}
			open = true
		}
		i := m.earliest()
		m.latest = i
		if i < 0 && !open {
			return nil, nil, io.EOF
		}
		late := ctx.Err() != nil // then what was taken is still shown
		if i >= 0 && (late || m.settled(i)) {
			return m.inputs[i], m.heads[i], nil
		}
		if late {
			return nil, nil, errTimeout
		}
		m.inputs[0].out.flush()
		pause(ctx, pictureEvery/4)
	}
}

// settled reports whether no input can still have an event older than the head
// of input i.
func (m *merge) settled(i int) bool {
	if time.Since(m.since[i]) > maxHold {
		return true
	}
	from := m.inputs[i].pictured
	if m.inputs[i].reader == nil {
		from = m.since[i]
	}
	return !slices.ContainsFunc(m.inputs, func(in *input) bool {
		k := slices.Index(m.inputs, in)
		return m.heads[k] == nil && !m.ended[k] &&
			in.pictured.Before(from) && in.pictured.UnixNano() <= m.heads[i].UnixNano
	})
}
