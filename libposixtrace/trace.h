/*
 * <trace.h>: POSIX Trace (IEEE Std 1003.1-2017, XSH 2.11) with the options Trace Log, Trace Inherit
 * and Trace Event Filter. Link with -lposixtrace. trace.h(3) is its manual.
 *
 * These macros, defined before the first inclusion, change what the header does:
 *
 *   POSIXTRACE_DISABLE     posix_trace_event() and posix_trace_eventid_open() do nothing and need no
 *                          library.
 *   POSIXTRACE_WEAK        references to the library are weak: see posixtrace_present().
 *   POSIXTRACE_NO_INLINE   every trace point calls the library.
 *   POSIXTRACE_NO_SYSCONF  sysconf() is that of the C library, which knows nothing of tracing.
 */
#ifndef _TRACE_H
#define _TRACE_H 1

#include <stddef.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h> /* first: the C library's defines _POSIX_TRACE as -1 */

/* Without POSIX.1b and .1c, glibc's headers above lack struct timespec and pthread_t. */
#if !defined _POSIX_C_SOURCE || _POSIX_C_SOURCE < 199506L
#include <pthread.h>
#endif

/* The options and limits of <unistd.h> and <limits.h>. */
#undef _POSIX_TRACE
#undef _POSIX_TRACE_EVENT_FILTER
#undef _POSIX_TRACE_INHERIT
#undef _POSIX_TRACE_LOG
#define _POSIX_TRACE 200809L
#define _POSIX_TRACE_EVENT_FILTER 200809L
#define _POSIX_TRACE_INHERIT 200809L
#define _POSIX_TRACE_LOG 200809L

#undef _POSIX_TRACE_EVENT_NAME_MAX
#undef _POSIX_TRACE_NAME_MAX
#undef _POSIX_TRACE_SYS_MAX
#undef _POSIX_TRACE_USER_EVENT_MAX
#define _POSIX_TRACE_EVENT_NAME_MAX 30
#define _POSIX_TRACE_NAME_MAX 8
#define _POSIX_TRACE_SYS_MAX 8
#define _POSIX_TRACE_USER_EVENT_MAX 32

#undef TRACE_EVENT_NAME_MAX
#undef TRACE_NAME_MAX
#undef TRACE_SYS_MAX
#undef TRACE_USER_EVENT_MAX
#define TRACE_EVENT_NAME_MAX 255
#define TRACE_NAME_MAX 255
#define TRACE_SYS_MAX 1024
#define TRACE_USER_EVENT_MAX 1024

/* The predefined event types. XSH and XBD spell the name of the unnamed user type differently. */
#define POSIX_TRACE_ERROR 1U
#define POSIX_TRACE_START 2U
#define POSIX_TRACE_STOP 3U
#define POSIX_TRACE_FILTER 4U
#define POSIX_TRACE_OVERFLOW 5U
#define POSIX_TRACE_RESUME 6U
#define POSIX_TRACE_FLUSH_START 7U
#define POSIX_TRACE_FLUSH_STOP 8U
#define POSIX_TRACE_UNNAMED_USER_EVENT 32U
#define POSIX_TRACE_UNNAMED_USEREVENT POSIX_TRACE_UNNAMED_USER_EVENT

/* stream-full-policy and log-full-policy */
#define POSIX_TRACE_LOOP 1
#define POSIX_TRACE_UNTIL_FULL 2
#define POSIX_TRACE_FLUSH 3
#define POSIX_TRACE_APPEND 4

/* inheritance */
#define POSIX_TRACE_CLOSE_FOR_CHILD 0
#define POSIX_TRACE_INHERITED 1

/* The what of posix_trace_eventset_fill() and the how of posix_trace_set_filter(). */
#define POSIX_TRACE_WOPID_EVENTS 0
#define POSIX_TRACE_SYSTEM_EVENTS 1
#define POSIX_TRACE_ALL_EVENTS 2
#define POSIX_TRACE_SET_EVENTSET 0
#define POSIX_TRACE_ADD_EVENTSET 1
#define POSIX_TRACE_SUB_EVENTSET 2

/* struct posix_trace_status_info */
#define POSIX_TRACE_SUSPENDED 0
#define POSIX_TRACE_RUNNING 1
#define POSIX_TRACE_NOT_FULL 0
#define POSIX_TRACE_FULL 1
#define POSIX_TRACE_NO_OVERRUN 0
#define POSIX_TRACE_OVERRUN 1
#define POSIX_TRACE_NOT_FLUSHING 0
#define POSIX_TRACE_FLUSHING 1

