#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "attach.h"
#include "clock.h"
#include "dir.h"
#include "names.h"
#include "page.h"
#include "self_page.h"
#include "word.h"

/* One after the other, which makes one page of memory dirty instead of two. */
static struct {
	/*
	 * The page of this process is always mapped at the same address, also after it was moved, and in
	 * children: a trace point may hold its address.
	 */
	uint8_t *address;
	_Atomic uint32_t never; /* the word of a process that must not be traced */
	char dirpath[PATH_MAX]; /* the directory of the page */
} own;

static int zeros_at(void *at)
{
	return pxt_map(&at, PXT_PG_pageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
}

void pxt_page_forked(void)
{
	if (own.address)
		zeros_at(own.address); /* of another process */
}

/* Moves a mapped page to its address. */
static int remap(uint8_t *page)
{
	long at;
	if (!own.address) {
		own.address = page;
		return 0;
	}
	at = pxt_retry(SYS_mremap, page, PXT_PG_pageSize, PXT_PG_pageSize, MREMAP_MAYMOVE | MREMAP_FIXED, own.address);
	if (at < 0 && at >= -4095) {
		pxt_page_unmap(page);
		return (int)at;
	}
	return 0;
}

static void identify(struct pxt_scratch *r)
{
	struct pxt_self *h = PXT_SELF;
	if (!h->self.start) {
		pxt_clock_init(); /* a parent may have made another time namespace for its children */
		h->self = pxt_self(&r->own);
	}
	r->self = h->self;
	if (!r->pidns) {
		r->pidns = pxt_pid_namespace();
		pxt_boot_id(r->boot);
	}
}

/*
 * Continues with a new page. A controller has made it after the trace directory or its files were
 * removed, or this process makes it.
 */
static int move(struct pxt_scratch *r)
{
	struct pxt_self *h = PXT_SELF;
	uint8_t *page;
	int err = pxt_dir_open(r);
	if (err < 0)
		return err;
	err = pxt_page_own(r, h->page, &page);
	if (err < 0)
		return err;
	err = remap(page);
	if (err == 0)
		memcpy(own.dirpath, r->dirpath, strlen(r->dirpath) + 1);
	return err;
}

static void inherit(struct pxt_scratch *r, uint8_t *page)
{
	struct pxt_self *h = PXT_SELF;
	int err = pxt_inherit_by_name(r, page);
	h->by_name = err < 0 && pxt_transient(err);
	if (h->by_name)
		pxt_miss_by_name(r, err);
}

/*
 * Removes the process from its streams: it has become a set-gid or set-uid program, which only a
 * privileged controller may trace. False if the lock was not to be had.
 */
static bool release(struct pxt_scratch *r, uint8_t *page)
{
	struct pxt_entry *list = r->entries[3];
	unsigned n = pxt_page_entries(page, list);
	int lock;
	if (n == 0)
		return true;
	lock = pxt_dir_trylock(r);
	if (lock < 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		pxt_page_detach(page, list[i].stream);
	pxt_dir_unlock(lock);
	return true;
}

const char *pxt_own_dir(void)
{
	return own.dirpath;
}

static int first_open(struct pxt_scratch *r)
{
	struct pxt_self *h = PXT_SELF;
	_Atomic uint32_t *word;
	uint8_t *page;
	int err;
	if (!h->pid)
		pxt_attachments_forked(); /* the C library has not called us in this child */
	pxt_setup();
	err = pxt_dir_open(r);
	if (err < 0)
		return err;
	err = pxt_page_own(r, NULL, &page);
	if (err < 0)
		return err;
	err = remap(page);
	if (err < 0)
		return err;
	page = own.address;
	memcpy(own.dirpath, r->dirpath, strlen(r->dirpath) + 1);
	word = pxt_page32(page, PXT_PG_offWord);
	if (!r->secure)
		inherit(r, page);
	else if (r->euid != 0 && !release(r, page))
		word = &own.never;
	if (!atomic_load(&h->epoch))
		atomic_store(&h->epoch, pxt_random());
	h->page = page;
	pxt_set_word(word);
	return 0;
}

int pxt_proc_open(struct pxt_scratch *r, bool name)
{
	struct pxt_self *h = PXT_SELF;
	int err;
	identify(r);
	if (!h->page)
		return first_open(r);
	if (pxt_page_moved(h->page))
		return move(r);
	err = pxt_dir_reopen(r, own.dirpath);
	/*
	 * No descriptor leads others to a page whose name is gone. The process makes a new one for itself
	 * when it registers a name.
	 */
	if (name && (err == -ENOENT || (err == 0 && !pxt_page_linked(r, h->page))))
		return move(r);
	r->dir_err = err; /* its streams cannot be reached; those that are connected stay */
	return 0;
}

static struct pxt_attachment *attached(uint64_t id)
{
	struct pxt_attachment *a = PXT_SELF->attached;
	while (a && a->id != id)
		a = a->next;
	return a;
}

#define CROWDED_PAUSE 100000000 /* ns: recovery takes a while, and living writers free their chunks soon */

/*
 * More writers of a stream are stopped in the middle of an event than it has room for: maybe some are dead.
 * The trace point that finds that is the caller. It waits for no lock.
 */
static void crowded(struct pxt_writer *w)
{
	_Atomic uint64_t *last = w->context;
	uint64_t now = pxt_clock(CLOCK_MONOTONIC), then = atomic_load(last);
	struct pxt_scratch *r;
	struct pxt_conn c;
	if (now - then < CROWDED_PAUSE || !atomic_compare_exchange_strong(last, &then, now) || !pxt_own_memory())
		return;
	r = pxt_enter(&PXT_SELF->lock, true);
	if (!r)
		return;
	if (pxt_proc_open(r, false) == 0 && pxt_connect(r, w->m.id, &c) == 0) {
		pxt_attachment_recover(&c);
		pxt_disconnect(&c);
	}
	pxt_leave(r);
}

/* Makes this process a writer of a stream, or reports to the stream why it cannot. */
static int connect_to(struct pxt_scratch *r, uint64_t id, struct pxt_attachment **a)
{
	struct pxt_conn c;
	int err = pxt_connect(r, id, &c);
	if (err < 0) {
		pxt_miss_stream(r, id, err);
		return err;
	}
	err = pxt_attach(r, &c, a);
	if (err < 0) {
		pxt_miss_mem(&c, err);
		pxt_disconnect(&c);
		return err;
	}
	pxt_miss_connected(&c);
	(*a)->w->crowded = crowded;
	(*a)->w->context = &(*a)->recovered;
	(*a)->next = PXT_SELF->attached;
	PXT_SELF->attached = *a;
	return 0;
}

/* Fills the table with the streams in the page. False if a connection failed that may be retried. */
static bool fill(struct pxt_scratch *r)
{
	struct pxt_self *h = PXT_SELF;
	struct pxt_entry *list = r->entries[3];
	unsigned entries = pxt_page_entries(h->page, list), n = 0;
	bool complete = true;
	for (unsigned i = 0; i < entries; i++) {
		struct pxt_attachment *a;
		int err = 0;
		if (!(list[i].flags & PXT_PG_Self))
			continue;
		a = attached(list[i].stream);
		if (!a)
			err = connect_to(r, list[i].stream, &a);
		if (err < 0) {
			complete = complete && !pxt_transient(err);
			continue;
		}
		if (n >= atomic_load(&h->n)) {
			atomic_store(&h->writers[n], a->w);
			atomic_store(&h->n, n + 1); /* never more than are valid */
		}
		atomic_store(&h->writers[n++], a->w);
	}
	atomic_store(&h->n, n);
	while (n < PXT_PG_MaxStreams && atomic_load(&h->writers[n]))
		atomic_store(&h->writers[n++], NULL);
	return complete;
}

static bool in_table(const struct pxt_attachment *a)
{
	struct pxt_self *h = PXT_SELF;
	for (unsigned i = 0; i < atomic_load(&h->n); i++)
		if (atomic_load(&h->writers[i]) == a->w)
			return true;
	return false;
}

/* Gives up the streams that are over. */
static void reap(void)
{
	for (struct pxt_attachment **at = &PXT_SELF->attached; *at;) {
		struct pxt_attachment *a = *at;
		if (in_table(a) || !pxt_mem_dead(&a->w->m)) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		pxt_attachment_release(a);
		pxt_attachment_retire(a);
	}
	pxt_attachments_reclaim();
}

void pxt_table_close(void)
{
	struct pxt_self *h = PXT_SELF;
	atomic_store(&h->agrees, 0);
	atomic_store(&h->n, 0);
	while (h->attached) {
		struct pxt_attachment *a = h->attached;
		h->attached = a->next;
		pxt_attachment_close(a);
		pxt_attachment_retire(a);
	}
}

static uint32_t now_word(void)
{
	_Atomic uint32_t *word = atomic_load(&PXT_SELF->word);
	return word ? atomic_load(word) : 1;
}

/* Whether the table is that of a failure whose retry is not due yet. */
static bool pending(void)
{
	struct pxt_self *h = PXT_SELF;
	uint64_t again = atomic_load(&h->again);
	return again != 0 && atomic_load(&h->seen) == now_word() && pxt_clock(CLOCK_MONOTONIC) < again;
}

void pxt_table_renew(struct pxt_scratch *r)
{
	struct pxt_self *h = PXT_SELF;
	uint32_t now;
	bool complete;
	int err;
	if (pending()) /* another thread was faster */
		return;
	err = pxt_proc_open(r, false);
	if (err < 0) {
		pxt_miss_by_name(r, err);
		atomic_store(&h->none, 1);
		atomic_store(&h->agrees, 0);
		atomic_store(&h->seen, now_word());
		atomic_store(&h->again, pxt_miss_next());
		return;
	}
	if (h->by_name)
		inherit(r, h->page);
	now = now_word();
	if (now != 0 && !h->by_name && atomic_load(&h->again) == 0 && atomic_load(&h->agrees) == now)
		return;
	complete = fill(r) && !h->by_name;
	reap();
	atomic_store(&h->none, 0);
	atomic_store(&h->seen, now);
	if (complete) {
		if (!h->foreign)
			pxt_miss_forget();
		atomic_store(&h->again, 0);
		atomic_store(&h->agrees, now);
	} else {
		atomic_store(&h->agrees, 0);
		atomic_store(&h->again, pxt_miss_next());
	}
}

bool pxt_sync(void)
{
	struct pxt_self *h = PXT_SELF;
	struct pxt_scratch *r;
	if (pending())
		return !atomic_load(&h->none);
	r = pxt_own_memory() ? pxt_enter(&h->lock, false) : NULL;
	if (!r)
		return atomic_load(&h->n) != 0; /* what the table has is valid */
	pxt_table_renew(r);
	pxt_leave(r);
	return !atomic_load(&h->none);
}

void pxt_learn(uint32_t id)
{
	struct pxt_self *h = PXT_SELF;
	uint32_t k = atomic_load(&h->known), n = id - PXT_EV_Unnamed + 1;
	if (id < PXT_EV_Unnamed || id >= PXT_EV_FirstDynamic)
		return;
	while (n > k && !atomic_compare_exchange_weak(&h->known, &k, n))
		;
}

/* Unregistered ids are looked up at once so often, then once in a pause. */
#define AT_ONCE 64
#define PAUSE 1000000

bool pxt_knows(uint32_t id)
{
	struct pxt_self *h = PXT_SELF;
	struct pxt_scratch *r;
	bool have = false;
	if (id == PXT_EV_Unnamed) {
		pxt_learn(id);
		return true;
	}
	if (atomic_load(&h->unknown) >= AT_ONCE &&
	    pxt_clock(CLOCK_MONOTONIC) - atomic_load(&h->unknown_at) < PAUSE)
		return false;
	r = pxt_own_memory() ? pxt_enter(&h->lock, false) : NULL;
	if (!r)
		return false;
	if (pxt_proc_open(r, false) == 0)
		have = pxt_names_have(r, pxt_page_family(h->page), id);
	pxt_leave(r);
	if (have) {
		atomic_store(&h->unknown, 0);
		pxt_learn(id);
		return true;
	}
	if (atomic_load(&h->unknown) < AT_ONCE)
		atomic_fetch_add(&h->unknown, 1);
	atomic_store(&h->unknown_at, pxt_clock(CLOCK_MONOTONIC));
	return false;
}
