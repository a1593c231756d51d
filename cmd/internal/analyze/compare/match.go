package compare

import (
	"slices"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// matched is an item of several runs: the commands or spans of one label within one parent.
type matched struct {
	*label   // of the first run that has it; nil for the run itself
	parent   *matched
	children []*matched
	stats    []stat  // by run, the old ones first
	places   []int32 // the item of each run; -1 for none
	other    *label  // of a new run, if it has another label there
	depth    int
}

// match matches the items of all runs.
func (c *comparison) match() {
	runs := slices.Concat(c.sides[Old], c.sides[New])
	collapse(c.sides)
	root := newMatched(nil, nil, len(runs))
	c.items = []*matched{root}
	for i, r := range runs {
		w := &matching{comparison: c, run: i, profile: &r.profile, isNew: i >= len(c.sides[Old])}
		w.take(root, 0)
		w.below(root)
		w.elsewhere()
	}
	c.arrange(root)
}

func newMatched(parent *matched, l *label, runs int) *matched {
	m := &matched{label: l, parent: parent, stats: make([]stat, runs), places: make([]int32, runs)}
	for i := range m.places {
		m.places[i] = -1
	}
	return m
}

// matching matches the items of one run with those of the runs before it.
type matching struct {
	*comparison
	run     int
	profile *profile
	isNew   bool
	left    []unmatched
}

// unmatched is an item without a match so far, and where it would be.
type unmatched struct {
	parent *matched
	item   int32
}

// take enters an item of the run.
func (w *matching) take(m *matched, i int32) {
	it := &w.profile.items[i]
	m.stats[w.run], m.places[w.run] = it.stat, i
	if m.label == nil || it.label < 0 {
		return
	}
	l := &w.profile.labels[it.label]
	if l.exact != m.exact {
		m.other = l
	}
}

func (w *matching) labelOf(i int32) *label { return &w.profile.labels[w.profile.items[i].label] }

// below matches what is inside a matched item: equal labels, then similar ones of one program or
// name.
func (w *matching) below(root *matched) {
	todo := []*matched{root}
	for len(todo) > 0 {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		todo = append(todo, w.children(m)...)
	}
}

func (w *matching) children(m *matched) (found []*matched) {
	at := make(map[string]*matched, len(m.children))
	for _, k := range m.children {
		if k.places[w.run] < 0 {
			at[k.exact] = k
		}
	}
	var left []int32
	for _, i := range w.profile.items[m.places[w.run]].children {
		k := at[w.labelOf(i).exact]
		if k == nil {
			left = append(left, i)
			continue
		}
		delete(at, k.exact)
		w.take(k, i)
		found = append(found, k)
	}
	if len(left) == 0 {
		return found
	}
	free := map[string][]*matched{}
	for _, k := range m.children {
		if k.places[w.run] < 0 {
			free[w.like(m, k.label)] = append(free[w.like(m, k.label)], k)
		}
	}
	mine := map[string][]int32{}
	var order []string
	for _, i := range left {
		key := w.like(m, w.labelOf(i))
		if mine[key] == nil {
			order = append(order, key)
		}
		mine[key] = append(mine[key], i)
	}
	for _, key := range order {
		pairs, rest := w.pair(free[key], mine[key])
		for _, p := range pairs {
			w.take(p.item, p.mine)
			found = append(found, p.item)
		}
		for _, i := range rest {
			w.left = append(w.left, unmatched{m, i})
		}
	}
	return found
}

// like returns what labels must have in common if they are not equal. The first commands of all
// runs match each other.
func (w *matching) like(parent *matched, l *label) string {
	if parent.label == nil && l.kind == analysis.Process {
		return "\x00"
	}
	return string(kindByte(l.kind, l.forked)) + l.name
}

// elsewhere matches what is left with items of the same label within other parents, and adds what
// has no match.
func (w *matching) elsewhere() {
	free := map[string][]*matched{}
	if len(w.left) > 0 {
		for _, m := range w.items {
			if m.label != nil && m.places[w.run] < 0 {
				free[m.exact] = append(free[m.exact], m)
			}
		}
	}
	for len(w.left) > 0 {
		u := w.left[0]
		w.left = w.left[1:]
		exact := w.labelOf(u.item).exact
		var m *matched
		for len(free[exact]) > 0 && m == nil {
			if m, free[exact] = free[exact][0], free[exact][1:]; m.places[w.run] >= 0 {
				m = nil
			}
		}
		if m == nil {
			m = w.add(u.parent, u.item)
			for _, i := range w.profile.items[u.item].children {
				w.left = append(w.left, unmatched{m, i})
			}
			continue
		}
		w.take(m, u.item)
		m.stats[w.run].moved = true
		w.below(m)
	}
}

// add adds an item that no run before has.
func (w *matching) add(parent *matched, i int32) *matched {
	m := newMatched(parent, w.labelOf(i), len(parent.stats))
	parent.children = append(parent.children, m)
	w.items = append(w.items, m)
	w.take(m, i)
	return m
}

// arrange puts the items in order: parents before children.
func (c *comparison) arrange(root *matched) {
	c.items = c.items[:0]
	todo := []*matched{root}
	for len(todo) > 0 {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		c.items = append(c.items, m)
		for i := len(m.children) - 1; i >= 0; i-- {
			m.children[i].depth = m.depth + 1
			todo = append(todo, m.children[i])
		}
	}
}

// collapse makes spans of one name equal where their data differs from run to run: where fewer than
// half of the texts of the one side are texts of the other, too.
func collapse(sides [2][]*Run) {
	texts := map[string]*[2]map[string]bool{}
	for side, runs := range sides {
		for _, r := range runs {
			for i := range r.profile.labels {
				l := &r.profile.labels[i]
				if l.kind != analysis.SpanKind {
					continue
				}
				t := texts[l.name]
				if t == nil {
					t = &[2]map[string]bool{{}, {}}
					texts[l.name] = t
				}
				t[side][l.exact] = true
			}
		}
	}
	vary := map[string]bool{}
	for name, t := range texts {
		both := 0
		for exact := range t[Old] {
			if t[New][exact] {
				both++
			}
		}
		if few := min(len(t[Old]), len(t[New])); name != stepName && few > 1 && 2*both < few {
			vary[name] = true
		}
	}
	if len(vary) == 0 {
		return
	}
	for _, runs := range sides {
		for _, r := range runs {
			r.profile.unify(vary)
		}
	}
}

// unify gives all spans of some names the label of the first one, without data.
func (p *profile) unify(vary map[string]bool) {
	to := make([]int32, len(p.labels))
	first := map[string]int32{}
	for i := range p.labels {
		l := &p.labels[i]
		to[i] = int32(i)
		if l.kind != analysis.SpanKind || !vary[l.name] {
			continue
		}
		k, ok := first[l.name]
		if !ok {
			k = int32(i)
			first[l.name] = k
			l.data, l.exact = "", string(kindByte(l.kind, false))+l.name+"\x00"
		}
		to[i] = k
	}
	p.collapse(to)
}
