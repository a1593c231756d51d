/* The trace point as a function. */
#include "append.h"

bool pxt_append(struct pxt_writer *w, unsigned hint, uint32_t id, uint64_t who, uint64_t addr, uint64_t *ticks,
		const void *data, size_t n)
{
	return pxt_append_inline(w, hint, id, who, addr, ticks, data, n);
}
