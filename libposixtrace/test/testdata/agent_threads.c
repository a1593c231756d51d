/* Threads, signals and cancellation in calls: agent_threads_test.go. */
#include "agent.h"

static trace_id_t shared_stream;

static trace_id_t created(void)
{
	trace_id_t t;
	OK(posix_trace_create(0, NULL, &t));
	return t;
}

/* Reads one event, waiting for it. Returns the error, or minus the type. */
static void *read_one(void *arg)
{
	trace_id_t t = *(trace_id_t *)arg;
	struct got g;
	int err = get(t, &g);
	if (err)
		CHECK(g.none && g.length == 0);
	return (void *)(err ? (long)err : -(long)g.info.posix_event_id);
}

/* A blocked call ends by an event and by shutdown, and stays during stop and clear; other calls run. */
static void blocked(void)
{
	trace_id_t t = created();
	struct posix_trace_status_info st;
	pthread_t thread[3];
	void *result;
	OK(pthread_create(&thread[0], NULL, read_one, &t));
	wait_until_blocked(1);
	OK(posix_trace_get_status(t, &st));
	OK(posix_trace_stop(t));
	OK(posix_trace_clear(t));
	OK(posix_trace_start(t));
	OK(pthread_join(thread[0], &result));
	IS(result, -(long)POSIX_TRACE_START);
	for (int i = 0; i < 3; i++)
		OK(pthread_create(&thread[i], NULL, read_one, &t));
	wait_until_blocked(3);
	OK(posix_trace_shutdown(t));
	for (int i = 0; i < 3; i++) {
		OK(pthread_join(thread[i], &result));
		IS(result, EINVAL);
	}
}

static void *all_calls(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg;
	trace_event_set_t set;
	struct posix_trace_status_info st;
	struct got g;
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_id_t t;
	OK(posix_trace_eventset_empty(&set));
	for (int round = 0; round < 3; round++) {
		t = created();
		for (int i = 0; i < 40; i++) {
			switch (rand_r(&seed) % 8) {
			case 0:
				OK(posix_trace_start(t));
				break;
			case 1:
				OK(posix_trace_stop(t));
				break;
			case 2:
				OK(try_get(t, &g));
				break;
			case 3:
				OK(posix_trace_get_status(t, &st));
				break;
			case 4:
				OK(posix_trace_set_filter(t, &set, POSIX_TRACE_SET_EVENTSET));
				break;
			case 5:
				OK(posix_trace_clear(t));
				break;
			case 6:
				OK(posix_trace_eventid_get_name(t, POSIX_TRACE_START, name));
				CHECK(strcmp(name, "posix_trace_start") == 0);
				break;
			default:
				IS(posix_trace_flush(t), EINVAL);
			}
		}
		OK(posix_trace_shutdown(t));
	}
	return NULL;
}

/* 24 threads at once, the first calls of the program. */
static void crowd(void)
{
	pthread_t thread[24];
	for (size_t i = 0; i < 24; i++)
		OK(pthread_create(&thread[i], NULL, all_calls, (void *)(i + 1)));
	for (size_t i = 0; i < 24; i++)
		OK(pthread_join(thread[i], NULL));
}

/* More blocked readers than the channel has calls for them. */
static void many_blocked(void)
{
	enum { N = 100 };
	trace_id_t t = created();
	struct posix_trace_status_info st;
	pthread_attr_t attr;
	pthread_t thread[N];
	void *result;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	for (int i = 0; i < N; i++)
		OK(pthread_create(&thread[i], &attr, read_one, &t));
	wait_until_blocked(PXT_W_Calls / 2);
	OK(posix_trace_get_status(t, &st));
	OK(posix_trace_shutdown(t));
	for (int i = 0; i < N; i++) {
		OK(pthread_join(thread[i], &result));
		IS(result, EINVAL);
	}
}

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

static void handle(int flags)
{
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_signal;
	sa.sa_flags = flags;
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
}

/* A handler interrupts a blocked call, unless it restarts calls. */
static void interrupted(void)
{
	trace_id_t t = created();
	pthread_t thread;
	void *result;
	handle(0);
	OK(pthread_create(&thread, NULL, read_one, &t));
	wait_until_blocked(1);
	OK(pthread_kill(thread, SIGUSR1));
	OK(pthread_join(thread, &result));
	IS(result, EINTR);
	handle(SA_RESTART);
	OK(pthread_create(&thread, NULL, read_one, &t));
	wait_until_blocked(1);
	OK(pthread_kill(thread, SIGUSR1));
	while (handled < 2)
		ms_sleep(1);
	IS(handled, 2);
	OK(posix_trace_start(t));
	OK(pthread_join(thread, &result));
	IS(result, -(long)POSIX_TRACE_START);
	OK(posix_trace_shutdown(t));
}

