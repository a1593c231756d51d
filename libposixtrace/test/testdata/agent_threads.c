/* Threads, signals and cancellation in calls: agent_threads_test.go. */
#include "agent.h"
#include <sys/file.h>

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

/* Stops the agent, and waits until each of its threads is stopped. */
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

/* What a reader of cancelled_many has read. */
struct reader {
	pthread_t thread;
	unsigned seed;
	int n, seen[64];
};

static trace_event_id_t numbered;

/* Reads events in one way or another until it is cancelled. */
static void *read_numbers(void *arg)
{
	struct reader *r = arg;
	struct got g;
	for (;;) {
		struct timespec soon = in_ms(rand_r(&r->seed) % 3);
		int old, err = rand_r(&r->seed) % 2
				       ? get(shared_stream, &g)
				       : posix_trace_timedgetnext_event(shared_stream, &g.info, g.data, sizeof g.data,
									&g.length, &g.none, &soon);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
		if (err)
			CHECK(err == EINTR || err == ETIMEDOUT);
		else if (g.info.posix_event_id == numbered)
			memcpy(&r->seen[r->n++], g.data, sizeof r->seen[0]);
		pthread_setcancelstate(old, NULL);
	}
	return NULL;
}

/*
 * Readers are cancelled and interrupted while events come, and their deadlines pass. No event is lost, none
 * is reported twice, and each reader reports a part of a row whose rest is in the stream.
 */
