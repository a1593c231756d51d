/* The table of writers, and the recovery of what dead ones hold. */
#include "protocol.h"

uint64_t pxt_slot_take(struct pxt_mem *m, uint64_t me, void (*hold)(void *ctx, uint64_t slot, bool on), void *ctx)
{
	for (uint64_t i = 1; i < PXT_MaxSlots; i++) {
		if (pxt_load(&m->h->slots[i]) != 0)
			continue;
		if (hold)
			hold(ctx, i, true);
		if (pxt_cas(&m->h->slots[i], 0, me))
			return i;
		if (hold)
			hold(ctx, i, false);
	}
	return 0;
}

void pxt_slot_free(struct pxt_mem *m, uint64_t slot)
{
	if (slot > 0 && slot < PXT_MaxSlots)
		pxt_store(&m->h->slots[slot], 0);
}

bool pxt_writes(struct pxt_mem *m, uint64_t me)
{
	for (uint32_t i = 0; i < PXT_MaxSlots; i++)
		if (pxt_load(&m->h->slots[i]) == me)
			return true;
	return false;
}

bool pxt_crowded(struct pxt_mem *m)
{
	uint32_t n = 0;
	for (uint32_t p = 0; p < m->permits; p++)
		n += pxt_load(&m->h->permitTable[p]) != 0;
	return 2 * n > m->permits;
}

/*
 * Recovery. The chunks that dead processes owned or were claiming become readable or free, busy bits
 * that they left are cleared, their slots are given back. The published records of a chunk are whole,
 * whatever its writer was doing. The caller holds the stream's lock.
 */

/* A set of slots. */
struct slot_set {
	uint64_t bits[PXT_MaxSlots / 64];
};

static bool has(const struct slot_set *s, uint64_t slot)
{
	return s->bits[slot >> 6 & (PXT_MaxSlots / 64 - 1)] >> (slot & 63) & 1;
}

/* Completes the map of free chunks: a process may have been killed while it freed one. */
static void recover_free(struct pxt_mem *m)
{
	for (uint32_t i = 0; i < m->chunks; i++)
		if (pxt_state(pxt_load(&pxt_desc_of(m, i)->ctl)) == PXT_free)
			pxt_set_free(m, i);
}

/*
 * Whether chunk i has the words of its next generation: its process was killed while it renewed
 * the chunk. Completes them.
 */
static bool renewing(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	uint64_t next = pxt_gen(pxt_renewed(c)), r = pxt_load(&d->read), w = pxt_load(&d->cleared);
	if (pxt_gen(r) == next)
		return true;
	if (!(w & PXT_wasCleared) || pxt_gen(w) != next)
		return false;
	bool current = pxt_gen(r) == pxt_gen(c);
	return pxt_cas(&d->read, r, pxt_read_at(pxt_read_word(next), current ? pxt_count(r) : 0, current ? pxt_off(r) : 0));
}

static void recover_chunk(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	switch (pxt_state(c)) {
	case PXT_claiming:
		pxt_empty(m, i, c);
		pxt_release(m, i);
		break;
	case PXT_owned:
		pxt_park(m, i, pxt_busy(c) ? pxt_ctl_unseize(d, c) : c);
		break;
	case PXT_leaving:
		if (renewing(m, i, c))
			pxt_ctl_renew(d, c);
		else
			pxt_ctl_hand_back(d, c);
		break;
	case PXT_open:
		pxt_ctl_unseize(d, c);
		break;
	}
}

/* Gives up the permits, and the entries of the table of open chunks, of dead processes. */
static void recover_tables(struct pxt_mem *m, const struct slot_set *gone)
{
	for (uint32_t p = 0; p < m->permits; p++) {
		uint64_t v = pxt_load(&m->h->permitTable[p]);
		if (v != 0 && !(v & PXT_displaced) && has(gone, pxt_permit_slot(v)))
			pxt_cas(&m->h->permitTable[p], v, 0);
	}
	for (uint32_t o = 0; o < m->open_chunks; o++) {
		uint64_t v = pxt_load(&m->h->openTable[o]);
		if (!(v & PXT_reserved) || !has(gone, v % PXT_MaxSlots))
			continue;
		uint64_t old = pxt_replaces(m, v);
		if (old != 0)
			pxt_set_age(m, (uint32_t)old - 1);
		pxt_cas(&m->h->openTable[o], v, 0);
	}
}

void pxt_recover(struct pxt_mem *m, bool (*dead)(void *ctx, uint64_t slot, uint64_t proc), void *ctx)
{
	struct slot_set gone = {{0}};
	bool any = false;
	for (uint64_t i = 1; i < PXT_MaxSlots; i++) {
		uint64_t proc = pxt_load(&m->h->slots[i]);
		if (proc != 0 && dead(ctx, i, proc)) {
			gone.bits[i >> 6] |= UINT64_C(1) << (i & 63);
			any = true;
		}
	}
	recover_free(m);
	if (!any)
		return;
	for (uint32_t i = 0; i < m->chunks; i++) {
		uint64_t c = pxt_load(&pxt_desc_of(m, i)->ctl);
		if (pxt_state(c) == PXT_partial)
			pxt_set_partial_hint(m); /* the process that left it may have been killed before it said so */
		if (has(&gone, pxt_slot(c)))
			recover_chunk(m, i, c);
	}
	recover_tables(m, &gone);
	pxt_close_all_displaced(m);
	/* Open chunks that writers do not find: the writer died, or was replaced, before it had registered one. */
	for (uint32_t i = 0; i < m->chunks; i++) {
		uint64_t c = pxt_load(&pxt_desc_of(m, i)->ctl);
		if (pxt_unreachable(m, i, c))
			pxt_close_found(m, i, c, false);
	}
	for (uint64_t i = 1; i < PXT_MaxSlots; i++)
		if (has(&gone, i)) {
			/* The process had accepted an event that it has not recorded. */
			uint64_t bit = UINT64_C(1) << (i & 63);
			if (pxt_load(&m->h->owing[i >> 6]) & bit) {
				pxt_lose(m);
				atomic_fetch_and(&m->h->owing[i >> 6], ~bit);
			}
			pxt_store(&m->h->slots[i], 0);
		}
}
