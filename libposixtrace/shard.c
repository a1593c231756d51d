/* The chunk of a shard: getting one, adopting one, leaving it. */
#include <string.h>

#include "protocol.h"

/* Defines a site, by a record at p, and puts it into the cache. */
void pxt_define(struct pxt_shard *s, struct pxt_site *k, unsigned char *p, uint64_t addr, uint64_t who, uint64_t what)
{
	uint32_t n = s->sites++;
	*k = (struct pxt_site){.addr = addr, .who = who, .what = what, .num = n};
	pxt_put64(p, pxt_record(n, PXT_CK_SiteSize - PXT_CK_HeaderSize, PXT_CK_KindSite));
	pxt_put64(p + 8, (uint32_t)what | (who & ~(uint64_t)UINT32_MAX));
	pxt_put64(p + 16, addr);
	pxt_put64(p + 24, (uint32_t)who);
}

/* Takes one of the permits that bound how many chunks are owned. */
static bool have_permit(struct pxt_writer *w, struct pxt_shard *s)
{
	struct pxt_mem *m = &w->m;
	uint32_t p = atomic_load(&s->permit);
	if (p != 0) {
		if (pxt_load(&m->h->permitTable[p - 1]) >> 32 == s->id)
			return true;
		atomic_store(&s->permit, 0); /* another writer took it while this one was idle */
	}
	for (p = 0; p < m->permits; p++) {
		if (pxt_vacant(m, p) && pxt_cas(&m->h->permitTable[p], 0, s->id << 32)) {
			atomic_store(&s->permit, p + 1);
			return true;
		}
	}
	return false;
}

/* Continues in chunk i, which has events, and is busy. next is the least tick of the shard's next event. */
static void install_adopted(struct pxt_writer *w, struct pxt_shard *s, uint32_t i, uint64_t adopted, uint64_t now,
			    uint64_t next)
{
	struct pxt_desc *d = pxt_desc_of(&w->m, i);
	pxt_store(&d->enteredAt, now);
	/*
	 * The shard's times go on from the chunk's last one, and from a base so old that the next event
	 * gives a new one.
	 */
	bool known = pxt_end_noted(d, adopted);
	uint64_t last = pxt_load(&d->last);
	uint32_t n = pxt_count(pxt_load(&d->sites));
	pxt_store(&d->sites, 0); /* not known any more */
	pxt_cas(&d->last, last, 0);
	if (!known) {
		/* They are those of a writer that was about to leave the chunk long ago, and did now. */
		pxt_find_end(&w->m, i, adopted, &last, &n);
	}
	if (last > now && pxt_is_future(&w->m, last)) {
		atomic_fetch_add(&w->m.h->damage, 1);
		last = 0;
	}
	s->sites = n;
	s->base = 0;
	s->last = pxt_max(pxt_max(last, next), UINT64_C(1) << 32);
	uint64_t c = adopted & ~(uint64_t)PXT_busyBit;
	pxt_store(&s->tag, (c & PXT_tagMask) | i);
	pxt_ctl_let_go(d, adopted, c);
}

/* Makes chunk i the shard's: one that is claimed, or one with events, adopted, which is busy. */
static void install(struct pxt_writer *w, struct pxt_shard *s, uint32_t i, uint64_t adopted)
{
	struct pxt_mem *m = &w->m;
	pxt_store_count(&s->waited, 0);
	pxt_store(&s->tag, PXT_noChunk);
	pxt_store(&s->held, 0);
	pxt_forget_maps(w, s);
	s->data = pxt_chunk_of(m, i);
	uint32_t epoch = pxt_epoch(s) + 1;
	if (epoch == 0) {
		/* The count wraps: entries of earlier chunks must not be found. */
		memset(s->cache, 0, sizeof s->cache);
		epoch = 1;
	}
	atomic_store(&s->epoch, epoch);
	for (uint32_t j = 0; j <= w->mask; j++) {
		/* Generations wrap, too: a shard that had this chunk long ago may know it by the same tag. */
		_Atomic uint64_t *tag = &w->shards[j].tag;
		uint64_t t = pxt_load(tag);
		if (t != PXT_noChunk && (t & PXT_idxMask) == i)
			pxt_cas(tag, t, PXT_noChunk);
	}
	/*
	 * Events of the chunk before stand before those of this one, also if the clock has not moved on,
	 * or gives an older time. Bounded, because a damaged stream may say anything.
	 */
	uint64_t now = pxt_now(m), next = pxt_min(s->last, now + PXT_skew) + 1;
	if (adopted != 0) {
		install_adopted(w, s, i, adopted, now, next);
		return;
	}
	uint64_t base = pxt_max(now, next);
	s->sites = 0;
	s->base = s->last = base;
	uint64_t c = pxt_begin(m, i, w->slot, PXT_owned, base);
	pxt_store(&s->tag, (c & PXT_tagMask) | i);
}

