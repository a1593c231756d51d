package test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// calls returns, for each file, the files with the functions and variables that it uses, each with one name.
func calls(files map[string]string) map[string]map[string]string {
	home := map[string]string{}
	for file, text := range files {
		for _, name := range append(functions(text), variables(text)...) {
			home[name] = file
		}
	}
	name := regexp.MustCompile(`(?:\b(?:struct|union|enum)\s+)?\bpxt_\w+`)
	uses := map[string]map[string]string{}
	for file, text := range files {
		uses[file] = map[string]string{}
		for _, it := range items(text) {
			for _, n := range name.FindAllString(it.body, -1) {
				if to := home[n]; to != "" && to != file {
					uses[file][to] = n
				}
			}
		}
	}
	return uses
}

// circles returns the sets of files that call each other, directly or through others.
func circles(uses map[string]map[string]string) []string {
	reach := map[string]map[string]bool{}
	var visit func(from, at string)
	visit = func(from, at string) {
		for to := range uses[at] {
			if !reach[from][to] {
				reach[from][to] = true
				visit(from, to)
			}
		}
	}
	for file := range uses {
		reach[file] = map[string]bool{}
		visit(file, file)
	}
	found := map[string]bool{}
	for file := range uses {
		var circle []string
		for other := range uses {
			if reach[file][other] && reach[other][file] {
				circle = append(circle, other)
			}
		}
		if len(circle) > 0 {
			slices.Sort(circle)
			found[strings.Join(circle, " ")] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Files call each other in one direction.
func TestCircles(t *testing.T) {
	uses := calls(sources(t))
	for _, circle := range circles(uses) {
		files := strings.Fields(circle)
		var why []string
		for _, from := range files {
			for _, to := range slices.Sorted(maps.Keys(uses[from])) {
				if slices.Contains(files, to) {
					why = append(why, from+" uses "+uses[from][to]+" of "+to)
				}
			}
		}
		t.Errorf("a circle: %s\n\t%s", circle, strings.Join(why, "\n\t"))
	}
}
