package posixtrace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// generation is the generation-version of the streams this package records.
const generation = "posixtrace 1"

// maxLog bounds a log of limited size, so that positions in it cannot overflow.
const maxLog = 1 << 40

var (
	errSlots     = fmt.Errorf("too many writers on one stream: %w", syscall.EAGAIN)
	errTooMany   = fmt.Errorf("%d streams are active: %w", SysMax, syscall.EAGAIN)
	errCrowded   = fmt.Errorf("%d streams trace the process: %w", StreamsMax, syscall.EAGAIN)
	errNameInUse = fmt.Errorf("an active stream has this name: %w", syscall.EEXIST)
	errPolicy    = errors.New("a full policy that does not suit")
	errFlushOnly = errors.New("the policy flush needs a log")
)

// Create makes an active stream without log that traces process pid; 0 is the
// calling process (posix_trace_create). The stream is suspended: Start it. attr
// may be nil. The caller becomes the stream's owner: when it dies the stream is
// shut down (but see Handover). Where there is no room, streams go that processes which have
// ended have left behind (see MadeRoom).
//
// Errors: ESRCH no such process; EPERM not permitted to trace it; EAGAIN too
// many streams; ENOMEM no room; EEXIST the name is in use (Attr.Exclusive); EINVAL
// an attribute that makes no sense.
func Create(pid int, attr *Attr) (*Stream, error) {
	const op = "posix_trace_create"
	p, err := target(pid)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	s, err := create(p, attr, nil)
	return s, fail(op, err, syscall.ENOMEM)
}

// CreateWithLog is Create for a stream with a log in the file that log is open
// on for writing (posix_trace_create_withlog). The descriptor is duplicated and
// never closed. The log begins at offset 0 of a regular file.
//
// Errors: those of Create; EBADF log is not open for writing; EINVAL a file
// type that does not suit the log-full-policy; ENOSPC no room for the log.
func CreateWithLog(pid int, attr *Attr, log *os.File) (*Stream, error) {
	const op = "posix_trace_create_withlog"
	p, err := target(pid)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	if log == nil {
		return nil, &Error{Op: op, Err: syscall.EBADF}
	}
	s, err := create(p, attr, log)
	return s, fail(op, err, syscall.ENOMEM)
}

// CreateForChild makes a stream, with a log unless log is nil, for the process
// that the caller starts next: its direct child is traced from its first trace
// point on. Adopt tells the stream which process that is. Extension.
func CreateForChild(attr *Attr, log *os.File) (*Stream, error) {
	s, err := create(sys.Proc{}, attr, log)
	return s, fail("CreateForChild", err, syscall.ENOMEM)
}

// target resolves the pid of a create call and checks that it may be traced.
func target(pid int) (sys.Proc, error) {
	if pid == 0 {
		return sys.SelfProc(), nil
	}
	if pid < 0 {
		return sys.Proc{}, syscall.ESRCH
	}
	p, err := sys.Lookup(pid)
	if err != nil {
		return p, err
	}
	return p, sys.MayTrace(p)
}

// resolve turns attributes into what a stream is made from.
func resolve(attr *Attr, log *os.File) (*stream.Config, error) {
	var a Attr
	if attr != nil {
		a = *attr
	}
	c := &stream.Config{GenVersion: generation, BootID: sys.BootID(), Creator: sys.SelfProc(), PIDNS: sys.PIDNamespace()}
	switch a.StreamFullPolicy {
	case PolicyDefault:
		c.Policy = stream.Loop
		if log != nil {
			c.Policy = stream.Flush
		}
	case PolicyLoop:
		c.Policy = stream.Loop
	case PolicyUntilFull:
		c.Policy = stream.UntilFull
	case PolicyFlush:
		if log == nil {
			return nil, fmt.Errorf("%w: %w", errFlushOnly, syscall.EINVAL)
		}
		c.Policy = stream.Flush
	default:
		return nil, fmt.Errorf("%w the stream: %w", errPolicy, syscall.EINVAL)
	}
	switch a.LogFullPolicy {
	case PolicyDefault, PolicyLoop:
		c.LogPolicy = stream.Loop
	case PolicyUntilFull:
		c.LogPolicy = stream.UntilFull
	case PolicyAppend:
		c.LogPolicy = stream.Append
	default:
		return nil, fmt.Errorf("%w the log: %w", errPolicy, syscall.EINVAL)
	}
	switch a.Inheritance {
	case InheritNone:
	case InheritChildren:
		c.Inherit = true
	default:
		return nil, fmt.Errorf("inheritance %d: %w", a.Inheritance, syscall.EINVAL)
	}
	c.MaxData = a.maxData()
	if c.MaxData < 0 || a.StreamSize < 0 || a.LogSize < 0 {
		return nil, fmt.Errorf("a size below zero: %w", syscall.EINVAL)
	}
	g, ok := stream.Measure(a.streamSize(log != nil), c.MaxData, runtime.NumCPU())
	if !ok {
		return nil, fmt.Errorf("stream of %d bytes: %w", a.StreamSize, syscall.ENOMEM)
	}
	c.Geometry = g
	c.Name = cutName(a.Name)
	c.HasLog = log != nil
	if c.LogMax = a.LogSize; c.LogMax == 0 {
		c.LogMax = DefaultLogSize
	}
	if c.HasLog && c.LogPolicy != stream.Append && c.LogMax > maxLog {
		return nil, fmt.Errorf("log of %d bytes: %w", c.LogMax, syscall.EINVAL)
	}
	c.LogMax = max(c.LogMax, g.MinSize) // at least one full stream
	if sys.TrustTicks() {
		c.Clock = stream.ClockTicks
	}
	c.ClockRes = 1
	if cmd, err := os.ReadFile("/proc/self/cmdline"); err == nil {
		c.Command = strings.TrimSuffix(string(cmd), "\x00")
	}
	return c, nil
}

