/*
 * Notes on the mapping of an address before the first event with such an address: maps.go of the Go
 * package.
 */
#include "copy.h"

static uint32_t size_of(uint32_t n)
{
	return PXT_CK_MapHead + pxt_align(n);
}

static uint32_t find(const struct pxt_maps *t, uint64_t addr)
{
	uint32_t n = atomic_load(&t->n);
	for (uint32_t i = 0; i < n; i++) {
		const struct pxt_mapping *p = &t->list[i];
		if (p->start <= addr && addr < atomic_load_explicit(&p->end, memory_order_relaxed))
			return i;
	}
	return PXT_MaxMaps;
}

void pxt_writer_note_maps(struct pxt_writer *w, const struct pxt_maps *maps)
{
	const struct pxt_header *h = w->m.h;
	w->maps = maps;
	w->maps_once = h->fixed.hasLog && w->m.policy != PXT_Loop && h->fixed.attributes.logFullPolicy != PXT_Loop;
	for (uint32_t i = 0; i <= w->mask; i++)
		pxt_forget_maps(w, w->shards + i);
}

/* Prepares a shard for another chunk. */
void pxt_forget_maps(struct pxt_writer *w, struct pxt_shard *s)
{
	s->from = s->noted = 0;
	s->span = w->maps ? 0 : UINT64_MAX;
}

/* Whether a note on mapping i, with n bytes of data, may take some of the room of a chunk, which is busy. */
static bool may_note(struct pxt_writer *w, struct pxt_desc *d, uint32_t i, uint32_t n, uint32_t room)
{
	struct pxt_mem *m = &w->m;
	uint64_t size = size_of(n), used = pxt_load(&d->notes);
	if (size > room || pxt_rejects(m, PXT_EV_ProcMap))
		return false;
	if (m->policy != PXT_Flush &&
	    used + size > pxt_max(w->chunk_size / PXT_mapShare, PXT_leastNotes))
		return false; /* the room is promised to events */
	if (w->maps_once) {
		uint64_t at = pxt_load(&m->h->clears), bit = UINT64_C(1) << i;
		if (atomic_exchange(&w->noted_at, at) != at)
			pxt_store(&w->noted, 0);
		if (atomic_fetch_or(&w->noted, bit) & bit)
			return false;
	}
	pxt_store(&d->notes, used + size);
	return true;
}

static uint32_t put(const struct pxt_writer *w, const struct pxt_mapping *q, unsigned char *p)
{
	pxt_put64(p, pxt_record(PXT_CK_MapNote, PXT_CK_MapHead - PXT_CK_HeaderSize + q->n, PXT_CK_KindPad));
	pxt_put64(p + 8, w->pid);
	pxt_copy(p + PXT_CK_MapHead, q->data, q->n);
	return size_of(q->n);
}

/*
 * Writes a note on the mapping of an address to p in the chunk of a shard, which is busy. Returns its
 * size, 0 if there is no note to write or not enough room.
 */
uint32_t pxt_note_map(struct pxt_writer *w, struct pxt_shard *s, struct pxt_desc *d, unsigned char *p, uint32_t room,
		      uint64_t addr)
{
	if (!w->maps) {
		pxt_forget_maps(w, s);
		return 0;
	}
	uint32_t i = find(w->maps, addr);
	if (i == PXT_MaxMaps) {
		s->from = addr;
		s->span = 1;
		return 0;
	}
	const struct pxt_mapping *q = &w->maps->list[i];
	s->from = q->start;
	s->span = pxt_load(&q->end) - q->start;
	if (s->noted >> i & 1 || !may_note(w, d, i, q->n, room))
		return 0;
	s->noted |= UINT64_C(1) << i;
	return put(w, q, p);
}

/* How many mappings have a bit for an open chunk. Of those behind, each event has a note. */
#define OPEN_MAPS 24

/* The same for open chunk i, found through an entry of the table. */
uint32_t pxt_note_in_open(struct pxt_writer *w, uint32_t entry, uint32_t i, uint64_t c, unsigned char *p, uint32_t room,
			  uint64_t addr)
{
	if (!w->maps)
		return 0;
	uint32_t n = find(w->maps, addr);
	if (n == PXT_MaxMaps)
		return 0;
	/* Which chunk it was, and which mappings have a note there. */
	uint64_t which = pxt_gen(c) << PXT_genShift | ((uint64_t)i << OPEN_MAPS & ((UINT64_C(1) << PXT_genShift) - 1));
	uint64_t seen = pxt_load(&w->open_noted[entry]);
	if (seen >> OPEN_MAPS != which >> OPEN_MAPS)
		seen = which;
	const struct pxt_mapping *q = &w->maps->list[n];
	if ((n < OPEN_MAPS && seen >> n & 1) || !may_note(w, pxt_desc_of(&w->m, i), n, q->n, room))
		return 0;
	if (n < OPEN_MAPS)
		pxt_store(&w->open_noted[entry], seen | UINT64_C(1) << n);
	return put(w, q, p);
}
