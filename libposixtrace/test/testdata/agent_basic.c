/* The controller's and the analyzer's calls in one process: agent_test.go. */
#include "agent.h"

static __attribute__((noinline)) trace_id_t started(void)
{
	trace_id_t t;
	OK(posix_trace_create(0, NULL, &t));
	OK(posix_trace_start(t));
	return t;
}

/* START and STOP have this process, thread and the address of the call. */
static void test_points(void)
{
	trace_id_t t = started();
	struct got g;
	trace_event_set_t set;
	int member;
	OK(posix_trace_eventset_empty(&set));
	OK(posix_trace_eventset_add(POSIX_TRACE_OVERFLOW, &set));
	OK(posix_trace_set_filter(t, &set, POSIX_TRACE_SET_EVENTSET));
	OK(posix_trace_stop(t));
	IS(next_type(t, &g), POSIX_TRACE_START);
	IS(g.info.posix_pid, getpid());
	IS((long)g.info.posix_thread_id, syscall(SYS_gettid));
	CHECK((char *)g.info.posix_prog_address > (char *)started && (char *)g.info.posix_prog_address < (char *)started + 5000);
	IS(g.length, sizeof(trace_event_set_t));
	IS(next_type(t, &g), POSIX_TRACE_FILTER);
	IS(g.length, 2 * sizeof(trace_event_set_t));
	memcpy(&set, g.data, sizeof set);
	OK(posix_trace_eventset_ismember(POSIX_TRACE_OVERFLOW, &set, &member));
	CHECK(!member);
	memcpy(&set, g.data + sizeof set, sizeof set);
	OK(posix_trace_eventset_ismember(POSIX_TRACE_OVERFLOW, &set, &member));
	CHECK(member);
	OK(posix_trace_get_filter(t, &set));
	OK(posix_trace_eventset_ismember(POSIX_TRACE_OVERFLOW, &set, &member));
	CHECK(member);
	IS(next_type(t, &g), POSIX_TRACE_STOP);
	IS(g.length, sizeof(int));
	IS(next_type(t, &g), 0);
	OK(posix_trace_shutdown(t));
	IS(posix_trace_start(t), EINVAL);
	IS(posix_trace_shutdown(t), EINVAL);
}

static void test_names(void)
{
	trace_id_t t = started();
	trace_event_id_t id, again, first = 0, other;
	char name[TRACE_EVENT_NAME_MAX + 1], longest[TRACE_EVENT_NAME_MAX + 2];
	int none, n = 0;
	OK(posix_trace_trid_eventid_open(t, "page.fetch", &id));
	OK(posix_trace_trid_eventid_open(t, "page.fetch", &again));
	IS(id, again);
	for (int i = 0; i < 3; i++) {
		OK(posix_trace_eventid_get_name(t, id, name));
		CHECK(strcmp(name, "page.fetch") == 0);
	}
	IS(posix_trace_eventid_get_name(t, id + 1, name), EINVAL);
	memset(longest, 'x', sizeof longest);
	longest[TRACE_EVENT_NAME_MAX + 1] = 0;
	IS(posix_trace_trid_eventid_open(t, longest, &again), ENAMETOOLONG);
	longest[TRACE_EVENT_NAME_MAX] = 0;
	OK(posix_trace_trid_eventid_open(t, longest, &other));
	OK(posix_trace_eventid_get_name(t, other, name));
	CHECK(strcmp(name, longest) == 0);
	CHECK(posix_trace_eventid_equal(t, id, id) && !posix_trace_eventid_equal(t, id, other));
	for (;;) {
		OK(posix_trace_eventtypelist_getnext_id(t, &again, &none));
		if (none)
			break;
		if (n++ == 0)
			first = again;
	}
	CHECK(n >= 11);
	OK(posix_trace_eventtypelist_rewind(t));
	OK(posix_trace_eventtypelist_getnext_id(t, &again, &none));
	IS(again, first);
	OK(posix_trace_shutdown(t));
	IS(posix_trace_eventid_get_name(t, id, name), EINVAL);
}

