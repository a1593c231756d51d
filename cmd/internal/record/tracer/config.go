//go:build linux

package tracer

// Want selects what a tracer records.
type Want struct {
	Proc   bool  // proc.fork, proc.exec, proc.exit
	Signal bool  // proc.signal
	All    bool  // every system call
	Calls  []int // these system calls, by number
	Files  bool  // file.access
	Make   bool  // a span for each line of a recipe of make
	Paths  bool  // what the descriptors of system calls refer to, and the standard ones of programs
	Stack  bool  // with system calls: the stacks of calls that lead to them

	Environment bool // with proc.exec: the values of variables that differ from those of the parent
}

// Any reports whether there is anything to trace.
func (w *Want) Any() bool { return w.Proc || w.Signal || w.Make || w.calls() }

func (w *Want) calls() bool { return w.All || w.Files || len(w.Calls) > 0 }

// Filtered reports whether the tracer uses a seccomp filter: if it records some calls, or what some
// calls do with files, but not all calls. Without a filter the tracer can detach.
func (w *Want) Filtered() bool { return !w.All && w.calls() }

// Config is the configuration of a tracer.
type Config struct {
	Stream  string // its path
	Want    Want
	Alone   bool // record the command only, not its children
	MaxData int  // the stream truncates longer data

	// Attach is a process that runs already, 0 for a command that starts. Then the tracer can
	// record every type, and Want is only the first filter of the stream.
	Attach int
	Start  bool // start the stream when it has that filter
	Stay   bool // until the stream is shut down, even if the process that started the tracer ends
}
