/* Every type, member, constant and function of <trace.h>, as the standard spells them. */
#include <trace.h>

/* In this order, a program that includes what the standard asks for gets the same. */
#include <limits.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#define RESTRICT
#define NOTHING 0
#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 199901L
#define RESTRICT restrict
#define NOTHING ((void *)0)
#else
#define RESTRICT
#define NOTHING ((void *)0)
#endif

int assigned(void);
int constants(trace_event_id_t id);
unsigned long members(struct posix_trace_status_info *s, struct posix_trace_event_info *e);
int values(trace_event_set_t set, trace_id_t trid, trace_event_id_t id);
void points(trace_event_id_t id, const char *data, size_t n);

/* A pointer to each function has the standard's type. */
int assigned(void)
{
	int (*attr)(trace_attr_t *) = posix_trace_attr_init;
	int (*gettime)(const trace_attr_t *, struct timespec *) = posix_trace_attr_getclockres;
	int (*gettext)(const trace_attr_t *, char *) = posix_trace_attr_getname;
	int (*getint)(const trace_attr_t *RESTRICT, int *RESTRICT) = posix_trace_attr_getinherited;
	int (*getsize)(const trace_attr_t *RESTRICT, size_t *RESTRICT) = posix_trace_attr_getstreamsize;
	int (*getevent)(const trace_attr_t *RESTRICT, size_t, size_t *RESTRICT) = posix_trace_attr_getmaxusereventsize;
	int (*setint)(posix_trace_attr_t *, int) = posix_trace_attr_setinherited;
	int (*setsize)(trace_attr_t *, size_t) = posix_trace_attr_setstreamsize;
	int (*settext)(trace_attr_t *, const char *) = posix_trace_attr_setname;
	int (*ontrid)(trace_id_t) = posix_trace_start;
	int (*create)(pid_t, const trace_attr_t *RESTRICT, trace_id_t *RESTRICT) = posix_trace_create;
	int (*withlog)(pid_t, const trace_attr_t *RESTRICT, int, trace_id_t *RESTRICT) = posix_trace_create_withlog;
	int (*open)(int, trace_id_t *) = posix_trace_open;
	void (*event)(trace_event_id_t, const void *RESTRICT, size_t) = posix_trace_event;
	int (*eventid)(const char *RESTRICT, trace_event_id_t *RESTRICT) = posix_trace_eventid_open;
	int (*trideventid)(trace_id_t, const char *RESTRICT, trace_event_id_t *RESTRICT) = posix_trace_trid_eventid_open;
	int (*equal)(trace_id_t, trace_event_id_t, trace_event_id_t) = posix_trace_eventid_equal;
	int (*name)(trace_id_t, trace_event_id_t, char *) = posix_trace_eventid_get_name;
	int (*setchange)(trace_event_id_t, trace_event_set_t *) = posix_trace_eventset_add;
	int (*empty)(trace_event_set_t *) = posix_trace_eventset_empty;
	int (*fill)(trace_event_set_t *, int) = posix_trace_eventset_fill;
	int (*ismember)(trace_event_id_t, const trace_event_set_t *RESTRICT, int *RESTRICT) = posix_trace_eventset_ismember;
	int (*nextid)(trace_id_t, trace_event_id_t *RESTRICT, int *RESTRICT) = posix_trace_eventtypelist_getnext_id;
	int (*getattr)(trace_id_t, trace_attr_t *) = posix_trace_get_attr;
	int (*getfilter)(trace_id_t, trace_event_set_t *) = posix_trace_get_filter;
	int (*setfilter)(trace_id_t, const trace_event_set_t *, int) = posix_trace_set_filter;
	int (*status)(trace_id_t, struct posix_trace_status_info *) = posix_trace_get_status;
	int (*next)(trace_id_t, struct posix_trace_event_info *RESTRICT, void *RESTRICT, size_t, size_t *RESTRICT,
		    int *RESTRICT) = posix_trace_getnext_event;
	int (*timed)(trace_id_t, struct posix_trace_event_info *RESTRICT, void *RESTRICT, size_t, size_t *RESTRICT,
		     int *RESTRICT, const struct timespec *RESTRICT) = posix_trace_timedgetnext_event;

	attr = posix_trace_attr_destroy;
	gettime = posix_trace_attr_getcreatetime;
	gettext = posix_trace_attr_getgenversion;
	getint = posix_trace_attr_getlogfullpolicy;
	getint = posix_trace_attr_getstreamfullpolicy;
	getsize = posix_trace_attr_getlogsize;
	getsize = posix_trace_attr_getmaxdatasize;
	getsize = posix_trace_attr_getmaxsystemeventsize;
	setint = posix_trace_attr_setlogfullpolicy;
	setint = posix_trace_attr_setstreamfullpolicy;
	setsize = posix_trace_attr_setlogsize;
	setsize = posix_trace_attr_setmaxdatasize;
	ontrid = posix_trace_clear;
	ontrid = posix_trace_close;
	ontrid = posix_trace_eventtypelist_rewind;
	ontrid = posix_trace_flush;
	ontrid = posix_trace_rewind;
	ontrid = posix_trace_shutdown;
	ontrid = posix_trace_stop;
	setchange = posix_trace_eventset_del;
	next = posix_trace_trygetnext_event;
	return attr && gettime && gettext && getint && getsize && getevent && setint && setsize && settext && ontrid && create &&
	       withlog && open && event && eventid && trideventid && equal && name && setchange && empty && fill && ismember &&
	       nextid && getattr && getfilter && setfilter && status && next && timed;
}

