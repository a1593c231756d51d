package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

// near returns the words that a mistyped one may stand for, the most similar
// first, three at most.
func near(word string, words []string) []string {
	const (
		alike  = 0.85 // of 0, nothing in common, to 1, equal
		boost  = 0.7  // from which similarity on a common beginning counts
		prefix = 4    // how much of the beginning may count
		most   = 3
	)
	type scored struct {
		word  string
		score float64
	}
	var found []scored
	for _, w := range words {
		if s := smetrics.JaroWinkler(strings.ToLower(word), strings.ToLower(w), boost, prefix); s >= alike {
			found = append(found, scored{w, s})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var near []string
	for _, f := range found[:min(most, len(found))] {
		near = append(near, f.word)
	}
	return near
}

// DidYouMean returns the question for a mistyped word, with the words that it may stand
// for; "" without any.
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
