package dump

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// verdict says what a selection does with an event type.
type verdict uint8

const (
	decided verdict = 1 << iota
	wanted
	awaited
)

// verdictOn returns the verdict of a selection on an event type.
func (in *input) verdictOn(sel *selects, id posixtrace.EventID) verdict {
	if int(id) < len(in.verdicts) && in.verdicts[id] != 0 {
		return in.verdicts[id]
	}
	name := in.src.Name(id)
	v := decided
	if sel.wants(id, name) {
		v |= wanted
	}
	if sel.await != nil && sel.await.Has(id, name) {
		v |= awaited
	}
	if int(id) < len(in.verdicts) {
		in.verdicts[id] = v
	}
	return v
}
