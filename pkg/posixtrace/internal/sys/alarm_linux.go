package sys

import (
	"cmp"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Alarm wakes a goroutine after a while, as a time.Timer does, at less cost to an idle process. For
// a timer the runtime wakes two threads, and those a third, a dozen wake-ups in all; for a
// descriptor that becomes readable it wakes one thread, once.
type Alarm struct {
	f    *os.File // nil where timerfd_create(2) is refused
	conn syscall.RawConn
	rung atomic.Bool
	ring chan struct{} // closed by Ring, if f is nil
	once sync.Once
}

// NewAlarm returns an Alarm, which uses a descriptor until Close. Where timerfd_create(2) is
// refused, as in a sandbox that does not know it, the Alarm uses a timer.
func NewAlarm() (*Alarm, error) {
	fd, err := timerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		return &Alarm{ring: make(chan struct{})}, nil
	}
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	a := &Alarm{f: os.NewFile(uintptr(fd), "timerfd")}
	if a.conn, err = a.f.SyscallConn(); err != nil {
		a.f.Close()
		return nil, err
	}
	return a, nil
}

var timerfdCreate = unix.TimerfdCreate // a variable for tests

// Wait returns true after d, false as soon as Ring was called. Only one goroutine may wait.
func (a *Alarm) Wait(d time.Duration) bool {
	if a.f == nil {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-a.ring:
		}
		return !a.rung.Load()
	}
	err := a.set(d)
	if !a.rung.Load() { // Ring sets it before it sets the time
		if err == nil {
			err = a.read()
		}
		if err != nil && !errors.Is(err, os.ErrClosed) {
			time.Sleep(d)
		}
	}
	return !a.rung.Load()
}

// Ring ends this and every later Wait.
func (a *Alarm) Ring() {
	a.rung.Store(true)
	if a.f == nil {
		a.once.Do(func() { close(a.ring) })
		return
	}
	a.set(0)
}

// Close closes the descriptor. No goroutine may be in Wait.
func (a *Alarm) Close() error {
	if a.f == nil {
		return nil
	}
	return a.f.Close()
}

// Neither system call blocks, so both bypass the runtime's entersyscall: for a call that might
// block the runtime wakes another thread.

func (a *Alarm) read() (err error) {
	var b [8]byte
	rerr := a.conn.Read(func(fd uintptr) bool {
		_, _, no := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&b)), unsafe.Sizeof(b))
		if no != 0 && no != unix.EAGAIN && no != unix.EINTR {
			err = no
		}
		return no != unix.EAGAIN
	})
	return cmp.Or(err, rerr)
}

func (a *Alarm) set(d time.Duration) (err error) {
	t := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, int64(d)))} // 0 would mean never
	cerr := a.conn.Control(func(fd uintptr) {
		if _, _, no := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&t)), 0, 0, 0); no != 0 {
			err = no
		}
	})
	return cmp.Or(err, cerr)
}
