/* What libposixtrace says of itself to the programs of the conformance suite: see conform.h. */
#ifndef OURS_H
#define OURS_H

#include "../parked.h"

#define LOST_OF(st) ((long)(st).posixtrace_lost)
#define LOG_LOST_OF(st) ((long)(st).posixtrace_log_lost)
#define COUNTS 1
#define STREAMS_NOW() files_in_trace_directory("s-")
#define WAITS(thread) parked(thread)
#define USER_ENVIRONMENT(uid) user_environment(uid)

int files_in_trace_directory(const char *prefix);
const char *user_environment(int uid);

#endif
