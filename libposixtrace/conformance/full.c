/* Section FUL: what happens when a stream has no room left. */
#include "conform.h"

/* Goes through the events of one writer that numbers them from 0 to n-1: where numbers are missing
   stands an OVERFLOW, and a RESUME with the time of the event behind it; elsewhere neither. Returns
   how many are missing. */
static int missing(struct events all, int n)
{
	int next = 0, gap = 0;
	bool over = false, reported = false;

	for (int i = 0; i < all.n; i++) {
		trace_event_id_t id = all.e[i].i.posix_event_id;
		if (id == POSIX_TRACE_OVERFLOW) {
			if (over)
				FATAL("event %d: a second OVERFLOW without RESUME", i);
			over = reported = true;
		} else if (id == POSIX_TRACE_RESUME) {
			if (!over || i + 1 == all.n || made_at(&all.e[i + 1]) != made_at(&all.e[i]))
				FATAL("event %d of %d: RESUME, overflown %d", i, all.n, over);
			over = false;
		} else if (user(id)) {
			int k = atoi(all.e[i].data);
			if (k < next || over || (k > next && all.e[i - 1].i.posix_event_id != POSIX_TRACE_RESUME))
				FATAL("event %d: %d comes after %d, overflown %d", i, k, next - 1, over);
			gap += k - next;
			next = k + 1;
			reported = false;
		}
	}
	if (reported != (next < n))
		FATAL("the last event is %d of %d, overflown %d", next - 1, n, reported);
	return gap + n - next;
}

static struct events joined(struct events a, struct events b)
{
	a.e = realloc(a.e, (size_t)(a.n + b.n + 1) * sizeof *a.e);
	memcpy(a.e + a.n, b.e, (size_t)b.n * sizeof *b.e);
	a.n += b.n;
	return a;
}

struct writer {
	trace_event_id_t id;
	int n;
	atomic_bool done;
};

static void *write_numbers(void *arg)
{
	struct writer *w = arg;

	numbers(w->id, 0, w->n, 0);
	w->done = true;
	return NULL;
}

/* Reads while a thread records. */
static struct events meanwhile(trace_id_t s, struct writer *w)
{
	pthread_t t = start(write_numbers, w);
	struct events all = drain(s);

	while (!w->done)
		all = joined(all, drain(s));
	OK(pthread_join(t, NULL));
	return joined(all, drain(s));
}

TEST(FUL_01, "")
{
	one_processor();
	trace_id_t s = RUNNING(.policy = LOOP, TINY);
	int n = 0, first, last;

	for (int i = 0; i < 5; i++)
		n += overwrite(s, n);
	STATE(s, RUNNING, FULL);
	long gone = lost(s);
	consecutive(drain(s), &first, &last);
	EQ(last, n - 1);
	CHECK(first > 0);
	if (!COUNTS)
		return;
	EQ(first, gone); /* START remains: each writer's and the controller's oldest chunk counts by itself */

	/* The counts are exact, of a process that is read meanwhile. */
	struct peer *p = new_peer(NULL);
	s = RUNNING(.pid = p->pid, .policy = LOOP, TINY);
	send_to(p, "times burst 0 30000 0");
	struct events all = {NULL, 0};
	for (bool over = false; !over;) {
		struct events more = drain(s);
		all = joined(all, more);
		over = users(all).n + only(all, POSIX_TRACE_START).n + lost(s) >= 30001;
	}
	answer(p);
	EQ(users(all).n + only(all, POSIX_TRACE_START).n + lost(s), 30001);
}

