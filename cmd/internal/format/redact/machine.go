package redact

import (
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// machine finds what package regexp does not report: where the end of a text may be the beginning
// of a match that goes on behind it, and how far that match goes on in the next text. It simulates
// the program of the pattern with all its threads. An assertion always holds: a match too many is
// better than a match too few.
type machine struct {
	prog    *syntax.Prog
	longest int       // of a match, in bytes, or unbounded
	first   [256]bool // the bytes that a match may begin with
}

func newMachine(prog *syntax.Prog, longest int) machine {
	m := machine{prog: prog, longest: longest}
	var t threads
	t.reset(len(prog.Inst))
	m.add(&t, uint32(prog.Start), 0)
	for c := range m.first {
		r := rune(c)
		for _, th := range t.list {
			if c >= utf8.RuneSelf || m.prog.Inst[th.pc].MatchRune(r) {
				m.first[c] = true
			}
		}
	}
	return m
}

// before is the start of a thread that began in an earlier text.
const before = -1

// thread is a place in the program, and where the match began that led there.
type thread struct {
	pc   uint32
	from int
}

// threads are those at one place of the text, in the order of their starts.
type threads struct {
	list    []thread
	seen    []uint32 // by instruction: the value of turn if the list has it
	turn    uint32
	matched bool // one has reached the end of the program
	start   int  // of the first one that has
}

func (t *threads) reset(n int) {
	if len(t.seen) < n {
		t.seen = make([]uint32, n)
		t.turn = 0
	}
	if t.turn++; t.turn == 0 { // after 2^32 of them
		clear(t.seen)
		t.turn = 1
	}
	t.list, t.matched = t.list[:0], false
}

// add adds a thread, at each instruction that waits for a character.
func (m *machine) add(t *threads, pc uint32, from int) {
	if t.seen[pc] == t.turn {
		return
	}
	t.seen[pc] = t.turn
	switch i := &m.prog.Inst[pc]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		m.add(t, i.Out, from)
		m.add(t, i.Arg, from)
	case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
		m.add(t, i.Out, from)
	case syntax.InstMatch:
		if !t.matched {
			t.matched, t.start = true, from
		}
	case syntax.InstFail:
	default:
		t.list = append(t.list, thread{pc, from})
	}
}

// rooms are pairs of threads that nothing uses now.
var rooms = sync.Pool{New: func() any { return new([2]threads) }}

// open is the part of matches that is known at the end of a text: the threads, and the bytes of a
// character that is incomplete.
type open struct {
	pcs  []uint32
	rest []byte
}

// follow simulates a text behind the matches that were open, none at first. head is the length of
// the part of b that completes them. tail is the start of the part of b that may be the beginning of
// a match, len(b) if there is none. ends: the text ends with b, and what may be the beginning of a character is none.
func (m *machine) follow(o *open, b []byte, ends bool) (head, tail int) {
	room := rooms.Get().(*[2]threads)
	defer rooms.Put(room)
	now, next := &room[0], &room[1]
	n := len(m.prog.Inst)
	now.reset(n)
	next.reset(n)
	for _, pc := range o.pcs {
		if now.seen[pc] != now.turn {
			now.seen[pc] = now.turn
			now.list = append(now.list, thread{pc, before})
		}
	}
	text, lead := b, len(o.rest)
	if lead > 0 {
		text = append(o.rest[:lead:lead], b...)
	}
	fresh := 0 // no match that begins before this one reaches the end
	if m.longest != unbounded {
		fresh = max(0, len(text)-m.longest)
	}
	at := 0
	for at < len(text) {
		if len(now.list) == 0 {
			from := at
			if at = m.skip(text, max(at, fresh)); at > from {
				now.matched = false // the match does not reach the end
			}
			if at == len(text) {
				break
			}
		}
		if !ends && !utf8.FullRune(text[at:]) {
			break
		}
		if at >= fresh && m.first[text[at]] {
			m.add(now, uint32(m.prog.Start), at-lead)
		}
		r, size := utf8.DecodeRune(text[at:])
		at += size
		next.reset(n)
		for _, th := range now.list {
			if i := &m.prog.Inst[th.pc]; i.MatchRune(r) {
				m.add(next, i.Out, th.from)
			}
		}
		if next.matched && next.start == before {
			head = at - lead
		}
		now, next = next, now
	}
	o.rest = append([]byte(nil), text[at:]...)
	if len(o.rest) > 0 && m.first[o.rest[0]] {
		m.add(now, uint32(m.prog.Start), at-lead)
	}
	tail = len(b)
	o.pcs = o.pcs[:0]
	for _, th := range now.list {
		o.pcs = append(o.pcs, th.pc)
		tail = min(tail, max(th.from, 0))
	}
	if now.matched {
		tail = min(tail, max(now.start, 0))
	}
	if len(now.list) == 0 {
		o.rest = nil
	}
	return head, tail
}

// skip returns the first index from at on where a match may begin.
func (m *machine) skip(b []byte, at int) int {
	for at < len(b) && !m.first[b[at]] {
		at++
	}
	return at
}
