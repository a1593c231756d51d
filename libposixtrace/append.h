/* The cost of a trace point. Whatever is rare is left to pxt_append_rare. */
#ifndef PXT_APPEND_H
#define PXT_APPEND_H

#include "copy.h"
#include "seize.h"

/* pxt_append. */
static inline __attribute__((always_inline)) bool pxt_append_inline(struct pxt_writer *w, unsigned hint, uint32_t id,
								    uint64_t who, uint64_t addr,
								    uint64_t *ticks, const void *data, size_t n)
{
	struct pxt_front *f = w->front;
	volatile uint32_t frame;
	uint64_t st = pxt_load(&f->state);
	if (PXT_UNLIKELY((st & (PXT_Running | PXT_Dead | PXT_filterChange)) != PXT_Running))
		goto rare;
	if (PXT_UNLIKELY(!pxt_valid(id) || pxt_filtered(f, st, id)))
		return false;
	if (PXT_UNLIKELY(n >= w->quick))
		goto rare;
	uint64_t head = 0, tail = 0;
	if (PXT_LIKELY(n - 8 <= 8)) {
		/* The first and the last eight bytes, the latter less those that the former has. */
		__builtin_memcpy(&head, data, 8);
		__builtin_memcpy(&tail, (const char *)data + n - 8, 8);
		tail >>= (8 * (16 - n)) & 63;
	} else if (n > 0) {
		pxt_touch(data, n);
	}
	struct pxt_shard *s = pxt_shard(w, hint);
	uint64_t tag = pxt_load(&s->tag);
	struct pxt_desc *d = pxt_tagged(w, tag);
	uint64_t c = pxt_load(&d->ctl);
	uint32_t off = pxt_off(c), size = PXT_CK_HeaderSize + pxt_align((uint32_t)n);
	if (PXT_UNLIKELY(((c ^ tag) & PXT_tagMask) ||
			 off + size + (PXT_CK_Overhead - PXT_CK_HeaderSize) > w->chunk_size))
		goto rare;
	/* What the record needs is computed as far as possible before the clock is read. */
	uint32_t epoch = pxt_epoch(s);
	uint64_t what = id | (uint64_t)epoch << 32;
	struct pxt_site *k = pxt_site(s, addr, who, what);
	__asm__ volatile("" : "+r"(k)); /* not later */
	pxt_sign(c, &frame);
	/*
	 * The counter comes right before the exchange: a processor that reads it stops until it has the
	 * value, and the exchange stops until all before it is done. What stands between the two runs alone;
	 * what stands before the first runs beside the exchange of the event before. Behind the exchange it
	 * would cost as much again (horizon.c).
	 */
	uint64_t now = *ticks;
	if (PXT_LIKELY(now == 0))
		now = *ticks = pxt_ticks();
	if (PXT_UNLIKELY(!pxt_seize(s, d, c, tag, &frame)))
		goto rare;
	/*
	 * If the state has changed between its load and the busy bit, an event judged by the old state must
	 * not follow the change. If the tag has, this thread has waited for a processor, and the chunk went
	 * to others and came back, to another shard; or to this one, in another epoch.
	 */
	now += pxt_load(&f->tickOffset);
	if (PXT_UNLIKELY(pxt_load(&s->tag) != tag || pxt_epoch(s) != epoch || pxt_load(&f->state) != st ||
			 now <= pxt_load(&f->horizon))) {
		pxt_let_go(s, d, c);
		goto rare;
	}
	uint64_t delta = now - s->base;
	if (PXT_UNLIKELY(now < s->last || delta > UINT32_MAX)) {
		pxt_let_go(s, d, c);
		goto rare;
	}
	s->last = now;
	unsigned char *p = s->data + off;
	if (PXT_UNLIKELY(!pxt_is_site(k, addr, who, what))) {
		if (PXT_UNLIKELY(pxt_needs_note(s, addr))) {
			pxt_let_go(s, d, c);
			goto rare;
		}
		pxt_define(s, k, p, addr, who, what);
		p += PXT_CK_SiteSize;
		off += PXT_CK_SiteSize;
	}
	pxt_put64(p, pxt_record((uint32_t)delta, (uint32_t)n, k->num));
	if (PXT_LIKELY(n - 8 <= 8)) {
		/* For 8 bytes, tail is behind the event, where nothing is. */
		pxt_put64(p + 8, head);
		pxt_put64(p + 16, tail);
	} else {
		pxt_copy(p + PXT_CK_HeaderSize, data, (uint32_t)n);
	}
	pxt_ctl_publish(d, c, off + size);
	return true;
rare:
	frame = 0;
	return pxt_append_rare(w, hint, id, who, addr, data, n);
}

#endif
