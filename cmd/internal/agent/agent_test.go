package agent

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/agent/wire"
	"github.com/posixtrace/posixtrace/internal/tracetest"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

func TestMain(m *testing.M) { tracetest.Main(m) }

// working returns an agent of this process, whose channel the test fills as a controller would.
func working(t *testing.T) *agent {
	t.Helper()
	m := &shared{ch: new(wire.Channel)}
	m.ch.PID, m.ch.Key = uint32(os.Getpid()), 77
	a, err := newAgent(m)
	tracetest.OK(t, "agent", err)
	t.Cleanup(func() {
		a.shutdownAll()
		unix.Shutdown(a.fds.fd, unix.SHUT_RDWR)
		unix.Close(a.fds.fd)
	})
	return a
}

// ask makes a request and returns its call, answered or parked.
func ask(t *testing.T, a *agent, i int, op uint32, trid uint64, args ...uint64) *wire.Call {
	t.Helper()
	c := &a.m.ch.Call[i]
	c.Op, c.Trid, c.PID, c.TID = op, trid, uint32(os.Getpid()), 9
	clear(c.Args[:])
	copy(c.Args[:], args)
	state := c.State.Load()&^wire.StateMask + wire.StateStep
	c.State.Store(state | wire.Asked)
	a.dispatch(c)
	tracetest.Wait(t, "an answer", func() bool {
		s := c.State.Load()
		return s == state|wire.Done || s == state|wire.Parked
	})
	return c
}

func create(t *testing.T, a *agent) uint64 {
	t.Helper()
	dir := os.Getenv("PTRACE_DIR")
	c := &a.m.ch.Call[0]
	c.Length = uint64(copy(c.Data[wire.DirAt:], dir))
	if ask(t, a, 0, wire.OpCreate, 0); c.Err != 0 {
		t.Fatal(syscall.Errno(c.Err))
	}
	return c.Trid
}

// An event that comes when its caller leaves goes to the next caller. So does the event of a caller that was
// woken for it and does not ask again; of several, in their order.
func TestEventOfALeftCall(t *testing.T) {
	a := working(t)
	trid := create(t, a)
	is := func(c *wire.Call, want posixtrace.EventID) {
		t.Helper()
		if it := (*wire.Item)(unsafe.Pointer(&c.Data[0])); c.Args[0] != wire.Event || it.ID != uint32(want) || it.TID != 9 {
			t.Errorf("event %v, %v, want %d", c.Args, it, want)
		}
	}
	waiter := ask(t, a, 1, wire.OpNext, trid, 100)
	if waiter.State.Load()&wire.StateMask != wire.Parked {
		t.Fatal("not parked")
	}
	h := a.find(trid).(*streamHandle)
	h.read.mu.Lock() // the agent has seen the caller waiting, and has the event
	ask(t, a, 2, wire.OpStart, trid)
	tracetest.OK(t, "fetch", h.fetch())
	waiter.State.Store(waiter.State.Load() &^ wire.StateMask)
	r := h.read.waiting[0]
	if r.give(&h.read.oldest) || r.again() {
		t.Error("given to a caller that has left")
	}
	h.read.mu.Unlock()
	is(ask(t, a, 3, wire.OpTryNext, trid, 100), posixtrace.EventStart)

	for range 3 {
		var waiters []*wire.Call
		for i := range 5 {
			waiters = append(waiters, ask(t, a, 10+i, wire.OpNext, trid, 100))
		}
		ask(t, a, 2, wire.OpStop, trid)
		ask(t, a, 2, wire.OpStart, trid)
		for i, w := range waiters { // the first does not ask again, and so the second is woken
			tracetest.Wait(t, "an answer", func() bool { return w.State.Load()&wire.StateMask == wire.Done })
			if w.Args[0] != wire.Again {
				t.Errorf("answer %d to caller %d", w.Args[0], i)
			}
		}
		is(ask(t, a, 3, wire.OpTryNext, trid, 100), posixtrace.EventStop)
		is(ask(t, a, 10, wire.OpNext, trid, 100), posixtrace.EventStart)
		if c := ask(t, a, 3, wire.OpTryNext, trid, 100); c.Args[0] != wire.None {
			t.Errorf("unavailable is %d", c.Args[0])
		}
	}
}

