/* How a record of this process holds its shard's chunk, and a site of the chunk. */
#ifndef PXT_SEIZE_H
#define PXT_SEIZE_H

#include "protocol.h"

/*
 * Makes the shard's chunk busy, and says by which record: one whose stack frame has the
 * word at frame, which pxt_sign has set (abandoned.c). The caller then looks at the shard's tag and epoch.
 */
static inline bool pxt_seize(struct pxt_shard *s, struct pxt_desc *d, uint64_t c, uint64_t tag,
			     volatile uint32_t *frame)
{
	if (PXT_UNLIKELY(!pxt_ctl_seize(d, c)))
		return false;
	if (PXT_UNLIKELY(pxt_load(&s->tag) != tag)) {
		/* The shard has another chunk, and maybe another record that it knows. */
		pxt_ctl_let_go(d, c | PXT_busyBit, c);
		return false;
	}
	atomic_store_explicit(&s->held, 0, memory_order_relaxed);
	atomic_store_explicit(&s->frame, frame, memory_order_release);
	atomic_store_explicit(&s->held, c | PXT_busyBit, memory_order_release);
	return true;
}

static inline void pxt_sign(uint64_t c, volatile uint32_t *frame)
{
	*frame = (uint32_t)(c | PXT_busyBit);
}

/*
 * Ends the busy state without an event. Another record may seize the chunk in the same state c; and if
 * this thread did not run for long after the exchange, the shard may have left the chunk.
 */
static inline void pxt_let_go(struct pxt_shard *s, struct pxt_desc *d, uint64_t c)
{
	pxt_cas(&s->held, c | PXT_busyBit, 0);
	pxt_ctl_let_go(d, c | PXT_busyBit, c);
}

static inline struct pxt_desc *pxt_tagged(const struct pxt_writer *w, uint64_t tag)
{
	return w->desc + (tag & PXT_idxMask);
}

/* Whether the entry of the cache has this site. */
static inline bool pxt_is_site(const struct pxt_site *k, uint64_t addr, uint64_t who, uint64_t what)
{
	return k->addr == addr && k->who == who && k->what == what;
}

/* writer.c: pxt_append in all cases. */
bool pxt_append_rare(struct pxt_writer *w, unsigned hint, uint32_t id, uint64_t who, uint64_t addr, const void *data,
		     size_t n);

#endif
