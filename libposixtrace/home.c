/* What this process knows of its agents, and who uses their channels. See agent.h. */
#include "agent.h"

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