static void test_attr(void)
{
	trace_attr_t a, b;
	trace_id_t t;
	size_t size;
	int policy;
	char name[TRACE_NAME_MAX + 1];
	struct timespec created;
	struct posix_trace_status_info st;
	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setname(&a, "agent test"));
	OK(posix_trace_attr_setstreamfullpolicy(&a, POSIX_TRACE_UNTIL_FULL));
	OK(posix_trace_attr_setstreamsize(&a, 300000));
	OK(posix_trace_attr_setmaxdatasize(&a, 17));
	OK(posix_trace_create(getpid(), &a, &t));
	OK(posix_trace_attr_destroy(&a));
	OK(posix_trace_attr_init(&b));
	OK(posix_trace_get_attr(t, &b));
	OK(posix_trace_attr_getname(&b, name));
	CHECK(strcmp(name, "agent test") == 0);
	OK(posix_trace_attr_getstreamfullpolicy(&b, &policy));
	IS(policy, POSIX_TRACE_UNTIL_FULL);
	OK(posix_trace_attr_getmaxdatasize(&b, &size));
	IS(size, 17);
	OK(posix_trace_attr_getstreamsize(&b, &size));
	CHECK(size >= 300000);
	OK(posix_trace_attr_getcreatetime(&b, &created));
	CHECK(llabs((long long)created.tv_sec - (long long)time(NULL)) <= 10);
	OK(posix_trace_get_status(t, &st));
	IS(st.posix_stream_status, POSIX_TRACE_SUSPENDED);
	OK(posix_trace_start(t));
	OK(posix_trace_get_status(t, &st));
	IS(st.posix_stream_status, POSIX_TRACE_RUNNING);
	OK(posix_trace_clear(t));
	OK(posix_trace_shutdown(t));
	IS(posix_trace_create(0, &a, &t), EINVAL); /* destroyed */
	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setstreamfullpolicy(&a, POSIX_TRACE_FLUSH));
	IS(posix_trace_create(0, &a, &t), EINVAL);
	OK(posix_trace_attr_setstreamfullpolicy(&a, POSIX_TRACE_LOOP));
	OK(posix_trace_attr_setstreamsize(&a, 0));
	OK(posix_trace_create(0, &a, &t));
	OK(posix_trace_shutdown(t));
	IS(posix_trace_create(-1, NULL, &t), ESRCH);
	IS(posix_trace_create(0x3ffffff, NULL, &t), ESRCH);
	IS(posix_trace_create(0, NULL, NULL), EINVAL);
}

