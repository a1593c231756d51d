/*
 * The sweep after a page was made, so that a thousand short-lived untraced processes do not leave a
 * thousand files: internal/registry's sweep.go. It never waits. As a rule a process that nothing has
 * traced removes its files itself (unload.c): the sweep begins when pages of dead processes have
 * gathered, and examines all pages once in 64 processes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "attach.h"
#include "dir.h"
#include "kernel.h"
#include "page.h"

#define NAMES 4 /* by how much files of names may outnumber pages and streams */
#define OPEN 16 /* how many files of names it opens */

struct tidy {
	struct pxt_scratch *r;

	/* An examined page. */
	uint32_t leader;
	bool group, member;

	/* Files of names that are locked, and their families; used ones become 0. */
	int held[OPEN];
	uint64_t families[OPEN];
	unsigned nheld;
	bool unsure;
};

static void is_member(void *ctx, const struct pxt_stat *s)
{
	struct tidy *t = ctx;
	if (!s->dead && (s->session == t->leader || (t->group && s->group == t->leader)))
		t->member = true;
}

/*
 * Whether processes of the session or group that a dead process led may still look for its page,
 * which has a stream that is there.
 */
static bool needed(struct tidy *t, struct pxt_proc p, uint8_t *page)
{
	struct pxt_entry *e = t->r->entries[3];
	unsigned n = pxt_page_entries(page, e);
	bool wanted = false;
	struct stat st;
	char name[32];
	for (unsigned i = 0; i < n && !wanted; i++) {
		pxt_put_id(name, "s-", e[i].stream);
		wanted = pxt_statat(t->r->dir, name, &st, AT_SYMLINK_NOFOLLOW) != -ENOENT;
	}
	if (!wanted)
		return false;
	if (!pxt_shows_all())
		return true;
	t->leader = p.pid;
	t->group = atomic_load(pxt_page32(page, PXT_PG_offGroup)) != 0;
	t->member = false;
	return pxt_each_process(t->r->dents[1], is_member, t) < 0 || t->member;
}

static void sweep_page(struct tidy *t, struct pxt_proc p)
{
	uint8_t *page;
	char name[48];
	int verdict;
	bool keep;
	if (pxt_alive(p) || pxt_page_map(t->r, p, &page, &verdict) < 0 || verdict == PXT_PG_pageForeign)
		return;
	if (verdict == PXT_PG_pageSound) {
		keep = needed(t, p, page);
		pxt_page_unmap(page);
		if (keep)
			return;
	}
	pxt_put_page(name, p);
	pxt_unlinkat(t->r->dir, name, 0);
}

/* The last three numbers of t-PID-START-NAMESPACE-ID, of which the first and second are the maker. */
static bool parse_temp(const char *name, struct pxt_proc *p, uint64_t *namespace)
{
	uint64_t field[3];
	char number[24];
	for (int i = 0; i < 3; i++) {
		name = strchr(name, '-');
		if (!name)
			return false;
		size_t n = strcspn(++name, "-");
		if (n >= sizeof number)
			return false;
		memcpy(number, name, n);
		number[n] = 0;
		if (!pxt_parse_dec(number, UINT64_MAX, &field[i]))
			return false;
	}
	if (field[0] == 0 || field[0] > PXT_PID_MASK || !(name = strchr(name, '-')) || strchr(name + 1, '-'))
		return false;
	p->pid = (uint32_t)field[0];
	p->start = field[1];
	*namespace = field[2];
	return true;
}

#define TEMP_LIFE 60 /* seconds that a file may stay whose maker is invisible to us */

