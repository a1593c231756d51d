/* The record path. */
#include "copy.h"
#include "seize.h"

/* The place of a site of this shard, defined by a record at *p, behind a note on its mapping, if it is new. */
static inline struct pxt_site *site_at(struct pxt_writer *w, struct pxt_shard *s, struct pxt_desc *d, unsigned char **p,
				       uint32_t room, uint32_t id, uint64_t who, uint64_t addr)
{
	uint64_t what = id | (uint64_t)pxt_epoch(s) << 32;
	struct pxt_site *k = pxt_site(s, addr, who, what);
	if (!pxt_is_site(k, addr, who, what)) {
		if (pxt_needs_note(s, addr))
			*p += pxt_note_map(w, s, d, *p, room, addr);
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
	if (st & PXT_filterChange) {
		pxt_fix_filter_change(m);
		return false;
	}
	switch (st & (PXT_Full | PXT_LogFull | PXT_Dead | PXT_NoRestart)) {
	case PXT_Full:
		return pxt_out_of_space(m, id, st);
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
		usable = pxt_exchange(w, s, PXT_CK_Overhead + pxt_align(e->n));
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
	pxt_raise_horizon(&w->m, last);
	return pxt_max(last, pxt_now(&w->m));
}

/* Appends an event to the shard's chunk, which is busy. */
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
	uint32_t room = w->chunk_size - pxt_off(c) - PXT_CK_Overhead - pxt_align(e->n);
	uint32_t num = site_at(w, s, d, &p, room, e->id, pxt_who(e->pid, e->tid), e->addr)->num;
	if (e->cut)
		num |= PXT_CK_Truncated;
	pxt_put64(p, pxt_record((uint32_t)delta, e->n, num));
	pxt_copy(p + PXT_CK_HeaderSize, e->data, e->n);
	p += PXT_CK_HeaderSize + pxt_align(e->n);
	pxt_ctl_publish(d, c, pxt_off(c) + (uint32_t)(p - start));
}

__attribute__((noinline)) bool pxt_append_rare(struct pxt_writer *w, unsigned hint, uint32_t id, uint64_t who,
					       uint64_t addr, const void *data, size_t n)
{
	struct pxt_front *f = w->front;
	volatile uint32_t frame = 0;
	struct pxt_event e = {.id = id, .pid = (uint32_t)who, .tid = (uint32_t)(who >> 32), .addr = addr, .data = data};
	if (e.pid == 0)
		e.pid = w->pid;
	for (int try = 0; try < PXT_TRIES; try++) {
		uint64_t st = pxt_load(&f->state);
		if ((st & (PXT_Running | PXT_Dead | PXT_filterChange)) != PXT_Running) {
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
		uint64_t now = w->ticks ? pxt_ticks() + pxt_load(&f->tickOffset) : pxt_monotonic();
		struct pxt_shard *s = pxt_shard(w, hint);
		uint64_t tag = pxt_load(&s->tag);
		uint32_t epoch = pxt_epoch(s);
		struct pxt_desc *d = pxt_tagged(w, tag);
		uint64_t c = pxt_load(&d->ctl);
		if (((c ^ tag) & PXT_tagMask) || pxt_off(c) + PXT_CK_Overhead + pxt_align(e.n) > w->chunk_size ||
		    (pxt_sign(c, &frame), !pxt_seize(s, d, c, tag, &frame))) {
			bool done, ok = slow(w, s, &e, try, &done);
			if (done)
				return ok;
			continue;
		}
		if (now <= pxt_load(&f->horizon))
			now = pxt_after_horizon(&w->m);
		if (pxt_load(&f->state) != st || pxt_load(&s->tag) != tag || pxt_epoch(s) != epoch) {
			pxt_let_go(s, d, c);
			continue;
		}
		write_event(w, s, d, c, &e, now);
		return true;
	}
	if (!pxt_rejects(&w->m, id))
		pxt_add_lost(&w->m, pxt_now(&w->m)); /* a hostile process changes the stream all the time */
	return false;
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
		s->id = slot | (uint64_t)i << PXT_slotBits;
		pxt_forget_maps(w, s);
		s->data = m->data; /* a hostile process may write a control word that matches */
	}
}

bool pxt_writer_close(struct pxt_writer *w)
{
	bool left = true;
	for (uint32_t i = 0; i <= w->mask; i++) {
		struct pxt_shard *s = w->shards + i;
		left = pxt_park_chunk(w, s) && left;
		uint32_t p = atomic_load(&s->permit);
		if (p != 0) {
			_Atomic uint64_t *q = &w->m.h->permitTable[p - 1];
			uint64_t v = pxt_load(q);
			if (v >> 32 == s->id)
				pxt_cas(q, v, 0);
		}
	}
	return left;
}
