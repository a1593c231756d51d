/* The agents of this process: starting, sharing and leaving them. See agent.h. */
#include "agent.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

_Atomic(struct pxt_home *) pxt_home;

void pxt_lock(_Atomic uint32_t *word)
{
	uint32_t is = 0;
	if (atomic_compare_exchange_strong(word, &is, 1))
		return;
	/* 2: some thread waits. */
	while (atomic_exchange(word, 2) != 0)
		pxt_futex_wait(word, 2, 0, false);
}

void pxt_unlock(_Atomic uint32_t *word)
{
	if (atomic_exchange(word, 0) == 2)
		pxt_futex_wake(word, 1, false);
}

struct pxt_home *pxt_home_made(void)
{
	struct pxt_home *h = atomic_load(&pxt_home), *none = NULL;
	void *mem = NULL;
	if (h)
		return h;
	if (pxt_map(&mem, sizeof *h, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) < 0)
		return NULL;
	if (pxt_madvise(mem, sizeof *h, MADV_WIPEONFORK) == 0) {
		if (atomic_compare_exchange_strong(&pxt_home, &none, mem))
			return mem;
	}
	pxt_unmap(mem, sizeof *h);
	return none; /* another thread's */
}

bool pxt_agent_alive(struct pxt_channel *ch)
{
	uint32_t a = atomic_load(&ch->alive);
	return a != 0 && !(a & PXT_W_OwnerDied);
}

/* The caller holds h->lock. */
static void let_locked(struct pxt_link *l)
{
	if (--l->users == 0 && l->retired) {
		pxt_unmap(l->ch, sizeof *l->ch);
		l->ch = NULL;
	}
}

void pxt_link_let(struct pxt_home *h, struct pxt_link *l)
{
	pxt_lock(&h->lock);
	let_locked(l);
	pxt_unlock(&h->lock);
}

/* The channel for new identifiers, NULL if there is none. */
struct pxt_link *pxt_link_hold(struct pxt_home *h)
{
	struct pxt_link *l;
	pxt_lock(&h->lock);
	l = h->now;
	if (l)
		l->users++;
	pxt_unlock(&h->lock);
	return l;
}

/* Takes an agent that has ended, or is about to, out of use. */
static void retire(struct pxt_home *h, struct pxt_link *l)
{
	for (int i = 0; i < PXT_W_Areas; i++) {
		struct pxt_log *r = &h->readers[i];
		pxt_lock(&r->lock);
		if (r->trid && r->link == l)
			pxt_log_close(r);
		else
			pxt_unlock(&r->lock);
	}
	pxt_lock(&h->lock);
	l->retired = true;
	if (h->now == l)
		h->now = NULL;
	pxt_unlock(&h->lock);
}

/* Enters a new channel, whose first user is the caller. */
static struct pxt_link *enter(struct pxt_home *h, struct pxt_channel *ch)
{
	struct pxt_link *l = NULL;
	pxt_lock(&h->lock);
	for (int i = 0; i < 8 && !l; i++)
		if (!h->links[i].ch)
			l = &h->links[i];
	if (l) {
		*l = (struct pxt_link){.ch = ch, .users = 1};
		h->now = l;
	}
	pxt_unlock(&h->lock);
	return l;
}

/* Starts an agent, unless another thread has. The caller is a user of the channel. */
int pxt_link_start(struct pxt_home *h, struct pxt_use *u)
{
	struct pxt_channel *ch;
	int err = 0;
	pxt_lock(&h->starting);
	u->link = pxt_link_hold(h);
	if (u->link && !(pxt_agent_alive(u->link->ch) && !(atomic_load(&u->link->ch->gate) & PXT_W_Leaving))) {
		if (!pxt_agent_alive(u->link->ch))
			h->former = u->link->ch->agentPID;
		retire(h, u->link);
		pxt_link_let(h, u->link);
		u->link = NULL;
	}
	if (!u->link && !(err = pxt_agent_start(&ch, h->former)) && !(u->link = enter(h, ch))) {
		pxt_unmap(ch, sizeof *ch);
		err = ENOMEM;
	}
	pxt_unlock(&h->starting);
	return err;
}
