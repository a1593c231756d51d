/*
 * The client of the agent, a process that creates, controls and reads streams for this one: see
 * posix_trace_create(3). The two share memory, the channel, whose layout is in wire.h.
 *
 * This process keeps no descriptor for it. A mapping of the channel holds a file lock: the agent
 * gets the lock when this program ends or executes another one. The kernel marks the channel when
 * the agent ends. Both happen in any kind of death.
 */
#ifndef PXT_AGENT_H
#define PXT_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "wire.h"

/* A channel and the number of its users in this process. */
struct pxt_link {
	struct pxt_channel *ch;
	uint32_t users;
	bool retired; /* no new users: the last one unmaps it */
};

/* A log that is read in batches. */
struct pxt_log {
	_Atomic uint32_t lock;
	uint64_t trid; /* 0: none */
	struct pxt_link *link;
	uint32_t taken;	   /* batches behind this reader */
	bool inside;	   /* it is inside the batch after them */
	bool ended;	   /* that batch is the last */
	uint32_t err;	   /* of reading behind it */
	const uint8_t *at; /* the next item */
	const uint8_t *end;
};

/* A name that was asked for. An analyzer asks for the same names again and again. */
struct pxt_name {
	uint64_t trid;
	uint32_t id, length;
	char text[PXT_W_NameSize];
};

/*
 * What this process knows of its agents. A child of fork finds it empty: the identifiers, locks and
 * agents of its parent are not its own.
 */
struct pxt_home {
	_Atomic uint32_t lock;	   /* of links, now, names and forgotten */
	_Atomic uint32_t starting; /* one thread at a time starts an agent */
	_Atomic uint64_t numbers;  /* of descriptors sent */
	uint32_t former;	   /* the process of the last agent that has died, or 0 */
	struct pxt_link *now;	   /* the channel for new identifiers */
	struct pxt_link links[8];
	struct pxt_log readers[PXT_W_Areas];
	uint32_t forgotten; /* how often names were */
	struct pxt_name names[64];
};
extern _Atomic(struct pxt_home *) pxt_home; /* NULL before the first need */

/* A call under way. */
struct pxt_use {
	struct pxt_link *link;
	struct pxt_call *call;
	uint32_t asked; /* the call's state when it was asked */
};

/*
 * Begins a call with the trace identifier trid, of the trace point site. 0 or an error number: EINVAL
 * if the identifier is not this process's, or its agent has ended. The caller fills the request,
 * whose arguments are zero, runs it, takes the answer, and ends the call.
 */
int pxt_call_begin(struct pxt_use *u, uint32_t op, uint64_t trid, const void *site);

/* Begins a call that makes a trace identifier, and starts the agent if there is none. */
int pxt_call_first(struct pxt_use *u, uint32_t op, const void *site);

/* Sends the request and waits for the answer. The agent's error number, or EIO if it has ended. */
int pxt_call_run(struct pxt_use *u);

/*
 * pxt_call_run() for a reader call that takes at most so many bytes of data. If no event is ready it waits
 * for one: until a handler that does not restart calls has run (EINTR), or until the deadline, unless that is
 * NULL (ETIMEDOUT, EINVAL).
 */
int pxt_call_read(struct pxt_use *u, uint64_t size, const struct timespec *deadline);

void pxt_call_end(struct pxt_use *u);

/* A call without further arguments and results. */
int pxt_call_simple(uint32_t op, uint64_t trid, const void *site);

/* names_cache.c: get copies a name of *length bytes, if it is known. *when goes back to keep. */
bool pxt_name_get(uint64_t trid, uint32_t id, char *text, size_t *length, uint32_t *when);
void pxt_name_keep(uint64_t trid, uint32_t id, const char *text, size_t length, uint32_t when);
void pxt_name_forget(uint64_t trid); /* the identifier becomes invalid */

/* Gives the agent a descriptor, which a request names by the number. 0 or an error number. */
int pxt_send_descriptor(struct pxt_use *u, int fd, uint64_t *number);

/* The reader of an identifier, locked; NULL if its events come one by one. */
struct pxt_log *pxt_log_lock(uint64_t trid);
void pxt_log_unlock(struct pxt_log *r);
void pxt_log_open(struct pxt_use *u, uint64_t trid);
void pxt_log_close(struct pxt_log *r); /* unlocks */
void pxt_log_rewind(struct pxt_log *r);

/* The next item of a reader: 0 and NULL at the end, or an error number. */
int pxt_log_next(struct pxt_log *r, const struct pxt_item **item);

/* home.c */
void pxt_lock(_Atomic uint32_t *word);
void pxt_unlock(_Atomic uint32_t *word);
struct pxt_home *pxt_home_made(void);			  /* NULL: no memory */
struct pxt_link *pxt_link_hold(struct pxt_home *h);	  /* a use of the channel for new identifiers, or NULL */
void pxt_link_let(struct pxt_home *h, struct pxt_link *l); /* ends a use */

/* agents.c */
int pxt_link_start(struct pxt_home *h, struct pxt_use *u); /* a use of a channel whose agent works */

/* wait.c: waits until a word of the channel is not value, or the agent has ended. 0, EINTR or ETIMEDOUT. */
int pxt_agent_wait(struct pxt_channel *ch, _Atomic uint32_t *word, uint32_t value, const struct timespec *deadline);
bool pxt_agent_answers_soon(struct pxt_channel *ch, _Atomic uint32_t *word, uint32_t value);
void pxt_agent_ring(struct pxt_channel *ch);
bool pxt_agent_alive(struct pxt_channel *ch);

/* spawn.c: starts the agent, in place of another one that has died unless former is 0. 0 or an error number. */
int pxt_agent_start(struct pxt_channel **ch, uint32_t former);
int pxt_agent_pass(struct pxt_channel *ch, int fd, uint64_t number);

#endif
