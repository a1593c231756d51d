package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// selects selects events.
type selects struct {
	selection.Selection
	await          *selection.EventSet // --wait-for: events to wait for, shown or not
	hideFlushMarks bool                // without --events: leave out flush marks
	exits          bool                // proc.exit, which is not shown: --annotate=cost
	symbols        bool                // --symbols, or %s in --format
	stacks         bool                // --stack
	maps           bool                // proc.map, shown or not: for the names of these
	notes          bool                // mappings that processes have noted are shown as events proc.map
	calls          callSelection
}

func readSelection(env *cli.Env, args *cli.Args) (s selects, err error) {
	if s.Selection, err = selection.Read(env, args); err != nil {
		return s, err
	}
	if s.await, err = selection.Set(args, "wait-for"); err != nil {
		return s, err
	}
	s.calls, err = readCallSelection(args)
	return s, err
}

// wants reports whether the selection has events of this type.
func (s *selects) wants(id posixtrace.EventID, name string) bool {
	switch {
	case s.exits && id == posixtrace.EventProcExit:
		return true
	case id == posixtrace.EventProcMap && (s.Include == nil || !s.Include.Names(name)):
		return false
	case s.Include == nil && s.hideFlushMarks && selection.IsMark(id):
		return false
	}
	return s.HasType(id, name)
}

// types returns the event types of a finished log that are wanted or awaited; nil for all.
// In a finished log every type has a name.
func (s *selects) types(r *posixtrace.Reader) *posixtrace.EventSet {
	if s.Include == nil && s.Exclude == nil {
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
