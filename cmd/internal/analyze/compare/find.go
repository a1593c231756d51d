package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// values returns a number of an item for each run of a side.
func (c *comparison) values(m *matched, side Side, f func(*stat) int64) []int64 {
	from, to := 0, len(c.sides[Old])
	if side == New {
		from, to = to, len(m.stats)
	}
	list := make([]int64, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, f(&m.stats[i]))
	}
	return list
}

func count(s *stat) int64  { return int64(s.count) }
func self(s *stat) int64   { return s.self }
func wall(s *stat) int64   { return s.wall }
func chain(s *stat) int64  { return s.chain }
func failed(s *stat) int64 { return int64(s.failed) }

// compared counts what is compared, and the times that may be found different.
func (c *comparison) compared() {
	large := func(old, new []int64) {
		c.Compared++
		if max(median(old), median(new)) >= int64(c.Least) {
			c.tests++
		}
	}
	for _, m := range c.items[1:] {
		large(c.values(m, Old, self), c.values(m, New, self))
	}
	for name := range c.callNames() {
		large(c.callTimes(name, Old), c.callTimes(name, New))
	}
	c.tests++ // the run
	if c.sampled() {
		n := 2 * (1 + len(c.sampledPrograms()))
		c.Compared += n
		c.tests += n
	}
}

// find finds the differences.
func (c *comparison) find() {
	c.whole()
	for _, m := range c.items[1:] {
		c.item(m)
	}
	if c.Golden {
		c.findHappened()
		c.findFiles()
		return
	}
	c.findTotals()
	c.findCalls()
	c.findPauses()
	c.findUsage()
	c.findFiles()
	for _, d := range c.Differences {
		d.Overlap = d.Time.Old > c.Wall.Old || d.Time.New > c.Wall.New
	}
}

// whole compares the runs themselves.
func (c *comparison) whole() {
	var walls, running [2][]int64
	for side, runs := range c.sides {
		for _, r := range runs {
			walls[side] = append(walls[side], r.Wall)
			running[side] = append(running[side], int64(1000*r.Running()))
		}
		c.Running[side] = float64(median(running[side])) / 1000
	}
	c.Wall = c.times(walls[Old], walls[New])
	c.see(&c.Wall, walls[Old], walls[New])
	if c.Golden {
		c.Wall.Beyond = false
	}
	c.findBusier()
}

// item finds how an item differs.
func (c *comparison) item(m *matched) {
	d := &Difference{item: m, kind: m.kind, What: whatOf(m.label), Name: c.text(m.label), In: c.around(m), Status: -1, First: m.parent.label == nil && m.kind == analysis.Process}
	if m.other != nil {
		d.Was, d.Name = d.Name, c.text(m.other)
	}
	old, new := c.values(m, Old, count), c.values(m, New, count)
	d.Count = Change{Old: median(old), New: median(new)}
	switch {
	case slices.Max(old) == 0 && slices.Min(new) > 0:
		c.onlyOne(d, Added)
		return
	case slices.Max(new) == 0 && slices.Min(old) > 0:
		c.onlyOne(d, Gone)
		return
	case slices.Max(old) == 0 || slices.Max(new) == 0:
		return // some runs of one side have it
	}
	if c.failure(d) {
		return
	}
	if c.Golden {
		c.otherwise(d, old, new)
		return
	}
	t := c.times(c.values(m, Old, self), c.values(m, New, self))
	if !t.Beyond {
		return
	}
	if c.waitedFor(m, &t) {
		c.Waited++
		return
	}
	d.Time, d.Whole, d.Known, d.Effect = t, c.wholeTime(m), true, bounded(c.effect(m, chain), t.By())
	d.How = Slower
	if t.By() < 0 {
		d.How = Faster
	}
	if counts(old, new) {
		d.How = More
		if d.Count.By() < 0 {
			d.How = Fewer
		}
	}
	c.Differences = append(c.Differences, d)
}

// wholeTime returns the time of an item with what is inside.
func (c *comparison) wholeTime(m *matched) Change {
	return Change{Old: median(c.values(m, Old, wall)), New: median(c.values(m, New, wall))}
}

// effect returns what an item did to the wall time.
func (c *comparison) effect(m *matched, f func(*stat) int64) int64 {
	return median(c.values(m, New, f)) - median(c.values(m, Old, f))
}

// bounded returns an effect that is not larger than the difference it comes from: what moved into the
// chain took its time before, too.
func bounded(effect, by int64) int64 {
	if by < 0 {
		return min(max(effect, by), 0)
	}
	return max(min(effect, by), 0)
}

