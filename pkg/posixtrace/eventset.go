package posixtrace

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"

// EventSet is a set of event types (trace_event_set_t). The zero value is the
// empty set (posix_trace_eventset_empty); assigning copies it whole and == compares.
// A set belongs to no stream. It is not safe for concurrent change.
type EventSet struct{ s event.Set }

// FillWhat names what EventSet.Fill makes of a set.
type FillWhat uint8

// The sets that EventSet.Fill knows.
const (
	FillWOPID  FillWhat = iota // POSIX_TRACE_WOPID_EVENTS: process-independent system types
	FillSystem                 // POSIX_TRACE_SYSTEM_EVENTS: every system type
	FillAll                    // POSIX_TRACE_ALL_EVENTS: every type, also those registered later
)

// Fill makes s one of the standard sets, whatever it held before
// (posix_trace_eventset_fill). It fails with EINVAL when what is none of them.
func (s *EventSet) Fill(what FillWhat) error {
	switch what {
	case FillWOPID:
		s.s = event.WOPID()
	case FillSystem:
		s.s = event.System()
	case FillAll:
		s.s = event.All()
	default:
		return einval("posix_trace_eventset_fill", "no such set: %d", what)
	}
	return nil
}

// Add makes id a member (posix_trace_eventset_add); being one already is no error.
// It fails with EINVAL when id can be no event type.
func (s *EventSet) Add(id EventID) error {
	if !event.ID(id).Valid() {
		return einval("posix_trace_eventset_add", "no such event type: %d", id)
	}
	s.s.Add(event.ID(id))
	return nil
}

// Del takes id out (posix_trace_eventset_del); not being a member is no error.
// It fails with EINVAL when id can be no event type.
func (s *EventSet) Del(id EventID) error {
	if !event.ID(id).Valid() {
		return einval("posix_trace_eventset_del", "no such event type: %d", id)
	}
	s.s.Del(event.ID(id))
	return nil
}

// Has reports whether id is a member (posix_trace_eventset_ismember); an id that
// can be no event type is not.
func (s *EventSet) Has(id EventID) bool { return s.s.Has(event.ID(id)) }

// Empty reports whether the set has no member. Extension.
func (s *EventSet) Empty() bool { return s.s == event.Set{} }

// Union adds the members of t. Extension.
func (s *EventSet) Union(t EventSet) { s.s.Or(&t.s) }

// Subtract takes the members of t out. Extension.
func (s *EventSet) Subtract(t EventSet) { s.s.AndNot(&t.s) }
