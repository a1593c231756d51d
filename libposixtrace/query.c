/* What streams and logs say about themselves: attributes, status, names, event types. */
#include <errno.h>
#include <string.h>
#include <trace.h>

#include "agent.h"
#include "attr.h"

#define SITE __builtin_return_address(0)

int posix_trace_get_attr(trace_id_t trid, trace_attr_t *attr)
{
	struct pxt_use u;
	int err = pxt_call_begin(&u, PXT_W_OpAttr, trid, SITE);
	if (err)
		return err;
	err = attr ? pxt_call_run(&u) : EINVAL;
	if (!err) {
		struct pxt_attr *a = pxt_attr_new(attr);
		memcpy(&a->of, u.call->data, sizeof a->of);
		a->set = UINT64_MAX;
	}
	pxt_call_end(&u);
	return err;
}

int posix_trace_get_status(trace_id_t trid, struct posix_trace_status_info *status)
{
	const struct pxt_status *w;
	struct pxt_use u;
	int err = pxt_call_begin(&u, PXT_W_OpStatus, trid, SITE);
	if (err)
		return err;
	err = status ? pxt_call_run(&u) : EINVAL;
	if (!err) {
		w = (const struct pxt_status *)u.call->data;
		memset(status, 0, sizeof *status);
		status->posix_stream_status = (int)w->running;
		status->posix_stream_full_status = (int)w->full;
		status->posix_stream_overrun_status = (int)w->overrun;
		status->posix_stream_flush_status = (int)w->flushing;
		status->posix_stream_flush_error = (int)w->flushError;
		status->posix_log_overrun_status = (int)w->logOverrun;
		status->posix_log_full_status = (int)w->logFull;
		status->posixtrace_missed_error = (int)w->missedError;
		status->posixtrace_missed = w->missed;
		status->posixtrace_lost = w->lost;
		status->posixtrace_log_lost = w->logLost;
	}
	pxt_call_end(&u);
	return err;
}

int posix_trace_eventid_equal(trace_id_t trid, trace_event_id_t event1, trace_event_id_t event2)
{
	(void)trid; /* identifiers of one stream are numbers */
	return event1 == event2;
}

int posix_trace_eventid_get_name(trace_id_t trid, trace_event_id_t event, char *name)
{
	struct pxt_use u;
	uint32_t when;
	size_t n;
	int err;
	if (name && pxt_name_get(trid, event, name, &n, &when)) {
		name[n] = 0;
		return 0;
	}
	err = pxt_call_begin(&u, PXT_W_OpName, trid, SITE);
	if (err)
		return err;
	u.call->args[0] = event;
	err = name ? pxt_call_run(&u) : EINVAL;
	if (!err) {
		n = u.call->length < TRACE_EVENT_NAME_MAX ? u.call->length : TRACE_EVENT_NAME_MAX;
		memcpy(name, u.call->data, n);
		name[n] = 0;
		pxt_name_keep(trid, event, name, n, when);
	}
	pxt_call_end(&u);
	return err;
}

int posix_trace_eventtypelist_getnext_id(trace_id_t trid, trace_event_id_t *restrict event,
					 int *restrict unavailable)
{
	struct pxt_use u;
	int err = pxt_call_begin(&u, PXT_W_OpNextType, trid, SITE);
	if (err)
		return err;
	err = event && unavailable ? pxt_call_run(&u) : EINVAL;
	if (!err) {
		*unavailable = u.call->args[1] != 0;
		if (!*unavailable)
			*event = (trace_event_id_t)u.call->args[0];
	}
	pxt_call_end(&u);
	return err;
}

int posix_trace_eventtypelist_rewind(trace_id_t trid)
{
	return pxt_call_simple(PXT_W_OpRewindTypes, trid, SITE);
}
