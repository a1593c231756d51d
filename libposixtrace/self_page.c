/* What this process knows of itself, where the trace point finds it. */
#define _GNU_SOURCE
#ifndef POSIXTRACE_NO_INLINE
#define POSIXTRACE_NO_INLINE
#endif
#include "self_page.h"

#include <sys/mman.h>

#include "trace.h"

union pxt_self_page pxt_self_page __attribute__((aligned(PXT_SELF_PAGE_SIZE)));

/* The word that the inlined trace point loads until the page is found, and after a fork. */
static const volatile uint32_t one = 1;

__attribute__((visibility("default"))) const struct posixtrace_hot posixtrace_hot = {
	&one, (const volatile long *)&pxt_self_page.self.index};

void pxt_set_word(_Atomic uint32_t *word)
{
	atomic_store(&PXT_SELF->word, word);
	atomic_store(&PXT_SELF->index, ((intptr_t)word - (intptr_t)&one) / 4);
}

void pxt_setup(void)
{
	struct pxt_self *h = PXT_SELF;
	if (h->pid)
		return;
	pxt_madvise(&pxt_self_page, sizeof pxt_self_page, MADV_WIPEONFORK);
	h->pid = pxt_getpid();
}

bool pxt_own_memory(void)
{
	uint32_t pid = PXT_SELF->pid;
	return pid == 0 || pid == pxt_getpid();
}
