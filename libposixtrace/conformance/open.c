/* Section OPN: pre-recorded streams. */
#include "conform.h"

static void log_of(const char *path, int n)
{
	trace_id_t s;

	one_processor();
	s = RUNNING(.name = "opn", .policy = UNTIL_FULL, .logpolicy = APPEND, .size = 1 << 20, .log = path);
	numbers(name("opn.event"), 0, n, 20);
	OK(posix_trace_shutdown(s));
	all_processors();
}

static trace_id_t opened(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	trace_id_t l;

	MUST(fd >= 0);
	OK(posix_trace_open(fd, &l));
	close(fd);
	return l;
}

static int get(trace_id_t l, struct posix_trace_event_info *e)
{
	size_t n;
	int none;

	OK(posix_trace_getnext_event(l, e, NULL, 0, &n, &none));
	return none;
}

TEST(OPN_01, "posix_trace_open")
{
	log_of("log", 10);
	trace_id_t a = opened("log"), b = opened("log");
	CHECK(a != b);
	struct events all = rest(a);
	EQ(all.e[0].i.posix_event_id, POSIX_TRACE_START); /* the oldest */
	range(all, 0, 10);
}

TEST(OPN_02, "posix_trace_open/EINVAL")
{
	static char b[1 << 16];
	trace_id_t l = 77;

	write_file("empty", b, 0);
	write_file("zeros", b, sizeof b);
	memset(b, 'n', sizeof b);
	write_file("text", b, sizeof b);
	const char *files[] = {"empty", "zeros", "text", "."};
	for (int i = 0; i < 4; i++)
		ERR(posix_trace_open(open(files[i], O_RDONLY | O_CLOEXEC), &l), EINVAL);
	log_of("log", 1);
	ERR(posix_trace_open(open("log", O_RDONLY | O_CLOEXEC), NULL), EINVAL);
	EQ(l, 77);
}

static void open_often(void)
{
	for (int i = 0; i < 100; i++)
		OK(posix_trace_close(opened("log")));
}

TEST(OPN_02_bad, "posix_trace_open/EBADF")
{
	trace_id_t l = 77;
	int closed;

	log_of("log", 1);
	closed = open("log", O_RDONLY | O_CLOEXEC);
	close(closed);
	ERR(posix_trace_open(-1, &l), EBADF);
	ERR(posix_trace_open(closed, &l), EBADF);
	ERR(posix_trace_open(open("log", O_WRONLY | O_CLOEXEC), &l), EBADF);
	ERR(posix_trace_open(open("log", O_PATH | O_CLOEXEC), &l), EBADF);
	EQ(l, 77);
	during_signals(open_often, 0); /* handlers do not interrupt it */
}

TEST(OPN_03, "posix_trace_open/EINVAL")
{
	off_t offsets[] = {0, 7, (off_t)1 << 40};
	int ends[2];
	size_t n;
	trace_id_t l;

	log_of("log", 50);
	int fd = open("log", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 3; i++) {
		MUST(lseek(fd, offsets[i], SEEK_SET) == offsets[i]);
		OK(posix_trace_open(fd, &l));
		range(rest(l), 0, 50);
		OK(posix_trace_rewind(l));
		OK(posix_trace_close(l));
		EQ(lseek(fd, 0, SEEK_CUR), offsets[i]);
	}
	char *b = contents("log", &n); /* what cannot seek is refused, even with a log in it */
	MUST(!pipe2(ends, O_CLOEXEC) && write(ends[1], b, n < 60000 ? n : 60000) > 0);
	ERR(posix_trace_open(ends[0], &l), EINVAL);
}

