package summary

import (
	"cmp"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// part is a part of the chain that decided how long the run took.
type part struct {
	label string
	self  int64
	share float64
}

const (
	// mostSlow bounds how many of them an answer has: the slowest.
	mostSlow = 3
	// leastShare is the least share of all but the first.
	leastShare = .01
)

// slow says what decided how long the run took, and that the machine was busy.
func (a *answer) slow() {
	if len(a.tree.Nodes) > len(a.Runs()) {
		chain := slices.DeleteFunc(a.tree.Chain(), func(l analysis.Link) bool { return l.Self <= 0 })
		slices.SortStableFunc(chain, func(x, y analysis.Link) int { return cmp.Compare(y.Self, x.Self) })
		for i, l := range chain[:min(len(chain), mostSlow)] {
			n := &a.tree.Nodes[l.Node]
			p := part{label: a.slowLabel(l.Node), self: l.Self}
			if all := a.Base(int(n.Source)); all > 0 {
				p.share = min(float64(l.Self)/float64(all), 1)
			}
			if i > 0 && p.share < leastShare {
				break
			}
			a.parts = append(a.parts, p)
			after := ""
			if n.First != analysis.None {
				after = " itself"
			}
			a.add(keySlow, line{before: a.percent(l.Self, int(n.Source)) + duration(l.Self) + " ", subject: p.label, after: after})
		}
	}
	for _, l := range busy(a.Runs()) {
		a.add(keySlow, l)
	}
	a.none(keySlow, "not known: nothing inside of the command is recorded")
}

// slowLabel returns what a node is called. A command that a step started has the name of the step, which says
// where it is.
func (a *answer) slowLabel(i int32) string {
	n := &a.tree.Nodes[i]
	if p := n.Parent; n.Kind == analysis.Process && p != analysis.None && a.tree.IsStep(p) {
		return a.label(p)
	}
	return a.label(i)
}
