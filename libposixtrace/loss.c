/*
 * Accounts of lost events.
 *
 * Under LOOP, overwritten events are lost: each chunk has its account. Under the other policies
 * events are lost only while the stream is stopped for lack of room. Stops use the two accounts of
 * the header in turn; the state word says which. A start closes the account of the stop that it
 * ends: a writer that was about to count a loss then finds that the account has changed, and tries
 * to record the event again. So every loss belongs to one stop.
 */
#include "word.h"

struct pxt_account *pxt_account(struct pxt_mem *m, uint64_t st)
{
	return &m->h->markWords.lossAccounts[st / PXT_lossB & 1];
}

/* Makes the account cover a loss at tick. */
static void extend(struct pxt_account *a, uint64_t tick)
{
	for (int try = 0; try < PXT_TRIES; try++) {
		uint64_t f = pxt_load(&a->first);
		if ((f != 0 && f <= tick) || pxt_cas(&a->first, f, pxt_max(tick, 1)))
			break;
	}
	for (int try = 0; try < PXT_TRIES; try++) {
		uint64_t l = pxt_load(&a->last);
		if (l >= tick || pxt_cas(&a->last, l, tick))
			break;
	}
}

/* Makes a part of a saturated total, which cannot grow, unreported. */
static void report_again(struct pxt_account *a)
{
	pxt_cas(&a->reported, PXT_maxLost, PXT_maxLost - 1);
}

/* Accounts for one lost event. */
void pxt_add_lost(struct pxt_mem *m, uint64_t tick)
{
	struct pxt_account *a = pxt_account(m, pxt_load(&m->h->front.state));
	extend(a, tick);
	uint64_t l = atomic_fetch_add(&a->lost, 1) + 1;
	if ((l & PXT_lossMask) > PXT_maxLost) {
		atomic_fetch_sub(&a->lost, 1);
		report_again(a);
	}
	atomic_fetch_add(&m->h->markWords.losses, 1);
}

/* Accounts for an event that its source lost before a writer had it. A suspended stream has not lost it. */
void pxt_lose(struct pxt_mem *m)
{
	uint64_t st = pxt_load(&m->h->front.state), now = pxt_now(m);
	if (!(st & (PXT_Running | PXT_Full | PXT_LogFull)))
		return;
	pxt_add_lost(m, now);
	if (m->policy != PXT_Loop && st & PXT_Running) {
		/* No stop will report it. */
		struct pxt_account *a = pxt_account(m, st);
		if ((pxt_load(&a->reported) & PXT_lossMask) < PXT_maxLost)
			atomic_fetch_add(&a->reported, 1);
		pxt_cas(&m->h->markWords.pendingOverflow, 0, now);
	}
}

/* The same if the lost word of account a is still l. */
static bool add_lost_if(struct pxt_mem *m, struct pxt_account *a, uint64_t l, uint64_t tick)
{
	uint64_t n = (l & PXT_lossMask) >= PXT_maxLost ? l : l + 1;
	if (!pxt_cas(&a->lost, l, n))
		return false;
	if (n == l)
		report_again(a);
	extend(a, tick);
	atomic_fetch_add(&m->h->markWords.losses, 1);
	return true;
}

static bool overrun(struct pxt_mem *m, uint64_t st)
{
	struct pxt_header *h = m->h;
	uint64_t now = pxt_now(m);
	if (m->policy == PXT_Loop) {
		pxt_add_lost(m, now);
		return true;
	}
	for (int try = 0; try < PXT_TRIES; try++) {
		/*
		 * In this order: if the stream is started after this load of its state, the account has
		 * changed.
		 */
		struct pxt_account *a = pxt_account(m, pxt_load(&h->front.state));
		uint64_t l = pxt_load(&a->lost), cur = pxt_load(&h->front.state);
		if (pxt_account(m, cur) != a)
			continue;
		uint64_t stopped = cur & (PXT_Full | PXT_Dead | PXT_LogFull | PXT_NoRestart);
		if (cur & PXT_Running) {
			if (cur != st)
				return false;
			uint64_t off = PXT_Running | PXT_StopReported | PXT_NoRestart;
			if (!pxt_cas(&h->front.state, st, ((st & ~off) | PXT_Full) + PXT_stateGen))
				continue;
			pxt_store(&h->markWords.autoStop, pxt_now(m) + PXT_skew);
		} else if (stopped == PXT_LogFull) {
			pxt_add_lost(m, now); /* no call has stopped the stream */
			return true;
		} else if (stopped != PXT_Full) {
			return true; /* a call has stopped it */
		}
		if (add_lost_if(m, a, l, now))
			return true;
	}
	pxt_add_lost(m, now);
	return true;
}

/*
 * Accounts for an event that was generated and is lost. Under the policies that do not overwrite,
 * the stream stops. st is the state under which there was no room: if a call has stopped the stream
 * meanwhile, no event was generated; if the stream was restarted, the result is false and another
 * try is worth it.
 */
bool pxt_out_of_space(struct pxt_mem *m, uint32_t id, uint64_t st)
{
	return !pxt_valid(id) || pxt_rejects(m, id) || overrun(m, st);
}