static void cancelled_many(void)
{
	enum { ROUNDS = 120, READERS = 5, EACH = 6 };
	static struct reader r[READERS];
	unsigned seed = 1;
	int next = 0, number = 0;
	struct got g;
	void *result;
	shared_stream = created();
	handle(0);
	OK(posix_trace_eventid_open("numbered", &numbered));
	OK(posix_trace_start(shared_stream));
	for (int round = 0; round < ROUNDS; round++) {
		bool taken[EACH] = {false};
		int first = next, count = 0;
		for (int i = 0; i < READERS; i++) {
			r[i].n = 0;
			r[i].seed = (unsigned)(round * READERS + i);
			OK(pthread_create(&r[i].thread, NULL, read_numbers, &r[i]));
		}
		if (round % 3 == 0)
			wait_until_blocked(1);
		for (int i = 0; i < READERS; i++) {
			posix_trace_event(numbered, &number, sizeof number);
			number++;
			pthread_kill(r[i].thread, SIGUSR1);
			for (volatile int spin = rand_r(&seed) % 20000; spin > 0; spin--)
				;
			OK(pthread_cancel(r[i].thread));
		}
		posix_trace_event(numbered, &number, sizeof number);
		number++;
		for (int i = 0; i < READERS; i++) {
			OK(pthread_join(r[i].thread, &result));
			CHECK(result == PTHREAD_CANCELED);
			for (int k = 0; k < r[i].n; k++) {
				int got = r[i].seen[k] - first;
				CHECK(got >= 0 && got < EACH && !taken[got]);
				CHECK(k == 0 || r[i].seen[k] > r[i].seen[k - 1]);
				taken[got] = true;
				count++;
			}
		}
		/* They have taken the first ones. The others come in their order. */
		for (int i = 0; i < count; i++)
			CHECK(taken[i]);
		next = first + count;
		while (next < number) {
			int got;
			OK(try_get(shared_stream, &g));
			CHECK(!g.none);
			if (g.info.posix_event_id != numbered)
				continue;
			memcpy(&got, g.data, sizeof got);
			IS(got, next);
			next++;
		}
		OK(try_get(shared_stream, &g));
		CHECK(g.none);
	}
	OK(posix_trace_shutdown(shared_stream));
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

/* Fills a pipe, whose writers wait then. */
static void fill(int fd)
{
	static const char zero[4096];
	int flags = fcntl(fd, F_GETFL);
	CHECK(fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
	while (write(fd, zero, sizeof zero) > 0)
		;
	CHECK(errno == EAGAIN);
	CHECK(fcntl(fd, F_SETFL, flags) == 0);
}

static void *create_with_log(void *fd)
{
	trace_attr_t a;
	trace_id_t t;
	OK(posix_trace_attr_init(&a));
	OK(posix_trace_attr_setlogfullpolicy(&a, POSIX_TRACE_APPEND));
	OK(posix_trace_create_withlog(0, &a, *(int *)fd, &t));
	OK(posix_trace_shutdown(t));
	return NULL;
}

static void *read_pipe(void *fd)
{
	char data[4096];
	while (read(*(int *)fd, data, sizeof data) > 0)
		;
	return NULL;
}

/* The log of a new stream is a pipe that is full. Other streams are created, used and shut down. */
static void slow_create(void)
{
	trace_id_t before = created(), other;
	pthread_t thread, reader;
	int ends[2];
	struct got g;
	CHECK(pipe(ends) == 0);
	fill(ends[1]);
	OK(pthread_create(&thread, NULL, create_with_log, &ends[1]));
	for (int i = 0; i < 30; i++) {
		other = created();
		OK(posix_trace_start(other));
		IS(next_type(other, &g), POSIX_TRACE_START);
		OK(posix_trace_shutdown(other));
		ms_sleep(2);
	}
	OK(posix_trace_shutdown(before));
	OK(pthread_create(&reader, NULL, read_pipe, &ends[0]));
	OK(pthread_join(thread, NULL));
	close(ends[1]);
	OK(pthread_join(reader, NULL));
}

/* The only file of the trace directory whose name begins so. */
static int open_file(const char *prefix)
{
	DIR *d = opendir(getenv("PTRACE_DIR"));
	struct dirent *e;
	char path[600];
	int fd = -1;
	CHECK(d);
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
			continue;
		CHECK(fd < 0);
		snprintf(path, sizeof path, "%s/%s", getenv("PTRACE_DIR"), e->d_name);
		fd = open(path, O_RDWR);
	}
	closedir(d);
	CHECK(fd >= 0);
	return fd;
}

static trace_id_t stuck;
static int ended;

static void *end_stuck(int err)
{
	CHECK(err == 0 || err == EAGAIN);
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void *start_stuck(void *arg)
{
	(void)arg;
	return end_stuck(posix_trace_start(stuck));
}

static void *stop_stuck(void *arg)
{
	(void)arg;
	return end_stuck(posix_trace_stop(stuck));
}

static void *filter_stuck(void *arg)
{
	trace_event_set_t set;
	(void)arg;
	OK(posix_trace_eventset_empty(&set));
	return end_stuck(posix_trace_set_filter(stuck, &set, POSIX_TRACE_SET_EVENTSET));
}

static void *clear_stuck(void *arg)
{
	(void)arg;
	return end_stuck(posix_trace_clear(stuck));
}

/* A name that no process has registered, while another process has the lock of the names. */
static void *name_stuck(void *arg)
{
	trace_event_id_t id;
	char name[40];
	snprintf(name, sizeof name, "new name %lu", (unsigned long)pthread_self());
	(void)arg;
	return end_stuck(posix_trace_trid_eventid_open(stuck, name, &id));
}

/* Calls that the locks of the stream t, or of all names, do not concern. */
static void unhindered(trace_id_t t, bool controls)
{
	struct posix_trace_status_info st;
	struct timespec soon = in_ms(200);
	trace_event_set_t set;
	trace_event_id_t id;
	trace_attr_t attr;
	struct got g;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int none;
	IS(posix_trace_timedgetnext_event(t, &g.info, g.data, sizeof g.data, &g.length, &g.none, &soon), ETIMEDOUT);
	OK(try_get(t, &g));
	CHECK(g.none);
	OK(posix_trace_get_status(t, &st));
	OK(posix_trace_get_attr(t, &attr));
	OK(posix_trace_get_filter(t, &set));
	OK(posix_trace_eventid_get_name(t, POSIX_TRACE_START, name));
	OK(posix_trace_eventtypelist_rewind(t));
	OK(posix_trace_eventtypelist_getnext_id(t, &id, &none));
	OK(posix_trace_trid_eventid_open(t, "old name", &id));
	if (!controls)
		return;
	OK(posix_trace_start(t));
	IS(next_type(t, &g), POSIX_TRACE_START);
	OK(posix_trace_stop(t));
	IS(next_type(t, &g), POSIX_TRACE_STOP);
}

/*
 * A process is stopped that has the lock of a stream, or of the names: here it is this one, since the agent
 * does the work. Calls that need the lock wait. All other calls do not, for this stream and for others.
 */
static void stopped_elsewhere(void)
{
	static void *(*const waiting[])(void *) = {start_stuck, stop_stuck, filter_stuck, clear_stuck, name_stuck};
	enum { N = sizeof waiting / sizeof waiting[0] };
	trace_event_id_t id;
	trace_id_t other;
	double took = 0;
	stuck = created();
	OK(posix_trace_trid_eventid_open(stuck, "old name", &id));
	int stream = open_file("s-"), names = open_file("n-");
	other = created();
	OK(posix_trace_trid_eventid_open(other, "old name", &id));
	for (int i = 0, tries = 0; i < N; i += took < 2.5 || ++tries == 5) {
		pthread_t thread[3];
		int fd = waiting[i] == name_stuck ? names : stream;
		CHECK(flock(fd, LOCK_EX) == 0);
		ended = 0;
		for (int k = 0; k < 3; k++)
			OK(pthread_create(&thread[k], NULL, waiting[i], NULL));
		while (threads_in(PXT_W_Asked) + __atomic_load_n(&ended, __ATOMIC_SEQ_CST) < 3) /* they wait for an answer */
			ms_sleep(1);
		took = -seconds();
		unhindered(other, true);
		unhindered(stuck, false);
		took += seconds();
		CHECK(flock(fd, LOCK_UN) == 0);
		for (int k = 0; k < 3; k++)
			OK(pthread_join(thread[k], NULL));
		OK(posix_trace_stop(stuck));
		OK(posix_trace_clear(stuck));
	}
	CHECK(took < 2.5); /* a call waits for the lock of the names for 3 seconds */
	OK(posix_trace_shutdown(stuck));
	OK(posix_trace_shutdown(other));
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
	else if (strcmp(what, "cancelled_many") == 0)
		cancelled_many();
	else if (strcmp(what, "slow_create") == 0)
		slow_create();
	else if (strcmp(what, "stopped_elsewhere") == 0)
		stopped_elsewhere();
	else if (strcmp(what, "slow_log") == 0)
		slow_log();
	else if (strcmp(what, "log_threads") == 0)
		log_threads(argv[2]);
	else
		FAIL("no test %s", what);
	return 0;
}
