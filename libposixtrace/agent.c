/* The client of the agent: channels, calls, waiting. See agent.h. */
#include "agent.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/*
 * What this process knows of its agents. A child of fork finds it empty: the identifiers, locks and
 * agents of its parent are not its own.
 */
struct home {
	_Atomic uint32_t lock;	   /* of links and now */
	_Atomic uint32_t starting; /* one thread at a time starts an agent */
	_Atomic uint64_t numbers;  /* of descriptors sent */
	struct pxt_link *now;	   /* the channel for new identifiers */
	struct pxt_link links[8];
	struct pxt_log readers[PXT_W_Areas];
};

static _Atomic(struct home *) home;

static void lock(_Atomic uint32_t *word)
{
	uint32_t is = 0;
	if (atomic_compare_exchange_strong(word, &is, 1))
		return;
	/* 2: some thread waits. */
	while (atomic_exchange(word, 2) != 0)
		pxt_futex_wait(word, 2, 0, false);
}

static void unlock(_Atomic uint32_t *word)
{
	if (atomic_exchange(word, 0) == 2)
		pxt_futex_wake(word, 1, false);
}

static struct home *home_made(void)
{
	struct home *h = atomic_load(&home), *none = NULL;
	void *mem = NULL;
	if (h)
		return h;
	if (pxt_map(&mem, sizeof *h, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1) < 0)
		return NULL;
	if (pxt_madvise(mem, sizeof *h, MADV_WIPEONFORK) == 0) {
		if (atomic_compare_exchange_strong(&home, &none, mem))
			return mem;
	}
	pxt_unmap(mem, sizeof *h);
	return none; /* another thread's */
}

bool pxt_agent_alive(struct pxt_channel *ch)
{
	uint32_t a = atomic_load(&ch->alive);
	return a != 0 && !(a & PXT_W_OwnerDied);
}

/* The caller holds h->lock. */
static void let_locked(struct pxt_link *l)
{
	if (--l->users == 0 && l->retired) {
		pxt_unmap(l->ch, sizeof *l->ch);
		l->ch = NULL;
	}
}

static void let(struct home *h, struct pxt_link *l)
{
	lock(&h->lock);
	let_locked(l);
	unlock(&h->lock);
}

/* The channel for new identifiers, NULL if there is none. */
static struct pxt_link *hold(struct home *h)
{
	struct pxt_link *l;
	lock(&h->lock);
	l = h->now;
	if (l)
		l->users++;
	unlock(&h->lock);
	return l;
}

/* Takes an agent that has ended, or is about to, out of use. */
static void retire(struct home *h, struct pxt_link *l)
{
	for (int i = 0; i < PXT_W_Areas; i++) {
		struct pxt_log *r = &h->readers[i];
		lock(&r->lock);
		if (r->trid && r->link == l)
			pxt_log_close(r);
		else
			unlock(&r->lock);
	}
	lock(&h->lock);
	l->retired = true;
	if (h->now == l)
		h->now = NULL;
	unlock(&h->lock);
}

/* Enters a new channel, whose first user is the caller. */
static struct pxt_link *enter(struct home *h, struct pxt_channel *ch)
{
	struct pxt_link *l = NULL;
	lock(&h->lock);
	for (int i = 0; i < 8 && !l; i++)
		if (!h->links[i].ch)
			l = &h->links[i];
	if (l) {
		*l = (struct pxt_link){.ch = ch, .users = 1};
		h->now = l;
	}
	unlock(&h->lock);
	return l;
}

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
	struct home *h = atomic_load(&home);
	int err;
	if (!h || !(u->link = hold(h)))
		return EINVAL;
	if (trid >> 32 != u->link->ch->key || !come(u->link->ch)) {
		let(h, u->link);
		return EINVAL;
	}
	err = begin(u, op, trid, site);
	if (err)
		let(h, u->link);
	return err;
}

/* Starts an agent, unless another thread has. The caller is a user of the channel. */
static int start(struct home *h, struct pxt_use *u)
{
	struct pxt_channel *ch;
	int err = 0;
	lock(&h->starting);
	u->link = hold(h);
	if (u->link && !(pxt_agent_alive(u->link->ch) && !(atomic_load(&u->link->ch->gate) & PXT_W_Leaving))) {
		retire(h, u->link);
		let(h, u->link);
		u->link = NULL;
	}
	if (!u->link && !(err = pxt_agent_start(&ch)) && !(u->link = enter(h, ch))) {
		pxt_unmap(ch, sizeof *ch);
		err = ENOMEM;
	}
	unlock(&h->starting);
	return err;
}

