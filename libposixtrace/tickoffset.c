/*
 * The stream's clock. The firmware of many machines sets the processor's counter back when they wake
 * from sleep. The ticks of a stream are ahead of the counter by the tick offset, a word of the header, which a
 * process changes that finds the counter far behind a tick that the stream has seen.
 */
#include "word.h"

/* How long the rate of the counter is measured if the stream does not know it. */
#define RATE_NS 200000

/* Reads the counter and CLOCK_MONOTONIC as close together as possible. */
static void pair(uint64_t *tick, uint64_t *mono)
{
	uint64_t best = UINT64_MAX;
	*tick = *mono = 0;
	for (int i = 0; i < 8; i++) {
		uint64_t a = pxt_ticks();
		uint64_t t = pxt_monotonic();
		uint64_t d = pxt_ticks() - a;
		if (d < best) {
			best = d;
			*tick = a + d / 2;
			*mono = t;
		}
	}
}

struct anchor {
	uint64_t tick;
	uint64_t nanos;
};

static struct anchor anchor(struct pxt_mem *m, uint32_t i)
{
	return (struct anchor){pxt_load(&m->h->anchors[i][0]), pxt_load(&m->h->anchors[i][1])};
}

static double measured_rate(void)
{
	uint64_t t0, n0, t1, n1;
	pair(&t0, &n0);
	do
		pair(&t1, &n1);
	while (n1 - n0 < RATE_NS);
	return (double)(t1 - t0) / (double)(n1 - n0);
}

/*
 * The tick at a time of CLOCK_MONOTONIC according to the clock anchors, and the tick of the first;
 * 0 if there are none.
 */
static uint64_t tick_of(struct pxt_mem *m, uint64_t mono, uint64_t *first)
{
	uint32_t n = atomic_load(&m->h->nanchors);
	double rate = 0;
	*first = 0;
	if (n > PXT_maxAnchors)
		n = PXT_maxAnchors;
	if (n == 0)
		return 0;
	struct anchor k = anchor(m, 0), from = k;
	*first = k.tick;
	if (n > 1) {
		struct anchor next = anchor(m, n - 1);
		from = anchor(m, n - 2);
		if (next.tick > from.tick && (int64_t)next.nanos > (int64_t)from.nanos)
			rate = (double)(next.tick - from.tick) / (double)(next.nanos - from.nanos);
	} else {
		rate = measured_rate();
	}
	int64_t gone = (int64_t)(mono - m->h->fixed.mono - (from.nanos - k.nanos));
	double ahead = gone > 0 ? (double)gone * rate : 0;
	return from.tick + (ahead < 0x1p63 ? (uint64_t)ahead : UINT64_C(1) << 63);
}

/*
 * Whether a counter that was never set back may be at tick by now. The anchors may be old, and the
 * rate is that of a short time.
 */
static bool possible(struct pxt_mem *m, uint64_t tick, uint64_t mono)
{
	uint64_t first, want = tick_of(m, mono, &first);
	if (tick <= want || want == 0)
		return true;
	uint64_t since = want > first ? want - first : 0;
	return tick - want <= PXT_farBehind + since / 64;
}

/* Changes the offset because the counter was set back, and returns the stream's time. */
static __attribute__((noinline, cold)) uint64_t reset_tick_offset(struct pxt_mem *m)
{
	struct pxt_front *f = &m->h->front;
	uint64_t tick = 0;
	for (int try = 0; try < PXT_casTries; try++) {
		uint64_t offset = pxt_load(&f->tickOffset), horizon = pxt_load(&f->horizon), count, mono, first;
		pair(&count, &mono);
		tick = count + offset;
		if (tick >= horizon || horizon - tick <= PXT_farBehind)
			return tick; /* another was faster */
		if (!possible(m, horizon, mono)) {
			pxt_lower_horizon(m, horizon, tick);
			continue;
		}
		tick = pxt_max(horizon + 1, tick_of(m, mono, &first));
		if (pxt_cas(&f->tickOffset, offset, tick - count))
			return tick;
	}
	return tick;
}

uint64_t pxt_now(struct pxt_mem *m)
{
	if (m->clock != PXT_ClockTicks)
		return pxt_monotonic();
	uint64_t tick = pxt_ticks() + pxt_load(&m->h->front.tickOffset);
	uint64_t h = pxt_load(&m->h->front.horizon);
	if (h > tick && h - tick > PXT_farBehind)
		return reset_tick_offset(m);
	return tick;
}

/*
 * The time now, for a writer that has set a busy bit: a tick beyond the horizon.
 *
 * The counters of two processors may differ by a little; ticks do not. A horizon that is further
 * ahead was scribbled on: waiting for the clock to pass it would be endless.
 */
uint64_t pxt_after_horizon(struct pxt_mem *m)
{
	uint64_t tick = pxt_now(m);
	if (m->clock == PXT_ClockTicks)
		pxt_ordered_ticks(); /* the state, loaded next, is not older than the tick */
	uint64_t h = pxt_load(&m->h->front.horizon);
	if (h < tick)
		return tick;
	if (h - tick < PXT_skew)
		return h + 1;
	if (h - tick > PXT_farBehind)
		pxt_lower_horizon(m, h, tick);
	return tick;
}

/*
 * Whether tick is so far ahead of the stream's clock that the file must be damaged. If the counter
 * was set back instead, the stream's clock goes on from tick.
 */
bool pxt_is_future(struct pxt_mem *m, uint64_t tick)
{
	uint64_t now = pxt_now(m);
	if (tick <= now || tick - now <= PXT_farBehind)
		return false;
	if (m->clock != PXT_ClockTicks || !possible(m, tick, pxt_monotonic()))
		return true;
	pxt_raise_horizon(m, tick);
	return false;
}
