// Package tool holds what the commands of this module need of package posixtrace and other programs do
// not: the directory in which programs leave events that they cannot record themselves. It has
// no promise of stability. It may change or disappear in any release.
package tool

import (
	"os"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/hook"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
)

// body has the bodies of the functions of this package, which posixtrace implements.
var body = hook.Calls.(interface {
	BeforeShutdown(f func(s *posixtrace.Stream, ended int64))
	RewriteCommandLine(f func(argv []string) []string)
	Create(by hook.Controller, pid int, attr *posixtrace.Attr, log *os.File) (*posixtrace.Stream, error)
	Start(s *posixtrace.Stream, at Point) error
	Stop(s *posixtrace.Stream, at Point) error
	SetFilter(s *posixtrace.Stream, set posixtrace.EventSet, how posixtrace.FilterHow, at Point) error
	Clear(s *posixtrace.Stream, around func(discard func())) error
	Shutdown(s *posixtrace.Stream, at Point) error
	NextBatch(l *posixtrace.Log, b *posixtrace.Batch) error
	Lose(r *posixtrace.Recorder, n uint64)
	OweRecorder(r *posixtrace.Recorder, id posixtrace.EventID, owing bool)
	OweProcess(p *posixtrace.Process, id posixtrace.EventID, owing bool)
	ForgetDirectory()
})

// SpoolDir returns the path of the spool directory of the stream whose file is streamPath
// (StreamInfo.Path). Programs that cannot map the stream leave their events in files of that directory,
// and a command records them. A command creates the directory. The package does not read it, and removes
// it and its files with the stream.
//
// sealed is the path that a command may rename the directory to before the stream is removed:
// programs then no longer find it. Both paths are "" if streamPath is not the path of a stream's file.
// SpoolDir is safe for concurrent use.
func SpoolDir(streamPath string) (dir, sealed string) {
	dir, ok := registry.SpoolDir(streamPath)
	if !ok {
		return "", ""
	}
	sealed, _ = registry.SealedSpoolDir(streamPath)
	return dir, sealed
}

// BeforeShutdown sets the function that this process calls before it shuts a stream down, while the
// stream still records. ended is 0 unless the stream's owner is dead and this process shuts the stream
// down in its place, as List, Attach, NewReader and the create functions do: then it is the time of the last
// sign of life, in nanoseconds since the Epoch, and f must do no more than record events no later than
// what they are about. f may be called more than once for a stream, and by several goroutines at a time.
func BeforeShutdown(f func(s *posixtrace.Stream, ended int64)) { body.BeforeShutdown(f) }

// RewriteCommandLine sets the function that returns the command line to be recorded for the streams
// that this process creates, from its own one.
func RewriteCommandLine(f func(argv []string) []string) { body.RewriteCommandLine(f) }

// Lose adds n to the events that the stream of r has lost (posixtrace.Status.Lost), for events that
// never reached it. A suspended stream does not count them: it would not have recorded them. Like the
// methods of r, Lose is not safe for concurrent use with them.
func Lose(r *posixtrace.Recorder, n uint64) { body.Lose(r, n) }

// Owe announces that this process has accepted an event of type id, such as a line whose end it has not
// read, and will record it by r. If the process is killed before it calls Owe with owing false, the event
// counts as lost. r owes at most one event; closing r ends what it owes. Like the methods of r, Owe is
// not safe for concurrent use with them.
func Owe[R *posixtrace.Recorder | *posixtrace.Process](r R, id posixtrace.EventID, owing bool) {
	switch r := any(r).(type) {
	case *posixtrace.Recorder:
		body.OweRecorder(r, id, owing)
	case *posixtrace.Process:
		body.OweProcess(r, id, owing)
	}
}

// Controller is a process on whose behalf this one creates and controls streams, as the agent of the C
// library does. The death of either process shuts the streams down.
type Controller struct {
	PID     int
	Command string // its command line, the arguments separated by zero bytes
}

// Create is posixtrace.Create, and posixtrace.CreateWithLog unless log is nil, for a controller. pid 0
// means the controller.
func (c *Controller) Create(pid int, attr *posixtrace.Attr, log *os.File) (*posixtrace.Stream, error) {
	return body.Create(hook.Controller{PID: c.PID, Command: c.Command}, pid, attr, log)
}

// Point is the trace point of a controller's call: process, thread and address.
type Point = hook.Point

// Start, Stop, SetFilter and Shutdown are the methods of Stream, for a call that another process makes at
// a trace point.
func Start(s *posixtrace.Stream, at Point) error    { return body.Start(s, at) }
func Stop(s *posixtrace.Stream, at Point) error     { return body.Stop(s, at) }
func Shutdown(s *posixtrace.Stream, at Point) error { return body.Shutdown(s, at) }

// Clear is the method of Stream for a caller that has read ahead: it discards the events within a call of
// around, which it makes when it waits for no other process any more.
func Clear(s *posixtrace.Stream, around func(discard func())) error { return body.Clear(s, around) }

// SetFilter is described with Start.
func SetFilter(s *posixtrace.Stream, set posixtrace.EventSet, how posixtrace.FilterHow, at Point) error {
	return body.SetFilter(s, set, how, at)
}

// ForgetDirectory makes later control calls use the trace directory that $PTRACE_DIR names by then. Trace points
// stay where they are. It is for tests that play several processes in one.
func ForgetDirectory() { body.ForgetDirectory() }

// NextBatch fills b with the next events of a log, as Reader.NextBatch does.
func NextBatch(l *posixtrace.Log, b *posixtrace.Batch) error { return body.NextBatch(l, b) }