int pxt_call_first(struct pxt_use *u, uint32_t op, const void *site)
{
	struct home *h = home_made();
	int err;
	if (!h)
		return ENOMEM;
	for (int tries = 0; tries < 8; tries++) {
		err = start(h, u);
		if (err)
			return err;
		if (come(u->link->ch)) {
			err = begin(u, op, 0, site);
			if (!err)
				return 0;
		}
		let(h, u->link); /* the agent has ended since */
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
	let(atomic_load(&home), u->link);
}

static void ring(struct pxt_channel *ch)
{
	atomic_fetch_add(&ch->bell, 1);
	if (atomic_load(&ch->asleep))
		pxt_futex_wake(&ch->bell, 1, true);
}

static void ask(struct pxt_use *u)
{
	struct pxt_channel *ch = u->link->ch;
	u->asked = ((atomic_load(&u->call->state) & ~(uint32_t)PXT_W_StateMask) + PXT_W_StateStep) | PXT_W_Asked;
	atomic_store(&u->call->state, u->asked);
	atomic_fetch_or(&ch->pending, UINT64_C(1) << (u->call - ch->call));
	ring(ch);
}

static inline void relax(void)
{
#ifdef __x86_64__
	__asm__ volatile("pause" ::: "memory");
#else
	__asm__ volatile("isb" ::: "memory");
#endif
}

/*
 * How long a call looks at its answer before it sleeps: waking a thread costs more than most answers
 * take. On a single processor nothing changes while this thread runs.
 */
enum { LOOKS = 400 };

static bool changes_soon(struct pxt_channel *ch, _Atomic uint32_t *word, uint32_t value)
{
	for (int i = 0; i < LOOKS && ch->processors > 1; i++) {
		if (atomic_load_explicit(word, memory_order_acquire) != value)
			return true;
		relax();
	}
	return atomic_load(word) != value;
}

/* struct futex_waitv of linux/futex.h. */
struct waiter {
	uint64_t value, word;
	uint32_t flags, reserved;
};
enum { SYS_FUTEX_WAITV = 449, FUTEX_U32 = 2, FUTEX_WAIT_BITSET_REALTIME = 9 | 256 };

static _Atomic bool no_waitv;

/* Without futex_waitv(2) a wait looks now and then whether the agent lives. */
static int wait_polling(_Atomic uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	struct timespec until;
	long r;
	uint64_t now = pxt_clock(CLOCK_REALTIME) + 250000000;
	until.tv_sec = (time_t)(now / 1000000000);
	until.tv_nsec = (long)(now % 1000000000);
	if (deadline && (deadline->tv_sec < until.tv_sec ||
			 (deadline->tv_sec == until.tv_sec && deadline->tv_nsec < until.tv_nsec)))
		until = *deadline;
	else
		deadline = NULL;
	r = pxt_sys(SYS_futex, word, FUTEX_WAIT_BITSET_REALTIME, value, &until, NULL, -1);
	if (r == -EINTR)
		return EINTR;
	return r == -ETIMEDOUT && deadline ? ETIMEDOUT : 0;
}

int pxt_agent_wait(struct pxt_channel *ch, _Atomic uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	struct waiter w[2] = {{value, (uintptr_t)word, FUTEX_U32, 0},
			      {atomic_load(&ch->alive), (uintptr_t)&ch->alive, FUTEX_U32, 0}};
	long r;
	if (!pxt_agent_alive(ch))
		return 0;
	if (!atomic_load(&no_waitv)) {
		/* Unlike futex(2) with a timeout, this call goes on after a handler with SA_RESTART. */
		r = pxt_sys(SYS_FUTEX_WAITV, w, 2, 0, deadline, CLOCK_REALTIME);
		if (r == 1)
			pxt_futex_wake(&ch->alive, 1 << 30, true); /* the kernel wakes one thread only */
		if (r >= 0 || r == -EAGAIN)
			return 0;
		if (r == -EINTR || r == -ETIMEDOUT)
			return (int)-r;
		atomic_store(&no_waitv, true);
	}
	return wait_polling(word, value, deadline);
}

/* Waits until the call's state is not the given one. false: the agent has ended before. */
static bool changed(struct pxt_use *u, uint32_t state)
{
	struct pxt_channel *ch = u->link->ch;
	if (changes_soon(ch, &u->call->state, state))
		return true;
	while (atomic_load(&u->call->state) == state) {
		if (!pxt_agent_alive(ch))
			return atomic_load(&u->call->state) != state;
		pxt_agent_wait(ch, &u->call->state, state, NULL);
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
		if (!changed(u, s))
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

/* The thread was cancelled while it waited. An event that came just then goes to the next call. */
static void cancelled(void *arg)
{
	struct pxt_use *u = arg;
	if (!leave(u) && answer(u) == 0) {
		u->call->op = PXT_W_OpPutBack;
		pxt_call_run(u);
	}
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

int pxt_call_read(struct pxt_use *u, const struct timespec *deadline)
{
	uint32_t parked;
	int err = 0;
	ask(u);
	if (!changed(u, u->asked))
		return EIO;
	parked = (u->asked & ~(uint32_t)PXT_W_StateMask) | PXT_W_Parked;
	if (atomic_load(&u->call->state) == parked && deadline &&
	    (deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000))
		err = EINVAL;
	else if (deadline && deadline->tv_sec < 0)
		err = ETIMEDOUT; /* the kernel refuses such a time */
	while (!err && atomic_load(&u->call->state) == parked && pxt_agent_alive(u->link->ch))
		err = wait_parked(u, parked, deadline);
	if (err && leave(u))
		return err;
	return answer(u);
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
	*number = atomic_fetch_add(&atomic_load(&home)->numbers, 1) + 1;
	return pxt_agent_pass(u->link->ch, fd, *number);
}

struct pxt_log *pxt_log_lock(uint64_t trid)
{
	struct home *h = atomic_load(&home);
	struct pxt_log *r;
	uint32_t area = trid & 255;
	if (!h || area == 0 || area > PXT_W_Areas)
		return NULL;
	r = &h->readers[area - 1];
	lock(&r->lock);
	if (r->trid == trid)
		return r;
	unlock(&r->lock);
	return NULL;
}

void pxt_log_unlock(struct pxt_log *r)
{
	unlock(&r->lock);
}

void pxt_log_open(struct pxt_use *u, uint64_t trid)
{
	struct home *h = atomic_load(&home);
	uint32_t area = trid & 255;
	struct pxt_log *r;
	if (area == 0 || area > PXT_W_Areas)
		return;
	r = &h->readers[area - 1];
	lock(&h->lock);
	u->link->users++;
	unlock(&h->lock);
	lock(&r->lock);
	r->link = u->link;
	pxt_log_rewind(r);
	r->trid = trid;
	unlock(&r->lock);
}

void pxt_log_close(struct pxt_log *r)
{
	struct pxt_link *l = r->link;
	r->trid = 0;
	r->link = NULL;
	unlock(&r->lock);
	let(atomic_load(&home), l);
}

void pxt_log_rewind(struct pxt_log *r)
{
	r->taken = 0;
	r->inside = r->ended = false;
	r->err = 0;
	r->at = r->end = NULL;
}

/* Moves on to the next batch. The agent meanwhile fills those behind it. */
static int next_batch(struct pxt_log *r)
{
	struct pxt_channel *ch = r->link->ch;
	uint32_t i = (r->trid & 255) - 1, bytes;
	struct pxt_area *area = &ch->area[i];
	struct pxt_batch *b;
	if (r->inside)
		r->taken++;
	r->inside = false;
	atomic_store(&area->want, r->taken + PXT_W_Batches);
	atomic_fetch_or(&ch->wanted, UINT64_C(1) << i);
	ring(ch);
	if (!changes_soon(ch, &area->have, r->taken)) {
		atomic_store(&area->waiting, 1);
		while (atomic_load(&area->have) == r->taken) {
			if (!pxt_agent_alive(ch))
				return EIO;
			pxt_agent_wait(ch, &area->have, r->taken, NULL);
		}
		atomic_store(&area->waiting, 0);
	}
	b = &area->batch[r->taken % PXT_W_Batches];
	bytes = b->bytes;
	if (bytes > sizeof b->data)
		bytes = sizeof b->data;
	r->at = b->data;
	r->end = b->data + bytes;
	r->ended = b->end || b->err;
	r->err = b->err;
	r->inside = true;
	return 0;
}

int pxt_log_next(struct pxt_log *r, const struct pxt_item **item)
{
	const struct pxt_item *it;
	*item = NULL;
	if (!pxt_agent_alive(r->link->ch))
		return EINVAL;
	while (r->at == r->end) {
		int err;
		if (r->inside && r->ended)
			return (int)r->err;
		err = next_batch(r);
		if (err)
			return err;
	}
	it = (const struct pxt_item *)r->at;
	if ((size_t)(r->end - r->at) < sizeof *it || it->size > (size_t)(r->end - r->at) ||
	    it->size < sizeof *it + (size_t)it->length || it->size % 8 != 0)
		return EIO;
	r->at += it->size;
	*item = it;
	return 0;
}
