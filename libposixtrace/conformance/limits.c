/* Section LIM: options, limits, constants, types, and what holds of all functions. */
#include "conform.h"
#include <limits.h>

TEST(LIM_01, "")
{
	long options[] = {SAID_TRC, SAID_TEF, SAID_TRL, SAID_TRI};
	int names[] = {_SC_TRACE, _SC_TRACE_EVENT_FILTER, _SC_TRACE_LOG, _SC_TRACE_INHERIT};

	for (int i = 0; i < 4; i++) {
		CHECK(options[i] == -1 || options[i] == 0 || options[i] == 200809L);
		CHECK(i > 0 || options[i] != -1);
		if (options[i] > 0)
			EQ(sysconf(names[i]), options[i]);
		else
			CHECK(sysconf(names[i]) == -1 || sysconf(names[i]) == 200809L);
	}
}

/* One stream can use all of them. */
TEST(LIM_02, "")
{
	trace_id_t s = STREAM(.log = "log", .inherited = POSIX_TRACE_INHERITED);
	trace_event_id_t out = name("lim.two.out");

	EQ(sysconf(_SC_TRACE) + sysconf(_SC_TRACE_EVENT_FILTER) + sysconf(_SC_TRACE_LOG) + sysconf(_SC_TRACE_INHERIT), 4 * 200809L);
	set_filter(s, set_of(1, out), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	text(out, "out");
	text(name("lim.two.in"), "in");
	OK(posix_trace_shutdown(s));
	SAME(story(unmarked(logged("log"))), "START in STOP0");
}

TEST(LIM_03, "EINVAL")
{
	EQ(sysconf(_SC_TRACE_EVENT_NAME_MAX), TRACE_EVENT_NAME_MAX);
	EQ(sysconf(_SC_TRACE_NAME_MAX), TRACE_NAME_MAX);
	EQ(sysconf(_SC_TRACE_SYS_MAX), TRACE_SYS_MAX);
	EQ(sysconf(_SC_TRACE_USER_EVENT_MAX), TRACE_USER_EVENT_MAX);
	errno = 0;
	EQ(sysconf(123456), -1);
	EQ(errno, EINVAL);
	errno = 0;
	CHECK(sysconf(_SC_PAGESIZE) > 0 && (sysconf)(_SC_PAGESIZE) == sysconf(_SC_PAGESIZE));
	EQ(errno, 0);
}

TEST(LIM_04, "posix_trace_eventid_open/ENAMETOOLONG")
{
	char s[TRACE_EVENT_NAME_MAX + 2];
	trace_event_id_t id = 77;

	EQ(_POSIX_TRACE_EVENT_NAME_MAX, 30);
	CHECK(choices ? TRACE_EVENT_NAME_MAX == 255 : TRACE_EVENT_NAME_MAX >= 30);
	memset(s, 'n', sizeof s);
	s[TRACE_EVENT_NAME_MAX + 1] = 0;
	ERR(posix_trace_eventid_open(s, &id), ENAMETOOLONG);
	EQ(id, 77);
	s[TRACE_EVENT_NAME_MAX] = 0;
	OK(posix_trace_eventid_open(s, &id));
	SAME(type_name(STREAM(0), id), s);
}

TEST(LIM_05, "")
{
	char s[TRACE_NAME_MAX + 1];

	EQ(_POSIX_TRACE_NAME_MAX, 8);
	CHECK(choices ? TRACE_NAME_MAX == 255 : TRACE_NAME_MAX >= 8);
	memset(s, 's', TRACE_NAME_MAX);
	s[TRACE_NAME_MAX] = 0;
	struct same_attr a = attr_of(STREAM(.name = s));
	SAME(a.name, s);
	CHECK(strlen(a.version) <= TRACE_NAME_MAX);
}

/* Fills the trace directory: streams of two controllers on so many processes. */
static struct {
	int made, dead, here, there, again, after, freed;
	bool logs;
} full;

static void fill_directory(void)
{
	pid_t pids[TRACE_SYS_MAX / 64 + 1];
	const int few = 24;
	trace_id_t first = 0, trid;
	struct peer *p = new_peer(NULL);
	char *end;

	for (int i = 0; i < TRACE_SYS_MAX / 64 + 1; i++)
		pids[i] = sleeper();
	pid_t last = pids[TRACE_SYS_MAX / 64];
	OK(posix_trace_shutdown(STREAM(.log = "log")));
	struct how small = {.size = 1, .data = NODATA};
	for (full.made = 0; full.made < TRACE_SYS_MAX - few; full.made++) {
		small.pid = pids[full.made / 64];
		OK(try_make(small, full.made ? &trid : &first));
	}
	full.dead = (int)strtol(ask(p, "many %d %d", (int)last, few + 1), &end, 10);
	full.there = atoi(end);
	full.made += full.dead;
	small.pid = last;
	full.here = try_make(small, &trid);
	full.logs = logged("log").n > 0; /* opening a log needs no place */
	kill_peer(p);
	while (!(full.after = try_make(small, &trid)))
		full.again++;
	OK(posix_trace_shutdown(first));
	full.freed = try_make(small, &trid);
	for (int i = 0; i < TRACE_SYS_MAX / 64 + 1; i++)
		kill(pids[i], SIGKILL);
}

TEST(LIM_06, "")
{
	EQ(_POSIX_TRACE_SYS_MAX, 8);
	CHECK(choices ? TRACE_SYS_MAX == 1024 : TRACE_SYS_MAX >= 8);
	fill_directory();
	EQ(full.made, TRACE_SYS_MAX);
}

/* Here, since it needs the same crowd. */
TEST(CRE_08, "posix_trace_create/EAGAIN")
{
	fill_directory();
	EQ(full.made, TRACE_SYS_MAX);
	EQ(full.here, EAGAIN);
	EQ(full.there, EAGAIN);
	CHECK(full.logs);
	EQ(full.again, full.dead);
	EQ(full.after, EAGAIN);
	EQ(full.freed, 0);
}

TEST(LIM_07, "")
{
	EQ(_POSIX_TRACE_USER_EVENT_MAX, 32);
	CHECK(choices ? TRACE_USER_EVENT_MAX == 1024 : TRACE_USER_EVENT_MAX >= 32);
	SAME(ask(new_peer(NULL), "fill lim.seven. %d", TRACE_USER_EVENT_MAX - 1), print("%d 0", TRACE_USER_EVENT_MAX - 1));
	SAME(ask(new_peer(NULL), "fill lim.other. %d", TRACE_USER_EVENT_MAX - 1), print("%d 0", TRACE_USER_EVENT_MAX - 1)); /* each process has its own */
}

TEST(LIM_08, "") { SAME(ask(new_peer(NULL), "fill lim.eight. %d", TRACE_USER_EVENT_MAX + 10), print("%d 11", TRACE_USER_EVENT_MAX - 1)); }

TEST(LIM_09, "")
{
	_Static_assert(TRACE_EVENT_NAME_MAX >= _POSIX_TRACE_EVENT_NAME_MAX && TRACE_NAME_MAX >= _POSIX_TRACE_NAME_MAX &&
			       TRACE_SYS_MAX >= _POSIX_TRACE_SYS_MAX && TRACE_USER_EVENT_MAX >= _POSIX_TRACE_USER_EVENT_MAX,
		       "limits");
	for (int i = 0; i < 2; i++) {
		CHECK(sysconf(_SC_TRACE_EVENT_NAME_MAX) >= TRACE_EVENT_NAME_MAX && sysconf(_SC_TRACE_NAME_MAX) >= TRACE_NAME_MAX);
		CHECK(sysconf(_SC_TRACE_SYS_MAX) >= TRACE_SYS_MAX && sysconf(_SC_TRACE_USER_EVENT_MAX) >= TRACE_USER_EVENT_MAX);
		OK(posix_trace_shutdown(RUNNING(0)));
	}
}

static void distinct(const char *what, int n, const unsigned *v)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			if (v[i] == v[k])
				FAIL("%s: constants %d and %d are %u", what, k, i, v[i]);
}

