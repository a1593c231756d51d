/* Section SHU: posix_trace_shutdown(), by the call and by the controller's end. */
#include "conform.h"
#include <sys/resource.h>

static trace_id_t opened(const char *path)
{
	trace_id_t l;

	OK(posix_trace_open(open(path, O_RDONLY | O_CLOEXEC), &l));
	return l;
}

TEST(SHU_01, "posix_trace_shutdown")
{
	for (int stopped = 0; stopped < 2; stopped++) {
		const char *log = print("log%d", stopped);
		trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = log);
		struct posix_trace_status_info st;
		numbers(name("shu.one"), 0, 3, 10);
		if (stopped)
			OK(posix_trace_stop(s));
		STREAMS(1);
		OK(posix_trace_shutdown(s));
		/* When it returns, the log is complete and the stream is gone. */
		STREAMS(0);
		struct events all = logged(log), stops = only(all, POSIX_TRACE_STOP);
		SAME(story(unmarked(all)), "START 0 1 2 STOP0");
		EQ(stops.e[0].i.posix_pid, getpid());
		ERR(posix_trace_start(s), EINVAL);
		ERR(posix_trace_get_status(s, &st), EINVAL);
		ERR(posix_trace_shutdown(s), EINVAL);
	}
}

TEST(SHU_02, "posix_trace_shutdown")
{
	trace_id_t s = RUNNING(0);

	numbers(name("shu.unread"), 0, 100, 10);
	OK(posix_trace_shutdown(s));
}

struct two {
	trace_id_t s;
	int err;
};

static void *shut_down(void *arg)
{
	struct two *t = arg;

	t->err = posix_trace_shutdown(t->s);
	return NULL;
}

TEST(SHU_03, "posix_trace_shutdown/EINVAL")
{
	for (int log = 0; log < 2; log++) {
		trace_id_t s = STREAM(.log = log ? "log" : NULL);
		OK(posix_trace_shutdown(s));
		ERR(posix_trace_shutdown(s), EINVAL);
	}
	ERR(posix_trace_shutdown(opened("log")), EINVAL);
	ERR(posix_trace_shutdown(0), EINVAL);
	for (int i = 0; i < 10; i++) { /* of two calls at once one fails */
		trace_id_t s = STREAM(.log = "log");
		struct two t[2] = {{s, 0}, {s, 0}};
		pthread_t a = start(shut_down, &t[0]), b = start(shut_down, &t[1]);
		OK(pthread_join(a, NULL));
		OK(pthread_join(b, NULL));
		EQ(t[0].err + t[1].err, EINVAL);
	}
}

TEST(SHU_04, "posix_trace_shutdown")
{
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "log");
	trace_event_id_t id = name("shu.last");

	numbers(id, 0, 50, 20);
	OK(posix_trace_flush(s));
	numbers(id, 50, 50, 20);
	OK(posix_trace_shutdown(s));
	trace_id_t l = opened("log");
	struct posix_trace_status_info st = status(l);
	LOST(st, 0);
	LOG_LOST(st, 0);
	EQ(st.posix_stream_flush_error, 0);
	range(rest(l), 0, 100);
}

TEST(SHU_04_limit, "posix_trace_shutdown/EFBIG")
{
	struct rlimit limit = {4 << 20, RLIM_INFINITY};

	MUST(!setrlimit(RLIMIT_FSIZE, &limit));
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .size = 2 << 20, .log = "log");
	for (int n = 0; n < 60000 && !posix_trace_flush(s); n += 1000)
		numbers(UNNAMED, n, 1000, 1000);
	ERR(posix_trace_shutdown(s), EFBIG);
	ERR(posix_trace_shutdown(s), EINVAL); /* it is gone all the same */
	STREAMS(0);
	EQ(status(opened("log")).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
}

