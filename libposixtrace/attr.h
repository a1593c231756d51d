/* What the opaque types of <trace.h> hold. */
#ifndef PXT_ATTR_H
#define PXT_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "layout.h"

struct pxt_attr {
	uint64_t magic;
	uint64_t set; /* a bit for each attribute that a program has set */
	struct pxt_attributes of;
} __attribute__((__may_alias__));
_Static_assert(sizeof(struct pxt_attr) <= sizeof(trace_attr_t), "trace_attr_t");

/* The attributes of an object; NULL if it is not initialized or destroyed. */
const struct pxt_attr *pxt_attr_of(const trace_attr_t *object);

/* Initializes an object and returns its attributes, for posix_trace_get_attr() to change. */
struct pxt_attr *pxt_attr_new(trace_attr_t *object);

struct pxt_set {
	uint64_t words[64];
} __attribute__((__may_alias__));
_Static_assert(sizeof(struct pxt_set) == sizeof(trace_event_set_t), "trace_event_set_t");

#endif
