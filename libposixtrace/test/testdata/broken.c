/*
 * A broken implementation: libposixtrace, with one fault in front of it. FAULT names the requirement that
 * forbids it. The linker sends the calls here by its option --wrap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

static int fault(const char *id)
{
	const char *chosen = getenv("FAULT");

	return chosen && !strcmp(chosen, id);
}

#define WRAP(type, function, ...)              \
	type __real_##function(__VA_ARGS__);   \
	type __wrap_##function(__VA_ARGS__);   \
	type __wrap_##function(__VA_ARGS__)

/* A name is forgotten. */
WRAP(int, posix_trace_attr_setname, trace_attr_t *attr, const char *name)
{
	return __real_posix_trace_attr_setname(attr, fault("ATR-07") ? "" : name);
}

/* A new stream runs, and new processes of a stream's family inherit it unasked. */
WRAP(int, posix_trace_create, pid_t pid, const trace_attr_t *attr, trace_id_t *trid)
{
	trace_attr_t changed;
	int err;

	if (fault("INH-02") && attr) {
		changed = *attr;
		posix_trace_attr_setinherited(&changed, POSIX_TRACE_INHERITED);
		attr = &changed;
	}
	err = __real_posix_trace_create(pid, attr, trid);
	if (!err && fault("CRE-04"))
		posix_trace_start(*trid);
	return err;
}

/* Errors are in errno. */
WRAP(int, posix_trace_start, trace_id_t trid)
{
	int err = __real_posix_trace_start(trid);

	if (!err || !fault("STA-07"))
		return err;
	errno = err;
	return -1;
}

/* Nothing is cleared. */
WRAP(int, posix_trace_clear, trace_id_t trid)
{
	return fault("CLR-01") ? 0 : __real_posix_trace_clear(trid);
}

/* A set is added to the filter by putting it in the filter's place. */
WRAP(int, posix_trace_set_filter, trace_id_t trid, const trace_event_set_t *set, int how)
{
	if (how == POSIX_TRACE_ADD_EVENTSET && fault("FIL-03"))
		how = POSIX_TRACE_SET_EVENTSET;
	return __real_posix_trace_set_filter(trid, set, how);
}

/* A report of lost events stays. */
WRAP(int, posix_trace_get_status, trace_id_t trid, struct posix_trace_status_info *st)
{
	static int lost;
	int err = __real_posix_trace_get_status(trid, st);

	if (!err && fault("SST-05")) {
		lost |= st->posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
		if (lost)
			st->posix_stream_overrun_status = POSIX_TRACE_OVERRUN;
	}
	return err;
}

/* A reader does not learn that its buffer was too small. */
WRAP(int, posix_trace_trygetnext_event, trace_id_t trid, struct posix_trace_event_info *e, void *data, size_t room,
     size_t *n, int *unavailable)
{
	int err = __real_posix_trace_trygetnext_event(trid, e, data, room, n, unavailable);

	if (!err && !*unavailable && e->posix_truncation_status == POSIX_TRACE_TRUNCATED_READ && fault("GET-14"))
		e->posix_truncation_status = POSIX_TRACE_NOT_TRUNCATED;
	return err;
}

/* The last byte of the data of an event is lost. */
WRAP(void, posix_trace_event, trace_event_id_t id, const void *data, size_t n)
{
	__real_posix_trace_event(id, data, n && fault("EVT-03") ? n - 1 : n);
}

/* A name that is too long is cut. */
WRAP(int, posix_trace_eventid_open, const char *name, trace_event_id_t *id)
{
	char cut[TRACE_EVENT_NAME_MAX + 1] = "";

	if (!name || strlen(name) <= TRACE_EVENT_NAME_MAX || !fault("MAP-03"))
		return __real_posix_trace_eventid_open(name, id);
	memcpy(cut, name, TRACE_EVENT_NAME_MAX);
	return __real_posix_trace_eventid_open(cut, id);
}

/* A log is not read again from its beginning. */
WRAP(int, posix_trace_rewind, trace_id_t trid)
{
	return fault("OPN-07") ? 0 : __real_posix_trace_rewind(trid);
}
