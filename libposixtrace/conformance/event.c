/* Section EVT: generating events. */
#include "conform.h"
#include <sys/resource.h>
#include <sys/syscall.h>

static trace_event_id_t of(const char *answer) { return (trace_event_id_t)atoi(answer); }

TEST(EVT_01, "posix_trace_event")
{
	struct peer *p = new_peer(NULL);
	trace_event_id_t id = of(ask(p, "open evt.one"));
	trace_id_t a = RUNNING(.pid = p->pid), b = RUNNING(.pid = p->pid, .policy = UNTIL_FULL);
	trace_id_t excludes = RUNNING(.pid = p->pid), suspended = STREAM(.pid = p->pid), other = RUNNING(0);
	trace_id_t l = RUNNING(.pid = p->pid, .log = "log");

	set_filter(excludes, set_of(1, id), POSIX_TRACE_SET_EVENTSET);
	ask(p, "event evt.one x");
	SAY(p, "raw %u y", UNNAMED);
	SAME(named(a, drain(a)), "evt.one=x posix_trace_unnamed_userevent=y");
	SAME(named(b, drain(b)), "evt.one=x posix_trace_unnamed_userevent=y");
	SAME(story(users(drain(excludes))), "y");
	EQ(drain(suspended).n, 0);
	EQ(users(drain(other)).n, 0);
	OK(posix_trace_shutdown(l));
	SAME(story(users(logged("log"))), "x y");
}

