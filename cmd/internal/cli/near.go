package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

// near returns at most three words similar to a mistyped one, the most similar first.
func near(word string, words []string) []string {
	const (
		alike = 0.85 // the least similarity: 0 is nothing in common, 1 is equal
		most  = 3
	)
	type scored struct {
		word  string
		score float64
	}
	var found []scored
	for _, w := range words {
		if s := similarity(word, w); s >= alike {
			found = append(found, scored{w, s})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	if len(found) > 0 && found[0].score == 1 { // the word without its family
		found = found[:1]
	}
	var near []string
	for _, f := range found[:min(most, len(found))] {
		near = append(near, f.word)
	}
	return near
}

// similarity returns how similar a mistyped word is to another. A family that both have, such as
// "syscall.", does not make them similar, and one that is missing does not make them different.
func similarity(word, other string) float64 {
	const (
		boost  = 0.7 // the least similarity at which a common prefix counts
		prefix = 4   // how long a prefix may count
	)
	word, other = strings.ToLower(word), strings.ToLower(other)
	family := other[:strings.LastIndexByte(other, '.')+1]
	if rest, ok := strings.CutPrefix(word, family); rest != "" && (ok || !strings.Contains(word, ".")) {
		word, other = rest, other[len(family):]
	}
	return smetrics.JaroWinkler(word, other, boost, prefix)
}

// DidYouMean returns a question that suggests candidates similar to word, or "" if there
// are none.
func DidYouMean(word string, candidates []string) string {
	words := near(word, candidates)
	if len(words) == 0 {
		return ""
	}
	for i, w := range words {
		words[i] = "'" + w + "'"
	}
	last := len(words) - 1
	if last == 0 {
		return "did you mean " + words[0] + "?"
	}
	return "did you mean " + strings.Join(words[:last], ", ") + " or " + words[last] + "?"
}