/* A log has the size that is set, also below the default size of a stream, which follows it. */
static void test_log_size(const char *path)
{
	static const int policies[] = {POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	trace_attr_t a;
	trace_id_t t, log;
	size_t size;
	CHECK(fd >= 0);
	for (int i = 0; i < 2; i++) {
		OK(posix_trace_attr_init(&a));
		OK(posix_trace_attr_setlogfullpolicy(&a, policies[i]));
		OK(posix_trace_attr_setlogsize(&a, 64 << 10));
		OK(posix_trace_create_withlog(0, &a, fd, &t));
		OK(posix_trace_get_attr(t, &a));
		OK(posix_trace_attr_getlogsize(&a, &size));
		IS(size, 64 << 10);
		OK(posix_trace_attr_getstreamsize(&a, &size));
		IS(size, 64 << 10);
		OK(posix_trace_shutdown(t));
		OK(posix_trace_open(fd, &log));
		OK(posix_trace_get_attr(log, &a));
		OK(posix_trace_attr_getlogsize(&a, &size));
		IS(size, 64 << 10);
		OK(posix_trace_close(log));
	}
	close(fd);
}

/* All roles and a log in one program. */
static void test_log(const char *path)
{
	trace_id_t t, log, again;
	struct got g;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), pipes[2];
	trace_attr_t a;
	CHECK(fd >= 0);
	OK(posix_trace_create_withlog(0, NULL, fd, &t));
	OK(posix_trace_start(t));
	IS(try_get(t, &g), EINVAL);
	CHECK(g.none != 0 && g.length == 0);
	OK(posix_trace_flush(t));
	IS(posix_trace_open(fd, &log), EINVAL); /* it is active */
	IS(posix_trace_rewind(t), EINVAL);
	IS(posix_trace_close(t), EINVAL);
	OK(posix_trace_shutdown(t));
	CHECK(fcntl(fd, F_GETFD) >= 0);
	OK(posix_trace_open(fd, &log));
	OK(posix_trace_open(fd, &again));
	IS(posix_trace_start(log), EINVAL);
	IS(posix_trace_shutdown(log), EINVAL);
	IS(posix_trace_flush(log), EINVAL);
	IS(try_get(log, &g), EINVAL);
	for (int i = 0; i < 2; i++) {
		OK(get(log, &g));
		IS(g.info.posix_event_id, POSIX_TRACE_START);
		IS(g.length, sizeof(trace_event_set_t));
		OK(get(log, &g));
		IS(g.info.posix_event_id, POSIX_TRACE_FLUSH_START);
		OK(posix_trace_rewind(log));
	}
	do
		OK(get(log, &g));
	while (!g.none);
	IS(posix_trace_getnext_event(log, NULL, NULL, 0, &g.length, &g.none), EINVAL);
	OK(get(log, &g));
	CHECK(g.none);
	OK(get(again, &g));
	IS(g.info.posix_event_id, POSIX_TRACE_START);
	OK(posix_trace_close(log));
	IS(get(log, &g), EINVAL);
	IS(posix_trace_close(log), EINVAL);
	OK(posix_trace_close(again));

	IS(posix_trace_create_withlog(0, NULL, -1, &t), EBADF);
	IS(posix_trace_create_withlog(0, NULL, 999, &t), EBADF);
	IS(posix_trace_open(999, &t), EBADF);
	OK(pipe(pipes));
	IS(posix_trace_create_withlog(0, NULL, pipes[0], &t), EBADF);
	IS(posix_trace_create_withlog(0, NULL, pipes[1], &t), EINVAL); /* only APPEND suits */
	IS(posix_trace_open(pipes[0], &t), EINVAL);
	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setlogfullpolicy(&a, POSIX_TRACE_APPEND));
	OK(posix_trace_create_withlog(0, &a, pipes[1], &t));
	OK(posix_trace_start(t));
	OK(posix_trace_shutdown(t));
	CHECK(read(pipes[0], &g, sizeof g) > 0);
	close(fd);
	fd = open(path, O_RDWR | O_APPEND);
	IS(posix_trace_create_withlog(0, NULL, fd, &t), EINVAL);
	OK(posix_trace_create_withlog(0, &a, fd, &t));
	OK(posix_trace_shutdown(t));
}

/* More logs than the channel has areas, read in turn. */
static void test_many_logs(const char *path)
{
	enum { N = 40 };
	trace_id_t t, logs[N];
	struct got g;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	OK(posix_trace_create_withlog(0, NULL, fd, &t));
	for (int i = 0; i < 500; i++) {
		OK(posix_trace_start(t));
		OK(posix_trace_stop(t));
	}
	OK(posix_trace_shutdown(t));
	for (int i = 0; i < N; i++)
		OK(posix_trace_open(fd, &logs[i]));
	for (int n = 0; n < 400; n++)
		for (int i = 0; i < N; i++) {
			OK(get(logs[i], &g));
			CHECK(!g.none);
		}
	OK(posix_trace_rewind(logs[N - 1]));
	OK(get(logs[N - 1], &g));
	IS(g.info.posix_event_id, POSIX_TRACE_START);
	for (int i = 0; i < N; i++)
		OK(posix_trace_close(logs[i]));
	OK(posix_trace_open(fd, &logs[0]));
	OK(get(logs[0], &g));
	CHECK(!g.none);
	OK(posix_trace_close(logs[0]));
}

