package posixtrace

import (
	"runtime"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
)

// FilterHow is how SetFilter combines a set with the filter.
type FilterHow uint8

// The ways to change a filter.
const (
	FilterSet FilterHow = iota // POSIX_TRACE_SET_EVENTSET: the filter becomes the set
	FilterAdd                  // POSIX_TRACE_ADD_EVENTSET: reject the set too
	FilterSub                  // POSIX_TRACE_SUB_EVENTSET: accept the set again
)

// SetFilter changes which event types the stream rejects (posix_trace_set_filter). FilterSet drops
// the patterns of earlier FilterOps, FilterAdd and FilterSub keep them. Errors: EINVAL how is out
// of range, or the stream is closed.
func (s *Stream) SetFilter(set EventSet, how FilterHow) error {
	const op = "posix_trace_set_filter"
	change, err := s.newFilter(op, set, how)
	if err != nil {
		return err
	}
	return s.control(op, change)
}

// newFilter returns the function that changes the filter for SetFilter.
func (s *Stream) newFilter(op string, set EventSet, how FilterHow) (func(m *stream.Mem, w *stream.Writer, e stream.Event) error, error) {
	if how > FilterSub {
		return nil, einval(op, "no such way to change a filter: %d", how)
	}
	return func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		s.whileUnnamed(func() {
			f := m.Filter()
			combine(&f, &set.s, how)
			if how == FilterSet {
				m.SetPatterns(nil)
			}
			m.SetFilter(w, e, &f)
		})
		return nil
	}, nil
}

// Filter returns the set of rejected event types (posix_trace_get_filter). Errors: EINVAL the
// stream is closed.
func (s *Stream) Filter() (EventSet, error) {
	defer runtime.KeepAlive(s)
	if s.isClosed() {
		return EventSet{}, fail("posix_trace_get_filter", s.whyClosed(), syscall.EINVAL)
	}
	return EventSet{s.c.Mem.Filter()}, nil
}

// FilterOp is one step of FilterOps. It changes the filter by the types of Set and by the types
// whose names match one of Patterns, including types that are registered later. A pattern is a
// name, or a glob with * and ?. Extension.
type FilterOp struct {
	How      FilterHow
	Set      EventSet
	Patterns []string
}

// FilterOps applies the steps in order and records one posix_trace_filter event for all of them. If
// several patterns match a new name, the last one decides. Errors: EINVAL a pattern that is too
// long, more than 64 patterns, or the stream is closed. Extension.
func (s *Stream) FilterOps(ops []FilterOp) error {
	const op = "FilterOps"
	return s.control(op, func(m *stream.Mem, w *stream.Writer, e stream.Event) error {
		return s.whileNamed(func(known []registry.Type) error {
			f, ps := m.Filter(), m.Patterns()
			for _, o := range ops {
				set := o.Set.s
				for _, glob := range o.Patterns {
					if len(glob) > stream.MaxPattern {
						return einval(op, "pattern of %d bytes", len(glob))
					}
					for _, t := range known {
						if stream.Match(glob, t.Name) {
							set.Add(t.ID)
						}
					}
				}
				combine(&f, &set, o.How)
				if o.How == FilterSet {
					ps = nil
				}
				for _, glob := range o.Patterns {
					ps = append(ps, stream.Pattern{Reject: o.How != FilterSub, Glob: glob})
				}
				if o.How > FilterSub {
					return einval(op, "no such way to change a filter: %d", o.How)
				}
			}
			if len(ps) > stream.MaxPatterns {
				return einval(op, "%d patterns; %d is the most", len(ps), stream.MaxPatterns)
			}
			m.SetPatterns(ps)
			m.SetFilter(w, e, &f)
			return nil
		})
	})
}

// combine changes filter f by a set.
func combine(f, set *event.Set, how FilterHow) {
	switch how {
	case FilterSet:
		*f = *set
	case FilterAdd:
		f.Or(set)
	case FilterSub:
		f.AndNot(set)
	}
}

// whileNamed runs f, which changes the filter, with the event types of the stream's family. No type
// is added while f runs. A process that registers a name applies the patterns under the lock of the
// names, without the stream's lock: the lock of the names is the last in the order of locks. The
// caller holds s.mu and the stream's lock.
func (s *Stream) whileNamed(f func(known []registry.Type) error) error {
	names, err := s.openNames()
	if err != nil {
		return err
	}
	return names.While(f)
}

// whileUnnamed runs f, which does not need the types, under the lock of the names. If the names cannot be
// opened, f runs without their lock: in general no process can add a name then.
func (s *Stream) whileUnnamed(f func()) {
	done := false
	s.whileNamed(func([]registry.Type) error {
		f()
		done = true
		return nil
	})
	if !done {
		f()
	}
}
