package spool

import (
	"bytes"
	"math"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// MaxLine is the most that a line may have, its newline included: no pipe or file
// lets writes of that size mix.
const MaxLine = 4096

// line is one line of a spool, taken apart.
type line struct {
	name   []byte
	pid    int
	nanos  int64  // since the epoch, or since the system was booted if coarse; 0: none
	coarse bool   // the time is that of a shell that knows only /proc/uptime
	span   uint64 // key of its span, 0 for none
	parent uint64 // and of the span around that
	data   []byte
	lost   uint64 // of a line that is no event: for how many it stands
	end    int    // in its batch, the newline included
}

// maxPID is the highest number that the kernel gives to a process, PID_MAX_LIMIT.
const maxPID = 4 << 20

// parse takes a line without its newline apart. Whoever can write to the spool can
// have put anything there. The data is unescaped in place.
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
		// By a line without a name a shell reports how many events it could not write,
		// and a command, for none, when it has recorded one itself.
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
		span, parent, _ := bytes.Cut(span, colon)
		if l.span = key(span); l.span != 0 {
			l.parent = key(parent)
		}
	}
	up, coarse := bytes.CutPrefix(when, plus)
	l.nanos = nanos(up)
	l.coarse = coarse && l.nanos != 0
	l.data = unescape(data)
	return l, true
}

var (
	tab  = []byte{'\t'}
	plus = []byte{'+'}

	colon = []byte{':'}
	point = []byte{'.'}
)

// maxLost bounds for how many events a line may stand.
const maxLost = 1 << 20

// key reads the key that a shell gives to a span: the id of its process, a point and a number
// that it gives to one span only. What is no key counts as none.
func key(b []byte) uint64 {
	pid, num, _ := bytes.Cut(b, point)
	p, ok := digits(pid)
	n, good := digits(num)
	if !ok || !good || p > maxPID || n > math.MaxUint32 {
		return 0
	}
	return uint64(p)<<32 | uint64(n)
}

// digits reads a decimal number of digits only.
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

// nanos reads a time as SEC.NSEC with any number of digits behind the point, which
// the language of a shell may have made a comma. What is no time counts as none.
func nanos(b []byte) int64 {
	i := bytes.IndexAny(b, ".,")
	if i < 0 {
		i = len(b)
	}
	sec, ok := digits(b[:i])
	if !ok || sec > 9e9 { // a moment before there are no numbers for it
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

// unescape undoes, in place, what output.AppendEscaped does. A backslash that
// begins nothing stands for itself.
func unescape(b []byte) []byte {
	i := bytes.IndexByte(b, '\\')
	if i < 0 {
		return b
	}
	out := b[:i]
	for ; i < len(b); i++ {
		c := b[i]
		if c == '\\' && i+1 < len(b) {
			switch b[i+1] {
			case 'n':
				c, i = '\n', i+1
			case 't':
				c, i = '\t', i+1
			case '"', '\\':
				c, i = b[i+1], i+1
			case 'x':
				if i+3 < len(b) {
					hi, lo := hexDigit(b[i+2]), hexDigit(b[i+3])
					if hi < 16 && lo < 16 {
						c, i = hi<<4|lo, i+3
					}
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// hexDigit returns the value of a digit, 16 if it is none.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}
