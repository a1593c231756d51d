/*
 * What the standard says of <trace.h>, written down independently of any header: the compiler rejects
 * this file where the header says something else. The page of each function in XSH has its prototype;
 * the page of <trace.h> in XBD has the rest.
 */
#include <trace.h>

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* An option that is not defined, or -1, is missing, with all that belongs to it. */
#if !defined _POSIX_TRACE || _POSIX_TRACE < 0
#error "the Trace option is missing"
#endif
#if defined _POSIX_TRACE_EVENT_FILTER && _POSIX_TRACE_EVENT_FILTER >= 0
#define TEF 1
#endif
#if defined _POSIX_TRACE_LOG && _POSIX_TRACE_LOG >= 0
#define TRL 1
#endif
#if defined _POSIX_TRACE_INHERIT && _POSIX_TRACE_INHERIT >= 0
#define TRI 1
#endif

/* The parentheses keep macros away: each of these is a function, too. */

/* posix_trace_attr_destroy */
int(posix_trace_attr_destroy)(trace_attr_t *attr);
int(posix_trace_attr_init)(trace_attr_t *attr);

/* posix_trace_attr_getclockres */
int(posix_trace_attr_getclockres)(const trace_attr_t *attr, struct timespec *resolution);
int(posix_trace_attr_getcreatetime)(const trace_attr_t *attr, struct timespec *createtime);
int(posix_trace_attr_getgenversion)(const trace_attr_t *attr, char *genversion);
int(posix_trace_attr_getname)(const trace_attr_t *attr, char *tracename);
int(posix_trace_attr_setname)(trace_attr_t *attr, const char *tracename);

/* posix_trace_attr_getinherited */
#if TRI
int(posix_trace_attr_getinherited)(const trace_attr_t *restrict attr, int *restrict inheritancepolicy);
int(posix_trace_attr_setinherited)(trace_attr_t *attr, int inheritancepolicy);
#endif
#if TRL
int(posix_trace_attr_getlogfullpolicy)(const trace_attr_t *restrict attr, int *restrict logpolicy);
int(posix_trace_attr_setlogfullpolicy)(trace_attr_t *attr, int logpolicy);
#endif
int(posix_trace_attr_getstreamfullpolicy)(const trace_attr_t *restrict attr, int *restrict streampolicy);
int(posix_trace_attr_setstreamfullpolicy)(trace_attr_t *attr, int streampolicy);

/* posix_trace_attr_getlogsize */
#if TRL
int(posix_trace_attr_getlogsize)(const trace_attr_t *restrict attr, size_t *restrict logsize);
int(posix_trace_attr_setlogsize)(trace_attr_t *attr, size_t logsize);
#endif
int(posix_trace_attr_getmaxdatasize)(const trace_attr_t *restrict attr, size_t *restrict maxdatasize);
int(posix_trace_attr_getmaxsystemeventsize)(const trace_attr_t *restrict attr, size_t *restrict eventsize);
int(posix_trace_attr_getmaxusereventsize)(const trace_attr_t *restrict attr, size_t data_len, size_t *restrict eventsize);
int(posix_trace_attr_getstreamsize)(const trace_attr_t *restrict attr, size_t *restrict streamsize);
int(posix_trace_attr_setmaxdatasize)(trace_attr_t *attr, size_t maxdatasize);
int(posix_trace_attr_setstreamsize)(trace_attr_t *attr, size_t streamsize);

/* posix_trace_clear, posix_trace_close */
int(posix_trace_clear)(trace_id_t trid);
#if TRL
int(posix_trace_close)(trace_id_t trid);
int(posix_trace_open)(int file_desc, trace_id_t *trid);
int(posix_trace_rewind)(trace_id_t trid);
#endif

/* posix_trace_create */
int(posix_trace_create)(pid_t pid, const trace_attr_t *restrict attr, trace_id_t *restrict trid);
#if TRL
int(posix_trace_create_withlog)(pid_t pid, const trace_attr_t *restrict attr, int file_desc, trace_id_t *restrict trid);
int(posix_trace_flush)(trace_id_t trid);
#endif
int(posix_trace_shutdown)(trace_id_t trid);

