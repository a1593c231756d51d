package tracer

import (
	"math"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// kind is the type of an argument of a system call, which says how it is shown.
type kind uint8

const (
	kHex          kind = iota // an address, or a value of unknown meaning
	kPointer                  // an address
	kInt                      // a signed number of 32 bits
	kLong                     // a signed number of 64 bits
	kSize                     // an unsigned number of 64 bits
	kFD                       // a descriptor
	kDirFD                    // a descriptor or AT_FDCWD
	kPath                     // a string that is a path or name
	kPID                      // a process
	kSignal                   // a signal by name
	kOctal                    // permissions
	kMode                     // permissions of a file that open(2) may create
	kStrings                  // an array of strings: argv, not the environment
	kIn                       // input bytes; the next argument is their number
	kTime                     // struct timespec
	kAddrIn                   // input struct sockaddr; the next argument is its size
	kBlocksIn                 // input array of struct iovec; the next argument is its length
	kMessageIn                // input struct msghdr
	kCloneArgs                // struct clone_args; the next argument is its size
	kHow                      // struct open_how; the next argument is its size
	kAction                   // struct sigaction
	kSignalSet                // sigset_t
	kEpoll                    // struct epoll_event
	kLimits                   // struct rlimit
	kIntIn                    // input int, if the next argument is the size of an int
	kFcntlArg                 // the argument of a command of fcntl(2)
	kOption                   // option of a socket; the previous argument is the level
	kFDs                      // two descriptors, on return
	kOut                      // output bytes: as many as the result
	kLink                     // output bytes that are a path
	kStatOut                  // struct stat, on return
	kAddrOut                  // struct sockaddr on return; the next argument points to its size
	kStatus                   // wait status of a process, on return
	kBlocksOut                // array of struct iovec, on return; the next argument is its length
	kMessageOut               // struct msghdr, on return
	kStatxOut                 // struct statx, on return
	kEpollOut                 // array of struct epoll_event, on return; the result is its length
	kActionOut                // struct sigaction, on return
	kSignalSetOut             // sigset_t, on return
	kLimitsOut                // struct rlimit, on return
	kTimeOut                  // struct timespec, on return
	kIntOut                   // an int, on return, if the next argument points to its size
	kPoll                     // array of struct pollfd, on return; the next argument is its length
	kFlags                    // names of flags; kFlags+n is table n
)

// returned reports whether the value of an argument is known only when the call returns.
func (k kind) returned() bool { return k >= kFDs && k <= kPoll }

// The kernel's limits on the lengths of arrays of struct iovec and struct epoll_event.
const (
	maxBlocks = 1024
	maxEvents = 1 << 20
)

// dataMax bounds the data bytes that are shown of a read or a write.
const dataMax = 64

// specs has the kinds of the arguments of each system call by number, nil where they are
// unknown. It is computed on first use, since most programs trace no calls.
var specs = sync.OnceValue(func() *[len(names) + 1]kinds {
	known := make(map[string]kinds, len(calls))
	for _, c := range calls {
		known[c.name] = c.args
	}
	s := new([len(names) + 1]kinds)
	for nr, name := range names {
		s[nr] = known[name]
	}
	return s
})

// unknownCall is the spec of a call whose arguments are unknown: the registers.
var unknownCall = kinds{kHex, kHex, kHex, kHex, kHex, kHex}

// spec returns the kinds of the arguments of a system call.
func spec(nr int) kinds {
	if nr >= 0 && nr < len(names) {
		if s := specs()[nr]; s != nil {
			return s
		}
	}
	return unknownCall
}

// decodeEntry decodes the arguments up to the first one that is known only on return.
func (t *tracer) decodeEntry(k *task) {
	s := spec(k.call.nr)
	if nr := k.call.nr; nr < 0 || nr >= len(names) || names[nr] == "" {
		k.call.args = append(k.call.args, posixtrace.SyscallArg{Value: strconv.AppendInt([]byte("nr="), int64(nr), 10)})
	}
	for i, kind := range s {
		if kind.returned() {
			return
		}
		t.decode(k, i, kind, nil)
	}
}

// decodeReturn decodes the other arguments. d is nil if the call does not return.
func (t *tracer) decodeReturn(k *task, d *posixtrace.SyscallData) {
	s := spec(k.call.nr)
	for i := len(k.call.args); i < len(s); i++ {
		kind := s[i]
		if kind.returned() && kind != kPoll && (d == nil || d.Errno != 0 || d.Restarted != 0) {
			kind = kPointer
		}
		t.decode(k, i, kind, d)
	}
}

// decode appends argument i of the call that a thread is in.
func (t *tracer) decode(k *task, i int, how kind, d *posixtrace.SyscallData) {
	c := &k.call
	if how == kMode && !c.creates(i) || how == kFcntlArg && !c.hasFcntlArg() {
		return
	}
	start := len(c.arena)
	b, ok := c.appendRegister(c.arena, i, how)
	if t.cfg.Want.Paths && (how == kFD || how == kDirFD) {
		b = appendOpened(b, k.tid, int(int32(c.raw[i])))
	}
	var a posixtrace.SyscallArg
	if !ok {
		b, a.String, a.Cut, ok = t.appendText(c.arena, k, i, how, d)
	}
	if !ok {
		b = t.appendMemory(c.arena, k, i, how, d)
	}
	c.arena = b
	a.Value = b[start:len(b):len(b)]
	c.args = append(c.args, a)
}

// creates reports whether the call may create a file, if i is the mode of open(2).
func (c *call) creates(i int) bool {
	return c.raw[(i+5)%6]&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) != 0
}

