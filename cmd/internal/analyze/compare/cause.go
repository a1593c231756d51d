package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/cli"
)

// explained reports whether commands and spans other than the first command explain half of the
// change of the wall time.
func (c *comparison) explained() bool {
	explained := 0.
	for _, d := range c.Differences {
		if d.item != nil && !d.First && (c.toward(d) > 0) == (c.Wall.By() > 0) {
			explained += c.explains(d)
		}
	}
	return 2*explained >= math.Abs(float64(c.Wall.By()))
}

// explains returns how much of the change of the wall time a command or span explains: its effect
// or, if that is less, most of its own time. What is beside the chain may have kept a processor, or a
// place of make -j, from the chain.
func (c *comparison) explains(d *Difference) float64 {
	effect, own, by := float64(abs(d.Effect)), float64(abs(d.Time.By())), float64(abs(c.Wall.By()))
	if c.Wall.Beyond && (d.Time.By() > 0) == (c.Wall.By() > 0) {
		return max(effect, .7*min(own, by))
	}
	return effect
}

// rank puts the differences in the order of what they did to the wall time, and finds the cause.
func (c *comparison) rank() {
	c.share()
	if c.Busier != nil && c.worked() {
		c.also, c.Busier = c.Busier, nil
	}
	if c.Wall.Beyond && c.Busier == nil && !c.explained() {
		c.Parallel = c.lessAtATime()
	}
	if c.Wall.Beyond && c.Busier == nil && !c.Parallel {
		c.deal()
	}
	for _, d := range c.Differences {
		d.weight = c.weigh(d)
	}
	slices.SortStableFunc(c.Differences, func(a, b *Difference) int {
		return cmp.Or(c.first(b)-c.first(a), c.blank(b)-c.blank(a), cmp.Compare(b.weight, a.weight), cmp.Compare(abs(b.Time.By()), abs(a.Time.By())))
	})
	c.blame()
}

// share bounds the effects by the change of the wall time, if all have its direction.
func (c *comparison) share() {
	by := c.Wall.By()
	for _, d := range c.Differences {
		if d.Known && d.Effect != 0 && (d.Effect > 0) != (by > 0) {
			return
		}
	}
	for _, d := range c.Differences {
		d.Effect = bounded(d.Effect, by)
	}
}

// deal gives the rest of the change of the wall time, which no change in the chain explains, to what
// is beside the chain: that kept a processor, or a place of make -j, from the chain. What only one
// side has comes first. What changed gets a part only if nothing in the chain did.
func (c *comparison) deal() {
	rest, none := c.Wall.By(), true
	for _, d := range c.Differences {
		if d.item != nil {
			rest -= d.Effect
			none = none && (d.Effect == 0 || (d.Effect > 0) != (c.Wall.By() > 0))
		}
	}
	var list []*Difference
	for _, d := range c.Differences {
		if only := d.How == Added || d.How == Gone; d.item != nil && !d.First && (only || none) {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *Difference) int {
		return cmp.Or(onlyOne(b)-onlyOne(a), cmp.Compare(abs(b.Time.By()), abs(a.Time.By())))
	})
	for _, d := range list {
		if by := d.Time.By(); (rest > 0) == (c.Wall.By() > 0) && (by > 0) == (rest > 0) {
			part := bounded(rest, by-d.Effect)
			d.Effect, rest = d.Effect+part, rest-part
		}
	}
}

func onlyOne(d *Difference) int {
	if d.How == Added || d.How == Gone {
		return 1
	}
	return 0
}

// blank returns 0 for what has an effect on the wall time worth showing, else -1.
func (c *comparison) blank(d *Difference) int {
	if c.Shows(d) {
		return 0
	}
	return -1
}

// Shows reports whether the effect of a difference is known and more than hardly anything.
func (o *Options) Shows(d *Difference) bool {
	return d.Known && !o.Golden && d.Effect != 0 && abs(d.Effect) >= int64(o.Least)/10
}

// first puts failures before all else: what fails now inside of the first command, then what is new
// and fails, then the first command. If the runs no longer fail, what no longer does follows.
func (c *comparison) first(d *Difference) int {
	switch {
	case d.How == Fails && !d.First:
		return 5
	case d.NewFailure() && !d.First && d.How == Added:
		return 4
	case d.How == Fails:
		return 3
	case d.How == c.Result.Changed && !d.First:
		return 2
	case d.How == c.Result.Changed:
		return 1
	}
	return 0
}

// resultChanged returns Fails if the runs fail now, Succeeds if they no longer do, or "".
func (c *comparison) resultChanged() How {
	for _, m := range c.items[0].children {
		if m.places[0] >= 0 && c.isRoot(m) {
			return c.fails(m)
		}
	}
	return ""
}

func (c *comparison) isRoot(m *matched) bool {
	return m.kind == analysis.Process && c.Old[0].Command != nil && c.New[0].Command != nil
}

// waits are system calls in which a process waits for another one, whose work is the cause.
var waits = map[string]bool{"wait4": true, "waitid": true, "waitpid": true, "futex": true, "poll": true, "ppoll": true, "select": true, "pselect6": true,
	"epoll_wait": true, "epoll_pwait": true, "epoll_pwait2": true, "rt_sigsuspend": true, "rt_sigtimedwait": true, "pause": true, "read": true, "restart_syscall": true}