/* struct posix_trace_event_info */
#define POSIX_TRACE_NOT_TRUNCATED 0
#define POSIX_TRACE_TRUNCATED_RECORD 1
#define POSIX_TRACE_TRUNCATED_READ 2

typedef unsigned int trace_event_id_t;
typedef unsigned long trace_id_t;

/* A set of event types holds no pointer: a copy of its bytes is a set, in another process too. */
typedef struct {
	unsigned long __posixtrace_set[64];
} trace_event_set_t;

typedef struct {
	unsigned long __posixtrace_attr[128];
} trace_attr_t;
typedef trace_attr_t posix_trace_attr_t; /* the name in the text of XSH */

struct posix_trace_status_info {
	int posix_stream_status;
	int posix_stream_full_status;
	int posix_stream_overrun_status;
	int posix_stream_flush_status;
	int posix_stream_flush_error;
	int posix_log_overrun_status;
	int posix_log_full_status;

	/* Extensions: events that the stream, and its log, have lost since they were created; the
	   traced processes that could not connect to the stream, and the last one's error number. */
	int posixtrace_missed_error;
	unsigned long posixtrace_missed;
	unsigned long posixtrace_lost;
	unsigned long posixtrace_log_lost;
	unsigned long __posixtrace_reserved[4];
};

struct posix_trace_event_info {
	trace_event_id_t posix_event_id;
	pid_t posix_pid;
	void *posix_prog_address;
	pthread_t posix_thread_id;
	struct timespec posix_timestamp;
	int posix_truncation_status;

	/* Extension: the key of the span of the event, and of the span around one that it starts. */
	unsigned long posixtrace_span;
	unsigned long posixtrace_parent;
	unsigned long __posixtrace_reserved[2];
};

#if defined __cplusplus
#define __posixtrace_inline inline
#else
#define __posixtrace_inline __inline__
#endif
#if defined __GNUC__
#define __posixtrace_restrict __restrict__
#define __posixtrace_nothrow __attribute__((__nothrow__))
#define __posixtrace_unused __attribute__((__unused__))
#else
#undef __posixtrace_inline
#define __posixtrace_inline inline
#define __posixtrace_restrict
#define __posixtrace_nothrow
#define __posixtrace_unused
#if !defined __cplusplus && defined __STDC_VERSION__ && __STDC_VERSION__ >= 199901L
#undef __posixtrace_restrict
#define __posixtrace_restrict restrict
#endif
#endif
#if defined POSIXTRACE_WEAK
#define __posixtrace_weak __attribute__((__weak__))
#else
#define __posixtrace_weak
#endif

/* Functions that are no cancellation points throw nothing in C++. */
#define __posixtrace_plain __posixtrace_weak __posixtrace_nothrow

#if defined __GNUC__
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The stream attributes object. */
int posix_trace_attr_init(trace_attr_t *) __posixtrace_plain;
int posix_trace_attr_destroy(trace_attr_t *) __posixtrace_plain;
int posix_trace_attr_getgenversion(const trace_attr_t *, char *) __posixtrace_plain;
int posix_trace_attr_getname(const trace_attr_t *, char *) __posixtrace_plain;
int posix_trace_attr_setname(trace_attr_t *, const char *) __posixtrace_plain;
int posix_trace_attr_getcreatetime(const trace_attr_t *, struct timespec *) __posixtrace_plain;
int posix_trace_attr_getclockres(const trace_attr_t *, struct timespec *) __posixtrace_plain;
int posix_trace_attr_getinherited(const trace_attr_t *__posixtrace_restrict,
				  int *__posixtrace_restrict) __posixtrace_plain;
int posix_trace_attr_setinherited(trace_attr_t *, int) __posixtrace_plain;
int posix_trace_attr_getstreamfullpolicy(const trace_attr_t *__posixtrace_restrict,
					 int *__posixtrace_restrict) __posixtrace_plain;
int posix_trace_attr_setstreamfullpolicy(trace_attr_t *, int) __posixtrace_plain;
int posix_trace_attr_getlogfullpolicy(const trace_attr_t *__posixtrace_restrict,
				      int *__posixtrace_restrict) __posixtrace_plain;
int posix_trace_attr_setlogfullpolicy(trace_attr_t *, int) __posixtrace_plain;
int posix_trace_attr_getstreamsize(const trace_attr_t *__posixtrace_restrict,
				   size_t *__posixtrace_restrict) __posixtrace_plain;
int posix_trace_attr_setstreamsize(trace_attr_t *, size_t) __posixtrace_plain;
int posix_trace_attr_getmaxdatasize(const trace_attr_t *__posixtrace_restrict,
				    size_t *__posixtrace_restrict) __posixtrace_plain;