/* posix_trace_event, posix_trace_eventid_equal */
void(posix_trace_event)(trace_event_id_t event_id, const void *restrict data_ptr, size_t data_len);
int(posix_trace_eventid_open)(const char *restrict event_name, trace_event_id_t *restrict event_id);
int(posix_trace_eventid_equal)(trace_id_t trid, trace_event_id_t event1, trace_event_id_t event2);
int(posix_trace_eventid_get_name)(trace_id_t trid, trace_event_id_t event, char *event_name);
#if TEF
int(posix_trace_trid_eventid_open)(trace_id_t trid, const char *restrict event_name, trace_event_id_t *restrict event);

/* posix_trace_eventset_add */
int(posix_trace_eventset_add)(trace_event_id_t event_id, trace_event_set_t *set);
int(posix_trace_eventset_del)(trace_event_id_t event_id, trace_event_set_t *set);
int(posix_trace_eventset_empty)(trace_event_set_t *set);
int(posix_trace_eventset_fill)(trace_event_set_t *set, int what);
int(posix_trace_eventset_ismember)(trace_event_id_t event_id, const trace_event_set_t *restrict set, int *restrict ismember);
#endif

/* posix_trace_eventtypelist_getnext_id */
int(posix_trace_eventtypelist_getnext_id)(trace_id_t trid, trace_event_id_t *restrict event, int *restrict unavailable);
int(posix_trace_eventtypelist_rewind)(trace_id_t trid);

/* posix_trace_get_attr, posix_trace_get_filter */
int(posix_trace_get_attr)(trace_id_t trid, trace_attr_t *attr);
int(posix_trace_get_status)(trace_id_t trid, struct posix_trace_status_info *statusinfo);
#if TEF
int(posix_trace_get_filter)(trace_id_t trid, trace_event_set_t *set);
int(posix_trace_set_filter)(trace_id_t trid, const trace_event_set_t *set, int how);
#endif

/* posix_trace_getnext_event */
int(posix_trace_getnext_event)(trace_id_t trid, struct posix_trace_event_info *restrict event, void *restrict data,
			       size_t num_bytes, size_t *restrict data_len, int *restrict unavailable);
int(posix_trace_timedgetnext_event)(trace_id_t trid, struct posix_trace_event_info *restrict event, void *restrict data,
				    size_t num_bytes, size_t *restrict data_len, int *restrict unavailable,
				    const struct timespec *restrict abstime);
int(posix_trace_trygetnext_event)(trace_id_t trid, struct posix_trace_event_info *restrict event, void *restrict data,
				  size_t num_bytes, size_t *restrict data_len, int *restrict unavailable);

/* posix_trace_start */
int(posix_trace_start)(trace_id_t trid);
int(posix_trace_stop)(trace_id_t trid);

