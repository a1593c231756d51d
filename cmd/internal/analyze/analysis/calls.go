package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

const callPrefix = "syscall."

// Call has the system calls of one name.
type Call struct {
	Name   string
	Calls  uint64
	Errors uint64
	Times  Times // of calls with a known duration
}

type calls struct{ byName map[string]*Call }

func (c *calls) init() { c.byName = map[string]*Call{} }

func (c *calls) of(name string) *Call {
	n := c.byName[name]
	if n == nil {
		n = &Call{Name: name}
		c.byName[name] = n
	}
	return n
}

// callHeader is the size of the data of a system call without its arguments.
const callHeader = 24

// add adds a call and returns its data without arguments, those of a call that returned if they are malformed.
func (c *Call) add(data []byte) posixtrace.SyscallData {
	c.Calls++
	d, err := posixtrace.DecodeSyscall(data[:min(len(data), callHeader)])
	if err != nil {
		return posixtrace.SyscallData{Returned: true}
	}
	if d.Errno != 0 {
		c.Errors++
	}
	c.Times.Add(int64(d.Duration))
	return d
}

// Calls returns the system calls, the longest total first.
func (a *Analysis) Calls() []*Call {
	list := slices.Collect(maps.Values(a.calls.byName))
	list = slices.DeleteFunc(list, func(c *Call) bool { return c.Calls == 0 })
	slices.SortFunc(list, func(x, y *Call) int {
		return cmp.Or(cmp.Compare(y.Times.Total, x.Times.Total), cmp.Compare(y.Calls, x.Calls), cmp.Compare(x.Name, y.Name))
	})
	return list
}