int posix_trace_attr_setmaxdatasize(trace_attr_t *, size_t) __posixtrace_plain;
int posix_trace_attr_getlogsize(const trace_attr_t *__posixtrace_restrict,
				size_t *__posixtrace_restrict) __posixtrace_plain;
int posix_trace_attr_setlogsize(trace_attr_t *, size_t) __posixtrace_plain;
int posix_trace_attr_getmaxusereventsize(const trace_attr_t *__posixtrace_restrict, size_t,
					 size_t *__posixtrace_restrict) __posixtrace_plain;
int posix_trace_attr_getmaxsystemeventsize(const trace_attr_t *__posixtrace_restrict,
					   size_t *__posixtrace_restrict) __posixtrace_plain;

/* Sets of event types. */
int posix_trace_eventset_empty(trace_event_set_t *) __posixtrace_plain;
int posix_trace_eventset_fill(trace_event_set_t *, int) __posixtrace_plain;
int posix_trace_eventset_add(trace_event_id_t, trace_event_set_t *) __posixtrace_plain;
int posix_trace_eventset_del(trace_event_id_t, trace_event_set_t *) __posixtrace_plain;
int posix_trace_eventset_ismember(trace_event_id_t, const trace_event_set_t *__posixtrace_restrict,
				  int *__posixtrace_restrict) __posixtrace_plain;

/* The controller. */
int posix_trace_create(pid_t, const trace_attr_t *__posixtrace_restrict,
		       trace_id_t *__posixtrace_restrict) __posixtrace_weak;
int posix_trace_create_withlog(pid_t, const trace_attr_t *__posixtrace_restrict, int,
			       trace_id_t *__posixtrace_restrict) __posixtrace_weak;
int posix_trace_start(trace_id_t) __posixtrace_plain;
int posix_trace_stop(trace_id_t) __posixtrace_plain;
int posix_trace_clear(trace_id_t) __posixtrace_weak;
int posix_trace_flush(trace_id_t) __posixtrace_weak;
int posix_trace_shutdown(trace_id_t) __posixtrace_weak;
int posix_trace_get_filter(trace_id_t, trace_event_set_t *) __posixtrace_weak;
int posix_trace_set_filter(trace_id_t, const trace_event_set_t *, int) __posixtrace_weak;
int posix_trace_trid_eventid_open(trace_id_t, const char *__posixtrace_restrict,
				  trace_event_id_t *__posixtrace_restrict) __posixtrace_plain;

/* The controller and the analyzer. */
int posix_trace_get_attr(trace_id_t, trace_attr_t *) __posixtrace_weak;
int posix_trace_get_status(trace_id_t, struct posix_trace_status_info *) __posixtrace_weak;
int posix_trace_eventid_equal(trace_id_t, trace_event_id_t, trace_event_id_t) __posixtrace_plain;
int posix_trace_eventid_get_name(trace_id_t, trace_event_id_t, char *) __posixtrace_plain;
int posix_trace_eventtypelist_getnext_id(trace_id_t, trace_event_id_t *__posixtrace_restrict,
					 int *__posixtrace_restrict) __posixtrace_weak;
int posix_trace_eventtypelist_rewind(trace_id_t) __posixtrace_weak;

/* The analyzer. */
int posix_trace_open(int, trace_id_t *) __posixtrace_weak;
int posix_trace_rewind(trace_id_t) __posixtrace_weak;
int posix_trace_close(trace_id_t) __posixtrace_weak;
int posix_trace_getnext_event(trace_id_t, struct posix_trace_event_info *__posixtrace_restrict,
			      void *__posixtrace_restrict, size_t, size_t *__posixtrace_restrict,
			      int *__posixtrace_restrict) __posixtrace_weak;
int posix_trace_timedgetnext_event(trace_id_t, struct posix_trace_event_info *__posixtrace_restrict,
				   void *__posixtrace_restrict, size_t, size_t *__posixtrace_restrict,
				   int *__posixtrace_restrict,
				   const struct timespec *__posixtrace_restrict) __posixtrace_weak;
int posix_trace_trygetnext_event(trace_id_t, struct posix_trace_event_info *__posixtrace_restrict,
				 void *__posixtrace_restrict, size_t, size_t *__posixtrace_restrict,
				 int *__posixtrace_restrict) __posixtrace_plain;

/* The traced process. */
#if defined POSIXTRACE_DISABLE
static __posixtrace_inline __posixtrace_unused void
posix_trace_event(trace_event_id_t __id, const void *__posixtrace_restrict __data, size_t __len)
{
	(void)__id;
	(void)__data;
	(void)__len;
}

