/* Section GET: reading events. */
#include "conform.h"
#include <sys/syscall.h>

static trace_id_t log_with(struct how how, int n, const char *data)
{
	trace_id_t s, l;

	how.log = "log";
	OK(try_make(how, &s));
	OK(posix_trace_start(s));
	for (int i = 0; i < n; i++)
		text(name("get"), data);
	OK(posix_trace_shutdown(s));
	OK(posix_trace_open(open("log", O_RDONLY | O_CLOEXEC), &l));
	return l;
}

/* What a call of a reader stores. */
struct got {
	struct posix_trace_event_info e;
	char data[100];
	size_t n;
	int unavailable, err;
};

static struct got get(trace_id_t s, size_t room)
{
	struct got g;

	memset(&g, '.', sizeof g);
	g.err = posix_trace_getnext_event(s, &g.e, g.data, room, &g.n, &g.unavailable);
	return g;
}

static struct got try(trace_id_t s, size_t room)
{
	struct got g;

	memset(&g, '.', sizeof g);
	g.err = posix_trace_trygetnext_event(s, &g.e, g.data, room, &g.n, &g.unavailable);
	return g;
}

static struct got timed(trace_id_t s, struct timespec deadline)
{
	struct got g;

	memset(&g, '.', sizeof g);
	g.err = posix_trace_timedgetnext_event(s, &g.e, g.data, sizeof g.data, &g.n, &g.unavailable, &deadline);
	return g;
}

TEST(GET_01, "posix_trace_getnext_event")
{
	trace_id_t s = RUNNING(0);

	text(name("get"), "x");
	EQ(get(s, 100).e.posix_event_id, POSIX_TRACE_START);
	struct got g = get(s, 100);
	EQ(g.e.posix_event_id, name("get"));
	EQ(g.n, 1);
	EQ(g.data[0], 'x');
	SAME(story(users(rest(log_with((struct how){0}, 2, "y")))), "y y");
}

TEST(GET_02, "posix_trace_getnext_event")
{
	trace_id_t s = STREAM(0);
	struct call *c = reading(s);

	blocked(c); /* never started */
	OK(posix_trace_start(s));
	finished(c);
	EQ(c->err, 0);
	EQ(c->e.i.posix_event_id, POSIX_TRACE_START);
	c = reading(s);
	blocked(c); /* running, nothing there */
	OK(posix_trace_stop(s));
	finished(c);
	EQ(c->e.i.posix_event_id, POSIX_TRACE_STOP);
	c = reading(s);
	text(name("get"), "x");
	blocked(c); /* suspended */
	OK(posix_trace_shutdown(s));
	finished(c);
}

TEST(GET_03, "posix_trace_getnext_event")
{
	trace_id_t l = log_with((struct how){0}, 1, "x");

	CHECK(rest(l).n > 0);
	for (int i = 0; i < 3; i++) {
		struct got g = get(l, 100);
		EQ(g.err, 0);
		CHECK(g.unavailable != 0);
		EQ(g.n, 0);
	}
}

TEST(GET_04, "")
{
	trace_id_t s = RUNNING(0);
	struct got g = try(s, 100);

	EQ(g.unavailable, 0);
	EQ(g.e.posix_event_id, POSIX_TRACE_START);
	text(name("get"), "data");
	g = try(s, 100);
	EQ(g.unavailable, 0);
	EQ(g.e.posix_event_id, name("get"));
	EQ(g.e.posix_pid, getpid());
	EQ(g.n, 4);
	CHECK(!memcmp(g.data, "data......", 10));
	g = try(s, 100);
	CHECK(g.unavailable != 0 && g.err == 0);
	CHECK(!memcmp(g.data, "..........", 10));
}

TEST(GET_05, "posix_trace_getnext_event/EINVAL")
{
	trace_id_t s = RUNNING(.log = "log");

	text(name("get"), "x");
	EQ(try(s, 100).err, EINVAL);
	EQ(get(s, 100).err, EINVAL);
	EQ(timed(s, after(60000000000)).err, EINVAL);
	OK(posix_trace_shutdown(s));
	EQ(users(logged("log")).n, 1);
}

static void nothing(trace_id_t s)
{
	struct got g = try(s, 100);

	EQ(g.err, 0);
	CHECK(g.unavailable != 0);
	EQ(g.n, 0);
}