TEST(OPN_04, "posix_trace_open/EINVAL")
{
	size_t n;
	int last = -1;

	log_of("log", 3000);
	unsigned char *b = (unsigned char *)contents("log", &n);
	/* The length of the head of a log of libposixtrace. */
	size_t head = choices ? b[16] | (size_t)b[17] << 8 : 33, cuts[] = {1, 8, 32, head - 1};
	trace_id_t l;
	for (int i = 0; i < 4; i++) {
		write_file("bad", b, cuts[i]);
		ERR(posix_trace_open(open("bad", O_RDONLY | O_CLOEXEC), &l), EINVAL);
	}
	if (!choices)
		return;
	size_t at[] = {head + 300, n / 4, n / 2, n * 3 / 4};
	for (int i = 0; i < 4; i++) { /* all events before the damage, and none from a damaged block */
		b[at[i]] ^= 0x40;
		write_file("bad", b, n);
		b[at[i]] ^= 0x40;
		l = opened("bad");
		struct events all = rest(l);
		EQ(status(l).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
		int have = users(all).n;
		range(all, 0, have);
		CHECK(have < 3000 && have >= last);
		last = have;
		OK(posix_trace_close(l));
	}
	CHECK(last > 0);
	for (size_t k = head; k + 8 <= n; k += n / 50) { /* lengths and counts with all bits set */
		unsigned char was[8];
		memcpy(was, b + k, 8);
		memset(b + k, 0xff, 8);
		write_file("bad", b, n);
		memcpy(b + k, was, 8);
		int err = posix_trace_open(open("bad", O_RDONLY | O_CLOEXEC), &l);
		if (err) {
			EQ(err, EINVAL);
			continue;
		}
		struct events all = rest(l);
		range(all, 0, users(all).n);
		OK(posix_trace_close(l));
	}
}

TEST(OPN_05, "posix_trace_open")
{
	size_t n, m;
	trace_id_t a, b;
	struct posix_trace_event_info e;

	log_of("log", 100);
	char *before = contents("log", &n);
	int fd = open("log", O_RDONLY | O_CLOEXEC);
	OK(posix_trace_open(fd, &a));
	OK(posix_trace_open(fd, &b)); /* by the same descriptor */
	for (int i = 0; i < 30; i++)
		EQ(get(a, &e), 0);
	range(rest(b), 0, 100);
	struct peer *p = new_peer(NULL); /* and in another process */
	SAY(p, "openlog l log");
	const char *all = ask(p, "read l");
	CHECK(strstr(all, "opn.event") && strstr(all, " 99 "));
	range(rest(a), 29, 71); /* behind START */
	CHECK(!memcmp(contents("log", &m), before, n) && n == m);
}

TEST(OPN_06, "EINVAL")
{
	log_of("log", 1);
	trace_id_t l = opened("log");
	trace_event_id_t id, first;
	trace_event_set_t set = set_of(0);
	struct posix_trace_event_info e;
	struct timespec t = after(0);
	size_t n;
	int none;

	OK(posix_trace_eventtypelist_getnext_id(l, &first, &none));
	CHECK(*type_name(l, first) && posix_trace_eventid_equal(l, first, first));
	OK(posix_trace_eventtypelist_rewind(l));
	OK(posix_trace_eventtypelist_getnext_id(l, &id, &none));
	EQ(id, first);
	attr_of(l);
	status(l);
	EQ(get(l, &e), 0);
	OK(posix_trace_rewind(l));
	ERR(posix_trace_start(l), EINVAL);
	ERR(posix_trace_stop(l), EINVAL);
	ERR(posix_trace_clear(l), EINVAL);
	ERR(posix_trace_flush(l), EINVAL);
	ERR(posix_trace_shutdown(l), EINVAL);
	ERR(posix_trace_get_filter(l, &set), EINVAL);
	ERR(posix_trace_set_filter(l, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	ERR(posix_trace_trid_eventid_open(l, "x", &id), EINVAL);
	ERR(posix_trace_trygetnext_event(l, &e, NULL, 0, &n, &none), EINVAL);
	ERR(posix_trace_timedgetnext_event(l, &e, NULL, 0, &n, &none, &t), EINVAL);
	range(rest(l), 0, 1); /* none of them did anything */
	OK(posix_trace_close(l));
}

TEST(OPN_07, "posix_trace_rewind/EINVAL")
{
	log_of("log", 3000); /* more than one batch of the library's own */
	trace_id_t l = opened("log"), s = STREAM(0), w = STREAM(.log = "other");
	struct events first = rest(l);
	struct posix_trace_event_info e;

	for (int i = 0; i < 2; i++) {
		OK(posix_trace_rewind(l));
		struct events again = rest(l);
		EQ(again.n, first.n);
		for (int k = 0; k < again.n; k++)
			CHECK(made_at(&again.e[k]) == made_at(&first.e[k]) && !strcmp(again.e[k].data, first.e[k].data));
	}
	for (int skip = 1; skip < 2000; skip *= 7) { /* in the middle */
		OK(posix_trace_rewind(l));
		for (int i = 0; i < skip; i++)
			EQ(get(l, &e), 0);
		EQ(nanos(e.posix_timestamp), made_at(&first.e[skip - 1]));
	}
	ERR(posix_trace_rewind(s), EINVAL);
	ERR(posix_trace_rewind(w), EINVAL);
	OK(posix_trace_close(l));
	ERR(posix_trace_rewind(l), EINVAL);
}

TEST(OPN_08, "posix_trace_close/EINVAL")
{
	log_of("log", 1);
	trace_id_t l = opened("log"), other = opened("log"), s = STREAM(0), w = STREAM(.log = "other");
	struct posix_trace_event_info e;
	struct posix_trace_status_info st;
	trace_attr_t a;
	size_t n;
	int none;
	char name[TRACE_EVENT_NAME_MAX + 1];

	OK(posix_trace_attr_init(&a));
	OK(posix_trace_close(l));
	ERR(posix_trace_close(l), EINVAL);
	ERR(posix_trace_getnext_event(l, &e, NULL, 0, &n, &none), EINVAL);
	ERR(posix_trace_get_attr(l, &a), EINVAL);
	ERR(posix_trace_get_status(l, &st), EINVAL);
	ERR(posix_trace_eventid_get_name(l, POSIX_TRACE_START, name), EINVAL);
	ERR(posix_trace_close(s), EINVAL); /* active ones cannot be closed */
	ERR(posix_trace_close(w), EINVAL);
	status(s);
	status(w);
	range(rest(other), 0, 1);
}

TEST(OPN_09, "posix_trace_close")
{
	struct stat st;
	trace_id_t l;

	log_of("log", 5);
	int fd = open("log", O_RDONLY | O_CLOEXEC);
	OK(posix_trace_open(fd, &l));
	OK(posix_trace_close(l));
	MUST(!fstat(fd, &st)); /* it stays open */
	OK(posix_trace_open(fd, &l));
	close(fd); /* and may be closed early */
	range(rest(l), 0, 5);
	OK(posix_trace_rewind(l));
	range(rest(l), 0, 5);
	OK(posix_trace_close(l));
}

TEST(OPN_10, "")
{
	struct peer *p = new_peer(NULL), *q = new_peer(NULL);

	ask(p, "open opn.filler");
	trace_id_t a = RUNNING(.pid = p->pid, .log = "a"), b = RUNNING(.pid = q->pid, .log = "b");
	ask(p, "event opn.ten x");
	ask(q, "event opn.ten y");
	OK(posix_trace_shutdown(a));
	OK(posix_trace_shutdown(b));
	for (int i = 0; i < 2; i++) {
		trace_id_t l = opened(i ? "b" : "a");
		struct events u = users(rest(l));
		EQ(u.n, 1);
		trace_event_id_t id = u.e[0].i.posix_event_id, listed = 0;
		int none;
		SAME(type_name(l, id), "opn.ten");
		while (!posix_trace_eventtypelist_getnext_id(l, &listed, &none) && !none)
			if (!strcmp(type_name(l, listed), "opn.ten"))
				EQ(listed, id);
	}
}

TEST(OPN_11, "")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .data = 100, .size = 1 << 20), w = RUNNING(.policy = UNTIL_FULL, .data = 100, .size = 1 << 20, .log = "log");
	trace_event_id_t ids[] = {name("opn.a"), UNNAMED};
	char data[200];

	memset(data, 'd', sizeof data);
	int64_t before[200], end[200];
	for (int i = 0; i < 200; i++) {
		before[i] = now();
		posix_trace_event(ids[i % 2], data, (size_t)i);
		end[i] = now();
	}
	struct events live = users(drain(s));
	OK(posix_trace_shutdown(w));
	struct events u = users(logged("log"));
	EQ(u.n, live.n);
	EQ(u.n, 200);
	for (int i = 0; i < u.n; i++) {
		struct posix_trace_event_info *x = &live.e[i].i, *y = &u.e[i].i;
		EQ(y->posix_event_id, x->posix_event_id);
		EQ(y->posix_pid, getpid());
		BY_THREAD(&u.e[i], tid());
		CHECK(y->posix_prog_address == x->posix_prog_address);
		EQ(y->posix_truncation_status, i > 100 ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
		EQ(u.e[i].n, i > 100 ? 100 : i);
		CHECK(made_at(&u.e[i]) > before[i] - 100000 && made_at(&u.e[i]) < end[i] + 100000);
		CHECK(made_at(&live.e[i]) > before[i] - 100000 && made_at(&live.e[i]) < end[i] + 100000);
	}
}

/* An identifier is valid only in the process that opened it. */
TEST(OPN_12, "")
{
	struct peer *p = new_peer(NULL);

	log_of("log", 3);
	SAY(p, "openlog l log");
	struct peer *child = by_peer(p, "fork");
	const char *all = ask(child, "all l");
	for (const char *c = all; c; c = strchr(c, ' ') ? strchr(c, ' ') + 1 : NULL)
		EQ(atoi(c), EINVAL);
	SAY(child, "openlog own log"); /* it can open the log itself */
	CHECK(strstr(ask(child, "read own"), "opn.event"));
	exit_peer(child);
	CHECK(strstr(ask(p, "read l"), "opn.event")); /* and its end leaves that of its parent */
	SAY(p, "close l");
}
