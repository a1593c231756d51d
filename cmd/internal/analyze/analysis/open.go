package analysis

// openSpan is a begin without its end. A span without a key belongs to a thread: begin and end
// form a pair reliably only if the spans of a thread nest and no two of one name are open at a
// time. Otherwise several goroutines, or processes that act for one process, used the thread in
// turn.
type openSpan struct {
	typ *spanType
	row *Span
	at  int64

	nth       uint64    // which use of this memory
	parent    *openSpan // the span around it, if parent.nth is parentNth
	parentNth uint64
	since     int64 // when the first of them began
	covered   int64 // time with spans inside

	inner         int32     // open spans inside
	failed        bool      // a span inside failed
	overlaps      bool      // it, or its end, may belong to another span
	before, after *openSpan // neighbours in its thread, in order of begin

	src, pid uint32
	key      uint64
	next     *openSpan // in a chain of keyed, or of free memory
	place    *place    // for the observer
	data     []byte    // of its begin
}

const (
	// maxOpen bounds the number of open spans, and maxThreads that of threads with spans.
	maxOpen    = 1 << 18
	maxThreads = 1 << 16
	// maxCrossed bounds how many open spans of a thread the begin or end of one looks at.
	maxCrossed = 64
	// maxDepth bounds how deep an end looks for its begin.
	maxDepth = 256
)

func (s *spans) new() *openSpan {
	o := s.free
	if o != nil {
		s.free = o.next
	} else {
		if len(s.fresh) == 0 {
			s.fresh = make([]openSpan, 64)
		}
		o, s.fresh = &s.fresh[0], s.fresh[1:]
	}
	s.open++
	s.used++
	*o = openSpan{nth: s.used, data: o.data[:0]}
	return o
}

func (s *spans) release(o *openSpan) {
	s.open--
	o.nth = 0
	o.next, s.free = s.free, o
}

// enter puts o inside a span, which may be nil.
func (o *openSpan) enter(parent *openSpan) {
	if parent == nil {
		return
	}
	o.parent, o.parentNth = parent, parent.nth
	if parent.inner == 0 {
		parent.since = o.at
	}
	parent.inner++
}

// leave ends the part of the time of the span around o that o covers. failed reports whether o, or a
// span inside it, failed.
func (o *openSpan) leave(at int64, failed bool) {
	p := o.parent
	if p == nil || p.nth != o.parentNth {
		return
	}
	p.failed = p.failed || failed
	if p.inner--; p.inner == 0 {
		p.covered = sum(p.covered, since(at, p.since))
	}
}

// threadKey identifies a thread.
type threadKey struct {
	src      uint32
	pid, tid uint32
}

// thread has the open spans without keys of a thread.
type thread struct{ latest *openSpan }

// threadOf returns the thread of an event, or nil if there are too many.
func (s *spans) threadOf(src *Source, pid, tid int) *thread {
	k := threadKey{src.index, uint32(pid), uint32(tid)}
	if src.thread != nil && src.of == k {
		return src.thread
	}
	th := s.threads[k]
	if th == nil {
		if len(s.threads) >= maxThreads {
			s.forgetThreads()
			if len(s.threads) >= maxThreads {
				return nil
			}
		}
		th = &thread{}
		s.threads[k] = th
	}
	src.thread, src.of = th, k
	return th
}

// forgetThreads removes the threads without open spans.
func (s *spans) forgetThreads() {
	for k, th := range s.threads {
		if th.latest == nil {
			delete(s.threads, k)
		}
	}
}

func (th *thread) push(o *openSpan) {
	if o.before = th.latest; o.before != nil {
		o.before.after = o
	}
	th.latest = o
}

// take removes the latest open span of a type and returns it, or nil.
func (th *thread) take(t *spanType) *openSpan {
	o := th.latest
	for n := 0; o != nil && o.typ != t; n++ {
		if n == maxDepth {
			return nil
		}
		o = o.before
	}
	if o == nil {
		return nil
	}
	o.overlaps = o.overlaps || o.after != nil
	for a, n := o.after, 0; a != nil && n < maxCrossed; a, n = a.after, n+1 {
		a.overlaps = true
	}
	if o.before != nil {
		o.before.after = o.after
	}
	if o.after != nil {
		o.after.before = o.before
	} else {
		th.latest = o.before
	}
	return o
}

// keyed has the open spans with keys: a hash table.
type keyed struct {
	heads []*openSpan // a power of two
	count int
}

func (k *keyed) head(src uint32, key uint64) **openSpan {
	h := (key ^ uint64(src)<<32) * 0x9e3779b97f4a7c15
	return &k.heads[(h^h>>32)&uint64(len(k.heads)-1)]
}

// maxChain bounds how many spans find looks at: only a forged log has many spans of one key.
const maxChain = 256

// find returns the latest open span of a key in a process, of a type unless that is nil. Keys of
// shells are unique in their process only.
func (k *keyed) find(src, pid uint32, key uint64, t *spanType) *openSpan {
	o := *k.head(src, key)
	for n := 0; o != nil && n < maxChain; o, n = o.next, n+1 {
		if o.key == key && o.src == src && o.pid == pid && (t == nil || o.typ == t) {
			return o
		}
	}
	return nil
}

// findOf returns the latest open span of a key and a type, in any process.
func (k *keyed) findOf(src uint32, key uint64, t *spanType) *openSpan {
	o := *k.head(src, key)
	for n := 0; o != nil && n < maxChain; o, n = o.next, n+1 {
		if o.key == key && o.src == src && o.typ == t {
			return o
		}
	}
	return nil
}

func (k *keyed) put(o *openSpan) {
	if k.count >= len(k.heads) {
		old := k.heads
		k.heads = make([]*openSpan, 4*len(old))
		for _, c := range old {
			k.move(c)
		}
	}
	k.count++
	h := k.head(o.src, o.key)
	o.next, *h = *h, o
}

// move moves a chain to the heads of the grown table. The order in the chain, latest first, stays.
func (k *keyed) move(c *openSpan) {
	var reversed *openSpan
	for c != nil {
		next := c.next
		c.next, reversed = reversed, c
		c = next
	}
	for c = reversed; c != nil; {
		next := c.next
		h := k.head(c.src, c.key)
		c.next, *h = *h, c
		c = next
	}
}

// remove removes a span that find has returned.
func (k *keyed) remove(o *openSpan) {
	p := k.head(o.src, o.key)
	for *p != o {
		p = &(*p).next
	}
	*p = o.next
	k.count--
}
