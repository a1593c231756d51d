package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/event"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// Steps of a process.

func (a *alike) spawn(i int) {
	a.t.Helper()
	if len(a.alive()) == 6 || len(a.procs) == 14 {
		return
	}
	a.spawnAs(i, []string{"child", "child", "group", "session"}[a.rng.IntN(4)])
}

// spawnAs has process i start another one, in the session and group of its own or in a new one.
func (a *alike) spawnAs(i int, how string) {
	a.t.Helper()
	a.timed(fmt.Sprintf("%d spawn %s", i, how), func(w *world, prog string) string { return w.spawn(i, prog, how) })
	a.procs = append(a.procs, &modelProc{})
}

func (a *alike) end(i int) {
	a.t.Helper()
	if len(a.alive()) == 1 {
		return
	}
	a.both(fmt.Sprintf("end %d", i), func(w *world, _ string) string { w.end(i); return "" })
	a.procs[i].ended = true
	a.unlocked(i)
}

func (a *alike) exec(i int) {
	a.t.Helper()
	p := a.procs[i]
	a.both(fmt.Sprintf("exec %d", i), func(w *world, prog string) string { return w.exec(i, prog) })
	p.opened, p.page, p.removed = false, p.page && !p.removed, false
	a.unlocked(i)
}

// unlocked notes that process i has lost its locks.
func (a *alike) unlocked(i int) {
	if a.locker == a.procs[i] {
		a.locker = nil
	}
}

// open has process i open its page, or make a new one if that was removed.
func (a *alike) open(i int) {
	a.t.Helper()
	a.ask(i, "page")
	a.procs[i].opened, a.procs[i].page, a.procs[i].removed = true, true, false
}

// ready has process i open its page if it has not.
func (a *alike) ready(i int) *modelProc {
	a.t.Helper()
	if !a.procs[i].opened {
		a.open(i)
	}
	return a.procs[i]
}

func (a *alike) attach(i int) {
	a.t.Helper()
	a.ready(i)
	id, flags := a.stream(), a.rng.IntN(8)
	a.timed(fmt.Sprintf("%d attach %d %d", i, id, flags), func(w *world, _ string) string { return w.step(i, "attach %d %d", id, flags) })
}

func (a *alike) detach(i int) {
	a.t.Helper()
	a.ready(i)
	a.ask(i, "detach %d", a.stream())
}

func (a *alike) entries(i int)   { a.ready(i); a.ask(i, "entries") }
func (a *alike) tidy(i int)      { a.ready(i); a.ask(i, "tidy") }
func (a *alike) setFamily(i int) { a.ready(i); a.ask(i, "family %d", a.rng.IntN(4)) }
func (a *alike) have(i int) {
	a.ready(i)
	a.ask(i, "have %d", int(event.FirstUser)+a.rng.IntN(20))
}

// lock has process i take the lock of the directory, or give it back.
func (a *alike) lock(i int) {
	a.t.Helper()
	p := a.ready(i)
	if a.locker == p {
		a.ask(i, "unlock")
		a.locker = nil
		return
	}
	a.ask(i, "lock")
	if a.locker == nil {
		a.locker = p
	}
}

// stream returns the number of a stream, which need not exist.
func (a *alike) stream() uint64 { return 1 + a.rng.Uint64N(5) }

// randomName returns a name that other steps are likely to have, too.
func (a *alike) randomName() string {
	switch a.rng.IntN(20) {
	case 0:
		return "posix_trace_start"
	case 1:
		return strings.Repeat("long", 60) + fmt.Sprint(a.rng.IntN(3))
	}
	return fmt.Sprintf("%.*s%d", a.rng.IntN(9), "name-of-event", a.rng.IntN(12))
}

func (a *alike) name(i int) {
	a.t.Helper()
	a.ready(i)
	a.ask(i, "name %s %d", a.randomName(), 5+a.rng.IntN(10))
}

// Steps of the test, which acts on processes as a controller does.

func (a *alike) makePage(i int) {
	a.t.Helper()
	p := a.procs[i]
	if p.removed {
		return
	}
	a.both(fmt.Sprintf("make page %d", i), func(w *world, _ string) string {
		pg, err := w.d.Page(w.procs[i].proc, true)
		if err == nil {
			pg.Close()
		}
		w.sweep()
		return errnoOf(err)
	})
	p.page = true
}

