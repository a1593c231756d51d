package view

import (
	"slices"
	"strconv"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// AppendFolded appends a line for each stack of commands and spans: their names, separated by
// semicolons, and the microseconds that the last of them took itself. Flame graphs and speedscope
// read it.
func AppendFolded(b []byte, r *Run) []byte {
	f := &folded{Run: r, frames: make([]int32, len(r.Nodes)), depths: make([]int32, len(r.Nodes)), index: map[frame]int32{}}
	own := r.Own()
	for i := range r.Nodes {
		f.enter(int32(i), own[i])
	}
	f.bound()
	lines := f.lines()
	slices.Sort(lines)
	for _, l := range lines {
		b = append(append(b, l...), '\n')
	}
	return b
}

// folded merges equal stacks.
type folded struct {
	*Run
	frames []int32 // of nodes
	depths []int32 // of nodes
	index  map[frame]int32
	list   []merged
}

// frame is a name in a stack.
type frame struct {
	around int32 // an index in list, or None
	name   string
}

type merged struct {
	frame
	depth int32
	size  int64 // bytes of the stack
	ns    int64
}

// maxFolded bounds the size of the output of a forged log, in which stacks are deep.
const maxFolded = 64 << 20

// enter adds the time that a node took itself.
func (f *folded) enter(i int32, ns int64) {
	fr := frame{analysis.None, frameName(label(f.Run, i))}
	depth, size := int32(0), int64(len(fr.name)+20)
	if p := f.Nodes[i].Parent; p != analysis.None {
		fr.around = f.frames[p]
		depth, size = f.list[fr.around].depth+1, size+f.list[fr.around].size
	}
	at, ok := f.index[fr]
	if !ok {
		at = int32(len(f.list))
		f.index[fr] = at
		f.list = append(f.list, merged{frame: fr, depth: depth, size: size})
	}
	f.frames[i] = at
	f.list[at].ns = min(f.list[at].ns, 1<<62) + min(ns, 1<<62-1)
}

// bound merges the deepest frames into those around them until the output is not too large.
func (f *folded) bound() {
	for depth := int32(256); ; depth /= 2 {
		total := int64(0)
		for i := len(f.list) - 1; i >= 0; i-- {
			m := &f.list[i]
			if m.depth > depth {
				p := &f.list[m.around]
				p.ns = min(p.ns, 1<<62) + min(m.ns, 1<<62-1)
				m.ns = 0
			}
			if m.ns > 0 {
				total += m.size
			}
		}
		if total <= maxFolded || depth == 0 {
			return
		}
	}
}

// lines returns the stacks that took a microsecond or more.
func (f *folded) lines() (list []string) {
	var names []string
	for i := range f.list {
		if f.list[i].ns < 1000 {
			continue
		}
		names = names[:0]
		for j := int32(i); j != analysis.None; j = f.list[j].around {
			names = append(names, f.list[j].name)
		}
		slices.Reverse(names)
		list = append(list, strings.Join(names, ";")+" "+strconv.FormatInt(f.list[i].ns/1000, 10))
	}
	return list
}

// frameName escapes a name: no semicolon, no newline, nothing that a terminal acts on.
func frameName(name string) string {
	name = strings.ReplaceAll(printable(name), ";", `\x3b`)
	return strings.TrimSpace(name)
}
