/* Ending the writing to a chunk. claim.go of the Go package has this, too. */
#include "protocol.h"

/* Makes chunk i the youngest. */
void pxt_set_age(struct pxt_mem *m, uint32_t i)
{
	uint64_t age = atomic_fetch_add(&m->h->seq, 1) + 1;
	for (int try = 0; try < PXT_TRIES; try++) {
		uint64_t a = pxt_load(&m->ages[i]);
		if (a >= age || pxt_cas(&m->ages[i], a, age))
			return;
	}
}

/* Makes chunk i free. A reader that has copied its events can no longer report them. */
static bool drop(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	if (!pxt_ctl_drop(d, c))
		return false;
	/* This fails if the chunk has already been claimed anew, which stops the reader as well. */
	uint64_t r = pxt_load(&d->read);
	if (pxt_gen(r) == pxt_gen(c))
		pxt_cas(&d->read, r, r | PXT_frozenBit);
	pxt_set_free(m, i);
	return true;
}

/*
 * Ends the writing to chunk i, whose age is known: it becomes full or partial, or free if
 * it is empty.
 */
bool pxt_close_aged(struct pxt_mem *m, uint32_t i, uint64_t c, uint32_t state)
{
	if (pxt_count(c) == 0)
		return drop(m, i, c);
	struct pxt_desc *d = pxt_desc_of(m, i);
	return state == PXT_full ? pxt_ctl_retire(d, c) : pxt_ctl_park(d, c);
}

/*
 * Makes chunk i full, or free if it is empty. The caller has seen that it is not busy, or
 * has made it busy. The chunk's age is stored first, so that no chunk that may be overwritten looks
 * older than it is.
 */
bool pxt_retire(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	if (pxt_count(c) > 0)
		pxt_set_age(m, i);
	return pxt_close_aged(m, i, c, PXT_full);
}

/*
 * The header's word says that there may be partial chunks. The bits above that flag count how often a
 * chunk became partial, so that a writer that looked for one before cannot say that there is none.
 */
void pxt_set_partial_hint(struct pxt_mem *m)
{
	atomic_fetch_add(&m->h->partials, 2 * PXT_somePartial);
	atomic_fetch_or(&m->h->partials, PXT_somePartial);
}

/*
 * pxt_park for a chunk whose age is known: it was displaced long ago, and is overwritten as
 * if it had been closed then.
 */
bool pxt_park_aged(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	uint64_t was = pxt_load(&d->last), last; /* before the word */
	uint32_t sites;
	if (pxt_off(c) + PXT_CK_Overhead > m->chunk_size)
		return pxt_close_aged(m, i, c, PXT_full);
	pxt_find_end(m, i, c, &last, &sites);
	if (pxt_load(&d->ctl) != c)
		return false; /* the records that pxt_find_end has seen may be another writer's */
	if (pxt_cas(&d->last, was, last)) /* else a writer came between, or another one that closes the chunk */
		pxt_note_end(d, c, sites);
	if (!pxt_close_aged(m, i, c, PXT_partial))
		return false;
	pxt_set_partial_hint(m);
	return true;
}

/*
 * As pxt_retire, for a chunk with room left: other writers may adopt it, since the room is promised.
 */
bool pxt_park(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	if (pxt_count(c) > 0)
		pxt_set_age(m, i);
	return pxt_park_aged(m, i, c);
}
