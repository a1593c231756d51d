package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/summary"
	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
)

// link is a span of the chain that decided how long the run took.
type link struct {
	span     int
	from, to int64
	self     int64 // the part in which nothing inside of it decided
}

const (
	// mostLinks bounds the chain, mostParts the parts of it that the timeline shows, and shownLinks
	// those that are text: the longest.
	mostLinks  = 1 << 17
	mostParts  = 2000
	shownLinks = 40
)

// link finds the spans of the chain.
func (r *Run) link() {
	type place struct {
		kind             analysis.Kind
		source, pid, tid int32
		start, end       int64
	}
	index := make(map[place]int, len(r.spans))
	for i := range r.spans {
		x := &r.spans[i]
		index[place{x.kind, x.source, x.pid, x.tid, x.start, x.end}] = i
	}
	for _, l := range r.tree.Chain() {
		n := &r.tree.Nodes[l.Node]
		start := max(n.Start, r.from)
		i, ok := index[place{n.Kind, n.Source, n.PID, n.TID, start, max(n.End, start)}]
		if !ok || len(r.chain) >= mostLinks {
			continue // it has become one with others
		}
		r.spans[i].flags |= onChain
		r.chain = append(r.chain, link{span: i, from: max(l.Start, r.from), to: l.End, self: max(l.Self, 0)})
	}
}

// parts returns the chain as parts of the time that do not overlap, each with the innermost span.
func (r *Run) parts() (list []link) {
	var open []link
	at := r.from
	until := func(t int64) {
		for len(open) > 0 {
			top := &open[len(open)-1]
			if to := min(top.to, t); at < to {
				list = append(list, link{span: top.span, from: at, to: to})
				at = to
			}
			if top.to > t {
				break
			}
			open = open[:len(open)-1]
		}
		at = max(at, t)
	}
	for _, l := range r.chain {
		until(l.from)
		open = append(open, l)
	}
	until(r.to)
	return longest(list, mostParts, func(l link) int64 { return since(l.to, l.from) })
}

// longest returns the n longest links, in order of time.
func longest(list []link, n int, length func(l link) int64) []link {
	if len(list) <= n {
		return list
	}
	slices.SortFunc(list, func(x, y link) int { return cmp.Or(cmp.Compare(length(y), length(x)), cmp.Compare(x.from, y.from)) })
	list = list[:n]
	slices.SortStableFunc(list, func(x, y link) int { return cmp.Compare(x.from, y.from) })
	return list
}

// appendChainHTML appends the chain as a list: the parts that took longest, in order of time.
func (r *Run) appendChainHTML(b []byte, number int) []byte {
	list := slices.DeleteFunc(slices.Clone(r.chain), func(l link) bool { return l.self == 0 })
	all := len(list)
	list = longest(list, shownLinks, func(l link) int64 { return l.self })
	if len(list) < 2 {
		return b // it would say what the verdict says
	}
	b = append(b, "<h2>What decided the wall time"...)
	if r.Label != "" {
		b = escape.AppendHTML(append(b, ": "...), r.Label)
	}
	b = append(b, "</h2>\n<ol class=\"chain\">\n"...)
	time := float64(max(since(r.to, r.from), 1))
	for _, l := range list {
		share := float64(l.self) / time
		b = strconv.AppendInt(append(b, `<li data-run="`...), int64(number), 10)
		b = strconv.AppendInt(append(b, `" data-span="`...), int64(l.span), 10)
		b = strconv.AppendFloat(append(b, `"><span class="share" data-share="`...), share, 'f', 4, 64)
		b = append(append(append(b, `">`...), output.Percent(share)...), "</span> <code>"...)
		b = escape.AppendHTML(b, r.title(&r.spans[l.span]))
		b = append(append(append(b, `</code> <span class="time">`...), summary.Duration(l.self)...), "</span></li>\n"...)
	}
	b = append(b, "</ol>\n"...)
	if left := all - len(list); left > 0 {
		b = append(strconv.AppendInt(append(b, `<p class="note">`...), int64(left), 10), " shorter parts are left out of this list.</p>\n"...)
	}
	return b
}

// title returns the label of a span, with the first line of its data.
func (r *Run) title(x *span) string {
	name := r.strings.list[x.name]
	data, _, _ := strings.Cut(r.strings.list[x.data], "\n")
	if data = cut(data, widestData); x.kind != analysis.SpanKind || strings.Contains(name, data) {
		return name
	}
	return name + " " + data
}

// widestData bounds the data in a title.
const widestData = 100