/* The members of the structures: those of the standard are there, with its types. */
#define MEMBER(type, structure, member) \
	_Static_assert(_Generic(&((struct structure *)0)->member, type *: 1, default: 0), #structure "." #member)

MEMBER(int, posix_trace_status_info, posix_stream_status);
MEMBER(int, posix_trace_status_info, posix_stream_full_status);
MEMBER(int, posix_trace_status_info, posix_stream_overrun_status);
#if TRL
MEMBER(int, posix_trace_status_info, posix_stream_flush_status);
MEMBER(int, posix_trace_status_info, posix_stream_flush_error);
MEMBER(int, posix_trace_status_info, posix_log_overrun_status);
MEMBER(int, posix_trace_status_info, posix_log_full_status);
#endif
MEMBER(trace_event_id_t, posix_trace_event_info, posix_event_id);
MEMBER(pid_t, posix_trace_event_info, posix_pid);
MEMBER(void *, posix_trace_event_info, posix_prog_address);
MEMBER(pthread_t, posix_trace_event_info, posix_thread_id);
MEMBER(struct timespec, posix_trace_event_info, posix_timestamp);
MEMBER(int, posix_trace_event_info, posix_truncation_status);

/* The constants: those of one family differ, which a switch demands. */
int constants(int n);
int constants(int n)
{
	int is = 0;

	switch (n) {
	case POSIX_TRACE_LOOP:
	case POSIX_TRACE_UNTIL_FULL:
#if TRL
	case POSIX_TRACE_FLUSH:
#endif
		is++;
	}
#if TRL
	switch (n) {
	case POSIX_TRACE_LOOP:
	case POSIX_TRACE_UNTIL_FULL:
	case POSIX_TRACE_APPEND:
		is++;
	}
	switch (n) {
	case POSIX_TRACE_FLUSHING:
	case POSIX_TRACE_NOT_FLUSHING:
		is++;
	}
#endif
#if TRI
	switch (n) {
	case POSIX_TRACE_CLOSE_FOR_CHILD:
	case POSIX_TRACE_INHERITED:
		is++;
	}
#endif
#if TEF
	switch (n) {
	case POSIX_TRACE_WOPID_EVENTS:
	case POSIX_TRACE_SYSTEM_EVENTS:
	case POSIX_TRACE_ALL_EVENTS:
		is++;
	}
	switch (n) {
	case POSIX_TRACE_SET_EVENTSET:
	case POSIX_TRACE_ADD_EVENTSET:
	case POSIX_TRACE_SUB_EVENTSET:
		is++;
	}
#endif
	switch (n) {
	case POSIX_TRACE_RUNNING:
	case POSIX_TRACE_SUSPENDED:
		is++;
	}
	switch (n) {
	case POSIX_TRACE_FULL:
	case POSIX_TRACE_NOT_FULL:
		is++;
	}
	switch (n) {
	case POSIX_TRACE_OVERRUN:
	case POSIX_TRACE_NO_OVERRUN:
		is++;
	}
	switch (n) {
	case POSIX_TRACE_NOT_TRUNCATED:
	case POSIX_TRACE_TRUNCATED_READ:
	case POSIX_TRACE_TRUNCATED_RECORD:
		is++;
	}
	return is;
}

/* The event types of the standard. Their type need not be one of a switch. */
trace_event_id_t predefined(int n);
trace_event_id_t predefined(int n)
{
	const trace_event_id_t types[] = {
		POSIX_TRACE_ERROR,	 POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME,
		POSIX_TRACE_UNNAMED_USER_EVENT,
#if TEF
		POSIX_TRACE_FILTER,
#endif
#if TRL
		POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP,
#endif
	};

	return types[(size_t)n % (sizeof types / sizeof types[0])];
}

/* The limits, and the least that they may be. */
#if _POSIX_TRACE_EVENT_NAME_MAX != 30 || _POSIX_TRACE_NAME_MAX != 8 || _POSIX_TRACE_SYS_MAX != 8 || \
	_POSIX_TRACE_USER_EVENT_MAX != 32
#error "the minima of the limits"
#endif
#if defined TRACE_EVENT_NAME_MAX && TRACE_EVENT_NAME_MAX < 30
#error "TRACE_EVENT_NAME_MAX"
#endif
#if defined TRACE_NAME_MAX && TRACE_NAME_MAX < 8
#error "TRACE_NAME_MAX"
#endif
#if defined TRACE_SYS_MAX && TRACE_SYS_MAX < 8
#error "TRACE_SYS_MAX"
#endif
#if defined TRACE_USER_EVENT_MAX && TRACE_USER_EVENT_MAX < 32
#error "TRACE_USER_EVENT_MAX"
#endif

/* What sysconf() can be asked. */
long ask(int n);
long ask(int n)
{
	const int names[] = {_SC_TRACE,		       _SC_TRACE_EVENT_FILTER, _SC_TRACE_INHERIT,  _SC_TRACE_LOG,
			     _SC_TRACE_EVENT_NAME_MAX, _SC_TRACE_NAME_MAX,     _SC_TRACE_SYS_MAX, _SC_TRACE_USER_EVENT_MAX};

	return sysconf(names[(size_t)n % 8]);
}