/* Claims a chunk for the shard, which has a permit. */
static bool claim_for(struct pxt_writer *w, struct pxt_shard *s, uint32_t need)
{
	struct pxt_mem *m = &w->m;
	uint64_t adopted;
	uint32_t i;
	if (!pxt_claim(m, w->slot, PXT_owned, need, &i, &adopted))
		return false;
	_Atomic uint64_t *p = &m->h->permitTable[atomic_load(&s->permit) - 1];
	uint64_t v = pxt_load(p);
	if (v >> 32 != s->id || !pxt_cas(p, v, s->id << 32 | (i + 1))) {
		/* Another writer has taken the permit meanwhile. */
		if (adopted != 0)
			pxt_park(m, i, adopted);
		else
			pxt_release(m, i);
		atomic_store(&s->permit, 0);
		return false;
	}
	install(w, s, i, adopted);
	return true;
}

/*
 * Makes sure that the shard's chunk has room for need bytes. Returns false if the shard cannot have
 * such a chunk now. The caller holds the shard's lock, with signals blocked.
 */
bool pxt_exchange(struct pxt_writer *w, struct pxt_shard *s, uint32_t need)
{
	uint64_t tag = pxt_load(&s->tag);
	uint32_t i = (uint32_t)(tag & PXT_idxMask);
	struct pxt_desc *d = pxt_desc_of(&w->m, i);
	uint64_t c = pxt_load(&d->ctl);
	if (((c & ~(uint64_t)PXT_busyBit) ^ tag) & PXT_tagMask) {
		/* A flush has closed it, or the shard never had one. */
	} else if (pxt_busy(c)) {
		/* A thread was interrupted in the middle of an event: do not wait for it. */
		if (!pxt_abandoned(s, c))
			return false;
		/* What the shard knows of the chunk may be wrong. */
		pxt_park(&w->m, i, c);
		return true;
	} else if (pxt_off(c) + need <= w->chunk_size) {
		return true; /* it was only a collision */
	} else {
		/* The busy bit protects s->last, and keeps others from appending behind it. */
		if (pxt_ctl_seize(d, c)) {
			pxt_store(&d->last, s->last);
			pxt_note_end(d, c, s->sites);
			pxt_retire(&w->m, i, c | PXT_busyBit);
		}
		return true;
	}
	if (w->opens_only)
		return false;
	if (!have_permit(w, s)) {
		uint64_t taken;
		if (!pxt_take_over(w, s, need, &i, &taken)) {
			pxt_store_count(&s->waited, 1);
			return false;
		}
		if (taken != 0) {
			install(w, s, i, taken);
			return true;
		}
	}
	return claim_for(w, s, need);
}

/* Gives up the chunk of a shard. Returns false if it stays busy. */
bool pxt_park_chunk(struct pxt_writer *w, struct pxt_shard *s)
{
	uint64_t tag = pxt_load(&s->tag);
	if (tag == PXT_noChunk)
		return true;
	uint32_t i = (uint32_t)(tag & PXT_idxMask);
	for (int try = 0; try < PXT_closeTries; try++) {
		uint64_t c = pxt_load(&pxt_desc_of(&w->m, i)->ctl);
		if (((c & ~(uint64_t)PXT_busyBit) ^ tag) & PXT_tagMask)
			return true;
		if (pxt_busy(c))
			return false;
		if (pxt_park(&w->m, i, c))
			return true;
	}
	return true;
}
