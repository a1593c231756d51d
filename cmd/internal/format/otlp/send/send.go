// Package send posts batches of OTLP/JSON over HTTP, and keeps what it cannot send in a spool for the
// next call. It is the only package of the commands that uses a network.
//
// config.go has the endpoints, environ.go the variables that configure them, post.go one request,
// answer.go what a server says, spool.go the spool. All requests of a Sender together, with the pauses
// between them, take a limited time: a job does not wait for a collector.
package send

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// Sender is an otlp.Sink.
type Sender struct {
	Config *Config
	Spool  string        // a directory, "" for none
	Limit  time.Duration // of all requests and pauses

	ctx      context.Context
	spent    [kinds]time.Duration
	faults   [kinds]error // of the first batch that was not sent; none of that kind is tried after that
	full     error        // of the first batch that was not kept, or of the spool as a whole
	idle     bool         // nothing was to be sent
	kept     int
	unsent   int
	notes    []string // what servers have not taken, why, and what they advise, each once, at most maxNotes
	more     int      // further ones
	rejected bool     // a server has not taken a part of a batch
	dropped  int      // batches that a server refused
	inSpool  int64    // bytes
}

// Begin sends what the spool has.
func (s *Sender) Begin(ctx context.Context) {
	s.ctx, s.idle = ctx, true
	if s.Spool != "" {
		s.full = s.drain()
	}
}

// Traces sends a batch of spans.
func (s *Sender) Traces(body []byte, _ int) error { return s.send(traces, body) }

// Logs sends a batch of log records.
func (s *Sender) Logs(body []byte, _ int) error { return s.send(logs, body) }

// Metrics sends a batch of metrics.
func (s *Sender) Metrics(body []byte, _ int) error { return s.send(metrics, body) }

// Keeps reports whether a batch that is not sent is kept.
func (s *Sender) Keeps() bool { return s.Spool != "" && s.full == nil }

var errInterrupted = errors.New("interrupted")

// send sends a batch, or keeps it. The only error is that of the context, if nothing is kept.
func (s *Sender) send(k kind, body []byte) error {
	s.idle = false
	if s.try(k, body) {
		return nil
	}
	switch {
	case s.Keeps() && !s.Config.ends[k].unset:
		if s.full = s.keep(k, body); s.full == nil {
			s.kept++
			return nil
		}
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	}
	s.unsent++
	return nil
}

// try sends a batch unless another one of its kind was not sent. It reports whether the batch is sent.
func (s *Sender) try(k kind, body []byte) bool {
	if s.faults[k] == nil && s.ctx.Err() == nil {
		s.faults[k] = s.deliver(k, body)
		if s.faults[k] == nil {
			return true
		}
		for other := range kinds {
			if k != metrics && s.Config.shares(k, other) { // a server may have no place for metrics
				s.faults[other] = s.faults[k]
			}
		}
	}
	if s.ctx.Err() != nil {
		for k := range s.faults {
			s.faults[k] = errInterrupted
		}
	}
	return false
}

// refusal is the answer to a batch that the server will never take.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// deliver posts a batch until it is sent or the time is over. A batch that the server refuses counts
// as sent: it is dropped, counted and reported. Each of several servers has its part of the time.
func (s *Sender) deliver(k kind, body []byte) error {
	limit, spent := s.Limit/s.Config.servers(), time.Duration(0)
	for other, d := range s.spent {
		if kind(other) == k || s.Config.shares(k, kind(other)) {
			spent += d
		}
	}
	start := time.Now()
	defer func() { s.spent[k] += time.Since(start) }()
	ctx, cancel := context.WithTimeout(s.ctx, limit-spent)
	defer cancel()
	pause := 250 * time.Millisecond
	var before error
	for {
		a, wait, err := s.Config.post(ctx, k, body)
		if err != nil && before != nil && ctx.Err() != nil {
			return before // says more than that the time is over
		}
		before = err
		var r *refusal
		switch {
		case err == nil:
			s.taken(k, a)
			return nil
		case errors.As(err, &r):
			s.note(r.text)
			s.dropped++
			return nil
		case wait < 0: // no retry
			return err
		}
		// A little chance keeps a thousand jobs from coming back at one moment.
		wait = max(wait, pause+time.Duration(time.Now().UnixNano())%(pause/2))
		pause *= 2
		if deadline, _ := ctx.Deadline(); time.Until(deadline) <= wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// taken notes what a server says about a batch that it has taken.
func (s *Sender) taken(k kind, a answer) {
	text := s.Config.ends[k].shown
	if a.rejected != 0 {
		s.rejected = true
		text += fmt.Sprintf(": %d %s rejected", a.rejected, [kinds]string{"spans", "log records", "data points"}[k])
	}
	if a.message != "" {
		text += ": " + short(a.message)
	}
	if text != s.Config.ends[k].shown {
		s.note(text)
	}
}

// maxNotes bounds how many notes Result reports.
const maxNotes = 3

// note keeps for Result what a server says about a batch.
func (s *Sender) note(text string) {
	switch {
	case slices.Contains(s.notes, text):
	case len(s.notes) == maxNotes:
		s.more++
	default:
		s.notes = append(s.notes, text)
	}
}

// Idle reports whether there was nothing to send.
func (s *Sender) Idle() bool { return s.idle && s.Spool == "" }

// Result returns what was not sent, and what servers advise, in one line, or "". failed reports whether
// something was not sent.
func (s *Sender) Result() (text string, failed bool) {
	parts := slices.Clone(s.notes)
	add := func(n int, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	add(s.more, strconv.Itoa(s.more)+" more")
	add(s.dropped, batches(s.dropped)+" dropped")
	failed = s.rejected || s.dropped > 0
	var said []string
	for _, fault := range s.faults {
		if fault != nil && !slices.Contains(said, fault.Error()) {
			said = append(said, fault.Error())
			failed = true
		}
	}
	parts = append(parts, said...)
	add(s.kept, batches(s.kept)+" kept in "+s.Spool)
	add(s.unsent, batches(s.unsent)+" not sent")
	if text = strings.Join(parts, "; "); s.full != nil {
		separator := "; "
		switch {
		case s.unsent > 0:
			separator = ": "
		case text == "":
			separator = ""
		}
		text += separator + cli.Reason(s.full)
	}
	return text, failed
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return strconv.Itoa(n) + " batches"
}
