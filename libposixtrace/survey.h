/*
 * What the trace directory holds, from one listing. A process takes it before it makes its page: what
 * it may inherit, and what earlier processes have left behind.
 */
#ifndef PXT_SURVEY_H
#define PXT_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "proc.h"

#define PXT_DEAD 8 /* how many pages of dead processes it keeps */

struct pxt_scratch;

struct pxt_survey {
	/* The earliest start of a process that has a page and may be an ancestor; UINT64_MAX: none has. */
	uint64_t oldest;
	/* Whether there is a page of the number of our process group's leader, and of our session's. */
	bool group, session;

	unsigned pages, streams, names; /* how many there are */
	unsigned dead;			/* pages whose process is gone for certain */
	struct pxt_proc chosen[PXT_DEAD]; /* some of those */
};

/* Fills r->survey for the process r->own. */
void pxt_survey(struct pxt_scratch *r);

#endif
