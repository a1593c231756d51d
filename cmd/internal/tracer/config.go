package tracer

// Want says what a tracer records.
type Want struct {
	Proc   bool  // proc.fork, proc.exec, proc.exit
	Signal bool  // proc.signal
	All    bool  // every system call
	Calls  []int // these system calls, by number
}

// Any reports whether there is anything to trace.
func (w *Want) Any() bool { return w.Proc || w.Signal || w.calls() }

func (w *Want) calls() bool { return w.All || len(w.Calls) > 0 }

// Filtered reports whether a filter is worth it. Where every call stops there is
// nothing to filter, and nothing that would have to stay for ever.
func (w *Want) Filtered() bool { return !w.All && len(w.Calls) > 0 }

// Config is what a tracer is told.
type Config struct {
	Stream  string // its path
	Want    Want
	Alone   bool // record the command itself only, not its children
	MaxData int  // longer data would be cut
}
