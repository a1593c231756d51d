/* Section CRE: creating a stream. */
#include "conform.h"
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <dirent.h>
#include <sched.h>

static const struct how least = {.size = 1, .data = NODATA};

static struct how on(struct how h, pid_t pid)
{
	h.pid = pid;
	return h;
}

static int withlog(struct how h, int fd, trace_id_t *trid)
{
	trace_attr_t a;

	attributes(&a, h);
	return posix_trace_create_withlog(h.pid, &a, fd, trid);
}

TEST(CRE_01, "posix_trace_create/ENOMEM")
{
	pid_t pid = sleeper();
	trace_id_t trid = 77;
	size_t sizes[] = {(size_t)1 << 39, (size_t)1 << 60};

	OK(posix_trace_shutdown(STREAM(.pid = pid, .size = 1 << 20)));
	for (int i = 0; i < 2; i++) {
		ERR(try_make((struct how){.size = sizes[i]}, &trid), ENOMEM);
		EQ(trid, 77);
	}
	kill(pid, SIGKILL);
}

TEST(CRE_02, "posix_trace_create,posix_trace_create_withlog")
{
	trace_id_t s, l;

	OK(posix_trace_create(0, NULL, &s));
	OK(posix_trace_create_withlog(0, NULL, open_log("log", O_WRONLY), &l));
	for (int i = 0; i < 2; i++) {
		struct same_attr a = attr_of(i ? l : s);
		SAME(a.name, "");
#if TRI
		EQ(a.inherited, POSIX_TRACE_CLOSE_FOR_CHILD);
#endif
		EQ(a.policy, i ? FLUSH : LOOP);
		EQ(a.logpolicy, LOOP);
		if (choices) {
			EQ(a.data, 1024);
			CHECK(i || a.size == 64 << 10);
			EQ(a.logsize, 1 << 20);
		}
	}
}

TEST(CRE_03, "")
{
	for (int i = 0; i < 2; i++) {
		trace_id_t s = RUNNING(.pid = i ? getpid() : 0);
		text(UNNAMED, "x");
		struct events u = users(drain(s));
		EQ(u.n, 1);
		EQ(u.e[0].i.posix_pid, getpid());
	}
}

