package agent

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
	"github.com/posixtrace/posixtrace/pkg/posixtrace/tool"
)

// memory is the descriptor of the channel that the library leaves to the agent.
const memory = 3

// idle is how long the agent stays without a stream and without a log.
const idle = 10 * time.Second

// Main runs the agent and returns its exit status.
func Main(args []string) int {
	if len(args) != 2 || args[1] != "--channel" {
		fmt.Fprintln(os.Stderr, "posixtrace-agent: only the C library starts this program")
		return 2
	}
	ignoreSignals()
	runtime.LockOSThread() // see beAlive
	runtime.GOMAXPROCS(min(runtime.NumCPU(), 4))
	m, err := openMemory(memory)
	if err != nil {
		fmt.Fprintln(os.Stderr, "posixtrace-agent:", err)
		return 1
	}
	a, err := newAgent(m)
	if err != nil {
		m.refuse()
		return 1
	}
	awaitFormer()
	m.beAlive()
	m.ready()
	go a.relieve()
	a.startServer()
	a.untilEnd()
	return 0
}

// ignoreSignals ignores the signals that a service manager or a user sends to the controller and
// everything around it. The controller's end is the agent's.
func ignoreSignals() {
	var list []os.Signal
	for n := 1; n <= 64; n++ {
		switch s := syscall.Signal(n); s {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGURG, // of the kernel, of the Go runtime
			unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGSYS, unix.SIGCHLD:
		case 32, 33, 34: // the Go runtime leaves them to a C library
			ignore := [4]uint64{1} // the kernel's struct sigaction with SIG_IGN
			unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&ignore)), 0, 8, 0, 0)
		default:
			list = append(list, s)
		}
	}
	signal.Ignore(list...)
}

// agent is the state of the process.
type agent struct {
	m      *shared
	by     tool.Controller
	rights string // of the controller when it started the agent
	fds    *descriptors

	controller int // a descriptor of the process, or -1

	mu      sync.RWMutex
	handles map[uint64]handle
	number  uint64 // of the last handle
	areas   [wire.Areas]*logHandle
	touched time.Time // when the agent last had a handle

	server    atomic.Pointer[server]
	unwatched atomic.Bool   // relieve rests
	watch     chan struct{} // ends that
}

func newAgent(m *shared) (*agent, error) {
	a := &agent{m: m, handles: make(map[uint64]handle), touched: time.Now(), watch: make(chan struct{}, 1)}
	a.unwatched.Store(true)
	pid := int(m.ch.PID)
	a.by = tool.Controller{PID: pid, Command: commandOf(pid)}
	var err error
	if a.rights, err = rightsOf(pid); err != nil {
		return nil, err
	}
	// Before listen, which reserves a descriptor: a later one could take the place of that.
	if a.controller, err = openProcess(pid); err != nil {
		return nil, err
	}
	if a.fds, err = listen(m); err != nil {
		return nil, err
	}
	return a, nil
}

// untilEnd waits for the end of the controller, or for a time without use, and shuts all streams down.
func (a *agent) untilEnd() {
	over := make(chan struct{}, 2)
	go a.m.awaitEnd(over)
	if a.controller >= 0 {
		go awaitDeath(a.controller, over)
	}
	tick := time.NewTicker(idle / 4)
	defer tick.Stop()
	for {
		select {
		case <-over:
			a.shutdownAll()
			return
		case <-tick.C:
			if a.unused() && a.m.leave() {
				return
			}
		}
	}
}

// unused reports whether the agent has had nothing to do for a while.
func (a *agent) unused() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return len(a.handles) == 0 && time.Since(a.touched) >= idle
}

// shutdownAll shuts the streams down as their owner's death does: the STOP event has no author.
func (a *agent) shutdownAll() {
	a.mu.Lock()
	a.number = ended // no more handles
	list := a.handles
	a.handles = map[uint64]handle{}
	a.mu.Unlock()
	var all sync.WaitGroup
	for _, h := range list {
		all.Go(func() { h.abandon() })
	}
	all.Wait()
}
