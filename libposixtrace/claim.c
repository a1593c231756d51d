/* Taking a chunk: a free one, a partial one, or, under LOOP, the one that was closed first. */
#include "protocol.h"

/* Takes chunk i out of the map of free ones. */
static void not_free(struct pxt_mem *m, uint32_t i)
{
	atomic_fetch_and(&m->free_map[i >> 6], ~(UINT64_C(1) << (i & 63)));
	if (pxt_state(pxt_load(&pxt_desc_of(m, i)->ctl)) == PXT_free)
		pxt_set_free(m, i); /* it was freed meanwhile */
}

/* How many events at the start of chunk i were cleared. */
static uint32_t cleared_of(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	uint64_t w = pxt_load(&d->cleared);
	if (!(w & PXT_wasCleared) || pxt_gen(w) != pxt_gen(c))
		return 0;
	uint32_t n = (uint32_t)pxt_min(pxt_count(w), pxt_count(c));
	if (pxt_count(c) > n) {
		uint64_t first, last;
		pxt_span(m, i, c, n, UINT64_MAX, &first, &last);
		if (first < pxt_load(&d->clearedAt))
			n++;
	}
	return n;
}

/* Accounts for n events of chunk i behind the first done ones. */
static uint64_t overwritten(struct pxt_mem *m, uint32_t i, uint64_t c, uint64_t next, uint32_t done)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	uint64_t total = pxt_load(&d->lost) & PXT_lossMask, first, last;
	if (pxt_count(c) <= done)
		return total;
	pxt_span(m, i, c, done, pxt_end_noted(d, c) ? pxt_load(&d->last) : 0, &first, &last);
	if (total == pxt_load(&d->reported))
		pxt_store(&d->lostFirst, first);
	pxt_store(&d->lostLast, last);
	total += pxt_count(c) - done;
	if (total > PXT_lossMask) {
		uint64_t o = pxt_load(&d->lostOver);
		if (o == 0 || pxt_gen(o) != next)
			pxt_store(&d->lostOver, next << PXT_genShift | ((o + 1) & PXT_lossMask));
	}
	return total;
}

/*
 * Accounts for the unread events of chunk i, which is in state claiming and was in state c, and gives
 * it its next generation. If the claimer is killed, recovery runs this again: each step is done once.
 */
void pxt_empty(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	uint64_t next = (pxt_gen(c) + 1) & PXT_genMask;
	if (pxt_gen(pxt_load(&d->lost)) != next) {
		/* From here on a reader can no longer consume the events counted as lost. */
		uint64_t r = pxt_load(&d->read);
		for (int try = 0; try < PXT_TRIES && !(r & PXT_frozenBit) && pxt_gen(r) == pxt_gen(c); try++) {
			if (pxt_cas(&d->read, r, r | PXT_frozenBit))
				break;
			r = pxt_load(&d->read);
		}
		uint32_t done = 0;
		if (pxt_gen(r) == pxt_gen(c))
			done = (uint32_t)pxt_min(pxt_max(pxt_count(r), cleared_of(m, i, c)), pxt_count(c));
		uint64_t total = overwritten(m, i, c, next, done);
		pxt_store(&d->lost, next << PXT_genShift | (total & PXT_lossMask));
		atomic_fetch_add(&m->h->markWords.losses, 1);
	}
	pxt_store(&d->read, pxt_read_word(next));
}

/*
 * Moves chunk i to claiming, accounts for the events that it still held, and empties it.
 */
static bool take(struct pxt_mem *m, uint32_t i, uint64_t slot, uint64_t c)
{
	if (!pxt_ctl_claim(pxt_desc_of(m, i), c, slot))
		return false;
	uint64_t bit = UINT64_C(1) << (i & 63);
	if (pxt_load(&m->free_map[i >> 6]) & bit)
		atomic_fetch_and(&m->free_map[i >> 6], ~bit);
	pxt_empty(m, i, c);
	return true;
}

/* Takes a chunk that the map of free ones has. */
static bool take_free(struct pxt_mem *m, uint64_t slot, uint32_t *chunk)
{
	for (uint32_t w = 0; w < (m->chunks + 63) / 64; w++) {
		for (uint64_t b = pxt_load(&m->free_map[w]); b != 0; b &= b - 1) {
			uint32_t i = w << 6 | (uint32_t)__builtin_ctzll(b);
			if (i >= m->chunks)
				break;
			uint64_t c = pxt_load(&pxt_desc_of(m, i)->ctl);
			if (pxt_state(c) != PXT_free) {
				not_free(m, i);
			} else if (take(m, i, slot, c)) {
				*chunk = i;
				return true;
			}
		}
	}
	return false;
}

