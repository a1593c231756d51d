#define _GNU_SOURCE
#include "page.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "dir.h"
#include "kernel.h"

#define ALL_FLAGS (PXT_PG_Self | PXT_PG_Inherit | PXT_PG_Child)

static unsigned entry_at(unsigned i, unsigned member)
{
	return PXT_PG_offEntries + i * PXT_PG_entrySize + member;
}

static struct pxt_entry get(uint8_t *page, unsigned i)
{
	struct pxt_entry e;
	e.stream = atomic_load(pxt_page64(page, entry_at(i, PXT_PG_entStream)));
	e.flags = atomic_load(pxt_page32(page, entry_at(i, PXT_PG_entFlags))) & ALL_FLAGS;
	e.attached = atomic_load(pxt_page64(page, entry_at(i, PXT_PG_entAttached)));
	return e;
}

static unsigned scan(uint8_t *page, struct pxt_entry *list)
{
	unsigned n = 0;
	for (unsigned i = 0; i < PXT_PG_MaxStreams; i++) {
		struct pxt_entry e = get(page, i);
		if (e.stream && e.flags)
			list[n++] = e;
	}
	return n;
}

/* A writer that died half-way leaves the count odd; each entry is consistent at any time. */
unsigned pxt_page_entries(uint8_t *page, struct pxt_entry *list)
{
	_Atomic uint32_t *seq = pxt_page32(page, PXT_PG_offSeq);
	for (int i = 0; i < 100; i++) {
		uint32_t before = atomic_load(seq);
		if (!(before & 1)) {
			unsigned n = scan(page, list);
			if (atomic_load(seq) == before)
				return n;
		}
		pxt_sys(SYS_sched_yield);
	}
	return scan(page, list);
}

bool pxt_page_used(uint8_t *page)
{
	for (unsigned i = 0; i < PXT_PG_MaxStreams; i++) {
		if (atomic_load(pxt_page64(page, entry_at(i, PXT_PG_entStream))) != 0)
			return true;
	}
	return false;
}

void pxt_page_put(uint8_t *page, unsigned i, const struct pxt_entry *e)
{
	_Atomic uint64_t *stream = pxt_page64(page, entry_at(i, PXT_PG_entStream));
	_Atomic uint64_t *attached = pxt_page64(page, entry_at(i, PXT_PG_entAttached));
	_Atomic uint32_t *flags = pxt_page32(page, entry_at(i, PXT_PG_entFlags));
	if (e->stream == 0) {
		atomic_store(flags, 0);
		atomic_store(attached, 0);
		atomic_store(stream, 0);
		return;
	}
	if (atomic_load(stream) != e->stream)
		atomic_store(stream, 0);
	atomic_store(attached, e->attached);
	atomic_store(flags, e->flags);
	atomic_store(stream, e->stream);
}

/* The slot of a stream, or of a free entry if stream is 0; -1 if there is none. */
static int find(uint8_t *page, uint64_t stream, struct pxt_entry *e)
{
	for (unsigned i = 0; i < PXT_PG_MaxStreams; i++) {
		*e = get(page, i);
		if (e->stream == stream)
			return (int)i;
	}
	return -1;
}

/* A process that reads the new word reads the new entries. */
void pxt_page_changed(uint8_t *page)
{
	_Atomic uint32_t *generation = pxt_page32(page, PXT_PG_offGeneration);
	for (;;) {
		uint32_t word = 0, n = atomic_fetch_add(generation, 1) + 1;
		if (n == 0) /* after 2^32 changes; 0 is reserved */
			n = atomic_fetch_add(generation, 1) + 1;
		for (unsigned i = 0; i < PXT_PG_MaxStreams; i++) {
			struct pxt_entry e = get(page, i);
			if (e.stream && (e.flags & PXT_PG_Self))
				word = n;
		}
		atomic_store(pxt_page32(page, PXT_PG_offWord), word);
		/* A concurrent change may have read other entries and stored its word before ours. */
		if (atomic_load(generation) == n)
			return;
	}
}

int pxt_page_attach_self(uint8_t *page, uint64_t stream, uint32_t flags)
{
	struct pxt_entry e;
	int slot;
	while ((slot = find(page, stream, &e)) < 0) {
		uint64_t none = 0;
		slot = find(page, 0, &e);
		if (slot < 0)
			return -EAGAIN;
		if (atomic_compare_exchange_strong(pxt_page64(page, entry_at((unsigned)slot, PXT_PG_entStream)), &none,
						   stream)) {
			e.flags = 0;
			break;
		}
	}
	if ((e.flags & flags) == flags)
		return 0;
	if (e.flags == 0)
		atomic_store(pxt_page64(page, entry_at((unsigned)slot, PXT_PG_entAttached)), pxt_now_ticks());
	atomic_fetch_or(pxt_page32(page, entry_at((unsigned)slot, PXT_PG_entFlags)), flags);
	pxt_page_changed(page);
	return 0;
}

