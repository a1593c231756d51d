package posixtrace

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"github.com/posixtrace/posixtrace/internal/tracetest"
	"golang.org/x/sys/unix"
)

// faults makes system calls of one thread fail, the n-th after arm. The kernel asks
// the test about each of them (seccomp_unotify(2)); the code under test is unchanged.
type faults struct {
	fd int

	mu    sync.Mutex
	armed map[int]bool // which calls count
	left  int          // calls until the one that fails
	errno syscall.Errno
	short bool // it writes half of what it should
	done  int  // the call that failed, -1 if none has
}

// interceptible are the calls that a thread with faults asks about: those on files.
var interceptible = []int{
	unix.SYS_OPENAT, unix.SYS_PWRITE64, unix.SYS_WRITE, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FSYNC,
	unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_FLOCK, unix.SYS_FCHMOD,
	unix.SYS_PREAD64, unix.SYS_READ, unix.SYS_GETDENTS64, unix.SYS_FSTAT,
}

// newFaults locks the calling goroutine to a thread for the rest of its life and makes calls
// of that thread fail on request.
func newFaults() *faults {
	runtime.LockOSThread()
	var prog []unix.SockFilter
	n := uint8(len(interceptible))
	wake := wakeDescriptor()
	prog = append(prog,
		// The runtime writes to its event descriptor, and reads from it, while it holds its
		// processor. It may also be about to stop the world, and then the goroutine that
		// answers waits for that processor.
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_WRITE, Jt: 1},
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_READ, Jf: 3},
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // the descriptor
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: wake, Jf: 1},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		// mmap(2), unless for anonymous memory: the runtime asks for that, and the goroutine that
		// answers may have to wait for the runtime.
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_MMAP, Jf: 2},
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16 + 4*8}, // the descriptor
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: math.MaxUint32, Jt: n, Jf: n + 1},
	)
	for i, nr := range interceptible {
		prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jt: n - uint8(i)})
	}
	prog = append(prog,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	fp := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	tracetest.Check(err == nil, "no_new_privs: %v", err)
	fd, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&fp)))
	tracetest.Check(no == 0, "seccomp: %v", no)
	f := &faults{fd: int(fd)}
	go f.answer()
	return f
}

// wakeDescriptor returns the event descriptor that ends the runtime's wait for files.
func wakeDescriptor() uint32 {
	r, w, err := os.Pipe() // the first pipe starts that wait
	tracetest.Check(err == nil, "pipe: %v", err)
	defer w.Close()
	defer r.Close()
	list, err := os.ReadDir("/proc/self/fd")
	tracetest.Check(err == nil, "%v", err)
	var found []uint32
	for _, e := range list {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); to == "anon_inode:[eventfd]" {
			fd, _ := strconv.ParseUint(e.Name(), 10, 32)
			found = append(found, uint32(fd))
		}
	}
	tracetest.Check(len(found) == 1, "event descriptors: %d, want the one of the runtime", found)
	return found[0]
}

// arm lets the n-th of the calls fail. errno 0 means a short write.
func (f *faults) arm(n int, errno syscall.Errno, calls ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = map[int]bool{}
	for _, c := range calls {
		f.armed[c] = true
	}
	f.left, f.errno, f.short, f.done = n, errno, errno == 0, -1
}

// disarm returns which call failed, false if there were not that many.
func (f *faults) disarm() (call int, hit bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = nil
	return f.done, f.done >= 0
}

type seccompNotif struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type seccompResp struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

func (f *faults) answer() {
	for {
		var n seccompNotif
		if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(f.fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); no != 0 {
			if no == unix.EINTR || no == unix.ENOENT {
				continue
			}
			fmt.Println("seccomp:", no)
			return
		}
		r := f.judge(&n)
		unix.Syscall(unix.SYS_IOCTL, uintptr(f.fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	}
}

func (f *faults) judge(n *seccompNotif) (r seccompResp) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.id = n.id
	if !f.armed[int(n.nr)] {
		r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		return r
	}
	f.left--
	switch {
	case f.left != 0:
		r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	case !f.short:
		f.done, r.error = int(n.nr), -int32(f.errno)
	default:
		// The caller waits for the answer, so its memory and its descriptor are valid.
		f.done = int(n.nr)
		got, _, no := unix.RawSyscall6(uintptr(n.nr), uintptr(n.args[0]), uintptr(n.args[1]), uintptr(n.args[2]/2), uintptr(n.args[3]), 0, 0)
		r.val, r.error = int64(got), -int32(no)
		if no == 0 {
			r.error = 0
		}
	}
	return r
}
