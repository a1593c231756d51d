// Package tracecontext reads and makes W3C trace contexts in environment variables: TRACEPARENT and
// TRACESTATE. See Trace Context Level 2 of the W3C, sections 3.2 and 3.3. Values are untrusted. It
// needs no library of the command line, for the sake of ptrace-event.
package tracecontext

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// The environment variables.
const (
	Parent = "TRACEPARENT"
	State  = "TRACESTATE"
)

// ErrMalformed means that a value is not one of Trace Context.
var ErrMalformed = errors.New("malformed")

// known are the trace flags that this version defines, sampled and random. Others are reserved:
// they are not passed on.
const known = 0x03

const (
	size      = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	traceAt   = 3
	parentAt  = traceAt + 32 + 1
	flagsAt   = parentAt + 16 + 1
	maxParent = 4096 // of a future version, which may be longer than this one
)

// New returns the context of a new span: its trace, its parent and its flags are those of the value
// of TRACEPARENT, its id is random. A state that is malformed, empty or longer than 4096 bytes is left out. Errors:
// ErrMalformed parent is malformed.
func New(parent, state string) (posixtrace.ContextData, error) {
	d, err := Parse(parent)
	if err != nil {
		return d, err
	}
	d.Parent = d.SpanID
	binary.BigEndian.PutUint64(d.SpanID[:], 1+rand.Uint64N(math.MaxUint64)) // 0 is no id
	if n, ok := members(state); ok && n > 0 && len(state) <= maxState {
		d.State = state
	}
	return d, nil
}

// Parse parses a value of TRACEPARENT. Its parent-id becomes SpanID. It accepts version 00, and of a
// later version the start that is the same. Errors: ErrMalformed.
func Parse(s string) (d posixtrace.ContextData, err error) {
	var version, flags [1]byte
	if len(s) < size || len(s) > maxParent ||
		!lowerHex(version[:], s[:2]) || version[0] == 0xff ||
		version[0] == 0 && len(s) != size || len(s) > size && s[size] != '-' ||
		s[traceAt-1] != '-' || s[parentAt-1] != '-' || s[flagsAt-1] != '-' ||
		!lowerHex(d.TraceID[:], s[traceAt:parentAt-1]) || d.TraceID == [16]byte{} ||
		!lowerHex(d.SpanID[:], s[parentAt:flagsAt-1]) || d.SpanID == [8]byte{} ||
		!lowerHex(flags[:], s[flagsAt:size]) {
		return posixtrace.ContextData{}, ErrMalformed
	}
	d.Flags = flags[0] & known
	return d, nil
}

// lowerHex decodes s, which has two digits for each byte of b, and reports whether all of them are
// hexadecimal digits in lower case.
func lowerHex(b []byte, s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	n, err := hex.Decode(b, []byte(s))
	return err == nil && n == len(b)
}

// Format returns the value of TRACEPARENT for the command of a span, in version 00.
func Format(d *posixtrace.ContextData) string {
	b := make([]byte, 0, size)
	b = hex.AppendEncode(append(b, "00-"...), d.TraceID[:])
	b = hex.AppendEncode(append(b, '-'), d.SpanID[:])
	b = hex.AppendEncode(append(b, '-'), []byte{d.Flags & known})
	return string(b)
}

// The limits of TRACESTATE: the standard's number of members, and a length that is far beyond the
// 512 bytes that every system must pass on.
const (
	maxMembers = 32
	maxState   = 4096
)

// ValidState reports whether s is a list of TRACESTATE, which may be empty.
func ValidState(s string) bool {
	_, ok := members(s)
	return ok
}

// members returns the number of members of a list of TRACESTATE. ok: the list is well-formed.
func members(s string) (n int, ok bool) {
	keys := map[string]bool{}
	for member := range strings.SplitSeq(s, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue // empty members are allowed
		}
		key, value, ok := strings.Cut(member, "=")
		if !ok || keys[key] || !validKey(key) || !validValue(value) {
			return 0, false
		}
		if keys[key] = true; len(keys) > maxMembers {
			return 0, false
		}
	}
	return len(keys), true
}

// validKey reports whether s is a key.
func validKey(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLower(c) && !isDigit(c) && (i == 0 || !strings.ContainsRune("_-*/@", rune(c))) {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

// validValue reports whether s is a value: printable ASCII but commas and equals signs, and no space
// at the end. Spaces around a member have been trimmed.
func validValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return s != "" && len(s) <= 256
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
