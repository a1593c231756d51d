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
		alike  = 0.85 // the least similarity: 0 is nothing in common, 1 is equal
		boost  = 0.7  // the least similarity at which a common prefix counts
		prefix = 4    // how long a prefix may count
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