TEST(LIM_10, "")
{
#define FAMILY(...) distinct(#__VA_ARGS__, sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned), (unsigned[]){__VA_ARGS__})
	FAMILY(POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND);
	FAMILY(POSIX_TRACE_RUNNING, POSIX_TRACE_SUSPENDED);
	FAMILY(POSIX_TRACE_FULL, POSIX_TRACE_NOT_FULL);
	FAMILY(POSIX_TRACE_OVERRUN, POSIX_TRACE_NO_OVERRUN);
#if TRL
	FAMILY(POSIX_TRACE_FLUSHING, POSIX_TRACE_NOT_FLUSHING);
#endif
	FAMILY(POSIX_TRACE_NOT_TRUNCATED, POSIX_TRACE_TRUNCATED_READ, POSIX_TRACE_TRUNCATED_RECORD);
#if TRI
	FAMILY(POSIX_TRACE_CLOSE_FOR_CHILD, POSIX_TRACE_INHERITED);
#endif
#if TEF
	FAMILY(POSIX_TRACE_WOPID_EVENTS, POSIX_TRACE_SYSTEM_EVENTS, POSIX_TRACE_ALL_EVENTS);
#endif
	FAMILY(POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME, POSIX_TRACE_FLUSH_START,
	       POSIX_TRACE_FLUSH_STOP, POSIX_TRACE_FILTER, POSIX_TRACE_ERROR, POSIX_TRACE_UNNAMED_USER_EVENT);
}

