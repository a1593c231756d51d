// Package hook connects packages posixtrace and tool without an import in the direction from
// posixtrace to tool.
package hook

// Calls has the calls of package tool as methods of a value whose type posixtrace knows alone. posixtrace
// sets it when it is initialized. Package tool declares the interface, whose methods take the types of
// posixtrace.
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
