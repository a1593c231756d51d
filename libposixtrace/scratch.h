/*
 * Slow paths: connecting to streams, registering names. They hold a lock, keep signals blocked, and
 * work in memory that they map for the moment, because a trace point may run on a signal stack of
 * a few kilobytes.
 */
#ifndef PXT_SCRATCH_H
#define PXT_SCRATCH_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "proc.h"
#include "survey.h"

#define PXT_MAX_DEPTH 128 /* of the walk up the ancestors */

/* A stream that is attached to a process. */
struct pxt_entry {
	uint64_t stream;
	uint32_t flags; /* PXT_PG_Self ... */
	uint64_t attached;
};

struct pxt_scratch {
	uint64_t signals;
	int saved_errno;
	_Atomic uint32_t *lock;
	int guards[3]; /* descriptors that keep ours above 2 */
	unsigned nguards;

	/* The trace directory. */
	int dir; /* -1: not open */
	int dir_err; /* why */

	struct pxt_proc self;
	uint64_t pidns;
	uint8_t boot[16];
	uint32_t euid;
	bool secure; /* since pxt_dir_open: the program has rights that the one that executed it may lack */
	struct pxt_stat own; /* what /proc says of this process; pid 0: not read yet */
	struct pxt_survey survey; /* of the directory */
	uint64_t founded;	  /* the family that this process has just founded */
	unsigned depth;		  /* of pxt_chain */
	uint8_t record[512];	  /* of a name that is added */

	/* The path of dir. What is above and its beginning share a page, as a rule one of two that are used. */
	char dirpath[PATH_MAX];

	/* Scratch memory, each of one function and those it calls. */
	char path[PATH_MAX], path2[PATH_MAX];
	_Alignas(8) char dents[3][PXT_DENTS];
	struct pxt_stat ancestors[PXT_MAX_DEPTH]; /* see pxt_chain */
	struct pxt_entry entries[4][PXT_PG_MaxStreams];
	_Alignas(8) uint8_t page[PXT_PG_pageSize];
	uint8_t records[8192];
};

/* This process, i is 0, and its ancestors, nearest first, up to r->depth. */
static inline struct pxt_stat *pxt_chain(struct pxt_scratch *r, unsigned i)
{
	return i == 0 ? &r->own : &r->ancestors[i - 1];
}

/* The variables of the environment that matter, as captured. */
enum pxt_var { PXT_VAR_DIR, PXT_VAR_STREAM, PXT_VAR_RUNTIME, PXT_VAR_TMP, PXT_VARS };

/*
 * Copies the environment. A trace point must not read it, since another thread may be changing it;
 * functions that are not async-signal-safe do before they enter a slow path.
 */
void pxt_env_capture(void);
const char *pxt_env(enum pxt_var v); /* "" if it is not set */

/*
 * Makes path, which is absolute, the trace directory of this process from now on; "" if the variables name
 * none. The first call decides: a later change of the environment is for programs that this one executes.
 */
void pxt_env_keep_dir(const char *path);

/*
 * Enters a slow path: takes the lock, and maps the scratch memory. NULL if the lock cannot be had, because this
 * thread has it or its holder does not continue, or if there is no memory. try: does not wait.
 */
struct pxt_scratch *pxt_enter(_Atomic uint32_t *lock, bool try);
void pxt_leave(struct pxt_scratch *r);

/* The lock alone, without waiting. */
bool pxt_lock_slow(_Atomic uint32_t *lock);
void pxt_unlock_slow(_Atomic uint32_t *lock);

#endif
