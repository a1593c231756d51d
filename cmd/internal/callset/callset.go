// Package callset knows the classes of system calls, such as %file, by the names that strace(1)
// gives them.
package callset

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Prefix starts the name of a class.
const Prefix = '%'

// sets has the names of the calls of each class, sorted.
var sets = sync.OnceValue(func() map[string][]string {
	m := make(map[string][]string, len(classes)+1)
	for class, names := range classes {
		list := strings.Fields(names)
		slices.Sort(list)
		m["%"+class] = list
	}
	m["%net"] = m["%network"]
	return m
})

// Names returns the names of the calls of a class; ok is false if there is no such class.
func Names(class string) (names []string, ok bool) {
	names, ok = sets()[class]
	return slices.Clone(names), ok
}

// Has reports whether a class has a call of this name.
func Has(class, name string) bool {
	_, ok := slices.BinarySearch(sets()[class], name)
	return ok
}

// Classes returns the names of all classes, sorted.
func Classes() []string { return slices.Sorted(maps.Keys(sets())) }