TEST(GET_06, "posix_trace_trygetnext_event")
{
	trace_id_t s = STREAM(0);

	nothing(s);
	OK(posix_trace_start(s));
	drain(s);
	nothing(s);
	OK(posix_trace_stop(s));
	drain(s);
	nothing(s);
	struct call *c = reading(s); /* nor does it wait for another thread's call */
	for (int i = 0; i < 20; i++)
		nothing(s);
	OK(posix_trace_shutdown(s));
	finished(c);
}

TEST(GET_07, "posix_trace_trygetnext_event/EINVAL")
{
	trace_id_t s = RUNNING(0);

	EQ(try(log_with((struct how){0}, 1, "x"), 100).err, EINVAL);
	OK(posix_trace_shutdown(s));
	EQ(try(s, 100).err, EINVAL);
}

TEST(GET_08, "posix_trace_timedgetnext_event/ETIMEDOUT")
{
	trace_id_t s = STREAM(0);
	struct timespec t = after(40000000);

	EQ(timed(s, t).err, ETIMEDOUT);
	CHECK(now() >= nanos(t));
	CHECK(now() - nanos(t) < 5 * INT64_C(1000000000));
	struct call *c = reading_until(s, after(60000000000));
	blocked(c);
	OK(posix_trace_start(s));
	finished(c);
	EQ(c->err, 0);
	EQ(c->e.i.posix_event_id, POSIX_TRACE_START);
}

TEST(GET_09, "posix_trace_timedgetnext_event")
{
	trace_id_t s = RUNNING(0);
	struct timespec times[] = {after(-3600000000000), {0, 0}, {-1, 0}, {0, -1}, {0, 1000000000}, {1, 2000000000}};

	numbers(name("get"), 0, 5, 0);
	for (int i = 0; i < 6; i++)
		EQ(timed(s, times[i]).err, 0);
}

TEST(GET_10, "posix_trace_timedgetnext_event/EINVAL,ETIMEDOUT")
{
	trace_id_t s = RUNNING(0);
	struct timespec past[] = {after(0), after(-3600000000000), {0, 0}, {-1, 0}}, bad[] = {{0, -1}, {0, 1000000000}, {1 << 30, -1}, {-5, 1000000000}};

	drain(s);
	for (int i = 0; i < 4; i++) {
		int64_t begin = now();
		EQ(timed(s, past[i]).err, ETIMEDOUT);
		EQ(timed(s, bad[i]).err, EINVAL);
		CHECK(now() - begin < 5 * INT64_C(1000000000));
	}
	text(name("get"), "x"); /* nothing was consumed */
	SAME(story(drain(s)), "x");
}

/* Steps of the clock count: it is CLOCK_REALTIME. A test cannot set it; the kernel's wait is an
   absolute one on that clock, which the readers of other processes show in Go. Here: the deadline is
   absolute, and passes when the clock has reached it. */
TEST(GET_11, "posix_trace_timedgetnext_event")
{
	trace_id_t s = STREAM(0);

	for (int i = 0; i < 5; i++) {
		struct timespec t = after(10000000 * (i + 1));
		while (now() < nanos(t) - 2000000) /* however late the call begins */
			nap();
		int err = timed(s, t).err;
		EQ(err, ETIMEDOUT);
		CHECK(now() >= nanos(t));
	}
	struct call *c = reading_until(s, after(30000000));
	finished(c);
	EQ(c->err, ETIMEDOUT);
}

TEST(GET_12, "posix_trace_timedgetnext_event/EINVAL")
{
	trace_id_t s = STREAM(0);

	EQ(timed(log_with((struct how){0}, 1, "x"), after(60000000000)).err, EINVAL);
	OK(posix_trace_shutdown(s));
	EQ(timed(s, after(60000000000)).err, EINVAL);
}

/* An event of ten bytes, of which a stream keeps max, read with all sizes, from a stream and a log. */
static void lengths(int max, void (*check)(int max, size_t room, struct got *g))
{
	trace_id_t s = RUNNING(.data = (size_t)max), l = log_with((struct how){.data = (size_t)max}, 1, "0123456789");

	drain(s);
	for (size_t room = 0; room < 32; room++) {
		text(name("get"), "0123456789");
		struct got g = try(s, room);
		EQ(g.err, 0);
		check(max, room, &g);
		EQ(g.data[room], '.');
		OK(posix_trace_rewind(l));
		do
			g = get(l, room);
		while (!g.err && !g.unavailable && !user(g.e.posix_event_id));
		check(max, room, &g);
		EQ(g.data[room], '.');
	}
}

