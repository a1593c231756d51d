package registry

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/libposixtrace/ctest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// The C library has a second implementation of the registry, which the tests of this file compare with
// the first.

// stepPrograms returns the programs that take steps, in Go and in C. As these do not wait for the lock of names,
// the test does not.
func stepPrograms(t *testing.T) [2]string {
	t.Helper()
	tracetest.OnlyWithoutEmulator(t)
	old := lockWait
	t.Cleanup(func() { lockWait = old })
	lockWait = 0
	self, err := os.Executable()
	tracetest.OK(t, "executable", err)
	return [2]string{self, ctest.Build(t, ctest.Program{
		Sources: []string{"testdata/c/step.c"}, Static: true,
		Flags: []string{"-std=gnu11", "-fno-strict-aliasing", "-Wno-missing-field-initializers"},
	})}
}

// TestCIsLikeGo has processes take the same steps in two directories: in the first, all of them in Go; in
// the second, all in C, or each in one of the two. After each step both have given the same answer, and
// the directories hold the same.
func TestCIsLikeGo(t *testing.T) {
	progs := stepPrograms(t)
	for seed := range uint64(tracetest.Scale(9, 60, 1500)) {
		t.Run(fmt.Sprintf("%d", seed), func(t *testing.T) {
			t.Parallel()
			testAlike(t, progs, seed)
		})
	}
}

func testAlike(t *testing.T, progs [2]string, seed uint64) {
	a := newAlike(t, progs, seed)
	a.profile, a.mixed = int(seed%profiles), seed%2 == 1
	for n := 0; n < 60 && !a.over; n++ {
		a.change()
	}
}

// newAlike makes two worlds, each with one process.
func newAlike(t *testing.T, progs [2]string, seed uint64) *alike {
	a := &alike{t: t, progs: progs, rng: rand.New(rand.NewPCG(seed, 1)), languages: rand.New(rand.NewPCG(seed, 2))}
	for i := range a.w {
		a.w[i] = newWorld(t)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the steps:\n%s", strings.Join(a.log, "\n"))
		}
	})
	a.timed("first", func(w *world, prog string) string { w.first(prog); return "" })
	a.procs = append(a.procs, &modelProc{})
	return a
}

// alike is two worlds, the first without C.
type alike struct {
	t         *testing.T
	progs     [2]string
	rng       *rand.Rand
	languages *rand.Rand
	profile   int
	mixed     bool
	w         [2]*world
	procs     []*modelProc
	over      bool       // the worlds may differ from now on
	locker    *modelProc // the process that holds the lock of the directory
	log       []string
}

// modelProc is what the test must know of a process to choose steps that it can take.
type modelProc struct {
	ended   bool
	opened  bool // the process has opened its page
	page    bool // there is a page
	removed bool // the page was removed
}

// both takes a step in both worlds and compares what there is afterwards. prog is the program that a process
// is to be.
func (a *alike) both(what string, f func(w *world, prog string) string) {
	a.t.Helper()
	language := 1
	if a.mixed {
		language = a.languages.IntN(2)
	}
	var answers [2]string
	for i, w := range a.w {
		prog := a.progs[0]
		if i == 1 {
			prog = a.progs[language]
		}
		w.ticks = append(w.ticks, sys.NowTicks())
		answers[i] = f(w, prog)
	}
	a.log = append(a.log, fmt.Sprintf("%s (%s): %s", what, []string{"Go", "C"}[language], answers[0]))
	if strings.HasSuffix(what, " page") && answers[0] == errnoOf(syscall.ESTALE) && answers[1] == errnoOf(nil) {
		// The file of the names that the process knows has others now. In Go it keeps its removed page, in C it
		// goes on with a new one.
		a.over = true
		return
	}
	if answers[0] != answers[1] {
		a.t.Fatalf("%s: Go answers %q, the other %q", what, answers[0], answers[1])
	}
	x, y := a.w[0].snapshot(), a.w[1].snapshot()
	if !slices.Equal(x, y) {
		only := func(x, y []string) string {
			return strings.Join(slices.DeleteFunc(slices.Clone(x), func(s string) bool { return slices.Contains(y, s) }), "\n")
		}
		a.t.Fatalf("after %s: Go alone leaves\n%s\nand the others\n%s", what, only(x, y), only(y, x))
	}
}

// timed is both for a step whose tick matters: no other one has the same.
func (a *alike) timed(what string, f func(w *world, prog string) string) {
	a.t.Helper()
	nextTick()
	a.both(what, f)
	nextTick()
}

// ask has process i take a step.
func (a *alike) ask(i int, format string, args ...any) {
	a.t.Helper()
	a.both(fmt.Sprintf("%d "+format, append([]any{i}, args...)...), func(w *world, _ string) string { return w.step(i, format, args...) })
}

// A profile is a kind of sequence: of processes and what they inherit, of names, of what is left behind.
const profiles = 3

// steps are the steps, each with its weight in the profiles.
var steps = []struct {
	weight [profiles]int
	take   func(a *alike, i int)
}{
	{[profiles]int{20, 3, 4}, (*alike).spawn},
	{[profiles]int{10, 1, 4}, (*alike).end},
	{[profiles]int{2, 4, 2}, (*alike).exec},
	{[profiles]int{10, 4, 6}, (*alike).open},
	{[profiles]int{8, 2, 4}, (*alike).attach},
	{[profiles]int{3, 1, 2}, (*alike).detach},
	{[profiles]int{2, 1, 1}, (*alike).entries},
	{[profiles]int{1, 2, 12}, (*alike).tidy},
	{[profiles]int{1, 4, 2}, (*alike).setFamily},
	{[profiles]int{1, 1, 2}, (*alike).lock},
	{[profiles]int{2, 30, 6}, (*alike).name},
	{[profiles]int{1, 6, 2}, (*alike).have},
	{[profiles]int{4, 1, 2}, (*alike).makePage},
	{[profiles]int{10, 1, 3}, (*alike).attachTo},
	{[profiles]int{2, 0, 2}, (*alike).detachAll},
	{[profiles]int{2, 2, 6}, (*alike).sweep},
	{[profiles]int{0, 8, 1}, (*alike).systemName},
	{[profiles]int{4, 0, 0}, (*alike).attachedAtStart},
	{[profiles]int{2, 3, 3}, (*alike).removePage},
	{[profiles]int{0, 4, 2}, (*alike).removeNames},
	{[profiles]int{0, 8, 1}, (*alike).tearNames},
	{[profiles]int{0, 3, 2}, (*alike).holdNames},
	{[profiles]int{0, 0, 6}, (*alike).unfinished},
	{[profiles]int{2, 1, 8}, (*alike).deadPage},
	{[profiles]int{0, 1, 12}, (*alike).oldNames},
	{[profiles]int{1, 8, 6}, (*alike).newStream},
	{[profiles]int{1, 2, 3}, (*alike).removeStream},
}

// change takes a random step.
func (a *alike) change() {
	a.t.Helper()
	alive := a.alive()
	i := alive[a.rng.IntN(len(alive))]
	total := 0
	for _, s := range steps {
		total += s.weight[a.profile]
	}
	n := a.rng.IntN(total)
	for _, s := range steps {
		if n -= s.weight[a.profile]; n < 0 {
			s.take(a, i)
			return
		}
	}
}

// alive returns the processes that have not ended.
func (a *alike) alive() (list []int) {
	for i, p := range a.procs {
		if !p.ended {
			list = append(list, i)
		}
	}
	return list
}
