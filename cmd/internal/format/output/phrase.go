package output

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// Most of an event's text depends on a few members and equals that of an earlier event. So
// the forms cache such phrases, in a direct-mapped table.

// member has the members of an event that a phrase depends on. A form leaves the others zero.
type member struct {
	src      *Source
	pid, tid int
	addr     uint64
	id       posixtrace.EventID
	cut      posixtrace.Truncation
}

// phrases is the cache. A trace with more writers and trace points is formatted more
// slowly.
type phrases struct {
	last *phrase // the latest result of find; nil at first
	all  [64]phrase
}

type phrase struct {
	of    member
	text  []byte
	size  int // of the text, more than phraseRoom if short is unused
	short [phraseRoom]byte
}

// phraseRoom is the room in a slice that appendTo uses if the text is short enough.
const phraseRoom = 48

// find returns the entry for a member. It may hold the phrase of another one; ok is false then.
func (p *phrases) find(of *member) (_ *phrase, ok bool) {
	if p.last != nil && p.last.is(of) {
		return p.last, true
	}
	h := (uint64(of.tid) ^ of.addr) * 0x9e3779b97f4a7c15
	h = (h ^ uint64(of.pid)<<32 ^ uint64(of.id)) * 0x9e3779b97f4a7c15
	p.last = &p.all[h>>58]
	return p.last, p.last.is(of)
}

// is reports whether p is the phrase of a member. Comparing the structs takes a function call.
func (p *phrase) is(of *member) bool {
	m := &p.of
	return m.id == of.id && m.pid == of.pid && m.tid == of.tid && m.addr == of.addr && m.cut == of.cut && m.src == of.src
}

// set makes b the text.
func (p *phrase) set(b []byte) {
	p.text, p.size = b, len(b)
	copy(p.short[:], b)
}

// appendTo appends the text. It copies a fixed number of bytes, as stamp does.
func (p *phrase) appendTo(b []byte) []byte {
	if n := len(b); p.size <= phraseRoom && cap(b)-n >= phraseRoom {
		*(*[phraseRoom]byte)(b[n:cap(b)]) = p.short
		return b[:n+p.size]
	}
	return append(b, p.text...)
}

// forget invalidates a phrase whose text may change.
func (p *phrase) forget() { p.of = member{} }