/* Deadlines. */
static void test_timed(void)
{
	trace_id_t t = started();
	struct got g;
	struct timespec at = {0, -1}, past = {1, 0}, never = {-5, 0};
	double begin;
	/* An event that is ready wins over any deadline. */
	OK(posix_trace_timedgetnext_event(t, &g.info, g.data, 3, &g.length, &g.none, &at));
	IS(g.info.posix_event_id, POSIX_TRACE_START);
	IS(g.info.posix_truncation_status, POSIX_TRACE_TRUNCATED_READ);
	IS(g.length, 3);
	IS(posix_trace_timedgetnext_event(t, &g.info, g.data, 3, &g.length, &g.none, &at), EINVAL);
	at.tv_nsec = 1000000000;
	IS(posix_trace_timedgetnext_event(t, &g.info, g.data, 3, &g.length, &g.none, &at), EINVAL);
	IS(posix_trace_timedgetnext_event(t, &g.info, g.data, 3, &g.length, &g.none, &past), ETIMEDOUT);
	IS(posix_trace_timedgetnext_event(t, &g.info, g.data, 3, &g.length, &g.none, &never), ETIMEDOUT);
	CHECK(g.none && g.length == 0);
	IS(posix_trace_timedgetnext_event(t, &g.info, g.data, 3, &g.length, &g.none, NULL), EINVAL);
	begin = seconds();
	at = in_ms(60);
	IS(posix_trace_timedgetnext_event(t, &g.info, g.data, 3, &g.length, &g.none, &at), ETIMEDOUT);
	CHECK(seconds() - begin >= 0.055);
	OK(posix_trace_stop(t));
	OK(posix_trace_getnext_event(t, &g.info, NULL, 0, &g.length, &g.none));
	IS(g.info.posix_truncation_status, POSIX_TRACE_TRUNCATED_READ);
	OK(posix_trace_shutdown(t));
}

/* A child, and a process that is none, are traced as this one. */
static void test_targets(void)
{
	trace_id_t t;
	struct got g;
	char name[TRACE_EVENT_NAME_MAX + 1], byte;
	int go[2], pids[2], status;
	for (int grandchild = 0; grandchild < 2; grandchild++) {
		pid_t child, target;
		CHECK(pipe(go) == 0 && pipe(pids) == 0);
		child = fork();
		if (child == 0) {
			trace_event_id_t id;
			if (grandchild && fork() != 0)
				_exit(0);
			close(go[1]);
			OK(posix_trace_eventid_open("target.work", &id));
			target = getpid();
			CHECK(write(pids[1], &target, sizeof target) == sizeof target);
			CHECK(read(go[0], &byte, 1) == 1);
			posix_trace_event(id, "abc", 3);
			_exit(0);
		}
		CHECK(read(pids[0], &target, sizeof target) == sizeof target);
		OK(posix_trace_create(target, NULL, &t));
		OK(posix_trace_start(t));
		CHECK(write(go[1], "x", 1) == 1);
		OK(get(t, &g));
		IS(g.info.posix_event_id, POSIX_TRACE_START);
		IS(g.info.posix_pid, getpid());
		OK(get(t, &g));
		OK(posix_trace_eventid_get_name(t, g.info.posix_event_id, name));
		CHECK(strcmp(name, "target.work") == 0);
		IS(g.info.posix_pid, target);
		CHECK(g.length == 3 && memcmp(g.data, "abc", 3) == 0);
		IS(waitpid(child, &status, 0), child);
		OK(posix_trace_shutdown(t));
	}
	IS(waitpid(-1, &status, 0), -1);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	errno = 12345;
	test_points();
	test_names();
	test_attr();
	test_timed();
	IS(errno, 12345);
	test_targets();
	test_log_size(argv[1]);
	test_log(argv[1]);
	test_many_logs(argv[1]);
	puts("ok");
	return 0;
}
