/* Filters for names that are registered later: internal/stream's patterns.go. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>

#include "attach.h"
#include "dir.h"
#include "kernel.h"
#include "names.h"
#include "patterns.h"

/* Its time is at most proportional to the product of the lengths. */
bool pxt_match(const char *pattern, size_t plen, const char *name, size_t len)
{
	size_t p = 0, n = 0, star = 0, mark = 0;
	bool starred = false;
	while (n < len) {
		if (p < plen && pattern[p] == '*') {
			starred = true;
			star = p++;
			mark = n;
		} else if (p < plen && (pattern[p] == '?' || pattern[p] == name[n])) {
			p++;
			n++;
		} else if (starred) {
			n = ++mark;
			p = star + 1;
		} else {
			return false;
		}
	}
	while (p < plen && pattern[p] == '*')
		p++;
	return p == plen;
}

/*
 * The last pattern that matches decides. If none does, the id gets the bit that all ids of its class have
 * that have no name: the filter may have another bit from a name whose registration was cut short. No
 * event has the id yet, so no instant matters; and the stream's lock is not taken, whose holder may be
 * waiting for the caller.
 */
void pxt_decide(struct pxt_header *h, uint32_t id, const char *name, size_t len)
{
	uint8_t pattern[PXT_patternSize];
	uint32_t n = atomic_load(&h->npat), last = (id < PXT_EV_FirstDynamic ? PXT_EV_FirstDynamic : PXT_EV_Max) - 1;
	_Atomic uint64_t *filter = h->front.filter[atomic_load(&h->front.state) / PXT_filterB & 1];
	uint64_t bit = UINT64_C(1) << (id & 63);
	bool reject = atomic_load(&filter[last >> 6]) >> (last & 63) & 1, found = false;
	if (n > PXT_MaxPatterns)
		n = PXT_MaxPatterns;
	if (n == 0)
		return;
	while (n-- > 0 && !found) {
		memcpy(pattern, h->patterns[n], sizeof pattern); /* a copy: the file may change */
		found = pattern[1] <= PXT_MaxPattern && pxt_match((char *)pattern + 2, pattern[1], name, len);
		if (found)
			reject = pattern[0] == 1;
	}
	if (reject)
		atomic_fetch_or(&filter[id >> 6], bit);
	else
		atomic_fetch_and(&filter[id >> 6], ~bit);
}

struct apply {
	struct pxt_scratch *r;
	uint64_t family;
	uint32_t id;
	const char *name;
	size_t len;
};

static bool apply_to(void *ctx, const char *file)
{
	struct apply *a = ctx;
	uint64_t stream = pxt_parse_id(file, "s-");
	struct pxt_conn c;
	if (!stream || pxt_connect(a->r, stream, &c) < 0)
		return true;
	if (atomic_load(&c.m.h->family) == a->family)
		pxt_decide(c.m.h, a->id, a->name, a->len);
	pxt_disconnect(&c);
	return true;
}

void pxt_patterns_apply(struct pxt_scratch *r, uint64_t family, uint32_t id, const char *name, size_t len)
{
	struct apply a = {r, family, id, name, len};
	pxt_dir_each(r, apply_to, &a);
}
