// Package selection selects events by type, process, thread and time, as the options of the
// commands that read logs say.
package selection

import (
	"math"
	"slices"
	"time"

	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// Selection selects events. The zero Selection selects all.
type Selection struct {
	Include, Exclude *EventSet // nil if not given
	PIDs, TIDs       []int     // nil if not given
	Since, Until     Moment
}

// Read reads the options events, exclude, pid, tid, since and until.
func Read(env *cli.Env, args *cli.Args) (s Selection, err error) {
	if s.Include, err = Set(args, "events"); err != nil {
		return s, err
	}
	if s.Exclude, err = Set(args, "exclude"); err != nil {
		return s, err
	}
	if s.PIDs, err = args.IDs("pid"); err != nil {
		return s, err
	}
	if s.TIDs, err = args.IDs("tid"); err != nil {
		return s, err
	}
	for _, o := range []struct {
		name string
		m    *Moment
	}{{"since", &s.Since}, {"until", &s.Until}} {
		if v, ok := args.Lookup(o.name); ok {
			if *o.m, err = parse(v); err != nil {
				return s, cli.BadValue(o.name, v, err)
			}
			if o.m.local {
				env.UseZone()
			}
		}
	}
	return s, nil
}

// Set returns the event set of an option, or nil if it was not given.
func Set(args *cli.Args, name string) (*EventSet, error) {
	set, ok, err := FromOption(args, name)
	if err != nil || !ok {
		return nil, err
	}
	return &set, nil
}

// HasType reports whether the selection has events of this type.
func (s *Selection) HasType(id posixtrace.EventID, name string) bool {
	return (s.Include == nil || s.Include.Has(id, name)) && (s.Exclude == nil || !s.Exclude.Has(id, name))
}

// HasProcess reports whether the selection has events of this process and thread.
func (s *Selection) HasProcess(pid, tid int) bool {
	return (s.PIDs == nil || slices.Contains(s.PIDs, pid)) && (s.TIDs == nil || slices.Contains(s.TIDs, tid))
}

// FromLast reports whether a bound depends on the last event.
func (s *Selection) FromLast() bool {
	return s.Since.Given && s.Since.kind == fromLast || s.Until.Given && s.Until.kind == fromLast
}

// Bounds returns the first time that is selected, and the first that is no longer. first and last
// are the times of the first and, if FromLast, the last event of all inputs.
func (s *Selection) Bounds(first, last int64) (since, until int64) {
	since, until = math.MinInt64, math.MaxInt64
	if s.Since.Given {
		since = s.Since.resolve(first, last)
	}
	if s.Until.Given {
		until = s.Until.resolve(first, last)
	}
	return since, until
}

// Between returns the selection of a reader for these bounds.
func Between(since, until int64) (s posixtrace.Selection) {
	if since != math.MinInt64 {
		s.Since = time.Unix(0, since)
	}
	if until != math.MaxInt64 {
		s.Until = time.Unix(0, until)
	}
	return s
}
