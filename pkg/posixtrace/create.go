package posixtrace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/attr"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/conn"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/owner"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/registry"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/stream"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/internal/sys"
)

// maxLog bounds a log of limited size, so that positions in it cannot overflow.
const maxLog = 1 << 40

var (
	errPolicy    = errors.New("full policy not allowed for")
	errFlushOnly = errors.New("the policy flush needs a log")
)

// Create makes an active stream without log that traces process pid, or the calling process if pid
// is 0 (posix_trace_create). The stream is suspended: Start starts it. A nil attr means the zero
// Attr. The calling process owns the stream: its death shuts the stream down (but see Handover). If
// the trace directory has no room, Create shuts down streams that ended processes have left behind
// (see MadeRoom). Create is safe for concurrent use.
//
// A process uses one trace directory, that of its first call or trace point. A change of $PTRACE_DIR after
// that is for the programs that the process executes, which its streams do not trace then.
//
// Errors: ESRCH no such process; EPERM no permission to trace it; EAGAIN too many streams (SysMax,
// StreamsMax); ENOMEM no room; EEXIST the name is in use (Attr.Exclusive); EINVAL an attribute is out of
// range. See XSH posix_trace_create.
func Create(pid int, attr *Attr) (*Stream, error) {
	const op = "posix_trace_create"
	p, err := target(pid)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	s, err := create(p, attr, nil, self())
	return s, fail(op, err, syscall.ENOMEM)
}

// CreateWithLog creates a stream with a log in the file log, which is open for writing
// (posix_trace_create_withlog). CreateWithLog duplicates the descriptor and never closes the
// caller's. In a regular file the log begins at offset 0.
//
// Errors: those of Create; EBADF log is not open for writing; EINVAL the type of the file does not suit
// Attr.LogFullPolicy; ENOSPC no room for the log.
func CreateWithLog(pid int, attr *Attr, log *os.File) (*Stream, error) {
	const op = "posix_trace_create_withlog"
	p, err := target(pid)
	if err != nil {
		return nil, fail(op, err, syscall.ESRCH)
	}
	if log == nil {
		return nil, &Error{Op: op, Err: syscall.EBADF}
	}
	s, err := create(p, attr, log, self())
	return s, fail(op, err, syscall.ENOMEM)
}

// CreateForChild makes a stream for the process that the caller starts next, with a log unless log
// is nil. The stream traces that child from its first trace point on. Adopt names the child once it
// runs. Errors: those of Create and CreateWithLog. Extension.
func CreateForChild(attr *Attr, log *os.File) (*Stream, error) {
	s, err := create(sys.Proc{}, attr, log, self())
	return s, fail("CreateForChild", err, syscall.ENOMEM)
}

// target looks up the pid of a create call and checks the permission to trace it.
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

// resolve checks settings and computes the configuration of a stream from them.
func resolve(a *Attr, log *os.File, by owner.Creator) (*stream.Config, error) {
	c := &stream.Config{
		BootID: sys.BootID(), Creator: by.Proc, PIDNS: sys.PIDNamespace(), Command: by.Command, HasLog: log != nil,
	}
	if err := checkPolicies(a, c.HasLog); err != nil {
		return nil, err
	}
	var err error
	if c.Attributes, err = attr.FromSettings(a); err != nil {
		return nil, err
	}
	if c.HasLog && a.StreamFullPolicy == PolicyDefault {
		c.StreamFullPolicy = stream.Flush
	}
	c.Name = attr.Cut(a.Name, NameMax)
	c.MaxDataSize = uint64(a.maxData())
	g, ok := stream.Measure(a.streamSize(c.HasLog), a.maxData(), runtime.NumCPU())
	if !ok {
		return nil, fmt.Errorf("stream of %d bytes: %w", a.StreamSize, syscall.ENOMEM)
	}
	c.Geometry = g
	if c.HasLog && c.LogFullPolicy != stream.Append && c.LogSize > maxLog {
		return nil, fmt.Errorf("log of %d bytes: %w", c.LogSize, syscall.EINVAL)
	}
	c.LogSize = max(c.LogSize, uint64(g.MinSize)) // at least one full stream
	if sys.TrustTicks() {
		c.Clock = stream.ClockTicks
	}
	return c, nil
}

