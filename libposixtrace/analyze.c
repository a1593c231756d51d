/* The analyzer's functions that report events. See agent.h. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <trace.h>

#include "agent.h"

#define SITE __builtin_return_address(0)

/* Where a reader call puts an event. */
struct place {
	struct posix_trace_event_info *event;
	void *data;
	size_t size;
	size_t *length;
	int *unavailable;
};

static bool sound(const struct place *p)
{
	return p->event && p->length && p->unavailable && (p->data || p->size == 0);
}

/* Every result that is not an event leaves the same: no event, no data. */
static int nothing(const struct place *p, int err)
{
	if (p->unavailable)
		*p->unavailable = 1;
	if (p->length)
		*p->length = 0;
	return err;
}

static inline void report(const struct place *p, const struct pxt_item *it)
{
	struct posix_trace_event_info *e = p->event;
	size_t n = it->length;
	int cut = (int)it->truncation;
	if (n > p->size) {
		n = p->size;
		cut = POSIX_TRACE_TRUNCATED_READ;
	}
	e->posix_event_id = it->id;
	e->posix_pid = (pid_t)it->pid;
	e->posix_prog_address = (void *)(uintptr_t)it->address;
	e->posix_thread_id = (pthread_t)(uintptr_t)it->tid;
	e->posix_timestamp.tv_sec = (time_t)it->seconds;
	e->posix_timestamp.tv_nsec = (long)it->nanos;
	e->posix_truncation_status = cut;
	e->posixtrace_span = it->span;
	e->posixtrace_parent = it->parent;
	memset(e->__posixtrace_reserved, 0, sizeof e->__posixtrace_reserved);
	if (n > 0)
		memcpy(p->data, it + 1, n);
	*p->length = n;
	*p->unavailable = 0;
}

/* The next event of a log that is read in batches. */
static int next_in_log(struct pxt_log *r, const struct place *p)
{
	const struct pxt_item *it = NULL;
	int err = EINVAL;
	if (sound(p))
		err = pxt_log_next(r, &it);
	if (it)
		report(p, it);
	pxt_log_unlock(r);
	return it ? 0 : nothing(p, err);
}

enum how { WAIT, UNTIL, TRY };

static int next(trace_id_t trid, const struct place *p, enum how how, const struct timespec *deadline,
		const void *site)
{
	struct pxt_use u;
	int err = pxt_call_begin(&u, how == TRY ? PXT_W_OpTryNext : PXT_W_OpNext, trid, site);
	if (err)
		return nothing(p, err);
	if (sound(p) && (how != UNTIL || deadline)) {
		u.call->args[0] = p->size;
		u.call->args[1] = how == UNTIL ? PXT_W_Timed : 0;
		err = how == TRY ? pxt_call_run(&u) : pxt_call_read(&u, p->size, deadline);
	} else {
		err = EINVAL;
	}
	if (err || u.call->args[0] != PXT_W_Event)
		nothing(p, err);
	else
		report(p, (const struct pxt_item *)u.call->data);
	pxt_call_end(&u);
	return err;
}

int posix_trace_getnext_event(trace_id_t trid, struct posix_trace_event_info *restrict event, void *restrict data,
			      size_t num_bytes, size_t *restrict data_len, int *restrict unavailable)
{
	struct place p = {event, data, num_bytes, data_len, unavailable};
	struct pxt_log *r = pxt_log_lock(trid);
	if (r)
		return next_in_log(r, &p);
	return next(trid, &p, WAIT, NULL, SITE);
}

int posix_trace_timedgetnext_event(trace_id_t trid, struct posix_trace_event_info *restrict event,
				   void *restrict data, size_t num_bytes, size_t *restrict data_len,
				   int *restrict unavailable, const struct timespec *restrict abstime)
{
	struct place p = {event, data, num_bytes, data_len, unavailable};
	return next(trid, &p, UNTIL, abstime, SITE);
}

int posix_trace_trygetnext_event(trace_id_t trid, struct posix_trace_event_info *restrict event,
				 void *restrict data, size_t num_bytes, size_t *restrict data_len,
				 int *restrict unavailable)
{
	struct place p = {event, data, num_bytes, data_len, unavailable};
	return next(trid, &p, TRY, NULL, SITE);
}

int posix_trace_rewind(trace_id_t trid)
{
	struct pxt_log *r = pxt_log_lock(trid);
	int err = pxt_call_simple(PXT_W_OpRewind, trid, SITE);
	if (r) {
		if (!err)
			pxt_log_rewind(r);
		pxt_log_unlock(r);
	}
	return err;
}

int posix_trace_close(trace_id_t trid)
{
	struct pxt_log *r = pxt_log_lock(trid);
	int err = pxt_call_simple(PXT_W_OpClose, trid, SITE);
	if (!err)
		pxt_name_forget(trid);
	if (!r)
		return err;
	if (!err || !pxt_agent_alive(r->link->ch))
		pxt_log_close(r);
	else
		pxt_log_unlock(r);
	return err;
}