static void fits(int max, size_t room, struct got *g)
{
	size_t kept = max < 10 ? (size_t)max : 10;

	if (room < kept)
		return;
	EQ(g->n, kept);
	CHECK(!memcmp(g->data, "0123456789", kept));
	EQ(g->e.posix_truncation_status, max < 10 ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
}

static void cut(int max, size_t room, struct got *g)
{
	size_t kept = max < 10 ? (size_t)max : 10;

	if (room >= kept)
		return;
	EQ(g->n, room);
	CHECK(!memcmp(g->data, "0123456789", room));
	EQ(g->e.posix_truncation_status, POSIX_TRACE_TRUNCATED_READ);
}

TEST(GET_13, "")
{
	lengths(10, fits);
	lengths(6, fits);
	lengths(100, fits);
}

TEST(GET_14, "")
{
	lengths(10, cut);
	lengths(6, cut);
}

TEST(GET_15, "")
{
	trace_id_t s = RUNNING(0);
	struct posix_trace_event_info e;
	size_t n;
	int none;

	drain(s);
	posix_trace_event(name("get"), NULL, 0);
	text(name("get"), "x");
	for (int i = 0; i < 2; i++) {
		n = 9;
		OK(posix_trace_trygetnext_event(s, &e, NULL, 0, &n, &none));
		EQ(none, 0);
		EQ(n, 0);
		EQ(e.posix_truncation_status, i ? POSIX_TRACE_TRUNCATED_READ : POSIX_TRACE_NOT_TRUNCATED);
	}
}

TEST(GET_16, "")
{
	trace_id_t s = RUNNING(0);

	drain(s);
	text(name("get"), "first");
	text(name("get"), "second");
	EQ(try(s, 2).n, 2);
	struct got g = try(s, 100);
	EQ(g.n, 6);
	CHECK(!memcmp(g.data, "second", 6));
	nothing(s);
}

static atomic_int sequence;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static void *in_order(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3000; i++) {
		pthread_mutex_lock(&one_at_a_time);
		numbers(UNNAMED, sequence++, 1, 0);
		pthread_mutex_unlock(&one_at_a_time);
	}
	return NULL;
}

TEST(GET_17, "")
{
	trace_id_t s = RUNNING(.size = 4 << 20, .policy = UNTIL_FULL), l = RUNNING(.size = 4 << 20, .policy = UNTIL_FULL, .log = "log", .logpolicy = APPEND);
	pthread_t t[3];
	int got = 0;

	for (int i = 0; i < 3; i++)
		t[i] = start(in_order, NULL);
	while (got < 9000) { /* read while they are recorded */
		struct event e;
		if (!next(s, &e))
			continue;
		if (user(e.i.posix_event_id)) {
			if (atoi(e.data) != got)
				FATAL("%s after %d", e.data, got - 1);
			got++;
		}
		free(e.data);
	}
	for (int i = 0; i < 3; i++)
		OK(pthread_join(t[i], NULL));
	OK(posix_trace_shutdown(l));
	range(logged("log"), 0, 9000);
}

static trace_id_t read_by_all;
static atomic_int times[4000];
static atomic_int read_total;
static void *read_some(void *arg)
{
	struct event e;

	(void)arg;
	while (read_total < 4000)
		if (next(read_by_all, &e) && user(e.i.posix_event_id)) {
			times[atoi(e.data)]++;
			read_total++;
		}
	return NULL;
}

TEST(GET_18, "")
{
	pthread_t t[3];

	read_by_all = RUNNING(.size = 1 << 20, .policy = UNTIL_FULL);
	for (int i = 0; i < 3; i++)
		t[i] = start(read_some, NULL);
	numbers(UNNAMED, 0, 4000, 0);
	for (int i = 0; i < 3; i++)
		OK(pthread_join(t[i], NULL));
	for (int i = 0; i < 4000; i++)
		EQ(times[i], 1);
	EQ(drain(read_by_all).n, 0);
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY); /* its space is used again */
	for (int i = 0; i < 50; i++) {
		numbers(UNNAMED, 0, 10, 0);
		drain(s);
	}
	NONE_LOST(s);
}

