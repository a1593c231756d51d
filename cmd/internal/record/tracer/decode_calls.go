package tracer

// The kinds of arguments that are flags or named values.
const (
	kOpen       = kFlags + fOpen
	kProt       = kFlags + fProt
	kMap        = kFlags + fMap
	kAt         = kFlags + fAt
	kClone      = kFlags + fClone
	kWait       = kFlags + fWait
	kDomain     = kFlags + fDomain
	kSocket     = kFlags + fSocket
	kMsg        = kFlags + fMsg
	kSeek       = kFlags + fSeek
	kAccess     = kFlags + fAccess
	kFcntl      = kFlags + fFcntl
	kFutex      = kFlags + fFutex
	kEpollCtl   = kFlags + fEpollCtl
	kAdvise     = kFlags + fAdvise
	kSigmask    = kFlags + fSigmask
	kShut       = kFlags + fShut
	kClock      = kFlags + fClock
	kLevel      = kFlags + fLevel
	kRandom     = kFlags + fRandom
	kLock       = kFlags + fLock
	kPipe       = kFlags + fPipe
	kArch       = kFlags + fArch
	kPrctl      = kFlags + fPrctl
	kLimit      = kFlags + fLimit
	kPtrace     = kFlags + fPtrace
	kUnlink     = kFlags + fUnlink
	kRename     = kFlags + fRename
	kNamespaces = kFlags + fClone3
	kBits       = kFlags + fBits
	kCapability = kFlags + fCapability
	kTimerFlags = kFlags + fTimer
	kWhichTimer = kFlags + fInterval
	kWhose      = kFlags + fUsage
	kWhich      = kFlags + fWhich
	kFileAdvice = kFlags + fFileAdvice
	kMemory     = kFlags + fMemory
	kEvents     = kFlags + fEvents
	kEpollNew   = kFlags + fEpollNew
	kPriority   = kFlags + fPriority
	kStatx      = kFlags + fStatx
	kAllocate   = kFlags + fAllocate
	kRemap      = kFlags + fRemap
	kSync       = kFlags + fSync
)

type kinds = []kind

// callKinds is a system call and the kinds of its arguments.
type callKinds struct {
	name string
	args kinds
}