// onlyOne adds an item that only one side has, unless what is around it says so.
func (c *comparison) onlyOne(d *Difference, how How) {
	d.How = how
	m := d.item
	for p := m.parent; p.label != nil; p = p.parent {
		old, new := c.values(p, Old, count), c.values(p, New, count)
		if how == Added && slices.Max(old) == 0 || how == Gone && slices.Max(new) == 0 {
			return
		}
	}
	whole := c.whollyOf(m)
	d.Time = Change{Old: median(c.values(whole, Old, wall)), New: median(c.values(whole, New, wall)),
		OldSpread: spread(c.values(whole, Old, wall)), NewSpread: spread(c.values(whole, New, wall)), Beyond: true}
	d.Known, d.Effect = true, bounded(c.effect(whole, chain), d.Time.By())
	for i := range m.stats {
		d.Inside = max(d.Inside, whole.stats[i].inside)
		if s := &m.stats[i]; s.failed > 0 && how == Added {
			d.Status, d.Signal, d.Error, d.Limit = int(s.status), int(s.signal), s.error, s.limit
		}
	}
	c.Differences = append(c.Differences, d)
}

// whollyOf returns an item with all inside of it, without what is elsewhere in other runs.
func (c *comparison) whollyOf(m *matched) *matched {
	w := &matched{stats: slices.Clone(m.stats)}
	var self []int64
	for i := range w.stats {
		w.stats[i].inside = 0
		self = append(self, w.stats[i].self)
	}
	todo := slices.Clone(m.children)
	for len(todo) > 0 {
		k := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], k.children...)
		for i := range k.stats {
			s := &w.stats[i]
			s.inside += k.stats[i].count
			s.chain = sum(s.chain, k.stats[i].chain)
			self[i] = sum(self[i], k.stats[i].self)
		}
	}
	for i := range w.stats {
		if w.stats[i].inside != m.stats[i].inside {
			w.stats[i].wall = self[i] // not all is inside
		}
	}
	return w
}

// failure adds an item that fails now, or no longer. Of a command that fails because one inside
// does, the one inside is the difference.
func (c *comparison) failure(d *Difference) bool {
	how := c.fails(d.item)
	if how == "" {
		return false
	}
	for _, k := range d.item.children {
		if inner := c.fails(k); inner == how {
			if !d.First {
				return false
			}
		}
	}
	d.How = how
	d.Ended = c.ended(d.item, how)
	for i, s := range d.item.stats {
		if s.failed > 0 && (how == Fails) == (i >= len(c.sides[Old])) {
			d.Status, d.Signal, d.Error, d.Limit = int(s.status), int(s.signal), s.error, s.limit
		}
	}
	d.Time, d.Whole = c.times(c.values(d.item, Old, self), c.values(d.item, New, self)), c.wholeTime(d.item)
	d.Known, d.Effect = true, bounded(c.effect(d.item, chain), d.Time.By())
	c.Differences = append(c.Differences, d)
	return true
}

// ended reports whether an item ended with status 0 in all runs of the side in which it did not fail.
func (c *comparison) ended(m *matched, how How) bool {
	side := Old
	if how == Succeeds {
		side = New
	}
	return slices.Min(c.values(m, side, func(s *stat) int64 { return int64(s.ended) - int64(s.count) })) == 0
}

// fails returns Fails, Succeeds or "".
func (c *comparison) fails(m *matched) How {
	old, new := c.values(m, Old, failed), c.values(m, New, failed)
	switch {
	case slices.Max(old) == 0 && slices.Min(new) > 0:
		return Fails
	case slices.Max(new) == 0 && slices.Min(old) > 0:
		return Succeeds
	}
	return ""
}

// otherwise adds what differs of an item without regard to times.
func (c *comparison) otherwise(d *Difference, old, new []int64) {
	switch m := d.item; {
	case counts(old, new):
		d.How = More
		if d.Count.By() < 0 {
			d.How = Fewer
		}
	case m.other != nil && !m.forked: // a fork has the arguments of its parent
		d.How = Changed
		if d.Name == d.Was {
			was, now := apart(m.label.whole(), m.other.whole())
			d.Was, d.Name = m.label.name+" "+was, m.other.name+" "+now
		}
	case c.movedIn(m):
		d.How = Moved
	default:
		return
	}
	c.Differences = append(c.Differences, d)
}

// findTotals finds programs and names of spans whose time differs beyond the thresholds, although
// no single item, or only a few of them do.
func (c *comparison) findTotals() {
	runs := slices.Concat(c.sides[Old], c.sides[New])
	totals := map[totalKey][]stat{}
	for i, r := range runs {
		for k, t := range r.totals {
			if totals[k] == nil {
				totals[k] = make([]stat, len(runs))
			}
			totals[k][i] = *t
		}
	}
	items := map[totalKey]int{}
	for _, m := range c.items[1:] {
		items[totalKey{m.kind, m.name}]++
	}
	found := c.foundIn()
	for _, k := range slices.SortedFunc(maps.Keys(totals), func(a, b totalKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	}) {
		m := &matched{stats: totals[k]}
		old, new := c.values(m, Old, count), c.values(m, New, count)
		if items[k] < 2 && !c.short() || k.name == stepName || slices.Max(old) == 0 || slices.Max(new) == 0 {
			continue
		}
		t := c.times(c.values(m, Old, self), c.values(m, New, self))
		if k.kind == analysis.Process && (!c.Wall.Beyond || (t.By() > 0) != (c.Wall.By() > 0)) {
			continue // commands that run in parallel slow each other down
		}
		if t.Beyond && c.waitedFor(m, &t) {
			continue
		}
		if !t.Beyond || 2*abs(found[k]) > abs(t.By()) && (found[k] > 0) == (t.By() > 0) {
			continue
		}
		d := &Difference{What: Program, How: Slower, Name: k.name, Time: t, Whole: c.wholeTime(m), Known: true, Effect: bounded(c.effect(m, chain), t.By()), kind: k.kind, Status: -1,
			Count: Change{Old: median(old), New: median(new)}}
		if k.kind == analysis.SpanKind {
			d.What = Spans
		}
		if t.By() < 0 {
			d.How = Faster
		}
		c.Differences = append(c.Differences, d)
	}
}