TEST(SHU_04_full, "posix_trace_shutdown/ENOSPC")
{
	char block[4096] = {0};

	small_file_system("small", "size=128k,mode=700");
	trace_id_t s = RUNNING(.policy = UNTIL_FULL, .logpolicy = APPEND, .log = "small/log");
	int filler = open_log("small/filler", O_WRONLY);
	while (write(filler, block, sizeof block) > 0)
		;
	numbers(UNNAMED, 0, 300, 100);
	ERR(posix_trace_shutdown(s), ENOSPC);
	ERR(posix_trace_shutdown(s), EINVAL);
	STREAMS(0);
	trace_id_t l = opened("small/log");
	struct posix_trace_status_info st = status(l);
	struct events all = rest(l);
	EQ(st.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	int have = users(all).n + only(all, POSIX_TRACE_START).n + only(all, POSIX_TRACE_STOP).n;
	LOG_LOST(st, 302 - have);
}

TEST(SHU_05, "posix_trace_shutdown/EINVAL")
{
	trace_id_t s = STREAM(0);
	struct call *c[4];

	for (int i = 0; i < 4; i++)
		c[i] = i % 2 ? reading(s) : reading_until(s, after(60000000000));
	for (int i = 0; i < 4; i++)
		blocked(c[i]);
	OK(posix_trace_shutdown(s));
	for (int i = 0; i < 4; i++) {
		finished(c[i]);
		EQ(c[i]->err, EINVAL);
		CHECK(c[i]->unavailable != 0);
	}
}

/* Each end of the controller, with each policy of the log: the log is as the call would have left it. */
TEST(SHU_06, "")
{
	int logs[] = {LOOP, UNTIL_FULL, APPEND};

	for (int how = 0; how < 3; how++)
		for (int k = 0; k < 3; k++) {
			struct peer *p = new_peer(NULL), *c = new_peer(NULL);
			const char *log = print("log%d.%d", how, k);
			SAY(c, "create six %d policy=%d logpolicy=%d log=%s", (int)p->pid, UNTIL_FULL, logs[k], log);
			SAY(c, "create plain %d", (int)p->pid);
			SAY(c, "start six");
			SAY(p, "times shu.kept 0 10 0");
			SAY(c, "flush six");
			SAY(p, "times shu.kept 10 10 0");
			if (how == 0)
				kill_peer(c);
			else if (how == 1)
				exit_peer(c);
			else
				exec_peer(c);
			SAY(p, "times shu.kept 20 1 0"); /* before the next process */
			int fd = open(log, O_RDONLY | O_CLOEXEC), err;
			trace_id_t l = 0;
			/* The next process finds it done; after an execution, as soon as the agent has seen it. */
			while ((err = posix_trace_open(fd, &l)) == EINVAL && how == 2)
				nap();
			OK(err);
			close(fd);
			struct posix_trace_status_info st = status(l);
			struct events all = rest(l);
			range(all, 0, users(all).n);
			CHECK(users(all).n == 20 || users(all).n == 21);
			EQ(only(all, POSIX_TRACE_STOP).n, 1);
			EQ(only(all, POSIX_TRACE_FLUSH_START).n, 2);
			EQ(only(all, POSIX_TRACE_FLUSH_STOP).n, 2);
			EQ(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
			LOST(st, 0);
	LOG_LOST(st, 0);
			EQ(st.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			WAIT_STREAMS(0); /* the agent ends the other stream, too */
			SAY(p, "times shu.kept 21 1 0");
			kill_peer(p);
		}
}

TEST(SHU_07, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid);
	const char *id = ask(p, "event shu.after 1");

	OK(posix_trace_shutdown(s));
	SAME(ask(p, "event shu.after 2"), id);
	SAY(p, "raw %s 3", id);
	SAME(ask(p, "event shu.after 4"), id);
	s = RUNNING(.pid = p->pid); /* its map is kept for streams to come */
	SAY(p, "raw %s 5", id);
	SAME(named(s, drain(s)), "shu.after=5");
	OK(posix_trace_shutdown(s));
	exit_peer(p); /* and it ends as it would untraced */
}

TEST(SHU_08, "")
{
	CHOICE(PER_PROCESS);
	pid_t pid = sleeper();
	trace_id_t s[64], trid;

	for (int i = 0; i < 64; i++)
		s[i] = STREAM(.pid = pid, .size = 1, .data = NODATA);
	ERR(try_make((struct how){.pid = pid}, &trid), EAGAIN);
	for (int i = 0; i < 64; i++) { /* a slot can be used at once */
		OK(posix_trace_shutdown(s[i]));
		s[i] = STREAM(.pid = pid, .size = 1, .data = NODATA);
	}
	STREAMS(64);
	for (int i = 0; i < 64; i++)
		OK(posix_trace_shutdown(s[i]));
	STREAMS(0);
	kill(pid, SIGKILL);
}

TEST(SHU_09, "")
{
	int fd = open_log("log", O_RDWR);
	trace_attr_t a;
	trace_id_t s;

	attributes(&a, (struct how){.logpolicy = APPEND});
	OK(posix_trace_create_withlog(0, &a, fd, &s));
	OK(posix_trace_start(s));
	numbers(name("shu.again"), 0, 3, 10);
	OK(posix_trace_shutdown(s));
	/* The descriptor was not closed, and nothing is written to it any more. */
	OK(posix_trace_open(fd, &s));
	range(rest(s), 0, 3);
	OK(posix_trace_close(s));
	MUST(!ftruncate(fd, 0) && pwrite(fd, "mine again", 10, 0) == 10);
	EQ(length("log"), 10);
	OK(posix_trace_create_withlog(0, &a, fd, &s)); /* another stream may have it next */
	OK(posix_trace_shutdown(s));
	EQ(logged("log").n, 2);
}
