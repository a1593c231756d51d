/*
 * Displaced chunks. Open chunks belong to no writer. When all of them stay busy, since
 * their writers do not run, another chunk replaces one of them. A displaced chunk keeps its events, takes
 * one of the permits of owned chunks, and is parked (protocol.h) as soon as its writer has left it.
 */
#include "word.h"

/*
 * The reference to the chunk that an entry of the table of open chunks has, by its word v, or is about to
 * replace, 0 for none.
 */
uint64_t pxt_replaces(const struct pxt_mem *m, uint64_t v)
{
	if (v & PXT_reserved)
		v = (v & ~PXT_reserved) >> PXT_replacedShift;
	return pxt_is_ref(m, v) ? v : 0;
}

/* Whether writers find the open chunk i. */
bool pxt_registered(struct pxt_mem *m, uint32_t i)
{
	for (uint32_t o = 0; o < m->open_chunks; o++)
		if (pxt_replaces(m, pxt_load(&m->h->openTable[o])) == i + 1)
			return true;
	return false;
}

/*
 * Closes chunk i, which writers do not find, and which is open and not busy. In an adopted
 * chunk, old events live as long as new ones. Under LOOP they take room that newer events lack, so
 * there must not be more such chunks than there are permits.
 */
bool pxt_close_found(struct pxt_mem *m, uint32_t i, uint64_t c, bool permitted)
{
	if (m->policy == PXT_Loop && !permitted)
		return pxt_close_aged(m, i, c, PXT_full);
	return pxt_park_aged(m, i, c);
}

/* Closes chunk i if it is displaced. Returns false if it is busy. */
static bool close_displaced(struct pxt_mem *m, uint32_t i, bool permitted)
{
	for (int try = 0; try < PXT_closeTries; try++) {
		uint64_t c = pxt_load(&pxt_desc_of(m, i)->ctl);
		/*
		 * If writers find the chunk, it is not displaced any more, or it was not replaced after all. Seen
		 * in this order: if they find it again later, and it gets newer events than its age says, it
		 * is not in state c.
		 */
		if (pxt_state(c) != PXT_open || pxt_registered(m, i))
			return true;
		if (pxt_busy(c))
			return false;
		if (pxt_close_found(m, i, c, permitted))
			return true;
	}
	return false;
}

/* The number of the chunk that a permit has, by the permit's word v, or one that no chunk has. */
static uint32_t permit_chunk(uint64_t v)
{
	return (uint32_t)v - 1;
}

/* Whether a permit is free, after a displaced chunk that had it is closed. */
bool pxt_vacant(struct pxt_mem *m, uint32_t permit)
{
	_Atomic uint64_t *q = &m->h->permitTable[permit];
	uint64_t v = pxt_load(q);
	if (!(v & PXT_displaced))
		return v == 0;
	uint32_t i = permit_chunk(v);
	if (i < m->chunks && !close_displaced(m, i, true))
		return false;
	pxt_cas(q, v, 0);
	return pxt_load(q) == 0;
}

/* Finds a permit for the open chunk i, which writers do not find any more. */
bool pxt_displace(struct pxt_mem *m, uint32_t i)
{
	uint64_t mine = PXT_displaced | (i + 1);
	for (uint32_t p = 0; p < m->permits; p++)
		if (pxt_vacant(m, p) && pxt_cas(&m->h->permitTable[p], 0, mine))
			return true;
	/* Take the chunk of an owner that is not in the middle of an event. */
	for (uint32_t p = 0; p < m->permits; p++) {
		_Atomic uint64_t *q = &m->h->permitTable[p];
		uint64_t v = pxt_load(q);
		uint32_t j = permit_chunk(v);
		if (v & PXT_displaced || j >= m->chunks)
			continue; /* or its owner is about to get one */
		uint64_t c = pxt_load(&pxt_desc_of(m, j)->ctl);
		if (pxt_slot(c) == pxt_permit_slot(v)) {
			if (pxt_state(c) == PXT_claiming)
				continue;
			if (pxt_state(c) == PXT_owned && (pxt_busy(c) || !pxt_park(m, j, c)))
				continue;
		}
		if (pxt_cas(q, v, mine))
			return true;
	}
	return false;
}

/* For a writer that has left the open chunk i and found another in its place. */
void pxt_left_displaced(struct pxt_mem *m, uint32_t i)
{
	for (uint32_t p = 0; p < m->permits; p++) {
		if (pxt_load(&m->h->permitTable[p]) == (PXT_displaced | (i + 1))) {
			pxt_vacant(m, p);
			return;
		}
	}
	close_displaced(m, i, false);
}

/* Closes all displaced chunks that are not busy. */
void pxt_close_all_displaced(struct pxt_mem *m)
{
	for (uint32_t p = 0; p < m->permits; p++)
		if (pxt_load(&m->h->permitTable[p]) & PXT_displaced)
			pxt_vacant(m, p);
}

/* Whether chunk i is open without a writer, and writers do not find it. */
bool pxt_unreachable(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	return pxt_state(c) == PXT_open && !pxt_busy(c) && !pxt_registered(m, i);
}
