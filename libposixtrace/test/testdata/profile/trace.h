/*
 * An implementation that lacks options: libposixtrace with them hidden. -DHIDE_INHERIT leaves what PSE52 asks
 * for; HIDE_LOG and HIDE_EVENT_FILTER hide the others.
 */
#ifndef PROFILE_TRACE_H
#define PROFILE_TRACE_H

#include_next <trace.h>

static __inline__ long profile_sysconf(int name)
{
	switch (name) {
#if defined HIDE_INHERIT
	case _SC_TRACE_INHERIT:
		return -1;
#endif
#if defined HIDE_LOG
	case _SC_TRACE_LOG:
		return -1;
#endif
#if defined HIDE_EVENT_FILTER
	case _SC_TRACE_EVENT_FILTER:
		return -1;
#endif
	}
	return sysconf(name);
}
#undef sysconf
#define sysconf(name) profile_sysconf(name)

#if defined HIDE_INHERIT
#undef _POSIX_TRACE_INHERIT
#define _POSIX_TRACE_INHERIT -1L
#undef POSIX_TRACE_CLOSE_FOR_CHILD
#undef POSIX_TRACE_INHERITED
#define posix_trace_attr_getinherited hidden_getinherited
#define posix_trace_attr_setinherited hidden_setinherited
#endif

#if defined HIDE_LOG
#undef _POSIX_TRACE_LOG
#undef POSIX_TRACE_FLUSH
#undef POSIX_TRACE_APPEND
#undef POSIX_TRACE_FLUSHING
#undef POSIX_TRACE_NOT_FLUSHING
#undef POSIX_TRACE_FLUSH_START
#undef POSIX_TRACE_FLUSH_STOP
#define posix_trace_create_withlog hidden_create_withlog
#define posix_trace_flush hidden_flush
#define posix_trace_open hidden_open
#define posix_trace_close hidden_close
#define posix_trace_rewind hidden_rewind
#define posix_trace_attr_getlogfullpolicy hidden_getlogfullpolicy
#define posix_trace_attr_setlogfullpolicy hidden_setlogfullpolicy
#define posix_trace_attr_getlogsize hidden_getlogsize
#define posix_trace_attr_setlogsize hidden_setlogsize
#define posix_stream_flush_status hidden_flush_status
#define posix_stream_flush_error hidden_flush_error
#define posix_log_overrun_status hidden_log_overrun_status
#define posix_log_full_status hidden_log_full_status
#endif

#if defined HIDE_EVENT_FILTER
#undef _POSIX_TRACE_EVENT_FILTER
#undef POSIX_TRACE_FILTER
#undef POSIX_TRACE_WOPID_EVENTS
#undef POSIX_TRACE_SYSTEM_EVENTS
#undef POSIX_TRACE_ALL_EVENTS
#undef POSIX_TRACE_SET_EVENTSET
#undef POSIX_TRACE_ADD_EVENTSET
#undef POSIX_TRACE_SUB_EVENTSET
#define posix_trace_eventset_add hidden_eventset_add
#define posix_trace_eventset_del hidden_eventset_del
#define posix_trace_eventset_empty hidden_eventset_empty
#define posix_trace_eventset_fill hidden_eventset_fill
#define posix_trace_eventset_ismember hidden_eventset_ismember
#define posix_trace_get_filter hidden_get_filter
#define posix_trace_set_filter hidden_set_filter
#define posix_trace_trid_eventid_open hidden_trid_eventid_open
#define trace_event_set_t hidden_event_set_t
#endif

#endif