/* The chunk to overwrite under LOOP, and the control word that it was seen with. */
static bool closed_first(struct pxt_mem *m, uint32_t *best, uint64_t *seen)
{
	uint64_t age = UINT64_MAX;
	bool any = false;
	for (uint32_t i = 0; i < m->chunks; i++) {
		if (pxt_load(&m->ages[i]) >= age)
			continue; /* a chunk only gets younger */
		uint64_t c = pxt_load(&pxt_desc_of(m, i)->ctl);
		bool left = pxt_closed(pxt_state(c)) || pxt_state(c) == PXT_free;
		if (!(left && !pxt_busy(c)) && !pxt_unreachable(m, i, c))
			continue;
		/*
		 * A chunk gets its age before it is closed. The age seen above may be one that the chunk had
		 * before.
		 */
		uint64_t a = pxt_load(&m->ages[i]);
		if (a < age) {
			*best = i;
			*seen = c;
			age = a;
			any = true;
		}
	}
	return any;
}

/*
 * The chunk to take when the map of free ones has none: under LOOP the one that was closed first. The
 * map may lack a free chunk if a process was killed between the two stores that free it; so this
 * finds free chunks, too. again reports that there may be a partial one now.
 */
static bool oldest(struct pxt_mem *m, uint32_t *best, uint64_t *seen, bool *again)
{
	*again = false;
	if (m->policy == PXT_Loop)
		return closed_first(m, best, seen);
	for (uint32_t i = 0; i < m->chunks; i++) {
		uint64_t c = pxt_load(&pxt_desc_of(m, i)->ctl);
		if (pxt_state(c) == PXT_free && !pxt_busy(c)) {
			*best = i;
			*seen = c;
			*again = false;
			return true;
		}
		if (pxt_unreachable(m, i, c) && pxt_close_found(m, i, c, false))
			*again = true;
	}
	return false;
}

/*
 * Moves a partial chunk with room for need bytes to a state. An owned chunk is busy until the writer
 * is ready to append to it.
 */
static bool adopt(struct pxt_mem *m, uint64_t slot, uint32_t state, uint32_t need, uint32_t *chunk, uint64_t *ctl)
{
	uint64_t hint = pxt_load(&m->h->partials);
	bool any = false;
	if (!(hint & PXT_somePartial))
		return false;
	for (uint32_t i = 0; i < m->chunks; i++) {
		struct pxt_desc *d = pxt_desc_of(m, i);
		uint64_t c = pxt_load(&d->ctl);
		if (pxt_state(c) != PXT_partial)
			continue;
		any = true;
		if (pxt_off(c) + need <= m->chunk_size && pxt_ctl_adopt(d, c, slot, state, ctl)) {
			*chunk = i;
			return true;
		}
	}
	if (!any)
		pxt_cas(&m->h->partials, hint, hint & ~(uint64_t)PXT_somePartial);
	return false;
}

/*
 * Takes a chunk for slot. Its first choice is a free one, in state claiming for pxt_begin to publish.
 * The second is a partial one with room for need bytes, adopted: it is in the state already, with the
 * control word that is stored, and keeps its events. Under LOOP the third is the closed chunk whose
 * newest event is oldest, taken as if it were free.
 */
bool pxt_claim(struct pxt_mem *m, uint64_t slot, uint32_t state, uint32_t need, uint32_t *chunk, uint64_t *adopted)
{
	*adopted = 0;
	for (int try = 0; try < PXT_claimTries; try++) {
		uint64_t seen;
		bool again;
		if (take_free(m, slot, chunk))
			return true;
		pxt_close_all_displaced(m);
		if (adopt(m, slot, state, need, chunk, adopted))
			return true;
		bool found = oldest(m, chunk, &seen, &again);
		if (again)
			continue;
		if (!found)
			return false;
		if (take(m, *chunk, slot, seen)) {
			if (pxt_state(seen) != PXT_free && atomic_load(&m->h->loopFull) == 0)
				atomic_store(&m->h->loopFull, 1);
			return true;
		}
	}
	return false;
}

/* Publishes a claimed chunk in a state, with base as its base. */
uint64_t pxt_begin(struct pxt_mem *m, uint32_t i, uint64_t slot, uint32_t state, uint64_t base)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	pxt_store(&d->base, base);
	uint64_t now = pxt_now(m);
	/*
	 * Now and then, so that the stream knows its time if the counter is set back: each event loads
	 * the horizon, and a store would take its cache line from all writers.
	 */
	if (now - pxt_load(&m->h->front.horizon) > PXT_horizonStep)
		pxt_raise_horizon(m, now);
	pxt_store(&d->startedAt, now);
	pxt_store(&d->enteredAt, 0);
	pxt_store(&d->last, 0);
	pxt_store(&d->sites, 0);
	pxt_store(&d->cleared, 0);
	pxt_store(&d->notes, 0);
	atomic_fetch_add(&m->h->seq, 1);
	return pxt_ctl_begin(d, slot, state);
}

/* Gives a claimed chunk back unused. */
void pxt_release(struct pxt_mem *m, uint32_t i)
{
	pxt_ctl_release(pxt_desc_of(m, i));
	pxt_set_free(m, i);
}
