// Package send posts batches of OTLP/JSON over HTTP, and keeps what it cannot send in a spool for the
// next call. It is the only package of the commands that uses a network.
//
// config.go has the endpoints, post.go one request, spool.go the spool. All requests of a Sender
// together, with the pauses between them, take a limited time: a job does not wait for a collector.
package send

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sender is an otlp.Sink.
type Sender struct {
	Config *Config
	Spool  string        // a directory, "" for none
	Limit  time.Duration // of all requests and pauses

	ctx     context.Context
	spent   time.Duration
	fault   error // of the first batch that was not sent; none is tried after that
	full    error // of the first batch that was not kept
	kept    int
	unsent  int
	notes   []string // what servers have not taken, and why, each once, at most maxNotes
	more    int      // further ones
	dropped int      // batches that a server refused
	inSpool int64    // bytes
}

// Begin sends what the spool has. It returns an error of the spool alone.
func (s *Sender) Begin(ctx context.Context) error {
	s.ctx = ctx
	if s.Spool == "" {
		return nil
	}
	return s.drain()
}

// Traces sends a batch of spans.
func (s *Sender) Traces(body []byte, _ int) error { return s.send(traces, body) }

// Logs sends a batch of log records.
func (s *Sender) Logs(body []byte, _ int) error { return s.send(logs, body) }

// send sends a batch, or keeps it. The only error is that of the context.
func (s *Sender) send(k kind, body []byte) error {
	if s.fault == nil {
		err := s.deliver(k, body)
		if err == nil {
			return nil
		}
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		s.fault = err
	}
	if s.Spool == "" || s.full != nil {
		s.unsent++
		return nil
	}
	if err := s.keep(k, body); err != nil {
		s.full = err
		s.unsent++
		return nil
	}
	s.kept++
	return nil
}

// refusal is the answer to a batch that the server will never take.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// deliver posts a batch until it is sent or the time is over. A batch that the server refuses counts
// as sent: it is dropped, counted and reported.
func (s *Sender) deliver(k kind, body []byte) error {
	start := time.Now()
	defer func() { s.spent += time.Since(start) }()
	ctx, cancel := context.WithTimeout(s.ctx, s.Limit-s.spent)
	defer cancel()
	pause := 250 * time.Millisecond
	for {
		note, wait, err := s.Config.post(ctx, k, body)
		var r *refusal
		switch {
		case err == nil:
			s.note(note)
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

// maxNotes bounds how many notes Result reports.
const maxNotes = 3

// note keeps for Result what a server says about a batch.
func (s *Sender) note(text string) {
	switch {
	case text == "" || slices.Contains(s.notes, text):
	case len(s.notes) == maxNotes:
		s.more++
	default:
		s.notes = append(s.notes, text)
	}
}

// Result returns what was not sent, in one line, or "".
func (s *Sender) Result() (text string) {
	text = strings.Join(s.notes, "; ")
	if s.more > 0 {
		text += "; " + strconv.Itoa(s.more) + " more"
	}
	if s.dropped > 0 {
		text += "; " + batches(s.dropped) + " dropped"
	}
	if s.fault == nil {
		return text
	}
	if text != "" {
		text += "; "
	}
	text += s.fault.Error()
	if s.kept > 0 {
		text += "; " + batches(s.kept) + " kept in " + s.Spool
	}
	if s.unsent > 0 {
		text += "; " + batches(s.unsent) + " not sent"
	}
	if s.full != nil {
		text += ": " + s.full.Error()
	}
	return text
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return strconv.Itoa(n) + " batches"
}
