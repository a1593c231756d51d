/* The record path. */
#include "word.h"

static struct pxt_desc *desc_of(const struct pxt_writer *w, uint64_t tag)
{
	return w->desc + (tag & PXT_idxMask);
}

/*
 * Makes the shard's chunk, seen as c, busy, and says by which record: one whose stack frame has the
 * word at frame (abandoned.c). Where *ticks is 0 it reads the counter.
 *
 * It does so right before the exchange: a processor that reads its counter stops until it has the
 * value, and the exchange stops until all before it is done. What stands between the two runs alone;
 * what stands before the first runs beside the exchange of the event before.
 */
static inline bool seize(struct pxt_shard *s, struct pxt_desc *d, uint64_t c, volatile uint32_t *frame,
			 uint64_t *ticks)
{
	uint64_t busy = c | PXT_busyBit;
	*frame = (uint32_t)busy;
	atomic_store_explicit(&s->intent, frame, memory_order_relaxed);
	if (PXT_LIKELY(*ticks == 0))
		*ticks = pxt_ticks();
	if (PXT_UNLIKELY(!pxt_cas(&d->ctl, c, busy))) {
		atomic_store_explicit(&s->intent, NULL, memory_order_relaxed);
		return false;
	}
	atomic_store_explicit(&s->frame, frame, memory_order_relaxed);
	atomic_store_explicit(&s->held, busy, memory_order_release);
	return true;
}

/* Ends the busy state without an event. Another record may seize the chunk in the same state c. */
static void let_go(struct pxt_shard *s, struct pxt_desc *d, uint64_t c)
{
	atomic_store_explicit(&s->held, 0, memory_order_relaxed);
	pxt_publish(&d->ctl, c);
}

/* The control word behind an event that ends at offset off. */
static inline uint64_t behind_event(uint64_t c, uint32_t off)
{
	return (c & ~(uint64_t)PXT_offMask) + (UINT64_C(1) << PXT_countShift) + off / 8;
}

/* The place of a site of this shard, defined by a record at *p if it is new. */
static inline struct pxt_site *site_at(struct pxt_shard *s, unsigned char **p, uint32_t id, uint64_t who, uint64_t addr)
{
	uint64_t what = id | (uint64_t)s->epoch << 32;
	struct pxt_site *k = pxt_site(s, addr, who, what);
	if (PXT_UNLIKELY(k->addr != addr || k->who != who || k->what != what)) {
		pxt_define(s, k, *p, addr, who, what);
		*p += PXT_CK_SiteSize;
	}
	return k;
}

/* How much of n bytes of data is recorded, more than max-data-size. */
static uint32_t limit(const struct pxt_writer *w, uint32_t id, size_t n)
{
	if (id < PXT_EV_ProcFork)
		return (uint32_t)pxt_min(n, PXT_MaxSystemData); /* POSIX's own are never cut */
	return w->m.max_data;
}

/* When the stream does not run. Returns false when another try is worth it. */
static bool refused(struct pxt_writer *w, uint32_t id, uint64_t st)
{
	struct pxt_mem *m = &w->m;
	if (st & PXT_turning) {
		pxt_fix_turn(m);
		return false;
	}
	switch (st & (PXT_Full | PXT_LogFull | PXT_Dead | PXT_NoRestart)) {
	case PXT_Full:
		return pxt_no_room(m, id, st);
	case PXT_LogFull:
		/* No call has stopped the stream, so this is a loss. */
		if (pxt_valid(id) && !pxt_rejects(m, id))
			pxt_add_lost(m, pxt_now(m));
		return true;
	}
	return true;
}

/*
 * When the shard's chunk cannot take the event. Stores in *done false when another try with the shard
 * is worth it. A handler that leaves this function by siglongjmp would leave a lock, a claim or an open
 * chunk behind, so there is none.
 */
static bool slow(struct pxt_writer *w, struct pxt_shard *s, const struct pxt_event *e, int try, bool *done)
{
	uint64_t mask;
	uint32_t unlocked = 0;
	bool usable = false, ok = false;
	pxt_signals_block(&mask);
	if (!pxt_still_crowded(s) && try <= 8 && atomic_compare_exchange_strong(&s->lock, &unlocked, 1)) {
		usable = pxt_renew(w, s, PXT_CK_Overhead + pxt_align(e->n));
		atomic_store(&s->lock, 0);
	}
	*done = false;
	if (!usable)
		ok = pxt_append_open(w, s, e, done);
	pxt_signals_restore(&mask);
	return ok;
}