// weigh returns the effect of a difference, less if another one that explains the same time says
// more about it: the first command has the time of all that was not recorded.
func (c *comparison) weigh(d *Difference) float64 {
	w := float64(abs(d.Effect))
	switch {
	case d.What == SystemCall:
		w = .9 * float64(min(abs(d.Time.By()), abs(c.Wall.By())))
		if waits[d.Name] {
			w *= .4
		}
	case d.What == Pause:
		w *= .8
	case d.What == Program || d.What == Spans:
		w *= .95
	case d.First:
		w *= .5
	}
	return w
}

// blame finds what explains the change of the wall time, or, if that is within the thresholds, the
// first difference.
func (c *comparison) blame() {
	if len(c.Differences) > 0 && c.first(c.Differences[0]) > 0 {
		c.Cause = c.Differences[0]
		return
	}
	if !c.Wall.Beyond {
		if len(c.Differences) > 0 {
			c.Cause = c.Differences[0]
		}
		return
	}
	if c.Parallel {
		return
	}
	by := c.Wall.By()
	for _, d := range c.Differences {
		if d.weight >= float64(abs(by))/10 && (c.toward(d) > 0) == (by > 0) && (c.Cause == nil || d.weight > c.Cause.weight) {
			c.Cause = d
		}
	}
}

// toward returns in which direction a difference moved the wall time.
func (c *comparison) toward(d *Difference) int64 {
	if d.Known && d.Effect != 0 {
		return d.Effect
	}
	return d.Time.By()
}

// lessAtATime reports whether the wall time changed because more or fewer commands ran at a time.
func (c *comparison) lessAtATime() bool {
	old, new := c.Running[Old], c.Running[New]
	if old <= 0 || new <= 0 {
		return false
	}
	ratio := new / old
	if c.Wall.By() > 0 {
		return ratio < .9
	}
	return ratio > 1.1
}

// note says what makes the result doubtful.
func (c *comparison) note() {
	add := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	names := [2]string{"old", "new"}
	if c.also != nil {
		add("the runs waited for a processor in %.0f %% of the wall time instead of %.0f %%, too", 100*c.also.New, 100*c.also.Old)
	}
	if used, ok := c.othersUsed(); ok {
		add("other processes used %.0f %% of the machine's processors instead of %.0f %%", 100*used.New, 100*used.Old)
	}
	if c.Waited > 0 {
		add("%s took another time only because of the wait for a processor", cli.Plural(uint64(c.Waited), "command", "commands"))
	}
	if c.manyFiles > 0 {
		add("%s that only one side uses are left out", cli.Plural(uint64(c.manyFiles), "file", "files"))
	}
	for side, runs := range c.sides {
		var lost, ignored, short, doubted, empty uint64
		for _, r := range runs {
			lost, ignored, short, doubted = lost+r.Lost, ignored+r.Ignored, short+r.Short, doubted+r.Doubted
			if r.Events == 0 {
				empty++
			}
		}
		switch {
		case empty > 0 && len(runs) == 1:
			add("the %s log has no events", names[side])
		case empty > 0:
			add("%d of the %s logs have no events", empty, names[side])
		}
		if lost > 0 {
			add("%d events of the %s side were lost: the comparison lacks them", lost, names[side])
		}
		if ignored > 0 {
			add("%d commands and spans of the %s side are not measured: too many at a time", ignored, names[side])
		}
		if doubted > 0 {
			add("%d spans of the %s side are left out: others of their thread overlap them", doubted, names[side])
		}
		if short > 0 {
			add("%d commands and spans of the %s side are compared in totals only: too many", short, names[side])
		}
		if n := programs(runs); n > 1 {
			add("the runs of the %s side are of %d different programs", names[side], n)
		}
		other := c.sides[1-side]
		if c.has(runs, func(r *Run) bool { return r.forks }) && !c.has(other, func(r *Run) bool { return r.forks }) {
			add("only the %s side has commands that others started: was all recorded with ptrace-run -e proc?", names[side])
		}
		if c.has(runs, func(r *Run) bool { return len(r.calls) > 0 }) && !c.has(other, func(r *Run) bool { return len(r.calls) > 0 }) {
			add("only the %s side has system calls: they are not compared", names[side])
		}
		if c.has(runs, func(r *Run) bool { return r.files != nil }) && !c.has(other, func(r *Run) bool { return r.files != nil }) {
			add("only the %s side has accesses to files: they are not compared", names[side])
		}
		if c.has(runs, func(r *Run) bool { return r.Lines > 0 }) && !c.has(other, func(r *Run) bool { return r.Lines > 0 }) {
			add("only the %s side has captured output: pauses are not compared", names[side])
		}
		if c.has(runs, func(r *Run) bool { return r.usage != nil }) && !c.has(other, func(r *Run) bool { return r.usage != nil }) && !c.Golden {
			add("only the %s side has samples: memory and processor time are not compared", names[side])
		}
	}
}

// programs returns how many programs the first commands of runs are of.
func programs(runs []*Run) int {
	names := map[string]bool{}
	for _, r := range runs {
		if r.Command != nil {
			names[r.Command.Program()] = true
		}
	}
	return len(names)
}

func (c *comparison) has(runs []*Run, what func(*Run) bool) bool {
	return slices.ContainsFunc(runs, what)
}
