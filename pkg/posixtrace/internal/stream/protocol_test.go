package stream

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTransitionsMatchComment compares each transition with the table in the comment of protocol.go: which
// words it accepts, and which word it makes of each.
func TestTransitionsMatchComment(t *testing.T) {
	const (
		a, b, f = 7, 9, 11 // slots, as the table names them
		events  = 3
		off     = 80
		next    = 128 // offset behind one event more
	)
	// The transitions, by name and the state that they make.
	calls := map[string]func(d *desc, c ctl) bool{
		"claim claiming": func(d *desc, c ctl) bool { return d.claim(c, a) },
		"begin owned":    func(d *desc, c ctl) bool { return d.begin(a, owned) == ctl(d.ctl.Load()) },
		"begin open":     func(d *desc, c ctl) bool { return d.begin(0, open) == ctl(d.ctl.Load()) },
		"release free":   func(d *desc, c ctl) bool { d.release(); return true },
		"adopt owned":    func(d *desc, c ctl) bool { n, ok := d.adopt(c, a, owned); return ok && n == ctl(d.ctl.Load()) },
		"adopt open":     func(d *desc, c ctl) bool { n, ok := d.adopt(c, a, open); return ok && n == ctl(d.ctl.Load()) },
		"takeOver owned": func(d *desc, c ctl) bool { n, ok := d.takeOver(c, b); return ok && n == ctl(d.ctl.Load()) },
		"seize owned":    func(d *desc, c ctl) bool { return (c^makeCtl(5, a, owned))&ctl(tagMask) == 0 && d.seize(c) },
		"seizeOpen open": func(d *desc, c ctl) bool { return d.seizeOpen(c, a) },
		"publish owned":  func(d *desc, c ctl) bool { d.publish(c&^busyBit, next); return true },
		"publish open":   func(d *desc, c ctl) bool { d.publish(c.with(0, open), next); return true },
		"letGo owned":    func(d *desc, c ctl) bool { d.letGo(c &^ busyBit); return true },
		"letGo open":     func(d *desc, c ctl) bool { d.letGo(c.with(0, open)); return true },
		"unseize owned":  func(d *desc, c ctl) bool { n, ok := d.unseize(c); return ok && n == ctl(d.ctl.Load()) },
		"retire full":    func(d *desc, c ctl) bool { return d.retire(c) },
		"park partial":   func(d *desc, c ctl) bool { return d.park(c) },
		"drop free":      func(d *desc, c ctl) bool { return d.drop(c) },
		"ship leaving":   func(d *desc, c ctl) bool { n, ok := d.ship(c, a); return ok && n == ctl(d.ctl.Load()) },
		"handBack full":  func(d *desc, c ctl) bool { return d.handBack(c, full) },
		"renew leaving":  func(d *desc, c ctl) bool { n, ok := d.renew(c, leaving); return ok && n == ctl(d.ctl.Load()) },
		"renew full":     func(d *desc, c ctl) bool { n, ok := d.renew(c, full); return ok && n == ctl(d.ctl.Load()) },

		"handBack partial": func(d *desc, c ctl) bool { return d.handBack(c, partial) },
	}
	calls["unseize open"] = calls["unseize owned"]
	names := map[string]chunkState{
		"free": free, "claiming": claiming, "owned": owned, "open": open, "full": full, "leaving": leaving,
		"partial": partial, "none": none,
	}
	slots := map[string]uint64{"0": 0, "a": a, "b": b, "f": f}

	// The rows, by transition and state made; of the transition as a whole, all states that it accepts.
	type row struct {
		from  []string
		to    []string // state, slot, B
		by    string
		extra string // g' or n+1
	}
	rows := make(map[string][]row)
	accepts := make(map[string][]string)
	src, err := os.ReadFile("protocol.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	rowOf := regexp.MustCompile(`(?m)^//\t(\w+) {2,}(\S[\w+ ]*?) {2,}(\w+)\((\w)\)(\+B)?(?: (g'|n\+1))? {2,}(CAS|store) {2,}\S.*$`)
	for _, m := range rowOf.FindAllStringSubmatch(string(src), -1) {
		key := m[1] + " " + m[3]
		r := row{from: strings.Fields(m[2]), to: m[3:6], by: m[7], extra: m[6]}
		rows[key] = append(rows[key], r)
		if !seen[key+m[2]] {
			accepts[key] = append(accepts[key], r.from...)
		}
		seen[m[1]] = true
		if calls[key] == nil {
			t.Errorf("the comment has %q, which no function does", key)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^func \(d \*desc\) (\w+)\(`).FindAllStringSubmatch(string(src), -1) {
		if m[1] != "change" && m[1] != "probe" && !seen[m[1]] {
			t.Errorf("the table has no %s", m[1])
		}
	}
	// unseize makes of each state only one, although both rows name one function.
	accepts["unseize owned"] = append(accepts["unseize owned"], accepts["unseize open"]...)
	accepts["unseize open"] = accepts["unseize owned"]

	for key, call := range calls {
		if len(rows[key]) == 0 {
			t.Errorf("the table has no %q", key)
			continue
		}
		// The word that a row makes of c, and whether one of them takes it.
		want := func(c ctl, from string) (ctl, bool) {
			for _, r := range rows[key] {
				if !slices.Contains(r.from, from) {
					continue
				}
				gen, n := c.gen(), c&(offMask|countMask)
				if r.extra == "g'" {
					gen++
				}
				if st := r.to[0]; st == "free" || strings.HasPrefix(key, "begin") {
					n = 0
				}
				if r.extra == "n+1" {
					n = (events+1)<<countShift | next/8
				}
				w := makeCtl(gen, slots[r.to[1]], names[r.to[0]]) | n
				if r.to[2] != "" {
					w |= busyBit
				}
				return w, true
			}
			return 0, false
		}
		for name, st := range names {
			for _, busy := range []bool{false, true} {
				from := name
				slot := map[chunkState]uint64{claiming: a, owned: a, leaving: f, none: f}[st]
				if busy {
					from += "+B"
					if st == open {
						slot = a
					}
				}
				c := makeCtl(5, slot, st) | events<<countShift | off/8
				if busy {
					c |= busyBit
				}
				w, taken := want(c, from)
				if !taken && (rows[key][0].by == "store" || slices.Contains(accepts[key], from)) {
					continue // its maker does not come here; or another row of the transition says what it makes
				}
				var d desc
				d.ctl.Store(uint64(c))
				ok := call(&d, c)
				got := ctl(d.ctl.Load())
				switch {
				case ok != taken:
					t.Errorf("%s of %s: it does so: %v; by the comment: %v", key, from, ok, taken)
				case taken && got != w:
					t.Errorf("%s of %s: word %#x, by the comment %#x", key, from, got, w)
				case !taken && got != c:
					t.Errorf("%s of %s: refused, but the word is %#x instead of %#x", key, from, got, c)
				}
				if rows[key][0].by != "CAS" {
					continue
				}
				other := c + 1<<countShift // another maker was faster
				d.ctl.Store(uint64(other))
				if call(&d, c) || ctl(d.ctl.Load()) != other {
					t.Errorf("%s of %s: it does not compare the word", key, from)
				}
			}
		}
	}
	var d desc
	d.ctl.Store(uint64(makeCtl(5, a, owned) | busyBit))
	if c := d.probe(); c != makeCtl(5, a, owned)|busyBit || c != ctl(d.ctl.Load()) {
		t.Errorf("probe: %#x", c)
	}
}

// TestOnlyProtocolChangesWords parses the package: only protocol.go does anything with a control word but load it.
func TestOnlyProtocolChangesWords(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	loads := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "protocol.go" {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		loaded := make(map[ast.Node]bool) // control words of which Load is called
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 0 {
				if load, ok := call.Fun.(*ast.SelectorExpr); ok && load.Sel.Name == "Load" {
					loaded[load.X] = true
				}
			}
			if word, ok := n.(*ast.SelectorExpr); ok && word.Sel.Name == "ctl" {
				if !loaded[word] {
					t.Errorf("%v: a control word is used in another way than by Load: name the transition in protocol.go", fset.Position(n.Pos()))
				}
				loads++
			}
			return true
		})
	}
	if loads < 30 {
		t.Errorf("found only %d loads of control words: is the member of desc still named ctl?", loads)
	}
}
