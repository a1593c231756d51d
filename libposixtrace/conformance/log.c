/* Section LOG: the log of a stream, and posix_trace_flush(). */
#include "conform.h"
#include <sys/resource.h>

static void *flush_it(void *arg)
{
	OK(posix_trace_flush(((struct slow *)arg)->s));
	return NULL;
}

TEST(LOG_01, "posix_trace_flush")
{
	struct slow *p = slow_log((struct how){.policy = UNTIL_FULL, .size = 256 << 10});

	OK(posix_trace_start(p->s));
	numbers(name("log.one"), 0, 150, 1000);
	pthread_t t = start(flush_it, p);
	WAIT(status(p->s).posix_stream_flush_status == POSIX_TRACE_FLUSHING); /* other threads see it */
	read_slow(p);
	OK(pthread_join(t, NULL));
	struct posix_trace_status_info st = status(p->s);
	EQ(st.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	EQ(st.posix_stream_flush_error, 0);
	range(slow_events(p), 0, 150);
}

static trace_id_t opened(const char *path)
{
	trace_id_t l;

	OK(posix_trace_open(open(path, O_RDONLY | O_CLOEXEC), &l));
	return l;
}

TEST(LOG_02, "posix_trace_flush/EINVAL")
{
	trace_id_t s = STREAM(0);

	ERR(posix_trace_flush(s), EINVAL);
	OK(posix_trace_shutdown(s));
	ERR(posix_trace_flush(s), EINVAL);
	s = STREAM(.log = "log");
	OK(posix_trace_flush(s));
	OK(posix_trace_shutdown(s));
	ERR(posix_trace_flush(s), EINVAL);
	ERR(posix_trace_flush(opened("log")), EINVAL);
}

/* The limit is that of the caller when its first stream is made. It kills no process. */
TEST(LOG_02_limit, "posix_trace_flush/EFBIG")
{
	struct rlimit limit = {4 << 20, RLIM_INFINITY};

	MUST(!setrlimit(RLIMIT_FSIZE, &limit));
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .size = 2 << 20, .log = "log");
	int err = 0, n = 0;
	for (; !err && n < 60000; n += 1000) {
		numbers(UNNAMED, n, 1000, 1000);
		err = posix_trace_flush(s);
	}
	EQ(err, EFBIG);
	ERR(posix_trace_flush(s), EFBIG);
	EQ(status(s).posix_stream_flush_error, EFBIG);
	LOG_LOST(status(s), 0);
	CHECK(length("log") <= 4 << 20);
	ERR(posix_trace_shutdown(s), EFBIG);
}

TEST(LOG_02_full, "posix_trace_flush/ENOSPC")
{
	char block[4096] = {0};

	small_file_system("small", "size=128k,mode=700");
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "small/log");
	int filler = open_log("small/filler", O_WRONLY);
	while (write(filler, block, sizeof block) > 0)
		;
	numbers(name("much"), 0, 300, 100);
	for (int i = 0; i < 2; i++)
		ERR(posix_trace_flush(s), ENOSPC);
	struct posix_trace_status_info st = status(s);
	EQ(st.posix_stream_flush_error, ENOSPC);
	LOG_LOST(st, 0);
	LOST(st, 0);
	MUST(!ftruncate(filler, 0));
	OK(posix_trace_flush(s));
	numbers(name("much"), 300, 50, 100);
	OK(posix_trace_shutdown(s));
	range(logged("small/log"), 0, 350);
}

