#define _GNU_SOURCE
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>

#include "dir.h"
#include "grace.h"
#include "kernel.h"
#include "mappings.h"
#include "self_page.h"
#include "word.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

int pxt_connect_fd(struct pxt_scratch *r, int fd, uint64_t id, struct pxt_conn *c)
{
	struct stat st;
	int err = pxt_fstat(fd, &st);
	if (err < 0)
		goto close;
	err = -PXT_E_FORMAT;
	if (st.st_size < PXT_StartSize || (uint64_t)st.st_size > PXT_maxFile)
		goto close;
	c->fd = fd;
	c->size = (size_t)st.st_size;
	c->base = NULL;
	err = pxt_map(&c->base, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	if (err < 0)
		goto close;
	err = pxt_mem_attach(&c->m, c->base, c->size, id);
	if (err != 0)
		err = err == EPROTO ? -PXT_E_FOREIGN : -PXT_E_FORMAT;
	else if (c->m.pidns != r->pidns && !pxt_namespace_gone(c->m.pidns, r->dents[2]))
		err = -PXT_E_ELSEWHERE; /* here, the pids of the stream denote other processes, or none */
	if (err == 0)
		return 0;
	pxt_unmap(c->base, c->size);
close:
	pxt_close(fd);
	return err;
}

int pxt_connect(struct pxt_scratch *r, uint64_t id, struct pxt_conn *c)
{
	char name[32];
	int fd;
	pxt_put_id(name, "s-", id);
	fd = pxt_open_own(r, r->dir, name, O_RDWR);
	return fd < 0 ? fd : pxt_connect_fd(r, fd, id, c);
}

void pxt_disconnect(struct pxt_conn *c)
{
	pxt_unmap(c->base, c->size);
	pxt_close(c->fd);
}

int pxt_stream_family(struct pxt_scratch *r, uint64_t id, uint64_t *family)
{
	struct pxt_conn c;
	int err = pxt_connect(r, id, &c);
	if (err < 0)
		return err;
	*family = atomic_load(&c.m.h->family);
	pxt_disconnect(&c);
	return 0;
}

/*
 * The first of the numbers that a writer's open file description holds for its slot. Process and
 * start time do not identify the writer of a slot: an earlier program of the same process may have
 * left it, whose lock the kernel has dropped then; or another runtime in this program may be writing.
 */
#define SLOT_HELD (UINT64_C(1) << 62)

static void hold_slot(void *ctx, uint64_t slot, bool on)
{
	struct pxt_conn *c = ctx;
	pxt_hold(c->fd, on ? F_RDLCK : F_UNLCK, SLOT_HELD + slot);
}

struct dying {
	struct pxt_conn *c;
	uint64_t self;
	uint64_t last; /* the last process that was asked for */
	bool dead;
};

static bool gone(void *ctx, uint64_t slot, uint64_t proc)
{
	struct dying *d = ctx;
	(void)slot;
	if (proc != d->last) {
		d->dead = !pxt_alive(pxt_unpack(proc));
		d->last = proc;
	}
	return d->dead;
}

static bool left_by_us(void *ctx, uint64_t slot, uint64_t proc)
{
	struct dying *d = ctx;
	return proc == d->self && pxt_held(d->c->fd, SLOT_HELD + slot) <= 0;
}

/* The stream's lock. A trace point does not wait for it. */
static bool trylock(struct pxt_conn *c)
{
	return pxt_flock(c->fd, LOCK_EX | LOCK_NB) == 0;
}

static void unlock(struct pxt_conn *c)
{
	pxt_flock(c->fd, LOCK_UN);
}

/* Frees the slots and chunks that an earlier program of this process has left behind. */
static void sweep_self(struct pxt_conn *c, uint64_t self)
{
	struct dying d = {c, self, 0, false};
	if (!pxt_writes(&c->m, self) || !trylock(c))
		return;
	pxt_recover(&c->m, left_by_us, &d);
	pxt_recover(&c->m, gone, &d);
	unlock(c);
}

void pxt_attachment_recover(struct pxt_conn *c)
{
	struct dying d = {c, 0, 0, false};
	if (!trylock(c))
		return;
	pxt_recover(&c->m, gone, &d);
	unlock(c);
}

static uint64_t take_slot(struct pxt_conn *c, uint64_t self)
{
	struct dying d = {c, self, 0, false};
	uint64_t slot = pxt_slot_take(&c->m, self, hold_slot, c);
	/* All slots are taken, perhaps some by dead writers; or most permits for chunks are. */
	if ((slot == 0 || pxt_crowded(&c->m)) && trylock(c)) {
		pxt_recover(&c->m, gone, &d);
		if (slot == 0)
			slot = pxt_slot_take(&c->m, self, hold_slot, c);
		unlock(c);
	}
	return slot;
}

static struct pxt_attachment *all; /* in this memory */

int pxt_attach(struct pxt_scratch *r, struct pxt_conn *c, struct pxt_attachment **made)
{
	uint64_t self = pxt_pack(r->self), slot;
	unsigned processors = pxt_processors();
	size_t head = (sizeof **made + 127) & ~(size_t)127, whole = head + pxt_writer_size(processors);
	struct pxt_attachment *a;
	void *mem = NULL;
	int err;
	sweep_self(c, self);
	slot = take_slot(c, self);
	if (slot == 0)
		return -EAGAIN;
	err = pxt_map(&mem, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (err < 0) {
		pxt_slot_free(&c->m, slot);
		hold_slot(c, slot, false);
		return err;
	}
	/* A child must not write to the chunks of its parent. */
	pxt_madvise(c->base, c->size, MADV_DONTFORK);
	a = mem;
	a->id = c->m.id;
	a->base = c->base;
	a->size = c->size;
	a->whole = whole;
	a->w = (void *)((char *)mem + head);
	pxt_writer_init(a->w, &c->m, slot, r->self.pid, processors);
	pxt_writer_note_maps(a->w, pxt_own_maps());
	a->older = all;
	all = a;
	/* The mapping keeps the description, and that the hold on the slot. */
	pxt_close(c->fd);
	*made = a;
	return 0;
}

/* Those to which nothing leads since, and those before, for which a grace period is under way. */
static struct pxt_attachment *retired, *waiting;
static uint64_t start; /* of the grace period: the pause ends */
static bool started;   /* it is under way */

#define PAUSE 10000000 /* ns: see grace.c */

/* Whether a chunk is still the writer's: a record that was left keeps it busy. */
static bool holds(struct pxt_writer *w)
{
	for (uint32_t i = 0; i < w->m.chunks; i++)
		if (pxt_slot(pxt_load(&w->desc[i].ctl)) == w->slot)
			return true;
	return false;
}

void pxt_attachment_close(struct pxt_attachment *a)
{
	pxt_writer_close(a->w);
	if (!holds(a->w))
		pxt_slot_free(&a->w->m, a->w->slot);
}

void pxt_attachment_retire(struct pxt_attachment *a)
{
	a->next = retired;
	retired = a;
}

static void free_attachment(struct pxt_attachment *a)
{
	struct pxt_attachment **at = &all;
	while (*at != a)
		at = &(*at)->older;
	*at = a->older;
	pxt_unmap(a->base, a->size);
	pxt_unmap(a, a->whole);
}

void pxt_attachments_reclaim(void)
{
	uint64_t now;
	if (!retired && !waiting)
		return;
	now = pxt_clock(CLOCK_MONOTONIC);
	if (waiting && now >= start && (started ? pxt_grace_over() : pxt_grace_start())) {
		while (waiting) {
			struct pxt_attachment *a = waiting;
			waiting = a->next;
			free_attachment(a);
		}
	} else if (waiting) {
		started = started || now >= start;
	}
	if (!waiting) {
		waiting = retired;
		retired = NULL;
		start = now + PAUSE;
		started = false;
	}
}

/* Maps private memory at the place of the stream. */
static void blank(struct pxt_attachment *a, int how)
{
	void *mem = a->base;
	int err = pxt_map(&mem, a->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1);
	if (err == 0 && mem != a->base) { /* an old kernel, and another mapping has the place */
		pxt_unmap(mem, a->size);
		err = -EEXIST;
	}
	if (err == 0)
		a->mapped = PXT_PRIVATE;
	else if (how != MAP_FIXED)
		a->mapped = PXT_NOTHING;
}

void pxt_attachment_release(struct pxt_attachment *a)
{
	blank(a, MAP_FIXED);
}

/*
 * A handler may have interrupted a record and called fork. The record goes on in private memory at the
 * place of the stream, which stays for some generations: the child may do the same.
 */
#define GENERATIONS 16

void pxt_attachments_forked(void)
{
	struct pxt_attachment **at = &all;
	pxt_sections_forked();
	retired = waiting = NULL;
	while (*at) {
		struct pxt_attachment *a = *at;
		if (a->mapped == PXT_FILE)
			blank(a, MAP_FIXED_NOREPLACE);
		if (++a->age < GENERATIONS) {
			at = &a->older;
			continue;
		}
		*at = a->older;
		if (a->mapped == PXT_PRIVATE)
			pxt_unmap(a->base, a->size);
		pxt_unmap(a, a->whole);
	}
}
