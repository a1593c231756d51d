package tracer

import (
	"encoding/json"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Flag is the option by which the program that is started as a tracer knows that it
// is one; its value goes to Serve.
const Flag = "--tracer"

// Tracer is a tracer as ptrace-run sees it.
type Tracer struct {
	stage    int
	pid      int
	control  int
	note     func(string)
	attached chan error
	exited   chan struct{} // closed when the command's proc.exit is recorded, or never will be
	released chan struct{} // closed when nothing is recorded any more
	told     bool          // proc.exit was recorded
	killed   bool          // it ended before its time
	once     sync.Once
}

// Start starts a tracer: this program again, under the name prog. What it has to say
// to the user goes to note. above is beyond the descriptors in use. It takes a while to be
// there, in which other things can be done; it does nothing before Configure.
func Start(prog string, above int, note func(string)) (*Tracer, error) {
	control, c, err := socketPair(above)
	if err != nil {
		return nil, err
	}
	defer unix.Close(c)
	stage, s, err := socketPair(above)
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
	// Nothing of ours is to be held open by what may outlive us.
	pid, _, err := syscall.StartProcess("/proc/self/exe", []string{prog, Flag + "=3"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   environment(),
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(c), uintptr(s)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
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

// environment is that of a tracer. The runtime watches a system call at close quarters
// while there is no other processor to be had: on a machine, or a share of one, with
// a single processor a thread of it would wake up every 20 microseconds as long as the
// tracer waits, and the traced program would have to make way for it.
// Of two values the runtime takes the first.
func environment() []string { return append([]string{"GOMAXPROCS=2"}, os.Environ()...) }

// Configure tells the tracer what to do.
func (t *Tracer) Configure(cfg Config) error {
	order, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	return send(t.control, orderConfig, order)
}

// listen hears what the tracer tells, until its end.
func (t *Tracer) listen() {
	defer func() {
		select {
		case t.attached <- errGone:
		default:
		}
		if !t.told {
			close(t.exited)
		}
		close(t.released)
	}()
	for {
		what, data := receive(t.control)
		switch what {
		case 0:
			t.killed = true
			return
		case tellReleased:
			return
		case tellAttached:
			n, _ := strconv.Atoi(string(data))
			var err error
			if n != 0 {
				err = syscall.Errno(n)
			}
			select {
			case t.attached <- err:
			default:
			}
		case tellNote:
			t.note(string(data))
		case tellExit:
			if !t.told {
				t.told = true
				close(t.exited)
			}
		}
	}
}

type tracerError string

func (e tracerError) Error() string { return string(e) }

const errGone = tracerError("the tracer ended")

// Stage returns the descriptor that the process which becomes the command has to
// call Enter with, and makes it one that is inherited.
func (t *Tracer) Stage() int {
	unix.FcntlInt(uintptr(t.stage), unix.F_SETFD, 0)
	return t.stage
}

// Staged says that the process is there.
func (t *Tracer) Staged() {
	unix.Close(t.stage)
}

// Attached waits until it is clear whether the command is traced, which it is before
// it begins.
func (t *Tracer) Attached() error { return <-t.attached }

// Exited waits, when the command has ended, until that is recorded, and reports
// whether it is.
func (t *Tracer) Exited() bool {
	<-t.exited
	return t.told
}

// Release makes the tracer record no more, and waits for that. Processes without a
// filter are let go. It reports whether the tracer had been there until now.
func (t *Tracer) Release() (whole bool) {
	t.once.Do(func() {
		send(t.control, orderRelease, nil)
		<-t.released
		unix.Close(t.control)
		var ws syscall.WaitStatus
		syscall.Wait4(t.pid, &ws, syscall.WNOHANG, nil)
	})
	return !t.killed
}