TEST(LIM_11, "")
{
	FAMILY(POSIX_TRACE_SET_EVENTSET, POSIX_TRACE_ADD_EVENTSET, POSIX_TRACE_SUB_EVENTSET);
	SAME(type_name(STREAM(0), POSIX_TRACE_ERROR), "posix_trace_error");
}

TEST(LIM_12, "")
{
	EQ(POSIX_TRACE_UNNAMED_USEREVENT, POSIX_TRACE_UNNAMED_USER_EVENT);
	trace_id_t s = RUNNING(0);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "a", 1);
	posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, "b", 1);
	SAME(named(s, drain(s)), "posix_trace_unnamed_userevent=a posix_trace_unnamed_userevent=b");
}

TEST(LIM_13, "")
{
	struct posix_trace_status_info zero = {0};

	EQ(POSIX_TRACE_NO_OVERRUN, 0);
	EQ(zero.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
#if TRL
	EQ(zero.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
#endif
	EACH (p, LOOP, UNTIL_FULL) { /* they serve streams and logs alike */
		struct same_attr a = attr_of(STREAM(.policy = p, .logpolicy = p, .log = print("log%d", p)));
		EQ(a.policy, p);
		EQ(a.logpolicy, p);
	}
}

static int by_value(trace_id_t s, trace_event_set_t set, trace_event_id_t id)
{
	OK(posix_trace_eventset_add(id, &set));
	return posix_trace_set_filter(s, &set, POSIX_TRACE_SET_EVENTSET);
}

TEST(LIM_14, "")
{
	trace_id_t s = STREAM(0), *at = &s, same = *at;
	trace_event_id_t id = name("lim.fourteen"), other;
	trace_event_set_t set = set_of(0), copy = set, have;

	other = id;
	OK(by_value(same, copy, other));
	have = filter(s);
	CHECK(has(&have, id) && !has(&copy, id) && !has(&set, id));
}

/* A set's bytes are a set, in the data of an event of another process. */
TEST(LIM_15, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid);
	trace_event_set_t want = set_of(4, 2U, 40U, 1000U, 4095U), got;

	SAY(p, "set lim.fifteen");
	struct events u = users(drain(s));
	EQ(u.n, 1);
	EQ(u.e[0].n, sizeof got);
	memcpy(&got, u.e[0].data, sizeof got);
	CHECK(same_set(&got, &want));
}

TEST(LIM_16, "")
{
	posix_trace_attr_t a; /* one type */
	trace_attr_t *b = &a;
	char s[TRACE_NAME_MAX + 1];

	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setname(b, "sixteen"));
	OK(posix_trace_attr_getname(&a, s));
	SAME(s, "sixteen");
}

