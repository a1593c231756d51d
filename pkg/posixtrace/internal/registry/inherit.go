package registry

import (
	"time"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// maxDepth bounds the walk up the ancestors.
const maxDepth = 128

// ancestor is an ancestor that has a page.
type ancestor struct {
	page   *Page
	until  uint64 // streams attached later are not inherited
	direct bool   // the process is a child of it
}

// inherit returns the entries that a process without a page inherits, and its family. chain is the
// process and its ancestors. The package comment has the rule and its reasons.
func (d *Dir) inherit(s *sys.ProcStat, chain []sys.ProcStat) ([]Entry, uint64) {
	a, ok := d.nearest(s, chain)
	if !ok {
		return nil, randomID()
	}
	defer a.page.Close()
	var list []Entry
	for _, e := range a.page.Entries() {
		if e.Attached > a.until {
			continue
		}
		switch {
		case e.Flags&Inherit != 0 && e.Flags&(Self|Child) != 0:
			e.Flags = Self | Inherit
		case e.Flags&Child != 0 && a.direct:
			e.Flags = Self
		default:
			continue
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, randomID()
	}
	return list, a.page.Family()
}

// copyNames gives a process that inherits no stream, and so founds a family, the names of its
// parent: until it calls exec its map is a copy of the parent's (INH-13, INH-08). The names stay
// locked until the caller calls done, so that no sweep removes them before a page refers to them.
func (d *Dir) copyNames(chain []sys.ProcStat, family uint64) (done func(), err error) {
	done = func() {}
	for i, q := range chain {
		if i > 0 {
			if pg, v, err := d.mapPage(q.Proc()); err == nil && v == pageSound {
				from := pg.Family()
				pg.Close()
				return d.copyFamily(from, family)
			}
		}
		if !q.Forked {
			break
		}
	}
	return done, nil
}

func (d *Dir) copyFamily(from, to uint64) (done func(), err error) {
	done = func() {}
	old, err := d.Names(from)
	if err != nil {
		return done, err
	}
	defer old.Close()
	var b []byte
	for _, t := range old.t.order { // no other goroutine has old
		b = appendRecord(b, t.ID, t.ID.System(), t.Name)
	}
	if b == nil {
		return done, nil
	}
	n, err := d.Names(to)
	if err != nil {
		return done, err
	}
	if err := n.lockFile(0); err != nil {
		n.Close()
		return done, err
	}
	return func() {
		sys.Funlock(n.f)
		n.Close()
	}, n.write(b)
}

// nearest returns the nearest ancestor that has a page.
func (d *Dir) nearest(s *sys.ProcStat, chain []sys.ProcStat) (ancestor, bool) {
	for i, q := range chain[1:] {
		pg, v, err := d.mapPage(q.Proc())
		if err != nil || v != pageSound {
			continue
		}
		a := ancestor{page: pg, until: chain[i].Start, direct: i == 0}
		if leader, ok := d.leader(s, chain, &q); ok {
			pg.Close()
			return leader, true
		}
		return a, true
	}
	return d.leader(s, chain, nil)
}

// ancestors returns s and its living ancestors, nearest first. A process is never older than its
// parent: if it seems to be, the parent has died and its pid was reused, and the chain ends. That
// and the bound also end every cycle in a hostile /proc.
func ancestors(s *sys.ProcStat) []sys.ProcStat {
	chain := []sys.ProcStat{*s}
	for range maxDepth {
		child := &chain[len(chain)-1]
		if child.PPID <= 0 {
			break
		}
		parent, err := sys.Stat(child.PPID)
		if err != nil || parent.Start > child.Start || parent.PID == child.PID {
			break
		}
		chain = append(chain, parent)
	}
	return chain
}

// leader returns the page of the leader of the process group or the session of s, if the leader is
// not among the living ancestors and is nearer than above, which may be nil. The group comes first:
// it is part of the session, so its leader is the nearer one.
func (d *Dir) leader(s *sys.ProcStat, chain []sys.ProcStat, above *sys.ProcStat) (ancestor, bool) {
	if s.Group != s.Session {
		a, ok := d.leaderOf(s, s.Group, chain, above != nil && above.Group == s.Group, above)
		if ok && a.page.u32(offGroup).Load() != 0 {
			return a, true
		}
		if ok {
			a.page.Close()
		}
	}
	return d.leaderOf(s, s.Session, chain, above != nil && above.Session == s.Session, above)
}

// leaderOf finds the leader of the group or session id. member says that above belongs to it, too.
func (d *Dir) leaderOf(s *sys.ProcStat, id int, chain []sys.ProcStat, member bool, above *sys.ProcStat) (ancestor, bool) {
	if id <= 0 {
		return ancestor{}, false
	}
	for _, q := range chain {
		if q.PID == id {
			return ancestor{}, false
		}
	}
	var proc sys.Proc
	if st, err := sys.Stat(id); err == nil {
		// The kernel does not reuse the number while the group or session lasts; st is the
		// leader.
		proc = st.Proc()
	} else if proc = d.lastPage(uint32(id), s.Start); proc.PID == 0 {
		return ancestor{}, false
	}
	if proc.Start > s.Start {
		return ancestor{}, false
	}
	// Within one tick a member counts as started after its leader.
	if above != nil && (proc.Start < above.Start || proc.Start == above.Start && member) {
		return ancestor{}, false
	}
	pg, v, err := d.mapPage(proc)
	if err != nil || v != pageSound {
		return ancestor{}, false
	}
	return ancestor{page: pg, until: s.Start}, true
}

// lastPage returns the latest process of this pid that has a page and had started by tick.
func (d *Dir) lastPage(pid uint32, tick uint64) (last sys.Proc) {
	list, _ := d.Pages()
	for _, p := range list {
		if p.PID == pid && p.Start <= tick && p.Start >= last.Start {
			last = p
		}
	}
	return last
}

// attachTick returns a tick for a stream that is attached next, so that the stream reaches no process
// that exists already. It makes pages for those children of the process that started at tick since
// or later and have none. Descendants of the leader of a session, or of a group of its own, may
// also find the stream after they were reparented, and are not worth a search: there attachTick waits
// for a tick after all of them. For a stream with flag Child a group does not count: the stream is
// attached only for a moment, and the wait would be longer.
func (pg *Page) attachTick(since uint64, flags Flags) (tick uint64) {
	tick = sys.NowTicks()
	pid := int(pg.proc.PID)
	st, err := sys.Stat(pid)
	session := err == nil && st.Session == pid
	group := pg.u32(offGroup).Load() != 0
	if err == nil && !session && !group && flags&Child == 0 && st.Group == pid && onlyDescendants(pid) {
		group = true
		pg.u32(offGroup).Store(1)
	}
	if session || group {
		tick++
		for i := 0; sys.NowTicks() < tick && i < 20; i++ { // bounded, in case the clock stops
			time.Sleep(time.Millisecond)
		}
	}
	pids, err := sys.Children(int(pg.proc.PID))
	if err != nil {
		return tick // the process has ended
	}
	for _, pid := range pids {
		st, err := sys.Stat(pid)
		if err != nil || st.Dead() || st.Start < since {
			continue
		}
		child, err := pg.d.Page(st.Proc(), true)
		if err != nil {
			continue // the child has ended, or is not ours
		}
		child.Close()
	}
	return tick
}

// onlyDescendants reports whether all members of the process group that pid leads descend from it. A
// shell makes a pipeline a group led by the first command, whose other members do not descend from
// the leader. After they have started no more join.
func onlyDescendants(pid int) bool {
	if !sys.ShowsAll() {
		return false
	}
	parents := map[int]int{}
	var members []int
	err := sys.EachProcess(func(s *sys.ProcStat) {
		parents[s.PID] = s.PPID
		if s.Group == pid && !s.Dead() {
			members = append(members, s.PID)
		}
	})
	if err != nil {
		return false
	}
	for _, m := range members {
		for depth := 0; m != pid; depth++ {
			if m = parents[m]; m <= 0 || depth > maxDepth {
				return false
			}
		}
	}
	return true
}
