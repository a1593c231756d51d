/* Calls: requests to the agent and its answers. See agent.h. */
#include "agent.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "kernel.h"

/* Registers a call with the agent, which then does not end for lack of use. */
static bool come(struct pxt_channel *ch)
{
	if (pxt_agent_alive(ch) && !(atomic_fetch_add(&ch->gate, 1) & PXT_W_Leaving))
		return true;
	return false;
}

/* The last calls are kept for those that do not wait for events. */
enum { FOR_OTHERS = 8 };

/*
 * Takes a call for this thread. A call that the thread owns already is one that it has left by a jump
 * out of a signal handler.
 */
static struct pxt_call *take(struct pxt_channel *ch, uint32_t op)
{
	uint32_t me = pxt_gettid(), n = op == PXT_W_OpNext ? PXT_W_Calls - FOR_OTHERS : PXT_W_Calls;
	while (pxt_agent_alive(ch)) {
		for (uint32_t i = 0; i < n; i++) {
			struct pxt_call *c = &ch->call[(me + i) % n];
			uint32_t is = atomic_load(&c->owner), s;
			if (is != me && (is != 0 || !atomic_compare_exchange_strong(&c->owner, &is, me)))
				continue;
			for (;;) {
				s = atomic_load(&c->state);
				if ((s & PXT_W_StateMask) == PXT_W_Idle || (s & PXT_W_StateMask) == PXT_W_Done)
					return c;
				if ((s & PXT_W_StateMask) == PXT_W_Parked &&
				    atomic_compare_exchange_strong(&c->state, &s, s & ~(uint32_t)PXT_W_StateMask))
					return c;
				if (!pxt_agent_alive(ch))
					return NULL;
				pxt_agent_wait(ch, &c->state, s, NULL);
			}
		}
		pxt_sleep(1000000);
	}
	return NULL;
}

static int begin(struct pxt_use *u, uint32_t op, uint64_t trid, const void *site)
{
	struct pxt_call *c = take(u->link->ch, op);
	if (!c)
		return EIO;
	u->call = c;
	c->op = op;
	c->pid = pxt_getpid();
	c->tid = pxt_gettid();
	c->address = (uintptr_t)site;
	c->trid = trid;
	c->length = 0;
	memset(c->args, 0, sizeof c->args);
	return 0;
}

int pxt_call_begin(struct pxt_use *u, uint32_t op, uint64_t trid, const void *site)
{
	struct pxt_home *h = atomic_load(&pxt_home);
	int err;
	if (!h || !(u->link = pxt_link_hold(h)))
		return EINVAL;
	if (trid >> 32 != u->link->ch->key || !come(u->link->ch)) {
		pxt_link_let(h, u->link);
		return EINVAL;
	}
	err = begin(u, op, trid, site);
	if (err)
		pxt_link_let(h, u->link);
	return err;
}

int pxt_call_first(struct pxt_use *u, uint32_t op, const void *site)
{
	struct pxt_home *h = pxt_home_made();
	int err;
	if (!h)
		return ENOMEM;
	for (int tries = 0; tries < 8; tries++) {
		err = pxt_link_start(h, u);
		if (err)
			return err;
		if (come(u->link->ch)) {
			err = begin(u, op, 0, site);
			if (!err)
				return 0;
		}
		pxt_link_let(h, u->link); /* the agent has ended since */
	}
	return EIO;
}

void pxt_call_end(struct pxt_use *u)
{
	struct pxt_channel *ch = u->link->ch;
	uint32_t s = atomic_load(&u->call->state);
	if (pxt_agent_alive(ch) || (s & PXT_W_StateMask) == PXT_W_Done)
		atomic_store(&u->call->state, s & ~(uint32_t)PXT_W_StateMask);
	atomic_store(&u->call->owner, 0);
	atomic_fetch_sub(&ch->gate, 1);
	pxt_link_let(atomic_load(&pxt_home), u->link);
}

static void ask(struct pxt_use *u)
{
	struct pxt_channel *ch = u->link->ch;
	u->asked = ((atomic_load(&u->call->state) & ~(uint32_t)PXT_W_StateMask) + PXT_W_StateStep) | PXT_W_Asked;
	atomic_store(&u->call->state, u->asked);
	atomic_fetch_or(&ch->pending, UINT64_C(1) << (u->call - ch->call));
	pxt_agent_ring(ch);
}