/* The number is the value of the call; errno keeps its own. */
TEST(LIM_17, "")
{
	trace_id_t s = STREAM(0), bad = 0;
	trace_event_id_t id;
	trace_event_set_t set = set_of(0);
	trace_attr_t attr;
	struct posix_trace_status_info st;
	struct posix_trace_event_info e;
	char n[TRACE_EVENT_NAME_MAX + 1], longer[TRACE_EVENT_NAME_MAX + 2];
	size_t len;
	int i;
	struct timespec past = {0, 0};

	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = 0;
	OK(posix_trace_attr_init(&attr));
	OK(posix_trace_shutdown(s));
	errno = 12345;
	for (int k = 0; k < 2; k++, bad = s) {
		ERR(posix_trace_start(bad), EINVAL);
		ERR(posix_trace_stop(bad), EINVAL);
		ERR(posix_trace_clear(bad), EINVAL);
		ERR(posix_trace_flush(bad), EINVAL);
		ERR(posix_trace_shutdown(bad), EINVAL);
		ERR(posix_trace_get_filter(bad, &set), EINVAL);
		ERR(posix_trace_set_filter(bad, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
		ERR(posix_trace_trid_eventid_open(bad, "x", &id), EINVAL);
		ERR(posix_trace_get_attr(bad, &attr), EINVAL);
		ERR(posix_trace_get_status(bad, &st), EINVAL);
		ERR(posix_trace_eventid_get_name(bad, POSIX_TRACE_START, n), EINVAL);
		ERR(posix_trace_eventtypelist_getnext_id(bad, &id, &i), EINVAL);
		ERR(posix_trace_eventtypelist_rewind(bad), EINVAL);
		ERR(posix_trace_rewind(bad), EINVAL);
		ERR(posix_trace_close(bad), EINVAL);
		ERR(posix_trace_getnext_event(bad, &e, n, 1, &len, &i), EINVAL);
		ERR(posix_trace_timedgetnext_event(bad, &e, n, 1, &len, &i, &past), EINVAL);
		ERR(posix_trace_trygetnext_event(bad, &e, n, 1, &len, &i), EINVAL);
	}
	ERR(posix_trace_create(-1, NULL, &s), ESRCH);
	ERR(posix_trace_create_withlog(0, NULL, -1, &s), EBADF);
	ERR(posix_trace_open(-1, &s), EBADF);
	ERR(posix_trace_eventid_open(longer, &id), ENAMETOOLONG);
#if TRI
	ERR(posix_trace_attr_setinherited(&attr, 99), EINVAL);
#endif
	ERR(posix_trace_eventset_fill(&set, 99), EINVAL);
	posix_trace_event(UNNAMED, "x", 1);
	EQ(errno, 12345);
	CHECK(posix_trace_eventid_equal(s, 40, 40) && !posix_trace_eventid_equal(s, 40, 41));
	s = RUNNING(0);
	errno = 54321; /* nor does success change it */
	posix_trace_event(UNNAMED, "x", 1);
	OK(posix_trace_get_status(s, &st));
	OK(posix_trace_eventid_open("lim.seventeen", &id));
	OK(posix_trace_trygetnext_event(s, &e, n, 1, &len, &i));
	OK(posix_trace_shutdown(s));
	EQ(errno, 54321);
}

static trace_id_t shared;
static void *call_all(void *arg)
{
	int which = *(int *)arg;
	trace_event_id_t id;
	trace_event_set_t set = set_of(0);
	trace_attr_t attr;
	struct posix_trace_status_info st;
	struct posix_trace_event_info e;
	char n[TRACE_EVENT_NAME_MAX + 1];
	size_t len;
	int none;

	OK(posix_trace_attr_init(&attr));
	for (int i = 0; i < 40; i++)
		switch (which) {
		case 0: OK(posix_trace_start(shared)); break;
		case 1: OK(posix_trace_stop(shared)); break;
		case 2: OK(posix_trace_clear(shared)); break;
		case 3: OK(posix_trace_eventtypelist_rewind(shared)); break;
		case 4: OK(posix_trace_get_status(shared, &st)); break;
		case 5: OK(posix_trace_get_attr(shared, &attr)); break;
		case 6: OK(posix_trace_get_filter(shared, &set)); break;
		case 7: OK(posix_trace_set_filter(shared, &set, POSIX_TRACE_SET_EVENTSET)); break;
		case 8: OK(posix_trace_trid_eventid_open(shared, "lim.eighteen", &id)); break;
		case 9: OK(posix_trace_eventid_get_name(shared, POSIX_TRACE_START, n)); break;
		case 10: OK(posix_trace_eventtypelist_getnext_id(shared, &id, &none)); break;
		case 11: OK(posix_trace_eventid_open("lim.eighteen", &id)); break;
		case 12: OK(posix_trace_trygetnext_event(shared, &e, n, 8, &len, &none)); break;
		case 13: text(UNNAMED, "data"); break;
		}
	return NULL;
}

static trace_event_id_t handler_id;
static atomic_int in_handler;
static void record_in_handler(int sig)
{
	(void)sig;
	numbers(handler_id, in_handler++, 1, 0);
}

/* All calls at once on one stream; then trace points in a handler that interrupts trace points. */
TEST(LIM_18, "")
{
	pthread_t t[28];
	int which[28];
	struct sigaction act = {.sa_handler = record_in_handler};

	shared = RUNNING(0);
	for (int i = 0; i < 28; i++) {
		which[i] = i % 14;
		t[i] = start(call_all, &which[i]);
	}
	for (int i = 0; i < 28; i++)
		OK(pthread_join(t[i], NULL));
	OK(posix_trace_shutdown(shared));

	handler_id = name("lim.handler");
	trace_event_id_t id = name("lim.main");
	shared = RUNNING(.size = 4 << 20, .policy = UNTIL_FULL);
	MUST(!sigaction(SIGUSR2, &act, NULL));
	timer_t timer;
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct itimerspec often = {{0, 40000}, {0, 40000}};
	MUST(!timer_create(CLOCK_MONOTONIC, &ev, &timer));
	MUST(!timer_settime(timer, 0, &often, NULL));
	int n = 0;
	for (int64_t until = now() + 50000000; now() < until || in_handler < 100;)
		for (int i = 0; i < 20 && n < 15000; i++)
			numbers(id, n++, 1, 0);
	timer_delete(timer);
	signal(SIGUSR2, SIG_IGN);
	NONE_LOST(shared);
	struct events all = drain(shared);
	ordered(all);
	range(only(all, id), 0, n);
	range(only(all, handler_id), 0, in_handler);
}

static atomic_bool reached;
static void *cancelled_in_plain_calls(void *arg)
{
	trace_event_id_t id;
	trace_event_set_t set;
	trace_attr_t a;
	struct posix_trace_event_info e;
	char n[TRACE_EVENT_NAME_MAX + 1];
	size_t len;
	int none;

	(void)arg;
	OK(pthread_cancel(pthread_self())); /* pending from here on */
	text(UNNAMED, "x");
	OK(posix_trace_eventid_open("lim.nineteen", &id));
	OK(posix_trace_trid_eventid_open(shared, "lim.nineteen.more", &id));
	OK(posix_trace_eventid_get_name(shared, id, n));
	posix_trace_eventid_equal(shared, id, id);
	OK(posix_trace_start(shared));
	OK(posix_trace_stop(shared));
	OK(posix_trace_trygetnext_event(shared, &e, n, sizeof n, &len, &none));
	OK(posix_trace_eventset_empty(&set));
	OK(posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS));
	OK(posix_trace_eventset_add(40, &set));
	OK(posix_trace_eventset_del(40, &set));
	OK(posix_trace_eventset_ismember(40, &set, &none));
	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setname(&a, "x"));
	OK(posix_trace_attr_getname(&a, n));
	OK(posix_trace_attr_destroy(&a));
	reached = true;
	pthread_testcancel();
	return NULL;
}

