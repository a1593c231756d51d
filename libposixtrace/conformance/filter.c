/* Section FIL: the filter of a stream. */
#include "conform.h"

TEST(FIL_01, "")
{
	trace_id_t s = STREAM(0);
	trace_event_id_t a = name("fil.one.a"), b = name("fil.one.b");

	set_filter(s, set_of(1, a), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	text(a, "a");
	text(b, "b");
	text(UNNAMED, "c");
	SAME(story(drain(s)), "START b c");
	set_filter(s, set_of(0), POSIX_TRACE_SET_EVENTSET);
	text(a, "a");
	SAME(story(drain(s)), "FILTER a");
}

static trace_event_set_t combined(trace_event_set_t old, const trace_event_set_t *set, int how)
{
	for (trace_event_id_t id = 1; id < MOST_TYPES; id++)
		if (how == POSIX_TRACE_SET_EVENTSET)
			OK(has(set, id) ? posix_trace_eventset_add(id, &old) : posix_trace_eventset_del(id, &old));
		else if (has(set, id))
			OK(how == POSIX_TRACE_ADD_EVENTSET ? posix_trace_eventset_add(id, &old) : posix_trace_eventset_del(id, &old));
	return old;
}

/* Sets applied one after the other, not running and running. */
static void steps(int how)
{
	trace_event_set_t system, all;
	trace_id_t s = STREAM(0);

	OK(posix_trace_eventset_fill(&system, POSIX_TRACE_SYSTEM_EVENTS));
	OK(posix_trace_eventset_fill(&all, POSIX_TRACE_ALL_EVENTS));
	trace_event_set_t begins[] = {set_of(0), set_of(3, 1U, 40U, 4095U), system, all};
	trace_event_set_t sets[] = {set_of(0), set_of(1, 40U), set_of(4, 63U, 64U, 65U, 4095U), system, all};
	for (int b = 0; b < 4; b++)
		for (int i = 0; i < 5; i++) {
			for (int running = 0; running < 2; running++) {
				trace_event_set_t before = sets[i], want = combined(begins[b], &sets[i], how);
				set_filter(s, begins[b], POSIX_TRACE_SET_EVENTSET);
				OK(posix_trace_set_filter(s, &sets[i], how));
				CHECK(!memcmp(&before, &sets[i], sizeof before));
				trace_event_set_t have = filter(s);
				CHECK(same_set(&have, &want));
				OK(posix_trace_start(s));
			}
			OK(posix_trace_stop(s));
		}
}

TEST(FIL_02, "posix_trace_set_filter") { steps(POSIX_TRACE_SET_EVENTSET); }
TEST(FIL_03, "posix_trace_set_filter") { steps(POSIX_TRACE_ADD_EVENTSET); }
TEST(FIL_04, "posix_trace_set_filter") { steps(POSIX_TRACE_SUB_EVENTSET); }

TEST(FIL_05, "posix_trace_set_filter/EINVAL")
{
	trace_id_t s = RUNNING(0);
	trace_event_set_t old = set_of(2, 40U, 50U), set = set_of(1, 60U), have;

	set_filter(s, old, POSIX_TRACE_SET_EVENTSET);
	drain(s);
	for (int how = -2; how < 300; how++)
		if (how != POSIX_TRACE_SET_EVENTSET && how != POSIX_TRACE_ADD_EVENTSET && how != POSIX_TRACE_SUB_EVENTSET)
			ERR(posix_trace_set_filter(s, &set, how), EINVAL);
	ERR(posix_trace_set_filter(s, NULL, POSIX_TRACE_SET_EVENTSET), EINVAL);
	have = filter(s);
	CHECK(same_set(&have, &old));
	EQ(drain(s).n, 0);
}

TEST(FIL_06, "posix_trace_set_filter")
{
	trace_id_t s = STREAM(0);
	trace_event_id_t a = name("fil.a"), b = name("fil.b");

	set_filter(s, set_of(1, a), POSIX_TRACE_SET_EVENTSET); /* before the start */
	OK(posix_trace_start(s));
	text(a, "a");
	text(b, "b");
	set_filter(s, set_of(1, b), POSIX_TRACE_SET_EVENTSET); /* running */
	text(a, "a");
	text(b, "b");
	OK(posix_trace_stop(s));
	set_filter(s, set_of(0), POSIX_TRACE_SET_EVENTSET); /* suspended */
	OK(posix_trace_start(s));
	text(a, "a");
	text(b, "b");
	SAME(story(drain(s)), "START b FILTER a STOP0 START a b");
}

TEST(FIL_07, "posix_trace_set_filter")
{
	trace_id_t s = STREAM(0);
	trace_event_set_t a = set_of(1, name("fil.a")), b = set_of(1, name("fil.b"));

	set_filter(s, a, POSIX_TRACE_SET_EVENTSET);
	EQ(drain(s).n, 0); /* not running: no event */
	OK(posix_trace_start(s));
	set_filter(s, b, POSIX_TRACE_ADD_EVENTSET);
	OK(posix_trace_stop(s));
	set_filter(s, b, POSIX_TRACE_SET_EVENTSET);
	struct events all = drain(s);
	SAME(story(all), "START FILTER STOP0");
	EQ(all.e[1].n, 2 * sizeof a);
	trace_event_set_t want = combined(a, &b, POSIX_TRACE_ADD_EVENTSET);
	CHECK(same_set((trace_event_set_t *)all.e[1].data, &a));
	CHECK(same_set((trace_event_set_t *)all.e[1].data + 1, &want));
}

static atomic_bool end_pair;
static atomic_int changes;
static trace_event_id_t pair_a, pair_b;
static void *pair(void *arg)
{
	/* However long a change of the filter takes, all events fit into the stream. */
	enum { MOST = 500 };
	int seen = 0, recorded = 0;

	(void)arg;
	while (!end_pair) {
		if (seen != changes) {
			seen = changes;
			recorded = 0;
		}
		if (recorded++ < MOST) {
			text(pair_a, "a");
			text(pair_b, "b");
		}
		usleep(10);
	}
	return NULL;
}

TEST(FIL_08, "")
{
	trace_id_t s = RUNNING(.size = 4 << 20, .policy = UNTIL_FULL);
	trace_event_set_t same_as = set_of(1, 4000U);

	set_filter(s, same_as, POSIX_TRACE_SET_EVENTSET);
	drain(s);
	EACH (how, POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_ADD_EVENTSET)
		set_filter(s, same_as, how); /* also when the set does not change */
	SAME(story(drain(s)), "FILTER FILTER");
	/* Its place separates events judged by the old and by the new filter. */
	pair_a = name("fil.a");
	pair_b = name("fil.b");
	pthread_t t = start(pair, NULL);
	for (int i = 0; i < 40; i++) {
		set_filter(s, set_of(1, i % 2 ? pair_a : pair_b), POSIX_TRACE_SET_EVENTSET);
		changes++;
		usleep(200);
	}
	end_pair = true;
	OK(pthread_join(t, NULL));
	struct events all = drain(s);
	trace_event_id_t excluded = 0;
	int n = 0;
	for (int i = 0; i < all.n; i++) {
		struct event *e = &all.e[i];
		if (e->i.posix_event_id == POSIX_TRACE_FILTER) {
			excluded = has((trace_event_set_t *)e->data + 1, pair_a) ? pair_a : pair_b;
			n++;
		} else if (e->i.posix_event_id == excluded) {
			FATAL("event %d of %d was excluded", i, all.n);
		}
	}
	EQ(n, 40);
}

static void filter_often(void)
{
	trace_id_t s = RUNNING(0);

	for (trace_event_id_t i = 0; i < 200; i++) {
		trace_event_set_t want = set_of(1, 33 + i), have;
		set_filter(s, want, POSIX_TRACE_SET_EVENTSET);
		have = filter(s);
		CHECK(same_set(&have, &want));
	}
}

/* Handlers do not interrupt it. */
TEST(FIL_09, "posix_trace_set_filter") { during_signals(filter_often, 0); }

TEST(FIL_10, "")
{
	trace_id_t s = STREAM(0);
	trace_event_id_t id = name("fil.ten");
	trace_event_set_t all, with_filter = set_of(1, POSIX_TRACE_FILTER);

	OK(posix_trace_eventset_fill(&all, POSIX_TRACE_ALL_EVENTS));
	set_filter(s, all, POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	text(id, "x");
	text(UNNAMED, "y");
	set_filter(s, all, POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_stop(s));
	EQ(drain(s).n, 0); /* no type is exempt */
	/* FILTER is dropped only if it is in both sets. */
	set_filter(s, set_of(0), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	set_filter(s, with_filter, POSIX_TRACE_SET_EVENTSET);
	set_filter(s, with_filter, POSIX_TRACE_SET_EVENTSET);
	text(id, "z");
	set_filter(s, set_of(0), POSIX_TRACE_SET_EVENTSET);
	SAME(story(drain(s)), "START FILTER z FILTER");
}

TEST(FIL_11, "")
{
	trace_id_t s = STREAM(.policy = UNTIL_FULL, TINY);
	int n;

	set_filter(s, set_of(4, POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	STATE(s, RUNNING, NOT_FULL);
	n = fill(s, 0);
	STATE(s, SUSPENDED, FULL);
	numbers(name("flow"), 0, 1, 0);
	EQ(status(s).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	struct events all = drain(s);
	EQ(all.n, n); /* the state changes all the same, and the stream restarts */
	STATE(s, RUNNING, NOT_FULL);
	text(name("flow"), "x");
	SAME(story(drain(s)), "x");
}

static trace_id_t opened(void)
{
	trace_id_t l;

	OK(posix_trace_shutdown(RUNNING(.log = "opened")));
	OK(posix_trace_open(open("opened", O_RDONLY | O_CLOEXEC), &l));
	return l;
}

TEST(FIL_12, "posix_trace_get_filter/EINVAL")
{
	trace_id_t s = STREAM(0);
	trace_event_set_t want = set_of(2, 40U, 4000U), have = filter(s), none = set_of(0);

	CHECK(same_set(&have, &none));
	set_filter(s, want, POSIX_TRACE_SET_EVENTSET);
	have = filter(s);
	CHECK(same_set(&have, &want));
	ERR(posix_trace_get_filter(s, NULL), EINVAL);
	OK(posix_trace_shutdown(s));
	ERR(posix_trace_get_filter(s, &have), EINVAL);
	CHECK(same_set(&have, &want));
}

TEST(FIL_13, "posix_trace_get_filter,posix_trace_set_filter/EINVAL")
{
	trace_id_t s = STREAM(0), l = opened();
	trace_event_set_t set = set_of(0);

	ERR(posix_trace_get_filter(l, &set), EINVAL);
	ERR(posix_trace_set_filter(l, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	OK(posix_trace_shutdown(s));
	ERR(posix_trace_get_filter(s, &set), EINVAL);
	ERR(posix_trace_set_filter(s, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	ERR(posix_trace_get_filter(0, &set), EINVAL);
	ERR(posix_trace_set_filter(~0UL, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
}

TEST(FIL_14, "")
{
	trace_id_t a = RUNNING(0), b = RUNNING(0), c = RUNNING(.inherited = POSIX_TRACE_INHERITED);
	trace_event_id_t x = name("fil.x"), y = name("fil.y");

	set_filter(a, set_of(1, x), POSIX_TRACE_SET_EVENTSET);
	set_filter(b, set_of(1, y), POSIX_TRACE_SET_EVENTSET);
	text(x, "x");
	text(y, "y");
	SAME(story(drain(a)), "START FILTER y");
	SAME(story(drain(b)), "START FILTER x");
	SAME(story(drain(c)), "START x y");
}

TEST(FIL_15, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid, .inherited = POSIX_TRACE_INHERITED);
	trace_event_set_t all;
	trace_event_id_t id;

	struct peer *child = by_peer(p, "fork");
	OK(posix_trace_trid_eventid_open(s, "fil.out", &id));
	set_filter(s, set_of(1, id), POSIX_TRACE_SET_EVENTSET);
	ask(p, "event fil.out a");
	ask(child, "event fil.out b");
	ask(child, "event fil.in c");
	SAME(story(users(drain(s))), "c");
	OK(posix_trace_eventset_fill(&all, POSIX_TRACE_ALL_EVENTS));
	set_filter(s, all, POSIX_TRACE_SET_EVENTSET);
	ask(p, "event fil.registered.later d"); /* an id that is already in the set */
	SAY(child, "raw %u e", UNNAMED);
	EQ(users(drain(s)).n, 0);
}

TEST(FIL_16, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	trace_event_set_t want = set_of(1, 4000U), have;

	fill(s, 0);
	set_filter(s, want, POSIX_TRACE_SET_EVENTSET);
	have = filter(s);
	CHECK(same_set(&have, &want));
	CHECK(overrun(s)); /* the FILTER event */
	COUNT(s, 2);
	struct events all = drain(s);
	EQ(only(all, POSIX_TRACE_FILTER).n, 0);
	struct events starts = only(all, POSIX_TRACE_START);
	CHECK(same_set((trace_event_set_t *)starts.e[starts.n - 1].data, &want));
}

TEST(FIL_17, "")
{
	trace_event_id_t id = name("fil.seventeen");

	for (int log = 0; log < 2; log++) {
		trace_id_t s = STREAM(.log = log ? "log" : NULL);
		set_filter(s, set_of(1, id), POSIX_TRACE_SET_EVENTSET);
		OK(posix_trace_start(s));
		set_filter(s, set_of(1, UNNAMED), POSIX_TRACE_SET_EVENTSET);
		struct events all;
		if (log) {
			OK(posix_trace_shutdown(s));
			all = logged("log");
		} else {
			all = drain(s);
		}
		const trace_event_set_t *first = (trace_event_set_t *)only(all, POSIX_TRACE_START).e[0].data;
		const trace_event_set_t *both = (trace_event_set_t *)only(all, POSIX_TRACE_FILTER).e[0].data;
		CHECK(has(first, id) && !has(first, UNNAMED));
		CHECK(has(&both[0], id) && !has(&both[0], UNNAMED));
		CHECK(!has(&both[1], id) && has(&both[1], UNNAMED));
	}
}
