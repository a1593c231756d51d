// Package hook connects packages posixtrace and tool without an import in the direction from
// posixtrace to tool. The types of posixtrace pass through it as any.
package hook

import "sync/atomic"

// BeforeShutdown is the function that tool.BeforeShutdown has set, or nil. stream is a
// *posixtrace.Stream. posixtrace calls it.
var BeforeShutdown atomic.Pointer[func(stream any, ended int64)]

// CommandLine is the function that tool.RewriteCommandLine has set, or nil. posixtrace calls it.
var CommandLine atomic.Pointer[func(argv []string) []string]

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

// The bodies of the functions of package tool with the same names. posixtrace sets them when it is
// initialized. stream is a *posixtrace.Stream.
var (
	Create    func(by Controller, pid int, attr any, log any) (stream any, err error)
	Start     func(stream any, at Point) error
	Stop      func(stream any, at Point) error
	SetFilter func(stream, set, how any, at Point) error
	Clear     func(stream any, around func(discard func())) error
	Shutdown  func(stream any, at Point) error
	NextBatch func(log, batch any) error

	ForgetDirectory func()
)

// Lose is the body of tool.Lose. recorder is a *posixtrace.Recorder. posixtrace sets it when it is
// initialized.
var Lose func(recorder any, n uint64)

// Owe is the body of tool.Owe. recorder is a *posixtrace.Recorder or a *posixtrace.Process, id an
// EventID. posixtrace sets it when it is initialized.
var Owe func(recorder any, id uint32, owing bool)