static __posixtrace_inline __posixtrace_unused int
posix_trace_eventid_open(const char *__posixtrace_restrict __name,
			 trace_event_id_t *__posixtrace_restrict __id)
{
	(void)__name;
	*__id = POSIX_TRACE_UNNAMED_USER_EVENT;
	return 0;
}
#else
void posix_trace_event(trace_event_id_t, const void *__posixtrace_restrict, size_t) __posixtrace_plain;
int posix_trace_eventid_open(const char *__posixtrace_restrict,
			     trace_event_id_t *__posixtrace_restrict) __posixtrace_plain;
#endif

/*
 * Second names of these two functions in the library, for the definitions below: a function that
 * calls its own name is recursive.
 */
void posixtrace_event(trace_event_id_t, const void *__posixtrace_restrict, size_t) __posixtrace_plain;
int posixtrace_eventid_open(const char *__posixtrace_restrict,
			    trace_event_id_t *__posixtrace_restrict) __posixtrace_plain;

/*
 * Of the library, for the trace points below: base[*index] is 0 while no stream traces the process.
 * It is not 0 before the first trace point, and while *index is 0: fork wipes that, and the child
 * looks anew. An index takes no branch, unlike a pointer that may be null.
 */
struct posixtrace_hot {
	const volatile unsigned int *base;
	const volatile long *index;
};
extern const struct posixtrace_hot posixtrace_hot __posixtrace_weak;

#if defined __GNUC__ && !defined POSIXTRACE_DISABLE && !defined POSIXTRACE_NO_INLINE
#define __posixtrace_here extern __posixtrace_inline __attribute__((__always_inline__, __gnu_inline__))

#if defined POSIXTRACE_WEAK || defined __OPTIMIZE__
__posixtrace_here __posixtrace_nothrow void
posix_trace_event(trace_event_id_t __id, const void *__posixtrace_restrict __data, size_t __len)
{
	long __index;
#if defined POSIXTRACE_WEAK
	if (!posixtrace_event)
		return;
#endif
	__index = __atomic_load_n(posixtrace_hot.index, __ATOMIC_RELAXED);
	if (__builtin_expect(__atomic_load_n(posixtrace_hot.base + __index, __ATOMIC_RELAXED) != 0, 0))
		posixtrace_event(__id, __data, __len);
}
#endif

#if defined POSIXTRACE_WEAK
__posixtrace_here __posixtrace_nothrow int
posix_trace_eventid_open(const char *__posixtrace_restrict __name,
			 trace_event_id_t *__posixtrace_restrict __id)
{
	if (posixtrace_eventid_open)
		return posixtrace_eventid_open(__name, __id);
	*__id = POSIX_TRACE_UNNAMED_USER_EVENT;
	return 0;
}
#endif
#undef __posixtrace_here
#endif

/*
 * Whether the library is there. Without it, a program compiled with POSIXTRACE_WEAK runs, and its
 * trace points do nothing. It asks before it calls any other function. Extension.
 */
static __posixtrace_inline __posixtrace_unused int posixtrace_present(void)
{
#if defined POSIXTRACE_WEAK
	return posix_trace_attr_init != 0;
#else
	return 1;
#endif
}

/* sysconf() with answers for the names of tracing, to which the C library's says -1. */
static __posixtrace_inline __posixtrace_unused long posixtrace_sysconf(int __name)
{
	switch (__name) {
	case _SC_TRACE:
		return _POSIX_TRACE;
	case _SC_TRACE_EVENT_FILTER:
		return _POSIX_TRACE_EVENT_FILTER;
	case _SC_TRACE_INHERIT:
		return _POSIX_TRACE_INHERIT;
	case _SC_TRACE_LOG:
		return _POSIX_TRACE_LOG;
	case _SC_TRACE_EVENT_NAME_MAX:
		return TRACE_EVENT_NAME_MAX;
	case _SC_TRACE_NAME_MAX:
		return TRACE_NAME_MAX;
	case _SC_TRACE_SYS_MAX:
		return TRACE_SYS_MAX;
	case _SC_TRACE_USER_EVENT_MAX:
		return TRACE_USER_EVENT_MAX;
	}
	return sysconf(__name);
}
#if !defined POSIXTRACE_NO_SYSCONF
#define sysconf(name) posixtrace_sysconf(name)
#endif

#ifdef __cplusplus
}
#endif
#if defined __GNUC__
#pragma GCC visibility pop
#endif

#undef __posixtrace_inline
#undef __posixtrace_restrict
#undef __posixtrace_nothrow
#undef __posixtrace_unused
#undef __posixtrace_weak
#undef __posixtrace_plain

#endif
