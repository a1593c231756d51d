/* Section STA: start and stop. */
#include "conform.h"

TEST(STA_01, "posix_trace_start")
{
	trace_id_t s = STREAM(0);
	trace_event_set_t set = set_of(1, name("sta.rejected"));

	set_filter(s, set, POSIX_TRACE_SET_EVENTSET);
	STATE(s, SUSPENDED, NOT_FULL);
	OK(posix_trace_start(s));
	STATE(s, RUNNING, NOT_FULL);
	struct events all = drain(s);
	SAME(story(all), "START");
	EQ(all.e[0].n, sizeof set);
	CHECK(same_set((trace_event_set_t *)all.e[0].data, &set));
}

TEST(STA_02, "posix_trace_start")
{
	trace_id_t s = RUNNING(0);

	OK(posix_trace_start(s));
	STATE(s, RUNNING, NOT_FULL);
	text(name("sta"), "x");
	SAME(story(drain(s)), "START x");
}

TEST(STA_03, "posix_trace_start")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	int n = fill(s, 0);

	STATE(s, SUSPENDED, FULL);
	OK(posix_trace_start(s));
	STATE(s, SUSPENDED, FULL);
	struct events all = drain(s);
	EQ(users(all).n, n);
	SAME(story(from(all, n + 1)), "STOP1 OVERFLOW START");

	s = RUNNING(.policy = LOOP, TINY); /* a full flight recorder can be started again */
	n = overwrite(s, 0);
	STATE(s, RUNNING, FULL);
	OK(posix_trace_stop(s));
	STATE(s, SUSPENDED, FULL);
	text(UNNAMED, "no");
	OK(posix_trace_start(s));
	EQ(status(s).posix_stream_status, POSIX_TRACE_RUNNING);
	numbers(name("flow"), n, 1, 0);
	SAME(story(from(drain(s), -2)), print("START %d", n));
}

TEST(STA_04, "posix_trace_stop")
{
	trace_id_t s = RUNNING(0);

	text(name("sta"), "x");
	OK(posix_trace_stop(s));
	STATE(s, SUSPENDED, NOT_FULL);
	text(name("sta"), "y");
	struct events all = drain(s);
	SAME(story(all), "START x STOP0");
	EQ(all.e[2].n, sizeof(int));
}

TEST(STA_05, "posix_trace_stop")
{
	trace_id_t s = STREAM(0);

	OK(posix_trace_stop(s));
	STATE(s, SUSPENDED, NOT_FULL);
	OK(posix_trace_start(s));
	OK(posix_trace_stop(s));
	OK(posix_trace_stop(s));
	STATE(s, SUSPENDED, NOT_FULL);
	SAME(story(drain(s)), "START STOP0");
}

TEST(STA_06, "posix_trace_stop")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);

	fill(s, 0);
	OK(posix_trace_stop(s));
	STATE(s, SUSPENDED, FULL);
	SAME(story(only(drain(s), POSIX_TRACE_STOP)), "STOP1");

	s = RUNNING(.policy = LOOP, TINY);
	overwrite(s, 0);
	STATE(s, RUNNING, FULL);
	OK(posix_trace_stop(s));
	STATE(s, SUSPENDED, FULL);
	overrun(s);
	numbers(name("flow"), 0, 100, 0);
	CHECK(!overrun(s));
	EQ(only(drain(s), POSIX_TRACE_STOP).n, 0);
}

static trace_id_t opened(void)
{
	trace_id_t l;

	OK(posix_trace_shutdown(RUNNING(.log = "opened")));
	OK(posix_trace_open(open("opened", O_RDONLY | O_CLOEXEC), &l));
	return l;
}

static void start_and_stop(void)
{
	trace_id_t s = STREAM(0);

	for (int i = 0; i < 200; i++) {
		OK(posix_trace_start(s));
		OK(posix_trace_stop(s));
	}
	EQ(drain(s).n, 400);
}

/* Handlers interrupt neither call: the state is always certain. */
TEST(STA_07, "EINVAL")
{
	trace_id_t s = STREAM(0), l = opened();

	OK(posix_trace_shutdown(s));
	ERR(posix_trace_start(s), EINVAL);
	ERR(posix_trace_stop(s), EINVAL);
	ERR(posix_trace_start(l), EINVAL);
	ERR(posix_trace_stop(l), EINVAL);
	ERR(posix_trace_start(12345678), EINVAL);
	ERR(posix_trace_stop(~0UL), EINVAL);
	during_signals(start_and_stop, 0);
}