TEST(LOG_03, "posix_trace_flush")
{
	struct slow *p = slow_log((struct how){.policy = UNTIL_FULL, .size = 256 << 10});
	trace_event_id_t id = name("log.room");

	one_processor();
	OK(posix_trace_start(p->s));
	numbers(id, 0, 120, 1000);
	pthread_t t = start(flush_it, p);
	WAIT(status(p->s).posix_stream_flush_status == POSIX_TRACE_FLUSHING);
	/* While the flush waits, the stream takes new events until it is full. */
	numbers(id, 120, 40, 1000);
	struct posix_trace_status_info st = status(p->s);
	LOST(st, 0);
	EQ(st.posix_stream_status, POSIX_TRACE_RUNNING);
	int n = 160;
	while (!overrun(p->s))
		numbers(id, n++, 1, 1000);
	STATE(p->s, SUSPENDED, FULL);
	read_slow(p);
	OK(pthread_join(t, NULL));
	OK(posix_trace_flush(p->s));
	STATE(p->s, RUNNING, NOT_FULL);
	numbers(id, n, 200, 1000); /* the space is free again */
	COUNT(p->s, 1);
	struct events u = users(slow_events(p));
	EQ(u.n, n - 1 + 200);
	EQ(atoi(u.e[n - 2].data), n - 2);
	EQ(atoi(u.e[n - 1].data), n);
}

TEST(LOG_04, "")
{
	trace_id_t s = STREAM(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "log");
	trace_event_id_t id = name("log.mark");

	OK(posix_trace_flush(s)); /* suspended, never started */
	OK(posix_trace_start(s));
	text(id, "a");
	OK(posix_trace_flush(s)); /* running */
	text(id, "b");
	OK(posix_trace_stop(s));
	OK(posix_trace_flush(s)); /* suspended */
	OK(posix_trace_shutdown(s));
	SAME(story(logged("log")),
	     "FLUSH_START FLUSH_STOP START a FLUSH_START FLUSH_STOP b STOP0 FLUSH_START FLUSH_STOP FLUSH_START FLUSH_STOP");
	/* Automatic flushes have theirs, too. */
	s = RUNNING(.policy = FLUSH, .logpolicy = APPEND, .size = 16 << 10, .log = "automatic");
	for (int i = 0; length("automatic") < 128 << 10; i++)
		numbers(id, i, 1, 100);
	OK(posix_trace_shutdown(s));
	struct events all = logged("automatic");
	bool open = false;
	int pairs = 0;
	for (int i = 0; i < all.n; i++) {
		trace_event_id_t what = all.e[i].i.posix_event_id;
		if (what != POSIX_TRACE_FLUSH_START && what != POSIX_TRACE_FLUSH_STOP)
			continue;
		if (open == (what == POSIX_TRACE_FLUSH_START))
			FATAL("event %d of %d: the marks do not match", i, all.n);
		open = !open;
		pairs += !open;
	}
	CHECK(!open && pairs > 2);
}

static atomic_bool end_once;
static void *once(void *arg)
{
	numbers(*(trace_event_id_t *)arg, 0, 20000, 40);
	end_once = true;
	return NULL;
}

TEST(LOG_05, "")
{
	trace_id_t s = RUNNING(.policy = FLUSH, .logpolicy = APPEND, .size = 4 << 20, .log = "log");
	trace_event_id_t id = name("log.once");
	pthread_t t = start(once, &id);

	while (!end_once)
		OK(posix_trace_flush(s));
	OK(pthread_join(t, NULL));
	NONE_LOST(s);
	OK(posix_trace_shutdown(s));
	range(logged("log"), 0, 20000);
}

/* Rounds of numbered events, each flushed, against a log of little room. */
static struct events rounds(int logpolicy, struct posix_trace_status_info *before, trace_id_t *l)
{
	const char *log = print("log%d", logpolicy);
	trace_id_t s;

	one_processor();
	s = RUNNING(.policy = UNTIL_FULL, .logpolicy = logpolicy, .logsize = 1, .size = 16 << 10, .data = 128, .log = log);
	for (int i = 0; i < 100; i++) {
		numbers(name("log.policy"), 40 * i, 40, 100);
		OK(posix_trace_flush(s));
	}
	/* Reading the status would reset what the log keeps of it. */
	OK(posix_trace_shutdown(s));
	*l = opened(log);
	*before = status(*l);
	return rest(*l);
}