func (a *alike) attachTo(i int) {
	a.t.Helper()
	// Attach makes the pages that children lack. It finds a removed page only of a process in Go, which
	// keeps it open.
	if a.locker != nil || slices.ContainsFunc(a.procs, func(p *modelProc) bool { return p.removed && !p.ended }) {
		return
	}
	a.attachStream(i, a.stream(), Flags(a.rng.IntN(8)))
}

func (a *alike) attachStream(i int, id uint64, flags Flags) {
	a.t.Helper()
	a.timed(fmt.Sprintf("attach %d to %d with %d", id, i, flags), func(w *world, _ string) (answer string) {
		locked(w.t, w.d, func() {
			pg, err := w.d.Page(w.procs[i].proc, true)
			if err == nil {
				err = pg.Attach(id, flags)
				pg.Close()
			}
			answer = errnoOf(err)
		})
		w.sweep()
		return answer
	})
	a.procs[i].page = true
}

func (a *alike) detachAll(int) {
	a.t.Helper()
	if a.locker != nil {
		return
	}
	id := a.stream()
	a.both(fmt.Sprintf("detach %d from all", id), func(w *world, _ string) (answer string) {
		locked(w.t, w.d, func() { answer = errnoOf(w.d.DetachAll(id)) })
		return answer
	})
}

func (a *alike) sweep(int) {
	a.t.Helper()
	if a.locker != nil {
		return
	}
	a.both("sweep", func(w *world, _ string) (answer string) {
		there := map[uint64]bool{}
		ids, _ := w.d.StreamIDs()
		for _, id := range ids {
			there[id] = true
		}
		families, _ := w.d.families(there)
		locked(w.t, w.d, func() { answer = errnoOf(w.d.Sweep(func(id uint64) bool { return there[id] }, families)) })
		return answer
	})
}

func (a *alike) systemName(i int) {
	a.t.Helper()
	if !a.procs[i].page || a.procs[i].removed {
		return
	}
	name := a.randomName()
	a.both(fmt.Sprintf("system name %s of %d", name, i), func(w *world, _ string) string {
		n, err := w.d.Names(w.family(i))
		if err != nil {
			return errnoOf(err)
		}
		defer n.Close()
		ids, err := n.OpenSystem([]string{name})
		return fmt.Sprint(ids, errnoOf(err))
	})
}

func (a *alike) attachedAtStart(i int) {
	a.t.Helper()
	if a.procs[i].page && !a.procs[i].removed {
		a.attachedAt(i, a.rng.IntN(len(a.procs)))
	}
}

// attachedAt has the streams of process i attached in the tick in which process j started.
func (a *alike) attachedAt(i, j int) {
	a.t.Helper()
	a.both(fmt.Sprintf("the streams of %d were attached when %d started", i, j), func(w *world, _ string) string {
		pg, _, err := w.d.mapPage(w.procs[i].proc)
		tracetest.OK(w.t, "map", err)
		defer pg.Close()
		for k := range MaxStreams {
			if e := pg.get(k); e.Stream != 0 {
				e.Attached = w.procs[j].proc.Start
				pg.put(k, e)
			}
		}
		return ""
	})
}

// Steps that remove or change files, as an administrator, a process that was killed, or an earlier one.

func (a *alike) removePage(i int) {
	a.t.Helper()
	p := a.procs[i]
	if !p.opened || p.removed {
		return
	}
	a.readNames()
	a.both(fmt.Sprintf("remove page %d", i), func(w *world, _ string) string {
		return errnoOf(sys.UnlinkAt(w.d.f, pageName(w.procs[i].proc)))
	})
	p.removed = true
}

// readNames has the processes read the names of their families: in Go a process keeps its file open, so that
// it can read the names of others when the file has been removed.
func (a *alike) readNames() {
	a.t.Helper()
	for i, p := range a.procs {
		if p.opened && !p.ended {
			a.ask(i, "have %d", event.FirstDynamic-1)
		}
	}
}

// changeNames does something to the file of names of process i.
func (a *alike) changeNames(i int, what string, f func(path string) error) {
	a.t.Helper()
	if !a.procs[i].page || a.procs[i].removed {
		return
	}
	a.readNames()
	a.both(fmt.Sprintf("%s names of %d", what, i), func(w *world, _ string) string {
		return errnoOf(f(filepath.Join(w.d.path, namesName(w.family(i)))))
	})
}

func (a *alike) removeNames(i int) { a.t.Helper(); a.changeNames(i, "remove", os.Remove) }

func (a *alike) tearNames(i int) {
	a.t.Helper()
	a.tear(i, a.rng.IntN(5), a.rng.IntN(1000))
}

