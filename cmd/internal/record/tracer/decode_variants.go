//go:build linux

package tracer

import (
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// variant returns the kinds of the arguments of a call whose other arguments say which it has.
func variant(s kinds, k kind, raw *[6]uint64) kinds {
	switch k {
	case kFutex:
		return futexKinds(raw[1])
	case kClone:
		return cloneKinds(raw[0])
	case kPrctl:
		return prctlKinds(raw[0])
	case kFcntl:
		return fcntlKinds(raw[1])
	}
	return s
}

// futexKinds returns the arguments of an operation of futex(2). Others have values left from earlier
// calls.
func futexKinds(op uint64) kinds {
	switch op & 0x7f {
	case 0, 13: // FUTEX_WAIT, FUTEX_LOCK_PI2
		return kinds{kPointer, kFutex, kUint, kTime}
	case 1: // FUTEX_WAKE
		return kinds{kPointer, kFutex, kUint}
	case 3: // FUTEX_REQUEUE
		return kinds{kPointer, kFutex, kUint, kUint, kPointer}
	case 4, 12: // FUTEX_CMP_REQUEUE, FUTEX_CMP_REQUEUE_PI
		return kinds{kPointer, kFutex, kUint, kUint, kPointer, kUint}
	case 5: // FUTEX_WAKE_OP
		return kinds{kPointer, kFutex, kUint, kUint, kPointer, kHex}
	case 6: // FUTEX_LOCK_PI
		return kinds{kPointer, kFutex, kNone, kTime}
	case 7, 8: // FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI
		return kinds{kPointer, kFutex}
	case 9: // FUTEX_WAIT_BITSET
		return kinds{kPointer, kFutex, kUint, kTime, kNone, kBits}
	case 10: // FUTEX_WAKE_BITSET
		return kinds{kPointer, kFutex, kUint, kNone, kNone, kBits}
	case 11: // FUTEX_WAIT_REQUEUE_PI
		return kinds{kPointer, kFutex, kUint, kTime, kPointer}
	}
	return kinds{kPointer, kFutex, kUint, kHex, kHex, kHex}
}

// cloneKinds returns the arguments of clone(2) with some flags.
func cloneKinds(flags uint64) kinds {
	parent, child, tls := kNone, kNone, kNone
	if flags&(unix.CLONE_PARENT_SETTID|unix.CLONE_PIDFD) != 0 {
		parent = kParentTID
	}
	if flags&(unix.CLONE_CHILD_SETTID|unix.CLONE_CHILD_CLEARTID) != 0 {
		child = kChildTID
	}
	if flags&unix.CLONE_SETTLS != 0 {
		tls = kTLS
	}
	if runtime.GOARCH != "amd64" {
		return kinds{kClone, kChildStack, parent, tls, child}
	}
	return kinds{kClone, kChildStack, parent, child, tls}
}

// prctlKinds returns the arguments of an option of prctl(2).
func prctlKinds(option uint64) kinds {
	switch option {
	case unix.PR_SET_NAME:
		return kinds{kPrctl, kText}
	case unix.PR_GET_NAME, unix.PR_GET_PDEATHSIG:
		return kinds{kPrctl, kPointer}
	case unix.PR_SET_PDEATHSIG:
		return kinds{kPrctl, kSignal}
	case unix.PR_CAPBSET_READ, unix.PR_CAPBSET_DROP:
		return kinds{kPrctl, kCapability}
	case unix.PR_SET_DUMPABLE, unix.PR_SET_KEEPCAPS, unix.PR_SET_CHILD_SUBREAPER, unix.PR_SET_TIMERSLACK, unix.PR_SET_PTRACER:
		return kinds{kPrctl, kLong}
	case unix.PR_SET_NO_NEW_PRIVS:
		return kinds{kPrctl, kLong, kLong, kLong, kLong}
	case unix.PR_GET_DUMPABLE, unix.PR_GET_KEEPCAPS, unix.PR_GET_TIMERSLACK, unix.PR_GET_SECCOMP:
		return kinds{kPrctl}
	case unix.PR_SET_VMA:
		return kinds{kPrctl, kHex, kPointer, kSize, kText}
	}
	return kinds{kPrctl, kHex, kHex, kHex, kHex}
}

// fcntlKinds returns the arguments of a command of fcntl(2).
func fcntlKinds(cmd uint64) kinds {
	switch cmd {
	case unix.F_GETFD, unix.F_GETFL, unix.F_GETOWN, unix.F_GETSIG, unix.F_GETLEASE, unix.F_GETPIPE_SZ, unix.F_GET_SEALS:
		return kinds{kFD, kFcntl}
	case unix.F_GETLK, unix.F_OFD_GETLK:
		return kinds{kFD, kFcntl, kFileLockOut}
	case unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_SETLK, unix.F_OFD_SETLKW:
		return kinds{kFD, kFcntl, kFileLock}
	}
	return kinds{kFD, kFcntl, kFcntlArg}
}

// appendFcntlArg appends the third argument of fcntl(2), whose kind depends on the second.
func appendFcntlArg(b []byte, cmd, v uint64) []byte {
	switch cmd {
	case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_SETOWN, unix.F_SETPIPE_SZ:
		return strconv.AppendInt(b, int64(int32(v)), 10)
	case unix.F_SETFD:
		if v == unix.FD_CLOEXEC {
			return append(b, "FD_CLOEXEC"...)
		}
	case unix.F_SETFL:
		return flagTables[fOpen].append(b, v)
	case unix.F_SETLEASE:
		return flagTables[fLockType].append(b, v)
	case unix.F_ADD_SEALS:
		return flagTables[fSeal].append(b, v)
	case unix.F_SETSIG:
		return appendSignal(b, int(int32(v)))
	}
	return appendHex(b, v)
}
