package event

import (
	"encoding/binary"
	"errors"
)

// SetWords is the size of a Set in 64-bit words.
const SetWords = int(Max) / 64

// Set is a set of event types. It holds no pointers; the zero value is empty.
type Set [SetWords]uint64

// All returns the set of every type. All, System and WOPID are the sets of
// posix_trace_eventset_fill().
func All() (s Set) {
	for id := ID(1); id < Max; id++ {
		s.Add(id)
	}
	return
}

// System returns the set of every system type, registered or not.
func System() (s Set) {
	for id := ID(1); id < Max; id++ {
		if id.System() {
			s.Add(id)
		}
	}
	return
}

// WOPID returns the process-independent system types.
func WOPID() (s Set) {
	for _, id := range []ID{Error, Overflow, Resume, FlushStart, FlushStop} {
		s.Add(id)
	}
	return
}

// Add makes id a member; an id out of range changes nothing.
func (s *Set) Add(id ID) {
	if id.Valid() {
		s[id>>6] |= 1 << (id & 63)
	}
}

// Del removes id.
func (s *Set) Del(id ID) {
	if id.Valid() {
		s[id>>6] &^= 1 << (id & 63)
	}
}

// Has reports whether id is a member.
func (s *Set) Has(id ID) bool {
	return id.Valid() && s[id>>6]&(1<<(id&63)) != 0
}

// Or adds the members of t.
func (s *Set) Or(t *Set) {
	for i := range s {
		s[i] |= t[i]
	}
}

// AndNot removes the members of t.
func (s *Set) AndNot(t *Set) {
	for i := range s {
		s[i] &^= t[i]
	}
}

// MaxEncodedSet is the size of the largest encoded set.
const MaxEncodedSet = 8 + 8*SetWords

// AppendSet appends the encoding of a set in the data of START and FILTER events: a count of words,
// a reserved zero, and that many words without trailing zero words. All integers are little-endian.
func AppendSet(b []byte, s *Set) []byte {
	n := len(s)
	for n > 0 && s[n-1] == 0 {
		n--
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, w := range s[:n] {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

var errSet = errors.New("malformed event set")

// DecodeSet decodes a set that AppendSet encoded and returns the bytes behind it.
func DecodeSet(b []byte) (s Set, rest []byte, err error) {
	if len(b) < 8 {
		return s, nil, errSet
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n > len(s) || binary.LittleEndian.Uint32(b[4:]) != 0 || len(b) < 8+8*n {
		return s, nil, errSet
	}
	for i := range n {
		s[i] = binary.LittleEndian.Uint64(b[8+8*i:])
	}
	s[0] &^= 1
	return s, b[8+8*n:], nil
}
