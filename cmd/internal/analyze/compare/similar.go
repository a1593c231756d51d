package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
)

// pair is an item of the runs before and one of this run that match although their labels differ.
type pair struct {
	item *matched
	mine int32
}

// maxSimilar bounds how many labels of each side pair compares.
const maxSimilar = 64

// pair matches labels of one program or name: those that have most words in common and, if as many
// are left on both sides, these in the order in which they began. Spans of which the data has no word
// in common do not match. It returns what is left of mine.
func (w *matching) pair(free []*matched, mine []int32) (pairs []pair, rest []int32) {
	if len(free) > 1 || len(mine) > 1 {
		free, mine, pairs = w.similar(free, mine, .5)
	}
	if len(free) != len(mine) {
		return pairs, mine
	}
	if len(free) > 1 && free[0].kind == analysis.SpanKind {
		var more []pair
		free, mine, more = w.similar(free, mine, 0)
		pairs = append(pairs, more...)
	}
	for i := range mine {
		if unlike(free[i].label, w.labelOf(mine[i])) {
			rest = append(rest, mine[i])
			continue
		}
		pairs = append(pairs, pair{free[i], mine[i]})
	}
	return pairs, rest
}

// unlike reports whether two labels are of spans with data that have no word in common.
func unlike(a, b *label) bool {
	if a.kind != analysis.SpanKind {
		return false
	}
	x, y := wordsOf(a), wordsOf(b)
	return len(x) > 0 && len(y) > 0 && likeness(x, y) == 0
}

// similar matches the labels that have more than a part of their words in common, the most similar
// first.
func (w *matching) similar(free []*matched, mine []int32, least float64) (_ []*matched, _ []int32, pairs []pair) {
	if len(free) == 0 || len(free) > maxSimilar || len(mine) > maxSimilar {
		return free, mine, nil
	}
	type candidate struct {
		i, j  int
		score float64
	}
	words := make([][]string, len(mine))
	for j, i := range mine {
		words[j] = wordsOf(w.labelOf(i))
	}
	var list []candidate
	for i, m := range free {
		have := wordsOf(m.label)
		for j := range mine {
			if s := likeness(have, words[j]); s > least {
				list = append(list, candidate{i, j, s})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	usedFree, usedMine := make([]bool, len(free)), make([]bool, len(mine))
	for _, c := range list {
		if !usedFree[c.i] && !usedMine[c.j] {
			usedFree[c.i], usedMine[c.j] = true, true
			pairs = append(pairs, pair{free[c.i], mine[c.j]})
		}
	}
	return without(free, usedFree), without(mine, usedMine), pairs
}

func without[T any](list []T, used []bool) (rest []T) {
	for i, v := range list {
		if !used[i] {
			rest = append(rest, v)
		}
	}
	return rest
}

// maxWords bounds the words of a label that are compared.
const maxWords = 64

// wordsOf returns the different words of a label without its name, in order. The file of a step,
// which many steps have in common, is none.
func wordsOf(l *label) []string {
	_, text, _ := strings.Cut(l.exact, "\x00")
	if l.kind == analysis.SpanKind && l.name == stepName {
		if _, command, ok := strings.Cut(text, " "); ok {
			text = command
		}
	}
	list := strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune(";&|()'\"", r) })
	list = list[:min(len(list), maxWords)]
	slices.Sort(list)
	return slices.Compact(list)
}

// likeness returns which part of the words of the shorter label the other one has; among equals it is
// greater where the other one is shorter.
func likeness(a, b []string) float64 {
	both := 0
	for _, s := range a {
		if _, ok := slices.BinarySearch(b, s); ok {
			both++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both)/float64(min(len(a), len(b))) - float64(max(len(a), len(b)))/1e4
}
