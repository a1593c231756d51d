/* Section SST: the status and the attributes of a stream. */
#include "conform.h"

struct recorder {
	trace_event_id_t id;
	atomic_bool end;
};

static void *record(void *arg)
{
	struct recorder *r = arg;

	while (!r->end)
		text(r->id, "x");
	return NULL;
}

TEST(SST_01, "posix_trace_get_status")
{
	/* Before the first restart, a stream that runs has lost nothing, and one that lost something does not run. */
	for (int i = 0; i < 60; i++) {
		trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
		struct recorder r = {name("flow"), false};
		pthread_t t[2] = {start(record, &r), start(record, &r)};
		struct posix_trace_status_info st;
		long last = 0, looks = 0;
		bool lossy = false;
		do {
			st = status(s);
			bool over = st.posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
			lossy |= over;
			if ((COUNTS && over != (LOST_OF(st) > last)) ||
			    (lossy && (st.posix_stream_status == POSIX_TRACE_RUNNING ||
				       st.posix_stream_full_status == POSIX_TRACE_NOT_FULL)))
				FAIL("no instant has this status: %d %d %d, lost %ld", st.posix_stream_status,
				     st.posix_stream_full_status, st.posix_stream_overrun_status, LOST_OF(st));
			last = LOST_OF(st);
			looks += lossy;
		} while (COUNTS ? last < 100 : looks < 100);
		r.end = true;
		for (int k = 0; k < 2; k++)
			OK(pthread_join(t[k], NULL));
		OK(posix_trace_shutdown(s));
	}
}

/* Not all: where the recorder is faster, that is never. */
static void read_some(trace_id_t s)
{
	struct event e;

	for (int k = 0; k < 2000 && next(s, &e); k++)
		free(e.data);
}

TEST(SST_02, "")
{
	EACH (p, LOOP, UNTIL_FULL) {
		trace_id_t s = STREAM(.policy = p, TINY);
		bool seen[2][2] = {{0}};
		struct recorder r = {name("flow"), false};
#define LOOK()                                                                              \
	do {                                                                                \
		struct posix_trace_status_info st = status(s);                              \
		seen[st.posix_stream_status == POSIX_TRACE_RUNNING]                         \
		    [st.posix_stream_full_status == POSIX_TRACE_FULL] = true;               \
	} while (0)
		LOOK();
		OK(posix_trace_start(s));
		LOOK();
		pthread_t t = start(record, &r);
		for (int i = 0; i < 1000; i++) {
			LOOK();
			if (i % 100 == 0)
				read_some(s);
		}
		while (status(s).posix_stream_full_status != POSIX_TRACE_FULL) {
			if (status(s).posix_stream_status == POSIX_TRACE_SUSPENDED)
				read_some(s); /* a stream that was read in part stays suspended */
			nap();
		}
		LOOK();
		r.end = true;
		OK(pthread_join(t, NULL));
		OK(posix_trace_stop(s));
		LOOK();
		drain(s);
		LOOK();
		CHECK(seen[0][0] && seen[0][1] && seen[1][0]);
		EQ(seen[1][1], p == LOOP); /* the only policy where that pair occurs */
	}
}

TEST(SST_03, "")
{
	EACH (p, LOOP, UNTIL_FULL)
		for (int how = 0; how < 3; how++) {
			trace_id_t s = RUNNING(.policy = p, .log = how == 2 ? "log" : NULL, TINY);
			fill(s, 0);
			EQ(status(s).posix_stream_full_status, POSIX_TRACE_FULL);
			if (how == 0)
				drain(s);
			else
				OK(how == 1 ? posix_trace_clear(s) : posix_trace_flush(s));
			EQ(status(s).posix_stream_full_status, POSIX_TRACE_NOT_FULL);
		}
}