// calls has the kinds of the arguments of the system calls that people look at.
var calls = []callKinds{
	// files
	{"open", kinds{kPath, kOpen, kMode}},
	{"openat", kinds{kDirFD, kPath, kOpen, kMode}},
	{"openat2", kinds{kDirFD, kPath, kHow, kSize}},
	{"creat", kinds{kPath, kOctal}},
	{"close", kinds{kFD}},
	{"close_range", kinds{kFD, kFD, kHex}},
	{"read", kinds{kFD, kOut, kSize}},
	{"write", kinds{kFD, kIn, kSize}},
	{"pread64", kinds{kFD, kOut, kSize, kLong}},
	{"pwrite64", kinds{kFD, kIn, kSize, kLong}},
	{"readv", kinds{kFD, kBlocksOut, kInt}},
	{"writev", kinds{kFD, kBlocksIn, kInt}},
	{"preadv", kinds{kFD, kBlocksOut, kInt, kLong}},
	{"pwritev", kinds{kFD, kBlocksIn, kInt, kLong}},
	{"preadv2", kinds{kFD, kBlocksOut, kInt, kLong, kHex, kHex}},
	{"pwritev2", kinds{kFD, kBlocksIn, kInt, kLong, kHex, kHex}},
	{"lseek", kinds{kFD, kLong, kSeek}},
	{"stat", kinds{kPath, kStatOut}},
	{"lstat", kinds{kPath, kStatOut}},
	{"fstat", kinds{kFD, kStatOut}},
	{"newfstatat", kinds{kDirFD, kPath, kStatOut, kAt}},
	{"statx", kinds{kDirFD, kPath, kAt, kStatx, kStatxOut}},
	{"statfs", kinds{kPath, kFilesOut}},
	{"fstatfs", kinds{kFD, kFilesOut}},
	{"access", kinds{kPath, kAccess}},
	{"faccessat", kinds{kDirFD, kPath, kAccess}},
	{"faccessat2", kinds{kDirFD, kPath, kAccess, kAt}},
	{"readlink", kinds{kPath, kLink, kSize}},
	{"readlinkat", kinds{kDirFD, kPath, kLink, kSize}},
	{"rename", kinds{kPath, kPath}},
	{"renameat", kinds{kDirFD, kPath, kDirFD, kPath}},
	{"renameat2", kinds{kDirFD, kPath, kDirFD, kPath, kRename}},
	{"unlink", kinds{kPath}},
	{"unlinkat", kinds{kDirFD, kPath, kUnlink}},
	{"mkdir", kinds{kPath, kOctal}},
	{"mkdirat", kinds{kDirFD, kPath, kOctal}},
	{"rmdir", kinds{kPath}},
	{"link", kinds{kPath, kPath}},
	{"linkat", kinds{kDirFD, kPath, kDirFD, kPath, kAt}},
	{"symlink", kinds{kPath, kPath}},
	{"symlinkat", kinds{kPath, kDirFD, kPath}},
	{"mknod", kinds{kPath, kFileMode, kHex}},
	{"mknodat", kinds{kDirFD, kPath, kFileMode, kHex}},
	{"chmod", kinds{kPath, kOctal}},
	{"fchmod", kinds{kFD, kOctal}},
	{"fchmodat", kinds{kDirFD, kPath, kOctal}},
	{"chown", kinds{kPath, kInt, kInt}},
	{"lchown", kinds{kPath, kInt, kInt}},
	{"fchown", kinds{kFD, kInt, kInt}},
	{"fchownat", kinds{kDirFD, kPath, kInt, kInt, kAt}},
	{"utimensat", kinds{kDirFD, kPath, kTimes, kAt}},
	{"truncate", kinds{kPath, kLong}},
	{"ftruncate", kinds{kFD, kLong}},
	{"fallocate", kinds{kFD, kAllocate, kLong, kLong}},
	{"fsync", kinds{kFD}},
	{"fdatasync", kinds{kFD}},
	{"sync", kinds{}},
	{"flock", kinds{kFD, kLock}},
	{"chdir", kinds{kPath}},
	{"fchdir", kinds{kFD}},
	{"chroot", kinds{kPath}},
	{"getcwd", kinds{kLink, kSize}},
	{"getdents64", kinds{kFD, kEntriesOut, kSize}},
	{"dup", kinds{kFD}},
	{"dup2", kinds{kFD, kFD}},
	{"dup3", kinds{kFD, kFD, kPipe}},
	{"pipe", kinds{kFDs}},
	{"pipe2", kinds{kFDs, kPipe}},
	{"fcntl", kinds{kFD, kFcntl}},
	{"ioctl", kinds{kFD, kCommand, kControl}},
	{"umask", kinds{kOctal}},
	{"mount", kinds{kPath, kPath, kPath, kHex, kHex}},
	{"umount2", kinds{kPath, kHex}},
	{"sendfile", kinds{kFD, kFD, kOffset, kSize}},
	{"splice", kinds{kFD, kOffset, kFD, kOffset, kSize, kHex}},
	{"copy_file_range", kinds{kFD, kOffset, kFD, kOffset, kSize, kHex}},
	{"fadvise64", kinds{kFD, kLong, kLong, kFileAdvice}},
	{"memfd_create", kinds{kPath, kMemory}},
	{"inotify_init1", kinds{kHex}},
	{"inotify_add_watch", kinds{kFD, kPath, kHex}},
	{"getxattr", kinds{kPath, kPath, kValueOut, kSize}},
	{"lgetxattr", kinds{kPath, kPath, kValueOut, kSize}},
	{"setxattr", kinds{kPath, kPath, kIn, kSize, kHex}},

	// memory
	{"mmap", kinds{kPointer, kSize, kProt, kMap, kFD, kHex}},
	{"munmap", kinds{kPointer, kSize}},
	{"mprotect", kinds{kPointer, kSize, kProt}},
	{"mremap", kinds{kPointer, kSize, kSize, kRemap, kHex}},
	{"madvise", kinds{kPointer, kSize, kAdvise}},
	{"brk", kinds{kPointer}},
	{"msync", kinds{kPointer, kSize, kSync}},
	{"mlock", kinds{kPointer, kSize}},

	// processes
	{"execve", kinds{kPath, kStrings, kEnvironment}},
	{"execveat", kinds{kDirFD, kPath, kStrings, kEnvironment, kAt}},
	{"fork", kinds{}},
	{"vfork", kinds{}},
	{"clone", kinds{kClone}},
	{"clone3", kinds{kCloneArgs, kSize}},
	{"exit", kinds{kInt}},
	{"exit_group", kinds{kInt}},
	{"wait4", kinds{kPID, kStatus, kWait, kUsageOut}},
	{"waitid", kinds{kWhich, kPID, kEndOut, kWait, kUsageOut}},
	{"kill", kinds{kPID, kSignal}},
	{"tkill", kinds{kPID, kSignal}},
	{"tgkill", kinds{kPID, kPID, kSignal}},
	{"pidfd_open", kinds{kPID, kHex}},
	{"pidfd_send_signal", kinds{kFD, kSignal, kHex, kHex}},
	{"getpid", kinds{}},
	{"getppid", kinds{}},
	{"gettid", kinds{}},
	{"getpgrp", kinds{}},
	{"getpgid", kinds{kPID}},
	{"setpgid", kinds{kPID, kPID}},
	{"getsid", kinds{kPID}},
	{"setsid", kinds{}},
	{"getuid", kinds{}},
	{"geteuid", kinds{}},
	{"getgid", kinds{}},
	{"getegid", kinds{}},
	{"getgroups", kinds{kInt, kIDsOut}},
	{"setgroups", kinds{kInt, kIDs}},
	{"setuid", kinds{kInt}},
	{"setgid", kinds{kInt}},
	{"getrlimit", kinds{kLimit, kLimitsOut}},
	{"setrlimit", kinds{kLimit, kLimits}},
	{"prlimit64", kinds{kPID, kLimit, kLimits, kLimitsOut}},
	{"getrusage", kinds{kWhose, kUsageOut}},
	{"prctl", kinds{kPrctl}},
	{"arch_prctl", kinds{kArch, kHex}},
	{"ptrace", kinds{kPtrace, kPID, kHex, kHex}},
	{"set_tid_address", kinds{kHex}},
	{"set_robust_list", kinds{kHex, kSize}},
	{"rseq", kinds{kHex, kSize, kHex, kHex}},
	{"sched_yield", kinds{}},
	{"sched_getaffinity", kinds{kPID, kSize, kCPUsOut}},
	{"sched_setaffinity", kinds{kPID, kSize, kCPUs}},
	{"uname", kinds{kUnameOut}},
	{"sysinfo", kinds{kSystemOut}},
	{"getrandom", kinds{kOut, kSize, kRandom}},
	{"restart_syscall", kinds{kResumed}},

	// signals
	{"rt_sigaction", kinds{kSignal, kAction, kActionOut, kSize}},
	{"rt_sigprocmask", kinds{kSigmask, kSignalSet, kSignalSetOut, kSize}},
	{"rt_sigreturn", kinds{}},
	{"rt_sigsuspend", kinds{kSignalSet, kSize}},
	{"rt_sigtimedwait", kinds{kSignalSet, kHex, kTime, kSize}},
	{"sigaltstack", kinds{kStack, kStackOut}},
	{"pause", kinds{}},
	{"alarm", kinds{kSize}},

	// time
	{"nanosleep", kinds{kTime, kTimeLeft}},
	{"clock_nanosleep", kinds{kClock, kTimerFlags, kTime, kTimeLeft}},
	{"clock_gettime", kinds{kClock, kTimeOut}},
	{"gettimeofday", kinds{kMicroTimeOut, kPointer}},
	{"clock_getres", kinds{kClock, kTimeOut}},
	{"getitimer", kinds{kWhichTimer, kTimerOut}},
	{"setitimer", kinds{kWhichTimer, kTimer, kTimerOut}},
	{"timerfd_create", kinds{kClock, kPipe}},
	{"timerfd_settime", kinds{kFD, kTimerFlags, kInterval, kIntervalOut}},
	{"timerfd_gettime", kinds{kFD, kIntervalOut}},

	// waiting
	{"futex", kinds{kPointer, kFutex}},
	{"poll", kinds{kPoll, kSize, kInt}},
	{"ppoll", kinds{kPoll, kSize, kTime, kSignalSet, kSize}},
	{"select", kinds{kInt, kSelect, kSelect, kSelect, kMicroTime}},
	{"pselect6", kinds{kInt, kSelect, kSelect, kSelect, kTime, kPointer}},
	{"epoll_create", kinds{kInt}},
	{"epoll_create1", kinds{kEpollNew}},
	{"epoll_ctl", kinds{kFD, kEpollCtl, kFD, kEpoll}},
	{"epoll_wait", kinds{kFD, kEpollOut, kInt, kInt}},
	{"epoll_pwait", kinds{kFD, kEpollOut, kInt, kInt, kSignalSet, kSize}},
	{"eventfd2", kinds{kSize, kEvents}},

	// sockets
	{"socket", kinds{kDomain, kSocket, kInt}},
	{"socketpair", kinds{kDomain, kSocket, kInt, kFDs}},
	{"bind", kinds{kFD, kAddrIn, kSize}},
	{"listen", kinds{kFD, kInt}},
	{"connect", kinds{kFD, kAddrIn, kSize}},
	{"accept", kinds{kFD, kAddrOut, kLengthOut}},
	{"accept4", kinds{kFD, kAddrOut, kLengthOut, kSocket}},
	{"getsockname", kinds{kFD, kAddrOut, kLengthOut}},
	{"getpeername", kinds{kFD, kAddrOut, kLengthOut}},
	{"sendto", kinds{kFD, kIn, kSize, kMsg, kAddrIn, kSize}},
	{"recvfrom", kinds{kFD, kOut, kSize, kMsg, kAddrOut, kLengthOut}},
	{"sendmsg", kinds{kFD, kMessageIn, kMsg}},
	{"recvmsg", kinds{kFD, kMessageOut, kMsg}},
	{"sendmmsg", kinds{kFD, kMessagesIn, kUint, kMsg}},
	{"recvmmsg", kinds{kFD, kMessagesOut, kUint, kMsg, kTime}},
	{"setsockopt", kinds{kFD, kLevel, kOption, kIntIn, kSize}},
	{"getsockopt", kinds{kFD, kLevel, kOption, kIntOut, kLengthOut}},
	{"shutdown", kinds{kFD, kShut}},
}
