package posixtrace

import "github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"

// EventSet is a set of event types (trace_event_set_t). The zero value is the empty set
// (posix_trace_eventset_empty). Assignment copies a set, and == compares two. A set belongs to no
// stream. It is not safe for concurrent use if one of the calls changes it.
type EventSet struct{ s event.Set }

// FillWhat names a set for EventSet.Fill.
type FillWhat uint8

// The sets of EventSet.Fill.
const (
	FillWOPID  FillWhat = iota // POSIX_TRACE_WOPID_EVENTS: process-independent system types
	FillSystem                 // POSIX_TRACE_SYSTEM_EVENTS: every system type
	FillAll                    // POSIX_TRACE_ALL_EVENTS: every type, also those registered later
)

// Fill replaces s by one of the standard sets (posix_trace_eventset_fill). Errors: EINVAL what is
// none of them.
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

// Add adds id to the set (posix_trace_eventset_add). A member already is no error. Errors: EINVAL
// id is out of range.
func (s *EventSet) Add(id EventID) error {
	if !event.ID(id).Valid() {
		return einval("posix_trace_eventset_add", "no such event type: %d", id)
	}
	s.s.Add(event.ID(id))
	return nil
}

// Del removes id from the set (posix_trace_eventset_del). Not a member is no error. Errors: EINVAL
// id is out of range.
func (s *EventSet) Del(id EventID) error {
	if !event.ID(id).Valid() {
		return einval("posix_trace_eventset_del", "no such event type: %d", id)
	}
	s.s.Del(event.ID(id))
	return nil
}

// Has reports whether id is a member (posix_trace_eventset_ismember). An id that is out of range is not.
func (s *EventSet) Has(id EventID) bool { return s.s.Has(event.ID(id)) }

// Empty reports whether the set has no member. Extension.
func (s *EventSet) Empty() bool { return s.s == event.Set{} }

// Union adds the members of t to s. Extension.
func (s *EventSet) Union(t EventSet) { s.s.Or(&t.s) }

// Subtract removes the members of t from s. Extension.
func (s *EventSet) Subtract(t EventSet) { s.s.AndNot(&t.s) }
