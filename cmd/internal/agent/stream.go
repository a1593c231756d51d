package agent

import (
	"os"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// open serves the requests that make a handle.
func (a *agent) open(c *call) {
	trid, err := a.opened(c)
	if err == nil {
		c.c.Trid = trid
	}
	c.finish(err)
}

func (a *agent) opened(c *call) (uint64, error) {
	dir := string(c.c.Data[wire.DirAt:min(wire.DirAt+c.length, len(c.c.Data))])
	var f *os.File
	if c.op == wire.OpOpen || c.args[2] != 0 {
		var err error
		if f, err = a.fds.take(c.args[2]); err != nil {
			return 0, err
		}
		defer f.Close()
	}
	// A program that has given up rights since it started the agent must not use the agent's.
	switch now, err := rightsOf(a.by.PID); {
	case err != nil:
		return 0, err
	case now != a.rights:
		return 0, syscall.EPERM
	}
	a.use(dir)
	if c.op == wire.OpOpen {
		return a.openLog(f)
	}
	attr, err := tool.TakeAttr(c.c.Data[:], c.args[1])
	if err != nil {
		return 0, err
	}
	return a.create(int(int32(c.args[0])), &attr, f)
}

// use makes the controller's trace directory that of this process. A controller has one.
func (a *agent) use(dir string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if os.Getenv("PTRACE_DIR") != dir {
		os.Setenv("PTRACE_DIR", dir)
	}
}

func (a *agent) create(pid int, attr *posixtrace.Attr, f *os.File) (uint64, error) {
	s, err := a.by.Create(pid, attr, f)
	if err != nil {
		return 0, err
	}
	h := &streamHandle{s: s, logged: f != nil}
	if at, err := s.Attr(); err == nil {
		h.size = max(at.MaxDataSize, at.MaxSystemEventSize())
	}
	id, err := a.add(h)
	if err != nil {
		s.Shutdown()
	}
	return id, err
}

// quick reports whether a request, as a rule, is served without a wait.
func (h *streamHandle) quick(op uint32) bool {
	switch op {
	case wire.OpNext, wire.OpTryNext, wire.OpStatus, wire.OpGetFilter, wire.OpAttr:
		return true
	case wire.OpStart, wire.OpStop, wire.OpSetFilter, wire.OpName, wire.OpNextType, wire.OpRewindTypes:
		return !h.logged
	}
	return false
}

func (a *agent) onStream(c *call, h *streamHandle) {
	s := h.s
	var err error
	switch c.op {
	case wire.OpNext, wire.OpTryNext:
		h.next(c)
		return
	case wire.OpStart:
		err = tool.Start(s, c.at)
	case wire.OpStop:
		err = tool.Stop(s, c.at)
	case wire.OpClear:
		err = h.clear()
	case wire.OpFlush:
		err = s.Flush()
	case wire.OpShutdown:
		err = tool.Shutdown(s, c.at)
		a.remove(c.trid)
	case wire.OpGetFilter:
		var set posixtrace.EventSet
		if set, err = s.Filter(); err == nil {
			*in[words](c) = wordsOf(&set)
		}
	case wire.OpSetFilter:
		set := setOf(*in[words](c))
		if c.args[0] > uint64(posixtrace.FilterSub) {
			err = syscall.EINVAL
		} else {
			err = tool.SetFilter(s, set, posixtrace.FilterHow(c.args[0]), c.at)
		}
	case wire.OpOpenID:
		var id posixtrace.EventID
		if id, err = s.EventID(string(c.text())); err == nil {
			c.c.Args[0] = uint64(id)
		}
	case wire.OpAttr:
		err = c.giveAttr(s.Attr())
	case wire.OpStatus:
		err = c.giveStatus(s.Status())
	case wire.OpName:
		err = c.giveName(s.EventName(posixtrace.EventID(c.args[0])))
	case wire.OpNextType:
		err = c.giveType(s.NextEventType())
	case wire.OpRewindTypes:
		err = s.RewindEventTypes()
	default:
		err = syscall.EINVAL
	}
	c.finish(err)
}

func (c *call) giveAttr(a posixtrace.StreamAttr, err error) error {
	if err != nil {
		return err
	}
	tool.GiveAttr(c.c.Data[:], &a)
	return nil
}

func (c *call) giveStatus(s posixtrace.Status, err error) error {
	if err != nil {
		return err
	}
	*in[wire.Status](c) = wire.Status{
		Running: uint32(s.StreamStatus), Full: uint32(s.StreamFullStatus), Overrun: uint32(s.StreamOverrunStatus),
		Flushing: uint32(s.StreamFlushStatus), FlushError: uint32(s.StreamFlushError),
		LogOverrun: uint32(s.LogOverrunStatus), LogFull: uint32(s.LogFullStatus), MissedError: uint32(s.MissedError),
		Missed: s.Missed, Lost: s.Lost, LogLost: s.LogLost,
	}
	return nil
}

func (c *call) giveName(name string, err error) error {
	if err == nil {
		// A log may have longer names, and the caller takes a name up to a zero byte.
		name, _, _ = strings.Cut(name[:min(len(name), posixtrace.EventNameMax)], "\x00")
		c.c.Length = uint64(copy(c.c.Data[:], name))
	}
	return err
}

func (c *call) giveType(id posixtrace.EventID, ok bool, err error) error {
	if err == nil {
		c.c.Args[0], c.c.Args[1] = uint64(id), 1
		if ok {
			c.c.Args[1] = 0
		}
	}
	return err
}
