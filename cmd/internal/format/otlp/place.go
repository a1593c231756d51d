package otlp

import (
	"github.com/posixtrace/posixtrace/cmd/internal/analyze/analysis"
	"github.com/posixtrace/posixtrace/cmd/internal/format/catalog"
	"github.com/posixtrace/posixtrace/pkg/posixtrace"
)

// home is a process as the place of spans.
type home struct {
	pid    int
	span   *span // of the process, nil if its start is not known
	latest *span // its open spans, the latest first
	keyed  int   // how many of them have keys
}

const (
	maxHomes   = 1 << 14
	placeSlots = 64
	endedSlots = 1 << 12
	// maxInner bounds how many open spans of a process are looked at.
	maxInner = 64
)

// place is where the latest event of a thread was. It holds until a span begins or ends.
type place struct {
	of      thread
	changes uint64
	span    *span
}

// where returns the innermost open span that an event is in, or nil.
func (l *Log) where(rec *posixtrace.Record) *span {
	p := &l.places[uint32(rec.PID*31+rec.TID)%placeSlots]
	if p.changes == l.changes && p.of.pid == rec.PID && p.of.tid == rec.TID && rec.Span == 0 {
		return p.span
	}
	h := l.homeOf(rec, false)
	s := h.inner(rec.TID, func(*span) bool { return true })
	if s == nil {
		s = l.within(h)
	}
	if rec.Span == 0 {
		*p = place{thread{rec.PID, rec.TID}, l.changes, s}
	}
	return s
}

// home returns the place of a process, nil if there are too many.
func (l *Log) home(pid int, create bool) *home {
	h := l.homes[pid]
	if h == nil && create {
		if len(l.homes) >= maxHomes {
			for _, h := range l.homes {
				if h.span == nil && h.latest == nil {
					l.forget(h)
				}
			}
		}
		if len(l.homes) >= maxHomes {
			return nil
		}
		if h = l.spare; h == nil {
			h = &home{}
		}
		l.spare = nil
		*h = home{pid: pid}
		l.homes[pid] = h
	}
	return h
}

// forget removes a process that has no open spans. The next one gets its memory.
func (l *Log) forget(h *home) {
	delete(l.homes, h.pid)
	l.spare = h
}

// homeOf returns the process that an event is in.
func (l *Log) homeOf(rec *posixtrace.Record, create bool) *home {
	if pid := analysis.Recorder(rec); pid != 0 {
		if h := l.homes[pid]; h != nil && h.span != nil {
			return h
		}
	}
	return l.home(rec.PID, create)
}

// inner returns the innermost open span that a thread is in, or nil. A program may have spans with
// keys side by side. Only if all nest is the innermost one known.
func (h *home) inner(tid int, wants func(*span) bool) *span {
	if h == nil {
		return nil
	}
	for s, n := h.latest, 0; s != nil && n < maxInner; s, n = s.older, n+1 {
		keyed := s.key.key != 0
		if (keyed && s.depth == h.keyed || !keyed && (s.tid == tid || s.whole)) && wants(s) {
			return s
		}
	}
	return nil
}

// within returns the span of what runs in a process outside of its spans, or nil.
func (l *Log) within(h *home) *span {
	if h == nil || h.span == nil {
		return l.root
	}
	return h.span
}

// around returns the span around one that begins, or the id of one that has ended.
func (l *Log) around(s *span, h *home, rec *posixtrace.Record) (around *span, ended uint64) {
	keyed := rec.Span != 0
	in := h.inner(rec.TID, func(o *span) bool {
		if keyed { // names the span with a key around it
			return o.key.key == 0
		}
		return o.key.key == 0 || o.tid == rec.TID || o.shell
	})
	var named *span
	if keyed && rec.Parent != 0 {
		if named = l.parentOf(rec); named == nil {
			ended = l.endedID(rec.PID, rec.Parent)
		}
	}
	if keyed && h != nil {
		s.depth = 1
		if named != nil && named.home == h {
			s.depth += named.depth
		}
	}
	switch {
	case named == nil && in != nil:
		around = in
	case named == nil:
		around = l.within(h)
	case in != nil && in.parent == named.id:
		return in, 0
	case h != nil && named.home != h && h.span != nil && h.span.start >= named.start:
		return l.within(h), 0 // the subshell began inside the span
	default:
		return named, 0
	}
	return around, ended
}

func (l *Log) parentOf(rec *posixtrace.Record) *span {
	if catalog.IsRecipeKey(rec.Parent) {
		return l.open[spanKey{-1, -1, rec.Parent, nil}]
	}
	return l.open[spanKey{rec.PID, -1, rec.Parent, nil}]
}

func (h *home) push(s *span) {
	if h == nil {
		return
	}
	if s.older = h.latest; s.older != nil {
		s.older.newer = s
	}
	h.latest = s
	if s.key.key != 0 {
		h.keyed++
	}
}

func (h *home) pull(s *span) {
	if h == nil {
		return
	}
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		h.latest = s.older
	}
	if s.older != nil {
		s.older.newer = s.newer
	}
	if s.key.key != 0 {
		h.keyed--
	}
	s.older, s.newer = nil, nil
}

// endedSpan is a span with a key that has ended. Spans inside it may begin later.
type endedSpan struct {
	pid int
	key uint64
	id  uint64
}

func (l *Log) remember(s *span) {
	*l.slot(s.pid, s.key.key) = endedSpan{s.pid, s.key.key, s.id}
}

func (l *Log) slot(pid int, key uint64) *endedSpan {
	return &l.ended[mix(key, uint64(pid))%endedSlots]
}

// endedID returns the id of a span that has ended, or 0 if it is not remembered.
func (l *Log) endedID(pid int, key uint64) uint64 {
	if e := l.slot(pid, key); e.pid == pid && e.key == key {
		return e.id
	}
	return 0
}
