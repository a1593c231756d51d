package cli

import (
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	opts := []Option{
		{Long: "first", Excludes: Excludes("second", "third")},
		{Long: "second"},
		{Long: "third", Excludes: []Exclusion{{[]string{"fourth"}, "--third does not go with it"}}},
		{Long: "fourth"},
		{Long: "alone", OnlyWith: []string{"second"}},
		{Long: "mark", Needs: Needs("first", "second")},
		{Long: "sync", Needs: Need{[]string{"third"}, "--sync needs a third"}},
	}
	for given, want := range map[string]string{
		"":                   "",
		"first fourth":       "",
		"second third":       "",
		"first second":       "--first and --second exclude each other",
		"third first":        "--first and --third exclude each other",
		"fourth third":       "--third does not go with it",
		"alone second color": "",
		"alone fourth":       "--alone and --fourth exclude each other",
		"mark":               "--mark is for --first and --second",
		"mark second":        "",
		"sync":               "--sync needs a third",
		"sync third":         "",
		"first second sync":  "--sync needs a third",
	} {
		args := &Args{}
		for _, name := range strings.Fields(given) {
			args.Given = append(args.Given, Given{Name: name})
		}
		got := ""
		if err := checkRules(opts, args); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
