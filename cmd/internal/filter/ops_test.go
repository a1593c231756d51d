package filter

import (
	"slices"
	"testing"

	"github.com/posixtrace/posixtrace/cmd/internal/read/selection"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestApplyFilterOp(t *testing.T) {
	types := []posixtrace.EventType{{ID: 33, Name: "open"}, {ID: 34, Name: "close"}, {ID: 35, Name: "closed"}}
	for _, c := range []struct {
		have []posixtrace.EventID
		how  posixtrace.FilterHow
		text string
		want []posixtrace.EventID
	}{
		{nil, posixtrace.FilterAdd, "close*", []posixtrace.EventID{34, 35}},
		{[]posixtrace.EventID{33, 34}, posixtrace.FilterSub, "close,none", []posixtrace.EventID{33}},
		{[]posixtrace.EventID{33}, posixtrace.FilterSet, "closed", []posixtrace.EventID{35}},
		{[]posixtrace.EventID{33}, posixtrace.FilterAdd, "open", []posixtrace.EventID{33}},
	} {
		members, err := selection.ParseEvents(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var set posixtrace.EventSet
		for _, id := range c.have {
			set.Add(id)
		}
		applyFilterOp(&set, members.Op(c.how), types)
		var got []posixtrace.EventID
		for _, e := range types {
			if set.Has(e.ID) {
				got = append(got, e.ID)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v of %s to %v: %v, want %v", c.how, c.text, c.have, got, c.want)
		}
	}
}