TEST(CRE_04, "")
{
	trace_id_t s[2] = {STREAM(0), STREAM(.log = "log")};

	for (int i = 0; i < 2; i++) {
		struct posix_trace_status_info st = status(s[i]);
		EQ(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
		EQ(st.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
		EQ(st.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
#if TRL
		EQ(st.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		EQ(st.posix_stream_flush_error, 0);
		EQ(st.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		EQ(st.posix_log_full_status, POSIX_TRACE_NOT_FULL);
#endif
		trace_event_set_t f = filter(s[i]), none = set_of(0);
		CHECK(same_set(&f, &none));
	}
	text(UNNAMED, "not recorded");
	EQ(drain(s[0]).n, 0);
	OK(posix_trace_shutdown(s[1]));
	EQ(unmarked(logged("log")).n, 0);
}

TEST(CRE_05, "")
{
	int64_t before = now();
	trace_id_t s = STREAM(0);
	int64_t after = now(), at = nanos(attr_of(s).created);

	CHECK(before <= at && at <= after);
	OK(posix_trace_clear(s));
	EQ(nanos(attr_of(s).created), at);
}

TEST(CRE_06, "posix_trace_create/ESRCH")
{
	pid_t dead = zombie(), reaped = zombie();
	trace_id_t trid = 77;

	MUST(waitpid(reaped, NULL, 0) == reaped);
	pid_t pids[] = {-1, -getpid(), 1 << 30, 0x7fffffff, dead, reaped};
	for (int i = 0; i < 6; i++) {
		ERR(posix_trace_create(pids[i], NULL, &trid), ESRCH);
		ERR(posix_trace_create_withlog(pids[i], NULL, open_log("log", O_WRONLY), &trid), ESRCH);
	}
	EQ(trid, 77);
}

/* A peer that is another user. */
static struct peer *other_user(int uid, int gid)
{
	struct peer *p = new_peer(USER_ENVIRONMENT(uid));

	SAY(p, "user %d %d", uid, gid);
	SAY(p, "dumpable 1"); /* as after an execution */
	return p;
}

TEST(CRE_07, "posix_trace_create/EPERM")
{
	need_root();
	struct peer *c = other_user(65534, 65534), *alike = other_user(65534, 65534), *group = other_user(65534, 65533);
	struct peer *protected = other_user(65534, 65534);

	SAY(protected, "dumpable 0");
	SAY(c, "create a 0 size=1");
	SAY(c, "create b %d size=1", (int)c->pid);
	SAY(c, "create c %d size=1", (int)alike->pid);
	EQ(atoi(ask(c, "create d %d size=1", (int)getpid())), EPERM);
	EQ(atoi(ask(c, "create d %d size=1", (int)group->pid)), EPERM);
	EQ(atoi(ask(c, "create d %d size=1", (int)protected->pid)), EPERM);
}

/* Whether the process exists is decided first. */
TEST(CRE_07_first, "posix_trace_create/ESRCH")
{
	need_root();
	struct peer *c = other_user(65534, 65534);

	EQ(atoi(ask(c, "create d %d size=1", 1 << 30)), ESRCH);
	EQ(atoi(ask(c, "create d %d size=1", (int)zombie())), ESRCH);
}

static void create_some(void)
{
	for (int i = 0; i < 10; i++) {
		OK(posix_trace_shutdown(STREAM(0)));
		OK(posix_trace_shutdown(STREAM(.log = "log")));
	}
}

/* Handlers interrupt neither call: nothing is created in part. */
TEST(CRE_09, "")
{
	during_signals(create_some, 0);
	STREAMS(0);
}

TEST(CRE_10, "posix_trace_create/EINVAL")
{
	trace_attr_t a;
	trace_id_t trid = 77;
	pid_t pid = sleeper();

	/* An object whose bytes are not what the functions have made of them. */
	OK(posix_trace_attr_init(&a));
	for (size_t i = 0; i < 1; i++) {
		memset(&a, 0xa5, sizeof a);
		ERR(posix_trace_create(0, &a, &trid), EINVAL);
		ERR(posix_trace_create(pid, &a, &trid), EINVAL);
		ERR(posix_trace_create_withlog(0, &a, open_log("log", O_WRONLY), &trid), EINVAL);
	}
	/* Values that suit no log. */
	ERR(withlog((struct how){.logsize = (size_t)1 << 62, .logpolicy = LOOP}, open_log("log", O_WRONLY), &trid), EINVAL);
	ERR(try_make((struct how){.policy = FLUSH}, &trid), EINVAL);
	EQ(trid, 77);
	kill(pid, SIGKILL);
}

TEST(CRE_11, "posix_trace_create/EINVAL")
{
	trace_id_t trid = 77;

	ERR(try_make((struct how){.policy = FLUSH}, &trid), EINVAL);
	EQ(trid, 77);
	EQ(attr_of(STREAM(.policy = FLUSH, .log = "log")).policy, FLUSH);
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST(CRE_12, "")
{
	pid_t crowded = sleeper(), new = sleeper(), none = zombie();
	int pipes[2];
	size_t n;
	static const char old[] = "what was there before";

	MUST(waitpid(none, NULL, 0) == none);
	for (int i = 0; choices && i < 64; i++)
		STREAM(.pid = crowded, .size = 1, .data = NODATA);
	OK(posix_trace_shutdown(STREAM(.pid = new)));
	write_file("log", old, sizeof old);
	MUST(!pipe2(pipes, O_NONBLOCK | O_CLOEXEC));
	int log = open("log", O_RDWR | O_CLOEXEC), reading = open("log", O_RDONLY | O_CLOEXEC);
	int appending = open("log", O_RDWR | O_APPEND | O_CLOEXEC);
	struct {
		struct how how;
		int fd, want;
	} cases[] = {
		{{.pid = none}, -1, ESRCH},
		{{.pid = none}, log, ESRCH},
		{{.pid = new, .policy = FLUSH}, -1, EINVAL},
		{{.pid = new}, reading, EBADF},
		{{.pid = new, .logpolicy = LOOP}, pipes[1], EINVAL},
		{{.pid = new, .logpolicy = UNTIL_FULL}, appending, EINVAL},
		{{.pid = crowded}, -1, EAGAIN},
		{{.pid = crowded}, log, EAGAIN},
		{{.pid = crowded, .logpolicy = APPEND}, appending, EAGAIN},
		{{.pid = crowded, .logpolicy = APPEND}, pipes[1], EAGAIN},
		{{.pid = new, .size = (size_t)1 << 39}, -1, ENOMEM},
		{{.pid = new, .size = (size_t)1 << 39}, log, ENOMEM},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		trace_id_t trid = 77;
		if (cases[i].how.pid == crowded && !choices)
			continue;
		int streams = STREAMS_NOW(), fds = descriptors();
		int err = cases[i].fd < 0 ? try_make(cases[i].how, &trid) : withlog(cases[i].how, cases[i].fd, &trid);
		if (err != cases[i].want || trid != 77 || STREAMS_NOW() != streams || descriptors() != fds)
			FAIL("case %zu: %d, trid %lu; streams %d, were %d", i, err, trid, STREAMS_NOW(), streams);
		CHECK(!memcmp(contents("log", &n), old, sizeof old) && n == sizeof old);
	}
	char c;
	EQ(read(pipes[0], &c, 1), -1); /* nothing was written */
	kill(crowded, SIGKILL);
	kill(new, SIGKILL);
}

TEST(CRE_13, "posix_trace_create/EAGAIN")
{
	struct peer *p = new_peer(NULL), *other = new_peer(NULL);
	trace_event_id_t id = (trace_event_id_t)atoi(ask(p, "open cre.thirteen"));
	pid_t pid = sleeper();
	trace_id_t trid, mine[64];

	SAY(other, "create another %d", (int)p->pid);
	trace_id_t plain = RUNNING(.pid = p->pid), stopped = RUNNING(.pid = p->pid, .size = 1 << 20);
	trace_id_t filtered = RUNNING(.pid = p->pid, .data = 2);
	trace_id_t full = RUNNING(.pid = p->pid, .policy = UNTIL_FULL, .size = 1, .data = NODATA);
	set_filter(filtered, set_of(1, id), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_stop(stopped));
	ask(p, "event cre.thirteen first");
	SAY(p, "raw %u second", UNNAMED);
	SAME(named(plain, drain(plain)), "cre.thirteen=first posix_trace_unnamed_userevent=second");
	SAME(named(stopped, drain(stopped)), "");
	SAME(named(filtered, drain(filtered)), "posix_trace_unnamed_userevent=se");
	SAY(p, "times cre.thirteen 0 20000 0");
	EQ(status(plain).posix_stream_status, POSIX_TRACE_RUNNING);
	STATE(stopped, SUSPENDED, NOT_FULL);
	STATE(filtered, RUNNING, NOT_FULL);
	STATE(full, SUSPENDED, FULL);
	OK(posix_trace_shutdown(plain));
	CHECK(drain(full).n > 0);

	if (!choices) { /* of how many streams one process may have */
		kill(pid, SIGKILL);
		return;
	}
	/* No more than 64, of all controllers together; those of a dead one do not count. */
	SAME(ask(other, "many %d 10", (int)pid), "10 0");
	for (int i = 0; i < 54; i++)
		OK(try_make(on(least, pid), &mine[i]));
	ERR(try_make(on(least, pid), &trid), EAGAIN);
	SAME(ask(other, "many %d 1", (int)pid), print("0 %d", EAGAIN));
	OK(try_make(on(least, p->pid), &trid)); /* another process is another matter */
	OK(posix_trace_shutdown(mine[3]));
	OK(try_make(on(least, pid), &trid));
	ERR(try_make(on(least, pid), &trid), EAGAIN);
	kill_peer(other);
	for (int i = 0; i < 10; i++)
		OK(try_make(on(least, pid), &trid));
	ERR(try_make(on(least, pid), &trid), EAGAIN);
	kill(pid, SIGKILL);
}

TEST(CRE_14, "")
{
	struct peer *p[3];
	trace_id_t s[3];

	for (int i = 0; i < 3; i++) {
		p[i] = new_peer(NULL);
		s[i] = RUNNING(.pid = p[i]->pid);
	}
	for (int i = 0; i < 3; i++)
		SAY(p[i], "raw %u of-%d", UNNAMED, i);
	for (int i = 0; i < 3; i++) {
		struct events u = users(drain(s[i]));
		SAME(story(u), print("of-%d", i));
		EQ(u.e[0].i.posix_pid, p[i]->pid);
	}
}

/* The id works only in the process that created it. */
TEST(CRE_15, "EINVAL")
{
	struct peer *p = new_peer(NULL);

#if TRI
	SAY(p, "create s 0 inherited=%d", POSIX_TRACE_INHERITED);
#else
	SAY(p, "create s 0");
#endif
	SAY(p, "create l 0 log=log");
	for (int i = 0; i < 2; i++) {
		struct peer *child = by_peer(p, i ? "_Fork" : "fork");
		for (int k = 0; k < 2; k++) {
			const char *all = ask(child, "all %s", k ? "l" : "s");
			for (const char *c = all; c; c = strchr(c, ' ') ? strchr(c, ' ') + 1 : NULL)
				EQ(atoi(c), EINVAL);
			EQ(strlen(all), 18 * 3 - 1);
		}
		EQ(atoi(ask(child, "equal s 40 40")), 1);
		/* A child can be a controller itself, of identifiers that are no others'. */
		SAY(child, "create own 0");
		SAY(child, "start own");
		exit_peer(child);
	}
	SAY(p, "start s");
	SAY(p, "shutdown s");
	SAY(p, "shutdown l");
}

static void *register_many(void *arg)
{
	return (void *)ask(arg, "fill cre.sixteen. 300");
}

TEST(CRE_16, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s[10];
	void *filled;

	s[0] = RUNNING(.pid = p->pid); /* the process has not used the library yet */
	pthread_t t = start(register_many, p);
	for (int i = 1; i < 9; i++)
		s[i] = RUNNING(.pid = p->pid);
	OK(pthread_join(t, &filled));
	SAME(filled, "300 0");
	s[9] = RUNNING(.pid = p->pid);
	for (int i = 0; i < 300; i += 13) {
		trace_event_id_t id = (trace_event_id_t)atoi(ask(p, "open cre.sixteen.%d", i));
		for (int k = 0; k < 10; k++)
			SAME(type_name(s[k], id), print("cre.sixteen.%d", i));
	}
	SAY(p, "raw %u all", UNNAMED);
	for (int k = 0; k < 10; k++)
		SAME(story(users(drain(s[k]))), "all");
	pid_t pid = sleeper(); /* never uses it */
	trace_id_t idle = RUNNING(.pid = pid);
	SAME(story(drain(idle)), "START");
	kill(pid, SIGKILL);
}

TEST(CRE_17, "")
{
	struct peer *p = new_peer(NULL);
	trace_event_id_t ids[5];

	for (int i = 0; i < 5; i++)
		ids[i] = (trace_event_id_t)atoi(ask(p, "open cre.seventeen.%d", i));
	trace_id_t l = STREAM(.pid = p->pid, .log = "log"), s = STREAM(.pid = p->pid);
	trace_id_t both[] = {s, l};
	for (int k = 0; k < 3; k++) {
		trace_id_t at = k < 2 ? both[k] : 0;
		if (k == 2) {
			OK(posix_trace_shutdown(l));
			int fd = open("log", O_RDONLY | O_CLOEXEC);
			OK(posix_trace_open(fd, &at));
		}
		const char *list = types(at);
		for (int i = 0; i < 5; i++) {
			SAME(type_name(at, ids[i]), print("cre.seventeen.%d", i));
			CHECK(is_in(print("cre.seventeen.%d", i), list));
		}
	}
}

/* All calls but those of the readers. */
static void use(trace_id_t s, int flush)
{
	trace_event_id_t id;
	int none;

	OK(posix_trace_start(s));
	OK(posix_trace_stop(s));
	OK(posix_trace_clear(s));
	status(s);
	attr_of(s);
	filter(s);
	set_filter(s, set_of(0), POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_trid_eventid_open(s, "cre.matrix", &id));
	SAME(type_name(s, id), "cre.matrix");
	CHECK(posix_trace_eventid_equal(s, id, id));
	OK(posix_trace_eventtypelist_getnext_id(s, &id, &none));
	OK(posix_trace_eventtypelist_rewind(s));
	ERR(posix_trace_flush(s), flush);
	ERR(posix_trace_rewind(s), EINVAL);
	ERR(posix_trace_close(s), EINVAL);
}

static int read_by(int how, trace_id_t s)
{
	struct posix_trace_event_info e;
	struct timespec soon = after(1000000000);
	char data[100];
	size_t n;
	int none;

	switch (how) {
	case 0:
		return posix_trace_getnext_event(s, &e, data, sizeof data, &n, &none);
	case 1:
		return posix_trace_timedgetnext_event(s, &e, data, sizeof data, &n, &none, &soon);
	}
	return posix_trace_trygetnext_event(s, &e, data, sizeof data, &n, &none);
}

TEST(CRE_18, "EINVAL")
{
	trace_id_t s = STREAM(0);

	use(s, EINVAL);
	OK(posix_trace_start(s));
	numbers(UNNAMED, 0, 2, 0);
	for (int i = 0; i < 3; i++)
		OK(read_by(i, s));
	OK(posix_trace_shutdown(s));
}

TEST(CRE_19, "posix_trace_create_withlog")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid, .name = "nineteen", .log = "log"), trid;
	pid_t none = zombie(), crowded = sleeper();

	ask(p, "event cre.nineteen one");
	OK(posix_trace_shutdown(s));
	SAME(story(users(logged("log"))), "one");
	MUST(waitpid(none, NULL, 0) == none);
	ERR(try_make((struct how){.pid = none, .log = "b"}, &trid), ESRCH);
	ERR(try_make((struct how){.size = (size_t)1 << 60, .log = "b"}, &trid), ENOMEM);
	ERR(try_make((struct how){.logsize = (size_t)1 << 62, .log = "b"}, &trid), EINVAL);
	for (int i = 0; choices && i < 64; i++)
		OK(try_make(on(least, crowded), &trid));
	if (choices)
		ERR(try_make((struct how){.pid = crowded, .log = "b"}, &trid), EAGAIN);
	kill(crowded, SIGKILL);
}

TEST(CRE_20, "posix_trace_create_withlog/EBADF")
{
	int pipes[2], closed = open_log("log", O_WRONLY);
	trace_id_t trid = 77;

	close(closed);
	MUST(!pipe2(pipes, O_CLOEXEC));
	int fds[] = {-1, closed + 100, 1 << 20, open("log", O_RDONLY | O_CLOEXEC), open("log", O_PATH | O_CLOEXEC),
		     open("log", O_PATH | O_RDWR | O_CLOEXEC), open(".", O_RDONLY | O_CLOEXEC), pipes[0]};
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		EACH (p, LOOP, UNTIL_FULL, APPEND)
			ERR(withlog((struct how){.logpolicy = p}, fds[i], &trid), EBADF);
	EQ(trid, 77);
}

TEST(CRE_21, "posix_trace_create_withlog/EINVAL")
{
	int pairs[3][2], fd, bad = eventfd(0, EFD_CLOEXEC);
	trace_id_t s;

	EACH (p, LOOP, UNTIL_FULL, APPEND) {
		s = RUNNING(.log = "log", .logpolicy = p);
		numbers(UNNAMED, 0, 3, 0);
		OK(posix_trace_shutdown(s));
		range(logged("log"), 0, 3);
		ERR(withlog((struct how){.logpolicy = p}, bad, &s), EINVAL);
	}
	/* What cannot seek suits APPEND only. */
	MUST(!pipe2(pairs[0], O_CLOEXEC));
	MUST(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[1]));
	MUST(!mkfifo("fifo", 0600));
	pairs[2][0] = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	pairs[2][1] = open("fifo", O_WRONLY | O_CLOEXEC);
	MUST(!fcntl(pairs[2][0], F_SETFL, 0));
	for (int i = 0; i < 3; i++) {
		int in = pairs[i][1], out = pairs[i][0];
		size_t n;
		ERR(withlog((struct how){.logpolicy = 0}, in, &s), EINVAL);
		ERR(withlog((struct how){.logpolicy = LOOP}, in, &s), EINVAL);
		ERR(withlog((struct how){.logpolicy = UNTIL_FULL}, in, &s), EINVAL);
		OK(withlog((struct how){.logpolicy = APPEND}, in, &s));
		close(in);
		OK(posix_trace_start(s));
		numbers(UNNAMED, 0, 3, 0);
		OK(posix_trace_shutdown(s));
		/* Its bytes are a log. */
		char *b = read_all(out, &n);
		write_file("copy", b, n);
		range(logged("copy"), 0, 3);
	}
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ERR(withlog((struct how){.logpolicy = LOOP}, fd, &s), EINVAL);
	OK(withlog((struct how){.logpolicy = APPEND}, fd, &s));
	OK(posix_trace_shutdown(s));
}

TEST(CRE_22, "posix_trace_create_withlog/EINVAL")
{
	int flags[] = {O_WRONLY | O_APPEND, O_RDWR | O_APPEND};
	trace_id_t s = 77;

	for (int i = 0; i < 2; i++) {
		int fd = open_log(print("log%d", i), flags[i]);
		ERR(withlog((struct how){.logpolicy = LOOP}, fd, &s), EINVAL);
		ERR(withlog((struct how){.logpolicy = UNTIL_FULL}, fd, &s), EINVAL);
		ERR(withlog((struct how){.logpolicy = 0}, fd, &s), EINVAL);
		OK(withlog((struct how){.logpolicy = APPEND, .size = 1}, fd, &s));
		OK(posix_trace_start(s));
		for (int k = 0; k < 30; k++) {
			numbers(UNNAMED, 10 * k, 10, 0);
			OK(posix_trace_flush(s));
		}
		OK(posix_trace_shutdown(s));
		range(logged(print("log%d", i)), 0, 300);
	}
}

TEST(CRE_23, "posix_trace_create_withlog/ENOSPC")
{
	trace_id_t trid = 77, s;
	struct stat st;
	char block[4096] = {0};

	small_file_system("small", "size=512k,mode=700");
	EACH (p, LOOP, UNTIL_FULL) {
		ERR(try_make((struct how){.logsize = 1 << 20, .size = 1, .logpolicy = p, .log = "small/refused"}, &trid), ENOSPC);
		EQ(trid, 77);
		MUST(!stat("small/refused", &st));
		EQ(st.st_blocks, 0);
		EQ(st.st_size, 0);
	}
	/* A log keeps the room that it has reserved, however full the file system becomes. */
	s = STREAM(.logsize = 100 << 10, .size = 16 << 10, .logpolicy = UNTIL_FULL, .log = "small/log");
	int filler = open_log("small/filler", O_WRONLY);
	while (write(filler, block, sizeof block) > 0)
		;
	ERR(try_make((struct how){.logpolicy = APPEND, .log = "small/append"}, &trid), ENOSPC);
	OK(posix_trace_start(s));
	for (int i = 0; i < 8; i++) {
		numbers(UNNAMED, 10 * i, 10, 500);
		OK(posix_trace_flush(s));
	}
	MUST(!ftruncate(filler, 0));
	OK(posix_trace_shutdown(s));
	range(logged("small/log"), 0, 80);
}

/* A write-only descriptor is enough, and the log is not mapped. */
TEST(CRE_24, "")
{
	EACH (p, LOOP, UNTIL_FULL, APPEND) {
		size_t n;
		const char *log = print("log%d", p);
		trace_id_t s = RUNNING(.log = log, .logpolicy = p, .logsize = 100 << 10, .size = 1);
		for (int i = 0; i < 20; i++) {
			numbers(UNNAMED, 40 * i, 40, 0);
			OK(posix_trace_flush(s));
		}
		CHECK(!strstr(contents("/proc/self/maps", &n), log));
		OK(posix_trace_shutdown(s));
		int have = users(logged(log)).n;
		CHECK(p == APPEND ? have == 800 : have >= 40);
	}
}

static void write_log(const char *path, int policy, size_t logsize, int n)
{
	off_t before = length(path);
	trace_id_t s = STREAM(.log = path, .logpolicy = policy, .logsize = logsize);

	CHECK(length(path) >= before); /* creation does not cut it */
	OK(posix_trace_start(s));
	for (int i = 0; i < n; i += 100) {
		numbers(UNNAMED, i, n - i < 100 ? n - i : 100, 0);
		OK(posix_trace_flush(s));
	}
	OK(posix_trace_shutdown(s));
	range(logged(path), 0, n);
}

TEST(CRE_25, "")
{
	static char rubbish[1 << 20];

	memset(rubbish, 0xf7, sizeof rubbish);
	EACH (p, LOOP, UNTIL_FULL, APPEND) {
		const char *log = print("log%d", p);
		int fd = open_log(log, O_RDWR);
		if (posix_fallocate(fd, 0, 4 << 20))
			MUST(!ftruncate(fd, 4 << 20));
		write_log(log, p, 2 << 20, 1000); /* room that the caller has reserved */
		off_t old = length(log);
		CHECK(old < 4 << 20);
		write_log(log, p, 2 << 20, 7); /* over an older and longer log */
		CHECK(length(log) < old);
		write_file(log, rubbish, sizeof rubbish);
		write_log(log, p, 100 << 10, 5);
	}
}

TEST(CRE_26, "")
{
	int fd = open_log("log", O_WRONLY), early = open_log("early", O_WRONLY), before;
	trace_id_t s[2];

	MUST(lseek(fd, 5, SEEK_SET) == 5);
	before = descriptors();
	OK(withlog((struct how){0}, fd, &s[0]));
	OK(withlog((struct how){0}, early, &s[1]));
	EQ(descriptors(), before); /* no other descriptor is kept here */
	close(early);
	for (int i = 0; i < 2; i++)
		OK(posix_trace_start(s[i]));
	numbers(UNNAMED, 0, 4, 0);
	for (int i = 0; i < 2; i++) {
		OK(posix_trace_flush(s[i]));
		OK(posix_trace_shutdown(s[i]));
	}
	EQ(lseek(fd, 0, SEEK_CUR), 5);
	range(logged("log"), 0, 4);
	range(logged("early"), 0, 4);
}

TEST(CRE_27, "EINVAL")
{
	trace_id_t s = STREAM(.log = "log");

	use(s, 0);
	OK(posix_trace_start(s));
	for (int i = 0; i < 3; i++)
		ERR(read_by(i, s), EINVAL);
	OK(posix_trace_shutdown(s));
}

static struct timespec changed(const char *path)
{
	struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};

	MUST(!utimensat(AT_FDCWD, path, old, 0));
	for (int i = 0; i < 20; i++)
		nap(); /* the clock of a file system is coarse */
	struct stat st;
	MUST(!stat(path, &st));
	return st.st_ctim;
}

static void marked(const char *what, const char *path, struct timespec before)
{
	struct stat st;

	MUST(!stat(path, &st));
	if (st.st_mtim.tv_sec == 1000000000 || nanos(st.st_ctim) == nanos(before))
		FAIL("%s leaves the times", what);
}

TEST(CRE_28, "")
{
	close(open_log("log", O_WRONLY));
	struct timespec before = changed("log");
	trace_id_t s = STREAM(.log = "log");
	marked("create_withlog", "log", before);
	OK(posix_trace_start(s));
	text(UNNAMED, "x");
	before = changed("log");
	OK(posix_trace_flush(s));
	marked("flush", "log", before);
	text(UNNAMED, "y");
	before = changed("log");
	OK(posix_trace_shutdown(s));
	marked("shutdown", "log", before);
	changed("log");
	struct timespec times[2] = {{1000000000, 0}, {2000000000, 0}};
	MUST(!utimensat(AT_FDCWD, "log", times, 0));
	EQ(users(logged("log")).n, 2);
	/* A file system may keep no access times: then a read of ours changes none either. */
	struct stat st;
	MUST(!stat("log", &st));
	if (st.st_atim.tv_sec == 1000000000) {
		write_file("other", "x", 1);
		MUST(!utimensat(AT_FDCWD, "other", times, 0));
		size_t n;
		contents("other", &n);
		MUST(!stat("other", &st));
		EQ(st.st_atim.tv_sec, 1000000000);
	}
}

TEST(CRE_29, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid);
	trace_event_id_t id = (trace_event_id_t)atoi(ask(p, "event cre.twentynine last"));

	exit_peer(p);
	EQ(status(s).posix_stream_status, POSIX_TRACE_RUNNING);
	SAME(story(drain(s)), "START last");
	SAME(type_name(s, id), "cre.twentynine");
	struct call *c = reading(s);
	blocked(c);
	OK(posix_trace_stop(s));
	finished(c);
	EQ(c->e.i.posix_event_id, POSIX_TRACE_STOP);
	OK(posix_trace_shutdown(s));
}
