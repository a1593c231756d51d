// Package hook connects packages posixtrace and tool without an import in the direction from
// posixtrace to tool.
package hook

// Calls is a value of posixtrace, set when that is initialized. Its methods are the bodies of the functions of
// package tool, which declares them as an interface: only these two packages know the types that they take.
var Calls any

// Point is the trace point of a control call that one process makes on behalf of another.
type Point struct {
	PID, TID uint32
	Addr     uint64
}

// Controller is a process on whose behalf another creates streams.
type Controller struct {
	PID     int
	Command string // its command line, as /proc/PID/cmdline has it
}