func (a *alike) tear(i, how, n int) {
	a.t.Helper()
	a.changeNames(i, []string{"add zeros to", "cut", "add a record to", "flip a bit of", "replace"}[how], func(path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch how {
		case 0:
			b = append(b, make([]byte, n%64)...)
		case 1:
			b = b[:max(0, len(b)-n%64)]
		case 2:
			b = appendRecord(b, event.ID(int(event.FirstUser)+n%16), n%2 == 0, "other")
		case 3:
			if len(b) > 0 {
				b[n%len(b)] ^= 1 << (n % 8)
			}
		case 4:
			b = appendRecord(nil, event.FirstUser, false, fmt.Sprint("other", n%100))
		}
		return os.WriteFile(path, b, 0o600)
	})
}

// holdNames takes the lock of the names of process i, or gives it back.
func (a *alike) holdNames(i int) {
	a.t.Helper()
	if !a.procs[i].page || a.procs[i].removed {
		return
	}
	a.both(fmt.Sprintf("hold names of %d", i), func(w *world, _ string) string {
		if w.held != nil {
			w.held.Close()
			w.held = nil
			return "released"
		}
		f, err := w.d.openOwn(namesName(w.family(i)), os.O_RDWR)
		if err == nil {
			w.held, err = f, sys.Flock(f, true, false)
		}
		return errnoOf(err)
	})
}

// nowhere is a number that no process has.
const nowhere = 1 << 21

func (a *alike) unfinished(int) {
	a.t.Helper()
	n := a.rng.IntN(1000)
	a.both(fmt.Sprintf("unfinished file %d", n), func(w *world, _ string) string {
		name := tempName(sys.Proc{PID: nowhere, Start: uint64(n)}, []uint64{0, 1, sys.PIDNamespace()}[n%3], uint64(n)+1)
		w.write(name, nil)
		if n%2 == 0 {
			old := time.Now().Add(-2 * tempLife)
			tracetest.OK(w.t, "chtimes", os.Chtimes(filepath.Join(w.d.path, name), old, old))
		}
		return ""
	})
}

func (a *alike) deadPage(int) {
	a.t.Helper()
	id, n := a.stream(), a.rng.IntN(1000)
	a.both(fmt.Sprintf("page of a dead process %d", n), func(w *world, _ string) string {
		p := sys.Proc{PID: nowhere, Start: uint64(n)}
		if !w.d.has(pageName(p)) {
			fakePage(w.t, w.d, p, id, Flags(n%8))
		}
		pg, _, err := w.d.mapPage(p)
		tracetest.OK(w.t, "map", err)
		pg.u64(offFamily).Store(oldFamily(n))
		pg.Close()
		return ""
	})
}

// oldFamily returns one of some families of processes that are gone.
func oldFamily(n int) uint64 { return 100 + uint64(n%8) }

func (a *alike) oldNames(int) { a.t.Helper(); a.leaveNames(a.rng.IntN(8)) }

func (a *alike) leaveNames(n int) {
	a.t.Helper()
	a.both(fmt.Sprintf("names of family %d", oldFamily(n)), func(w *world, _ string) string {
		w.write(namesName(oldFamily(n)), appendRecord(nil, event.FirstUser, false, "old"))
		return ""
	})
}

func (a *alike) newStream(i int) {
	a.t.Helper()
	if !a.procs[i].page || a.procs[i].removed {
		return
	}
	a.makeStream(i, a.stream(), a.rng.IntN(36))
}

// makeStream makes a stream of the family of process i, as a rule, with two patterns.
func (a *alike) makeStream(i int, id uint64, n int) {
	a.t.Helper()
	globs := []string{"*", "n*", "*1", "?ame*", "*-*", "*0"}
	first := stream.Pattern{Reject: n%2 == 0, Glob: globs[n%6]}
	second := stream.Pattern{Reject: n%3 == 0, Glob: globs[n/6]}
	a.both(fmt.Sprintf("stream %d of %d with %v, %v", id, i, first, second), func(w *world, _ string) string {
		family := w.family(i)
		if n == 0 {
			family = oldFamily(0)
		}
		return w.newStream(id, family, first, second)
	})
}

func (a *alike) removeStream(int) {
	a.t.Helper()
	id := a.stream()
	a.both(fmt.Sprintf("remove stream %d", id), func(w *world, _ string) string { return errnoOf(w.d.RemoveStream(id)) })
}
