package report

import (
	"cmp"
	"math"
	"slices"
)

// mark is an event that is no part of an interval, or several of one type and place.
type mark struct {
	at    int64
	actor int32 // an index in actors
	kind  int32 // the name of the type, a number of texts
	text  int32 // 0 for several marks
	count uint32
}

// marks are the marks of a run. When there are too many, those of one thread and type that are
// close to each other become one.
type marks struct {
	most   int // mostMarks
	list   []mark
	texts  *texts // of list
	types  *texts
	near   int64 // marks in one interval of this length become one; 0 for none
	latest [256]int32

	dropped uint64
}

const (
	mostMarks = 50_000
	// mostMarkText bounds the texts of all marks, and maxMarkText that of one.
	mostMarkText = 1 << 19
	maxMarkText  = 200
)

func (m *marks) init() { m.most, m.texts, m.types = mostMarks, newTexts(), newTexts() }

func (m *mark) like(o *mark) bool { return m.actor == o.actor && m.kind == o.kind }

func (m *mark) slot() uint32 {
	return (uint32(m.actor)*0x9e3779b1 ^ uint32(m.kind)*0x85ebca6b) >> 24
}

// merges reports whether a mark becomes part of an earlier one, and adds it there.
func (m *marks) merges(x *mark) bool {
	if m.near == 0 {
		return false
	}
	i := m.latest[x.slot()]
	if int(i) >= len(m.list) {
		return false
	}
	o := &m.list[i]
	if !o.like(x) || o.at/m.near != x.at/m.near {
		return false
	}
	o.take(x)
	return true
}

func (m *mark) take(x *mark) {
	m.count += min(x.count, ^uint32(0)-m.count)
	m.text = 0
}

// add adds a mark that merges has refused.
func (m *marks) add(x mark, text []byte) {
	if len(text) > 0 {
		x.text = m.texts.add(cut(text, maxMarkText))
	}
	m.latest[x.slot()] = int32(len(m.list))
	m.list = append(m.list, x)
	if len(m.list) >= 2*m.most || m.texts.size > 4*mostMarkText {
		m.compact()
	}
}

// compact makes fewer marks.
func (m *marks) compact() {
	for len(m.list) > m.most {
		m.unite()
	}
	// The texts of marks that have become part of others are gone.
	old := m.texts
	m.texts = newTexts()
	for i := range m.list {
		x := &m.list[i]
		if x.text == 0 {
			continue
		}
		if m.texts.size > mostMarkText {
			x.text = 0
			continue
		}
		x.text = m.texts.addString(old.list[x.text])
	}
	m.latest = [256]int32{}
}

// unite makes the intervals longer in which marks become one.
func (m *marks) unite() {
	first, last := m.list[0].at, m.list[0].at
	for i := range m.list {
		first, last = min(first, m.list[i].at), max(last, m.list[i].at)
	}
	span := since(last, first)
	if m.near <= span/2 {
		m.near = max(2*m.near, span/(2*int64(m.most)), 1000)
	} else {
		m.near = math.MaxInt64
	}
	everywhere := m.near > span
	type place struct {
		actor, kind int32
		at          int64
	}
	index := make(map[place]int32, m.most)
	kept := m.list[:0]
	for _, x := range m.list {
		p := place{x.actor, x.kind, x.at / m.near}
		if everywhere {
			p.at = 0
		}
		if i, ok := index[p]; ok {
			kept[i].take(&x)
			continue
		}
		index[p] = int32(len(kept))
		kept = append(kept, x)
	}
	if everywhere && len(kept) > m.most {
		for _, x := range kept[m.most:] {
			m.dropped += uint64(x.count)
		}
		kept = kept[:m.most]
	}
	m.list = kept
}

// sorted returns the marks in order of time.
func (m *marks) sorted() []mark {
	if len(m.list) > m.most || m.texts.size > mostMarkText {
		m.compact()
	}
	slices.SortStableFunc(m.list, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	return m.list
}
