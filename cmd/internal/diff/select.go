package diff

import (
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// choice selects events.
type choice struct {
	include, exclude *selection.EventSet
	pids, tids       []int
}

// all reports whether every event is selected.
func (s *choice) all() bool {
	return s.include == nil && s.exclude == nil && s.pids == nil && s.tids == nil
}

func isFlushMark(rec posixtrace.Record) bool { return selection.IsUnasked(rec.ID) }

// selected returns the selected events, without flush marks unless --events names events, in the memory of all.
func (s *choice) selected(recs []posixtrace.Record, name func(posixtrace.EventID) string) []posixtrace.Record {
	if s.include == nil && slices.ContainsFunc(recs, isFlushMark) {
		recs = slices.DeleteFunc(recs, isFlushMark) // as summaries count
	}
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

// noteUnmatched reports names of the command line that no log has.
func noteUnmatched(env *cli.Env, logs [2][]*log, s *choice) {
	names := selection.Asked(s.include, s.exclude)
	if len(names) == 0 {
		return
	}
	var all []posixtrace.EventType
	for _, side := range logs {
		for _, l := range side {
			types, err := l.Reader.EventTypes()
			if err != nil || l.fault != nil {
				return // names may be missing
			}
			all = append(all, types...)
		}
	}
	selection.NoteUnmatched(env, names, all)
}