// A request that waits keeps no other waiting, for this stream or another: not the first of its kind, and
// not many at a time.
func TestRequestsThatWait(t *testing.T) {
	a := working(t)
	go a.relieve()
	defer close(a.watch)
	a.startServer()
	defer a.server.Store(new(server))
	stuck, free := create(t, a), create(t, a)
	info, err := a.find(stuck).(*streamHandle).s.Info()
	tracetest.OK(t, "Info", err)
	f, err := os.OpenFile(info.Path, os.O_RDWR, 0)
	tracetest.OK(t, "open", err)
	defer f.Close()
	tracetest.OK(t, "flock", unix.Flock(int(f.Fd()), unix.LOCK_EX))
	// As a controller does it: the calls of one ring at once.
	ring := func(i int, op uint32, trid uint64) *wire.Call {
		c := &a.m.ch.Call[i]
		c.Op, c.Trid, c.PID, c.TID, c.Args = op, trid, uint32(os.Getpid()), 9, [4]uint64{}
		c.State.Store(c.State.Load()&^wire.StateMask + wire.StateStep | wire.Asked)
		a.m.ch.Pending.Or(1 << i)
		return c
	}
	bell := func() {
		a.m.ch.Bell.Add(1)
		wake(&a.m.ch.Bell)
	}
	var waiting []*wire.Call
	for i, op := range []uint32{wire.OpStart, wire.OpStop, wire.OpSetFilter, wire.OpClear, wire.OpStart} {
		waiting = append(waiting, ring(i, op, stuck))
	}
	for range 3 {
		var calls []*wire.Call
		for i, op := range []uint32{
			wire.OpStart, wire.OpStop, wire.OpSetFilter, wire.OpStatus, wire.OpAttr, wire.OpGetFilter, wire.OpTryNext,
			wire.OpNextType, wire.OpRewindTypes, wire.OpName, wire.OpOpenID, wire.OpClear,
		} {
			calls = append(calls, ring(10+i, op, free))
		}
		for i, op := range []uint32{wire.OpStatus, wire.OpAttr, wire.OpGetFilter, wire.OpTryNext, wire.OpName, wire.OpNextType, wire.OpOpenID} {
			calls = append(calls, ring(30+i, op, stuck))
		}
		bell()
		for _, c := range calls {
			tracetest.Wait(t, fmt.Sprintf("an answer to request %d of stream %x", c.Op, c.Trid), func() bool { return c.State.Load()&wire.StateMask == wire.Done })
		}
	}
	for i, c := range waiting {
		if s := c.State.Load() & wire.StateMask; s != wire.Asked {
			t.Errorf("request %d has not waited: state %d", i, s)
		}
	}
	tracetest.OK(t, "flock", unix.Flock(int(f.Fd()), unix.LOCK_UN))
	for _, c := range waiting {
		tracetest.Wait(t, "an answer", func() bool { return c.State.Load()&wire.StateMask == wire.Done })
		if c.Err != 0 {
			t.Error(syscall.Errno(c.Err))
		}
	}
	// The agent rests, and works again.
	tracetest.Wait(t, "rest", a.unwatched.Load)
	c := ring(1, wire.OpStatus, free)
	bell()
	tracetest.Wait(t, "an answer", func() bool { return c.State.Load()&wire.StateMask == wire.Done })
}