// hasFcntlArg reports whether the command of fcntl(2) has an argument.
func (c *call) hasFcntlArg() bool {
	switch c.raw[1] {
	case unix.F_GETFD, unix.F_GETFL, unix.F_GETOWN, unix.F_GETPIPE_SZ, unix.F_GET_SEALS:
		return false
	}
	return true
}

// appendRegister appends an argument that the registers alone determine. It returns false
// for other kinds.
func (c *call) appendRegister(b []byte, i int, how kind) (_ []byte, ok bool) {
	v := c.raw[i]
	switch how {
	case kInt, kFD, kPID:
		b = strconv.AppendInt(b, int64(int32(v)), 10)
	case kLong:
		b = strconv.AppendInt(b, int64(v), 10)
	case kSize:
		b = strconv.AppendUint(b, v, 10)
	case kDirFD:
		if int32(v) == unix.AT_FDCWD {
			b = append(b, "AT_FDCWD"...)
		} else {
			b = strconv.AppendInt(b, int64(int32(v)), 10)
		}
	case kOctal, kMode:
		b = strconv.AppendUint(append(b, '0'), uint64(uint32(v)), 8)
	case kSignal:
		b = appendSignal(b, int(int32(v)))
	case kPointer:
		b = appendAddress(b, v)
	case kFcntlArg:
		b = appendFcntlArg(b, c.raw[1], v)
	case kOption:
		b = appendOption(b, c.raw[(i+5)%6], v)
	case kHex:
		b = appendHex(b, v)
	default:
		if how < kFlags {
			return b, false
		}
		b = flagTables[how-kFlags].append(b, v)
	}
	return b, true
}