/*
 * Waits until the call's state is not the given one. false: the agent has ended before. interrupted, if
 * not NULL, reports whether a signal handler ran meanwhile that does not restart calls.
 */
static bool changed(struct pxt_use *u, uint32_t state, bool *interrupted)
{
	struct pxt_channel *ch = u->link->ch;
	if (pxt_agent_answers_soon(ch, &u->call->state, state))
		return true;
	while (atomic_load(&u->call->state) == state) {
		if (!pxt_agent_alive(ch))
			return atomic_load(&u->call->state) != state;
		if (pxt_agent_wait(ch, &u->call->state, state, NULL) == EINTR && interrupted)
			*interrupted = true;
	}
	return true;
}

/* Waits for the answer from any state. */
static int answer(struct pxt_use *u)
{
	for (;;) {
		uint32_t s = atomic_load(&u->call->state);
		if ((s & PXT_W_StateMask) == PXT_W_Done)
			return (int)u->call->err;
		if (!changed(u, s, NULL))
			return EIO;
	}
}

int pxt_call_run(struct pxt_use *u)
{
	ask(u);
	return answer(u);
}

/* Takes a parked call back. false: the answer comes. */
static bool leave(struct pxt_use *u)
{
	uint32_t parked = (u->asked & ~(uint32_t)PXT_W_StateMask) | PXT_W_Parked;
	return atomic_compare_exchange_strong(&u->call->state, &parked, parked & ~(uint32_t)PXT_W_StateMask);
}

/* The thread was cancelled while it waited. It has no event. */
static void cancelled(void *arg)
{
	struct pxt_use *u = arg;
	if (!leave(u))
		answer(u);
	pxt_call_end(u);
}

/* The wait is a cancellation point, and the only one of this library. */
static int wait_parked(struct pxt_use *u, uint32_t state, const struct timespec *deadline)
{
	int err, type;
	pthread_cleanup_push(cancelled, u);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	err = pxt_agent_wait(u->link->ch, &u->call->state, state, deadline);
	pthread_setcanceltype(type, NULL);
	pthread_cleanup_pop(0);
	return err;
}

/*
 * Waits while the call is parked. An error number if the wait ended otherwise, and the call is taken back
 * then if *left.
 */
static int wait_for_event(struct pxt_use *u, const struct timespec *deadline, bool interrupted, bool *left)
{
	uint32_t parked = (u->asked & ~(uint32_t)PXT_W_StateMask) | PXT_W_Parked;
	int err = 0;
	if (atomic_load(&u->call->state) == parked && deadline &&
	    (deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000))
		err = EINVAL;
	else if (deadline && deadline->tv_sec < 0)
		err = ETIMEDOUT; /* the kernel refuses such a time */
	else if (interrupted)
		err = EINTR; /* before the request had reached the agent, which may be slow */
	while (!err && atomic_load(&u->call->state) == parked && pxt_agent_alive(u->link->ch))
		err = wait_parked(u, parked, deadline);
	*left = err && leave(u);
	return err;
}

int pxt_call_read(struct pxt_use *u, uint64_t size, const struct timespec *deadline)
{
	for (;;) {
		bool interrupted = false, left;
		int err, result;
		u->call->args[0] = size;
		ask(u);
		if (!changed(u, u->asked, &interrupted))
			return EIO;
		err = wait_for_event(u, deadline, interrupted, &left);
		if (left)
			return err;
		result = answer(u);
		if (result || u->call->args[0] != PXT_W_Again)
			return result;
		/* There was an event. Unless another thread has it by now, it counts more than the end of the wait. */
		if (err) {
			u->call->op = PXT_W_OpTryNext;
			u->call->args[0] = size;
			result = pxt_call_run(u);
			return result || u->call->args[0] == PXT_W_Event ? result : err;
		}
	}
}

int pxt_call_simple(uint32_t op, uint64_t trid, const void *site)
{
	struct pxt_use u;
	int err = pxt_call_begin(&u, op, trid, site);
	if (err)
		return err;
	err = pxt_call_run(&u);
	pxt_call_end(&u);
	return err;
}

int pxt_send_descriptor(struct pxt_use *u, int fd, uint64_t *number)
{
	*number = atomic_fetch_add(&atomic_load(&pxt_home)->numbers, 1) + 1;
	return pxt_agent_pass(u->link->ch, fd, *number);
}