TEST(STA_08, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid, .policy = UNTIL_FULL, TINY);

	ask(p, "event sta 1");
	OK(posix_trace_stop(s));
	SAY(p, "times sta 0 5000 60"); /* more than there is room for */
	struct posix_trace_status_info st = status(s);
	LOST(st, 0);
	EQ(st.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	EQ(st.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
	SAME(story(drain(s)), "START 1 STOP0");
	OK(posix_trace_start(s));
	ask(p, "event sta 2");
	SAME(story(drain(s)), "START 2");
}

static atomic_bool end_sta;
static atomic_int passed, allowed;
static void *pass(void *arg)
{
	while (!end_sta)
		if (passed < allowed) {
			text(*(trace_event_id_t *)arg, "x");
			passed++;
		} else {
			sched_yield();
		}
	return NULL;
}

TEST(STA_09, "")
{
	trace_id_t s = STREAM(.policy = UNTIL_FULL, .size = 16 << 20);
	trace_event_id_t id = name("sta");
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		t[i] = start(pass, &id);
	for (int i = 0; i < 30; i++) {
		allowed += 100; /* some of the events meet each edge of the window */
		OK(posix_trace_start(s));
		allowed += 200;
		int n = allowed;
		while (passed < n - 100)
			sched_yield();
		OK(posix_trace_stop(s));
		while (passed < n)
			sched_yield();
	}
	end_sta = true;
	for (int i = 0; i < 3; i++)
		OK(pthread_join(t[i], NULL));
	struct events all = drain(s);
	ordered(all);
	bool on = false;
	int starts = 0;
	for (int i = 0; i < all.n; i++) {
		trace_event_id_t what = all.e[i].i.posix_event_id;
		if (what == id) {
			if (!on)
				FATAL("event %d of %d stands between STOP and START", i, all.n);
			continue;
		}
		if (on == (what == POSIX_TRACE_START))
			FATAL("event %d of %d is %u, on is %d", i, all.n, what, on);
		on = !on;
		starts += on;
	}
	EQ(starts, 30);
	CHECK(!on && users(all).n > 0);
}

static int cause(struct events all)
{
	struct events stops = only(all, POSIX_TRACE_STOP);
	int v = -1;

	MUST(stops.n > 0);
	EQ(stops.e[stops.n - 1].n, sizeof v);
	memcpy(&v, stops.e[stops.n - 1].data, sizeof v);
	return v;
}

TEST(STA_10, "")
{
	trace_id_t s = RUNNING(0);

	OK(posix_trace_stop(s));
	EQ(cause(drain(s)), 0);
	OK(posix_trace_shutdown(RUNNING(.log = "a")));
	EQ(cause(logged("a")), 0);
	s = RUNNING(.policy = UNTIL_FULL, TINY);
	fill(s, 0);
	EQ(cause(drain(s)), 1);
	s = RUNNING(.policy = UNTIL_FULL, .logpolicy = UNTIL_FULL, .logsize = 1, .log = "b", TINY);
	for (int i = 0; status(s).posix_log_full_status != POSIX_TRACE_FULL; i++) {
		numbers(UNNAMED, 50 * i, 50, 0);
		OK(posix_trace_flush(s));
	}
	OK(posix_trace_shutdown(s));
	EQ(cause(logged("b")), 2);
}

TEST(STA_11, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	int n = fill(s, 0);

	OK(posix_trace_stop(s));
	STATE(s, SUSPENDED, FULL);
	struct events all = drain(s);
	SAME(story(from(all, n + 1)), "STOP1 OVERFLOW");
	STATE(s, SUSPENDED, NOT_FULL); /* it does not restart by itself */
	text(name("flow"), "no");
	SAME(story(drain(s)), "");
	OK(posix_trace_start(s));
	STATE(s, RUNNING, NOT_FULL);
	text(name("flow"), "yes");
	SAME(story(drain(s)), "START RESUME yes");

	s = RUNNING(.policy = UNTIL_FULL, TINY); /* armed again */
	fill(s, 0);
	OK(posix_trace_stop(s));
	OK(posix_trace_start(s));
	STATE(s, SUSPENDED, FULL);
	drain(s);
	STATE(s, RUNNING, NOT_FULL);
}

OUT_OF_LINE static void calls(trace_id_t s)
{
	trace_event_set_t none = set_of(0);


	OK(posix_trace_start(s));
	OK(posix_trace_set_filter(s, &none, POSIX_TRACE_SET_EVENTSET));
	OK(posix_trace_stop(s));
}

static void of_no_process(struct events list, const char *want)
{
	SAME(story(list), want);
	for (int i = 0; i < list.n; i++) {
		EQ(list.e[i].i.posix_pid, 0);
		EQ((long long)list.e[i].i.posix_thread_id, 0);
		EQ((intptr_t)list.e[i].i.posix_prog_address, 0);
	}
}

static struct events marks(struct events all)
{
	struct events m = {malloc(((size_t)all.n + 1) * sizeof *m.e), 0};

	for (int i = 0; i < all.n; i++)
		if (!user(all.e[i].i.posix_event_id))
			m.e[m.n++] = all.e[i];
	return m;
}

TEST(STA_12, "")
{
	trace_id_t s = STREAM(.policy = UNTIL_FULL, TINY);

	calls(s);
	struct events all = drain(s);
	SAME(story(all), "START FILTER STOP0");
	char *last = NULL;
	for (int i = 0; i < all.n; i++) {
		char *at = all.e[i].i.posix_prog_address;
		EQ(all.e[i].i.posix_pid, getpid());
		BY_THREAD(&all.e[i], tid());
		/* The calls stand in calls(), one after the other. */
		if (at <= (char *)calls || at > (char *)calls + 1000 || at <= last)
			FAIL("event %d is of address %p, calls() at %p", i, (void *)at, (void *)calls);
		last = at;
	}
	OK(posix_trace_start(s));
	drain(s);
	fill(s, 0);
	of_no_process(marks(drain(s)), "STOP1 OVERFLOW START");
	text(name("flow"), "x");
	of_no_process(marks(drain(s)), "RESUME");
	trace_id_t l = STREAM(.log = "log");
	OK(posix_trace_flush(l));
	OK(posix_trace_shutdown(l));
	of_no_process(logged("log"), "FLUSH_START FLUSH_STOP FLUSH_START FLUSH_STOP");
}

TEST(STA_13, "")
{
	trace_id_t s = STREAM(0);

	set_filter(s, set_of(2, POSIX_TRACE_START, POSIX_TRACE_STOP), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	STATE(s, RUNNING, NOT_FULL);
	text(name("sta"), "x");
	OK(posix_trace_stop(s));
	STATE(s, SUSPENDED, NOT_FULL);
	text(name("sta"), "y");
	SAME(story(drain(s)), "x");
}
