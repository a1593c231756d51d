package report

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// gap is a time in which events were lost.
type gap struct {
	source   int32
	from, to int64
	open     bool // events follow no more, or RESUME is missing
}

// gaps are the times in which events were lost.
type gaps struct {
	list    []gap
	omitted uint64 // gaps that were united with another one
}

// maxGaps bounds the gaps. Beyond it, a gap is united with the one before.
const maxGaps = 4096

func (g *gaps) add(rec *posixtrace.Record, source int32) {
	last := -1
	for i := len(g.list) - 1; i >= 0 && i > len(g.list)-64; i-- {
		if g.list[i].source == source {
			last = i
			break
		}
	}
	if rec.ID == posixtrace.EventResume {
		if last >= 0 && g.list[last].open {
			g.list[last].to, g.list[last].open = max(rec.UnixNano, g.list[last].from), false
		}
		return
	}
	if last >= 0 && (g.list[last].open || len(g.list) >= maxGaps) {
		if !g.list[last].open {
			g.omitted++
		}
		g.list[last].open = true
		return
	}
	g.list = append(g.list, gap{source: source, from: rec.UnixNano, to: rec.UnixNano, open: true})
}

// finish ends the open gaps at the end of the log.
func (g *gaps) finish(last int64) {
	for i := range g.list {
		if x := &g.list[i]; x.open {
			x.to = max(last, x.from)
		}
	}
}
