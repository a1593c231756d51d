/*
 * The options of the implementation: TRI is 1 where programs can be compiled that use Trace Inherit, else 0,
 * and so on. Where an option is missing, its functions and constants end the test here, as "not
 * supported": a program that uses them compiles and links all the same.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

/* What the header says of an option, and -1 where it says nothing. */
#ifdef _POSIX_TRACE
#define SAID_TRC _POSIX_TRACE
#else
#define SAID_TRC -1L
#endif
#ifdef _POSIX_TRACE_EVENT_FILTER
#define SAID_TEF _POSIX_TRACE_EVENT_FILTER
#else
#define SAID_TEF -1L
#endif
#ifdef _POSIX_TRACE_LOG
#define SAID_TRL _POSIX_TRACE_LOG
#else
#define SAID_TRL -1L
#endif
#ifdef _POSIX_TRACE_INHERIT
#define SAID_TRI _POSIX_TRACE_INHERIT
#else
#define SAID_TRI -1L
#endif

#if defined _POSIX_TRACE_EVENT_FILTER && _POSIX_TRACE_EVENT_FILTER >= 0
#define TEF 1
#else
#define TEF 0
#endif
#if defined _POSIX_TRACE_LOG && _POSIX_TRACE_LOG >= 0
#define TRL 1
#else
#define TRL 0
#endif
#if defined _POSIX_TRACE_INHERIT && _POSIX_TRACE_INHERIT >= 0
#define TRI 1
#else
#define TRI 0
#endif

/* Ends the test: an option is missing. */
int not_supported(const char *option);

/* The function that stands in for one of a missing option. */
#define MISSING(option, function, ...)                                                    \
	__attribute__((unused)) static int missing_##function(__VA_ARGS__)                \
	{                                                                                 \
		return not_supported(option);                                             \
	}

/* For attributes that a test sets only to see them again. */
#if TRI
#define INHERIT POSIX_TRACE_INHERITED
#else
#define INHERIT 0
MISSING("TRI", getinherited, const trace_attr_t *a, int *b)
MISSING("TRI", setinherited, trace_attr_t *a, int b)
#undef posix_trace_attr_getinherited
#undef posix_trace_attr_setinherited
#define posix_trace_attr_getinherited missing_getinherited
#define posix_trace_attr_setinherited missing_setinherited
#undef POSIX_TRACE_INHERITED
#undef POSIX_TRACE_CLOSE_FOR_CHILD
#define POSIX_TRACE_INHERITED not_supported("TRI")
#define POSIX_TRACE_CLOSE_FOR_CHILD not_supported("TRI")
#endif

#if !TRL
MISSING("TRL", create_withlog, pid_t a, const trace_attr_t *b, int c, trace_id_t *d)
MISSING("TRL", flush, trace_id_t a)
MISSING("TRL", open, int a, trace_id_t *b)
MISSING("TRL", close, trace_id_t a)
MISSING("TRL", rewind, trace_id_t a)
MISSING("TRL", getlogfullpolicy, const trace_attr_t *a, int *b)
MISSING("TRL", setlogfullpolicy, trace_attr_t *a, int b)
MISSING("TRL", getlogsize, const trace_attr_t *a, size_t *b)
MISSING("TRL", setlogsize, trace_attr_t *a, size_t b)
#undef posix_trace_create_withlog
#undef posix_trace_flush
#undef posix_trace_open
#undef posix_trace_close
#undef posix_trace_rewind
#undef posix_trace_attr_getlogfullpolicy
#undef posix_trace_attr_setlogfullpolicy
#undef posix_trace_attr_getlogsize
#undef posix_trace_attr_setlogsize
#define posix_trace_create_withlog missing_create_withlog
#define posix_trace_flush missing_flush
#define posix_trace_open missing_open
#define posix_trace_close missing_close
#define posix_trace_rewind missing_rewind
#define posix_trace_attr_getlogfullpolicy missing_getlogfullpolicy
#define posix_trace_attr_setlogfullpolicy missing_setlogfullpolicy
#define posix_trace_attr_getlogsize missing_getlogsize
#define posix_trace_attr_setlogsize missing_setlogsize
#undef POSIX_TRACE_FLUSH
#undef POSIX_TRACE_APPEND
#undef POSIX_TRACE_FLUSHING
#undef POSIX_TRACE_NOT_FLUSHING
#undef POSIX_TRACE_FLUSH_START
#undef POSIX_TRACE_FLUSH_STOP
#define POSIX_TRACE_FLUSH not_supported("TRL")
#define POSIX_TRACE_APPEND not_supported("TRL")
#define POSIX_TRACE_FLUSHING not_supported("TRL")
#define POSIX_TRACE_NOT_FLUSHING not_supported("TRL")
#define POSIX_TRACE_FLUSH_START (trace_event_id_t)not_supported("TRL")
#define POSIX_TRACE_FLUSH_STOP (trace_event_id_t)not_supported("TRL")
/* Members: these macros make another member of them, whose value is not used. */
#undef posix_stream_flush_status
#define posix_stream_flush_status posix_stream_status + not_supported("TRL")
#undef posix_stream_flush_error
#define posix_stream_flush_error posix_stream_status + not_supported("TRL")
#undef posix_log_overrun_status
#define posix_log_overrun_status posix_stream_status + not_supported("TRL")
#undef posix_log_full_status
#define posix_log_full_status posix_stream_status + not_supported("TRL")
#endif

