package output

import "github.com/posixtrace/posixtrace/pkg/posixtrace"

// Most of what is written of an event is what was written of one before: phrases
// that depend on these members only are made once and kept, as long as their
// place is not needed for others.

// member says which events a phrase is of; a form leaves zero what its phrase does not depend on.
type member struct {
	src      *Source
	pid, tid int
	addr     uint64
	id       posixtrace.EventID
	cut      posixtrace.Truncation
}

// phrases are what is kept. More writers and trace points at a time than there are places
// only cost time.
type phrases [64]phrase

type phrase struct {
	of   member
	text []byte
}

// place returns where the phrase of a member is, or can be put if it is of another.
func (p *phrases) place(of *member) *phrase {
	h := (uint64(of.tid) ^ of.addr) * 0x9e3779b97f4a7c15
	h = (h ^ uint64(of.pid)<<32 ^ uint64(of.id)) * 0x9e3779b97f4a7c15
	return &p[h>>58]
}

// is reports whether it is the phrase of a member. Comparing them as a whole takes a call.
func (p *phrase) is(of *member) bool {
	m := &p.of
	return m.id == of.id && m.pid == of.pid && m.tid == of.tid && m.addr == of.addr && m.cut == of.cut && m.src == of.src
}

// forget makes nothing of a phrase whose text may be another the next time.
func (p *phrase) forget() { p.of = member{} }