// create makes a stream for process p, or for the caller's next child when p is zero.
func create(p sys.Proc, attr *Attr, log *os.File) (_ *Stream, err error) {
	cfg, err := resolve(attr, log)
	if err != nil {
		return nil, err
	}
	d, err := openDir()
	if err != nil {
		return nil, err
	}
	unlock, err := d.Lock()
	if err != nil {
		return nil, ofDir(err)
	}
	defer unlock()
	made, err := tidyUp(d, false)
	if err != nil {
		return nil, ofDir(err)
	}
	if attr != nil && attr.Exclusive {
		if err := nameFree(d, cfg.Name); err != nil {
			return nil, err
		}
	}
	on, flags := p, registry.Self
	if p.PID == 0 {
		on, flags = sys.SelfProc(), registry.Child
	}
	if cfg.Inherit {
		flags |= registry.Inherit
	}
	var page *registry.Page
	more, err := inRoom(d, 0, func() (err error) {
		page, err = d.Page(on, true)
		return err
	})
	if err != nil {
		return nil, ofDir(noRoom(d, attr, log != nil, err))
	}
	defer page.Close()
	if err := ensureEntry(d, page); err != nil {
		return nil, err
	}
	made = append(made, more...)
	var f *os.File
	var id uint64
	var path string
	for _, cfg = range streamSizes(d, cfg, attr, log) {
		more, err = inRoom(d, cfg.Size, func() (err error) {
			f, id, path, err = d.NewStreamFile(cfg.Size)
			return err
		})
		made = append(made, more...)
		if !full(err) {
			break
		}
	}
	if err != nil {
		return nil, ofDir(noRoom(d, attr, log != nil, err))
	}
	var dup *os.File
	undo := func() {
		f.Close()
		d.RemoveStream(id)
		if dup != nil {
			dup.Close()
		}
	}
	if log != nil {
		if dup, err = dupLog(log, cfg); err != nil {
			undo()
			return nil, err
		}
	}
	cfg.ID = id
	b, err := sys.Map(f, int(cfg.Size), true)
	if err != nil {
		undo()
		return nil, err
	}
	m, err := stream.Format(b, cfg, false)
	if err != nil {
		sys.Unmap(b)
		undo()
		return nil, err
	}
	m.SetTarget(p)
	m.SetFamily(page.Family())
	s := newStream(newConn(d, f, m, path))
	s.madeRoom = made
	if dup != nil {
		if s.log, err = newLogOwner(s, dup, attr != nil && attr.HoldLog); err != nil {
			undo()
			return nil, err
		}
	}
	s.c.pin()
	if err = d.Publish(id); err == nil {
		if err = page.Attach(id, flags); err != nil {
			d.RemoveStream(id)
		}
	}
	if err == nil && (d.Gone() || !linked(f)) {
		// Removed since, and the mark of it with it: others do not find the stream.
		err = fmt.Errorf("stream %s: %w", path, registry.ErrGone)
	}
	if err != nil {
		if s.log != nil {
			s.log.abandon()
		}
		s.c.unpin()
		undo()
		return nil, ofDir(err)
	}
	if s.log != nil {
		go s.log.run()
	}
	return s, nil
}

// linked reports whether a file still has a name.
func linked(f *os.File) bool {
	st, err := sys.Fstat(f)
	return err != nil || st.Nlink > 0
}
