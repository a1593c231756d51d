package main

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// What spans and events a log must become, computed from the lines of ptrace-dump -j in another way
// than ptrace-export does: with all events in memory, and by search.

var signals = map[int]string{9: "KILL", 11: "SEGV", 15: "TERM"}

// dumped is a line of ptrace-dump -j.
type dumped struct {
	Sec, Nsec    int64
	PID, TID     int
	Event        string
	ID           int
	Class        string
	Address      string
	Span, Parent string
	Data         *string
	DataBase64   *string `json:"data_base64"`
	Child        int
	Kind         string
	Path         string
	Status       int
	Signal       int
	TraceID      string `json:"trace_id"`
	SpanID       string `json:"span_id"`
	ParentSpanID string `json:"parent_span_id"`

	used bool // begins or ends a span
}

func (d *dumped) time() int64 { return d.Sec*1e9 + d.Nsec }

// inShell reports whether a shell has recorded an event.
func (d *dumped) inShell() bool { return strings.HasPrefix(d.Address, "0x8") && len(d.Address) == 18 }

// node is a span as it must be.
type node struct {
	name     string
	from, to int // places of its events in the log; to is that behind the last one if it has no end
	start    int64
	end      int64
	home     int // the process that it is in; of a process, itself
	forker   int // of a process, 0 if not known
	process  bool
	named    string // the key of the span around it
	key      string
	failed   bool
	message  string
	id       string // from a trace context
	outer    string // the id of the span around it, from a trace context
	trace    string
	parent   *node
}

// text is what Jaeger must show of a span.
func (n *node) text() string {
	parent := "none"
	switch {
	case n.parent != nil:
		parent = fmt.Sprintf("%s %d", n.parent.name, n.parent.start/1000)
	case n.outer != "":
		parent = "outside " + n.outer
	}
	return fmt.Sprintf("%s start %d duration %d failed %v %q in %s", n.name, n.start/1000, (n.end-n.start)/1000, n.failed, n.message, parent)
}

// happening is an event that is no end of a span.
type happening struct {
	name string
	time int64 // microseconds
}

// story returns the spans and the other events of a log.
func story(lines []*dumped) (nodes []*node, rest []happening, err error) {
	processes, err := processesOf(lines)
	if err != nil {
		return nil, nil, err
	}
	alive := func(pid, at int) *node {
		if p := processes[pid]; p != nil && p.from <= at && at < p.to {
			return p
		}
		return nil
	}
	users, err := pairs(lines, alive)
	if err != nil {
		return nil, nil, err
	}
	var root *node
	for _, p := range processes {
		if p.forker == 0 {
			if root != nil {
				return nil, nil, fmt.Errorf("two processes without parent: %s and %s", root.name, p.name)
			}
			root = p
		}
		nodes = append(nodes, p)
	}
	nodes = append(nodes, users...)
	byID := map[string]*node{}
	for _, n := range nodes {
		if n.id != "" {
			byID[n.id] = n
		}
	}
	// innermost returns the span that is open in a process at a place in the log.
	innermost := func(pid, at int, not *node) *node {
		var in *node
		for _, u := range users {
			if u != not && u.home == pid && u.from < at && at < u.to && (in == nil || u.from > in.from) {
				in = u
			}
		}
		if in == nil {
			in = alive(pid, at)
		}
		if in == nil {
			in = root
		}
		return in
	}
	for _, n := range nodes {
		switch {
		case n.outer != "":
			n.parent = byID[n.outer]
		case n == root:
		case n.process:
			n.parent = innermost(n.forker, n.from, n)
		case n.named != "":
			n.parent = innermost(n.home, n.from, n)
			for _, u := range users {
				if u.key == n.named && (u.home == n.home || processes[n.home] == nil || processes[n.home].from < u.from) {
					n.parent = u
				}
			}
		default:
			n.parent = innermost(n.home, n.from, n)
		}
	}
	for _, d := range lines {
		if !d.used {
			rest = append(rest, happening{d.Event, d.time() / 1000})
		}
	}
	return nodes, rest, nil
}

