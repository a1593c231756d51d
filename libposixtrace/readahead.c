/* Logs, whose events the agent reads ahead. See agent.h. */
#include "agent.h"

#include <errno.h>

#include "kernel.h"

struct pxt_log *pxt_log_lock(uint64_t trid)
{
	struct pxt_home *h = atomic_load(&pxt_home);
	struct pxt_log *r;
	uint32_t area = trid & 255;
	if (!h || area == 0 || area > PXT_W_Areas)
		return NULL;
	r = &h->readers[area - 1];
	pxt_lock(&r->lock);
	if (r->trid == trid)
		return r;
	pxt_unlock(&r->lock);
	return NULL;
}

void pxt_log_unlock(struct pxt_log *r)
{
	pxt_unlock(&r->lock);
}

void pxt_log_open(struct pxt_use *u, uint64_t trid)
{
	struct pxt_home *h = atomic_load(&pxt_home);
	uint32_t area = trid & 255;
	struct pxt_log *r;
	if (area == 0 || area > PXT_W_Areas)
		return;
	r = &h->readers[area - 1];
	pxt_lock(&h->lock);
	u->link->users++;
	pxt_unlock(&h->lock);
	pxt_lock(&r->lock);
	r->link = u->link;
	pxt_log_rewind(r);
	r->trid = trid;
	pxt_unlock(&r->lock);
}

void pxt_log_close(struct pxt_log *r)
{
	struct pxt_link *l = r->link;
	r->trid = 0;
	r->link = NULL;
	pxt_unlock(&r->lock);
	pxt_link_let(atomic_load(&pxt_home), l);
}

void pxt_log_rewind(struct pxt_log *r)
{
	r->taken = 0;
	r->inside = r->ended = false;
	r->err = 0;
	r->at = r->end = NULL;
}

/* Moves on to the next batch. The agent meanwhile fills those behind it. */
static int next_batch(struct pxt_log *r)
{
	struct pxt_channel *ch = r->link->ch;
	uint32_t i = (r->trid & 255) - 1, bytes;
	struct pxt_area *area = &ch->area[i];
	struct pxt_batch *b;
	if (r->inside)
		r->taken++;
	r->inside = false;
	atomic_store(&area->want, r->taken + PXT_W_Batches);
	atomic_fetch_or(&ch->wanted, UINT64_C(1) << i);
	pxt_agent_ring(ch);
	if (!pxt_agent_answers_soon(ch, &area->have, r->taken)) {
		atomic_store(&area->waiting, 1);
		while (atomic_load(&area->have) == r->taken) {
			if (!pxt_agent_alive(ch))
				return EIO;
			pxt_agent_wait(ch, &area->have, r->taken, NULL);
		}
		atomic_store(&area->waiting, 0);
	}
	b = &area->batch[r->taken % PXT_W_Batches];
	bytes = b->bytes;
	if (bytes > sizeof b->data)
		bytes = sizeof b->data;
	r->at = b->data;
	r->end = b->data + bytes;
	r->ended = b->end || b->err;
	r->err = b->err;
	r->inside = true;
	return 0;
}

int pxt_log_next(struct pxt_log *r, const struct pxt_item **item)
{
	const struct pxt_item *it;
	*item = NULL;
	if (!pxt_agent_alive(r->link->ch))
		return EINVAL;
	while (r->at == r->end) {
		int err;
		if (r->inside && r->ended)
			return (int)r->err;
		err = next_batch(r);
		if (err)
			return err;
	}
	it = (const struct pxt_item *)r->at;
	if ((size_t)(r->end - r->at) < sizeof *it || it->size > (size_t)(r->end - r->at) ||
	    it->size < sizeof *it + (size_t)it->length || it->size % 8 != 0)
		return EIO;
	r->at += it->size;
	*item = it;
	return 0;
}
