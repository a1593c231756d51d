// Package destination finds the streams that ptrace-event writes to: those that trace a process, or one
// stream on behalf of a process. It imports no library of the command line, so that package plain
// starts fast.
package destination

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// Target is a connection to the streams.
type Target struct {
	Refused bool // no stream took an event

	// Rewrite, if not nil, replaces the secrets in a name or in data. cut: only the beginning is known.
	Rewrite func(text []byte, cut bool) []byte

	pid     int
	tid     int
	process *posixtrace.Process
	stream  *posixtrace.Stream
	rec     *posixtrace.Recorder
	ids     map[string]posixtrace.EventID
}

// Stream returns the target for one stream, on behalf of process pid. It takes the stream over.
func Stream(s *posixtrace.Stream, pid int) (*Target, error) {
	rec, err := s.Recorder()
	if err != nil {
		s.Close()
		return nil, err
	}
	return &Target{pid: pid, tid: pid, stream: s, rec: rec}, nil
}

// Process returns the target for the streams that trace process pid, which must exist.
func Process(pid int) (*Target, error) {
	p, err := posixtrace.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	return &Target{pid: pid, process: p}, nil
}

// Script returns the target for the script that the command acts for. If no stream traces the
// script, the target takes no events.
func Script() *Target {
	pid := procfs.Script()
	t, err := Process(pid)
	if err != nil {
		t = &Target{pid: pid}
	}
	if path := os.Getenv("PTRACE_STREAM"); path != "" && (t.process == nil || !slices.Contains(t.process.Streams(), path)) {
		t.actForSelf(path)
	}
	return t
}

// actForSelf makes this process the one to act for if the stream in $PTRACE_STREAM traces
// this process and not the script. This happens when the script became this process: a
// shell may run its last command without a fork, and a command may be traced without a
// script around it.
func (t *Target) actForSelf(stream string) {
	self, err := posixtrace.OpenProcess(os.Getpid())
	if err != nil {
		return
	}
	if !slices.Contains(self.Streams(), stream) {
		self.Close()
		return
	}
	if t.process != nil {
		t.process.Close()
	}
	t.process, t.pid = self, os.Getpid()
}

// SetThread makes tid the thread of later events, in place of the process's pid.
func (t *Target) SetThread(tid int) {
	t.tid = tid
	if t.process != nil {
		t.process.SetThread(tid)
	}
}

// Event records one event. Its error concerns the name only.
func (t *Target) Event(name string, data []byte) error { return t.CutEvent(name, data, false) }

// CutEvent records an event like Event. Its data may be only the beginning of what the event is about.
func (t *Target) CutEvent(name string, data []byte, cut bool) error {
	id, err := t.ID(name)
	if err != nil {
		return err
	}
	if t.Rewrite != nil {
		data = t.Rewrite(data, cut)
	}
	if !t.Record(id, data) {
		t.Refused = true
	}
	return nil
}

// Streams returns the paths of the streams that take the events.
func (t *Target) Streams() []string {
	switch {
	case t.stream != nil:
		if info, err := t.stream.Info(); err == nil {
			return []string{info.Path}
		}
	case t.process != nil:
		return t.process.Streams()
	}
	return nil
}

// Record records one event and reports whether a stream took it.
func (t *Target) Record(id posixtrace.EventID, data []byte) bool {
	switch {
	case t.rec != nil:
		return t.rec.Record(posixtrace.EventInfo{ID: id, PID: t.pid, TID: t.tid}, data)
	case t.process != nil:
		return t.process.Event(id, data) > 0
	}
	return false
}

// Owe announces an event to be recorded later, as tool.Owe does.
func (t *Target) Owe(id posixtrace.EventID, owing bool) {
	switch {
	case t.rec != nil:
		tool.Owe(t.rec, id, owing)
	case t.process != nil:
		tool.Owe(t.process, id, owing)
	}
}

// ID returns the id of an event name, or 0 without a stream.
func (t *Target) ID(name string) (id posixtrace.EventID, err error) {
	if t.Rewrite != nil {
		name = string(t.Rewrite([]byte(name), false))
	}
	if id, ok := t.ids[name]; ok {
		return id, nil
	}
	switch {
	case t.stream != nil:
		id, err = t.stream.EventID(name)
	case t.process != nil && len(t.process.Streams()) > 0:
		id, err = t.process.OpenEventID(name)
	default:
		return 0, nil
	}
	switch {
	case errors.Is(err, syscall.ENAMETOOLONG):
		return 0, fmt.Errorf("event name of more than %d bytes", posixtrace.EventNameMax)
	case err != nil:
		// The process or the stream is gone: no stream takes the event.
		return 0, nil
	case id.System():
		return 0, fmt.Errorf("%s: the name of a system event", name)
	}
	if t.ids == nil || len(t.ids) >= posixtrace.UserEventMax {
		t.ids = map[string]posixtrace.EventID{}
	}
	t.ids[name] = id
	return id, nil
}

// New reports whether a stream takes events, and none knows an event type of this name yet.
func (t *Target) New(name string) bool {
	list := []*posixtrace.Stream{t.stream}
	if t.process != nil {
		list = nil
		for _, path := range t.process.Streams() {
			s, err := posixtrace.Attach(path)
			if err != nil {
				return false
			}
			defer s.Close()
			list = append(list, s)
		}
	}
	for _, s := range list {
		if s == nil {
			return false
		}
		types, err := s.EventTypes()
		if err != nil || slices.ContainsFunc(types, func(e posixtrace.EventType) bool { return e.Name == name }) {
			return false
		}
	}
	return len(list) > 0
}

// Close ends the connection.
func (t *Target) Close() {
	if t.rec != nil {
		t.rec.Close()
	}
	if t.stream != nil {
		t.stream.Close()
	}
	if t.process != nil {
		t.process.Close()
	}
}
