package spool

import (
	"bytes"
	"math"

	"github.com/posixtrace/posixtrace/cmd/internal/format/escape"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// MaxLine is the length limit of a line, its newline included. Writes up to this size
// (PIPE_BUF) do not interleave.
const MaxLine = 4096

// A shell writes at most MaxLine-shellHead bytes of name and data, or shellRoom bytes if it writes in
// pieces of 1024: see shell/pt.bash.
const (
	shellHead = 56
	shellRoom = 980
)

// full reports whether a shell cuts a name and data of n bytes.
func full(n int) bool { return n == shellRoom || n >= MaxLine-shellHead }

// line is one parsed line of a spool.
type line struct {
	name   []byte
	pid    int
	nanos  int64  // since the Epoch, or since boot if coarse; 0: none
	coarse bool   // the time comes from /proc/uptime
	span   uint64 // key of its span, 0 for none
	parent uint64 // key of the enclosing span, 0 for none
	trace  []byte // encoded trace context of the span that the event starts, nil for none
	data   []byte
	cut    bool   // the shell may have written only the beginning of the data
	lost   uint64 // if the line is not an event: how many lost events it stands for
	end    int    // offset of its end in the batch, the newline included
}

// maxPID is the highest process number of the kernel, PID_MAX_LIMIT.
const maxPID = 4 << 20

// parse parses a line without its newline. The line is untrusted: any process of the user
// can write to the spool. parse unescapes the data in place.
func parse(b []byte) (l line, ok bool) {
	name, b, ok := bytes.Cut(b, tab)
	if !ok || len(name) > posixtrace.EventNameMax {
		return l, false
	}
	pid, b, ok := bytes.Cut(b, tab)
	if !ok {
		return l, false
	}
	when, data, ok := bytes.Cut(b, tab)
	if !ok {
		return l, false
	}
	if len(name) == 0 {
		// With a line without a name a shell reports how many events it could not
		// write. With the number 0, a command marks that it recorded an event itself.
		n, given := digits(data)
		return line{lost: uint64(min(n, maxLost)), nanos: nanos(when)}, given && n == 0
	}
	pid, span, keyed := bytes.Cut(pid, colon)
	n, ok := digits(pid)
	if !ok || n == 0 || n > maxPID {
		return l, false
	}
	l = line{name: name, pid: int(n)}
	if keyed {
		span, rest, _ := bytes.Cut(span, colon)
		if l.span = key(span); l.span != 0 {
			parent, trace, traced := bytes.Cut(rest, colon)
			l.parent = key(parent)
			if traced {
				l.trace = traceContext(trace)
			}
		}
	}
	up, coarse := bytes.CutPrefix(when, plus)
	l.nanos = nanos(up)
	l.coarse = coarse && l.nanos != 0
	l.cut = full(len(name) + len(data))
	l.data = unescape(data)
	if l.cut {
		l.data = l.data[:escape.Whole(l.data)]
	}
	return l, true
}

var (
	tab  = []byte{'\t'}
	plus = []byte{'+'}

	colon = []byte{':'}
	point = []byte{'.'}
)

// maxLost bounds the number of lost events that one line can report.
const maxLost = 1 << 20

// key parses a shell's key of a span: the id of the process, a point and a number that is
// unique in that process. An invalid key counts as none.
func key(b []byte) uint64 {
	pid, num, _ := bytes.Cut(b, point)
	p, ok := digits(pid)
	n, good := digits(num)
	if !ok || !good || p > maxPID || n > math.MaxUint32 {
		return 0
	}
	return uint64(p)<<32 | uint64(n)
}

// digits parses a decimal number without a sign.
func digits(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 12 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// nanos parses a time SEC.NSEC with any number of digits after the point, which is a comma
// in some locales. An invalid time counts as none.
func nanos(b []byte) int64 {
	i := bytes.IndexAny(b, ".,")
	if i < 0 {
		i = len(b)
	}
	sec, ok := digits(b[:i])
	if !ok || sec > 9e9 { // just below the end of int64 nanoseconds
		return 0
	}
	ns := sec * 1e9
	if i == len(b) {
		return ns
	}
	frac := b[i+1:]
	for unit := int64(1e8); len(frac) > 0; frac, unit = frac[1:], unit/10 {
		if frac[0] < '0' || frac[0] > '9' {
			return 0
		}
		ns += int64(frac[0]-'0') * unit
	}
	return ns
}

// unescape reverses, in place, escape.Append. A backslash that starts no escape
// sequence stands for itself.
func unescape(b []byte) []byte {
	i := bytes.IndexByte(b, '\\')
	if i < 0 {
		return b
	}
	out := b[:i]
	for i < len(b) {
		c, n := escape.Byte(b[i:])
		out = append(out, c)
		i += n
	}
	return out
}
