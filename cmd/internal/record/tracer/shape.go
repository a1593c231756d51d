package tracer

import (
	"slices"
	"sync"
)

// Prefix starts the names of the event types of system calls.
const Prefix = "syscall."

// Shape is what an analyzer needs to know of the arguments of a system call.
type Shape struct {
	Entered int  // how many arguments, the first ones, are known when the call begins
	Paths   uint // a bit for each argument that is a path, which is not cut
}

var shapes = sync.OnceValue(func() map[string]Shape {
	m := make(map[string]Shape, len(calls)+len(plainCalls))
	for _, c := range slices.Concat(calls, plainCalls) {
		s := Shape{Entered: len(c.args)}
		for i, k := range c.args {
			if k.returned() {
				s.Entered = min(s.Entered, i)
			}
			if k == kPath || k == kLink {
				s.Paths |= 1 << i
			}
		}
		m[c.name] = s
	}
	return m
})

// ShapeOf returns the shape of a system call by its name.
func ShapeOf(name string) Shape {
	if s, ok := shapes()[name]; ok {
		return s
	}
	return Shape{Entered: len(unknownCall)}
}
