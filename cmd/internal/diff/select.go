package diff

import (
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/eventset"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// selection selects events.
type selection struct {
	include, exclude *eventset.Set
	pids, tids       []int
}

// all reports whether every event is selected.
func (s *selection) all() bool {
	return s.include == nil && s.exclude == nil && s.pids == nil && s.tids == nil
}

// selected returns the selected events, in the memory of all.
func (s *selection) selected(recs []posixtrace.Record, name func(posixtrace.EventID) string) []posixtrace.Record {
	if s.all() {
		return recs
	}
	return slices.DeleteFunc(recs, func(rec posixtrace.Record) bool {
		if s.pids != nil && !slices.Contains(s.pids, rec.PID) || s.tids != nil && !slices.Contains(s.tids, rec.TID) {
			return true
		}
		if s.include == nil && s.exclude == nil {
			return false
		}
		n := name(rec.ID)
		return s.include != nil && !s.include.Has(rec.ID, n) || s.exclude != nil && s.exclude.Has(rec.ID, n)
	})
}