/* No two constants of a family have one value: the compiler rejects equal cases. */
int constants(trace_event_id_t id)
{
	int n = (int)id;

	switch (id) {
	case POSIX_TRACE_ERROR:
	case POSIX_TRACE_START:
	case POSIX_TRACE_STOP:
	case POSIX_TRACE_FILTER:
	case POSIX_TRACE_OVERFLOW:
	case POSIX_TRACE_RESUME:
	case POSIX_TRACE_FLUSH_START:
	case POSIX_TRACE_FLUSH_STOP:
	case POSIX_TRACE_UNNAMED_USER_EVENT:
		return 1;
	default:
		break;
	}
#define DISTINCT2(a, b) \
	switch (n) { \
	case a: \
	case b: \
		return 1; \
	default: \
		break; \
	}
#define DISTINCT3(a, b, c) \
	switch (n) { \
	case a: \
	case b: \
	case c: \
		return 1; \
	default: \
		break; \
	}
	DISTINCT3(POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH)
	DISTINCT3(POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND)
	DISTINCT2(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND)
	DISTINCT2(POSIX_TRACE_CLOSE_FOR_CHILD, POSIX_TRACE_INHERITED)
	DISTINCT3(POSIX_TRACE_WOPID_EVENTS, POSIX_TRACE_SYSTEM_EVENTS, POSIX_TRACE_ALL_EVENTS)
	DISTINCT3(POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_ADD_EVENTSET, POSIX_TRACE_SUB_EVENTSET)
	DISTINCT2(POSIX_TRACE_RUNNING, POSIX_TRACE_SUSPENDED)
	DISTINCT2(POSIX_TRACE_FULL, POSIX_TRACE_NOT_FULL)
	DISTINCT2(POSIX_TRACE_OVERRUN, POSIX_TRACE_NO_OVERRUN)
	DISTINCT2(POSIX_TRACE_FLUSHING, POSIX_TRACE_NOT_FLUSHING)
	DISTINCT3(POSIX_TRACE_NOT_TRUNCATED, POSIX_TRACE_TRUNCATED_RECORD, POSIX_TRACE_TRUNCATED_READ)
#if POSIX_TRACE_NO_OVERRUN != 0 || POSIX_TRACE_UNNAMED_USER_EVENT != POSIX_TRACE_UNNAMED_USEREVENT
#error "constants"
#endif
#if _POSIX_TRACE != 200809L || _POSIX_TRACE_EVENT_FILTER != 200809L || _POSIX_TRACE_INHERIT != 200809L || \
	_POSIX_TRACE_LOG != 200809L || TRACE_EVENT_NAME_MAX < _POSIX_TRACE_EVENT_NAME_MAX || \
	TRACE_NAME_MAX < _POSIX_TRACE_NAME_MAX || TRACE_SYS_MAX < _POSIX_TRACE_SYS_MAX || \
	TRACE_USER_EVENT_MAX < _POSIX_TRACE_USER_EVENT_MAX
#error "options and limits"
#endif
	return (int)sysconf(_SC_TRACE);
}

unsigned long members(struct posix_trace_status_info *s, struct posix_trace_event_info *e)
{
	int *number = &s->posix_stream_status;
	trace_event_id_t *id = &e->posix_event_id;
	pid_t *pid = &e->posix_pid;
	void **address = &e->posix_prog_address;
	pthread_t *thread = &e->posix_thread_id;
	struct timespec *time = &e->posix_timestamp;

	number = &s->posix_stream_full_status;
	number = &s->posix_stream_overrun_status;
	number = &s->posix_stream_flush_status;
	number = &s->posix_stream_flush_error;
	number = &s->posix_log_overrun_status;
	number = &s->posix_log_full_status;
	number = &e->posix_truncation_status;
	return (unsigned long)*number + *id + (unsigned long)*pid + (*address == NOTHING) + sizeof *thread +
	       sizeof *time;
}

/* These are assigned and passed by value. */
int values(trace_event_set_t set, trace_id_t trid, trace_event_id_t id)
{
	trace_event_set_t copy = set;
	trace_id_t trid2 = trid;
	trace_event_id_t id2 = id;
	int member = 0;

	(void)trid2;
	return posix_trace_eventset_ismember(id2, &copy, &member) || member;
}

void points(trace_event_id_t id, const char *data, size_t n)
{
	posix_trace_event(id, data, n);
	posix_trace_event(id, NOTHING, 0);
	if (n)
		posix_trace_event(id, &n, sizeof n);
	else
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "", 0);
}
