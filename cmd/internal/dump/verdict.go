package dump

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// verdict says what a selection does with an event type.
type verdict uint8

const (
	wanted verdict = 1 << iota
	awaited
)

// verdictOn returns the verdict of a selection on an event type.
func (in *input) verdictOn(sel *selects, id posixtrace.EventID) verdict {
	if v, known := in.verdicts.Get(id); known {
		return v
	}
	name, v := in.src.Name(id), verdict(0)
	if sel.wants(id, name) {
		v |= wanted
	}
	if sel.await != nil && sel.await.Has(id, name) {
		v |= awaited
	}
	in.verdicts.Put(id, v)
	return v
}
