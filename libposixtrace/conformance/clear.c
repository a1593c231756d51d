/* Section CLR: clear. */
#include "conform.h"

TEST(CLR_01, "posix_trace_clear/EINVAL")
{
	trace_id_t s = RUNNING(.name = "clr", .policy = UNTIL_FULL, .size = 1 << 20), l;
	trace_event_id_t id;
	struct same_attr before = attr_of(s);
	struct event e;

	OK(posix_trace_trid_eventid_open(s, "clr.named", &id));
	numbers(name("flow"), 0, 2000, 0);
	for (int i = 0; i < 10; i++) /* the rest may be on its way to the reader */
		MUST(next(s, &e));
	OK(posix_trace_clear(s));
	EQ(drain(s).n, 0);
	SAME(type_name(s, id), "clr.named");
	CHECK(same_attributes(attr_of(s), before));
	text(name("flow"), "after");
	SAME(story(drain(s)), "after");
	OK(posix_trace_shutdown(s));
	ERR(posix_trace_clear(s), EINVAL);
	OK(posix_trace_shutdown(STREAM(.log = "log")));
	OK(posix_trace_open(open("log", O_RDONLY | O_CLOEXEC), &l));
	ERR(posix_trace_clear(l), EINVAL);
}

TEST(CLR_02, "")
{
	trace_id_t s = STREAM(0);

	OK(posix_trace_clear(s));
	STATE(s, SUSPENDED, NOT_FULL);
	OK(posix_trace_start(s));
	OK(posix_trace_clear(s));
	STATE(s, RUNNING, NOT_FULL);
	text(UNNAMED, "x");
	SAME(story(drain(s)), "x");
	OK(posix_trace_stop(s));
	OK(posix_trace_clear(s));
	STATE(s, SUSPENDED, NOT_FULL);
	text(UNNAMED, "y");
	EQ(drain(s).n, 0);
}

TEST(CLR_03, "")
{
	EACH (p, LOOP, UNTIL_FULL)
		for (int reported = 0; reported < 4; reported++) { /* however many marks have been reported */
			trace_id_t s = RUNNING(.policy = p, TINY);
			struct event e;
			fill(s, 0);
			if (p == UNTIL_FULL && reported)
				do
					MUST(next(s, &e));
				while (e.i.posix_event_id != POSIX_TRACE_STOP);
			for (int i = 0; i < reported - (p == UNTIL_FULL); i++)
				MUST(next(s, &e));
			numbers(name("flow"), 0, 3, 0); /* may be lost */
			OK(posix_trace_clear(s));
			struct posix_trace_status_info st = status(s);
			EQ(st.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
			EQ(st.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
			EQ(drain(s).n, 0);
			OK(posix_trace_start(s));
			text(name("flow"), "x");
			struct events all = drain(s);
			EQ(only(all, POSIX_TRACE_OVERFLOW).n + only(all, POSIX_TRACE_RESUME).n, 0);
			SAME(story(users(all)), "x");
			OK(posix_trace_shutdown(s));
		}
}

TEST(CLR_04, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, TINY);

	fill(s, 0);
	OK(posix_trace_clear(s));
	for (int i = 0; i < 3; i++) {
		STATE(s, SUSPENDED, NOT_FULL);
		text(name("flow"), "no");
		EQ(drain(s).n, 0);
	}
	OK(posix_trace_start(s));
	STATE(s, RUNNING, NOT_FULL);
	text(name("flow"), "x");
	SAME(story(drain(s)), "START x");
	int n = fill(s, 0); /* like any other stream from then on */
	struct events all = drain(s);
	SAME(story(from(all, n)), "STOP1 OVERFLOW START");
	STATE(s, RUNNING, NOT_FULL);
}

TEST(CLR_05, "")
{
	trace_id_t s = RUNNING(0);
	trace_event_id_t id = name("clr.rejected");
	struct same_attr before = attr_of(s);
	trace_event_set_t none = set_of(0), have;

	set_filter(s, set_of(2, id, 4000U), POSIX_TRACE_SET_EVENTSET);
	text(id, "x");
	OK(posix_trace_clear(s));
	have = filter(s);
	CHECK(same_set(&have, &none));
	text(id, "y");
	SAME(story(drain(s)), "y"); /* and no FILTER event */
	CHECK(same_attributes(attr_of(s), before));
}

static atomic_bool end_clear;
static void *sized(void *arg)
{
	char b[1000];

	for (int k = 0; !end_clear; k++) {
		int len = 4 + k % 996 * 7919 % 996; /* k becomes large */
		memset(b, len & 0xff, (size_t)len);
		memcpy(b, &len, sizeof len);
		posix_trace_event(*(trace_event_id_t *)arg, b, (size_t)len);
	}
	return NULL;
}

TEST(CLR_06, "")
{
	EACH (p, LOOP, UNTIL_FULL) {
		trace_id_t s = RUNNING(.policy = p, .data = 1000);
		trace_event_id_t ids[] = {name("clr.a"), name("clr.b")};
		pthread_t t[2];
		int n = 0;
		end_clear = false;
		for (int i = 0; i < 2; i++)
			t[i] = start(sized, &ids[i]);
		while (n < 300) {
			OK(posix_trace_clear(s));
			OK(posix_trace_start(s)); /* it may have become full */
			sched_yield();
			struct event e;
			for (int i = 0; i < 50 && next(s, &e); i++) {
				int len;
				if (!user(e.i.posix_event_id))
					continue;
				n++;
				MUST(e.n >= sizeof len);
				memcpy(&len, e.data, sizeof len);
				bool torn = (size_t)len != e.n;
				for (size_t k = sizeof len; k < e.n; k++)
					torn |= (unsigned char)e.data[k] != (e.n & 0xff);
				if (torn)
					FATAL("a torn event of %zu bytes", e.n);
				free(e.data);
			}
		}
		end_clear = true;
		for (int i = 0; i < 2; i++)
			OK(pthread_join(t[i], NULL));
		OK(posix_trace_clear(s));
		EQ(users(drain(s)).n, 0);
	}
}

TEST(CLR_07, "")
{
	EACH (p, LOOP, UNTIL_FULL) {
		const char *log = print("log%d", p);
		trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = p, .logsize = 64 << 10, .log = log, TINY);
		while (status(s).posix_log_full_status != POSIX_TRACE_FULL) {
			numbers(UNNAMED, 0, 50, 0);
			OK(posix_trace_flush(s));
		}
		text(UNNAMED, "before");
		OK(posix_trace_clear(s));
		EQ(status(s).posix_log_full_status, POSIX_TRACE_NOT_FULL);
		OK(posix_trace_start(s));
		text(UNNAMED, "first");
		OK(posix_trace_flush(s));
		text(UNNAMED, "second");
		OK(posix_trace_shutdown(s));
		/* LOOP was running all the time. */
		SAME(story(unmarked(logged(log))), p == LOOP ? "first second STOP0" : "START first second STOP0");
	}
}

