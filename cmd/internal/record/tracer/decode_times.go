//go:build linux

package tracer

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// appendTimes appends a structure of times. ok is false for other kinds.
func (t *tracer) appendTimes(b []byte, k *task, i int, how kind, d *posixtrace.SyscallData) (_ []byte, ok bool) {
	c, tid, addr := &k.call, k.tid, k.call.raw[i]
	switch how {
	case kTime, kMicroTime:
		if c.timed && addr != 0 {
			r := reader{c.timeout[:]}
			seconds := r.word()
			return appendSeconds(b, seconds, r.word(), digitsOf(how)), true
		}
		return t.appendTime(b, tid, addr, digitsOf(how)), true
	case kTimeOut:
		return t.appendTime(b, tid, addr, 9), true
	case kTimeLeft:
		if d != nil && (d.Errno == int(unix.EINTR) || d.Restarted == int(restartBlock)) {
			return t.appendTime(b, tid, addr, 9), true
		}
		return appendAddress(b, addr), true
	case kMicroTimeOut:
		return t.appendTime(b, tid, addr, 6), true
	case kTimes:
		return t.appendFileTimes(b, tid, addr), true
	case kInterval, kIntervalOut:
		return t.appendInterval(b, tid, addr, 9), true
	case kTimer, kTimerOut:
		return t.appendInterval(b, tid, addr, 6), true
	}
	return b, false
}

// digitsOf returns the digits of the fraction of a second in a structure.
func digitsOf(how kind) int {
	if how == kMicroTime {
		return 6
	}
	return 9
}

// appendTime appends seconds and a fraction of so many digits: struct timespec, struct timeval.
func (t *tracer) appendTime(b []byte, tid int, addr uint64, digits int) []byte {
	r, ok := t.structure(tid, addr, 16)
	if !ok {
		return appendAddress(b, addr)
	}
	seconds := r.word()
	return appendSeconds(b, seconds, r.word(), digits)
}

// appendSeconds appends seconds and a fraction. A process may have any value there.
func appendSeconds(b []byte, seconds, fraction uint64, digits int) []byte {
	limit := uint64(1e9)
	if digits == 6 {
		limit = 1e6
	}
	b = strconv.AppendInt(b, int64(seconds), 10)
	if fraction >= limit {
		return strconv.AppendInt(append(b, '+'), int64(fraction), 10)
	}
	return append(append(b, '.'), strconv.FormatUint(limit+fraction, 10)[1:]...)
}

// appendInterval appends struct itimerspec or struct itimerval.
func (t *tracer) appendInterval(b []byte, tid int, addr uint64, digits int) []byte {
	r, ok := t.structure(tid, addr, 32)
	if !ok {
		return appendAddress(b, addr)
	}
	interval, fraction := r.word(), r.word()
	b = appendSeconds(append(b, "{interval="...), interval, fraction, digits)
	value, fraction := r.word(), r.word()
	return append(appendSeconds(append(b, " value="...), value, fraction, digits), '}')
}

// appendFileTimes appends the access and the modification time of a file.
func (t *tracer) appendFileTimes(b []byte, tid int, addr uint64) []byte {
	r, ok := t.structure(tid, addr, 32)
	if !ok {
		return appendAddress(b, addr)
	}
	b = append(b, '[')
	for i := range 2 {
		if i > 0 {
			b = append(b, ", "...)
		}
		seconds, fraction := r.word(), r.word()
		switch fraction {
		case unix.UTIME_NOW:
			b = append(b, "UTIME_NOW"...)
		case unix.UTIME_OMIT:
			b = append(b, "UTIME_OMIT"...)
		default:
			b = appendSeconds(b, seconds, fraction, 9)
		}
	}
	return append(b, ']')
}
