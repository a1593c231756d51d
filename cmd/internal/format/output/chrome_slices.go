package output

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// slice is an open slice: a span, or a program that a process runs.
type slice struct {
	name     string // of the span: the type's name without its suffix
	title    string // the name that viewers show
	category string
	data     string // the data of its begin event
	at       int64
	key      spanKey
	in       *laneState
	doubtful bool // its end may belong to another slice
	failed   bool
}

// maxTitle bounds, in bytes, the part of a title that comes from the data of a span or the
// arguments of a program.
const maxTitle = 60

// handleSlice starts or ends the slices that an event concerns. It returns false if the
// event is to be drawn as a mark.
func (c *Chrome) handleSlice(src *Source, rec *posixtrace.Record, p *chromeProcess) bool {
	switch rec.ID {
	case posixtrace.EventProcFork:
		if d, err := posixtrace.DecodeFork(rec.Data); err == nil && d.Kind != posixtrace.ForkThread {
			if child := c.process(d.Child); child != nil && child.parent < 0 {
				child.parent = rec.PID
			}
		}
		return false
	case posixtrace.EventProcExec:
		return c.exec(src, rec, p)
	case posixtrace.EventProcExit:
		l := c.lanes[lane{rec.PID, rec.PID}]
		if l == nil || len(l.open) == 0 || l.open[0].category != "system" {
			return false
		}
		for len(l.open) > 1 {
			c.closeUnfinished(l)
		}
		l.open[0].failed = failure(rec)
		c.end(l.open[0], c.dataText(src, rec))
		return true
	case posixtrace.EventStart, posixtrace.EventStop:
		if p.name == "" && rec.PID != 0 {
			p.name = "controller"
		}
		return false
	}
	if !rec.ID.User() {
		return false
	}
	name := src.Name(rec.ID)
	if n, ok := strings.CutSuffix(name, ".begin"); ok {
		data := c.dataText(src, rec)
		return c.begin(&slice{name: n, title: title(n, data), category: "user", data: data, at: rec.UnixNano, key: spanKey{rec.PID, rec.Span}}, p, rec)
	}
	n, ok := strings.CutSuffix(name, ".end")
	if !ok {
		return false
	}
	var s *slice
	if rec.Span != 0 {
		if s = c.keyed[spanKey{rec.PID, rec.Span}]; s != nil && s.name != n {
			s = nil
		}
	} else {
		s = c.findUnkeyed(lane{rec.PID, rec.TID}, p, n)
	}
	if s == nil {
		c.mark(lane{rec.PID, rec.TID}, name, "user", 't', rec.UnixNano, c.dataText(src, rec), "no begin")
		return true
	}
	s.failed = analysis.OutcomeOf(rec).Failed
	c.end(s, c.dataText(src, rec))
	return true
}

// findUnkeyed returns the latest open span of a thread that has this name and no key, nil if
// there is none. It may have moved to another lane.
func (c *Chrome) findUnkeyed(of lane, p *chromeProcess, name string) *slice {
	is := func(s *slice) bool {
		return s.key.key == 0 && s.category == "user" && s.name == name
	}
	if l := c.lanes[of]; l != nil {
		for _, s := range slices.Backward(l.open) {
			if is(s) {
				return s
			}
		}
	}
	for _, l := range p.spans[:min(len(p.spans), maxTried)] {
		for _, s := range slices.Backward(l.open) {
			if is(s) && s.key.pid == of.tid { // key.pid of a span without a key is its thread
				return s
			}
		}
	}
	return nil
}

// begin opens a span's slice, if the limits allow it.
func (c *Chrome) begin(s *slice, p *chromeProcess, rec *posixtrace.Record) bool {
	if c.open >= maxOpenSlices {
		return false
	}
	var l *laneState
	if s.key.key == 0 {
		s.key.pid = rec.TID
		if l = c.lane(lane{rec.PID, rec.TID}); l == nil || len(l.open) >= maxDepth {
			return false
		}
		for _, o := range slices.Backward(l.open) {
			if o.name == s.name && o.category == "user" {
				o.doubtful, s.doubtful = true, true
				break
			}
		}
	} else {
		if c.keyed[s.key] != nil {
			return false // the key is in use
		}
		if around := c.keyed[spanKey{rec.PID, rec.Parent}]; rec.Parent != 0 && around != nil {
			if o := around.in.open; o[len(o)-1] == around && len(o) < maxDepth {
				l = around.in
			}
		}
		if l == nil {
			l = c.freeLane(p, s.at)
		}
		if l == nil {
			return false
		}
		c.keyed[s.key] = s
	}
	c.push(l, s)
	return true
}

// exec ends what the process ran until now and begins a slice for what it runs
// exec ends the slice of the program that the process has run and opens one for the
// program that it executes.
func (c *Chrome) exec(src *Source, rec *posixtrace.Record, p *chromeProcess) bool {
	name, text := "proc.exec", "proc.exec"
	if d, err := posixtrace.DecodeExec(rec.Data); err == nil {
		name = strings.Clone(path.Base(d.Path)) // without the arguments
		text = title(name, operand(d.Argv))
	}
	p.name = name
	l := c.lane(lane{rec.PID, rec.PID})
	if l == nil || c.open >= maxOpenSlices {
		return false
	}
	if len(l.open) > 0 && l.open[0].category == "system" {
		c.end(l.open[0], "") // the spans inside it continue
	}
	if len(l.open) > 0 {
		c.moveInner(l, 0, p)
	}
	c.push(l, &slice{name: name, title: text, category: "system", data: c.dataText(src, rec), at: rec.UnixNano})
	return true
}

// operand returns the argument that best describes what a program does: the first that
// looks like a file name, or else the first that is not an option.
func operand(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	first := ""
	for i, a := range argv[1:] {
		if a == "" || a[0] == '-' {
			continue
		}
		if argv[i] == "-c" {
			return a // the script of a shell
		}
		if _, err := strconv.ParseFloat(a, 64); err != nil && strings.Contains(path.Base(a), ".") && argv[i] != "-o" && argv[i] != "-MF" {
			return path.Base(a)
		}
		first = cmp.Or(first, a)
	}
	return first
}

// title returns a name followed by the beginning of more, up to a newline.
func title(name, more string) string {
	more, _, _ = strings.Cut(more, `\n`)
	if len(more) > maxTitle {
		n := maxTitle
		for n > 0 && !utf8.RuneStart(more[n]) {
			n--
		}
		more = more[:n] + "..."
	}
	if more == "" {
		return name
	}
	return name + " " + more
}

// end closes and writes a slice. The slices inside it that continue move to another lane.
func (c *Chrome) end(s *slice, data string) {
	l := s.in
	i := slices.Index(l.open, s)
	if i+1 < len(l.open) {
		if s.key.key == 0 && s.category == "user" {
			s.doubtful = true
			for _, o := range l.open[i+1:] {
				o.doubtful = o.doubtful || o.key.key == 0
			}
		}
		c.moveInner(l, i+1, c.process(l.pid))
	}
	l.open = l.open[:i]
	c.open--
	c.write(s, l, data, "")
}

// closeUnfinished closes the innermost slice of a lane, which has no end event. A program
// was still running; a span becomes a mark at its start.
func (c *Chrome) closeUnfinished(l *laneState) {
	s := l.open[len(l.open)-1]
	l.open = l.open[:len(l.open)-1]
	c.open--
	if s.category == "system" {
		c.write(s, l, "", "still running")
		return
	}
	delete(c.keyed, s.key)
	c.mark(l.lane, s.title, s.category, 't', s.at, s.data, "no end")
}
