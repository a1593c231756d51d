/*
 * Steps through the records of a chunk without decoding them. Nothing in the chunk is trusted. claim.go of
 * the Go package has this, too.
 */
#include "word.h"

/* The records of chunk i. */
struct pxt_walker pxt_walker(struct pxt_mem *m, uint32_t i, uint64_t c)
{
	const unsigned char *b = pxt_chunk_of(m, i);
	return (struct pxt_walker){b, b + pxt_min(pxt_off(c), m->chunk_size), pxt_load(&pxt_desc_of(m, i)->base), 0};
}

/* Stores the tick of the next event. A record that makes no sense ends the walk. */
bool pxt_walk(struct pxt_walker *w, uint64_t *tick)
{
	while (w->end - w->at >= PXT_CK_HeaderSize) {
		const unsigned char *rec = w->at;
		uint64_t h = pxt_get64(rec);
		uint32_t num = (uint32_t)(h >> 48) & ~(uint32_t)PXT_CK_Truncated;
		uint32_t size = PXT_CK_HeaderSize + pxt_align((uint16_t)(h >> 32));
		if (num == PXT_CK_KindFull)
			size += PXT_CK_FullSize - PXT_CK_HeaderSize;
		if (size > w->end - w->at)
			return false;
		w->at += size;
		switch (num) {
		case PXT_CK_KindPad:
			break;
		case PXT_CK_KindSite:
			w->sites++;
			break;
		case PXT_CK_KindBase:
			if (size >= PXT_CK_BaseSize)
				w->base = pxt_get64(rec + 8);
			break;
		case PXT_CK_KindFull:
			*tick = pxt_get64(rec + 8);
			return true;
		default:
			*tick = w->base + (uint32_t)h;
			return true;
		}
	}
	return false;
}

/*
 * The ticks of event number skip and of the last one of chunk i. The latter is known if known is not
 * 0; that saves walking through.
 */
void pxt_span(struct pxt_mem *m, uint32_t i, uint64_t c, uint32_t skip, uint64_t known, uint64_t *first, uint64_t *last)
{
	struct pxt_walker w = pxt_walker(m, i, c);
	uint64_t tick;
	*first = *last = w.base;
	for (uint32_t n = 0; pxt_walk(&w, &tick); n++) {
		if (n == skip) {
			*first = tick;
			if (known >= tick) {
				*last = known;
				return;
			}
		}
		*last = tick;
	}
	*last = pxt_max(*last, *first);
}

/*
 * What a writer must know to append to chunk i: the tick of its last event, and how many
 * sites it defines.
 */
void pxt_find_end(struct pxt_mem *m, uint32_t i, uint64_t c, uint64_t *last, uint32_t *sites)
{
	struct pxt_walker w = pxt_walker(m, i, c);
	uint64_t tick;
	*last = w.base;
	while (pxt_walk(&w, &tick))
		*last = pxt_max(*last, tick);
	*sites = w.sites;
}
