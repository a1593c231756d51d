package stream

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A model of processors that reorder accesses, as arm64 does, for the places where a reader copies
// memory that a writer may be overwriting. Each processor performs its accesses one by one, visible
// to all others at once, in any order that these rules permit:
//
//   - accesses of one location stay in order;
//   - nothing moves before an acquiring load, or behind a releasing store;
//   - an acquiring load does not move before a releasing store;
//   - an exchange is an acquiring load and a releasing store, between which no other store to its
//     location comes. An exchange of two instructions is no more than that. An exchange of one
//     instruction is also a barrier.
//
// A compare-and-swap that fails is its load.

type access struct {
	loc         int
	load, store bool
	val         int
	ordered     bool // acquires, releases
	exchange    int  // 1: it is one half of an exchange
	keep        bool // the store writes the value that was loaded
}

func loads(loc int) []access       { return []access{{loc: loc, load: true}} }
func acquire(loc int) []access     { return []access{{loc: loc, load: true, ordered: true}} }
func stores(loc, val int) []access { return []access{{loc: loc, store: true, val: val}} }
func release(loc, val int) []access {
	return []access{{loc: loc, store: true, val: val, ordered: true}}
}

// exchange is an exchange in its two halves.
func exchange(loc, val int, keep bool) []access {
	return []access{
		{loc: loc, load: true, ordered: true, exchange: 1},
		{loc: loc, store: true, val: val, keep: keep, ordered: true, exchange: 1},
	}
}

// before reports whether access i of a program stays before access j.
func before(p []access, i, j int, single bool) bool {
	a, b := p[i], p[j]
	return a.loc == b.loc || a.load && a.ordered || b.store && b.ordered || a.store && a.ordered && b.load && b.ordered ||
		single && (a.exchange > 0 || b.exchange > 0)
}

// most is how many accesses a program of the model can have.
const most = 8

// outcomes returns the values that the loads of two programs can return, in all orders. single says
// that an exchange is one instruction.
func outcomes(single bool, programs ...[]access) map[[2][most]int]bool {
	type state struct {
		mem, stores [4]int // of each location: its value, and the number of stores to it
		done        [2][most]bool
		got, at     [2][most]int // of each load: the value, after how many stores
	}
	found, visited := make(map[[2][most]int]bool), make(map[state]bool)
	// perform does access j of program t, unless it is the second half of an exchange that has to
	// be done again.
	perform := func(s *state, t, j int) bool {
		b := programs[t][j]
		s.done[t][j] = true
		if b.load {
			s.got[t][j], s.at[t][j] = s.mem[b.loc], s.stores[b.loc]
			return true
		}
		if b.exchange > 0 && s.at[t][j-1] != s.stores[b.loc] {
			return false
		}
		if b.keep {
			b.val = s.got[t][j-1]
		}
		s.mem[b.loc] = b.val
		s.stores[b.loc]++
		return true
	}
	var walk func(s state)
	walk = func(s state) {
		if visited[s] {
			return
		}
		visited[s] = true
		end := true
		for t, p := range programs {
			for j, b := range p {
				if s.done[t][j] {
					continue
				}
				end = false
				ready := true
				for i := range j {
					ready = ready && (s.done[t][i] || !before(p, i, j, single))
				}
				n := s
				if !ready || !perform(&n, t, j) || single && b.exchange > 0 && !perform(&n, t, j+1) {
					continue
				}
				walk(n)
			}
		}
		if end {
			found[s.got] = true
		}
	}
	walk(state{})
	return found
}

func program(parts ...[]access) []access { return slices.Concat(parts...) }

// TestModelOfOrder checks which ways of checking a copy are sound, and that a writer and a controller
// cannot both miss the other.
func TestModelOfOrder(t *testing.T) {
	const ctl, x, y, other = 0, 1, 2, 3
	copying := program(loads(x), loads(y))
	overwrite := program(exchange(ctl, 1, false), stores(x, 1), stores(y, 1))
	for _, c := range []struct {
		name           string
		writer, reader []access
		check          int // which of the reader's accesses has the word
		two, one       bool
	}{
		{"a load", overwrite, program(copying, acquire(ctl)), 2, false, false},
		{"a failed compare-and-swap and a load", overwrite, program(copying, acquire(other), acquire(ctl)), 3, false, false},
		{"an exchange of another word and a load", overwrite, program(copying, exchange(other, 0, true), acquire(ctl)), 4, false, true},
		{"an exchange of the word", overwrite, program(copying, exchange(ctl, 0, true)), 2, true, true},
		{"an exchange of a word that is marked by a store", program(release(ctl, 1), stores(x, 1), stores(y, 1)),
			program(copying, exchange(ctl, 0, true)), 2, false, false},
	} {
		for _, single := range []bool{false, true} {
			sound, good := true, false
			for got := range outcomes(single, c.writer, c.reader) {
				r := got[1]
				good = good || r[c.check] == 0
				if r[c.check] == 0 && (r[0] != 0 || r[1] != 0) {
					sound = false
				}
			}
			if want := single && c.one || !single && c.two; sound != want || !good {
				t.Errorf("%s: with exchanges of one instruction %v it is sound: %v", c.name, single, sound)
			}
		}
	}
	// A writer sets its busy bit and looks at the state, or at the horizon; a controller changes the
	// state, or a scan raises the horizon, and looks for busy bits.
	writer := program(exchange(ctl, 1, false), acquire(other))
	control := program(exchange(other, 1, false), acquire(ctl))
	for _, single := range []bool{false, true} {
		orders := 0
		for got := range outcomes(single, writer, control) {
			orders++
			if got[0][2] == 0 && got[1][2] == 0 {
				t.Errorf("a writer and a controller miss each other, exchanges of one instruction %v", single)
			}
		}
		if orders < 3 {
			t.Errorf("%d outcomes", orders)
		}
	}
	// With plain stores they could.
	missed := false
	for got := range outcomes(true, program(stores(ctl, 1), acquire(other)), program(stores(other, 1), acquire(ctl))) {
		missed = missed || got[0][1] == 0 && got[1][1] == 0
	}
	if !missed {
		t.Error("the model does not reorder")
	}
}

// TestNoCompareAndSwapAsBarrier looks for calls of compare-and-swap that are meant to change nothing.
func TestNoCompareAndSwapAsBarrier(t *testing.T) {
	calls := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		text := func(n ast.Node) string {
			var b strings.Builder
			printer.Fprint(&b, set, n)
			return b.String()
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "CompareAndSwap") {
				calls++
				if a := call.Args[len(call.Args)-2:]; text(a[0]) == text(a[1]) {
					t.Errorf("%s: a compare-and-swap that changes nothing is no barrier", set.Position(call.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || calls < 30 {
		t.Errorf("%d calls were looked at, %v", calls, err)
	}
}
