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

#if defined _POSIX_TRACE_INHERIT && _POSIX_TRACE_INHERIT >= 0
#define TRI 1
#else
#define TRI 0
#endif

/* Ends the test: an option is missing. */
int not_supported(const char *option);

/* For attributes that a test sets only to see them again. */
#if TRI
#define INHERIT POSIX_TRACE_INHERITED
#else
#define INHERIT 0
#undef POSIX_TRACE_INHERITED
#undef POSIX_TRACE_CLOSE_FOR_CHILD
#undef posix_trace_attr_getinherited
#undef posix_trace_attr_setinherited
#define POSIX_TRACE_INHERITED not_supported("TRI")
#define POSIX_TRACE_CLOSE_FOR_CHILD not_supported("TRI")
#define posix_trace_attr_getinherited(attr, to) ((void)(attr), (void)(to), not_supported("TRI"))
#define posix_trace_attr_setinherited(attr, to) ((void)(attr), (void)(to), not_supported("TRI"))
#endif

#endif
