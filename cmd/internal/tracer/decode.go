package tracer

import (
	"math"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// kind says how an argument of a system call is written.
type kind uint8

const (
	kHex          kind = iota // an address, or what is not known better
	kPointer                  // an address
	kInt                      // a number with a sign, of 32 bits
	kLong                     // of 64 bits
	kSize                     // without
	kFD                       // a descriptor
	kDirFD                    // or AT_FDCWD
	kPath                     // a string that is a path or name
	kPID                      // a process
	kSignal                   // a signal by name
	kOctal                    // permissions
	kMode                     // those of a file that open(2) may create
	kStrings                  // an array of strings: argv, not the environment
	kIn                       // bytes that are given; the next argument is how many
	kTime                     // struct timespec
	kAddrIn                   // struct sockaddr that is given; the next argument is its size
	kBlocksIn                 // array of struct iovec that is given; the next argument is how many
	kMessageIn                // struct msghdr that is given
	kCloneArgs                // struct clone_args; the next argument is its size
	kHow                      // struct open_how; the next argument is its size
	kAction                   // struct sigaction
	kSignalSet                // sigset_t
	kEpoll                    // struct epoll_event
	kLimits                   // struct rlimit
	kIntIn                    // an int that is given, if the next argument says that it is that long
	kFcntlArg                 // what the command of fcntl(2) wants
	kOption                   // option of a socket; the argument before is the level
	kFDs                      // two descriptors, on return
	kOut                      // bytes that are got: as many as the result
	kLink                     // the same, and a path
	kStatOut                  // struct stat, on return
	kAddrOut                  // struct sockaddr on return; the next argument points to its size
	kStatus                   // status of a process that was waited for
	kBlocksOut                // array of struct iovec, on return; the next argument is how many
	kMessageOut               // struct msghdr, on return
	kStatxOut                 // struct statx, on return
	kEpollOut                 // array of struct epoll_event, on return: as many as the result
	kActionOut                // struct sigaction, on return
	kSignalSetOut             // sigset_t, on return
	kLimitsOut                // struct rlimit, on return
	kTimeOut                  // struct timespec, on return
	kIntOut                   // an int, on return, if the next argument points to its size
	kPoll                     // array of struct pollfd, on return; the next argument is how many
	kFlags                    // names of flags; kFlags+n is table n
)

// returned reports whether an argument is known only when the call returns.
func (k kind) returned() bool { return k >= kFDs && k <= kPoll }

// The kernel takes no more blocks, and no array of more events.
const (
	maxBlocks = 1024
	maxEvents = 1 << 20
)

// dataMax bounds the bytes of data that are shown of what is read and written.
const dataMax = 64

// specs are the kinds of the arguments of each system call; nil where they are
// not known. Programs that trace nothing do not make them.
var specs = sync.OnceValue(func() *[len(names) + 1][]kind {
	s, known := new([len(names) + 1][]kind), calls()
	for nr, name := range names {
		s[nr] = known[name]
	}
	return s
})

// unknownCall is a call of which only the registers can be told.
var unknownCall = []kind{kHex, kHex, kHex, kHex, kHex, kHex}

func spec(nr int) []kind {
	if nr >= 0 && nr < len(names) {
		if s := specs()[nr]; s != nil {
			return s
		}
	}
	return unknownCall
}

// decodeEntry writes the arguments down to the first one that is known only on return.
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

// decodeReturn writes the others. d is nil when the call does not return.
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

// decode appends argument i.
func (t *tracer) decode(k *task, i int, how kind, d *posixtrace.SyscallData) {
	c := &k.call
	v := c.raw[i]
	start := len(c.arena)
	b := c.arena
	a := posixtrace.SyscallArg{}
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
	case kOctal:
		b = strconv.AppendUint(append(b, '0'), uint64(uint32(v)), 8)
	case kMode:
		if c.raw[(i+5)%6]&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) == 0 {
			return
		}
		b = strconv.AppendUint(append(b, '0'), uint64(uint32(v)), 8)
	case kSignal:
		b = appendSignal(b, int(int32(v)))
	case kPath:
		b, a.String, a.Cut = t.appendString(b, k.tid, v, pathMax)
	case kIn:
		b, a.String, a.Cut = t.appendData(b, k.tid, v, c.raw[(i+1)%6], dataMax)
	case kOut, kLink:
		limit := dataMax
		if how == kLink {
			limit = pathMax
		}
		b, a.String, a.Cut = t.appendData(b, k.tid, v, uint64(max(d.Result, 0)), limit)
		if n := len(b); how == kLink && n > start && b[n-1] == 0 { // getcwd(2) counts it
			b = b[:n-1]
		}
	case kStrings:
		b, a.Cut = t.appendStrings(b, k.tid, v)
	case kTime:
		b = t.appendTime(b, k.tid, v)
	case kFDs:
		b = t.appendFDs(b, k.tid, v)
	case kStatOut:
		b = t.appendStat(b, k.tid, v)
	case kStatus:
		b = t.appendStatus(b, k.tid, v)
	case kAddrIn:
		b = t.appendSockaddr(b, k.tid, v, c.raw[(i+1)%6])
	case kAddrOut:
		var size [4]byte
		n := uint64(0)
		if readMemory(k.tid, c.raw[(i+1)%6], size[:]) == 4 {
			n = uint64(nativeUint32(size[:]))
		}
		b = t.appendSockaddr(b, k.tid, v, n)
	case kPointer:
		b = appendAddress(b, v)
	case kBlocksIn:
		b = t.appendBlocks(b, k.tid, v, int(min(c.raw[(i+1)%6], maxBlocks)), math.MaxUint64)
	case kBlocksOut:
		b = t.appendBlocks(b, k.tid, v, int(min(c.raw[(i+1)%6], maxBlocks)), uint64(max(d.Result, 0)))
	case kMessageIn:
		b = t.appendMessage(b, k.tid, v, math.MaxUint64)
	case kMessageOut:
		b = t.appendMessage(b, k.tid, v, uint64(max(d.Result, 0)))
	case kCloneArgs:
		b = t.appendCloneArgs(b, k.tid, v, c.raw[(i+1)%6])
	case kHow:
		b = t.appendHow(b, k.tid, v, c.raw[(i+1)%6])
	case kAction, kActionOut:
		b = t.appendAction(b, k.tid, v)
	case kSignalSet, kSignalSetOut:
		b = t.appendSignalSet(b, k.tid, v)
	case kEpoll:
		b = t.appendEpoll(b, k.tid, v, 1, false)
	case kEpollOut:
		b = t.appendEpoll(b, k.tid, v, int(min(max(d.Result, 0), maxEvents)), true)
	case kLimits, kLimitsOut:
		b = t.appendLimits(b, k.tid, v)
	case kTimeOut:
		b = t.appendTime(b, k.tid, v)
	case kIntIn:
		if uint32(c.raw[(i+1)%6]) == 4 {
			b = t.appendInt(b, k.tid, v)
		} else {
			b = appendAddress(b, v)
		}
	case kIntOut:
		if r, ok := t.structure(k.tid, c.raw[(i+1)%6], 4); ok && r.int() == 4 {
			b = t.appendInt(b, k.tid, v)
		} else {
			b = appendAddress(b, v)
		}
	case kFcntlArg:
		switch c.raw[1] {
		case unix.F_GETFD, unix.F_GETFL, unix.F_GETOWN, unix.F_GETPIPE_SZ, unix.F_GET_SEALS:
			return // there is none
		}
		b = appendFcntlArg(b, c.raw[1], v)
	case kOption:
		b = appendOption(b, c.raw[(i+5)%6], v)
	case kPoll:
		b = t.appendPoll(b, k.tid, v, uint64(uint32(c.raw[(i+1)%6])), d != nil && d.Errno == 0 && d.Restarted == 0)
	case kStatxOut:
		b = t.appendStatx(b, k.tid, v)
	default:
		if how >= kFlags {
			b = flagTables[how-kFlags].append(b, v)
		} else {
			b = appendHex(b, v)
		}
	}
	c.arena = b
	a.Value = b[start:len(b):len(b)]
	c.args = append(c.args, a)
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