// context gives a span the ids of the trace context that is described before it.
func (n *node) context(lines []*dumped, at int) {
	for i := at - 1; i >= 0; i-- {
		if d := lines[i]; d.PID == lines[at].PID && d.TID == lines[at].TID {
			if d.Event == "proc.context" {
				n.trace, n.id, n.outer = d.TraceID, d.SpanID, d.ParentSpanID
			}
			return
		}
	}
}

func processesOf(lines []*dumped) (map[int]*node, error) {
	all := map[int]*node{}
	for i, d := range lines {
		switch {
		case d.Event == "proc.fork" && d.Kind != "thread":
			if all[d.Child] != nil {
				return nil, fmt.Errorf("process %d began twice", d.Child)
			}
			all[d.Child] = &node{process: true, from: i, to: len(lines), start: d.time(), home: d.Child, forker: d.PID}
			if p := all[d.PID]; p != nil {
				all[d.Child].name = p.name
			}
		case d.Event == "proc.exec":
			p := all[d.PID]
			if p == nil {
				p = &node{process: true, from: i, to: len(lines), start: d.time(), home: d.PID}
				all[d.PID] = p
			}
			if p.key == "" { // the first program
				p.key, d.used = "executed", true
				p.context(lines, i)
			}
			p.name = path.Base(d.Path)
		case d.Event == "proc.exit" && all[d.PID] != nil:
			p := all[d.PID]
			d.used = true
			p.to, p.end = i, d.time()
			switch {
			case d.Signal == 13: // a reader of a pipe has enough
			case d.Signal != 0:
				p.failed, p.message = true, "killed by "+signals[d.Signal]
			case d.Status != 0:
				p.failed, p.message = true, "status "+strconv.Itoa(d.Status)
			}
		}
	}
	last := lines[len(lines)-1].time()
	for _, p := range all {
		p.key = ""
		if p.to == len(lines) {
			p.end, p.failed, p.message = last, true, "unfinished"
		}
	}
	return all, nil
}

// pairs returns the spans of pairs of events.
func pairs(lines []*dumped, alive func(pid, at int) *node) (list []*node, err error) {
	type key struct {
		pid, tid  int
		name, key string
	}
	open := map[key][]*node{}
	of := func(d *dumped, name string) key {
		if d.Span != "" {
			return key{pid: d.PID, key: d.Span}
		}
		return key{pid: d.PID, tid: d.TID, name: name}
	}
	for i, d := range lines {
		if d.Class != "user" {
			continue
		}
		if name, ok := strings.CutSuffix(d.Event, ".begin"); ok {
			d.used = true
			n := &node{name: name, from: i, to: len(lines), start: d.time(), home: d.PID, named: d.Parent, key: d.Span}
			other := 0
			if d.Span != "" && d.inShell() {
				id, err := strconv.ParseUint(d.Span, 0, 64)
				if err != nil {
					return nil, err
				}
				other = int(id >> 32)
			} else if d.TID != d.PID {
				other = d.TID
			}
			if alive(other, i) != nil {
				n.home = other
			}
			n.context(lines, i)
			open[of(d, name)] = append(open[of(d, name)], n)
			list = append(list, n)
		}
		if name, ok := strings.CutSuffix(d.Event, ".end"); ok {
			k := of(d, name)
			if of := open[k]; len(of) > 0 {
				n := of[len(of)-1]
				open[k] = of[:len(of)-1]
				d.used = true
				n.to, n.end = i, d.time()
				if d.Data != nil && (d.inShell() || d.Address == "0x0") {
					if status, err := strconv.ParseUint(*d.Data, 10, 8); err == nil && status != 0 {
						n.failed, n.message = true, "status "+*d.Data
					}
				}
			}
		}
	}
	for _, n := range list {
		if n.to == len(lines) {
			n.failed, n.message, n.end = true, "unfinished", lines[len(lines)-1].time()
			if p := alive(n.home, n.from); p != nil {
				n.to, n.end = p.to, p.end
			}
		}
	}
	slices.SortFunc(list, func(x, y *node) int { return x.from - y.from })
	return list, nil
}
