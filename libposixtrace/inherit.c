/* What a process inherits: internal/registry's inherit.go. Its doc.go has the rule and its reasons. */
#define _GNU_SOURCE
#include "dir.h"
#include "kernel.h"
#include "page.h"

/* An ancestor that has a page. */
struct ancestor {
	uint8_t *page;
	uint64_t until; /* streams attached later are not inherited */
	bool direct;	/* the process is a child of it */
};

/*
 * Finds the living ancestors of this process (pxt_chain), as far up as one may have a page. A process
 * is never older than its parent: if it seems to be, the parent has died and its pid was used again.
 * That and the bound also end every cycle in a hostile /proc.
 */
void pxt_ancestors(struct pxt_scratch *r)
{
	bool own = false;
	for (r->depth = 1; r->depth <= PXT_MAX_DEPTH; r->depth++) {
		const struct pxt_stat *child = pxt_chain(r, r->depth - 1);
		struct pxt_stat *parent = pxt_chain(r, r->depth);
		if (child->ppid == 0 || child->proc.start < r->survey.oldest)
			return;
		own = own || pxt_own_proc();
		if (!own || pxt_stat_shown(child->ppid, parent) < 0 ||
		    parent->proc.start > child->proc.start || parent->proc.pid == child->proc.pid)
			return;
	}
}

static uint8_t *sound_page(struct pxt_scratch *r, struct pxt_proc p)
{
	uint8_t *page;
	int verdict;
	if (pxt_page_map(r, p, &page, &verdict) < 0 || verdict != PXT_PG_pageSound)
		return NULL;
	return page;
}

struct last {
	uint32_t pid;
	uint64_t tick;
	struct pxt_proc found;
};

static bool later_page(void *ctx, const char *name)
{
	struct last *l = ctx;
	struct pxt_proc p;
	if (pxt_parse_page(name, &p) && p.pid == l->pid && p.start <= l->tick && p.start >= l->found.start)
		l->found = p;
	return true;
}

/* The latest process of this pid that has a page and had started by tick; pid 0: none. */
static struct pxt_proc last_page(struct pxt_scratch *r, uint32_t pid, uint64_t tick)
{
	struct last l = {pid, tick, {0, 0}};
	pxt_dir_each(r, later_page, &l);
	return l.found;
}

/* leader() for the group or session id. member says that above belongs to it, too. */
static bool leader_of(struct pxt_scratch *r, uint32_t id, bool member, const struct pxt_stat *above, struct ancestor *a)
{
	uint64_t start = pxt_chain(r, 0)->proc.start;
	struct pxt_stat st;
	struct pxt_proc p;
	if (id == 0)
		return false;
	for (unsigned i = 0; i < r->depth; i++) {
		if (pxt_chain(r, i)->proc.pid == id)
			return false;
	}
	/* The kernel does not use the number again while the group or session lasts. */
	p = pxt_stat(id, &st) == 0 ? st.proc : last_page(r, id, start);
	if (p.pid == 0 || p.start > start)
		return false;
	/* Within one tick a member counts as started after its leader. */
	if (above && (p.start < above->proc.start || (p.start == above->proc.start && member)))
		return false;
	a->page = sound_page(r, p);
	a->until = start;
	a->direct = false;
	return a->page != NULL;
}

/*
 * The page of the leader of the process group or the session, if the leader is not among the living
 * ancestors and is nearer than above, which may be NULL. The group is part of the session, so its
 * leader is the nearer one.
 */
static bool leader(struct pxt_scratch *r, const struct pxt_stat *above, struct ancestor *a)
{
	uint32_t group = pxt_chain(r, 0)->group, session = pxt_chain(r, 0)->session;
	if (group != session && r->survey.group && leader_of(r, group, above && above->group == group, above, a)) {
		if (atomic_load(pxt_page32(a->page, PXT_PG_offGroup)) != 0)
			return true;
		pxt_page_unmap(a->page);
	}
	return r->survey.session && leader_of(r, session, above && above->session == session, above, a);
}

/* The nearest ancestor that has a page. */
static bool nearest(struct pxt_scratch *r, struct ancestor *a)
{
	for (unsigned i = 1; i < r->depth; i++) {
		uint8_t *page = sound_page(r, pxt_chain(r, i)->proc);
		if (!page)
			continue;
		if (leader(r, pxt_chain(r, i), a)) {
			pxt_page_unmap(page);
			return true;
		}
		a->page = page;
		a->until = pxt_chain(r, i - 1)->proc.start;
		a->direct = i == 1;
		return true;
	}
	return leader(r, NULL, a);
}

unsigned pxt_inherit(struct pxt_scratch *r, struct pxt_entry *list, uint64_t *family)
{
	struct pxt_entry *all = r->entries[0];
	struct ancestor a;
	unsigned total, n = 0;
	*family = 0;
	if (nearest(r, &a)) {
		total = pxt_page_entries(a.page, all);
		for (unsigned i = 0; i < total; i++) {
			struct pxt_entry e = all[i];
			if (e.attached > a.until)
				continue;
			if ((e.flags & PXT_PG_Inherit) && (e.flags & (PXT_PG_Self | PXT_PG_Child)))
				e.flags = PXT_PG_Self | PXT_PG_Inherit;
			else if ((e.flags & PXT_PG_Child) && a.direct)
				e.flags = PXT_PG_Self;
			else
				continue;
			list[n++] = e;
		}
		if (n > 0)
			*family = pxt_page_family(a.page);
		pxt_page_unmap(a.page);
	}
	if (n == 0)
		*family = r->founded = pxt_random();
	return n;
}
