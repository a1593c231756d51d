package script_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// helpers are programs for the scripts that trace processes. They do what a tracer can
// disturb.
var helpers = map[string]func(){
	"trace-jobs":    traceJobs,
	"trace-threads": traceThreads,
	"trace-server":  traceServer,
	"trace-structs": traceStructs,
	"trace-values":  traceValues,
	"trace-count":   traceCount,
	"trace-refused": traceRefused,
	"trace-where":   traceWhere,
	"trace-files":   traceFiles,
	"trace-traceme": func() {
		_, _, no := unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)
		fmt.Println(no)
	},
}

// traceJobs stops and continues a child, and prints what a shell would see.
func traceJobs() {
	// SIGTSTP and SIGTTOU do not stop a process of an orphaned group, and that of the tests may be
	// one: the child gets a group of its own, with its parent in the same session.
	pid, _, err := syscall.StartProcess("/bin/sleep", []string{"sleep", "20"}, &syscall.ProcAttr{
		Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sig := range []syscall.Signal{unix.SIGSTOP, unix.SIGCONT, unix.SIGTSTP, unix.SIGCONT, unix.SIGTTOU, unix.SIGCONT, unix.SIGSTOP, unix.SIGKILL} {
		syscall.Kill(pid, sig)
		var ws syscall.WaitStatus
		for {
			if _, err = syscall.Wait4(pid, &ws, syscall.WUNTRACED|syscall.WCONTINUED, nil); err != unix.EINTR {
				break
			}
		}
		fmt.Println(sig, err, ws.Stopped(), ws.Stopped() && ws.StopSignal() == sig, ws.Continued(), ws.Signaled())
	}
}

// traceServer is a server and its clients. Each connection has threads of its own.
func traceServer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	var all sync.WaitGroup
	all.Go(func() {
		for range 20 {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				runtime.LockOSThread()
				io.Copy(c, c)
				c.Close()
			})
		}
	})
	for range 20 {
		all.Go(func() {
			runtime.LockOSThread()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				return
			}
			c.Write([]byte("hello"))
			c.(*net.TCPConn).CloseWrite()
			io.ReadAll(c)
			c.Close()
		})
	}
	all.Wait()
}

// traceThreads executes itself on a thread other than the first, while the others wait.
func traceThreads() {
	if len(os.Args) > 1 {
		fmt.Println(os.Args[1])
		os.Exit(5)
	}
	ready := make(chan bool)
	for range 4 {
		go func() {
			runtime.LockOSThread()
			ready <- true
			select {}
		}()
		<-ready
	}
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			go func() {
				runtime.LockOSThread()
				execSelf()
			}()
			select {}
		}
		execSelf()
	}()
	select {}
}

func execSelf() {
	syscall.Exec("/proc/self/exe", []string{"trace-threads", "executed"}, os.Environ())
}

