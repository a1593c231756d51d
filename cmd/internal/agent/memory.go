package agent

import (
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
)

// shared is the mapped channel.
type shared struct {
	ch   *wire.Channel
	lock *os.File // a description of the agent's own
	head *robustHead

	// Which call and which area had their turn.
	calls, areas turn
}

// openMemory maps the channel. The controller's lock lives in the description that the library has
// left: the agent opens another one and closes that.
func openMemory(fd int) (*shared, error) {
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	unix.Close(fd)
	size := int(unsafe.Sizeof(wire.Channel{}))
	if st, err := f.Stat(); err != nil || st.Size() < int64(size) {
		return nil, fmt.Errorf("no channel: %w", unix.EINVAL)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	m := &shared{ch: (*wire.Channel)(unsafe.Pointer(&b[0])), lock: f}
	if m.ch.Version != wire.Version {
		m.refuse()
		return nil, fmt.Errorf("the library's version is %d, the agent's %d", m.ch.Version, wire.Version)
	}
	return m, nil
}

func (m *shared) ready() {
	m.ch.AgentPID, m.ch.Processors = uint32(os.Getpid()), uint32(runtime.NumCPU())
	m.say(wire.Ready)
}

func (m *shared) refuse() { m.say(wire.Refused) }

func (m *shared) say(v uint32) {
	m.ch.Ready.Store(v)
	wake(&m.ch.Ready)
}

// futexWaiters is FUTEX_WAITERS of linux/futex.h.
const futexWaiters = 1 << 31

// robustHead is struct robust_list_head with one entry.
type robustHead struct {
	next    uintptr
	offset  int64
	pending uintptr
	entry   uintptr // its next, which is the head
}

// beAlive enters Channel.Alive into the list of the futexes that the kernel marks when this thread
// ends, which lives as long as the process. A caller that waits for the agent is woken then, and none has to ask whether
// the agent lives.
func (m *shared) beAlive() {
	// The list must stay where it is: the kernel reads it in the end.
	b, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return
	}
	h := (*robustHead)(unsafe.Pointer(&b[0]))
	at, entry := uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&h.entry))
	h.next, h.entry = entry, at
	h.offset = int64(uintptr(unsafe.Pointer(&m.ch.Alive))) - int64(entry)
	m.head = h
	// With the waiters' bit the kernel wakes a waiter in any case.
	m.ch.Alive.Store(uint32(unix.Gettid()) | futexWaiters)
	unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, at, 24, 0)
}

// awaitEnd waits until the controller's program has ended: its mapping of the channel is gone, and
// with it the lock.
func (m *shared) awaitEnd(over chan<- struct{}) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	for {
		err := unix.FcntlFlock(m.lock.Fd(), unix.F_OFD_SETLKW, &l)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return // the controller's death shows anyway
		}
	}
	over <- struct{}{}
}

// openProcess returns a descriptor that becomes readable when a process dies, or -1 if the kernel, or a
// sandbox, has none.
func openProcess(pid int) (int, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case nil:
		return fd, nil
	case unix.ESRCH, unix.EMFILE, unix.ENFILE, unix.ENOMEM:
		return -1, err
	}
	return -1, nil
}

// awaitDeath waits for the death of the controller. A child that was forked while the library started the
// agent may have the channel's mapping longer than the controller.
func awaitDeath(process int, over chan<- struct{}) {
	p := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, -1)
		if n > 0 {
			over <- struct{}{}
			return
		}
		if err != nil && err != unix.EINTR {
			return // the end of its mapping shows anyway
		}
	}
}

// leave ends the work for the channel, unless a call is under way.
func (m *shared) leave() bool { return m.ch.Gate.CompareAndSwap(0, wire.Leaving) }

// doze is how long the agent looks for the next request before it sleeps: a caller that makes one
// call after another then needs no system call to wake it.
const doze = 30 * time.Microsecond

// await waits for a request, and returns the number of its call, or of its area, or both. -1 is none.
func (m *shared) await() (call, area int) {
	ch := m.ch
	take := func() bool {
		call, area = m.calls.take(&ch.Pending), m.areas.take(&ch.Wanted)
		return call >= 0 || area >= 0
	}
	for {
		if runtime.NumCPU() > 1 {
			for start := time.Now(); time.Since(start) < doze; {
				for range 50 {
					if take() {
						return call, area
					}
				}
			}
		}
		n := ch.Bell.Load()
		ch.Asleep.Store(1)
		some := take() // after the store: a caller that does not see it has set its bit before
		if !some {
			wait(&ch.Bell, n)
		}
		ch.Asleep.Store(0)
		if some || take() {
			return call, area
		}
	}
}

// turn is the number of the bit that was taken last. The ones above have precedence, so that each has its
// turn.
type turn int

// take clears a bit and returns its number, -1 if none is set.
func (t *turn) take(w *atomic.Uint64) int {
	for {
		all := w.Load()
		if all == 0 {
			return -1
		}
		next := int(*t) + 1
		i := (bits.TrailingZeros64(bits.RotateLeft64(all, -next)) + next) % 64
		if w.CompareAndSwap(all, all&^(1<<i)) {
			*t = turn(i)
			return i
		}
	}
}

func wait(w *atomic.Uint32, value uint32) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), 0, uintptr(value), 0, 0, 0)
}

func wake(w *atomic.Uint32) {
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), 1, 1<<30, 0, 0, 0)
}
