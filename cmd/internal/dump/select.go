package dump

import (
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/eventset"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// selection selects events.
type selection struct {
	include, exclude *eventset.Set
	await            *eventset.Set // --wait-for: events to wait for, shown or not
	hideFlushMarks   bool          // without --events: leave out flush marks
	exits            bool          // proc.exit, which is not shown: --annotate=cost
	maps             bool          // proc.map, shown or not: --symbols
	pids, tids       []int
	calls            callSelection
	since, until     moment
}

func readSelection(args *cli.Args) (s selection, err error) {
	for _, o := range []struct {
		name string
		set  **eventset.Set
	}{{"events", &s.include}, {"exclude", &s.exclude}, {"wait-for", &s.await}} {
		set, ok, err := eventset.FromOption(args, o.name)
		if err != nil {
			return s, err
		}
		if ok {
			*o.set = &set
		}
	}
	if s.pids, err = args.IDs("pid"); err != nil {
		return s, err
	}
	if s.tids, err = args.IDs("tid"); err != nil {
		return s, err
	}
	if s.calls, err = readCallSelection(args); err != nil {
		return s, err
	}
	for _, o := range []struct {
		name string
		m    *moment
	}{{"since", &s.since}, {"until", &s.until}} {
		if v, ok := args.Lookup(o.name); ok {
			if *o.m, err = parseMoment(v); err != nil {
				return s, cli.BadValue(o.name, v, err)
			}
		}
	}
	return s, nil
}

// wants reports whether the selection has events of this type.
func (s *selection) wants(id posixtrace.EventID, name string) bool {
	if s.exits && id == posixtrace.EventProcExit {
		return true
	}
	if id == posixtrace.EventProcMap && (s.include == nil || !s.include.Names(name)) {
		return false
	}
	if s.include == nil {
		if s.hideFlushMarks && eventset.IsFlushMark(id) {
			return false
		}
	} else if !s.include.Has(id, name) {
		return false
	}
	return s.exclude == nil || !s.exclude.Has(id, name)
}

// wantsProcess reports whether the selection has events of this process and thread.
func (s *selection) wantsProcess(pid, tid int) bool {
	return (s.pids == nil || slices.Contains(s.pids, pid)) && (s.tids == nil || slices.Contains(s.tids, tid))
}

// fromLast reports whether a bound depends on the last event.
func (s *selection) fromLast() bool {
	return s.since.given && s.since.kind == fromLast || s.until.given && s.until.kind == fromLast
}

// types returns the event types of a finished log that are wanted or awaited; nil for all.
// In a finished log every type has a name.
func (s *selection) types(r *posixtrace.Reader) *posixtrace.EventSet {
	if s.include == nil && s.exclude == nil {
		return nil
	}
	var set posixtrace.EventSet
	types, err := r.EventTypes()
	if err != nil {
		return nil // each event is checked again when it is read
	}
	for _, t := range types {
		if s.wants(t.ID, t.Name) || s.maps && t.ID == posixtrace.EventProcMap || s.await != nil && s.await.Has(t.ID, t.Name) {
			set.Add(t.ID)
		}
	}
	return &set
}
