package tracer

import "path"

//go:generate go run gen_names.go

// Prefix is what the names of the event types of system calls begin with.
const Prefix = "syscall."

// CallsOf returns the numbers of the system calls whose names a pattern matches.
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
