//go:build linux

package tracer

import (
	"math"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

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
	known := make(map[string]kinds, len(calls)+len(plainCalls))
	for _, c := range slices.Concat(calls, plainCalls) {
		known[c.name] = c.args
	}
	s := new([len(names) + 1]kinds)
	for nr, name := range names {
		s[nr] = known[name]
	}
	return s
})

// spec returns the kinds of the arguments of a system call.
func spec(nr int) kinds {
	if nr >= 0 && nr < len(names) {
		if s := specs()[nr]; s != nil {
			return s
		}
	}
	return unknownCall
}

// kinds returns the kinds of the arguments of a call. Those of some calls depend on other arguments.
func (c *call) kinds() kinds {
	s := spec(c.nr)
	for _, k := range s {
		if k == kFutex || k == kClone || k == kPrctl || k == kFcntl {
			return variant(s, k, &c.raw)
		}
	}
	return s
}

// decodeEntry decodes the arguments up to the first one that is known only on return.
func (t *tracer) decodeEntry(k *task) {
	c := &k.call
	c.decoded, c.watched, c.timed = 0, c.watched[:0], false
	if nr := c.nr; nr < 0 || nr >= len(names) || names[nr] == "" {
		c.args = append(c.args, posixtrace.SyscallArg{Value: strconv.AppendInt([]byte("nr="), int64(nr), 10)})
	}
	list := c.kinds()
	for i, kind := range list {
		if kind.returned() {
			t.copyInput(k, i, list)
			return
		}
		t.decode(k, i, kind, nil)
		c.decoded = i + 1
	}
}

// copyInput copies what the kernel may change before the call returns, from argument i on.
func (t *tracer) copyInput(k *task, i int, list kinds) {
	c := &k.call
	if list[i] == kSelect {
		t.copySets(k, i)
	}
	for ; i < len(list); i++ {
		if list[i] == kTime || list[i] == kMicroTime {
			c.timed = readMemory(k.tid, c.raw[i], c.timeout[:]) == len(c.timeout)
		}
	}
}

// decodeReturn decodes the other arguments. d is nil if the call does not return.
func (t *tracer) decodeReturn(k *task, d *posixtrace.SyscallData) {
	s := k.call.kinds()
	failed := d == nil || d.Errno != 0 || d.Restarted != 0
	for i := k.call.decoded; i < len(s); i++ {
		kind := s[i]
		if failed && kind.onSuccess() {
			kind = kPointer
		}
		t.decode(k, i, kind, d)
	}
	k.call.decoded = len(s)
}

// decode appends argument i of the call that a thread is in.
func (t *tracer) decode(k *task, i int, how kind, d *posixtrace.SyscallData) {
	c := &k.call
	if how == kNone || how == kMode && !c.creates(i) {
		return
	}
	start := len(c.arena)
	b, ok := c.appendRegister(c.arena, i, how)
	if t.cfg.Want.Paths && (how == kFD || how == kDirFD) {
		b = appendOpened(b, k.tid, int(int32(c.raw[i])))
	}
	if !ok && t.looks && Present(k.tid, c.raw[i], 1) == 0 {
		b, ok = appendAddress(c.arena, c.raw[i]), true
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
	case kUint:
		b = strconv.AppendUint(b, uint64(uint32(v)), 10)
	case kDirFD:
		if int32(v) == unix.AT_FDCWD {
			b = append(b, "AT_FDCWD"...)
		} else {
			b = strconv.AppendInt(b, int64(int32(v)), 10)
		}
	case kOctal, kMode:
		b = strconv.AppendUint(append(b, '0'), uint64(uint32(v)), 8)
	case kFileMode:
		b = appendFileMode(b, uint32(v))
	case kSignal:
		b = appendSignal(b, int(int32(v)))
	case kPointer:
		b = appendAddress(b, v)
	case kResumed:
		called := "system call"
		if c.resumed != 0 {
			called = names[c.resumed]
		}
		b = append(b, "<... resuming interrupted "+called+" ...>"...)
	case kFcntlArg:
		b = appendFcntlArg(b, c.raw[1], v)
	case kCommand:
		b = appendCommand(b, uint32(v))
	case kChildStack:
		b = appendAddress(append(b, "child_stack="...), v)
	case kParentTID:
		b = appendAddress(append(b, "parent_tid="...), v)
	case kChildTID:
		b = appendAddress(append(b, "child_tidptr="...), v)
	case kTLS:
		b = appendAddress(append(b, "tls="...), v)
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
		b, isString, cut = t.appendMoved(b, k.tid, v, k.call.raw[(i+1)%6])
	case kOut:
		b, isString, cut = t.appendMoved(b, k.tid, v, uint64(max(d.Result, 0)))
	case kValueOut:
		if k.call.raw[(i+1)%6] == 0 { // a question for the size
			return b, false, false, false
		}
		b, isString, cut = t.appendMoved(b, k.tid, v, uint64(max(d.Result, 0)))
	case kLink:
		start := len(b)
		b, isString, cut = t.appendData(b, k.tid, v, uint64(max(d.Result, 0)), pathMax)
		if n := len(b); n > start && b[n-1] == 0 { // getcwd(2) counts the NUL
			b = b[:n-1]
		}
	case kText:
		b, isString, cut = t.appendString(b, k.tid, v, dataMax)
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
	case kFDs:
		return t.appendFDs(b, tid, v)
	case kEnvironment:
		return appendEnvironment(b, tid, v)
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
		return t.appendPoll(b, tid, v, uint64(uint32(next)), succeeded(d))
	case kSelect:
		return t.appendSelect(b, k, i, succeeded(d))
	case kControl:
		return t.appendControl(b, tid, c.raw[1], v, succeeded(d))
	case kLengthOut, kIntAt:
		return t.appendInt(b, tid, v)
	case kEntriesOut:
		return t.appendEntries(b, tid, v, d.Result)
	case kMessagesIn:
		return t.appendMessages(b, tid, v, int(min(uint64(uint32(next)), maxBlocks)), false)
	case kMessagesOut:
		return t.appendMessages(b, tid, v, int(min(max(d.Result, 0), maxBlocks)), true)
	case kIntIn:
		if uint32(next) == 4 {
			return t.appendInt(b, tid, v)
		}
	case kIntOut:
		if r, ok := t.structure(tid, next, 4); ok && r.int() == 4 {
			return t.appendInt(b, tid, v)
		}
	default:
		if b, ok := t.appendTimes(b, k, i, how, d); ok {
			return b
		}
		return t.appendSystem(b, k, i, how, d)
	}
	return appendAddress(b, v)
}

// succeeded reports whether a call has returned without an error.
func succeeded(d *posixtrace.SyscallData) bool {
	return d != nil && d.Errno == 0 && d.Restarted == 0
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