/*
 * The tick of an event at now that would be earlier than the one before it in its chunk, at last. The
 * counter may have been set back.
 */
static uint64_t behind(struct pxt_writer *w, uint64_t now, uint64_t last)
{
	if (!w->ticks || last - now <= PXT_farBehind)
		return last;
	pxt_reached(&w->m, last);
	return pxt_max(last, pxt_now(&w->m));
}

/* Appends an event to the shard's chunk, seen as c and busy. */
static void write_event(struct pxt_writer *w, struct pxt_shard *s, struct pxt_desc *d, uint64_t c,
			const struct pxt_event *e, uint64_t now)
{
	if (now < s->last)
		now = behind(w, now, s->last);
	s->last = now;
	unsigned char *start = s->data + pxt_off(c), *p = start;
	uint64_t delta = now - s->base;
	if (delta > UINT32_MAX) {
		pxt_put64(p, pxt_record(0, 8, PXT_CK_KindBase));
		pxt_put64(p + 8, now);
		p += PXT_CK_BaseSize;
		s->base = now;
		delta = 0;
	}
	uint32_t num = site_at(s, &p, e->id, pxt_who(e->pid, e->tid), e->addr)->num;
	if (e->cut)
		num |= PXT_CK_Truncated;
	pxt_put64(p, pxt_record((uint32_t)delta, e->n, num));
	pxt_copy(p + PXT_CK_HeaderSize, e->data, e->n);
	p += PXT_CK_HeaderSize + pxt_align(e->n);
	pxt_publish(&d->ctl, behind_event(c, pxt_off(c) + (uint32_t)(p - start)));
}

/* pxt_append in all cases. */
static __attribute__((noinline)) bool append_rare(struct pxt_writer *w, unsigned hint, uint32_t id, uint64_t who,
						  uint64_t addr, const void *data, size_t n)
{
	struct pxt_front *f = w->front;
	volatile uint32_t frame = 0;
	struct pxt_event e = {.id = id, .pid = (uint32_t)who, .tid = (uint32_t)(who >> 32), .addr = addr, .data = data};
	if (e.pid == 0)
		e.pid = w->pid;
	for (int try = 0; try < PXT_TRIES; try++) {
		uint64_t st = pxt_load(&f->state);
		if ((st & (PXT_Running | PXT_Dead | PXT_turning)) != PXT_Running) {
			if (refused(w, id, st))
				return false;
			continue;
		}
		if (!pxt_valid(id) || pxt_filtered(f, st, id))
			return false;
		e.n = n > w->m.max_data ? limit(w, id, n) : (uint32_t)n;
		e.cut = e.n < n;
		if (e.n > 0)
			pxt_touch(data, e.n);
		if (e.n > PXT_pageSize)
			pxt_touch_all(data, e.n);
		/* Before the exchange: the processor would let the clock wait for it (horizon.c). */
		uint64_t now = w->ticks ? pxt_ticks() + pxt_load(&f->shift) : pxt_monotonic();
		struct pxt_shard *s = pxt_shard(w, hint);
		uint64_t tag = pxt_load(&s->tag);
		struct pxt_desc *d = desc_of(w, tag);
		uint64_t c = pxt_load(&d->ctl);
		if (((c ^ tag) & PXT_tagMask) || pxt_off(c) + PXT_CK_Overhead + pxt_align(e.n) > w->chunk_size ||
		    !seize(s, d, c, &frame, &now)) {
			bool done, ok = slow(w, s, &e, try, &done);
			if (done)
				return ok;
			continue;
		}
		if (now <= pxt_load(&f->horizon))
			now = pxt_beyond(&w->m);
		if (pxt_load(&f->state) != st || pxt_load(&s->tag) != tag) {
			let_go(s, d, c);
			continue;
		}
		write_event(w, s, d, c, &e, now);
		return true;
	}
	if (!pxt_rejects(&w->m, id))
		pxt_add_lost(&w->m, pxt_now(&w->m)); /* a hostile process changes the stream all the time */
	return false;
}

/*
 * The cost of a trace point. Whatever is rare is left to append_rare.
 */