void pxt_page_detach(uint8_t *page, uint64_t stream)
{
	static const struct pxt_entry none;
	_Atomic uint32_t *seq = pxt_page32(page, PXT_PG_offSeq);
	struct pxt_entry e;
	int slot = stream ? find(page, stream, &e) : -1;
	uint32_t odd = atomic_load(seq) | 1;
	if (slot < 0 && !(atomic_load(seq) & 1))
		return;
	atomic_store(seq, odd);
	if (slot >= 0)
		pxt_page_put(page, (unsigned)slot, &none);
	atomic_store(seq, odd + 1);
	pxt_page_changed(page);
}

uint64_t pxt_page_family(uint8_t *page)
{
	uint64_t f = atomic_load(pxt_page64(page, PXT_PG_offFamily));
	return f ? f : UINT64_MAX; /* a damaged page; any number but zero works */
}

bool pxt_page_set_family(uint8_t *page, uint64_t family)
{
	if (family == 0)
		return false;
	if (family == pxt_page_family(page))
		return true;
	if (atomic_load(pxt_page32(page, PXT_PG_offUserNames)) != 0)
		return false;
	atomic_store(pxt_page64(page, PXT_PG_offFamily), family);
	return true;
}

void pxt_page_opened(uint8_t *page, bool held)
{
	uint32_t me = pxt_program_id(), names = atomic_load(pxt_page32(page, PXT_PG_offUserNames));
	uint32_t before = atomic_exchange(pxt_page32(page, PXT_PG_offOpened), me);
	/* Another runtime of this program holds the page. */
	if (before != 0 && !(before == me && held))
		atomic_fetch_sub(pxt_page32(page, PXT_PG_offUserNames), names);
}

bool pxt_page_moved(uint8_t *page)
{
	return atomic_load(pxt_page32(page, PXT_PG_offMoved)) != 0;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

/* An unknown boot matches any: a process that does not see the whole of /proc knows no boot id. */
static bool same_boot(const uint8_t *boot, const uint8_t *ours)
{
	static const uint8_t unknown[16];
	return !memcmp(boot, ours, 16) || !memcmp(boot, unknown, 16) || !memcmp(ours, unknown, 16);
}

int pxt_page_check(struct pxt_scratch *r, const uint8_t *b, struct pxt_proc p)
{
	uint8_t boot[16];
	uint64_t ns;
	if (get64(b + PXT_PG_offMagic) != PXT_PG_pageMagic || get32(b + PXT_PG_offSize) != PXT_PG_pageSize ||
	    get32(b + 12) != PXT_PG_entrySize || get32(b + PXT_PG_offPID) != p.pid ||
	    get64(b + PXT_PG_offStart) != p.start)
		return PXT_PG_pageDamaged;
	memcpy(boot, b + PXT_PG_offBoot, sizeof boot);
	if (!same_boot(boot, r->boot))
		return PXT_PG_pageOld;
	ns = get64(b + PXT_PG_offNamespace);
	if (ns != r->pidns)
		return pxt_namespace_gone(ns, r->dents[2]) ? PXT_PG_pageOld : PXT_PG_pageForeign;
	return PXT_PG_pageSound;
}

int pxt_page_map_fd(int fd, uint8_t **page)
{
	void *mem = NULL;
	int err = pxt_map(&mem, PXT_PG_pageSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd);
	*page = err < 0 ? NULL : mem;
	return err;
}

void pxt_page_unmap(uint8_t *page)
{
	pxt_unmap(page, PXT_PG_pageSize);
}

int pxt_page_map_held(struct pxt_scratch *r, struct pxt_proc p, uint8_t **page, int *verdict, bool *held)
{
	char name[48];
	struct stat st;
	int fd, err;
	*page = NULL;
	*verdict = PXT_PG_pageDamaged;
	pxt_put_page(name, p);
	fd = pxt_open_own(r, r->dir, name, O_RDWR);
	if (fd < 0)
		return fd;
	err = pxt_fstat(fd, &st);
	if (err == 0 && st.st_size == PXT_PG_pageSize) { /* an access behind its end would fault */
		err = pxt_page_map_fd(fd, page);
		if (err == 0) {
			*verdict = pxt_page_check(r, *page, p);
			if (*verdict != PXT_PG_pageSound) {
				pxt_page_unmap(*page);
				*page = NULL;
			} else if (held) {
				/* The mapping keeps the open file description, and that the lock, until exec. */
				pxt_hold(fd, F_RDLCK, 0);
				*held = pxt_held(fd, 0) != 0;
			}
		}
	}
	pxt_close(fd);
	return err;
}

int pxt_page_map(struct pxt_scratch *r, struct pxt_proc p, uint8_t **page, int *verdict)
{
	return pxt_page_map_held(r, p, page, verdict, NULL);
}

bool pxt_page_linked(struct pxt_scratch *r, uint8_t *page)
{
	struct pxt_proc p = {get32(page + PXT_PG_offPID), get64(page + PXT_PG_offStart)};
	struct stat st;
	char name[48];
	pxt_put_page(name, p);
	return pxt_statat(r->dir, name, &st, AT_SYMLINK_NOFOLLOW) != -ENOENT;
}