// foundIn returns which part of the difference of each total the differences of single items have.
func (c *comparison) foundIn() map[totalKey]int64 {
	found, inside := map[totalKey]int64{}, map[*matched]bool{}
	for _, d := range c.Differences {
		if d.item != nil {
			inside[d.item] = d.How == Added || d.How == Gone
		}
	}
	for _, m := range c.items[1:] {
		_, itself := inside[m]
		if inside[m.parent] {
			inside[m] = true
		}
		if itself || inside[m] {
			found[totalKey{m.kind, m.name}] += c.effect(m, self)
		}
	}
	return found
}

func abs(n int64) int64 {
	if n < 0 {
		return max(-n, 0)
	}
	return n
}

func (c *comparison) callNames() map[string]bool {
	names := map[string]bool{}
	for _, runs := range c.sides {
		for _, r := range runs {
			for name := range r.calls {
				names[name] = true
			}
		}
	}
	return names
}

// of returns a number of the system calls of one name for each run of a side.
func (c *comparison) ofCalls(name string, side Side, f func(*call) int64) []int64 {
	var list []int64
	for _, r := range c.sides[side] {
		n := int64(0)
		if k := r.calls[name]; k != nil {
			n = f(k)
		}
		list = append(list, n)
	}
	return list
}

func (c *comparison) callTimes(name string, side Side) []int64 {
	return c.ofCalls(name, side, func(k *call) int64 { return k.total })
}

// findCalls finds system calls that take another time in total.
func (c *comparison) findCalls() {
	if !c.both(func(r *Run) bool { return len(r.calls) > 0 }) {
		return
	}
	calls := func(k *call) int64 { return int64(k.calls) }
	for _, name := range slices.Sorted(maps.Keys(c.callNames())) {
		t := c.times(c.callTimes(name, Old), c.callTimes(name, New))
		if !t.Beyond || c.Busier != nil && (t.By() > 0) == (c.Wall.By() > 0) {
			continue // the callers may have waited for a processor
		}
		old, new := c.ofCalls(name, Old, calls), c.ofCalls(name, New, calls)
		d := &Difference{What: SystemCall, How: Slower, Name: name, Time: t, Count: Change{Old: median(old), New: median(new)}, Status: -1}
		switch {
		case slices.Max(old) == 0:
			d.How = Added
		case slices.Max(new) == 0:
			d.How = Gone
		case t.By() < 0:
			d.How = Faster
		}
		c.Differences = append(c.Differences, d)
	}
}

// both reports whether all runs of both sides have something.
func (c *comparison) both(has func(*Run) bool) bool {
	for _, runs := range c.sides {
		for _, r := range runs {
			if !has(r) {
				return false
			}
		}
	}
	return true
}

// findPauses finds pauses in the output after a line that both sides have. A command of several
// processes prints its lines in any order: a pause counts only if the run changed as it did, and no
// command or span explains that.
func (c *comparison) findPauses() {
	if !c.Wall.Beyond || !c.both(func(r *Run) bool { return r.Lines > 1 }) || c.explained() || c.Busier != nil || c.lessAtATime() {
		return
	}
	keys := map[string]bool{}
	for _, runs := range c.sides {
		for _, r := range runs {
			for key := range r.pauses {
				keys[key] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		var times [2][]int64
		for side, runs := range c.sides {
			for _, r := range runs {
				times[side] = append(times[side], r.pauses[key])
			}
		}
		t := c.times(times[Old], times[New])
		if !t.Beyond || (t.By() > 0) != (c.Wall.By() > 0) {
			continue
		}
		d := &Difference{What: Pause, How: Slower, Name: key, Time: t, Effect: t.By(), Known: true, Status: -1, Start: key == atStart, Empty: key == atEmpty}
		if d.Start || d.Empty {
			d.Name = ""
		}
		if t.By() < 0 {
			d.How = Faster
		}
		c.Differences = append(c.Differences, d)
	}
}

// short reports whether some intervals are in the totals only.
func (c *comparison) short() bool {
	return !c.both(func(r *Run) bool { return r.Short == 0 })
}