TEST(FUL_02, "")
{
	one_processor();
	trace_id_t s = RUNNING(.policy = LOOP, TINY);
	int n = 0;

	/* How many fill it: fill() reads the status, which resets the flag. */
	n += overwrite(s, n);
	for (int i = 0; i < 3; i++) {
		numbers(name("flow"), 0, 3 * n, 0);
		EQ(status(s).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		EQ(status(s).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	}
}

static void *write_sizes(void *arg)
{
	struct writer *w = arg;
	char b[1000];

	for (int k = 0; k < w->n; k++) {
		int len = 1 + k * 7919 % 1000;
		memset(b, len & 0xff, (size_t)len);
		b[len - 1] = (char)(len >> 3);
		posix_trace_event(w->id, b, (size_t)len);
	}
	w->done = true;
	return NULL;
}

static int whole(struct events all)
{
	int n = 0;

	for (int i = 0; i < all.n; i++) {
		struct event *e = &all.e[i];
		n += e->i.posix_event_id == POSIX_TRACE_START;
		if (!user(e->i.posix_event_id))
			continue;
		n++;
		for (size_t k = 0; k + 1 < e->n; k++)
			if ((unsigned char)e->data[k] != (e->n & 0xff))
				FATAL("a torn event of %zu bytes", e->n);
		if ((unsigned char)e->data[e->n - 1] != ((e->n >> 3) & 0xff) || e->i.posix_truncation_status)
			FATAL("a torn event of %zu bytes", e->n);
	}
	return n;
}

TEST(FUL_03, "")
{
	trace_id_t s = RUNNING(.size = 1, .data = 1000);
	struct writer w[2] = {{name("ful.a"), 20000, false}, {name("ful.b"), 20000, false}};
	pthread_t t[2] = {start(write_sizes, &w[0]), start(write_sizes, &w[1])};
	int n = 0;

	while (!w[0].done || !w[1].done)
		n += whole(drain(s));
	for (int i = 0; i < 2; i++)
		OK(pthread_join(t[i], NULL));
	n += whole(drain(s));
	CHECK(COUNTS ? n + lost(s) == 40001 : n > 0 && n <= 40001);
}

TEST(FUL_04, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);

	STATE(s, RUNNING, NOT_FULL);
	int n = fill(s, 0);
	STATE(s, SUSPENDED, FULL);
	numbers(name("flow"), n, 10, 0);
	EQ(users(drain(s)).n, n);
}

static void *write_until_lost(void *arg)
{
	trace_id_t s = *(trace_id_t *)arg;

	for (int i = 0; i < 1000000 && !overrun(s); i++)
		numbers(name("flow"), 0, 20, 0);
	return NULL;
}

TEST(FUL_05, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	int n = fill(s, 0);
	struct events all = drain(s);

	SAME(story(from(all, n + 1)), "STOP1 OVERFLOW START");
	ordered(all);
	for (int round = 0; round < 10; round++) { /* several threads that fill it at once */
		pthread_t t[3];
		s = RUNNING(.policy = UNTIL_FULL, TINY);
		for (int i = 0; i < 3; i++)
			t[i] = start(write_until_lost, &s);
		for (int i = 0; i < 3; i++)
			OK(pthread_join(t[i], NULL));
		all = drain(s);
		ordered(all);
		int stop = 0;
		while (stop < all.n && all.e[stop].i.posix_event_id != POSIX_TRACE_STOP)
			stop++;
		SAME(story(from(all, stop)), "STOP1 OVERFLOW START");
		OK(posix_trace_shutdown(s));
	}
}

/* Fills it so that nothing more fits, and nothing is lost. */
static int fill_exactly(trace_id_t s)
{
	int n = 0;

	for (; status(s).posix_stream_full_status != POSIX_TRACE_FULL; n++)
		posix_trace_event(name("flow"), NULL, 0);
	return n;
}

TEST(FUL_06, "")
{
	one_processor();
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);

	fill_exactly(s);
	struct posix_trace_status_info st = status(s);
	LOST(st, 0);
	EQ(st.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	EQ(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
	posix_trace_event(name("flow"), NULL, 0);
	st = status(s);
	LOST(st, 1);
	EQ(st.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);

	all_processors();
	s = RUNNING(.policy = UNTIL_FULL, TINY); /* exact counts */
	struct writer w[3] = {{name("ful.a"), 20000, false}, {name("ful.b"), 20000, false}, {name("ful.c"), 20000, false}};
	pthread_t t[2] = {start(write_numbers, &w[1]), start(write_numbers, &w[2])};
	struct events all = meanwhile(s, &w[0]);
	for (int i = 0; i < 2; i++)
		OK(pthread_join(t[i], NULL));
	all = joined(all, drain(s));
	if (COUNTS)
		EQ(users(all).n + lost(s), 60000);
}

TEST(FUL_07, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	trace_event_id_t id = name("flow");

	fill(s, 0);
	/* A FILTER event follows the full policy, and so counts. */
	set_filter(s, set_of(2, id, POSIX_TRACE_FILTER), POSIX_TRACE_SET_EVENTSET);
	CHECK(overrun(s));
	COUNT(s, 2);
	numbers(id, 0, 5, 0);
	struct posix_trace_status_info st = status(s);
	LOST(st, 2);
	EQ(st.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	OK(posix_trace_stop(s));
	set_filter(s, set_of(0), POSIX_TRACE_SET_EVENTSET);
	numbers(id, 0, 5, 0); /* after an explicit stop */
	st = status(s);
	LOST(st, 2);
	EQ(st.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
}

TEST(FUL_08, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	int room = fill(s, 0), n = 0, total = 0;

	for (int i = 0; i < 4; i++) {
		drain(s);
		CHECK(fill(s, 0) >= room / 2);
	}
	s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "log", TINY);
	for (int i = 0; i < 4; i++) {
		total += n = fill(s, 0);
		CHECK(n >= room / 2);
		OK(posix_trace_flush(s));
	}
	OK(posix_trace_shutdown(s));
	EQ(users(logged("log")).n, total);
}

TEST(FUL_09, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	trace_event_id_t id = name("flow");
	int n = fill(s, 0);
	struct event e;

	for (int i = 0; i < n + 1; i++) { /* START and the events: it does not restart before STOP is reported */
		MUST(next(s, &e));
		EQ(status(s).posix_stream_status, POSIX_TRACE_SUSPENDED);
	}
	MUST(next(s, &e));
	EQ(e.i.posix_event_id, POSIX_TRACE_STOP);
	STATE(s, RUNNING, NOT_FULL);
	numbers(id, n + 1, 1, 0);
	SAME(story(drain(s)), print("OVERFLOW START RESUME %d", n + 1));
}

TEST(FUL_10, "")
{
	trace_id_t s = STREAM(.policy = UNTIL_FULL, TINY);
	trace_event_set_t set = set_of(1, name("ful.rejected"));

	set_filter(s, set, POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	fill(s, 0);
	struct events starts = only(drain(s), POSIX_TRACE_START);
	SAME(story(starts), "START START"); /* readable at once */
	EQ(starts.e[1].n, sizeof set);
	CHECK(same_set((trace_event_set_t *)starts.e[1].data, &set));
	text(name("flow"), "x");
	SAME(story(drain(s)), "RESUME x");
}

TEST(FUL_11, "")
{
	one_processor();
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	int n = fill_exactly(s);

	STATE(s, SUSPENDED, FULL);
	struct events all = drain(s);
	EQ(users(all).n, n);
	SAME(story(from(all, n + 1)), "STOP1 START");
	/* After one that did not fit no smaller one does. */
	char big[1000] = {0};
	s = RUNNING(.policy = UNTIL_FULL, .size = 1, .data = 1000);
	for (n = 0; !overrun(s); n++)
		posix_trace_event(name("flow"), big, sizeof big);
	STATE(s, SUSPENDED, FULL);
	for (size_t k = sizeof big; k > 0; k /= 2)
		posix_trace_event(name("flow"), big, k / 2);
	EQ(users(drain(s)).n, n - 1);
}

TEST(FUL_12, "")
{
	trace_id_t s = 77;
	trace_event_id_t id = name("flow");

	ERR(try_make((struct how){.policy = FLUSH}, &s), EINVAL);
	s = RUNNING(.policy = FLUSH, .logpolicy = APPEND, .log = "log", TINY);
	for (int i = 0; i < 5000; i++) { /* many times what it holds, with no call of flush */
		if (i % 20 == 0)
			WAIT(status(s).posix_stream_status == POSIX_TRACE_RUNNING);
		numbers(id, i, 1, 0);
	}
	long gone = lost(s);
	OK(posix_trace_shutdown(s));
	struct events all = logged("log");
	if (COUNTS)
		EQ(users(all).n + gone, 5000);
	CHECK(only(all, POSIX_TRACE_FLUSH_START).n >= 3);
}

TEST(FUL_13, "")
{
	/* While the flush of a full stream waits, the stream is suspended; then it restarts. */
	struct slow *p = slow_log((struct how){.policy = FLUSH, .size = 256 << 10});
	trace_event_id_t id = name("flow");
	int n = 0;

	OK(posix_trace_start(p->s));
	for (; !overrun(p->s); n++)
		numbers(id, n, 1, 1000);
	STATE(p->s, SUSPENDED, FULL);
	numbers(id, n, 5, 0);
	struct posix_trace_status_info st = status(p->s);
	LOST(st, 6);
	EQ(st.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	read_slow(p);
	WAIT(status(p->s).posix_stream_status == POSIX_TRACE_RUNNING);
	numbers(id, n + 5, 1, 0);
	struct events all = users(slow_events(p));
	EQ(all.n, n);
	EQ(atoi(all.e[all.n - 1].data), n + 5);
	EQ(atoi(all.e[all.n - 2].data), n - 2);

	/* Never running and full, and the counts are exact. */
	trace_id_t s = RUNNING(.policy = FLUSH, .logpolicy = APPEND, .log = "log", TINY);
	struct writer w = {id, 20000, false};
	pthread_t t = start(write_numbers, &w);
	long gone = 0;
	while (!w.done) {
		st = status(s);
		CHECK(st.posix_stream_status != POSIX_TRACE_RUNNING || st.posix_stream_full_status != POSIX_TRACE_FULL);
		if (COUNTS)
			CHECK((LOST_OF(st) > gone) == (st.posix_stream_overrun_status == POSIX_TRACE_OVERRUN));
		gone = LOST_OF(st);
	}
	OK(pthread_join(t, NULL));
	gone = lost(s);
	OK(posix_trace_shutdown(s));
	if (COUNTS)
		EQ(users(logged("log")).n + gone, 20000);
}

TEST(FUL_14, "")
{
	trace_id_t s = RUNNING(.policy = FLUSH, .logpolicy = APPEND, .size = 256 << 10, .log = "log");
	trace_event_id_t id = name("flow");
	off_t empty = length("log");

	numbers(id, 0, 140, 1000); /* half full */
	int64_t begin = now();
	WAIT(length("log") > empty);
	CHECK(now() - begin < 10 * INT64_C(1000000000));
	for (int i = 0; i < 50; i++)
		nap();
	off_t before = length("log");
	text(id, "single"); /* within a second or so */
	begin = now();
	WAIT(length("log") > before);
	CHECK(now() - begin < 10 * INT64_C(1000000000));
	for (int i = 0; i < 1100; i++)
		nap();
	OK(posix_trace_shutdown(s));
	/* Never because of the marks alone: since one flush and the next there is an event. */
	struct events all = logged("log");
	bool pending = true;
	for (int i = 0; i < all.n && all.e[i].i.posix_event_id != POSIX_TRACE_STOP; i++) {
		if (all.e[i].i.posix_event_id == POSIX_TRACE_FLUSH_START) {
			CHECK(pending);
			pending = false;
		} else if (user(all.e[i].i.posix_event_id)) {
			pending = true;
		}
	}
}

TEST(FUL_15, "")
{
	one_processor();
	trace_id_t s = RUNNING(.policy = LOOP, .logpolicy = APPEND, .log = "log", TINY);
	off_t empty = length("log");
	int n = 0, first, last;

	for (int i = 0; i < 5; i++)
		n += overwrite(s, n);
	for (int i = 0; i < 30; i++)
		nap();
	EQ(length("log"), empty); /* nothing reaches it without a flush */
	OK(posix_trace_flush(s));
	numbers(name("flow"), n, 1, 0);
	long gone = lost(s);
	OK(posix_trace_shutdown(s));
	struct events all = logged("log");
	consecutive(all, &first, &last);
	if (COUNTS)
		EQ(first + 1, gone + only(all, POSIX_TRACE_START).n);
	EQ(last, n);
}

static void past(void)
{
	for (int i = 0; i < 3; i++)
		nap();
}

TEST(FUL_16, "")
{
	one_processor();
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	int n = fill(s, 0);

	drain(s); /* the second time n or so fit, exactly to the end */
	for (n = 0; status(s).posix_stream_full_status != POSIX_TRACE_FULL; n++)
		posix_trace_event(name("flow"), NULL, 0);
	past();
	int64_t from_ = now();
	text(name("flow"), "x"); /* the first that is lost */
	int64_t to = now();
	past();
	text(name("flow"), "y");
	past();
	struct events over = only(drain(s), POSIX_TRACE_OVERFLOW);
	EQ(over.n, 1);
	if (made_at(&over.e[0]) < from_ - 1000000 || made_at(&over.e[0]) > to + 1000000)
		FAIL("OVERFLOW is not at the time of the first lost event");

	int64_t made = now();
	s = RUNNING(.policy = LOOP, TINY); /* of the oldest that was overwritten */
	past();
	numbers(name("flow"), 0, 1, 0);
	to = now();
	past();
	n = 1;
	for (int i = 0; i < 3; i++) {
		n += overwrite(s, n);
		past();
	}
	struct events all = drain(s);
	over = only(all, POSIX_TRACE_OVERFLOW);
	EQ(over.n, 1);
	/* START may have been the oldest. */
	int64_t at = made_at(&over.e[0]);
	CHECK(at <= to + 1000000 && at >= made - 1000000);
}

TEST(FUL_17, "")
{
	one_processor();
	EACH (p, LOOP, UNTIL_FULL) {
		trace_id_t s = STREAM(.policy = p, TINY);
		struct writer w = {name("flow"), 40000, false};
		set_filter(s, set_of(1, POSIX_TRACE_START), POSIX_TRACE_SET_EVENTSET); /* which LOOP could overwrite */
		OK(posix_trace_start(s));
		struct events all = meanwhile(s, &w);
		int gone = missing(all, w.n);
		if (COUNTS)
			EQ(gone, lost(s));
		ordered(all);
	}
	trace_id_t s = STREAM(.policy = LOOP, .logpolicy = APPEND, .log = "log", TINY);
	struct writer w = {name("flow"), 40000, false};
	set_filter(s, set_of(1, POSIX_TRACE_START), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	pthread_t t = start(write_numbers, &w);
	while (!w.done)
		OK(posix_trace_flush(s));
	OK(pthread_join(t, NULL));
	OK(posix_trace_flush(s));
	long counted = lost(s);
	OK(posix_trace_shutdown(s));
	int gone = missing(unmarked(logged("log")), w.n);
	if (COUNTS)
		EQ(gone, counted);
}

TEST(FUL_18, "")
{
	one_processor();
	for (int log = 0; log < 2; log++) {
		trace_id_t s = STREAM(.policy = LOOP, .log = log ? "log" : NULL, TINY);
		int n = 0, first, last;
		set_filter(s, set_of(2, POSIX_TRACE_START, POSIX_TRACE_STOP), POSIX_TRACE_SET_EVENTSET);
		OK(posix_trace_start(s));
		for (int i = 0; i < 3; i++) /* several losses before any is read are one */
			n += overwrite(s, n);
		long gone = lost(s);
		struct events all;
		if (log) {
			OK(posix_trace_shutdown(s));
			all = unmarked(logged("log"));
		} else {
			all = drain(s);
		}
		MUST(all.n > 3);
		SAME(story((struct events){all.e, 3}), print("OVERFLOW RESUME %ld", COUNTS ? gone : atoi(all.e[2].data)));
		EQ(only(all, POSIX_TRACE_OVERFLOW).n, 1);
		EQ(made_at(&all.e[1]), made_at(&all.e[2]));
		CHECK(made_at(&all.e[0]) < made_at(&all.e[1]));
		consecutive(all, &first, &last);
		EQ(last, n - 1);
		ordered(all);
	}
	/* A new loss before the pair is read moves RESUME; one after it has a pair of its own. */
	trace_id_t s = STREAM(.policy = LOOP, TINY);
	struct event e;
	set_filter(s, set_of(1, POSIX_TRACE_START), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	int n = overwrite(s, 0);
	MUST(next(s, &e));
	EQ(e.i.posix_event_id, POSIX_TRACE_OVERFLOW);
	n += overwrite(s, n);
	struct events all = drain(s);
	SAME(story((struct events){all.e, 2}), print("RESUME %ld", COUNTS ? lost(s) : atoi(all.e[1].data)));
	EQ(only(all, POSIX_TRACE_OVERFLOW).n + only(all, POSIX_TRACE_RESUME).n, 1);
	long before = lost(s);
	int m = overwrite(s, n);
	all = drain(s);
	SAME(story((struct events){all.e, 3}), print("OVERFLOW RESUME %ld", COUNTS ? n + lost(s) - before : atoi(all.e[2].data)));
	CHECK(m > 0);
}

TEST(FUL_19, "")
{
	one_processor();
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	trace_event_id_t id = name("flow");
	int n = 0;

	for (int round = 0; round < 3; round++) {
		int k = fill(s, n);
		numbers(id, n + k + 1, 1, 0);
		struct events all = drain(s);
		EQ(users(all).n, k);
		numbers(id, n + k + 2, 1, 0);
		all = joined(all, drain(s));
		SAME(story(from(all, -6)), print("%d STOP1 OVERFLOW START RESUME %d", n + k - 1, n + k + 2));
		EQ(made_at(&all.e[all.n - 2]), made_at(&all.e[all.n - 1]));
		ordered(all);
		n += k + 3;
	}
	/* The same order in a log. */
	s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "log", TINY);
	int k = fill(s, 0);
	OK(posix_trace_flush(s));
	STATE(s, RUNNING, NOT_FULL);
	numbers(id, k + 1, 1, 0);
	OK(posix_trace_shutdown(s));
	struct events all = unmarked(logged("log"));
	SAME(story(from(all, -7)), print("%d STOP1 OVERFLOW START RESUME %d STOP0", k - 1, k + 1));
	ordered(all);
	/* An explicit start of a stream that is not yet empty: the same. */
	s = RUNNING(.policy = UNTIL_FULL, TINY);
	struct event e;
	k = fill(s, 0);
	while (status(s).posix_stream_full_status == POSIX_TRACE_FULL)
		MUST(next(s, &e));
	OK(posix_trace_start(s));
	numbers(id, k + 1, 1, 0);
	SAME(story(from(drain(s), -6)), print("%d STOP1 OVERFLOW START RESUME %d", k - 1, k + 1));
}

TEST(FUL_20, "")
{
	one_processor();
	trace_id_t s = RUNNING(.policy = LOOP, .logpolicy = APPEND, .log = "log", TINY);
	trace_event_id_t kinds[] = {POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME, POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP};

	for (int i = 0; i < 2; i++) {
		overwrite(s, 0);
		OK(posix_trace_flush(s));
	}
	OK(posix_trace_shutdown(s));
	struct events all = logged("log");
	for (int k = 0; k < 4; k++) {
		struct events some = only(all, kinds[k]);
		CHECK(some.n > 0);
		for (int i = 0; i < some.n; i++) {
			EQ(some.e[i].n, 0);
			EQ(some.e[i].i.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
		}
	}
}

TEST(FUL_21, "")
{
	one_processor();
	trace_id_t s = STREAM(.policy = LOOP, TINY);
	trace_event_id_t id = name("flow");
	struct event e;
	int n = 300, first, last;

	set_filter(s, set_of(1, POSIX_TRACE_START), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	numbers(id, 0, n, 0);
	NONE_LOST(s);
	for (int i = 0; i < 50; i++) /* part of the first chunk is read, then all of it is overwritten */
		MUST(next(s, &e));
	n += overwrite(s, n);
	struct events all = drain(s);
	consecutive(all, &first, &last);
	CHECK(COUNTS ? first == 50 + lost(s) : first > 50);
	EQ(last, n - 1);
	SAME(story((struct events){all.e, 2}), "OVERFLOW RESUME");
	long before = lost(s); /* a stream that is read loses nothing */
	for (int i = 0; i < 100; i++) {
		numbers(id, 0, 20, 0);
		drain(s);
	}
	CHECK(COUNTS ? lost(s) == before : !overrun(s));
}