/* Stops the agent, and waits until each of its threads stands still. */
static void stop_agent(pid_t agent)
{
	char path[300], line[512];
	bool all = false;
	CHECK(kill(agent, SIGSTOP) == 0);
	while (!all) {
		DIR *d;
		struct dirent *e;
		snprintf(path, sizeof path, "/proc/%d/task", agent);
		d = opendir(path);
		CHECK(d);
		all = true;
		while ((e = readdir(d))) {
			FILE *f;
			char *name;
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof path, "/proc/%d/task/%s/stat", agent, e->d_name);
			f = fopen(path, "r");
			name = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
			all = all && name && name[2] == 'T';
			if (f)
				fclose(f);
		}
		closedir(d);
		if (!all)
			ms_sleep(1);
	}
}

/* A handler interrupts a call that waits for an event, also before its request has reached the agent. */
static void interrupted_early(void)
{
	trace_id_t t = created();
	pid_t agent = agent_pid();
	pthread_t thread;
	void *result;
	CHECK(agent > 0);
	handle(0);
	stop_agent(agent);
	OK(pthread_create(&thread, NULL, read_one, &t));
	while (threads_in(PXT_W_Asked) < 1)
		ms_sleep(1);
	OK(pthread_kill(thread, SIGUSR1));
	while (!handled)
		ms_sleep(1);
	CHECK(kill(agent, SIGCONT) == 0);
	OK(pthread_join(thread, &result));
	IS(result, EINTR);
	handle(SA_RESTART);
	stop_agent(agent);
	OK(pthread_create(&thread, NULL, read_one, &t));
	while (threads_in(PXT_W_Asked) < 1)
		ms_sleep(1);
	OK(pthread_kill(thread, SIGUSR1));
	while (handled < 2)
		ms_sleep(1);
	CHECK(kill(agent, SIGCONT) == 0);
	wait_until_blocked(1);
	OK(posix_trace_start(t));
	OK(pthread_join(thread, &result));
	IS(result, -(long)POSIX_TRACE_START);
	OK(posix_trace_shutdown(t));
}

static long seen;

/* Counts the events until the STOP events are as many as the argument says. */
static void *count(void *arg)
{
	long want = *(long *)arg;
	struct got g;
	while (__atomic_load_n(&seen, __ATOMIC_SEQ_CST) < want) {
		struct timespec soon = in_ms(seen % 3);
		int err = seen % 2 ? get(shared_stream, &g)
				   : posix_trace_timedgetnext_event(shared_stream, &g.info, g.data, sizeof g.data,
								    &g.length, &g.none, &soon);
		if (err == 0)
			__atomic_fetch_add(&seen, 1, __ATOMIC_SEQ_CST);
		else
			CHECK(err == EINTR || err == ETIMEDOUT);
	}
	return NULL;
}

/* Interruptions and deadlines at any moment lose no event, and report none twice. */
static void storm(void)
{
	enum { ROUNDS = 300 };
	long want = 2 * ROUNDS;
	pthread_t thread;
	struct got g;
	shared_stream = created();
	handle(0);
	OK(pthread_create(&thread, NULL, count, &want));
	for (int i = 0; i < ROUNDS; i++) {
		OK(posix_trace_start(shared_stream));
		pthread_kill(thread, SIGUSR1);
		OK(posix_trace_stop(shared_stream));
		for (int k = 0; k < i % 50; k++)
			pthread_kill(thread, SIGUSR1);
	}
	while (__atomic_load_n(&seen, __ATOMIC_SEQ_CST) < want) {
		pthread_kill(thread, SIGUSR1);
		ms_sleep(1);
	}
	OK(pthread_join(thread, NULL));
	IS(seen, want);
	IS(next_type(shared_stream, &g), 0);
	OK(posix_trace_shutdown(shared_stream));
}

static void *read_all(void *arg)
{
	struct got g;
	(void)arg;
	for (;;) {
		int old;
		OK(get(shared_stream, &g));
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
		__atomic_fetch_add(&seen, 1, __ATOMIC_SEQ_CST);
		pthread_setcancelstate(old, NULL);
	}
	return NULL;
}

/* A thread that waits for an event can be cancelled. The event that comes just then is not lost. */
static void cancelled(void)
{
	enum { ROUNDS = 300 };
	pthread_t thread;
	void *result;
	struct got g;
	shared_stream = created();
	for (int i = 0; i < ROUNDS; i++) {
		OK(pthread_create(&thread, NULL, read_all, NULL));
		for (volatile int spin = 0; spin < i % 200 * 100; spin++)
			;
		OK(posix_trace_start(shared_stream));
		for (volatile int spin = 0; spin < (i * 37) % 200 * 300; spin++)
			;
		OK(pthread_cancel(thread));
		OK(pthread_join(thread, &result));
		CHECK(result == PTHREAD_CANCELED);
		OK(posix_trace_stop(shared_stream));
	}
	while (next_type(shared_stream, &g) != 0)
		seen++;
	IS(seen, 2 * ROUNDS);
	OK(posix_trace_shutdown(shared_stream));
}

static volatile sig_atomic_t inside;

static void stay(int sig)
{
	(void)sig;
	inside = 1;
	for (;;)
		;
}

