/* The table of writers. */
#include "word.h"

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
	for (uint32_t p = 0; p < m->places; p++)
		n += pxt_load(&m->h->placed[p]) != 0;
	return 2 * n > m->places;
}