// Whatever a controller writes into the channel, the agent answers, and serves the next request.
func TestHostileRequests(t *testing.T) {
	a := working(t)
	stream := create(t, a)
	path := filepath.Join(t.TempDir(), "log.trace")
	f, err := os.Create(path)
	tracetest.OK(t, "create", err)
	s, err := posixtrace.CreateWithLog(0, nil, f)
	tracetest.OK(t, "stream", err)
	tracetest.OK(t, "shutdown", s.Shutdown())
	f.Close()
	f, err = os.Open(path)
	tracetest.OK(t, "open", err)
	defer f.Close()
	log, err := a.openLog(f)
	tracetest.OK(t, "open", err)

	r := rand.New(rand.NewPCG(3, 4))
	number := func() uint64 {
		return []uint64{0, 1, 5, 255, 1 << 31, 1<<32 - 1, 1 << 63, 1<<64 - 1, r.Uint64()}[r.IntN(9)]
	}
	for range tracetest.Scale(3000, 20000, 20000) {
		i := 1 + r.IntN(wire.Calls-1)
		c := &a.m.ch.Call[i]
		if c.State.Load()&wire.StateMask == wire.Parked {
			c.State.Store(r.Uint32()) // it leaves in its own way
		}
		c.Length, c.Address = number(), number()
		for k := range 64 {
			binary.NativeEndian.PutUint64(c.Data[8*k:], number())
		}
		op := uint32(r.IntN(25))
		trid := []uint64{stream, log, stream ^ 1, log &^ areaMask, number()}[r.IntN(5)]
		if op == wire.OpShutdown || op == wire.OpClose || op == wire.OpCreate || op == wire.OpOpen {
			trid = stream ^ 0x100000 // not the ones that the test needs
		}
		if trid == stream^0x100000 && (op == wire.OpCreate || op == wire.OpOpen) {
			continue
		}
		ask(t, a, i, op, trid, number(), number(), number(), number())
		for k := range a.m.ch.Area {
			a.m.ch.Area[k].Want.Store(uint32(number()))
			a.more(k)
		}
		a.more(len(a.areas))
	}
	c := ask(t, a, 1, wire.OpStatus, stream)
	if c.Err != 0 {
		t.Error(syscall.Errno(c.Err))
	}
	if c := ask(t, a, 1, wire.OpRewind, log); c.Err != 0 {
		t.Error(syscall.Errno(c.Err))
	}
	area := &a.m.ch.Area[log&areaMask-1]
	area.Want.Store(1)
	a.more(int(log&areaMask - 1))
	tracetest.Wait(t, "events", func() bool { return area.Have.Load() == 1 })
	if b := &area.Batch[0]; b.Bytes == 0 || b.End != 1 {
		t.Errorf("a batch of %d bytes, end %d", b.Bytes, b.End)
	}
	if c := ask(t, a, 1, wire.OpClose, log); c.Err != 0 || a.find(log) != nil {
		t.Error(syscall.Errno(c.Err))
	}
}

// A descriptor arrives with the channel's nonce only. A sender that has connected and is late does not
// keep the descriptors of others, and its own arrives.
func TestDescriptors(t *testing.T) {
	a := working(t)
	connect := func() int {
		s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		tracetest.OK(t, "socket", err)
		t.Cleanup(func() { unix.Close(s) })
		name := unix.ByteSliceToString(a.m.ch.Socket[:])
		tracetest.OK(t, "connect", unix.Connect(s, &unix.SockaddrUnix{Name: "@" + name}))
		return s
	}
	send := func(s int, nonce [16]byte, number uint64) {
		msg := binary.NativeEndian.AppendUint64(nonce[:], number)
		tracetest.OK(t, "send", unix.Sendmsg(s, msg, unix.UnixRights(0), nil, 0))
	}
	take := func(number uint64) {
		f, err := a.fds.take(number)
		tracetest.OK(t, "take", err)
		f.Close()
	}
	late := connect()
	send(connect(), [16]byte{1}, 5)
	send(connect(), a.m.ch.Nonce, 6)
	take(6)
	send(late, a.m.ch.Nonce, 7)
	take(7)
	a.fds.mu.Lock()
	defer a.fds.mu.Unlock()
	if len(a.fds.got) != 0 {
		t.Error("a descriptor without the nonce")
	}
}
