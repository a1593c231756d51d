#ifndef PXT_PATTERNS_H
#define PXT_PATTERNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

/* Whether name matches a pattern, in which * matches any bytes and ? one. */
bool pxt_match(const char *pattern, size_t plen, const char *name, size_t len);
/* Applies the patterns of a stream to a name before its id is published. */
void pxt_decide(struct pxt_header *h, uint32_t id, const char *name, size_t len);

#endif