static void sweep_temp(struct tidy *t, const char *name)
{
	uint64_t namespace;
	struct pxt_proc p;
	struct stat st;
	bool ok = parse_temp(name, &p, &namespace);
	if (ok && pxt_alive(p))
		return;
	if (!(ok && namespace != 0 && namespace == t->r->pidns)) {
		int64_t now = (int64_t)(pxt_clock(CLOCK_REALTIME) / 1000000000);
		if (pxt_statat(t->r->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || now - st.st_mtime <= TEMP_LIFE)
			return;
	}
	pxt_unlinkat(t->r->dir, name, 0);
}

static bool sweep_file(void *ctx, const char *name)
{
	struct tidy *t = ctx;
	struct pxt_proc p;
	if (pxt_parse_page(name, &p)) {
		if (!pxt_same(p, t->r->self))
			sweep_page(t, p);
	} else if (!strncmp(name, "t-", 2)) {
		sweep_temp(t, name);
	}
	return true;
}

static void is_used(struct tidy *t, uint64_t family)
{
	for (unsigned i = 0; i < t->nheld; i++) {
		if (t->families[i] == family)
			t->families[i] = 0;
	}
}

static bool hold_names(void *ctx, const char *name)
{
	struct tidy *t = ctx;
	uint64_t family = pxt_parse_id(name, "n-");
	int fd;
	if (!family)
		return true;
	if (t->nheld == OPEN)
		return false;
	fd = pxt_open_own(t->r, t->r->dir, name, O_RDWR);
	if (fd < 0)
		return true;
	if (pxt_flock(fd, LOCK_EX | LOCK_NB) < 0) { /* in use right now */
		pxt_close(fd);
		return true;
	}
	t->held[t->nheld] = fd;
	t->families[t->nheld++] = family;
	return true;
}

static bool refers(void *ctx, const char *name)
{
	struct tidy *t = ctx;
	struct pxt_proc p;
	uint64_t family, stream = pxt_parse_id(name, "s-");
	int fd, err;
	if (stream) {
		err = pxt_stream_family(t->r, stream, &family);
		if (err == 0)
			is_used(t, family);
		else if (err != -ENOENT)
			t->unsure = true;
		return true;
	}
	if (!pxt_parse_page(name, &p))
		return true;
	fd = pxt_open_own(t->r, t->r->dir, name, O_RDONLY);
	if (fd < 0) {
		t->unsure = t->unsure || fd != -ENOENT; /* it could refer to any */
		return true;
	}
	long n = pxt_pread(fd, t->r->page, PXT_PG_pageSize, 0);
	if (n == PXT_PG_pageSize) {
		memcpy(&family, t->r->page + PXT_PG_offFamily, sizeof family);
		is_used(t, family);
	} else if (n < 0) {
		t->unsure = true;
	}
	pxt_close(fd);
	return true;
}

/*
 * Locks the files that may go before it looks which families are in use. A process makes its page
 * before it opens its names, and after opening them locks the file and checks whether it was removed.
 */
static void sweep_names(struct tidy *t)
{
	char name[32];
	if (pxt_dir_each(t->r, hold_names, t) < 0 || pxt_dir_each(t->r, refers, t) < 0)
		t->unsure = true;
	for (unsigned i = 0; i < t->nheld; i++) {
		if (!t->unsure && t->families[i]) {
			pxt_put_id(name, "n-", t->families[i]);
			pxt_unlinkat(t->r->dir, name, 0);
		}
		pxt_flock(t->held[i], LOCK_UN);
		pxt_close(t->held[i]);
	}
}

void pxt_tidy(struct pxt_scratch *r)
{
	pxt_tidy_some(r, pxt_chance(64) == 0);
}

void pxt_tidy_some(struct pxt_scratch *r, bool all)
{
	const struct pxt_survey *s = &r->survey;
	struct tidy t = {.r = r};
	bool names = s->names > s->pages + s->streams + NAMES;
	int lock;
	if (!all && !names && s->dead < PXT_DEAD)
		return;
	lock = pxt_dir_trylock(r);
	if (lock < 0)
		return;
	if (all)
		pxt_dir_each(r, sweep_file, &t);
	for (unsigned i = 0; !all && i < s->dead && i < PXT_DEAD; i++)
		sweep_page(&t, s->chosen[i]);
	if (names)
		sweep_names(&t);
	pxt_dir_unlock(lock);
}
