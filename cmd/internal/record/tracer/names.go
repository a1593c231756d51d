//go:build linux

package tracer

import "path"

//go:generate go run gen_names.go

// CallsOf returns the numbers of the system calls whose names match a pattern of path.Match.
func CallsOf(pattern string) (nrs []int) {
	for nr, name := range names {
		if name == "" {
			continue
		}
		if ok, err := path.Match(pattern, name); err == nil && ok {
			nrs = append(nrs, nr)
		}
	}
	return nrs
}

// Names returns the names of the system calls, by their numbers.
func Names() (list []string) {
	for _, name := range names {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}
