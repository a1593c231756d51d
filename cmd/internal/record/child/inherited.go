package child

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/cmd/internal/startup/original"
)

// kept is what this process has that execve(2) keeps and fork(2) does not pass on, or that the Go
// runtime has changed. The child of a fork sets it anew.
type kept struct {
	parent    uintptr        // this process
	deathsig  uintptr        // PR_SET_PDEATHSIG
	subreaper bool           // PR_SET_CHILD_SUBREAPER
	timers    [3]timer       // setitimer(2): real, virtual, profiling
	limit     original.Limit // of descriptors
	setLimit  bool
	variables []variable // of the environment, that name this process
	stat      unix.Statx_t
	noPath    byte
}

// timer is a struct itimerval.
type timer struct{ interval, value syscall.Timeval }

// variable is a variable of the environment whose value is a number, with room for another one.
type variable struct {
	text  []byte // ends with a null byte
	start int    // of the number
	inode bool   // the number is the inode of the process's pidfd, not its id
}

// Variables of a service manager that name the process which it has started. A program ignores
// the others of their family if they name another process: see sd_listen_fds(3),
// sd_watchdog_enabled(3) and systemd.exec(5).
var pidVariables = []string{"LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID"}

// pidfdVariable names the process by the inode of its pidfd.
const pidfdVariable = "LISTEN_PIDFDID"

// take notes what this process has.
func (k *kept) take() {
	k.parent = uintptr(os.Getpid())
	k.deathsig = uintptr(original.DeathSignal())
	var n int32
	if unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&n)), 0, 0, 0) == nil {
		k.subreaper = n != 0
	}
	for i := range k.timers {
		syscall.RawSyscall(unix.SYS_GETITIMER, uintptr(i), uintptr(unsafe.Pointer(&k.timers[i])), 0)
	}
	var now original.Limit
	prlimit(nil, &now)
	k.limit, k.setLimit = original.Files(now)
}

// takeVariables notes the variables that name this process, and makes env, which has the pointers to
// those of environ, point to their texts.
func (k *kept) takeVariables(environ []string, env []*byte) {
	for i, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		n := uint64(k.parent)
		switch {
		case slices.Contains(pidVariables, name):
		case name == pidfdVariable:
			n = k.inodeOf(k.parent)
		default:
			continue
		}
		if value != strconv.FormatUint(n, 10) {
			continue
		}
		v := variable{text: make([]byte, len(name)+1+maxDigits+1), start: len(name) + 1, inode: name == pidfdVariable}
		copy(v.text, e)
		env[i] = &v.text[0]
		k.variables = append(k.variables, v)
	}
}

const maxDigits = 20 // of a number of 64 bits

// moved disarms the timers, which the started program has now.
func (k *kept) moved() {
	for i := range k.timers {
		if k.timers[i].value != (syscall.Timeval{}) {
			syscall.RawSyscall(unix.SYS_SETITIMER, uintptr(i), uintptr(unsafe.Pointer(&timer{})), 0)
		}
	}
}

// restore sets in the child what take noted.
//
//go:nosplit
//go:norace
func (k *kept) restore() {
	pid, _, _ := syscall.RawSyscall(unix.SYS_GETPID, 0, 0, 0)
	for i := range k.variables {
		v := &k.variables[i]
		n := uint64(pid)
		if v.inode {
			n = k.inodeOf(pid)
		}
		putNumber(v.text, v.start, n)
	}
	if k.setLimit {
		prlimit(&k.limit, nil)
	}
	if k.subreaper {
		syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0, 0)
	}
	for i := range k.timers {
		if k.timers[i].value.Sec != 0 || k.timers[i].value.Usec != 0 {
			syscall.RawSyscall(unix.SYS_SETITIMER, uintptr(i), uintptr(unsafe.Pointer(&k.timers[i])), 0)
		}
	}
	if k.deathsig != 0 {
		syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, k.deathsig, 0, 0, 0, 0)
		if parent, _, _ := syscall.RawSyscall(unix.SYS_GETPPID, 0, 0, 0); parent != k.parent {
			syscall.RawSyscall(unix.SYS_KILL, pid, k.deathsig, 0)
		}
	}
}

// inodeOf returns the inode of the pidfd of a process, 0 if it has none.
//
//go:nosplit
//go:norace
func (k *kept) inodeOf(pid uintptr) uint64 {
	fd, _, no := syscall.RawSyscall(unix.SYS_PIDFD_OPEN, pid, 0, 0)
	if no != 0 {
		return 0
	}
	k.stat.Ino = 0
	syscall.RawSyscall6(unix.SYS_STATX, fd, uintptr(unsafe.Pointer(&k.noPath)), unix.AT_EMPTY_PATH, unix.STATX_INO, uintptr(unsafe.Pointer(&k.stat)), 0)
	syscall.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	return k.stat.Ino
}

//go:nosplit
//go:norace
func prlimit(set, get *original.Limit) {
	syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
}

// putNumber writes a number and a null byte, and returns where that is.
//
//go:nosplit
//go:norace
func putNumber(b []byte, at int, n uint64) (end int) {
	end = at + 1
	for rest := n; rest >= 10; rest /= 10 {
		end++
	}
	b[end] = 0
	for i := end - 1; i >= at; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	return end
}