// checkPolicies checks the full policies and the inheritance of a.
func checkPolicies(a *Attr, logged bool) error {
	switch a.StreamFullPolicy {
	case PolicyDefault, PolicyLoop, PolicyUntilFull:
	case PolicyFlush:
		if !logged {
			return fmt.Errorf("%w: %w", errFlushOnly, syscall.EINVAL)
		}
	default:
		return fmt.Errorf("%w the stream: %w", errPolicy, syscall.EINVAL)
	}
	switch a.LogFullPolicy {
	case PolicyDefault, PolicyLoop, PolicyUntilFull, PolicyAppend:
	default:
		return fmt.Errorf("%w the log: %w", errPolicy, syscall.EINVAL)
	}
	if a.Inheritance > InheritChildren {
		return fmt.Errorf("inheritance %d: %w", a.Inheritance, syscall.EINVAL)
	}
	return nil
}

// self is this process as a creator.
func self() owner.Creator {
	c := owner.Creator{Proc: sys.SelfProc()}
	if cmd, err := os.ReadFile("/proc/self/cmdline"); err == nil {
		c.Command = strings.TrimSuffix(string(cmd), "\x00")
		if rewrite := commandLine.Load(); rewrite != nil {
			c.Command = strings.Join((*rewrite)(strings.Split(c.Command, "\x00")), "\x00")
		}
	}
	return c
}

// creation is a create call under way.
type creation struct {
	dir  *registry.Dir
	attr Attr
	log  *os.File // the caller's, or nil
	by   owner.Creator
	cfg  *stream.Config
	made []StreamInfo // see Stream.MadeRoom

	// takeRoom says that stale streams may be shut down to make room.
	takeRoom bool

	page *registry.Page // where the stream is entered: of the traced process, or of the caller for its child

	// The stream's file, and the duplicate of the log's descriptor.
	file *os.File
	id   uint64
	path string
	dup  *os.File
	// enterLog enters the file of the log into a configuration.
	enterLog func(*stream.Config)
}

// create makes a stream of process by for process p, or for the caller's next child if p is zero.
//
// Writes to a log, and the locks of other streams, may take any time: a log may be a pipe that its reader
// has left full, and a process may be stopped with the lock of a stream. So both come before or after the
// time in which create holds the directory's lock.
func create(p sys.Proc, attr *Attr, log *os.File, by owner.Creator) (*Stream, error) {
	k := &creation{log: log, by: by}
	if attr != nil {
		k.attr = *attr
	}
	var err error
	if k.cfg, err = resolve(&k.attr, log, by); err != nil {
		return nil, err
	}
	if k.dir, err = conn.OpenDir(); err != nil {
		return nil, err
	}
	if log != nil {
		if k.dup, k.enterLog, err = owner.DupLog(log, k.cfg.LogFullPolicy); err != nil {
			return nil, err
		}
	}
	if conn.TidyDue(k.dir, SysMax) {
		shutdownOrphans(k.dir)
	}
	cfg := k.cfg
	s, err := k.make(p)
	if errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EAGAIN) {
		shutdownOrphans(k.dir)
		k.cfg, k.takeRoom = cfg, true
		s, err = k.make(p)
	}
	if err == nil && log != nil {
		err = k.startLog(s)
	}
	if err != nil {
		if k.dup != nil {
			k.dup.Close()
		}
		return nil, err
	}
	return s, nil
}

// make makes the stream with the directory's lock. Its log has not started yet.
func (k *creation) make(p sys.Proc) (*Stream, error) {
	unlock, err := k.dir.Lock()
	if err != nil {
		return nil, conn.OfDir(err)
	}
	defer unlock()
	on, flags := p, registry.Self
	if p.PID == 0 {
		on, flags = sys.SelfProc(), registry.Child
	}
	if k.cfg.Inheritance {
		flags |= registry.Inherit
	}
	if err := k.openPage(on); err != nil {
		return nil, err
	}
	defer k.page.Close()
	if err := k.newFile(); err != nil {
		return nil, err
	}
	s, err := k.format(p)
	if err == nil {
		err = k.publish(s, flags)
	}
	if err != nil {
		k.undo()
		return nil, err
	}
	return s, nil
}

