package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// built is a run that a test describes: interval by interval, a parent before its children. They are
// added in reverse, as an analysis reports children first.
type built struct {
	list  []Interval
	limit int
}

func (b *built) add(parent uint64, kind Kind, name string, start, end int64) uint64 {
	iv := Interval{ID: uint64(len(b.list) + 1), Parent: parent, Kind: kind, Name: name, Start: start, End: end, PID: 1, TID: 1}
	if kind == Process {
		iv.Data = (&posixtrace.ExecData{Path: "/bin/" + name, Argv: []string{name}}).Append(nil)
	}
	b.list = append(b.list, iv)
	return iv.ID
}

func (b *built) command(parent uint64, name string, start, end int64) uint64 {
	return b.add(parent, Process, name, start, end)
}

func (b *built) span(parent uint64, name string, start, end int64) uint64 {
	return b.add(parent, SpanKind, name, start, end)
}

func (b *built) tree() *Tree {
	limit := b.limit
	if limit == 0 {
		limit = MaxNodes
	}
	builder := NewBuilder(limit)
	a := New(Limits{})
	a.First, a.Last = math.MaxInt64, math.MinInt64
	for i := len(b.list) - 1; i >= 0; i-- {
		builder.Add(&b.list[i])
		a.First, a.Last = min(a.First, b.list[i].Start), max(a.Last, b.list[i].End)
	}
	return builder.Tree(a)
}

func (t *Tree) text() string {
	var b strings.Builder
	var show func(i int32, depth int)
	show = func(i int32, depth int) {
		t.Children(i, func(c int32) bool {
			fmt.Fprintf(&b, "%s%s %d-%d", strings.Repeat(" ", depth), t.Label(c), t.Nodes[c].Start, t.Nodes[c].End)
			if n := t.Nodes[c].Omitted; n > 0 {
				fmt.Fprintf(&b, " +%d", n)
			}
			b.WriteString("\n")
			show(c, depth+1)
			return true
		})
	}
	show(None, 0)
	return b.String()
}

func (t *Tree) chainText() string {
	var b strings.Builder
	for _, l := range t.Chain() {
		fmt.Fprintf(&b, "%s%s %d-%d self %d\n", strings.Repeat(" ", l.Depth), t.Label(l.Node), l.Start, l.End, l.Self)
	}
	return b.String()
}

func lines(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "\n"), "\t", "")
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if want = lines(want); got != want {
		t.Errorf("%s:\n%swant:\n%s", what, got, want)
	}
}

// parallel is a build with two jobs: what ended last, and what it waited for, decide.
func parallel() *built {
	b := &built{}
	m := b.command(0, "make", 0, 100)
	first := b.command(m, "gcc", 1, 30)
	b.command(first, "cc1", 2, 28)
	b.command(m, "gcc", 1, 50)
	b.command(m, "gcc", 31, 90)
	link := b.span(m, "link", 91, 99)
	b.command(link, "ld", 92, 98)
	return b
}

func TestTree(t *testing.T) {
	check(t, "tree", parallel().tree().text(), `
	make 0-100
	 gcc 1-30
	  cc1 2-28
	 gcc 1-50
	 gcc 31-90
	 link 91-99
	  ld 92-98
	`)
}

func TestChain(t *testing.T) {
	check(t, "chain", parallel().tree().chainText(), `
	make 0-100 self 4
	 gcc 1-30 self 3
	  cc1 2-28 self 26
	 gcc 31-90 self 59
	 link 91-99 self 2
	  ld 92-98 self 6
	`)
	// Two logs have two chains.
	two := parallel()
	other := two.command(0, "test", 0, 60)
	two.list[other-1].Source = 1
	check(t, "chain", two.tree().chainText(), `
	make 0-100 self 4
	test 0-60 self 60
	 gcc 1-30 self 3
	  cc1 2-28 self 26
	 gcc 31-90 self 59
	 link 91-99 self 2
	  ld 92-98 self 6
	`)
	// What runs on decided nothing; the clock of a shell may be a little late.
	b := &built{}
	r := b.command(0, "sh", 0, 1e9)
	b.command(r, "daemon", 1e8, 9e9)
	step := b.span(r, "step", 2e8, 4e8)
	b.command(step, "sleep", 2e8+5e5, 4e8+5e6)
	b.command(r, "true", 5e8, 5e8)
	c := b.tree()
	c.End = 1e9
	check(t, "chain", c.chainText(), `
	sh 0-1000000000 self 800000000
	 step 200000000-400000000 self 500000
	  sleep 200500000-400000000 self 199500000
	`)
}

// A span that goes on after the one around it is beside that one. A command stays where it began.
func TestCrossing(t *testing.T) {
	b := &built{}
	r := b.command(0, "sh", 0, 1e9)
	a := b.span(r, "a", 0, 1e8)
	in := b.span(a, "b", 1e7, 2e8)
	b.span(in, "c", 2e7, 9e8)
	b.command(a, "d", 3e7, 9e8)
	b.span(a, "e", 5e7, 1.01e8) // the clock of a shell
	check(t, "tree", b.tree().text(), `
	sh 0-1000000000
	 a 0-100000000
	  d 30000000-900000000
	  e 50000000-101000000
	 b 10000000-200000000
	 c 20000000-900000000
	`)
}

