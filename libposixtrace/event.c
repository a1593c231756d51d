/* The trace point and the names of event types. */
#define _GNU_SOURCE
#ifndef POSIXTRACE_NO_INLINE
#define POSIXTRACE_NO_INLINE
#endif
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "append.h"
#include "dir.h"
#include "grace.h"
#include "mappings.h"
#include "names.h"
#include "page.h"
#include "self.h"
#include "self_page.h"
#include "stream.h"
#include "table.h"

#define EXPORT __attribute__((visibility("default")))

static __attribute__((noinline, cold)) struct pxt_thread *who_slow(struct pxt_thread *child)
{
	struct pxt_thread *t = &pxt_thread;
	uint32_t tid = pxt_gettid();
	uint64_t who = pxt_who(PXT_SELF->pid, tid);
	if (!pxt_own_memory()) {
		/* A vfork child, whose parent has the same variables. */
		child->who = who;
		child->section = &pxt_no_section;
		return child;
	}
	if (!t->section || atomic_load(&t->section->tid) != tid)
		t->section = pxt_section_new(tid);
	t->who = who;
	atomic_signal_fence(memory_order_release);
	t->epoch = atomic_load(&PXT_SELF->epoch);
	return t;
}

/*
 * The calling thread; child is room for one without variables of its own. The process has its page, and so
 * an epoch, which is not 0.
 */
static inline struct pxt_thread *who_am_i(struct pxt_thread *child)
{
	struct pxt_thread *t = &pxt_thread;
	if (PXT_LIKELY(t->epoch == atomic_load_explicit(&PXT_SELF->epoch, memory_order_relaxed)))
		return t;
	return who_slow(child);
}

/* Whether the event can go to the streams in the table, which then agrees with the page. */
static __attribute__((noinline, cold)) bool prepare(uint32_t id, _Atomic uint32_t *word)
{
	struct pxt_self *h = PXT_SELF;
	if (id < PXT_EV_Unnamed || id >= PXT_EV_FirstDynamic)
		return false;
	if (!word || atomic_load(&h->agrees) != atomic_load(word)) {
		if (!pxt_sync())
			return false;
	}
	return id - PXT_EV_Unnamed < atomic_load(&h->known) || pxt_knows(id);
}

/* A child of fork finds the table empty: fork may have been called by a handler that interrupted us. */
static __attribute__((noinline)) void append_all(uint32_t id, uint64_t who, uint64_t addr, const void *data, size_t size)
{
	struct pxt_self *h = PXT_SELF;
	unsigned n = atomic_load_explicit(&h->n, memory_order_acquire), processor = pxt_processor();
	uint64_t ticks = 0;
	for (unsigned i = 0; i < n; i++) {
		struct pxt_writer *w = atomic_load_explicit(&h->writers[i], memory_order_relaxed);
		if (w)
			pxt_append(w, processor, id, who, addr, &ticks, data, size);
	}
}

/* The same in a handler that has interrupted a trace point, or behind one that a handler has left. */
static __attribute__((noinline, cold)) void append_nested(const struct pxt_thread *me, volatile uint32_t *frame,
							  uint32_t id, uint64_t addr, const void *data, size_t size)
{
	struct pxt_section *s = pxt_section_nested(me->section, frame);
	append_all(id, me->who, addr, data, size);
	pxt_section_end(s);
}

EXPORT void posix_trace_event(trace_event_id_t id, const void *restrict data, size_t size)
{
	struct pxt_self *h = PXT_SELF;
	_Atomic uint32_t *word = atomic_load_explicit(&h->word, memory_order_acquire);
	uint64_t addr = (uint64_t)(uintptr_t)__builtin_return_address(0), ticks = 0;
	volatile uint32_t frame;
	uint32_t now = PXT_LIKELY(word != NULL) ? atomic_load_explicit(word, memory_order_relaxed) : 1;
	struct pxt_writer *w;
	if (now == 0)
		return;
	if (PXT_UNLIKELY(id - PXT_EV_Unnamed >= atomic_load_explicit(&h->known, memory_order_relaxed) ||
			 atomic_load_explicit(&h->agrees, memory_order_acquire) != now || !word) &&
	    !prepare(id, word))
		return;
	size = data ? size : 0;
	struct pxt_thread child, *me = who_am_i(&child);
	struct pxt_section *section = me->section;
	if (PXT_UNLIKELY(!pxt_section_enter(section, &frame))) {
		append_nested(me, &frame, id, addr, data, size);
		return;
	}
	/* In this order: a writer that the table has had while it had no stream is gone. */
	if (PXT_LIKELY(atomic_load_explicit(&h->n, memory_order_acquire) == 1 &&
		       (w = atomic_load_explicit(&h->writers[0], memory_order_relaxed))))
		pxt_append_inline(w, pxt_processor(), id, me->who, addr, &ticks, data, size);
	else
		append_all(id, me->who, addr, data, size);
	pxt_section_exit(section);
}

/* The names by which the inlined trace points call these functions. */
EXPORT void posixtrace_event(trace_event_id_t, const void *restrict, size_t)
	__attribute__((alias("posix_trace_event")));
EXPORT int posixtrace_eventid_open(const char *restrict, trace_event_id_t *restrict)
	__attribute__((alias("posix_trace_eventid_open")));

/* How many names a process registers: the unnamed event is one more type. */
#define MAX_NAMES (TRACE_USER_EVENT_MAX - 1)

/* An error number for the application. */
static int number(int err)
{
	return err <= -4096 ? ENOMEM : -err;
}

/* One try; -EAGAIN: another process has the lock of the names. last: there is no other try. */
static int try_open(const char *name, size_t len, bool last, uint32_t *found)
{
	struct pxt_self *h = PXT_SELF;
	struct pxt_scratch *r = pxt_enter(&h->lock, false);
	int err;
	if (!r)
		return -EAGAIN;
	pxt_maps_again();
	err = pxt_proc_open(r, true);
	if (err < 0) {
		if (err != -EAGAIN || last)
			pxt_miss_by_name(r, err);
	} else {
		err = pxt_names_id(r, pxt_page_family(h->page), name, len,
				   pxt_page32(h->page, PXT_PG_offUserNames), MAX_NAMES, found);
		if (err == 0)
			pxt_learn(*found);
		if (atomic_load(pxt_page32(h->page, PXT_PG_offWord)) != 0)
			pxt_table_renew(r);
	}
	pxt_leave(r);
	return err;
}

#define LOCK_WAIT UINT64_C(3000000000) /* a signal may have stopped the holder of the lock of the names */

EXPORT int posix_trace_eventid_open(const char *restrict name, trace_event_id_t *restrict id)
{
	uint64_t pause = 20000, end = 0;
	uint32_t found = 0;
	size_t len;
	int err;
	if (!name || !id)
		return EINVAL;
	len = strnlen(name, PXT_EV_NameMax + 1);
	if (len > PXT_EV_NameMax)
		return ENAMETOOLONG;
	if (!pxt_own_memory())
		return EAGAIN;
	pxt_env_capture();
	pxt_maps_count();
	/* It waits without the lock of this process, which a trace point may need meanwhile. */
	for (;;) {
		uint64_t now = pxt_clock(CLOCK_MONOTONIC);
		if (end == 0)
			end = now + LOCK_WAIT;
		err = try_open(name, len, now >= end, &found);
		if (err != -EAGAIN || now >= end)
			break;
		pxt_sleep(pause);
		pause = pause < 1000000 ? 2 * pause : 2000000;
	}
	if (err == 0)
		*id = found;
	return number(err);
}
