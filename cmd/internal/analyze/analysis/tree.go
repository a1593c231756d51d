// The commands, spans and system calls of a run as one tree, the chain of them that decided how
// long the run took, and how many processes were at work over time.
//
// build.go builds the tree from the intervals that an analysis reports, prune.go bounds its size,
// chain.go has the chain, work.go the processes at work.

package analysis

import (
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// None is the index of no node.
const None = -1

// Node is an interval in a tree.
type Node struct {
	Start, End int64

	// Indices of nodes, or None. Siblings are in the order of their start.
	Parent, First, Next int32

	Source   int32
	PID, TID int32
	Status   int32
	Signal   int16
	Errno    int16
	Kind     Kind
	State    State
	Failed   bool
	Overlaps bool
	// Tolerated is set for a command that failed, and did not make the first command of its log fail.
	Tolerated bool
	Forked    bool

	// TimedOut says that a time limit passed while the interval ran; it is not set of what ended then by
	// itself. The first command of a log, whose limit it is, has the limit in Limit, and has Failed.
	TimedOut bool
	Limit    int64

	CPU, Memory int64
	Delay       int64
	Name        string
	Error       string // of a span that failed, the text of its error; "" if it failed with a status

	// Inside were intervals that the tree has left out, with the longest time of one and the sum of
	// all.
	Omitted        int64
	OmittedLongest int64
	OmittedTime    int64

	data       []byte
	fate       Fate
	id, parent uint64
}

// Duration returns the time from start to end.
func (n *Node) Duration() int64 { return length(n.Start, n.End) }

// length returns the time from one moment to a later one, 0 if it is not later. The moments come from
// a log: their difference may exceed the range.
func length(from, to int64) int64 {
	if to <= from {
		return 0
	}
	return int64(min(uint64(to)-uint64(from), 1<<63-1))
}

// ID returns the number that the analysis gave the interval.
func (n *Node) ID() uint64 { return n.id }

// Data returns the data of proc.exec of a command, the first bytes of that of a span's begin.
func (n *Node) Data() []byte { return n.data }

// Argv returns path and arguments of a command, which may be incomplete.
func (n *Node) Argv() (path string, argv []string) {
	if d, err := posixtrace.DecodeExec(n.data); err == nil {
		return d.Path, d.Argv
	}
	return "", nil
}

// Tree is the tree of a run, or of several. A parent is before its children in Nodes.
type Tree struct {
	Nodes []Node
	First int32 // the first of those without a parent, or None

	// Omitted counts the intervals that the tree has left out because there are too many, also
	// those inside no node.
	Omitted int64

	Start, End int64 // of the first and last event

	order  []int32 // all nodes by their start
	labels *Labels
}

// Label returns what a node is called: program and arguments, name and data. It is untrusted text.
func (t *Tree) Label(i int32) string {
	n := &t.Nodes[i]
	switch {
	case n.Kind == SpanKind:
		return SpanLabel(n.Name, n.data)
	case n.Kind == CallKind:
		return n.Name
	case n.Name == "":
		return ""
	}
	return t.labels.Of(n.data, n.Forked)
}

// IsStep reports whether a node is a step of a script, whose label begins with its place.
func (t *Tree) IsStep(i int32) bool {
	n := &t.Nodes[i]
	return n.Kind == SpanKind && n.Name == StepSpan && isStep(n.data)
}

// Children calls f for each child of a node, or for each node without a parent if i is None, until
// it returns false.
func (t *Tree) Children(i int32, f func(int32) bool) {
	c := t.First
	if i != None {
		c = t.Nodes[i].First
	}
	for ; c != None; c = t.Nodes[c].Next {
		if !f(c) {
			return
		}
	}
}
