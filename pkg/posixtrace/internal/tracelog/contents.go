package tracelog

import (
	"errors"
	"fmt"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/chunk"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
)

// State is the state of a log.
type State uint8

// The states of a log.
const (
	Finished   State = iota // it ends with a seal, and the reader has found nothing unsound
	Unfinished              // it ends without a seal
	Damaged                 // something in it is unsound
)

// String returns "finished", "unfinished" or "damaged".
func (s State) String() string {
	return [...]string{"finished", "unfinished", "damaged", "?"}[s&3]
}

// contents is everything in a log but its events, and the first fault found in the log.
type contents struct {
	super  *Super
	types  []TypeDef
	names  map[event.ID]string
	clock  chunk.Clock
	status Status
	known  bool   // status was found
	found  uint64 // events according to the headers of blocks, in a log read without its index

	sealed bool
	fault  *Fault // the first thing wrong
	bad    bool   // fault is damage, not only an end without a seal
}

// Super returns the superblock.
func (c *contents) Super() *Super { return c.super }

// Clock returns the clock that turns ticks into time. The clock of a log read forward grows with
// Next.
func (c *contents) Clock() *chunk.Clock { return &c.clock }

// Types returns the event types in the order of the log. The types of a log read forward grow with
// Next.
func (c *contents) Types() []TypeDef { return c.types }

// TypeName returns the name of an event type, "" if it has none.
func (c *contents) TypeName(id event.ID) string {
	if n := c.names[id]; n != "" {
		return n
	}
	return event.PredefinedName(id)
}

// Status returns the last status in the log, false if there is none.
func (c *contents) Status() (Status, bool) { return c.status, c.known }

// State returns the state of the log and, of a log that is not finished, the *Fault that says where
// and why it ends. The state is certain only after Next has returned false.
func (c *contents) State() (State, error) {
	switch {
	case c.bad:
		return Damaged, c.fault
	case !c.sealed && c.fault != nil:
		return Unfinished, c.fault
	case !c.sealed:
		return Unfinished, nil
	}
	return Finished, nil
}

// damage records that something is unsound. The first such record counts.
func (c *contents) damage(off int64, what string, err error) {
	if !c.bad {
		c.bad = true
		c.fault = &Fault{off, what, err}
	}
}

// unfinished records that the log ends at off without a seal.
func (c *contents) unfinished(off int64, err error) {
	if c.fault == nil {
		c.fault = &Fault{off, noSeal, err}
	}
}

// apply decodes the payload of a block other than one of events.
func (c *contents) apply(h *header, p []byte) error {
	switch h.Kind {
	case KindTypes:
		defs, err := decodeTypes(p, h.Count)
		if err != nil {
			return err
		}
		for _, d := range defs {
			if _, ok := c.names[d.ID]; !ok { // the first definition counts
				c.names[d.ID] = d.Name
				c.types = append(c.types, d)
			}
		}
	case KindAnchors:
		anchors, err := decodeAnchors(p, h.Count)
		if err != nil {
			return err
		}
		for _, a := range anchors {
			c.clock.Add(a) // drops an anchor that would make time run backwards
		}
	case KindStatus:
		s, err := decodeStatus(p)
		if err != nil {
			return err
		}
		c.status, c.known = s, true
	case KindSeal:
		s, err := decodeSeal(p)
		if err != nil {
			return err
		}
		c.status, c.known, c.sealed = s.Status, true, true
		if s.Events != c.found {
			return fmt.Errorf("%d events where the seal says %d: %w", c.found, s.Events, errContent)
		}
	}
	return nil
}

// errMissing is the fault of a seal that is not where its recorder wrote it.
var errMissing = errors.New("blocks before it are missing")

// wholeSeal checks that a seal ends where it says that the log does. In the tail of a Loop log
// nothing else shows that a block is missing. Other kinds of blocks pass.
func wholeSeal(h *header, p []byte, end int64) error {
	if h.Kind != KindSeal {
		return nil
	}
	s, err := decodeSeal(p)
	if err == nil && s.Length != uint64(end) {
		err = errMissing
	}
	return err
}