static void *wait_to_be_cancelled(void *arg)
{
	struct posix_trace_event_info e;
	char n[1];
	size_t len;
	int none;

	posix_trace_getnext_event(*(trace_id_t *)arg, &e, n, 1, &len, &none);
	FAIL("it returns");
	return NULL;
}

TEST(LIM_19, "")
{
	void *result;
	pthread_t t;

	shared = STREAM(0);
	t = start(cancelled_in_plain_calls, NULL);
	OK(pthread_join(t, &result));
	CHECK(reached && result == PTHREAD_CANCELED);
	/* A call that may wait is a cancellation point, and the stream works afterwards. */
	drain(shared);
	t = start(wait_to_be_cancelled, &shared);
	one_waits();
	OK(pthread_cancel(t));
	OK(pthread_join(t, &result));
	CHECK(result == PTHREAD_CANCELED);
	OK(posix_trace_start(shared));
	text(UNNAMED, "x");
	SAME(story(drain(shared)), "START x");
}

static void all_without_eintr(void)
{
	for (int i = 0; i < 8; i++) {
		const char *log = print("log%d", i);
		trace_id_t s = RUNNING(.log = log, .logpolicy = APPEND), l;
		struct posix_trace_event_info e;
		char data[10];
		size_t len;
		int none, fd;
		numbers(UNNAMED, 0, 1, 1000);
		OK(posix_trace_flush(s));
		status(s);
		attr_of(s);
		OK(posix_trace_clear(s));
		OK(posix_trace_shutdown(s));
		fd = open(log, O_RDONLY | O_CLOEXEC);
		OK(posix_trace_open(fd, &l));
		close(fd);
		OK(posix_trace_rewind(l));
		OK(posix_trace_close(l));
		s = RUNNING(0);
		for (int k = 0; k < 3; k++)
			OK(posix_trace_trygetnext_event(s, &e, data, sizeof data, &len, &none));
		OK(posix_trace_stop(s));
		OK(posix_trace_shutdown(s));
	}
}

