package output

import (
	"cmp"
	"slices"
)

type chromeProcess struct {
	name   string
	pid    int
	parent int
	order  int          // of the first event that refers to the process
	spans  []*laneState // lanes for spans with keys and for spans that do not nest in their thread
}

// processName returns the program of a process. A process that executed none is a fork of the one that
// created it.
func (c *Chrome) processName(pid int) string {
	if p := c.processes[pid]; p != nil {
		fork := ""
		for p.name == "" {
			parent := c.processes[p.parent]
			if parent == nil || parent.order >= p.order {
				break
			}
			p, fork = parent, " (fork)"
		}
		if p.name != "" {
			return p.name + fork
		}
	}
	if pid == 0 {
		return "stream"
	}
	return "process"
}

// processOrder numbers the processes in the order of their tree: each comes before its
// children, and these before its next sibling.
func (c *Chrome) processOrder() map[int]int {
	// Those of nil have a parent that is unknown, or not older than the child. No number says so: where
	// an int has 32 bits, a log may have a process -1.
	children := map[*chromeProcess][]*chromeProcess{}
	for _, p := range c.processes {
		parent := c.processes[p.parent]
		if parent != nil && parent.order >= p.order {
			parent = nil
		}
		children[parent] = append(children[parent], p)
	}
	order := map[int]int{}
	stack := []*chromeProcess{nil}
	for len(stack) > 0 {
		parent := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if parent != nil {
			order[parent.pid] = len(order)
		}
		list := children[parent]
		slices.SortFunc(list, func(x, y *chromeProcess) int { return cmp.Compare(y.order, x.order) })
		stack = append(stack, list...)
	}
	return order
}

// process returns the state of a process, nil if there are too many.
func (c *Chrome) process(pid int) *chromeProcess {
	if c.running != nil && c.running.pid == pid {
		return c.running
	}
	p := c.processes[pid]
	if p == nil && len(c.processes) < maxLanes {
		p = &chromeProcess{pid: pid, parent: -1, order: len(c.processes)}
		c.processes[pid] = p
	}
	c.running = p
	return p
}
