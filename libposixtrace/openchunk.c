/*
 * Appending to an open chunk, which belongs to no writer. Each event in it has all its members.
 */
#include "copy.h"
#include "protocol.h"

/*
 * How a writer that looks for an open chunk makes way for other writers. It looks at the entries of
 * the header's table in turn. A few tries are quick; then it gives the processor away between them;
 * late, when each writer that runs has had its turn, it sleeps.
 */
struct backoff {
	int open_chunks;
	uint64_t index; /* of the next entry to look at, modulo open_chunks */
	int try;	/* a late pause is part of the same try */
	int claim_at;	/* a claim that has failed is not tried again before this try */
	int in_the_way; /* the last try at which another writer was in the way */
	bool urgent;	/* late pauses took longer than PXT_PATIENCE */
	uint64_t since; /* of the first late pause, 0: there was none */
};

static bool is_late(const struct backoff *b)
{
	return b->try >= 63 * b->open_chunks;
}

static void yield(const struct backoff *b)
{
	if (b->try >= 4 * b->open_chunks)
		pxt_sys(SYS_sched_yield);
}

/* Lets others go on. */
static void pause_for(struct backoff *b)
{
	if (!is_late(b) || b->urgent) {
		yield(b);
	} else if (b->since == 0) {
		b->since = pxt_monotonic() | 1;
		b->try--;
	} else {
		pxt_sleep(20000);
		b->urgent = pxt_monotonic() - b->since > PXT_PATIENCE;
		b->try--;
	}
}

/* The same for another writer that is in the way. */
static void wait_for(struct backoff *b)
{
	b->in_the_way = b->try;
	pause_for(b);
}

/*
 * Whether an entry of the table, whose word is ref, should get another open chunk: it has none, or another
 * writer that was about to put one there is stopped, or its chunk has been busy for a while, since
 * the writer does not run.
 */
static bool wants_open(struct pxt_mem *m, uint64_t ref, const struct backoff *b)
{
	if (ref & PXT_reserved)
		return b->urgent;
	if (!pxt_is_ref(m, ref))
		return true;
	uint64_t c = pxt_load(&pxt_desc_of(m, (uint32_t)ref - 1)->ctl);
	return is_late(b) && pxt_state(c) == PXT_open && pxt_busy(c);
}

/* Claims an open chunk for entry o, which is reserved as mine. */
static bool fill(struct pxt_writer *w, _Atomic uint64_t *o, uint64_t mine, uint32_t need)
{
	struct pxt_mem *m = &w->m;
	uint64_t adopted;
	uint32_t i;
	if (!pxt_claim(m, w->slot, PXT_open, need, &i, &adopted))
		return false;
	if (adopted == 0) {
		pxt_set_age(m, i); /* writers do not find it yet, and it is not the oldest */
		pxt_begin(m, i, 0, PXT_open, pxt_now(m));
	} else {
		pxt_store(&pxt_desc_of(m, i)->enteredAt, pxt_now(m));
	}
	if (!pxt_cas(o, mine, i + 1)) {
		uint64_t c = pxt_load(&pxt_desc_of(m, i)->ctl);
		if (pxt_state(c) == PXT_open && !pxt_busy(c))
			pxt_park(m, i, c);
	}
	return true;
}

/*
 * Puts another open chunk with room for need bytes into entry o, whose word is *ref. Stores what the entry
 * has now, and returns false if there is no chunk. The entry is reserved first, so that several
 * writers do not claim chunks for one entry.
 */
static bool supply_open(struct pxt_writer *w, _Atomic uint64_t *o, uint64_t *ref, uint32_t need, struct backoff *b)
{
	struct pxt_mem *m = &w->m;
	uint64_t mine = PXT_reserved | w->slot, old = pxt_replaces(m, *ref);
	if (!pxt_cas(o, *ref, mine | old << PXT_replacedShift))
		return false;
	if (old != 0) {
		/*
		 * No writer finds it any more. So from now on its age is that of its newest event, but for
		 * those that are under way.
		 */
		pxt_set_age(m, (uint32_t)old - 1);
		if (!pxt_cas(o, mine | old << PXT_replacedShift, mine))
			return false;
	}
	if (pxt_is_ref(m, *ref)) {
		if (!pxt_displace(m, (uint32_t)*ref - 1) && !b->urgent) {
			/*
			 * More writers are stopped in the middle of an event than the stream has room for
			 * beside its size. Most go on as soon as they get the processor. If they do not,
			 * new events are worth more than old ones.
			 */
			pxt_cas(o, mine, *ref);
			if (b->since == 0 && w->crowded)
				w->crowded(w);
			pause_for(b);
			return false;
		}
	}
	if (!fill(w, o, mine, need)) {
		pxt_cas(o, mine, *ref & PXT_reserved ? 0 : *ref);
		b->claim_at = b->try + 16 * b->open_chunks;
		return false;
	}
	*ref = pxt_load(o);
	return true;
}