/* A thread is cancelled when its event has come, and it does not know yet: it is in a handler. */
static void cancelled_late(void)
{
	trace_id_t t = created();
	pthread_t thread, second;
	void *result;
	struct got g;
	long kept;
	signal(SIGUSR1, stay);
	OK(pthread_create(&thread, NULL, read_one, &t));
	wait_until_blocked(1);
	OK(pthread_kill(thread, SIGUSR1));
	while (!inside)
		ms_sleep(1);
	/* One event goes to each caller: the first to the first, unless a busy agent hears of both at once. */
	OK(pthread_create(&second, NULL, read_one, &t));
	wait_until_blocked(1);
	OK(posix_trace_start(t));
	OK(posix_trace_stop(t));
	OK(pthread_join(second, &result));
	CHECK((long)result == -(long)POSIX_TRACE_START || (long)result == -(long)POSIX_TRACE_STOP);
	kept = (long)POSIX_TRACE_START + (long)POSIX_TRACE_STOP + (long)result;
	OK(pthread_cancel(thread));
	OK(pthread_join(thread, &result));
	CHECK(result == PTHREAD_CANCELED);
	IS(next_type(t, &g), kept);
	OK(posix_trace_shutdown(t));
}

/* Threads that read one log share its position. */
static void *share_log(void *arg)
{
	trace_id_t log = *(trace_id_t *)arg;
	struct got g;
	for (;;) {
		OK(get(log, &g));
		if (g.none)
			return NULL;
		__atomic_fetch_add(&seen, 1, __ATOMIC_SEQ_CST);
	}
}

static void log_threads(const char *path)
{
	enum { ROUNDS = 3000 };
	pthread_t thread[4];
	trace_id_t t, log;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	trace_attr_t a;
	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setlogfullpolicy(&a, POSIX_TRACE_APPEND));
	OK(posix_trace_attr_setstreamsize(&a, 16 << 20));
	OK(posix_trace_attr_setstreamfullpolicy(&a, POSIX_TRACE_UNTIL_FULL));
	OK(posix_trace_create_withlog(0, &a, fd, &t));
	for (int i = 0; i < ROUNDS; i++) {
		OK(posix_trace_start(t));
		OK(posix_trace_stop(t));
	}
	OK(posix_trace_shutdown(t));
	OK(posix_trace_open(fd, &log));
	for (int i = 0; i < 4; i++)
		OK(pthread_create(&thread[i], NULL, share_log, &log));
	for (int i = 0; i < 4; i++)
		OK(pthread_join(thread[i], NULL));
	IS(seen, 2 * ROUNDS + 2); /* and FLUSH_START, FLUSH_STOP of the shutdown */
	OK(posix_trace_close(log));
}

static void *flush(void *arg)
{
	posix_trace_flush(*(trace_id_t *)arg);
	return NULL;
}

/* A flush to a pipe that is not read: other calls do not wait for it. */
static void slow_log(void)
{
	trace_id_t t, other;
	trace_attr_t a;
	struct posix_trace_status_info st;
	pthread_t thread;
	char data[4096];
	int ends[2];
	CHECK(pipe(ends) == 0);
	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setlogfullpolicy(&a, POSIX_TRACE_APPEND));
	OK(posix_trace_attr_setstreamsize(&a, 8 << 20));
	OK(posix_trace_attr_setstreamfullpolicy(&a, POSIX_TRACE_UNTIL_FULL));
	OK(posix_trace_create_withlog(0, &a, ends[1], &t));
	close(ends[1]);
	for (int i = 0; i < 3000; i++) {
		OK(posix_trace_start(t));
		OK(posix_trace_stop(t));
	}
	OK(pthread_create(&thread, NULL, flush, &t));
	do
		OK(posix_trace_get_status(t, &st));
	while (st.posix_stream_flush_status != POSIX_TRACE_FLUSHING);
	other = created();
	OK(posix_trace_start(other));
	OK(posix_trace_get_status(t, &st));
	IS(st.posix_stream_flush_status, POSIX_TRACE_FLUSHING);
	OK(posix_trace_shutdown(other));
	for (int i = 0; i < 50; i++)
		CHECK(read(ends[0], data, sizeof data) > 0);
	close(ends[0]); /* the rest fails, and nothing hangs */
	pthread_join(thread, NULL);
	posix_trace_shutdown(t);
}

int main(int argc, char **argv)
{
	const char *what = argv[1];
	CHECK(argc >= 3);
	alarm(300);
	if (strcmp(what, "blocked") == 0)
		blocked();
	else if (strcmp(what, "crowd") == 0)
		crowd();
	else if (strcmp(what, "many_blocked") == 0)
		many_blocked();
	else if (strcmp(what, "interrupted") == 0)
		interrupted();
	else if (strcmp(what, "interrupted_early") == 0)
		interrupted_early();
	else if (strcmp(what, "storm") == 0)
		storm();
	else if (strcmp(what, "cancelled") == 0)
		cancelled();
	else if (strcmp(what, "cancelled_late") == 0)
		cancelled_late();
	else if (strcmp(what, "slow_log") == 0)
		slow_log();
	else if (strcmp(what, "log_threads") == 0)
		log_threads(argv[2]);
	else
		FAIL("no test %s", what);
	return 0;
}