// startLog makes this process the owner of the log, and starts the log unless it is held back. If that
// fails, the stream is gone.
func (k *creation) startLog(s *Stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := owner.New(s.c, s.ownerCalls(), k.dup, k.attr.HoldLog, k.by)
	if err == nil && !k.attr.HoldLog {
		err = s.locked(func(*stream.Mem, *stream.Writer) error { return o.Begin() })
	}
	if err == nil {
		s.log = o
		go o.Run()
		return nil
	}
	if o != nil {
		o.Abandon()
	}
	s.locked(func(m *stream.Mem, _ *stream.Writer) error {
		m.Kill()
		return nil
	})
	conn.Remove(s.c, false)
	s.closeLocked()
	return err
}

// openPage opens the page of a process, creating it if necessary, and makes sure that the directory
// and the page have room for one more stream.
func (k *creation) openPage(on sys.Proc) error {
	if err := k.tidyUp(); err != nil {
		return conn.OfDir(err)
	}
	if k.attr.Exclusive {
		if err := conn.NameFree(k.dir, k.cfg.Name); err != nil {
			return err
		}
	}
	err := k.inRoom(0, func() (err error) {
		k.page, err = k.dir.Page(on, true)
		return err
	})
	if err != nil {
		return k.noSpace(err)
	}
	if err := conn.EnsureEntry(k.dir, k.page, StreamsMax); err != nil {
		k.page.Close()
		return err
	}
	return nil
}

// newFile makes the stream's file, in the largest size that there is room for.
func (k *creation) newFile() (err error) {
	for _, k.cfg = range streamSizes(k) {
		err = k.inRoom(k.cfg.Size, func() (err error) {
			k.file, k.id, k.path, err = k.dir.NewStreamFile(k.cfg.Size)
			return err
		})
		if !full(err) || !k.takeRoom { // more room comes before a smaller stream
			break
		}
	}
	if err != nil {
		return k.noSpace(err)
	}
	return nil
}

// noSpace is the error of a creation for which the trace directory has no room.
func (k *creation) noSpace(err error) error {
	return conn.OfDir(noSpace(k.dir, k.attr.streamSize(k.log != nil), err))
}

// format formats the file and makes the stream, which no other process can find yet.
func (k *creation) format(p sys.Proc) (*Stream, error) {
	if k.log != nil {
		k.enterLog(k.cfg)
	}
	k.cfg.ID = k.id
	b, err := sys.Map(k.file, int(k.cfg.Size), true)
	if err != nil {
		return nil, err
	}
	m, err := stream.Format(b, k.cfg, false)
	if err != nil {
		sys.Unmap(b)
		return nil, err
	}
	m.SetTarget(p)
	m.SetFamily(k.page.Family())
	m.SetLogHeld(k.attr.HoldLog)
	s := newStream(conn.New(k.dir, k.file, m, k.path))
	s.madeRoom = k.made
	return s, nil
}

// publish makes the stream visible to other processes and enters it into the page.
func (k *creation) publish(s *Stream, flags registry.Flags) (err error) {
	s.c.Pin()
	if err = k.dir.Publish(k.id); err == nil {
		if err = k.page.Attach(k.id, flags); err != nil {
			k.dir.RemoveStream(k.id)
		}
	}
	if err == nil && (k.dir.Gone() || !linked(k.file)) {
		// The directory was removed meanwhile, and its mark with it: other processes do not find
		// the stream.
		err = fmt.Errorf("stream %s: %w", k.path, registry.ErrGone)
	}
	if err != nil {
		s.c.Unpin()
	}
	return conn.OfDir(err)
}

// undo removes the files of a creation that failed after newFile.
func (k *creation) undo() {
	k.file.Close()
	k.dir.RemoveStream(k.id)
}

// linked reports whether a file still has a name.
func linked(f *os.File) bool {
	st, err := sys.Fstat(f)
	return err != nil || st.Nlink > 0
}