TEST(GET_19, "EINTR")
{
	trace_id_t s = STREAM(0);

	handle(SIGUSR1, 0);
	for (int i = 0; i < 2; i++) {
		struct call *c = i ? reading_until(s, after(60000000000)) : reading(s);
		blocked(c);
		EQ(handled, i);
		OK(pthread_kill(c->thread, SIGUSR1));
		finished(c);
		EQ(c->err, EINTR);
		CHECK(c->unavailable != 0);
		EQ(handled, i + 1);
	}
	/* No event is consumed. */
	OK(posix_trace_start(s));
	text(name("get"), "x");
	SAME(story(drain(s)), "START x");
	/* A handler that restarts calls interrupts nothing. */
	handle(SIGUSR1, SA_RESTART);
	struct call *c = reading(s);
	blocked(c);
	OK(pthread_kill(c->thread, SIGUSR1));
	WAIT(handled == 3);
	text(name("get"), "y");
	finished(c);
	if (c->err != EINTR) /* before Linux 5.16 any handler interrupts */
		SAME(c->e.data, "y");
}

TEST(GET_20, "posix_trace_getnext_event/EINVAL")
{
	trace_id_t s = STREAM(0);

	EQ(get(0, 1).err, EINVAL);
	EQ(get(~0UL, 1).err, EINVAL);
	EQ(timed(12345, after(0)).err, EINVAL);
	struct call *c[2] = {reading(s), reading_until(s, after(60000000000))};
	blocked(c[0]);
	blocked(c[1]);
	OK(posix_trace_shutdown(s));
	for (int i = 0; i < 2; i++) {
		finished(c[i]);
		EQ(c[i]->err, EINVAL);
	}
	EQ(get(s, 1).err, EINVAL);
}

TEST(GET_21, "")
{
	trace_id_t s = STREAM(.policy = UNTIL_FULL, TINY);
	struct call *c = reading(s);

	OK(posix_trace_start(s)); /* a system event */
	finished(c);
	EQ(c->e.i.posix_event_id, POSIX_TRACE_START);
	c = reading(s);
	set_filter(s, set_of(0), POSIX_TRACE_SET_EVENTSET);
	finished(c);
	EQ(c->e.i.posix_event_id, POSIX_TRACE_FILTER);
	struct peer *p = new_peer(NULL); /* an event of another process */
	trace_id_t other = RUNNING(.pid = p->pid);
	drain(other);
	c = reading(other);
	blocked(c);
	SAY(p, "raw %u theirs", UNNAMED);
	finished(c);
	SAME(c->e.data, "theirs");
	fill(s, 0); /* the automatic START */
	struct event e;
	do
		MUST(next(s, &e));
	while (e.i.posix_event_id != POSIX_TRACE_OVERFLOW);
	c = reading(s);
	finished(c);
	EQ(c->e.i.posix_event_id, POSIX_TRACE_START);
}

TEST(GET_22, "")
{
	trace_id_t s = RUNNING(.inherited = POSIX_TRACE_INHERITED);
	struct peer *p = new_peer(NULL), *q = by_peer(p, "fork");

	text(name("get"), "a");
	ask(p, "event get b");
	ask(q, "event get c");
	text(name("get"), "d");
	struct events u = users(drain(s));
	SAME(story(u), "a b c d");
	EQ(u.e[0].i.posix_pid, getpid());
	EQ(u.e[1].i.posix_pid, p->pid);
	EQ(u.e[2].i.posix_pid, q->pid);
	EQ(u.e[0].i.posix_event_id, u.e[2].i.posix_event_id);
}

TEST(GET_23, "")
{
	trace_id_t s = RUNNING(0);

	drain(s);
	struct call *c = reading(s);
	blocked(c);
	OK(posix_trace_clear(s));
	blocked(c);
	text(name("get"), "x");
	finished(c);
	SAME(c->e.data, "x");
}

TEST(GET_24, "")
{
	trace_id_t s = STREAM(.log = "log");
	struct got g[] = {get(s, 10), try(s, 10), timed(s, after(0)), get(0, 10), try(0, 10), timed(STREAM(0), after(0)), timed(STREAM(0), (struct timespec){0, -1})};

	for (size_t i = 0; i < sizeof g / sizeof g[0]; i++) {
		CHECK(g[i].err != 0 && g[i].unavailable != 0);
		EQ(g[i].n, 0);
	}
}
