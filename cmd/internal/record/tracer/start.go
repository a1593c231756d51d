//go:build linux

package tracer

import (
	"encoding/json"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/record/child"
)

// Flag is the option that makes the program a tracer; its value is the argument of Serve.
const Flag = "--tracer"

// Tracer is ptrace-run's handle of a tracer process.
type Tracer struct {
	stage        int
	pid          int
	control      int
	note         func(string)
	attached     chan error
	exited       chan struct{} // closed when the command's proc.exit is recorded or never will be
	released     chan struct{} // closed when the tracer has stopped recording
	exitRecorded bool          // the command's proc.exit is recorded
	killed       bool          // the tracer ended without having released
	leaves       bool          // the tracer ends when it has released
	once         sync.Once
}

// Start starts a tracer: this program again, under the name prog. Start calls note with the
// tracer's messages for the user, from another goroutine. above is greater than all
// descriptors in use. The tracer starts in the background and waits for Configure.
func Start(prog string, above int, note func(string)) (*Tracer, error) {
	control, c, err := child.PacketPair(above)
	if err != nil {
		return nil, err
	}
	defer unix.Close(c)
	stage, s, err := child.PacketPair(above)
	if err != nil {
		unix.Close(control)
		return nil, err
	}
	defer unix.Close(s)
	if fd, err := unix.FcntlInt(uintptr(stage), unix.F_DUPFD_CLOEXEC, above); err == nil {
		unix.Close(stage)
		stage = fd
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		unix.Close(control)
		unix.Close(stage)
		return nil, err
	}
	defer null.Close()
	// The tracer may outlive ptrace-run, and must hold none of its files open. It has a process group
	// of its own, but not a session: to each session the kernel gives a share of the processors
	// (autogroup, sched(7)), and at each stop of a command two sessions would wait for their shares.
	pid, _, err := syscall.StartProcess("/proc/self/exe", []string{prog, Flag + "=3"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   environment(),
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(c), uintptr(s)},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		unix.Close(control)
		unix.Close(stage)
		return nil, os.NewSyscallError("fork", err)
	}
	t := &Tracer{
		stage: stage, pid: pid, control: control, note: note,
		attached: make(chan error, 1), exited: make(chan struct{}), released: make(chan struct{}),
	}
	go t.listen()
	return t, nil
}

// environment returns the environment of a tracer, with GOMAXPROCS=2. With a single P, the
// Go runtime's monitor thread polls a blocking system call closely: on one processor it would
// wake up every 20 microseconds while the tracer waits, and preempt the traced program. Of two
// values for a variable, the runtime uses the first.
func environment() []string { return append([]string{"GOMAXPROCS=2"}, os.Environ()...) }

// Configure sends the tracer its configuration.
func (t *Tracer) Configure(cfg Config) error {
	t.leaves = cfg.Attach != 0
	order, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	return child.SendPacket(t.control, orderConfig, order)
}

// listen handles the tracer's messages until the tracer releases or ends.
func (t *Tracer) listen() {
	defer func() {
		select {
		case t.attached <- errGone:
		default:
		}
		if !t.exitRecorded {
			close(t.exited)
		}
		close(t.released)
	}()
	for {
		what, data := child.ReceivePacket(t.control)
		switch what {
		case 0:
			t.killed = true
			return
		case reportReleased:
			return
		case reportAttached:
			n, _ := strconv.Atoi(string(data))
			var err error
			if n != 0 {
				err = syscall.Errno(n)
			}
			select {
			case t.attached <- err:
			default:
			}
		case reportNote:
			t.note(string(data))
		case reportExit:
			if !t.exitRecorded {
				t.exitRecorded = true
				close(t.exited)
			}
		}
	}
}

type tracerError string

func (e tracerError) Error() string { return string(e) }

const errGone = tracerError("the tracer ended")

// Stage returns the descriptor for child.Entry, or for Enter in another process.
func (t *Tracer) Stage() int { return t.stage }

// PID returns the id of the tracer's process.
func (t *Tracer) PID() int { return t.pid }

// Staged closes the descriptor. Call it when the process that becomes the command has started.
func (t *Tracer) Staged() {
	unix.Close(t.stage)
}

// Attached waits until the tracer has attached, which it does before the command starts, or
// has failed to, and returns the error.
func (t *Tracer) Attached() error { return <-t.attached }

// Exited waits, after the command has ended, until its proc.exit is recorded, and reports
// whether it is.
func (t *Tracer) Exited() bool {
	<-t.exited
	return t.exitRecorded
}

// Killed waits until the tracer has stopped recording, and reports whether it was killed.
func (t *Tracer) Killed() bool {
	<-t.released
	return t.killed
}

// Abandon ends a tracer that has not attached and does not answer.
func (t *Tracer) Abandon() { unix.Kill(t.pid, unix.SIGKILL) }

// Release makes the tracer stop recording, and waits until it has. The tracer detaches from
// processes without a filter. Release returns false if the tracer ended before.
func (t *Tracer) Release() (whole bool) {
	t.once.Do(func() {
		child.SendPacket(t.control, orderRelease, nil)
		<-t.released
		unix.Close(t.control)
		options := syscall.WNOHANG
		if t.leaves {
			options = 0 // its end detaches
		}
		var ws syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(t.pid, &ws, options, nil); err != syscall.EINTR {
				break
			}
		}
	})
	return !t.killed
}
