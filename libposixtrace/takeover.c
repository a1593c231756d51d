/*
 * Permits that change hands. Most writers wait for a processor, and their chunks and permits with them.
 * A writer that runs and has no permit takes over that of a writer that does not run, with its chunk,
 * unless that writer is stopped in the middle of an event.
 */
#include "protocol.h"

/* Stores n in a counter that need not be exact: several threads may count at once. */
void pxt_store_count(_Atomic uint64_t *p, uint64_t n)
{
	if (pxt_load(p) != n)
		pxt_store_release(p, n);
}

/*
 * Counts an event that a shard is about to record in an open chunk. Returns false if the shard should
 * look for a permit before. A writer whose chunk is unchanged at two looks does not run, or records
 * far less.
 */
bool pxt_still_crowded(struct pxt_shard *s)
{
	uint64_t n = pxt_load(&s->waited);
	if (n == 0 || n >= PXT_lookAgain)
		return false;
	pxt_store_release(&s->waited, n + 1);
	return true;
}

/* Takes permit p, whose word is v, with its chunk in state *ctl, or without one if that is 0. */
static bool take_from(struct pxt_writer *w, struct pxt_shard *s, uint32_t p, uint64_t v, uint32_t need, uint64_t *ctl)
{
	struct pxt_mem *m = &w->m;
	_Atomic uint64_t *q = &m->h->permitTable[p];
	uint64_t c = *ctl, taken, last;
	uint32_t sites;
	if (c == 0) {
		if (!pxt_cas(q, v, s->id << 32))
			return false;
		atomic_store(&s->permit, p + 1);
		return true;
	}
	uint32_t i = (uint32_t)v - 1;
	struct pxt_desc *d = pxt_desc_of(m, i);
	if (!pxt_ctl_take_over(d, c, w->slot, &taken))
		return false;
	if (!pxt_cas(q, v, s->id << 32 | (i + 1))) {
		pxt_park(m, i, taken); /* another writer was faster, or the owner has a new chunk */
		return false;
	}
	atomic_store(&s->permit, p + 1);
	*ctl = 0;
	if (pxt_off(c) + need > w->chunk_size) {
		pxt_park(m, i, taken);
		return true;
	}
	pxt_find_end(m, i, taken, &last, &sites);
	pxt_store(&d->last, last);
	pxt_note_end(d, c, sites);
	*ctl = taken;
	return true;
}

/*
 * Takes over the permit of a writer that has not changed its chunk since the last call, with that
 * chunk, owned by w and busy; *ctl is 0 if the chunk has no room for need bytes. The caller holds the
 * shard's lock.
 */
bool pxt_take_over(struct pxt_writer *w, struct pxt_shard *s, uint32_t need, uint32_t *chunk, uint64_t *ctl)
{
	struct pxt_mem *m = &w->m;
	for (uint32_t n = 0; n < m->permits; n++) {
		uint32_t p = (uint32_t)(w->slot + n) % m->permits;
		uint64_t v = pxt_load(&m->h->permitTable[p]);
		uint32_t j = (uint32_t)v - 1;
		if (v & PXT_displaced || pxt_permit_slot(v) == w->slot || j >= m->chunks)
			continue;
		uint64_t c = pxt_load(&pxt_desc_of(m, j)->ctl);
		bool claiming = pxt_state(c) == PXT_claiming;
		bool theirs = pxt_slot(c) == pxt_permit_slot(v) && (pxt_state(c) == PXT_owned || claiming);
		if (!theirs)
			c = 0; /* the chunk was closed, and the writer has not needed another since */
		uint64_t sight = v << 32 ^ c;
		if (s->seen[p] != sight) {
			s->seen[p] = sight;
			continue;
		}
		if (theirs && (claiming || pxt_busy(c)))
			continue;
		*ctl = c;
		if (take_from(w, s, p, v, need, ctl)) {
			*chunk = j;
			return true;
		}
	}
	return false;
}