TEST(EVT_02, "")
{
	trace_event_id_t id = name("evt.two");

	text(id, "no stream");
	trace_id_t s = STREAM(0);
	text(id, "not started");
	OK(posix_trace_start(s));
	text(id, "running");
	OK(posix_trace_stop(s));
	text(id, "stopped");
	set_filter(s, set_of(1, id), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	text(id, "excluded");
	set_filter(s, set_of(1, id), POSIX_TRACE_SUB_EVENTSET);
	text(id, "again");
	SAME(story(users(drain(s))), "running again");
	struct posix_trace_status_info st = status(s);
	LOST(st, 0);
	EQ(st.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	OK(posix_trace_shutdown(s));
	text(id, "gone");
}

static const char digits[] = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

TEST(EVT_03, "")
{
	trace_id_t s = RUNNING(.data = 64);

	for (size_t n = 0; n <= 64; n++)
		posix_trace_event(UNNAMED, digits, n);
	struct events u = users(drain(s));
	EQ(u.n, 65);
	for (int n = 0; n < u.n; n++) {
		EQ(u.e[n].n, n);
		CHECK(!memcmp(u.e[n].data, digits, (size_t)n));
		EQ(u.e[n].i.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	}
}

TEST(EVT_04, "")
{
	size_t most[] = {NODATA, 1, 7, 8, 9, 50, 99, 100};
	trace_id_t s[8];

	for (int i = 0; i < 8; i++)
		s[i] = RUNNING(.data = most[i]);
	posix_trace_event(UNNAMED, digits, 100);
	for (int i = 0; i < 8; i++) {
		struct events u = users(drain(s[i]));
		EQ(u.n, 1);
		EQ(u.e[0].n, most[i] == NODATA ? 0 : most[i]);
		CHECK(!memcmp(u.e[0].data, digits, u.e[0].n));
		EQ(u.e[0].i.posix_truncation_status, i == 7 ? POSIX_TRACE_NOT_TRUNCATED : POSIX_TRACE_TRUNCATED_RECORD);
	}
}

TEST(EVT_05, "")
{
	trace_id_t s = RUNNING(0);

	posix_trace_event(UNNAMED, NULL, 0);
	posix_trace_event(UNNAMED, "", 0);
	posix_trace_event(UNNAMED, NULL, 10);
	struct events u = users(drain(s));
	EQ(u.n, 3);
	for (int i = 0; i < u.n; i++) {
		EQ(u.e[i].n, 0);
		EQ(u.e[i].i.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	}
}

TEST(EVT_06, "")
{
	CHOICE("which numbers are event types, and what becomes of the others, is the implementation's choice");
	trace_id_t s = RUNNING(0);
	trace_event_id_t mine = name("evt.six");
	trace_event_id_t bad[] = {0,    1,    2,    3,    4,    5,	  6,	   7,	    8,	     9,	  15,  16,	31,
				  mine + 1, mine + 2, 3000, 3583, 3584, 4000, 4095, 4096, 1 << 20, 1U << 31, ~0U, ~1U};

	drain(s);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		text(bad[i], "forged");
	text(mine, "true");
	SAME(story(drain(s)), "true");
	trace_event_id_t later; /* a type registered afterwards, by any process, is valid from then on */
	OK(posix_trace_trid_eventid_open(s, "evt.six.controller", &later));
	EQ(later, mine + 1);
	text(later, "registered");
	SAME(story(drain(s)), "registered");
}

TEST(EVT_07, "")
{
	struct peer *p = new_peer(NULL);
	trace_event_id_t id = of(ask(p, "open evt.seven"));
	trace_id_t s = RUNNING(.pid = p->pid, .data = 3);
	pid_t thread = atoi(ask(p, "tid"));
	int64_t before = now();

	ask(p, "event evt.seven abc");
	SAY(p, "raw %u abcd", UNNAMED);
	int64_t after = now();
	struct events u = users(drain(s));
	EQ(u.n, 2);
	for (int i = 0; i < u.n; i++) {
		struct posix_trace_event_info *e = &u.e[i].i;
		EQ(e->posix_event_id, i ? UNNAMED : id);
		EQ(e->posix_pid, p->pid);
		BY_THREAD(&u.e[i], thread);
		EQ(e->posix_truncation_status, i ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
		SAME(u.e[i].data, "abc");
		CHECK(e->posix_prog_address != NULL);
		CHECK(made_at(&u.e[i]) >= before - 100000 && made_at(&u.e[i]) <= after + 100000);
		CHECK(e->posix_timestamp.tv_nsec >= 0 && e->posix_timestamp.tv_nsec < 1000000000);
	}
}

OUT_OF_LINE static void points(trace_event_id_t id, void (*by_pointer)(trace_event_id_t, const void *, size_t))
{
	posix_trace_event(id, "a", 1);
	posix_trace_event(id, "b", 1);
	by_pointer(id, "c", 1);
	__asm__ volatile("");
}

TEST(EVT_08, "")
{
	trace_id_t s = RUNNING(0);
	trace_event_id_t id = name("evt.eight");
	void (*volatile pointer)(trace_event_id_t, const void *, size_t) = posix_trace_event;

	for (int i = 0; i < 2; i++)
		points(id, pointer);
	struct events u = users(drain(s));
	EQ(u.n, 6);
	for (int i = 0; i < u.n; i++) {
		char *at = u.e[i].i.posix_prog_address;
		if (at <= (char *)points || at > (char *)points + 1000)
			FAIL("event %d is at %p, the calls behind %p", i, (void *)at, (void *)points);
		for (int k = 0; k < i % 3; k++)
			CHECK(at != (char *)u.e[i - 1 - k].i.posix_prog_address);
		CHECK(i < 3 || at == (char *)u.e[i - 3].i.posix_prog_address); /* the same each time */
	}
}

OUT_OF_LINE static void control(trace_id_t s)
{
	trace_event_set_t none = set_of(0);

	OK(posix_trace_start(s));
	OK(posix_trace_set_filter(s, &none, POSIX_TRACE_SET_EVENTSET));
	OK(posix_trace_stop(s));
	__asm__ volatile("");
}

TEST(EVT_09, "")
{
	trace_id_t s = STREAM(.policy = UNTIL_FULL, .size = 1);

	control(s);
	struct events all = drain(s);
	SAME(story(all), "START FILTER STOP0");
	for (int i = 0; i < all.n; i++) {
		char *at = all.e[i].i.posix_prog_address;
		CHECK(at > (char *)control && at < (char *)control + 1000);
	}
	OK(posix_trace_start(s));
	numbers(UNNAMED, 0, 20000, 0);
	struct events stops = only(drain(s), POSIX_TRACE_STOP);
	EQ(stops.n, 1);
	EQ((intptr_t)stops.e[0].i.posix_prog_address, 0);
}

TEST(EVT_10, "")
{
	trace_id_t s = RUNNING(.size = 1), l = RUNNING(.log = "log");

	numbers(UNNAMED, 0, 20000, 0);
	OK(posix_trace_flush(l));
	OK(posix_trace_shutdown(l));
	struct events both[] = {drain(s), logged("log")};
	int n = 0;
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < both[k].n; i++) {
			struct posix_trace_event_info *e = &both[k].e[i].i;
			if (e->posix_event_id == POSIX_TRACE_OVERFLOW || e->posix_event_id == POSIX_TRACE_RESUME ||
			    e->posix_event_id == POSIX_TRACE_FLUSH_START || e->posix_event_id == POSIX_TRACE_FLUSH_STOP) {
				n++;
				EQ(e->posix_pid, 0);
				EQ((long long)e->posix_thread_id, 0);
			} else if (user(e->posix_event_id)) {
				EQ(e->posix_pid, getpid());
			}
		}
	CHECK(n >= 6);
}

static void *record_tid(void *arg)
{
	pid_t *t = arg;

	*t = tid();
	text(UNNAMED, print("%d", *t));
	return NULL;
}

TEST(EVT_11, "")
{
	CHOICE("how a thread identifier looks to another process is the implementation's choice");
	trace_id_t s = RUNNING(0);
	pid_t tids[20];

	for (int i = 0; i < 20; i++)
		OK(pthread_join(start(record_tid, &tids[i]), NULL));
	text(UNNAMED, "main");
	struct events u = users(drain(s));
	EQ(u.n, 21);
	for (int i = 0; i < u.n; i++) {
		EQ((long long)u.e[i].i.posix_thread_id, i < 20 ? tids[i] : tid());
		EQ(u.e[i].i.posix_pid, getpid());
	}
}

static pthread_barrier_t together;
static void *wait_and_record(void *arg)
{
	pthread_barrier_wait(&together);
	return record_tid(arg);
}

TEST(EVT_12, "")
{
	pthread_t t[30];
	pid_t tids[30];
	int seen = 0;

	/* Half of the threads are there before the stream. */
	OK(pthread_barrier_init(&together, NULL, 30));
	for (int i = 0; i < 15; i++)
		t[i] = start(wait_and_record, &tids[i]);
	trace_id_t s = RUNNING(0);
	for (int i = 15; i < 30; i++)
		t[i] = start(wait_and_record, &tids[i]);
	for (int i = 0; i < 30; i++)
		OK(pthread_join(t[i], NULL));
	struct events u = users(drain(s));
	EQ(u.n, 30);
	for (int i = 0; i < u.n; i++) {
		BY_THREAD(&u.e[i], atoi(u.e[i].data));
		for (int k = 0; k < 30; k++)
			seen += tids[k] == atoi(u.e[i].data);
	}
	EQ(seen, 30);
}

static _Atomic int turn;
static void *by_turns(void *arg)
{
	for (int n = *(int *)arg; n < 600; n += 3) {
		while (turn != n)
			sched_yield();
		numbers(UNNAMED, n, 1, 0);
		turn = n + 1;
	}
	return NULL;
}

TEST(EVT_13, "")
{
	trace_id_t s = RUNNING(.size = 1 << 20);
	int64_t before[200], after[200], slack = 100000;

	for (int i = 0; i < 200; i++) {
		before[i] = now();
		numbers(UNNAMED, i, 1, 0);
		after[i] = now();
		if (i % 50 == 0)
			for (int k = 0; k < 5; k++)
				nap();
	}
	struct events u = users(drain(s));
	range(u, 0, 200);
	ordered(u);
	for (int i = 0; i < 200; i++)
		if (made_at(&u.e[i]) < before[i] - slack || made_at(&u.e[i]) > after[i] + slack)
			FAIL("event %d at %lld, want %lld to %lld", i, (long long)made_at(&u.e[i]), (long long)before[i], (long long)after[i]);
	/* Events that follow each other across threads are in that order. */
	int first[] = {0, 1, 2};
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		t[i] = start(by_turns, &first[i]);
	for (int i = 0; i < 3; i++)
		OK(pthread_join(t[i], NULL));
	u = users(drain(s));
	range(u, 0, 600);
	ordered(u);
	CHECK(nanos(attr_of(s).resolution) > 0 && nanos(attr_of(s).resolution) <= 1000000);
}

/* A failed automatic flush is an ERROR event, and nothing else to the traced process. */
TEST(EVT_14, "")
{
	trace_attr_t a;
	trace_id_t s;
	size_t n;

	MUST(!mkfifo("fifo", 0600));
	int out = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC), in = open("fifo", O_WRONLY | O_CLOEXEC);
	attributes(&a, (struct how){.logpolicy = APPEND, .size = 1});
	OK(posix_trace_create_withlog(0, &a, in, &s));
	close(in);
	char *head = read_all(out, &n); /* the start of the log */
	close(out);
	OK(posix_trace_start(s));
	numbers(UNNAMED, 0, 10000, 0);
	WAIT(status(s).posix_stream_flush_error == EPIPE);
	numbers(UNNAMED, 0, 100, 0);
	out = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	OK(posix_trace_flush(s));
	OK(posix_trace_shutdown(s));
	size_t more;
	char *tail = read_all(out, &more);
	head = realloc(head, n + more);
	memcpy(head + n, tail, more);
	write_file("copy", head, n + more);
	struct events errors = only(logged("copy"), POSIX_TRACE_ERROR);
	CHECK(errors.n >= 1);
	for (int i = 0; i < errors.n; i++) {
		int v;
		EQ(errors.e[i].n, sizeof v);
		memcpy(&v, errors.e[i].data, sizeof v);
		EQ(v, EPIPE);
		EQ(errors.e[i].i.posix_pid, 0);
	}
	/* A limit of the file size does no harm. */
	struct peer *p = new_peer(NULL);
	s = RUNNING(.pid = p->pid);
	ask(p, "event evt.known 1");
	SAY(p, "fsize 0");
	ask(p, "event evt.known 2");
	SAY(p, "raw %u 3", UNNAMED);
	SAME(story(users(drain(s))), "1 2 3");
}

TEST(EVT_15, "")
{
	trace_id_t s = RUNNING(.size = 1 << 20);
	char data[1000];

	for (int i = 0; i < 100; i++) {
		memset(data, i, sizeof data);
		posix_trace_event(UNNAMED, data, sizeof data);
	}
	memset(data, 0xff, sizeof data);
	struct events u = users(drain(s));
	EQ(u.n, 100);
	for (int i = 0; i < u.n; i++)
		for (size_t k = 0; k < u.e[i].n; k++)
			if (u.e[i].data[k] != (char)i)
				FATAL("event %d was changed afterwards", i);
}

/* Processes of one family write, and are killed in the middle of it, while the controller does what it wants. */
TEST(EVT_16, "")
{
	trace_id_t s = STREAM(.inherited = POSIX_TRACE_INHERITED, .size = 256 << 10);
	struct peer *p[3];
	int last[3] = {-1, -1, -1}, total = 0, left = 0;

	for (int i = 0; i < 3; i++) {
		p[i] = new_peer(NULL);
		SAY(p[i], "forever evt.writer");
	}
	trace_event_set_t set = set_of(1, UNNAMED);
	for (int i = 0; i < 12; i++) {
		OK(posix_trace_start(s));
		for (int got = 0; !got;) {
			struct event e;
			for (int k = 0; k < 1500 && next(s, &e); k++) {
				if (!user(e.i.posix_event_id))
					continue;
				for (int w = 0; w < 3; w++)
					if (p[w]->pid == e.i.posix_pid) {
						if (i % 3 != 2 && atoi(e.data) <= last[w])
							FATAL("%s after %d", e.data, last[w]);
						last[w] = atoi(e.data);
						got++;
					}
				free(e.data);
			}
			total += got;
		}
		if (i % 3 == 0)
			OK(posix_trace_set_filter(s, &set, POSIX_TRACE_SET_EVENTSET));
		else
			OK(i % 3 == 1 ? posix_trace_clear(s) : posix_trace_stop(s));
		if (i == 3 || i == 7)
			kill_peer(p[i / 4]);
	}
	CHECK(total > 0);
	/* Those of the last one still arrive, also after another controller's death. */
	struct peer *dead = new_peer(NULL);
	SAY(dead, "create dead %d", (int)p[2]->pid);
	SAY(dead, "start dead");
	kill_peer(dead);
	OK(posix_trace_clear(s));
	OK(posix_trace_start(s));
	while (!left) {
		struct event e;
		for (int k = 0; k < 2000 && next(s, &e); k++)
			left += e.i.posix_pid == p[2]->pid;
	}
	kill_peer(p[2]);
	OK(posix_trace_stop(s));
}
