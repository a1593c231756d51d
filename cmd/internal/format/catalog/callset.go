// The classes of system calls. classes.go has the table.

package catalog

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Prefix starts the name of a class.
const CallPrefix = '%'

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

// CallNames returns the names of the calls of a class; ok is false if there is no such class.
func CallNames(class string) (names []string, ok bool) {
	names, ok = sets()[class]
	return slices.Clone(names), ok
}

// HasCall reports whether a class has a call of this name.
func HasCall(class, name string) bool {
	_, ok := slices.BinarySearch(sets()[class], name)
	return ok
}

// CallClasses returns the names of all classes, sorted.
func CallClasses() []string { return slices.Sorted(maps.Keys(sets())) }