// traceStructs makes system calls with structures, some at invalid addresses.
func traceStructs() {
	runtime.LockOSThread()
	call := func(nr uintptr, args ...uintptr) {
		var a [6]uintptr
		copy(a[:], args)
		unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	}
	const nowhere = 0x10
	var p [2]int
	unix.Pipe2(p[:], unix.O_CLOEXEC)
	s, _ := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	for i, fd := range []*int{&p[0], &p[1], &s[0], &s[1]} {
		unix.Dup3(*fd, 50+i, unix.O_CLOEXEC)
		*fd = 50 + i
	}

	unix.Writev(p[1], [][]byte{[]byte("he\"ad\x1b"), nil, []byte("body")})
	unix.Poll([]unix.PollFd{{Fd: int32(p[0]), Events: unix.POLLIN | unix.POLLPRI}, {Fd: int32(p[1]), Events: unix.POLLIN}}, -1)
	unix.Readv(p[0], [][]byte{make([]byte, 6), make([]byte, 100)})
	unix.SendmsgN(s[0], []byte("ping"), unix.UnixRights(0), nil, unix.MSG_NOSIGNAL)
	unix.Recvmsg(s[1], make([]byte, 3), make([]byte, 64), 0)
	var stx unix.Statx_t
	unix.Statx(unix.AT_FDCWD, "there", 0, unix.STATX_BASIC_STATS, &stx)
	unix.Openat2(unix.AT_FDCWD, "there", &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH})
	unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_NONBLOCK)
	unix.FcntlInt(uintptr(p[0]), unix.F_SETFD, unix.FD_CLOEXEC)
	unix.FcntlInt(uintptr(p[0]), unix.F_GETFD, 0)
	unix.SetsockoptInt(s[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
	unix.GetsockoptInt(s[0], unix.SOL_SOCKET, unix.SO_TYPE)
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	e, _ := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	unix.EpollCtl(e, unix.EPOLL_CTL_ADD, p[1], &unix.EpollEvent{Events: unix.EPOLLOUT | unix.EPOLLET&0xffffffff, Fd: 7})
	unix.EpollWait(e, make([]unix.EpollEvent, 4), 0)
	args := [11]uintptr{unix.CLONE_VFORK, 4: uintptr(unix.SIGCHLD)} // struct clone_args
	if pid, _, _ := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0); pid == 0 {
		call(unix.SYS_EXIT_GROUP, 0)
	} else {
		unix.Wait4(int(pid), nil, 0, nil)
	}

	// Unmapped memory, and numbers without a meaning.
	bad := [20]uintptr{nowhere, 1 << 62} // struct iovec, and more
	call(unix.SYS_WRITEV, uintptr(p[1]), uintptr(unsafe.Pointer(&bad)), 1)
	call(unix.SYS_WRITEV, uintptr(p[1]), nowhere, 3)
	call(unix.SYS_WRITEV, uintptr(p[1]), uintptr(unsafe.Pointer(&bad)), ^uintptr(0))
	call(unix.SYS_READV, uintptr(p[0]), nowhere, 1<<31)
	call(unix.SYS_PPOLL, nowhere, ^uintptr(0)>>32, 0, nowhere, 8)
	call(unix.SYS_SENDMSG, uintptr(s[0]), nowhere, 0)
	msg := [7]uintptr{nowhere, 1 << 31, uintptr(unsafe.Pointer(&bad)), 1 << 60} // struct msghdr
	call(unix.SYS_SENDMSG, uintptr(s[0]), uintptr(unsafe.Pointer(&msg)), 0)
	call(unix.SYS_EPOLL_PWAIT, uintptr(e), nowhere, 1<<30, 0)
	call(unix.SYS_SETSOCKOPT, uintptr(s[0]), unix.SOL_SOCKET, 9999, nowhere, 4)
	runtime.KeepAlive(&bad)
}

// traceCount starts as many threads as its first argument says. Each counts to the second
// argument, by system calls that fail.
func traceCount() {
	threads, _ := strconv.Atoi(os.Args[1])
	n, _ := strconv.Atoi(os.Args[2])
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			runtime.LockOSThread()
			for i := range n {
				unix.RawSyscall(unix.SYS_LSEEK, ^uintptr(0), uintptr(i), unix.SEEK_SET)
			}
		})
	}
	all.Wait()
}

// traceRefused executes a command for which a system call fails, as in a container that
// forbids the call.
func traceRefused() {
	runtime.LockOSThread()
	poll := uint32(unix.SYS_PPOLL)
	if runtime.GOARCH == "amd64" {
		poll = 7
	}
	nr, ok := map[string]uint32{"ptrace": unix.SYS_PTRACE, "seccomp": unix.SYS_SECCOMP, "wait4": unix.SYS_WAIT4, "poll": poll,
		"timerfd_create": unix.SYS_TIMERFD_CREATE, "fallocate": unix.SYS_FALLOCATE, "flock": unix.SYS_FLOCK, "renameat2": unix.SYS_RENAMEAT2}[os.Args[1]]
	if !ok {
		fmt.Println("no such call:", os.Args[1])
		os.Exit(1)
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if _, _, no := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); no != 0 {
		fmt.Println(no)
		os.Exit(1)
	}
	path, err := exec.LookPath(os.Args[2])
	if err == nil {
		err = syscall.Exec(path, os.Args[2:], os.Environ())
	}
	fmt.Println(err)
	os.Exit(1)
}

// traceWhere makes a call on its first thread and on another one, and prints the ids of its
// process and of the threads, and the address range of its code.
func traceWhere() {
	where := func() int {
		unix.RawSyscall(unix.SYS_LSEEK, ^uintptr(0), 0, unix.SEEK_SET)
		return unix.Gettid()
	}
	runtime.LockOSThread() // so that the other goroutine runs on another thread
	a, b := where(), 0
	var all sync.WaitGroup
	all.Go(func() {
		runtime.LockOSThread()
		b = where()
	})
	all.Wait()
	fmt.Println(os.Getpid(), a, b)
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "r-xp" {
			fmt.Println(strings.Replace(f[0], "-", " ", 1))
			return
		}
	}
}
