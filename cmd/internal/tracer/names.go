package tracer

import (
	"path"
	"strconv"
)

//go:generate go run gen_names.go

// Prefix is what the names of the event types of system calls begin with.
const Prefix = "syscall."

// callName is the name of a system call; those that are newer than the table have
// their number for one.
func callName(nr int) string {
	if nr >= 0 && nr < len(names) && names[nr] != "" {
		return names[nr]
	}
	return strconv.Itoa(nr)
}

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
