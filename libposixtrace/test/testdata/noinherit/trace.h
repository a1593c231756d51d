/* An implementation without Trace Inherit, as PSE52 asks for: libposixtrace with that option hidden. */
#ifndef NOINHERIT_TRACE_H
#define NOINHERIT_TRACE_H

#include_next <trace.h>

#undef _POSIX_TRACE_INHERIT
#define _POSIX_TRACE_INHERIT -1L
#undef POSIX_TRACE_CLOSE_FOR_CHILD
#undef POSIX_TRACE_INHERITED
#define posix_trace_attr_getinherited missing_getinherited
#define posix_trace_attr_setinherited missing_setinherited

static __inline__ long noinherit_sysconf(int name)
{
	return name == _SC_TRACE_INHERIT ? -1 : sysconf(name);
}
#undef sysconf
#define sysconf(name) noinherit_sysconf(name)

#endif
