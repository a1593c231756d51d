/* The names of a family of processes: internal/registry's names.go and namesfile.go. */
#ifndef PXT_NAMES_H
#define PXT_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scratch.h"

/*
 * No function waits for the lock of the names. The process knows the names of one family at a time.
 *
 * The id of a user event name in a family. A new name is added, and counted in *used, unless that is most
 * already; then its id is PXT_EV_Unnamed. 0 or a negative error number, EAGAIN if another process has the
 * lock.
 */
int pxt_names_id(struct pxt_scratch *r, uint64_t family, const char *name, size_t len, _Atomic uint32_t *used,
		 uint32_t most, uint32_t *id);

/* Whether the family has a name for a user id. */
bool pxt_names_have(struct pxt_scratch *r, uint64_t family, uint32_t id);

/*
 * For a process without a page: write the names that it is to begin with to the file of its family.
 * *lock is a locked descriptor, so that no sweep removes the file before a page refers to it, or -1.
 */
int pxt_names_inherit(struct pxt_scratch *r, uint64_t family, int *lock); /* those of its parent */
int pxt_names_restore(struct pxt_scratch *r, uint64_t family, int removed, int *lock);
void pxt_names_unlock(int lock);

/* A child of fork begins with the names of its parent, even if that has ended. */
void pxt_names_before_fork(void);
void pxt_names_after_fork(struct pxt_scratch *r, uint64_t family);

/* The id of a predefined type, 0 if there is none of that name. */
uint32_t pxt_predefined(const char *name, size_t len);

/* patterns.c: applies the filters of the family's streams to a name that is not yet published. */
void pxt_patterns_apply(struct pxt_scratch *r, uint64_t family, uint32_t id, const char *name, size_t len);

#endif