TEST(LOG_06, "")
{
	struct posix_trace_status_info st;
	trace_id_t l;
	struct events all = rounds(UNTIL_FULL, &st, &l);
	int n = users(all).n;

	CHECK(n > 0 && n < 4000);
	range(all, 0, n);
	EQ(st.posix_log_full_status, POSIX_TRACE_FULL);
	EQ(st.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	EQ(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK(!COUNTS || LOG_LOST_OF(st) > 0);
}

TEST(LOG_07, "")
{
	EACH (p, LOOP, UNTIL_FULL, FLUSH) {
		const char *log = print("log%d", p);
		trace_id_t s = RUNNING(.policy = p, .logpolicy = UNTIL_FULL, .logsize = 1, .size = 16 << 10, .data = 128, .log = log);
		trace_event_id_t id = name("log.end");
		while (status(s).posix_log_full_status != POSIX_TRACE_FULL) {
			numbers(id, 0, 20, 100);
			OK(posix_trace_flush(s));
		}
		for (int i = 0; i < 2; i++) { /* no restart: neither by another flush nor by a start */
			numbers(id, 0, 20, 100);
			OK(posix_trace_flush(s));
			OK(posix_trace_start(s));
		}
		EQ(status(s).posix_stream_status, POSIX_TRACE_SUSPENDED);
		OK(posix_trace_shutdown(s));
		SAME(story(from(logged(log), -1)), "STOP2");
	}
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = UNTIL_FULL, .logsize = 1, .size = 16 << 10, .data = 128, .log = "cleared");
	for (int i = 0; i < 100; i++) {
		numbers(name("log.end"), 0, 20, 100);
		OK(posix_trace_flush(s));
	}
	OK(posix_trace_clear(s));
	OK(posix_trace_start(s));
	numbers(name("log.end"), 7, 3, 100);
	EQ(status(s).posix_stream_status, POSIX_TRACE_RUNNING);
	OK(posix_trace_shutdown(s));
	range(logged("cleared"), 7, 3);
}

TEST(LOG_08, "")
{
	struct posix_trace_status_info st;
	trace_id_t l;
	struct events all = rounds(LOOP, &st, &l);
	int n = users(all).n;

	CHECK(n > 0 && n < 4000);
	range(all, 4000 - n, n);
	EQ(st.posix_log_full_status, POSIX_TRACE_FULL);
	EQ(st.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	EQ(only(all, POSIX_TRACE_OVERFLOW).n, 0); /* none is invented */
}

TEST(LOG_09, "")
{
	struct posix_trace_status_info st;
	trace_id_t l;
	struct events all = rounds(APPEND, &st, &l);

	range(all, 0, 4000);
	EQ(st.posix_log_full_status, POSIX_TRACE_NOT_FULL);
	EQ(st.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	LOG_LOST(st, 0);
}

/* Every pair of policies: not one event is unaccounted for. */
TEST(LOG_10, "")
{
	int logs[] = {LOOP, UNTIL_FULL, APPEND};
	trace_event_set_t system;

	one_processor();
	OK(posix_trace_eventset_fill(&system, POSIX_TRACE_SYSTEM_EVENTS));
	EACH (p, LOOP, UNTIL_FULL, FLUSH)
		for (int k = 0; k < 3; k++)
			for (int burst = 20; burst <= 800; burst *= 40) {
				const char *log = print("log%d.%d.%d", p, k, burst);
				trace_id_t s = STREAM(.policy = p, .logpolicy = logs[k], .logsize = 1, .size = 16 << 10, .data = 128, .log = log);
				set_filter(s, system, POSIX_TRACE_SET_EVENTSET);
				OK(posix_trace_start(s));
				for (int i = 0; i < 3200; i += burst) {
					numbers(name("log.pair"), i, burst, 100);
					OK(posix_trace_flush(s));
				}
				OK(posix_trace_shutdown(s));
				trace_id_t l = opened(log);
				struct posix_trace_status_info st = status(l);
				struct events all = users(rest(l));
				for (int i = 1; i < all.n; i++)
					if (atoi(all.e[i].data) <= atoi(all.e[i - 1].data))
						FATAL("%s: %s after %s", log, all.e[i].data, all.e[i - 1].data);
				if (!all.n || (COUNTS && all.n + LOST_OF(st) + LOG_LOST_OF(st) != 3200))
					FAIL("%s: %d in the log, %ld and %ld lost", log, all.n, LOST_OF(st), LOG_LOST_OF(st));
				CHECK(logs[k] != APPEND || st.posix_log_overrun_status == POSIX_TRACE_NO_OVERRUN);
				if (logs[k] == APPEND)
					LOG_LOST(st, 0);
				if (burst == 20 && logs[k] == APPEND)
					range(all, 0, 3200);
				if (burst == 20 && logs[k] == UNTIL_FULL)
					range(all, 0, all.n);
				if (burst == 20 && logs[k] == LOOP)
					range(all, 3200 - all.n, all.n);
			}
}

/* Failures in the middle: the unwritten events stay for the next try; the rest is lost at shutdown. */
TEST(LOG_11, "posix_trace_flush")
{
	for (int end = 0; end < 2; end++) {
		char block[4096] = {0};
		const char *dir = print("small%d", end);
		int n = 0, failed = 0;
		small_file_system(dir, "size=256k,mode=700");
		trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .size = 256 << 10, .log = print("%s/log", dir));
		int filler = open_log(print("%s/filler", dir), O_WRONLY);
		for (int step = 0; step < 15; step++) {
			while (write(filler, block, sizeof block) > 0)
				;
			numbers(UNNAMED, n, 60, 100);
			n += 60;
			int err = posix_trace_flush(s);
			CHECK(err == 0 || err == ENOSPC);
			failed += err != 0;
			EQ(status(s).posix_stream_flush_error, err);
			MUST(!ftruncate(filler, 0));
			if (step % 3)
				OK(posix_trace_flush(s));
		}
		CHECK(failed > 5);
		NONE_LOST(s);
		if (end) {
			while (write(filler, block, sizeof block) > 0)
				;
			numbers(UNNAMED, n, 200, 100);
			ERR(posix_trace_shutdown(s), ENOSPC);
			int have = users(logged(print("%s/log", dir))).n;
			CHECK(have >= n && have < n + 200);
			EQ(status(opened(print("%s/log", dir))).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
		} else {
			OK(posix_trace_shutdown(s));
			range(logged(print("%s/log", dir)), 0, n);
		}
	}
}

TEST(LOG_12, "")
{
	trace_id_t s = RUNNING(.name = "whole", .policy = UNTIL_FULL, .logpolicy = UNTIL_FULL, .size = 32 << 10, .data = 77, .logsize = 100 << 10,
			       .inherited = INHERIT, .log = "log");
	struct same_attr want = attr_of(s);
	size_t n;

	numbers(name("log.whole"), 0, 3, 10);
	name("log.unused");
	const char *list = types(s);
	OK(posix_trace_shutdown(s));
	char *b = contents("log", &n); /* a copy: nothing but the file can be the source */
	MUST(!unlink("log"));
	write_file("copy", b, n);
	trace_id_t l = opened("copy");
	CHECK(same_attributes(attr_of(l), want));
	SAME(types(l), list);
	struct posix_trace_status_info st = status(l);
	EQ(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
	EQ(st.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	range(rest(l), 0, 3);
	if (!choices)
		return;
	write_file("short", b, n - 1); /* without its validity mark */
	EQ(status(opened("short")).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
}

TEST(LOG_14, "posix_trace_open/EINVAL")
{
	/* With the default policy, FLUSH, the stream would flush the rest by itself after a second. */
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "log"), l = 77;
	trace_event_id_t id = name("log.live");
	size_t n, m;

	numbers(id, 0, 5, 10);
	OK(posix_trace_flush(s));
	numbers(id, 5, 5, 10);
	int fd = open("log", O_RDONLY | O_CLOEXEC);
	ERR(posix_trace_open(fd, &l), EINVAL); /* its owner is alive */
	EQ(l, 77);
	EQ(status(s).posix_stream_status, POSIX_TRACE_RUNNING);
	char *b = contents("log", &n); /* as on another machine, without the stream */
	OK(posix_trace_shutdown(s));
	write_file("copy", b, n);
	l = opened("copy");
	EQ(status(l).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	range(rest(l), 0, 5);
	OK(posix_trace_close(l));
	CHECK(!memcmp(contents("copy", &m), b, n) && m == n);
	range(logged("log"), 0, 10);
}