/*
 * The tick of an event in open chunk i that is to have the time tick. The chunk's events stay in
 * order, whichever writers they are from.
 */
static uint64_t open_tick(struct pxt_mem *m, uint32_t i, uint64_t tick)
{
	struct pxt_desc *d = pxt_desc_of(m, i);
	uint64_t last = pxt_load(&d->last);
	if (last > tick) {
		if (last - tick > PXT_farBehind && pxt_is_future(m, last)) {
			/* No event has that time. It must not become the time of all that follow. */
			atomic_fetch_add(&m->h->damage, 1);
		} else {
			tick = last;
		}
	}
	pxt_store(&d->last, tick);
	return tick;
}

/* Writes a record with all members. */
static void write_full(unsigned char *p, const struct pxt_event *e, uint64_t tick)
{
	pxt_put64(p, pxt_record(0, e->n, PXT_CK_KindFull | (e->cut ? PXT_CK_Truncated : 0)));
	pxt_put64(p + 8, tick);
	pxt_put64(p + 16, e->id | (uint64_t)e->pid << 32);
	pxt_put64(p + 24, e->tid);
	pxt_put64(p + 32, e->addr);
	pxt_copy(p + PXT_CK_FullSize, e->data, e->n);
}

/*
 * Appends an event to open chunk i, found through an entry of the table and busy, if it was
 * judged under the state that still holds.
 */
static bool write_open(struct pxt_writer *w, uint32_t entry, uint32_t i, uint64_t c, const struct pxt_event *e, uint64_t tick, uint64_t st)
{
	struct pxt_mem *m = &w->m;
	struct pxt_desc *d = pxt_desc_of(m, i);
	uint32_t off = pxt_off(c);
	if (tick <= pxt_load(&m->h->front.horizon))
		tick = pxt_after_horizon(m);
	bool ok = pxt_load(&w->front->state) == st && !pxt_rejects(m, e->id);
	if (ok) {
		tick = open_tick(m, i, tick);
		uint32_t need = PXT_CK_FullSize + pxt_align(e->n);
		unsigned char *p = pxt_chunk_of(m, i);
		off += pxt_note_in_open(w, entry, i, c, p + off, w->chunk_size - off - need, e->addr);
		write_full(p + off, e, tick);
		pxt_ctl_publish(d, c, off + need);
	} else {
		pxt_ctl_let_go(d, c | PXT_busyBit | w->slot << PXT_slotShift, c);
	}
	return ok;
}

/*
 * Appends an event to an open chunk. Stores in *done false when the state of the stream has changed
 * and the event must be judged again. s is the writer's shard. Signals are blocked.
 */
bool pxt_append_open(struct pxt_writer *w, struct pxt_shard *s, const struct pxt_event *e, bool *done)
{
	struct pxt_mem *m = &w->m;
	uint64_t st = 0;
	uint32_t need = PXT_CK_FullSize + pxt_align(e->n);
	struct backoff b = {.open_chunks = (int)m->open_chunks, .index = pxt_load(&s->entry), .in_the_way = -1};
	*done = false;
	for (; b.try < 67 * b.open_chunks; b.index++, b.try++) {
		st = pxt_load(&w->front->state);
		if ((st & (PXT_Running | PXT_Dead | PXT_filterChange)) != PXT_Running)
			return false;
		_Atomic uint64_t *o = &m->h->openTable[b.index % m->open_chunks];
		uint64_t ref = pxt_load(o);
		if (wants_open(m, ref, &b)) {
			if (b.try < b.claim_at) {
				if (b.try - b.in_the_way > b.open_chunks)
					break; /* there is no writer to wait for */
				yield(&b);
				continue;
			}
			if (!supply_open(w, o, &ref, need, &b))
				continue;
		}
		if (!pxt_is_ref(m, ref)) {
			wait_for(&b);
			continue;
		}
		uint32_t i = (uint32_t)ref - 1;
		struct pxt_desc *d = pxt_desc_of(m, i);
		uint64_t c = pxt_load(&d->ctl);
		if (pxt_state(c) != PXT_open) {
			pxt_cas(o, ref, 0);
			continue;
		}
		if (pxt_busy(c)) {
			wait_for(&b);
			continue;
		}
		if (pxt_off(c) + need > w->chunk_size) {
			if (pxt_retire(m, i, c))
				pxt_cas(o, ref, 0);
			continue;
		}
		uint64_t tick = pxt_now(m); /* before the busy bit (horizon.c) */
		if (!pxt_ctl_seize_open(d, c, w->slot)) {
			if (is_late(&b))
				pause_for(&b);
			continue;
		}
		*done = write_open(w, (uint32_t)(b.index % m->open_chunks), i, c, e, tick, st);
		if (pxt_load(o) != ref)
			pxt_left_displaced(m, i);
		pxt_store_count(&s->entry, b.index % m->open_chunks);
		return *done;
	}
	*done = pxt_out_of_space(m, e->id, st);
	return false;
}