#if !TEF
/* A type of our own: the implementation need not have it. */
typedef struct {
	char none;
} missing_set;
#undef trace_event_set_t
#define trace_event_set_t missing_set
MISSING("TEF", eventset_add, trace_event_id_t a, missing_set *b)
MISSING("TEF", eventset_del, trace_event_id_t a, missing_set *b)
MISSING("TEF", eventset_empty, missing_set *a)
MISSING("TEF", eventset_fill, missing_set *a, int b)
MISSING("TEF", eventset_ismember, trace_event_id_t a, const missing_set *b, int *c)
MISSING("TEF", get_filter, trace_id_t a, missing_set *b)
MISSING("TEF", set_filter, trace_id_t a, const missing_set *b, int c)
MISSING("TEF", trid_eventid_open, trace_id_t a, const char *b, trace_event_id_t *c)
#undef posix_trace_eventset_add
#undef posix_trace_eventset_del
#undef posix_trace_eventset_empty
#undef posix_trace_eventset_fill
#undef posix_trace_eventset_ismember
#undef posix_trace_get_filter
#undef posix_trace_set_filter
#undef posix_trace_trid_eventid_open
#define posix_trace_eventset_add missing_eventset_add
#define posix_trace_eventset_del missing_eventset_del
#define posix_trace_eventset_empty missing_eventset_empty
#define posix_trace_eventset_fill missing_eventset_fill
#define posix_trace_eventset_ismember missing_eventset_ismember
#define posix_trace_get_filter missing_get_filter
#define posix_trace_set_filter missing_set_filter
#define posix_trace_trid_eventid_open missing_trid_eventid_open
#undef POSIX_TRACE_FILTER
#undef POSIX_TRACE_WOPID_EVENTS
#undef POSIX_TRACE_SYSTEM_EVENTS
#undef POSIX_TRACE_ALL_EVENTS
#undef POSIX_TRACE_SET_EVENTSET
#undef POSIX_TRACE_ADD_EVENTSET
#undef POSIX_TRACE_SUB_EVENTSET
#define POSIX_TRACE_FILTER (trace_event_id_t)not_supported("TEF")
#define POSIX_TRACE_WOPID_EVENTS not_supported("TEF")
#define POSIX_TRACE_SYSTEM_EVENTS not_supported("TEF")
#define POSIX_TRACE_ALL_EVENTS not_supported("TEF")
#define POSIX_TRACE_SET_EVENTSET not_supported("TEF")
#define POSIX_TRACE_ADD_EVENTSET not_supported("TEF")
#define POSIX_TRACE_SUB_EVENTSET not_supported("TEF")
#endif

#endif
