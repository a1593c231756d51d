/* What the opaque types of <trace.h> hold. */
#ifndef PXT_ATTR_H
#define PXT_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#define PXT_GENERATION "posixtrace 1" /* as in pkg/posixtrace */
#define PXT_GENERATION_SIZE 64

/* The sizes that a program has set, a policy that it has not. */
enum { PXT_STREAM_SIZE_SET = 1, PXT_MAX_DATA_SET = 2, PXT_LOG_SIZE_SET = 4 };
enum { PXT_POLICY_DEFAULT = 0 };

struct pxt_attr {
	uint64_t magic;
	uint32_t set;
	uint32_t inherited;
	uint32_t stream_policy; /* PXT_POLICY_DEFAULT: the create function decides */
	uint32_t log_policy;
	uint64_t stream_size;
	uint64_t max_data;
	uint64_t log_size;
	struct timespec created; /* zero unless posix_trace_get_attr() filled the object */
	struct timespec clock_resolution;
	char generation[PXT_GENERATION_SIZE];
	char name[TRACE_NAME_MAX + 1];
} __attribute__((__may_alias__));
_Static_assert(sizeof(struct pxt_attr) <= sizeof(trace_attr_t), "trace_attr_t");

/* The attributes of an object; NULL if it is not initialized or destroyed. */
const struct pxt_attr *pxt_attr_of(const trace_attr_t *object);

/* Initializes an object and returns its attributes, for posix_trace_get_attr() to change. */
struct pxt_attr *pxt_attr_new(trace_attr_t *object);

/* Stores a name of n bytes, cut if it is too long. */
void pxt_attr_name(struct pxt_attr *a, const char *name, size_t n);

struct pxt_set {
	uint64_t words[64];
} __attribute__((__may_alias__));
_Static_assert(sizeof(struct pxt_set) == sizeof(trace_event_set_t), "trace_event_set_t");

#endif