TEST(SST_04, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	int n = fill(s, 0), taken = 0;
	struct event e;
	char largest[64] = "1000000 ";

	STATE(s, SUSPENDED, FULL);
	for (; status(s).posix_stream_full_status == POSIX_TRACE_FULL; taken++)
		MUST(next(s, &e));
	CHECK(taken < n);
	STATE(s, SUSPENDED, NOT_FULL);
	text(name("flow"), "no");
	OK(posix_trace_start(s));
	STATE(s, RUNNING, NOT_FULL);
	overrun(s);
	posix_trace_event(name("flow"), largest, sizeof largest);
	CHECK(!overrun(s)); /* the largest fits */
	struct events all = drain(s);
	EQ(users(all).n, n + 1 + 1 - taken);
	EQ(only(all, POSIX_TRACE_STOP).n, 1);
	EQ(only(all, POSIX_TRACE_START).n, 1);
}

TEST(SST_05, "")
{
	EACH (p, LOOP, UNTIL_FULL) {
		trace_id_t s = RUNNING(.policy = p, TINY);
		EQ(status(s).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		for (int i = 0; i < 3; i++) {
			numbers(name("flow"), 0, 20000, 0);
			EQ(status(s).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
			for (int k = 0; k < 2; k++)
				EQ(status(s).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		}
	}
	if (!COUNTS)
		return;
	/* No loss falls between two readings: the status that counts it reports it. */
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);
	struct recorder r = {name("flow"), false};
	pthread_t t = start(record, &r);
	long last = 0;
	for (int i = 0; i < 3000; i++) {
		struct posix_trace_status_info st = status(s);
		CHECK((LOST_OF(st) > last) == (st.posix_stream_overrun_status == POSIX_TRACE_OVERRUN));
		last = LOST_OF(st);
	}
	r.end = true;
	OK(pthread_join(t, NULL));
	CHECK(last > 0);
}

static void *flush_it(void *arg)
{
	OK(posix_trace_flush(((struct slow *)arg)->s));
	return NULL;
}

TEST(SST_06, "")
{
	/* Explicit. */
	struct slow *p = slow_log((struct how){.policy = UNTIL_FULL, .size = 256 << 10});
	OK(posix_trace_start(p->s));
	numbers(UNNAMED, 0, 150, 1000); /* more than a pipe holds */
	EQ(status(p->s).posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	pthread_t t = start(flush_it, p);
	WAIT(status(p->s).posix_stream_flush_status == POSIX_TRACE_FLUSHING);
	EQ(status(p->s).posix_stream_flush_status, POSIX_TRACE_FLUSHING);
	read_slow(p);
	OK(pthread_join(t, NULL));
	EQ(status(p->s).posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	range(slow_events(p), 0, 150);
	/* Because the stream is full. */
	p = slow_log((struct how){.policy = FLUSH, .size = 256 << 10});
	OK(posix_trace_start(p->s));
	for (int i = 0; !overrun(p->s); i++)
		numbers(UNNAMED, i, 1, 1000);
	WAIT(status(p->s).posix_stream_flush_status == POSIX_TRACE_FLUSHING);
	read_slow(p);
	WAIT(status(p->s).posix_stream_flush_status == POSIX_TRACE_NOT_FLUSHING);
	slow_events(p);
}

/* A log in a FIFO: without a reader, flushes fail. */
static trace_id_t fifo_log(int *out)
{
	trace_attr_t a;
	trace_id_t s;

	MUST(!mkfifo("fifo", 0600));
	*out = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int in = open("fifo", O_WRONLY | O_CLOEXEC);
	attributes(&a, (struct how){.policy = UNTIL_FULL, .logpolicy = APPEND});
	OK(posix_trace_create_withlog(0, &a, in, &s));
	close(in);
	return s;
}

TEST(SST_07, "")
{
	int out;
	trace_id_t s = fifo_log(&out);

	OK(posix_trace_start(s));
	EQ(status(s).posix_stream_flush_error, 0);
	close(out);
	text(UNNAMED, "x");
	for (int i = 0; i < 2; i++) {
		ERR(posix_trace_flush(s), EPIPE);
		ERR(posix_trace_flush(s), EPIPE);
		EQ(status(s).posix_stream_flush_error, EPIPE);
		EQ(status(s).posix_stream_flush_error, 0);
	}
	ERR(posix_trace_flush(s), EPIPE);
	out = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	OK(posix_trace_flush(s)); /* a flush that succeeds does not reset it */
	EQ(status(s).posix_stream_flush_error, EPIPE);
	EQ(status(s).posix_stream_flush_error, 0);
}

/* The first of several errors is kept. */
TEST(SST_07_first, "first")
{
	char block[4096] = {0};

	small_file_system("small", "size=128k,mode=700");
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "small/log");
	int filler = open_log("small/filler", O_WRONLY);
	while (write(filler, block, sizeof block) > 0)
		;
	numbers(UNNAMED, 0, 200, 100);
	ERR(posix_trace_flush(s), ENOSPC);
	ERR(posix_trace_flush(s), ENOSPC);
	EQ(status(s).posix_stream_flush_error, ENOSPC);
	EQ(status(s).posix_stream_flush_error, 0);
	MUST(!ftruncate(filler, 0));
	OK(posix_trace_flush(s));
	EQ(status(s).posix_stream_flush_error, 0);
	OK(posix_trace_shutdown(s));
	range(logged("small/log"), 0, 200);
}

TEST(SST_08, "")
{
	EACH (p, LOOP, UNTIL_FULL) {
		trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = p, .logsize = 64 << 10, .log = print("log%d", p), TINY);
		struct posix_trace_status_info st;
		EQ(status(s).posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		for (int i = 0; i < 5000; i++) {
			numbers(UNNAMED, 50 * i, 50, 0);
			OK(posix_trace_flush(s));
			st = status(s);
			bool over = st.posix_log_overrun_status == POSIX_TRACE_OVERRUN;
			if (COUNTS)
				EQ(over, LOG_LOST_OF(st) > 0);
			if (over)
				break;
		}
		EQ(st.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
		EQ(status(s).posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		if (p == LOOP) { /* the next loss sets it again */
			for (int i = 0; i < 100; i++) {
				numbers(UNNAMED, 0, 50, 0);
				OK(posix_trace_flush(s));
			}
			EQ(status(s).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
			EQ(status(s).posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		}
	}
}

TEST(SST_09, "")
{
	int ps[] = {LOOP, UNTIL_FULL, APPEND};

	for (int k = 0; k < 3; k++) {
		trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = ps[k], .logsize = 1, .log = print("log%d", k), TINY);
		int want = ps[k] == APPEND ? POSIX_TRACE_NOT_FULL : POSIX_TRACE_FULL;
		EQ(status(s).posix_log_full_status, POSIX_TRACE_NOT_FULL);
		for (int i = 0; i < 150; i++) {
			numbers(UNNAMED, 50 * i, 50, 0);
			OK(posix_trace_flush(s));
		}
		for (int i = 0; i < 2; i++) {
			EQ(status(s).posix_log_full_status, want);
			OK(posix_trace_flush(s));
		}
		OK(posix_trace_clear(s));
		EQ(status(s).posix_log_full_status, POSIX_TRACE_NOT_FULL);
	}
}

TEST(SST_10, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);

	fill(s, 0);
	ERR(posix_trace_flush(s), EINVAL);
	for (int i = 0; i < 2; i++) {
		struct posix_trace_status_info st = status(s);
		EQ(st.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		EQ(st.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		EQ(st.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		EQ(st.posix_stream_flush_error, 0);
	}
}

static trace_id_t opened(const char *path)
{
	trace_id_t l;

	OK(posix_trace_open(open(path, O_RDONLY | O_CLOEXEC), &l));
	return l;
}

/* The log of a stream that has lost five events. read: the controller has read the flag. */
static trace_id_t lossy(bool read)
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = print("log%d", read), TINY);

	fill(s, 0);
	numbers(name("flow"), 0, 4, 0);
	if (read)
		EQ(status(s).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	OK(posix_trace_shutdown(s));
	return opened(print("log%d", read));
}

TEST(SST_11, "")
{
	trace_id_t l = lossy(false);
	struct posix_trace_status_info first = status(l);
	struct posix_trace_event_info e;
	size_t n;
	int none;

	EQ(first.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	for (int i = 0; i < 3; i++) {
		struct posix_trace_status_info st = status(l);
		EQ(st.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		EQ(st.posix_stream_status, first.posix_stream_status);
		EQ(st.posix_stream_full_status, first.posix_stream_full_status);
		EQ(st.posix_log_overrun_status, first.posix_log_overrun_status);
		EQ(LOST_OF(st), LOST_OF(first));
		OK(posix_trace_getnext_event(l, &e, NULL, 0, &n, &none));
	}
}

TEST(SST_12, "")
{
	for (int read = 0; read < 2; read++) {
		struct posix_trace_status_info st = status(lossy(read));
		LOST(st, 5);
		EQ(st.posix_stream_overrun_status, read ? POSIX_TRACE_NO_OVERRUN : POSIX_TRACE_OVERRUN);
		EQ(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
		EQ(st.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	}
}

TEST(SST_13, "posix_trace_get_status,posix_trace_get_attr/EINVAL")
{
	trace_id_t s = STREAM(.log = "log"), l;
	struct posix_trace_status_info st;
	trace_attr_t a;

	OK(posix_trace_attr_init(&a));
	OK(posix_trace_shutdown(s));
	ERR(posix_trace_get_status(s, &st), EINVAL);
	ERR(posix_trace_get_attr(s, &a), EINVAL);
	l = opened("log");
	OK(posix_trace_get_status(l, &st));
	OK(posix_trace_get_attr(l, &a));
	OK(posix_trace_close(l));
	ERR(posix_trace_get_status(l, &st), EINVAL);
	ERR(posix_trace_get_attr(l, &a), EINVAL);
	ERR(posix_trace_get_status(0, &st), EINVAL);
	ERR(posix_trace_get_attr(~0UL, &a), EINVAL);
}

TEST(SST_14, "posix_trace_get_attr")
{
	int64_t before = now();
	trace_id_t s = STREAM(.name = "sst", .inherited = INHERIT, .policy = UNTIL_FULL, .logpolicy = APPEND,
			      .size = 100 << 10, .data = 100, .logsize = 3 << 20, .log = "log");
	int64_t after = now();
	struct same_attr a = attr_of(s);

	SAME(a.name, "sst");
	EQ(a.inherited, INHERIT);
	EQ(a.policy, UNTIL_FULL);
	EQ(a.logpolicy, APPEND);
	EQ(a.size, 100 << 10);
	EQ(a.data, 100);
	EQ(a.logsize, 3 << 20);
	CHECK(nanos(a.created) >= before && nanos(a.created) <= after && a.version[0] && nanos(a.resolution) > 0);
	OK(posix_trace_shutdown(s));
	CHECK(same_attributes(a, attr_of(opened("log"))));
}

TEST(SST_15, "")
{
	trace_id_t s = STREAM(.name = "before", .data = 8);
	trace_attr_t a;
	struct same_attr was = attr_of(s);

	OK(posix_trace_attr_init(&a));
	OK(posix_trace_get_attr(s, &a));
	OK(posix_trace_attr_setname(&a, "after"));
	OK(posix_trace_attr_setmaxdatasize(&a, 1000));
	OK(posix_trace_attr_setstreamfullpolicy(&a, UNTIL_FULL));
	CHECK(same_attributes(attr_of(s), was));
	/* It serves to make another stream. */
	trace_id_t t;
	OK(posix_trace_create(0, &a, &t));
	SAME(attr_of(t).name, "after");
	EQ(attr_of(t).policy, UNTIL_FULL);
	OK(posix_trace_start(s));
	text(name("sst"), "0123456789");
	SAME(story(drain(s)), "START 01234567");
}

TEST(SST_16, "")
{
	struct posix_trace_status_info st = {0};
	struct posix_trace_event_info e = {0};
	int *members[] = {&st.posix_stream_status,	  &st.posix_stream_full_status,	 &st.posix_stream_overrun_status,
#if TRL
			  &st.posix_stream_flush_status,  &st.posix_stream_flush_error,	 &st.posix_log_overrun_status,
			  &st.posix_log_full_status,
#endif
			  &e.posix_truncation_status};
	trace_event_id_t *id = &e.posix_event_id;
	pid_t *pid = &e.posix_pid;
	void **address = &e.posix_prog_address;
	pthread_t *thread = &e.posix_thread_id;
	struct timespec *stamp = &e.posix_timestamp;

	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(members[i] != members[k]);
	CHECK(!*id && !*pid && !*address && !*thread && !stamp->tv_sec);
}
