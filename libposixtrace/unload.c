/* What happens at the end of a process that returns from main or calls exit. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>

#include "dir.h"
#include "grace.h"
#include "kernel.h"
#include "page.h"
#include "scratch.h"
#include "self_page.h"
#include "table.h"

/* Whether no stream has ever been attached to the process of the page: not when it was made, nor later. */
static bool never_traced(uint8_t *page)
{
	return atomic_load(pxt_page32(page, PXT_PG_offGeneration)) == 1 && !pxt_page_moved(page) &&
	       !pxt_page_used(page);
}

/* Whether no other thread records, and this one is in no trace point that a handler has interrupted. */
static bool alone(void)
{
	struct pxt_section *s = pxt_thread.section;
	struct pxt_stat st;
	return s && !atomic_load(&s->frame) && pxt_stat(pxt_getpid(), &st) == 0 && st.threads == 1;
}

/*
 * A process that nothing has traced leaves no files, so that others need not sweep them. Its page
 * holds nothing that another process inherits, and no other process or stream is of its family; but
 * a child may be about to copy its names.
 *
 * A traced process leaves its chunks to other writers. If it has other threads, they record until it ends:
 * then others recover the chunks.
 */
__attribute__((destructor(101))) static void unload(void) /* after those of the program */
{
	struct pxt_self *h = PXT_SELF;
	char path[PATH_MAX + 48], *name;
	uint64_t signals;
	pxt_signals_block(&signals);
	if (!pxt_own_memory() || !pxt_lock_slow(&h->lock)) {
		pxt_signals_restore(&signals);
		return;
	}
	if (h->attached && alone())
		pxt_table_close();
	if (h->page && !h->has_child && never_traced(h->page)) {
		name = pxt_put(pxt_put(path, pxt_own_dir()), "/");
		pxt_put_page(name, h->self);
		pxt_unlinkat(AT_FDCWD, path, 0);
		pxt_put_id(name, "n-", pxt_page_family(h->page));
		pxt_unlinkat(AT_FDCWD, path, 0);
	}
	pxt_unlock_slow(&h->lock);
	pxt_signals_restore(&signals);
}
