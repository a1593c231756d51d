/*
 * The horizon: a tick that a scan has announced. A writer reads the clock before it sets a busy bit
 * and looks at the horizon behind it; so either the scan finds the chunk busy, or the writer finds
 * the horizon. Both sides need a total order of their exchange and the load behind it: seq_cst.
 */
#include "word.h"

/* The stream's clock has come to tick: events that start from now on are later. */
void pxt_raise_horizon(struct pxt_mem *m, uint64_t tick)
{
	_Atomic uint64_t *horizon = &m->h->front.horizon;
	for (int try = 0; try < PXT_casTries; try++) {
		uint64_t h = pxt_load(horizon);
		if (tick <= h || pxt_cas(horizon, h, tick))
			return;
	}
}

/* Reads the processor's counter after everything before it, and before everything behind it. */
uint64_t pxt_ordered_ticks(void)
{
#ifdef __x86_64__
	__asm__ volatile("mfence; lfence" ::: "memory");
	uint64_t t = pxt_ticks();
	__asm__ volatile("lfence" ::: "memory");
#else
	__asm__ volatile("dsb ish; isb" ::: "memory");
	uint64_t t = pxt_ticks();
	__asm__ volatile("isb" ::: "memory");
#endif
	return t;
}

/* Replaces a horizon that the stream's clock cannot have reached. */
void pxt_lower_horizon(struct pxt_mem *m, uint64_t seen, uint64_t tick)
{
	if (pxt_cas(&m->h->front.horizon, seen, tick))
		atomic_fetch_add(&m->h->damage, 1);
}
