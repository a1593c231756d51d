package child

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A command is to find itself as if the parent of this process had executed it. So the child of
// fork(2) sets what fork(2) does not pass on and execve(2) does (inherited.go), gets itself traced
// (entry.go), and only then executes the command. Package syscall cannot do that: there, the child
// only executes.
//
// What the kernel ties to the thread that calls fork(2), and not to its process, is then that of any
// thread of this program: none of them ends before the program does, and none has a filter.
//
// With most processors the child shares memory and stack with its parent, which waits. So it
// allocates nothing, writes no pointers, and calls only functions without a check of the stack
// (nosplit), as in package syscall.

// launch is the start of a program.
type launch struct {
	attempts []attempt
	env      []*byte
	files    [3]uintptr
	session  bool
	group    bool
	kept     kept
	entry    *Entry
	out      *outcome
}

// attempt is a program to execute: path with argv, or shell with a script, if the kernel does
// not know the format of path.
type attempt struct {
	path   *byte
	argv   []*byte
	script []*byte
}

// outcome is what the child reports.
type outcome struct {
	failed  bool
	tried   int32 // the attempt that was executed, or failed
	script  bool  // as a script
	problem syscall.Errno
}

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

var shell = []byte(shellPath + "\x00")

// run starts the program.
func (l *launch) run() (pid int, err error) {
	// No other thread of this program may start a program while it has a descriptor that is not
	// closed on exec.
	syscall.ForkLock.Lock()
	p, no := l.fork()
	afterFork()
	syscall.ForkLock.Unlock()
	runtime.KeepAlive(l)
	if no != 0 {
		return 0, syscall.Errno(no)
	}
	if l.out.failed {
		WaitID(int(p), unix.WEXITED, nil)
		return 0, l.out.problem
	}
	l.kept.moved()
	return int(p), nil
}

// fork returns in the parent only, and there at once.
//
//go:noinline
//go:norace
//go:nocheckptr
func (l *launch) fork() (pid, errno uintptr) {
	beforeFork()
	pid, errno = rawFork(unix.SYS_CLONE, forkFlags)
	if errno != 0 || pid != 0 {
		return
	}
	if !l.prepare() {
		l.out.failed = true
		syscall.RawSyscall(unix.SYS_EXIT, StatusOwn, 0, 0)
	}
	l.execute()
	for {
		syscall.RawSyscall(unix.SYS_EXIT, StatusNotExecutable, 0, 0)
	}
}

// prepare does in the child what precedes the execution.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (l *launch) prepare() bool {
	if l.session {
		syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
	}
	if l.group {
		syscall.RawSyscall(unix.SYS_SETPGID, 0, 0, 0)
	}
	afterForkInChild()
	for i := range l.files {
		var no syscall.Errno
		if l.files[i] == uintptr(i) {
			_, _, no = syscall.RawSyscall(unix.SYS_FCNTL, uintptr(i), unix.F_SETFD, 0)
		} else {
			_, _, no = syscall.RawSyscall(unix.SYS_DUP3, l.files[i], uintptr(i), 0)
		}
		if no != 0 {
			l.out.problem = no
			return false
		}
	}
	if l.session {
		if _, _, no := syscall.RawSyscall(unix.SYS_IOCTL, 1, unix.TIOCSCTTY, 1); no != 0 {
			l.out.problem = no
			return false
		}
	}
	l.kept.restore()
	if l.entry != nil {
		l.entry.enter()
	}
	return true
}

// execute executes the first attempt that can be, as execvp(3) does. It returns if there is none.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (l *launch) execute() {
	env := uintptr(unsafe.Pointer(&l.env[0]))
	for i := range l.attempts {
		a := &l.attempts[i]
		l.out.tried, l.out.script = int32(i), false
		_, _, no := syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(a.path)), uintptr(unsafe.Pointer(&a.argv[0])), env)
		if no == unix.ENOEXEC && len(a.script) > 0 {
			l.out.script = true
			_, _, no = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(&shell[0])), uintptr(unsafe.Pointer(&a.script[0])), env)
		}
		if !tryNext(no) {
			l.out.problem = no
			break
		}
		l.out.problem = worse(l.out.problem, no)
	}
	l.out.failed = true
}

// newLaunch returns the start of a program without the attempts to execute it.
func newLaunch(attr *Attr) (*launch, error) {
	l := &launch{session: attr.Session, group: attr.Group, entry: attr.Entry}
	var err error
	if l.out, err = newOutcome(); err != nil {
		return nil, err
	}
	for i, fd := range attr.Files {
		l.files[i] = uintptr(fd)
	}
	l.out.problem = syscall.ENOENT // until a candidate is found
	if l.env, err = pointers(attr.Env); err != nil {
		return nil, err
	}
	l.kept.take()
	l.kept.takeVariables(attr.Env, l.env)
	return l, nil
}

// pointers returns texts as C has them.
func pointers(texts []string) ([]*byte, error) { return syscall.SlicePtrFromStrings(texts) }

// Self executes this program. Its argv[0] is args[0].
func Self(args []string, attr *Attr) (pid int, err error) {
	l, err := newLaunch(attr)
	if err != nil {
		return 0, err
	}
	defer l.out.free()
	argv, err := pointers(args)
	if err != nil {
		return 0, err
	}
	path, _ := syscall.BytePtrFromString("/proc/self/exe")
	l.attempts = []attempt{{path: path, argv: argv}}
	pid, err = l.run()
	if err != nil {
		return 0, os.NewSyscallError("fork", err)
	}
	return pid, nil
}
