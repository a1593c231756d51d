/* The names of event types, which never change, kept while their stream or log is in use. */
#include <string.h>

#include "agent.h"

static struct pxt_name *place(struct pxt_home *h, uint32_t id)
{
	return &h->names[id % (sizeof h->names / sizeof *h->names)];
}

bool pxt_name_get(uint64_t trid, uint32_t id, char *text, size_t *length, uint32_t *when)
{
	struct pxt_home *h = atomic_load(&pxt_home);
	struct pxt_name *n;
	bool known;
	*when = 0;
	if (!h)
		return false;
	n = place(h, id);
	pxt_lock(&h->lock);
	*when = h->forgotten;
	known = n->trid == trid && n->id == id && h->now && h->now->ch->key == trid >> 32 &&
		pxt_agent_alive(h->now->ch);
	if (known) {
		*length = n->length;
		memcpy(text, n->text, n->length);
	}
	pxt_unlock(&h->lock);
	return known;
}

void pxt_name_keep(uint64_t trid, uint32_t id, const char *text, size_t length, uint32_t when)
{
	struct pxt_home *h = atomic_load(&pxt_home);
	struct pxt_name *n = place(h, id);
	pxt_lock(&h->lock);
	if (h->forgotten == when && length <= sizeof n->text) { /* otherwise trid may have become invalid */
		n->trid = trid;
		n->id = id;
		n->length = (uint32_t)length;
		memcpy(n->text, text, length);
	}
	pxt_unlock(&h->lock);
}

void pxt_name_forget(uint64_t trid)
{
	struct pxt_home *h = atomic_load(&pxt_home);
	if (!h)
		return;
	pxt_lock(&h->lock);
	h->forgotten++;
	for (size_t i = 0; i < sizeof h->names / sizeof *h->names; i++)
		if (h->names[i].trid == trid)
			h->names[i].trid = 0;
	pxt_unlock(&h->lock);
}
