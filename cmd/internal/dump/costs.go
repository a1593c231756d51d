package dump

import (
	"github.com/posixtrace/posixtrace/cmd/internal/format/output"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// costs gives --annotate=cost what it needs beside the lines that are shown: the ends of commands,
// and the lines after the last one of --head.
type costs struct {
	form     *output.Annotate
	opt      *options
	ends     map[*input]posixtrace.Record // with --last: of the command of the latest line
	pids     map[*input]int               // the process of the latest line
	complete bool                         // --head: all is known
}

// newCosts returns nil for other forms.
func newCosts(form output.Form, opt *options) *costs {
	a, ok := form.(*output.Annotate)
	if !ok || opt.style != output.CostTime || opt.head == 0 {
		return nil
	}
	return &costs{form: a, opt: opt, ends: map[*input]posixtrace.Record{}, pids: map[*input]int{}}
}

// take takes an event that is not to be shown, and returns false for others.
func (c *costs) take(out *sink, ev *selected, shown int) bool {
	if !ev.wanted {
		return false
	}
	after := c.opt.head >= 0 && shown >= c.opt.head
	if c.opt.sel.exits && ev.rec.ID == posixtrace.EventProcExit {
		switch {
		case c.opt.last < 0:
			out.buf = c.form.Append(out.buf, ev.in.src, ev.rec)
		case ev.rec.PID == c.pids[ev.in]:
			c.ends[ev.in] = posixtrace.Record{EventInfo: ev.rec.EventInfo}
		}
		return true
	}
	if after {
		c.form.Follow(ev.in.src, ev.rec.UnixNano)
		c.complete = !c.form.Pending()
		return true
	}
	if c.opt.last >= 0 {
		c.pids[ev.in] = ev.rec.PID
	}
	return false
}

// finish passes the ends that came after the last lines.
func (c *costs) finish(out *sink) {
	if c == nil {
		return
	}
	for in, rec := range c.ends {
		out.buf = c.form.Append(out.buf, in.src, &rec)
	}
}
