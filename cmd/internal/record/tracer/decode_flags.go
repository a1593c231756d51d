//go:build linux

package tracer

import "golang.org/x/sys/unix"

var cloneFlags = []flag{
	{unix.CLONE_VM, "CLONE_VM"}, {unix.CLONE_FS, "CLONE_FS"}, {unix.CLONE_FILES, "CLONE_FILES"}, {unix.CLONE_SIGHAND, "CLONE_SIGHAND"}, {unix.CLONE_PIDFD, "CLONE_PIDFD"},
	{unix.CLONE_PTRACE, "CLONE_PTRACE"}, {unix.CLONE_VFORK, "CLONE_VFORK"}, {unix.CLONE_PARENT, "CLONE_PARENT"}, {unix.CLONE_THREAD, "CLONE_THREAD"},
	{unix.CLONE_NEWNS, "CLONE_NEWNS"}, {unix.CLONE_SYSVSEM, "CLONE_SYSVSEM"}, {unix.CLONE_SETTLS, "CLONE_SETTLS"}, {unix.CLONE_PARENT_SETTID, "CLONE_PARENT_SETTID"},
	{unix.CLONE_CHILD_CLEARTID, "CLONE_CHILD_CLEARTID"}, {unix.CLONE_DETACHED, "CLONE_DETACHED"}, {unix.CLONE_UNTRACED, "CLONE_UNTRACED"},
	{unix.CLONE_CHILD_SETTID, "CLONE_CHILD_SETTID"}, {unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"}, {unix.CLONE_NEWUTS, "CLONE_NEWUTS"}, {unix.CLONE_NEWIPC, "CLONE_NEWIPC"},
	{unix.CLONE_NEWUSER, "CLONE_NEWUSER"}, {unix.CLONE_NEWPID, "CLONE_NEWPID"}, {unix.CLONE_NEWNET, "CLONE_NEWNET"}, {unix.CLONE_IO, "CLONE_IO"},
}

var flagTables = [fTables]flagTable{
	fOpen: {mask: unix.O_ACCMODE, values: []flag{{unix.O_RDONLY, "O_RDONLY"}, {unix.O_WRONLY, "O_WRONLY"}, {unix.O_RDWR, "O_RDWR"}}, flags: []flag{
		{unix.O_CREAT, "O_CREAT"}, {unix.O_EXCL, "O_EXCL"}, {unix.O_NOCTTY, "O_NOCTTY"}, {unix.O_TRUNC, "O_TRUNC"}, {unix.O_APPEND, "O_APPEND"},
		{unix.O_NONBLOCK, "O_NONBLOCK"}, {unix.O_SYNC, "O_SYNC"}, {unix.O_DSYNC, "O_DSYNC"}, {unix.O_DIRECT, "O_DIRECT"}, {largeFile, "O_LARGEFILE"},
		{unix.O_TMPFILE, "O_TMPFILE"}, {unix.O_DIRECTORY, "O_DIRECTORY"}, {unix.O_NOFOLLOW, "O_NOFOLLOW"}, {unix.O_NOATIME, "O_NOATIME"},
		{unix.O_CLOEXEC, "O_CLOEXEC"}, {unix.O_PATH, "O_PATH"},
	}},
	fProt: {zero: "PROT_NONE", flags: []flag{{unix.PROT_READ, "PROT_READ"}, {unix.PROT_WRITE, "PROT_WRITE"}, {unix.PROT_EXEC, "PROT_EXEC"}, {unix.PROT_GROWSDOWN, "PROT_GROWSDOWN"}}},
	fMap: {mask: unix.MAP_TYPE, values: []flag{{unix.MAP_SHARED, "MAP_SHARED"}, {unix.MAP_PRIVATE, "MAP_PRIVATE"}, {unix.MAP_SHARED_VALIDATE, "MAP_SHARED_VALIDATE"}}, flags: []flag{
		{unix.MAP_FIXED, "MAP_FIXED"}, {unix.MAP_ANONYMOUS, "MAP_ANONYMOUS"}, {unix.MAP_GROWSDOWN, "MAP_GROWSDOWN"}, {unix.MAP_DENYWRITE, "MAP_DENYWRITE"},
		{unix.MAP_LOCKED, "MAP_LOCKED"}, {unix.MAP_NORESERVE, "MAP_NORESERVE"}, {unix.MAP_POPULATE, "MAP_POPULATE"}, {unix.MAP_NONBLOCK, "MAP_NONBLOCK"},
		{unix.MAP_STACK, "MAP_STACK"}, {unix.MAP_HUGETLB, "MAP_HUGETLB"}, {unix.MAP_FIXED_NOREPLACE, "MAP_FIXED_NOREPLACE"},
	}},
	fAt: {flags: []flag{
		{unix.AT_SYMLINK_NOFOLLOW, "AT_SYMLINK_NOFOLLOW"}, {unix.AT_EACCESS, "AT_EACCESS"}, {unix.AT_SYMLINK_FOLLOW, "AT_SYMLINK_FOLLOW"},
		{unix.AT_NO_AUTOMOUNT, "AT_NO_AUTOMOUNT"}, {unix.AT_EMPTY_PATH, "AT_EMPTY_PATH"}, {unix.AT_STATX_FORCE_SYNC, "AT_STATX_FORCE_SYNC"}, {unix.AT_STATX_DONT_SYNC, "AT_STATX_DONT_SYNC"},
	}},
	fClone:  {mask: 0xff, values: []flag{{uint64(unix.SIGCHLD), "SIGCHLD"}}, flags: cloneFlags},
	fClone3: {wide: true, flags: append([]flag{{unix.CLONE_CLEAR_SIGHAND, "CLONE_CLEAR_SIGHAND"}, {unix.CLONE_INTO_CGROUP, "CLONE_INTO_CGROUP"}, {unix.CLONE_NEWTIME, "CLONE_NEWTIME"}}, cloneFlags...)},
	fPoll: {flags: []flag{
		{unix.POLLIN, "POLLIN"}, {unix.POLLPRI, "POLLPRI"}, {unix.POLLOUT, "POLLOUT"}, {unix.POLLERR, "POLLERR"}, {unix.POLLHUP, "POLLHUP"}, {unix.POLLNVAL, "POLLNVAL"},
		{unix.POLLRDHUP, "POLLRDHUP"},
	}},
	fEpoll: {flags: []flag{
		{unix.EPOLLIN, "EPOLLIN"}, {unix.EPOLLPRI, "EPOLLPRI"}, {unix.EPOLLOUT, "EPOLLOUT"}, {unix.EPOLLERR, "EPOLLERR"}, {unix.EPOLLHUP, "EPOLLHUP"}, {unix.EPOLLRDHUP, "EPOLLRDHUP"},
		{unix.EPOLLEXCLUSIVE, "EPOLLEXCLUSIVE"}, {unix.EPOLLWAKEUP, "EPOLLWAKEUP"}, {unix.EPOLLONESHOT, "EPOLLONESHOT"}, {unix.EPOLLET & 0xffffffff, "EPOLLET"},
	}},
	fAction: {flags: []flag{
		{0x04000000, "SA_RESTORER"}, {0x08000000, "SA_ONSTACK"}, {0x10000000, "SA_RESTART"}, {0x40000000, "SA_NODEFER"}, {0x80000000, "SA_RESETHAND"},
		{0x4, "SA_SIGINFO"}, {0x2, "SA_NOCLDWAIT"}, {0x1, "SA_NOCLDSTOP"},
	}},
	fOption: {mask: ^uint64(0), values: []flag{
		{unix.SO_REUSEADDR, "SO_REUSEADDR"}, {unix.SO_REUSEPORT, "SO_REUSEPORT"}, {unix.SO_TYPE, "SO_TYPE"}, {unix.SO_ERROR, "SO_ERROR"}, {unix.SO_BROADCAST, "SO_BROADCAST"},
		{unix.SO_SNDBUF, "SO_SNDBUF"}, {unix.SO_RCVBUF, "SO_RCVBUF"}, {unix.SO_KEEPALIVE, "SO_KEEPALIVE"}, {unix.SO_LINGER, "SO_LINGER"}, {unix.SO_PASSCRED, "SO_PASSCRED"},
		{unix.SO_PEERCRED, "SO_PEERCRED"}, {unix.SO_ACCEPTCONN, "SO_ACCEPTCONN"}, {unix.SO_RCVTIMEO, "SO_RCVTIMEO"}, {unix.SO_SNDTIMEO, "SO_SNDTIMEO"}, {unix.SO_BINDTODEVICE, "SO_BINDTODEVICE"},
	}},
	fOptionTCP: {mask: ^uint64(0), values: []flag{
		{unix.TCP_NODELAY, "TCP_NODELAY"}, {unix.TCP_CORK, "TCP_CORK"}, {unix.TCP_KEEPIDLE, "TCP_KEEPIDLE"}, {unix.TCP_KEEPINTVL, "TCP_KEEPINTVL"}, {unix.TCP_KEEPCNT, "TCP_KEEPCNT"},
		{unix.TCP_INFO, "TCP_INFO"}, {unix.TCP_USER_TIMEOUT, "TCP_USER_TIMEOUT"}, {unix.TCP_FASTOPEN, "TCP_FASTOPEN"}, {unix.TCP_ULP, "TCP_ULP"},
	}},
	fWait: {flags: []flag{
		{unix.WNOHANG, "WNOHANG"}, {unix.WUNTRACED, "WUNTRACED"}, {unix.WEXITED, "WEXITED"}, {unix.WCONTINUED, "WCONTINUED"}, {unix.WNOWAIT, "WNOWAIT"},
		{unix.WNOTHREAD, "__WNOTHREAD"}, {unix.WALL, "__WALL"}, {unix.WCLONE, "__WCLONE"},
	}},
	fDomain: {mask: ^uint64(0), values: []flag{
		{unix.AF_UNSPEC, "AF_UNSPEC"}, {unix.AF_UNIX, "AF_UNIX"}, {unix.AF_INET, "AF_INET"}, {unix.AF_INET6, "AF_INET6"}, {unix.AF_NETLINK, "AF_NETLINK"},
		{unix.AF_PACKET, "AF_PACKET"}, {unix.AF_VSOCK, "AF_VSOCK"}, {unix.AF_ALG, "AF_ALG"},
	}},
	fSocket: {mask: 0xf, values: []flag{
		{unix.SOCK_STREAM, "SOCK_STREAM"}, {unix.SOCK_DGRAM, "SOCK_DGRAM"}, {unix.SOCK_RAW, "SOCK_RAW"}, {unix.SOCK_SEQPACKET, "SOCK_SEQPACKET"},
	}, flags: []flag{{unix.SOCK_CLOEXEC, "SOCK_CLOEXEC"}, {unix.SOCK_NONBLOCK, "SOCK_NONBLOCK"}}},
	fMsg: {flags: []flag{
		{unix.MSG_OOB, "MSG_OOB"}, {unix.MSG_PEEK, "MSG_PEEK"}, {unix.MSG_DONTROUTE, "MSG_DONTROUTE"}, {unix.MSG_CTRUNC, "MSG_CTRUNC"}, {unix.MSG_TRUNC, "MSG_TRUNC"},
		{unix.MSG_DONTWAIT, "MSG_DONTWAIT"}, {unix.MSG_EOR, "MSG_EOR"}, {unix.MSG_WAITALL, "MSG_WAITALL"}, {unix.MSG_NOSIGNAL, "MSG_NOSIGNAL"}, {unix.MSG_MORE, "MSG_MORE"},
		{unix.MSG_WAITFORONE, "MSG_WAITFORONE"}, {unix.MSG_FASTOPEN, "MSG_FASTOPEN"}, {unix.MSG_CMSG_CLOEXEC, "MSG_CMSG_CLOEXEC"},
	}},
	fSeek:   {mask: ^uint64(0), values: []flag{{unix.SEEK_SET, "SEEK_SET"}, {unix.SEEK_CUR, "SEEK_CUR"}, {unix.SEEK_END, "SEEK_END"}, {unix.SEEK_DATA, "SEEK_DATA"}, {unix.SEEK_HOLE, "SEEK_HOLE"}}},
	fAccess: {zero: "F_OK", flags: []flag{{unix.R_OK, "R_OK"}, {unix.W_OK, "W_OK"}, {unix.X_OK, "X_OK"}}},
	fFcntl: {mask: ^uint64(0), values: []flag{
		{unix.F_DUPFD, "F_DUPFD"}, {unix.F_GETFD, "F_GETFD"}, {unix.F_SETFD, "F_SETFD"}, {unix.F_GETFL, "F_GETFL"}, {unix.F_SETFL, "F_SETFL"}, {unix.F_GETLK, "F_GETLK"},
		{unix.F_SETLK, "F_SETLK"}, {unix.F_SETLKW, "F_SETLKW"}, {unix.F_SETOWN, "F_SETOWN"}, {unix.F_GETOWN, "F_GETOWN"}, {unix.F_DUPFD_CLOEXEC, "F_DUPFD_CLOEXEC"},
		{unix.F_GETSIG, "F_GETSIG"}, {unix.F_SETSIG, "F_SETSIG"}, {unix.F_GETLEASE, "F_GETLEASE"}, {unix.F_SETLEASE, "F_SETLEASE"},
		{unix.F_SETPIPE_SZ, "F_SETPIPE_SZ"}, {unix.F_GETPIPE_SZ, "F_GETPIPE_SZ"}, {unix.F_ADD_SEALS, "F_ADD_SEALS"}, {unix.F_GET_SEALS, "F_GET_SEALS"},
		{unix.F_OFD_GETLK, "F_OFD_GETLK"}, {unix.F_OFD_SETLK, "F_OFD_SETLK"}, {unix.F_OFD_SETLKW, "F_OFD_SETLKW"},
	}},
	fFutex:    {mask: 0xff, values: futexOperations(), flags: []flag{{futexPrivate, "FUTEX_PRIVATE_FLAG"}, {256, "FUTEX_CLOCK_REALTIME"}}},
	fEpollCtl: {mask: ^uint64(0), values: []flag{{unix.EPOLL_CTL_ADD, "EPOLL_CTL_ADD"}, {unix.EPOLL_CTL_DEL, "EPOLL_CTL_DEL"}, {unix.EPOLL_CTL_MOD, "EPOLL_CTL_MOD"}}},
	fAdvise: {mask: ^uint64(0), values: []flag{
		{unix.MADV_NORMAL, "MADV_NORMAL"}, {unix.MADV_RANDOM, "MADV_RANDOM"}, {unix.MADV_SEQUENTIAL, "MADV_SEQUENTIAL"}, {unix.MADV_WILLNEED, "MADV_WILLNEED"},
		{unix.MADV_DONTNEED, "MADV_DONTNEED"}, {unix.MADV_FREE, "MADV_FREE"}, {unix.MADV_HUGEPAGE, "MADV_HUGEPAGE"}, {unix.MADV_NOHUGEPAGE, "MADV_NOHUGEPAGE"},
		{unix.MADV_COLLAPSE, "MADV_COLLAPSE"},
	}},
	fSigmask: {mask: ^uint64(0), values: []flag{{unix.SIG_BLOCK, "SIG_BLOCK"}, {unix.SIG_UNBLOCK, "SIG_UNBLOCK"}, {unix.SIG_SETMASK, "SIG_SETMASK"}}},
	fShut:    {mask: ^uint64(0), values: []flag{{unix.SHUT_RD, "SHUT_RD"}, {unix.SHUT_WR, "SHUT_WR"}, {unix.SHUT_RDWR, "SHUT_RDWR"}}},
	fClock: {mask: ^uint64(0), values: []flag{
		{unix.CLOCK_REALTIME, "CLOCK_REALTIME"}, {unix.CLOCK_MONOTONIC, "CLOCK_MONOTONIC"}, {unix.CLOCK_PROCESS_CPUTIME_ID, "CLOCK_PROCESS_CPUTIME_ID"},
		{unix.CLOCK_THREAD_CPUTIME_ID, "CLOCK_THREAD_CPUTIME_ID"}, {unix.CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW"}, {unix.CLOCK_REALTIME_COARSE, "CLOCK_REALTIME_COARSE"},
		{unix.CLOCK_MONOTONIC_COARSE, "CLOCK_MONOTONIC_COARSE"}, {unix.CLOCK_BOOTTIME, "CLOCK_BOOTTIME"},
	}},
	fLevel: {mask: ^uint64(0), values: []flag{
		{unix.SOL_SOCKET, "SOL_SOCKET"}, {unix.SOL_IP, "SOL_IP"}, {unix.SOL_TCP, "SOL_TCP"}, {unix.SOL_UDP, "SOL_UDP"}, {unix.SOL_IPV6, "SOL_IPV6"}, {unix.SOL_NETLINK, "SOL_NETLINK"},
	}},
	fRandom: {flags: []flag{{unix.GRND_NONBLOCK, "GRND_NONBLOCK"}, {unix.GRND_RANDOM, "GRND_RANDOM"}, {unix.GRND_INSECURE, "GRND_INSECURE"}}},
	fLock:   {flags: []flag{{unix.LOCK_SH, "LOCK_SH"}, {unix.LOCK_EX, "LOCK_EX"}, {unix.LOCK_NB, "LOCK_NB"}, {unix.LOCK_UN, "LOCK_UN"}}},
	fPipe:   {flags: []flag{{unix.O_CLOEXEC, "O_CLOEXEC"}, {unix.O_DIRECT, "O_DIRECT"}, {unix.O_NONBLOCK, "O_NONBLOCK"}}},
	fArch:   {mask: ^uint64(0), values: []flag{{0x1001, "ARCH_SET_GS"}, {0x1002, "ARCH_SET_FS"}, {0x1003, "ARCH_GET_FS"}, {0x1004, "ARCH_GET_GS"}}},
	fIoctl: {mask: ^uint64(0), values: []flag{
		{unix.TCGETS, "TCGETS"}, {unix.TCSETS, "TCSETS"}, {unix.TCSETSW, "TCSETSW"}, {unix.TCSETSF, "TCSETSF"}, {unix.TIOCGPGRP, "TIOCGPGRP"}, {unix.TIOCSPGRP, "TIOCSPGRP"},
		{unix.TIOCGWINSZ, "TIOCGWINSZ"}, {unix.TIOCSWINSZ, "TIOCSWINSZ"}, {unix.TIOCSCTTY, "TIOCSCTTY"}, {unix.TIOCNOTTY, "TIOCNOTTY"}, {unix.TIOCINQ, "FIONREAD"},
		{unix.TIOCGPTN, "TIOCGPTN"}, {unix.FICLONE, "FICLONE"}, {unix.TIOCOUTQ, "TIOCOUTQ"}, {unix.TIOCSPTLCK, "TIOCSPTLCK"}, {unix.TIOCGPTPEER, "TIOCGPTPEER"},
		{unix.TIOCGSID, "TIOCGSID"}, {unix.TCFLSH, "TCFLSH"}, {unix.TCSBRK, "TCSBRK"}, {unix.TCXONC, "TCXONC"}, {tcgets2, "TCGETS2"}, {tcsets2, "TCSETS2"},
		{fionbio, "FIONBIO"}, {fioasync, "FIOASYNC"},
	}},
	fPrctl: {mask: ^uint64(0), values: []flag{
		{unix.PR_SET_NAME, "PR_SET_NAME"}, {unix.PR_GET_NAME, "PR_GET_NAME"}, {unix.PR_SET_PDEATHSIG, "PR_SET_PDEATHSIG"}, {unix.PR_SET_DUMPABLE, "PR_SET_DUMPABLE"}, {unix.PR_GET_DUMPABLE, "PR_GET_DUMPABLE"},
		{unix.PR_SET_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS"}, {unix.PR_SET_SECCOMP, "PR_SET_SECCOMP"}, {unix.PR_CAPBSET_READ, "PR_CAPBSET_READ"}, {unix.PR_SET_CHILD_SUBREAPER, "PR_SET_CHILD_SUBREAPER"},
		{unix.PR_SET_VMA, "PR_SET_VMA"}, {unix.PR_SET_KEEPCAPS, "PR_SET_KEEPCAPS"},
		{unix.PR_GET_PDEATHSIG, "PR_GET_PDEATHSIG"}, {unix.PR_CAPBSET_DROP, "PR_CAPBSET_DROP"}, {unix.PR_SET_TIMERSLACK, "PR_SET_TIMERSLACK"}, {unix.PR_SET_PTRACER, "PR_SET_PTRACER"},
		{unix.PR_GET_KEEPCAPS, "PR_GET_KEEPCAPS"}, {unix.PR_GET_TIMERSLACK, "PR_GET_TIMERSLACK"}, {unix.PR_GET_SECCOMP, "PR_GET_SECCOMP"},
	}},
	fLimit: {mask: ^uint64(0), values: []flag{
		{unix.RLIMIT_CPU, "RLIMIT_CPU"}, {unix.RLIMIT_FSIZE, "RLIMIT_FSIZE"}, {unix.RLIMIT_DATA, "RLIMIT_DATA"}, {unix.RLIMIT_STACK, "RLIMIT_STACK"}, {unix.RLIMIT_CORE, "RLIMIT_CORE"},
		{unix.RLIMIT_NPROC, "RLIMIT_NPROC"}, {unix.RLIMIT_NOFILE, "RLIMIT_NOFILE"}, {unix.RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"}, {unix.RLIMIT_AS, "RLIMIT_AS"},
	}},
	fPtrace: {mask: ^uint64(0), values: []flag{
		{unix.PTRACE_TRACEME, "PTRACE_TRACEME"}, {unix.PTRACE_ATTACH, "PTRACE_ATTACH"}, {unix.PTRACE_SEIZE, "PTRACE_SEIZE"}, {unix.PTRACE_CONT, "PTRACE_CONT"}, {unix.PTRACE_SYSCALL, "PTRACE_SYSCALL"},
		{unix.PTRACE_DETACH, "PTRACE_DETACH"}, {unix.PTRACE_PEEKTEXT, "PTRACE_PEEKTEXT"}, {unix.PTRACE_PEEKDATA, "PTRACE_PEEKDATA"},
	}},
	fUnlink:   {flags: []flag{{unix.AT_REMOVEDIR, "AT_REMOVEDIR"}}},
	fRename:   {flags: []flag{{unix.RENAME_NOREPLACE, "RENAME_NOREPLACE"}, {unix.RENAME_EXCHANGE, "RENAME_EXCHANGE"}, {unix.RENAME_WHITEOUT, "RENAME_WHITEOUT"}}},
	fLockType: {mask: ^uint64(0), values: []flag{{unix.F_RDLCK, "F_RDLCK"}, {unix.F_WRLCK, "F_WRLCK"}, {unix.F_UNLCK, "F_UNLCK"}}},
	fStack:    {flags: []flag{{1, "SS_ONSTACK"}, {2, "SS_DISABLE"}, {1 << 31, "SS_AUTODISARM"}}},
	fFileSystem: {mask: ^uint64(0), values: []flag{
		{unix.EXT4_SUPER_MAGIC, "EXT4_SUPER_MAGIC"}, {unix.XFS_SUPER_MAGIC, "XFS_SUPER_MAGIC"}, {unix.BTRFS_SUPER_MAGIC, "BTRFS_SUPER_MAGIC"}, {unix.TMPFS_MAGIC, "TMPFS_MAGIC"},
		{unix.PROC_SUPER_MAGIC, "PROC_SUPER_MAGIC"}, {unix.SYSFS_MAGIC, "SYSFS_MAGIC"}, {unix.OVERLAYFS_SUPER_MAGIC, "OVERLAYFS_SUPER_MAGIC"}, {unix.NFS_SUPER_MAGIC, "NFS_SUPER_MAGIC"},
		{unix.CGROUP2_SUPER_MAGIC, "CGROUP2_SUPER_MAGIC"}, {unix.PIPEFS_MAGIC, "PIPEFS_MAGIC"}, {unix.SOCKFS_MAGIC, "SOCKFS_MAGIC"}, {unix.SELINUX_MAGIC, "SELINUX_MAGIC"},
	}},
	fSeal: {flags: []flag{
		{unix.F_SEAL_SEAL, "F_SEAL_SEAL"}, {unix.F_SEAL_SHRINK, "F_SEAL_SHRINK"}, {unix.F_SEAL_GROW, "F_SEAL_GROW"}, {unix.F_SEAL_WRITE, "F_SEAL_WRITE"}, {unix.F_SEAL_FUTURE_WRITE, "F_SEAL_FUTURE_WRITE"},
	}},
	fBits: {mask: ^uint64(0), values: []flag{{0xffffffff, "FUTEX_BITSET_MATCH_ANY"}}},
	fCapability: {mask: ^uint64(0), values: []flag{
		{unix.CAP_CHOWN, "CAP_CHOWN"}, {unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"}, {unix.CAP_KILL, "CAP_KILL"}, {unix.CAP_SETUID, "CAP_SETUID"}, {unix.CAP_SETGID, "CAP_SETGID"},
		{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {unix.CAP_NET_RAW, "CAP_NET_RAW"}, {unix.CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"}, {unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
		{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}, {unix.CAP_MAC_OVERRIDE, "CAP_MAC_OVERRIDE"}, {unix.CAP_PERFMON, "CAP_PERFMON"}, {unix.CAP_BPF, "CAP_BPF"},
	}},
	fTimer:    {flags: []flag{{unix.TIMER_ABSTIME, "TIMER_ABSTIME"}}},
	fInterval: {mask: ^uint64(0), values: []flag{{unix.ITIMER_REAL, "ITIMER_REAL"}, {unix.ITIMER_VIRTUAL, "ITIMER_VIRTUAL"}, {unix.ITIMER_PROF, "ITIMER_PROF"}}},
	fUsage:    {mask: ^uint64(0), values: []flag{{unix.RUSAGE_SELF, "RUSAGE_SELF"}, {unix.RUSAGE_CHILDREN & 0xffffffff, "RUSAGE_CHILDREN"}, {unix.RUSAGE_THREAD, "RUSAGE_THREAD"}}},
	fWhich:    {mask: ^uint64(0), values: []flag{{unix.P_ALL, "P_ALL"}, {unix.P_PID, "P_PID"}, {unix.P_PGID, "P_PGID"}, {unix.P_PIDFD, "P_PIDFD"}}},
	fFileAdvice: {mask: ^uint64(0), values: []flag{
		{unix.FADV_NORMAL, "POSIX_FADV_NORMAL"}, {unix.FADV_RANDOM, "POSIX_FADV_RANDOM"}, {unix.FADV_SEQUENTIAL, "POSIX_FADV_SEQUENTIAL"},
		{unix.FADV_WILLNEED, "POSIX_FADV_WILLNEED"}, {unix.FADV_DONTNEED, "POSIX_FADV_DONTNEED"}, {unix.FADV_NOREUSE, "POSIX_FADV_NOREUSE"},
	}},
	fMemory:   {flags: []flag{{unix.MFD_CLOEXEC, "MFD_CLOEXEC"}, {unix.MFD_ALLOW_SEALING, "MFD_ALLOW_SEALING"}, {unix.MFD_HUGETLB, "MFD_HUGETLB"}, {unix.MFD_NOEXEC_SEAL, "MFD_NOEXEC_SEAL"}, {unix.MFD_EXEC, "MFD_EXEC"}}},
	fEvents:   {flags: []flag{{unix.EFD_SEMAPHORE, "EFD_SEMAPHORE"}, {unix.EFD_CLOEXEC, "EFD_CLOEXEC"}, {unix.EFD_NONBLOCK, "EFD_NONBLOCK"}}},
	fEpollNew: {flags: []flag{{unix.EPOLL_CLOEXEC, "EPOLL_CLOEXEC"}}},
	fPriority: {mask: ^uint64(0), values: []flag{{unix.PRIO_PROCESS, "PRIO_PROCESS"}, {unix.PRIO_PGRP, "PRIO_PGRP"}, {unix.PRIO_USER, "PRIO_USER"}}},
	fStatx: {flags: []flag{
		{0xfff, "STATX_ALL"}, {0x7ff, "STATX_BASIC_STATS"}, {unix.STATX_TYPE, "STATX_TYPE"}, {unix.STATX_MODE, "STATX_MODE"}, {unix.STATX_NLINK, "STATX_NLINK"},
		{unix.STATX_UID, "STATX_UID"}, {unix.STATX_GID, "STATX_GID"}, {unix.STATX_ATIME, "STATX_ATIME"}, {unix.STATX_MTIME, "STATX_MTIME"}, {unix.STATX_CTIME, "STATX_CTIME"},
		{unix.STATX_INO, "STATX_INO"}, {unix.STATX_SIZE, "STATX_SIZE"}, {unix.STATX_BLOCKS, "STATX_BLOCKS"}, {unix.STATX_BTIME, "STATX_BTIME"}, {unix.STATX_MNT_ID, "STATX_MNT_ID"},
	}},
	fAllocate: {flags: []flag{
		{unix.FALLOC_FL_KEEP_SIZE, "FALLOC_FL_KEEP_SIZE"}, {unix.FALLOC_FL_PUNCH_HOLE, "FALLOC_FL_PUNCH_HOLE"}, {unix.FALLOC_FL_COLLAPSE_RANGE, "FALLOC_FL_COLLAPSE_RANGE"},
		{unix.FALLOC_FL_ZERO_RANGE, "FALLOC_FL_ZERO_RANGE"}, {unix.FALLOC_FL_INSERT_RANGE, "FALLOC_FL_INSERT_RANGE"}, {unix.FALLOC_FL_UNSHARE_RANGE, "FALLOC_FL_UNSHARE_RANGE"},
	}},
	fRemap: {flags: []flag{{unix.MREMAP_MAYMOVE, "MREMAP_MAYMOVE"}, {unix.MREMAP_FIXED, "MREMAP_FIXED"}, {unix.MREMAP_DONTUNMAP, "MREMAP_DONTUNMAP"}}},
	fSync:  {flags: []flag{{unix.MS_ASYNC, "MS_ASYNC"}, {unix.MS_INVALIDATE, "MS_INVALIDATE"}, {unix.MS_SYNC, "MS_SYNC"}}},
}

// futexPrivate is FUTEX_PRIVATE_FLAG.
const futexPrivate = 128

// futexOperations returns the operations of futex(2), and their names with FUTEX_PRIVATE_FLAG.
func futexOperations() (list []flag) {
	for op, name := range []string{
		0: "WAIT", 1: "WAKE", 3: "REQUEUE", 4: "CMP_REQUEUE", 5: "WAKE_OP", 6: "LOCK_PI", 7: "UNLOCK_PI", 8: "TRYLOCK_PI",
		9: "WAIT_BITSET", 10: "WAKE_BITSET", 11: "WAIT_REQUEUE_PI", 12: "CMP_REQUEUE_PI", 13: "LOCK_PI2",
	} {
		if name != "" {
			list = append(list, flag{uint64(op), "FUTEX_" + name}, flag{uint64(op) | futexPrivate, "FUTEX_" + name + "_PRIVATE"})
		}
	}
	return list
}