TEST(CLR_08, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "log");

	text(UNNAMED, "logged");
	OK(posix_trace_flush(s));
	text(UNNAMED, "cleared");
	OK(posix_trace_clear(s));
	text(UNNAMED, "after");
	OK(posix_trace_shutdown(s));
	SAME(story(unmarked(logged("log"))), "START logged after STOP0"); /* what is in the log stays */
}

static void *flush_it(void *arg)
{
	OK(posix_trace_flush(((struct slow *)arg)->s));
	return NULL;
}

static atomic_bool cleared;
static void *clear_it(void *arg)
{
	OK(posix_trace_clear(((struct slow *)arg)->s));
	cleared = true;
	return NULL;
}

TEST(CLR_09, "")
{
	/* It waits for a running flush. */
	struct slow *p = slow_log((struct how){.policy = UNTIL_FULL, .size = 256 << 10});
	OK(posix_trace_start(p->s));
	numbers(UNNAMED, 0, 150, 1000);
	pthread_t flush = start(flush_it, p);
	WAIT(status(p->s).posix_stream_flush_status == POSIX_TRACE_FLUSHING);
	pthread_t clear = start(clear_it, p);
	for (int i = 0; i < 30; i++)
		nap();
	CHECK(!cleared);
	read_slow(p);
	OK(pthread_join(flush, NULL));
	OK(pthread_join(clear, NULL));
	range(slow_events(p), 0, 150);
	/* It resets the flush error and the log's overrun. */
	trace_attr_t a;
	trace_id_t s;
	MUST(!mkfifo("fifo", 0600));
	int out = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC), in = open("fifo", O_WRONLY | O_CLOEXEC);
	attributes(&a, (struct how){.policy = UNTIL_FULL, .logpolicy = APPEND});
	OK(posix_trace_create_withlog(0, &a, in, &s));
	close(in);
	OK(posix_trace_start(s));
	close(out);
	text(UNNAMED, "x");
	ERR(posix_trace_flush(s), EPIPE);
	OK(posix_trace_clear(s));
	EQ(status(s).posix_stream_flush_error, 0);
	s = RUNNING(.policy = UNTIL_FULL, .logpolicy = LOOP, .logsize = 1, .log = "log", TINY);
	for (int i = 0; i < 150; i++) {
		numbers(UNNAMED, 0, 50, 0);
		OK(posix_trace_flush(s));
	}
	OK(posix_trace_clear(s));
	EQ(status(s).posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
}
