/* The page of a process: internal/registry's page.go, entry.go and layout.go. */
#ifndef PXT_PAGE_H
#define PXT_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "scratch.h"

static inline _Atomic uint32_t *pxt_page32(uint8_t *page, unsigned at)
{
	return (_Atomic uint32_t *)(void *)(page + at);
}

static inline _Atomic uint64_t *pxt_page64(uint8_t *page, unsigned at)
{
	return (_Atomic uint64_t *)(void *)(page + at);
}

/* Maps the page of a process. verdict is one of PXT_PG_page...; *page is NULL unless it is sound. */
int pxt_page_map(struct pxt_scratch *r, struct pxt_proc p, uint8_t **page, int *verdict);
/* The same of our own page. held: another runtime of this process has it. */
int pxt_page_map_held(struct pxt_scratch *r, struct pxt_proc p, uint8_t **page, int *verdict, bool *held);
int pxt_page_map_fd(int fd, uint8_t **page);
void pxt_page_unmap(uint8_t *page);
int pxt_page_check(struct pxt_scratch *r, const uint8_t *page, struct pxt_proc p);

/* Whether the page's file is still the one in the directory. */
bool pxt_page_linked(struct pxt_scratch *r, uint8_t *page);
bool pxt_page_moved(uint8_t *page);

uint64_t pxt_page_family(uint8_t *page);
bool pxt_page_set_family(uint8_t *page, uint64_t family);

/* Stores the entries in list, which has room for PXT_PG_MaxStreams, and returns their number. */
unsigned pxt_page_entries(uint8_t *page, struct pxt_entry *list);
bool pxt_page_used(uint8_t *page); /* whether it has an entry */
void pxt_page_put(uint8_t *page, unsigned i, const struct pxt_entry *e);
void pxt_page_changed(uint8_t *page);

/* Attaches a stream to the calling process without the directory's lock. 0 or -EAGAIN. */
int pxt_page_attach_self(uint8_t *page, uint64_t stream, uint32_t flags);
/* The caller holds the directory's lock. */
void pxt_page_detach(uint8_t *page, uint64_t stream);

/*
 * Records that this program uses the page of its process from now on: names that the program before
 * exec registered no longer count.
 */
void pxt_page_opened(uint8_t *page, bool held);

/*
 * own_page.c: maps the page of the calling process, and makes it if there is none, which decides what the
 * process inherits. old is the page that the process has mapped already, whose file was removed, or NULL.
 */
int pxt_page_own(struct pxt_scratch *r, uint8_t *old, uint8_t **page);

/* inherit.c: the entries and the family of a process without page, after pxt_survey and pxt_ancestors. */
unsigned pxt_inherit(struct pxt_scratch *r, struct pxt_entry *list, uint64_t *family);
void pxt_ancestors(struct pxt_scratch *r);

/* removed.c */
struct pxt_removed {
	uint8_t *page;	/* NULL: there is none */
	bool borrowed;	/* the page is mapped elsewhere, too */
	int names;	/* -1: not found */
};
void pxt_removed_find(struct pxt_scratch *r, uint8_t *old, struct pxt_removed *found);
void pxt_removed_redirect(struct pxt_removed *found);
void pxt_removed_close(struct pxt_removed *found);

/* tidy.c: the sweep after a page was made. */
void pxt_tidy(struct pxt_scratch *r);
void pxt_tidy_some(struct pxt_scratch *r, bool all); /* all: examines all pages and unfinished files */

#endif
