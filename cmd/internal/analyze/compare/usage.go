package compare

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/samples"
)

const (
	// leastMemory is the least difference of memory that counts.
	leastMemory = 4 << 20
	// leastSamples is in how many samples a program must be: one says little of how much it used at most.
	leastSamples = 2
)

// usage is what a run used, by its samples.
type usage struct {
	memory   int64 // the most at a time
	cpu      int64
	programs map[string]*samples.Use
}

// newUsage returns what a run used, nil if it has no samples.
func newUsage(r *Run, s *samples.Samples) *usage {
	if s == nil {
		return nil
	}
	u := &usage{memory: s.Peak.RSS, cpu: int64(s.Last.CPU), programs: map[string]*samples.Use{}}
	if c := r.Command; c != nil { // it knows of what was between two samples
		u.memory, u.cpu = max(u.memory, c.MaxRSS), max(u.cpu, sum(c.User, c.System))
	}
	for name, p := range s.Programs {
		name = mask(name, nil)
		all := u.programs[name]
		if all == nil {
			all = &samples.Use{}
			u.programs[name] = all
		}
		all.Samples, all.RSS, all.CPU = max(all.Samples, p.Samples), max(all.RSS, p.RSS), max(all.CPU+p.CPU, all.CPU)
	}
	return u
}

// sampled reports whether what the runs used is compared.
func (c *comparison) sampled() bool {
	return !c.Golden && c.both(func(r *Run) bool { return r.usage != nil })
}

// findUsage finds differences of the memory and the processor time of programs, and of the runs unless one program
// explains them. They have no effect on the wall time that is known.
func (c *comparison) findUsage() {
	if !c.sampled() {
		return
	}
	memory := func(u *samples.Use) int64 { return u.RSS }
	cpu := func(u *samples.Use) int64 { return int64(u.CPU) }
	c.ofPrograms(Memory, memory, func(u *usage) int64 { return u.memory })
	c.ofPrograms(Processor, cpu, func(u *usage) int64 { return u.cpu })
}

func (c *comparison) ofPrograms(what What, of func(*samples.Use) int64, total func(*usage) int64) {
	whole := c.used(what, "", total)
	explained := false
	for _, name := range c.sampledPrograms() {
		d := c.used(what, name, func(u *usage) int64 { return of(u.programs[name]) })
		if d == nil {
			continue
		}
		c.Differences = append(c.Differences, d)
		if whole != nil {
			by, all := d.used().By(), whole.used().By()
			explained = explained || (by > 0) == (all > 0) && 4*abs(by) >= 3*abs(all)
		}
	}
	if whole != nil && !explained {
		c.Differences = append(c.Differences, whole)
	}
}

// sampledPrograms returns the programs that enough samples of all runs have.
func (c *comparison) sampledPrograms() []string {
	names := slices.SortedFunc(maps.Keys(c.Old[0].usage.programs), cmp.Compare)
	return slices.DeleteFunc(names, func(name string) bool {
		return !c.both(func(r *Run) bool {
			p := r.usage.programs[name]
			return p != nil && p.Samples >= leastSamples
		})
	})
}

// used compares what the runs used, and returns nil if there is no difference.
func (c *comparison) used(what What, name string, of func(*usage) int64) *Difference {
	var values [2][]int64
	for side, runs := range c.sides {
		for _, r := range runs {
			values[side] = append(values[side], of(r.usage))
		}
	}
	d := &Difference{What: what, How: More, Name: name, Status: -1}
	change := &d.Time
	least := int64(c.Least)
	if what == Memory {
		change, least = &d.Bytes, leastMemory
	}
	*change = c.changed(values[Old], values[New], least)
	if !change.Beyond {
		return nil
	}
	if change.By() < 0 {
		d.How = Fewer
	}
	return d
}

// used returns the change of a difference of what was used.
func (d *Difference) used() *Change {
	if d.What == Memory {
		return &d.Bytes
	}
	return &d.Time
}