// Every moment of a chain belongs to one of its links, whatever the intervals are like.
func TestChainSum(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		b := &built{}
		for i := range 1 + rnd.IntN(60) {
			parent := uint64(rnd.IntN(i + 1))
			start := rnd.Int64N(1000)
			b.command(parent, "x", start, start+rnd.Int64N(300))
		}
		tr := b.tree()
		total, top := int64(0), int64(0)
		for _, l := range tr.Chain() {
			if total += l.Self; l.Self < 0 || l.Start >= l.End || l.End > tr.Nodes[l.Node].End {
				t.Fatalf("%+v in\n%s", l, tr.text())
			}
			if l.Depth == 0 {
				top += l.End - l.Start
			}
		}
		if total != top || total > tr.End-tr.Start {
			t.Fatalf("%d of %d in\n%s", total, top, tr.text())
		}
	}
}

func TestWork(t *testing.T) {
	var tr *Tree
	// The times of today, as floating point, are multiples of 256 ns.
	for _, at := range []int64{0, 1_800_000_000_000_000_000, math.MaxInt64 - 120, math.MinInt64} {
		b := &built{}
		m := b.command(0, "make", at, at+100)
		s := b.span(m, "all", at+5, at+100)
		b.command(s, "cc", at+10, at+60) // make waits from here on
		b.command(s, "cc", at+20, at+40)
		b.command(m, "ld", at+80, at+120) // longer than make
		tr = b.tree()
		tr.Start, tr.End = at, at+100
		want := []float64{1, 1, 2, 2, 1, 1, 1, 1, 1, 1}
		for i, got := range tr.Work(10) {
			if math.Abs(got-want[i]) > 1e-9 {
				t.Errorf("from %d: part %d: %g, want %g", at, i, got, want[i])
			}
		}
		if got := tr.Work(1)[0]; math.Abs(got-1.2) > 1e-9 {
			t.Errorf("from %d: mean %g", at, got)
		}
	}
	tr.Start = tr.End
	if got := tr.Work(2); got[0] != 0 || got[1] != 0 || tr.Work(0) != nil && len(tr.Work(0)) > 0 {
		t.Errorf("%v", got)
	}
}

// Beyond the limit the shortest go, and are counted where they were. What failed stays.
func TestLimit(t *testing.T) {
	b := &built{limit: 6}
	m := b.command(0, "make", 0, 1000)
	slow := b.span(m, "slow", 0, 500)
	for i := range int64(50) {
		s := b.span(slow, "s", 2*i, 2*i+2)
		b.span(s, "in", 2*i, 2*i+1)
	}
	b.span(m, "long", 500, 900)
	bad := b.command(m, "bad", 901, 902)
	b.list[bad-1].Failed = true
	tr := b.tree()
	check(t, "tree", tr.text(), `
	make 0-1000
	 slow 0-500 +96
	  s 0-2 +1
	  s 2-4 +1
	 long 500-900
	 bad 901-902
	`)
}

// However many there are, the tree is bounded and counts all.
func TestLimitCounts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 9, 10, 11, 20, 1000} {
		b := &built{limit: 10}
		for i := range n {
			b.span(uint64(rnd.IntN(min(i, 5)+1)), "s", int64(i), int64(i)+rnd.Int64N(100))
		}
		tr := b.tree()
		sum := int64(len(tr.Nodes))
		for i := range tr.Nodes {
			sum += tr.Nodes[i].Omitted
		}
		if len(tr.Nodes) > 10 || sum > int64(n) || int64(len(tr.Nodes))+tr.Omitted != int64(n) {
			t.Errorf("%d: %d nodes, %d with those at nodes, %d omitted", n, len(tr.Nodes), sum, tr.Omitted)
		}
	}
}

// The text of nodes is bounded, too.
func TestText(t *testing.T) {
	builder := NewBuilder(MaxNodes)
	a := New(Limits{})
	for i := range uint64(5 * maxText / 4096) {
		data := make([]byte, 4096)
		copy(data, fmt.Sprint(i))
		builder.Add(&Interval{ID: i + 1, Kind: Process, Name: "x", Data: data, End: int64(i)})
	}
	if builder.text > maxText+4096 {
		t.Errorf("%d bytes", builder.text)
	}
	if tr := builder.Tree(a); int64(len(tr.Nodes))+tr.Omitted != 5*maxText/4096 || len(tr.Nodes) < maxText/4096/4 {
		t.Errorf("%d nodes, %d omitted", len(tr.Nodes), tr.Omitted)
	}
}

// Times of a forged log may be anything.
func TestHostileTimes(t *testing.T) {
	b := &built{}
	p := b.command(0, "a", math.MinInt64, math.MaxInt64)
	b.span(p, "b", math.MinInt64, math.MaxInt64)
	b.span(p, "c", 5, math.MaxInt64)
	b.span(p, "d", math.MinInt64, 7)
	tr := b.tree()
	for _, l := range tr.Chain() {
		if l.Self < 0 {
			t.Errorf("%+v", l)
		}
	}
	for _, w := range tr.Work(10) {
		if !(w >= 0 && w <= 1.01) {
			t.Errorf("%g at work", w)
		}
	}
}
