package posixtrace

import (
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
)

// EventType is an event type of a stream or log. Extension.
type EventType struct {
	ID   EventID
	Name string
}

// NextEventType returns the next type of the stream's type list, and false at the end of the list
// (posix_trace_eventtypelist_getnext_id). Each Stream has its own position. Errors: EINVAL the
// stream is closed.
func (s *Stream) NextEventType() (EventID, bool, error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	names, err := s.openNamesLocked()
	if err != nil {
		return 0, false, fail("posix_trace_eventtypelist_getnext_id", err, syscall.EINVAL)
	}
	all := names.All()
	if s.types >= len(all) {
		return 0, false, nil
	}
	s.types++
	return EventID(all[s.types-1].ID), true, nil
}

// RewindEventTypes goes back to the first type (posix_trace_eventtypelist_rewind). Errors: EINVAL
// the stream is closed.
func (s *Stream) RewindEventTypes() error {
	s.naming.Lock()
	defer s.naming.Unlock()
	if s.isClosed() {
		return fail("posix_trace_eventtypelist_rewind", s.whyClosed(), syscall.EINVAL)
	}
	s.types = 0
	return nil
}

// EventTypes returns all event types of the stream, in the order of NextEventType, whose position it
// leaves alone. Errors: EINVAL the stream is closed. Extension.
func (s *Stream) EventTypes() ([]EventType, error) {
	names, err := s.openNames()
	if err != nil {
		return nil, fail("EventTypes", err, syscall.EINVAL)
	}
	return eventTypes(names), nil
}

// eventTypes returns the event types of a family.
func eventTypes(names *registry.Names) []EventType {
	all := names.All()
	types := make([]EventType, len(all))
	for i, t := range all {
		types[i] = EventType{EventID(t.ID), t.Name}
	}
	return types
}