bool pxt_append(struct pxt_writer *w, unsigned hint, uint32_t id, uint64_t who, uint64_t addr, uint64_t *ticks,
		const void *data, size_t n)
{
	struct pxt_front *f = w->front;
	volatile uint32_t frame;
	uint64_t st = pxt_load(&f->state), t = *ticks;
	if (PXT_UNLIKELY((st & (PXT_Running | PXT_Dead | PXT_turning)) != PXT_Running))
		goto rare;
	if (PXT_UNLIKELY(!pxt_valid(id) || pxt_filtered(f, st, id)))
		return false;
	if (PXT_UNLIKELY(n >= w->quick))
		goto rare;
	if (n > 0)
		pxt_touch(data, n);
	struct pxt_shard *s = pxt_shard(w, hint);
	uint64_t tag = pxt_load(&s->tag);
	struct pxt_desc *d = desc_of(w, tag);
	uint64_t c = pxt_load(&d->ctl);
	uint32_t size = PXT_CK_HeaderSize + pxt_align((uint32_t)n);
	if (PXT_UNLIKELY(((c ^ tag) & PXT_tagMask) ||
			 pxt_off(c) + size + (PXT_CK_Overhead - PXT_CK_HeaderSize) > w->chunk_size ||
			 !seize(s, d, c, &frame, &t)))
		goto rare;
	*ticks = t;
	/*
	 * If the state has changed between its load and the busy bit, an event judged by the old state must
	 * not follow the change. If the tag has, this thread has waited for a processor, and the chunk went
	 * to others and came back, to another shard.
	 */
	uint64_t now = t + pxt_load(&f->shift), delta = now - s->base;
	if (PXT_UNLIKELY(now <= pxt_load(&f->horizon) || pxt_load(&f->state) != st || pxt_load(&s->tag) != tag ||
			 now < s->last || delta > UINT32_MAX)) {
		let_go(s, d, c);
		goto rare;
	}
	s->last = now;
	uint32_t off = pxt_off(c);
	unsigned char *start = s->data + off, *p = start;
	struct pxt_site *k = site_at(s, &p, id, who, addr);
	pxt_put64(p, pxt_record((uint32_t)delta, (uint32_t)n, k->num));
	pxt_copy(p + PXT_CK_HeaderSize, data, (uint32_t)n);
	pxt_publish(&d->ctl, behind_event(c, off + (uint32_t)(p - start) + size));
	return true;
rare:
	frame = 0;
	return append_rare(w, hint, id, who, addr, data, n);
}

bool pxt_wants(const struct pxt_writer *w, uint32_t id)
{
	uint64_t st = pxt_load(&w->front->state);
	return (st & (PXT_Running | PXT_Full | PXT_LogFull)) && pxt_valid(id) && !pxt_filtered(w->front, st, id);
}

/* The number of shards for so many processors. */
static uint32_t shards_for(unsigned processors)
{
	uint32_t n = 1;
	while (n < processors && n < 1 << 16)
		n *= 2;
	return n;
}

static size_t writer_room(void)
{
	return (sizeof(struct pxt_writer) + 127) & ~(size_t)127;
}

size_t pxt_writer_size(unsigned processors)
{
	return writer_room() + shards_for(processors) * sizeof(struct pxt_shard);
}

void pxt_writer_init(struct pxt_writer *w, const struct pxt_mem *m, uint64_t slot, uint32_t pid, unsigned processors)
{
	w->m = *m;
	w->front = &m->h->front;
	w->desc = m->desc;
	w->shards = (struct pxt_shard *)((unsigned char *)w + writer_room());
	w->mask = shards_for(processors) - 1;
	w->chunk_size = m->chunk_size;
	w->ticks = m->clock == PXT_ClockTicks;
	w->quick = w->ticks ? pxt_min(m->max_data, PXT_pageSize) + 1 : 0;
	w->pid = pid;
	w->slot = slot;
	for (uint32_t i = 0; i <= w->mask; i++) {
		struct pxt_shard *s = w->shards + i;
		pxt_store(&s->tag, PXT_noChunk);
		pxt_store(&s->entry, slot);
		s->holder = slot | (uint64_t)i << PXT_slotBits;
		s->data = m->data; /* a hostile process may write a control word that matches */
	}
}

void pxt_writer_close(struct pxt_writer *w)
{
	for (uint32_t i = 0; i <= w->mask; i++) {
		struct pxt_shard *s = w->shards + i;
		pxt_leave_chunk(w, s);
		uint32_t p = atomic_load(&s->place);
		if (p != 0) {
			_Atomic uint64_t *q = &w->m.h->placed[p - 1];
			uint64_t v = pxt_load(q);
			if (v >> 32 == s->holder)
				pxt_cas(q, v, 0);
		}
	}
}