/* Not even by a handler that does not restart calls. */
TEST(LIM_20, "") { during_signals(all_without_eintr, 0); }

TEST(LIM_21, "")
{
	CHOICE("what a trace point costs is the implementation's choice");
	trace_event_id_t id = name("lim.twentyone");
	int64_t best = INT64_MAX;

	for (int i = 0; i < 20; i++) {
		int64_t begin = now();
		for (int k = 0; k < 10000; k++)
			posix_trace_event(id, NULL, 0);
		int64_t took = now() - begin;
		best = took < best ? took : best;
	}
	if (best / 10000 > 100)
		FAIL("an untraced trace point takes %d ns", (int)(best / 10000));
}

TEST(LIM_22, "EBADF,EINVAL")
{
	char longer[TRACE_EVENT_NAME_MAX + 2];
	trace_event_id_t id;
	trace_event_set_t set = set_of(0);
	trace_id_t s = STREAM(0), trid;
	pid_t pid = sleeper();

	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = 0;
	ERR(posix_trace_trid_eventid_open(s, longer, &id), ENAMETOOLONG);
	ERR(posix_trace_trid_eventid_open(s, NULL, &id), EINVAL);
	ERR(posix_trace_trid_eventid_open(s, longer, NULL), EINVAL);
	ERR(posix_trace_set_filter(s, NULL, 99), EINVAL);
	ERR(posix_trace_get_filter(s, NULL), EINVAL);
	ERR(posix_trace_get_status(s, NULL), EINVAL);
	ERR(posix_trace_get_attr(s, NULL), EINVAL);
	ERR(posix_trace_eventid_open(NULL, &id), EINVAL);
	ERR(posix_trace_eventid_open("x", NULL), EINVAL);
	ERR(posix_trace_create(0, NULL, NULL), EINVAL);
	OK(posix_trace_shutdown(s));
	ERR(posix_trace_trid_eventid_open(s, longer, &id), EINVAL); /* the identifier is checked first */
	ERR(posix_trace_set_filter(s, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	ERR(posix_trace_create_withlog(0, NULL, -1, &trid), EBADF);
	ERR(posix_trace_open(-1, &trid), EBADF);
	if (!choices) { /* of how many streams one process may have */
		kill(pid, SIGKILL);
		return;
	}
	/* An invalid value is reported before a limit. */
	for (int i = 0; i < 64; i++)
		STREAM(.pid = pid, .size = 1);
	ERR(try_make((struct how){.pid = pid, .policy = FLUSH}, &trid), EINVAL);
	ERR(try_make((struct how){.pid = pid}, &trid), EAGAIN);
	kill(pid, SIGKILL);
}
