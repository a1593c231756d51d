package test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The transitions of a chunk's control word, in C and in Go.
var transitions = []string{"claim", "begin", "release", "adopt", "takeOver", "seize", "seizeOpen", "publish", "letGo",
	"unseize", "retire", "park", "drop", "ship", "handBack", "renew", "probe"}

const transitionPrefix = "pxt_ctl_"

func camel(snake string) string {
	words := strings.Split(snake, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// calledWith returns the function that the expression at offset i of text is an argument of.
func calledWith(text string, i int) string {
	depth := 0
	for i--; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth < 0 {
				return regexp.MustCompile(`\w*$`).FindString(text[:i])
			}
		case ';', '{', '}':
			return ""
		}
	}
	return ""
}

// Only protocol.h changes a control word, by functions with the names of the transitions. All other
// files load it.
func TestControlWords(t *testing.T) {
	files := sources(t)
	ctl := regexp.MustCompile(`(?:->|\.)ctl\b`)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, at := range ctl.FindAllStringIndex(files[name], -1) {
			if call := calledWith(files[name], at[0]); call != "pxt_load" && name != "protocol.h" {
				line := 1 + strings.Count(files[name][:at[0]], "\n")
				t.Errorf("%s:%d: only protocol.h may do more than pxt_load of a control word; here: %q", name, line, call)
			}
		}
	}
	defined := functions(files["protocol.h"])
	if len(defined) == 0 {
		t.Fatal("protocol.h has no functions")
	}
	for _, name := range defined {
		short, ok := strings.CutPrefix(name, transitionPrefix)
		if !ok || !slices.Contains(transitions, camel(short)) {
			t.Errorf("protocol.h: %s is not %s and the name of a transition", name, transitionPrefix)
		}
		called := false
		for file, text := range files {
			called = called || file != "protocol.h" && regexp.MustCompile(`\b`+name+`\(`).MatchString(text)
		}
		if !called {
			t.Errorf("protocol.h: no file calls %s", name)
		}
	}
}
