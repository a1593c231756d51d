//go:build linux

package tracer

import (
	"encoding/binary"
	"io"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/procfs"
)

// Only the tracer knows since when a thread is in a system call. It shows that to other commands of the
// user in a file in memory without a name, which they find among its descriptors: nothing is left
// behind when the tracer ends, however it does.

// board is that memory. A nil board shows nothing.
type board struct{ free []*place }

// place is what a thread shows.
type place struct {
	tid, nr atomic.Uint32
	entered atomic.Uint64 // nanoseconds since the Epoch; 0 outside of calls
}

const (
	boardName   = "posixtrace-calls"
	boardPlaces = 2048
	boardSize   = boardPlaces * int(unsafe.Sizeof(place{}))
)

// newBoard returns nil where there is no memory.
func newBoard() *board {
	fd, err := unix.MemfdCreate(boardName, unix.MFD_CLOEXEC)
	if err != nil {
		return nil
	}
	if unix.Ftruncate(fd, int64(boardSize)) != nil {
		unix.Close(fd)
		return nil
	}
	mem, err := unix.Mmap(fd, 0, boardSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil
	}
	places := unsafe.Slice((*place)(unsafe.Pointer(&mem[0])), boardPlaces)
	b := &board{}
	for i := range places {
		b.free = append(b.free, &places[boardPlaces-1-i])
	}
	return b
}

// enter shows the call that a thread is in. Threads beyond the number of places show nothing.
func (b *board) enter(k *task) {
	p := k.place
	if p == nil {
		if b == nil || len(b.free) == 0 {
			return
		}
		p = b.free[len(b.free)-1]
		b.free = b.free[:len(b.free)-1]
		p.tid.Store(uint32(k.tid))
		k.place = p
	}
	nr := k.call.nr
	if k.call.resumed != 0 {
		nr = k.call.resumed
	}
	p.entered.Store(0)
	p.nr.Store(uint32(nr))
	p.entered.Store(uint64(k.call.entered.UnixNano()))
}

// leave shows that the thread is in no call.
func (b *board) leave(k *task) {
	if k.place != nil {
		k.place.entered.Store(0)
	}
}

// forget gives the place of a thread that ended to another one.
func (b *board) forget(k *task) {
	if p := k.place; p != nil {
		p.entered.Store(0)
		p.tid.Store(0)
		b.free = append(b.free, p)
		k.place = nil
	}
}

// Entered returns when a thread entered the system call nr, in which it is. ok is false unless a tracer
// of posixtrace saw that, and shows it to the caller.
func Entered(tid, nr int) (at time.Time, ok bool) {
	called, at, ok := shown(tid)
	return at, ok && (called == nr || called == unix.SYS_RESTART_SYSCALL || nr == unix.SYS_RESTART_SYSCALL)
}

// shown returns the system call that a tracer of posixtrace shows for a thread, and when the thread
// entered it. ok is false if there is none.
func shown(tid int) (nr int, at time.Time, ok bool) {
	f := openBoard(procfs.Of(procfs.Tracer(tid)))
	if f == nil {
		return 0, at, false
	}
	defer f.Close()
	const size = int(unsafe.Sizeof(place{}))
	b := make([]byte, boardSize)
	if _, err := io.ReadFull(f, b); err != nil {
		return 0, at, false
	}
	for ; len(b) >= size; b = b[size:] {
		if int(binary.NativeEndian.Uint32(b)) != tid {
			continue
		}
		if ns := int64(binary.NativeEndian.Uint64(b[8:])); ns > 0 {
			return int(binary.NativeEndian.Uint32(b[4:])), time.Unix(0, ns), true
		}
	}
	return 0, at, false
}

// openBoard opens the board of a tracer, or returns nil.
func openBoard(pid int) *os.File {
	if pid == 0 {
		return nil
	}
	dir := procfs.File(pid, "fd")
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		path := dir + "/" + e.Name()
		if name, err := os.Readlink(path); err != nil || name != "/memfd:"+boardName+" (deleted)" {
			continue
		}
		if f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			return f
		}
	}
	return nil
}
