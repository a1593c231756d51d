package script_test

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// traceValues makes system calls whose arguments say something about processes, files, times and
// the system, and each of them with an invalid address.
func traceValues() {
	runtime.LockOSThread()
	const nowhere = 0x10
	call := func(nr uintptr, args ...uintptr) {
		var a [6]uintptr
		copy(a[:], args)
		unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	}
	at := func(p unsafe.Pointer) uintptr { return uintptr(p) }

	var name unix.Utsname
	unix.Uname(&name)
	call(unix.SYS_UNAME, nowhere)
	var info unix.Sysinfo_t
	unix.Sysinfo(&info)
	call(unix.SYS_SYSINFO, nowhere)
	var fs unix.Statfs_t
	unix.Statfs("/proc", &fs)
	dir, _ := unix.Open("dir", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	unix.Getdents(dir, make([]byte, 4096))
	call(unix.SYS_GETDENTS64, uintptr(dir), nowhere, 4096)
	unix.UtimesNanoAt(unix.AT_FDCWD, "file", []unix.Timespec{{Sec: 3, Nsec: 5}, {Nsec: unix.UTIME_OMIT}}, 0)
	call(unix.SYS_UTIMENSAT, uintptr(dir), 0, nowhere, 0)

	cpus := [2]uint64{1}
	call(unix.SYS_SCHED_SETAFFINITY, 1<<30, 16, at(unsafe.Pointer(&cpus)))
	call(unix.SYS_SCHED_SETAFFINITY, 1<<30, 16, nowhere)
	groups := [2]uint32{7, 11}
	call(unix.SYS_SETGROUPS, 1<<20, at(unsafe.Pointer(&groups)))
	var usage unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &usage)

	pause := unix.Timespec{Nsec: int64(time.Millisecond)}
	unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &pause, nil)
	call(unix.SYS_NANOSLEEP, nowhere, 0)
	timer := unix.Itimerval{Value: unix.Timeval{Sec: 1000}}
	call(unix.SYS_SETITIMER, unix.ITIMER_REAL, at(unsafe.Pointer(&timer)), 0)
	call(unix.SYS_SETITIMER, unix.ITIMER_REAL, nowhere, 0)

	var p [2]int
	unix.Pipe2(p[:], unix.O_CLOEXEC)
	for i := range p {
		unix.Dup3(p[i], 60+i, unix.O_CLOEXEC)
	}
	unix.Write(61, []byte("x"))
	// The kernel replaces the sets by what is ready, and the time by what is left.
	read, write, limit := [2]uint64{1 << 60}, [2]uint64{1 << 61}, unix.Timespec{Sec: 1000}
	call(unix.SYS_PSELECT6, 62, at(unsafe.Pointer(&read)), at(unsafe.Pointer(&write)), 0, at(unsafe.Pointer(&limit)), 0)
	call(unix.SYS_PSELECT6, 62, nowhere, 0, 0, nowhere, 0)
	limit = unix.Timespec{Sec: 1000}
	poll := unix.PollFd{Fd: 60, Events: unix.POLLIN}
	call(unix.SYS_PPOLL, at(unsafe.Pointer(&poll)), 1, at(unsafe.Pointer(&limit)), 0, 8)
	unix.IoctlGetInt(60, unix.TIOCINQ)
	call(unix.SYS_IOCTL, 60, unix.TIOCGWINSZ, nowhere)
	call(unix.SYS_IOCTL, 60, 0xc0107a07, nowhere)

	f, _ := os.Create("lock")
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 5, Len: 10, Pid: -1}
	unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock)
	unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock)
	call(unix.SYS_FCNTL, f.Fd(), unix.F_SETLK, nowhere)
	word := int32(1)
	call(unix.SYS_FUTEX, at(unsafe.Pointer(&word)), 128, 2, at(unsafe.Pointer(&limit))) // FUTEX_WAIT|FUTEX_PRIVATE_FLAG
	call(unix.SYS_FUTEX, at(unsafe.Pointer(&word)), 1, 2)
	call(unix.SYS_FUTEX, at(unsafe.Pointer(&word)), 128|99)
	var random [4]byte
	call(unix.SYS_GETRANDOM, at(unsafe.Pointer(&random)), 4, unix.GRND_NONBLOCK)
	call(unix.SYS_GETRANDOM, nowhere, 4, 0)
	unix.Fadvise(int(f.Fd()), 0, 10, unix.FADV_DONTNEED)
	unix.MemfdCreate("memory", unix.MFD_CLOEXEC)
	unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 90)
	unix.Mknod("pipe", unix.S_IFIFO|0o600, 0)
	unix.Getpriority(unix.PRIO_PROCESS, 0)
	null, program := []uintptr{0}, append([]byte("missing"), 0)
	one := []uintptr{at(unsafe.Pointer(&program[0])), 0}
	execve := func(env uintptr) {
		call(unix.SYS_EXECVE, at(unsafe.Pointer(&program[0])), at(unsafe.Pointer(&one[0])), env)
	}
	execve(at(unsafe.Pointer(&null[0])))
	execve(at(unsafe.Pointer(&one[0])))
	execve(0)
	execve(nowhere)
	title, _ := unix.BytePtrFromString("values")
	unix.Prctl(unix.PR_SET_NAME, at(unsafe.Pointer(title)), 0, 0, 0)

	child, _ := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{})
	var end [128]byte
	call(unix.SYS_WAITID, unix.P_PID, uintptr(child), at(unsafe.Pointer(&end)), unix.WEXITED, 0)
	s, _ := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	text := []byte("two")
	block := [2]uintptr{at(unsafe.Pointer(&text[0])), 3}
	messages := [16]uintptr{2: at(unsafe.Pointer(&block)), 3: 1, 10: at(unsafe.Pointer(&block)), 11: 1} // struct mmsghdr
	call(unix.SYS_SENDMMSG, uintptr(s[0]), at(unsafe.Pointer(&messages)), 2, 0)
	call(unix.SYS_SENDMMSG, uintptr(s[0]), nowhere, 2, 0)
	call(unix.SYS_SETRESUID, ^uintptr(0), ^uintptr(0), ^uintptr(0), 1, 2, 3)
	call(unix.SYS_UNSHARE, unix.CLONE_FILES, 1, 2, 3)
	runtime.KeepAlive(text)
	runtime.KeepAlive(&block)
	runtime.KeepAlive(null)
	runtime.KeepAlive(one)
}