// appendText appends an argument that is a string, bytes or an array of strings, and
// whether it is shown as a string and is truncated. ok is false for other kinds.
func (t *tracer) appendText(b []byte, k *task, i int, how kind, d *posixtrace.SyscallData) (_ []byte, isString, cut, ok bool) {
	v := k.call.raw[i]
	switch how {
	case kPath:
		b, isString, cut = t.appendString(b, k.tid, v, pathMax)
	case kIn:
		b, isString, cut = t.appendData(b, k.tid, v, k.call.raw[(i+1)%6], dataMax)
	case kOut:
		b, isString, cut = t.appendData(b, k.tid, v, uint64(max(d.Result, 0)), dataMax)
	case kLink:
		start := len(b)
		b, isString, cut = t.appendData(b, k.tid, v, uint64(max(d.Result, 0)), pathMax)
		if n := len(b); n > start && b[n-1] == 0 { // getcwd(2) counts the NUL
			b = b[:n-1]
		}
	case kStrings:
		b, cut = t.appendStrings(b, k.tid, v)
	default:
		return b, false, false, false
	}
	return b, isString, cut, true
}

// appendMemory appends a structure or an array that an argument points to.
func (t *tracer) appendMemory(b []byte, k *task, i int, how kind, d *posixtrace.SyscallData) []byte {
	c, tid := &k.call, k.tid
	v, next := c.raw[i], c.raw[(i+1)%6]
	switch how {
	case kTime, kTimeOut:
		return t.appendTime(b, tid, v)
	case kFDs:
		return t.appendFDs(b, tid, v)
	case kStatOut:
		return t.appendStat(b, tid, v)
	case kStatxOut:
		return t.appendStatx(b, tid, v)
	case kStatus:
		return t.appendStatus(b, tid, v)
	case kAddrIn:
		return t.appendSockaddr(b, tid, v, next)
	case kAddrOut:
		var size [4]byte
		n := uint64(0)
		if readMemory(tid, next, size[:]) == 4 {
			n = uint64(nativeUint32(size[:]))
		}
		return t.appendSockaddr(b, tid, v, n)
	case kBlocksIn:
		return t.appendBlocks(b, tid, v, int(min(next, maxBlocks)), math.MaxUint64)
	case kBlocksOut:
		return t.appendBlocks(b, tid, v, int(min(next, maxBlocks)), uint64(max(d.Result, 0)))
	case kMessageIn:
		return t.appendMessage(b, tid, v, math.MaxUint64)
	case kMessageOut:
		return t.appendMessage(b, tid, v, uint64(max(d.Result, 0)))
	case kCloneArgs:
		return t.appendCloneArgs(b, tid, v, next)
	case kHow:
		return t.appendHow(b, tid, v, next)
	case kAction, kActionOut:
		return t.appendAction(b, tid, v)
	case kSignalSet, kSignalSetOut:
		return t.appendSignalSet(b, tid, v)
	case kEpoll:
		return t.appendEpoll(b, tid, v, 1, false)
	case kEpollOut:
		return t.appendEpoll(b, tid, v, int(min(max(d.Result, 0), maxEvents)), true)
	case kLimits, kLimitsOut:
		return t.appendLimits(b, tid, v)
	case kPoll:
		return t.appendPoll(b, tid, v, uint64(uint32(next)), d != nil && d.Errno == 0 && d.Restarted == 0)
	case kIntIn:
		if uint32(next) == 4 {
			return t.appendInt(b, tid, v)
		}
	case kIntOut:
		if r, ok := t.structure(tid, next, 4); ok && r.int() == 4 {
			return t.appendInt(b, tid, v)
		}
	}
	return appendAddress(b, v)
}

func appendHex(b []byte, v uint64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	return strconv.AppendUint(append(b, "0x"...), v, 16)
}

func appendAddress(b []byte, v uint64) []byte {
	if v == 0 {
		return append(b, "NULL"...)
	}
	return appendHex(b, v)
}

func appendSignal(b []byte, n int) []byte {
	if name := signalNames[n&127]; n > 0 && n < len(signalNames) && name != "" {
		return append(b, name...)
	}
	return strconv.AppendInt(b, int64(n), 10)
}

var signalNames = func() (s [128]string) {
	for n := 1; n < 32; n++ {
		s[n] = unix.SignalName(unix.Signal(n))
	}
	return
}()
