/* The files whose code this process has mapped: ownmaps.go and internal/loaded of the Go package. */
#ifndef PXT_MAPPINGS_H
#define PXT_MAPPINGS_H

#include "stream.h"

/* What this process has mapped. The caller is in a slow path. NULL if there is no memory. */
const struct pxt_maps *pxt_own_maps(void);

/*
 * How often this process has loaded or unloaded a library. Not async-signal-safe: the dynamic linker
 * has a lock.
 */
void pxt_maps_count(void);

/* Adds what was loaded since, by the count. The caller is in a slow path. */
void pxt_maps_again(void);

#endif
