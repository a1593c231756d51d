/*
 * The peers of the model test in C. They take the lines that model_peers_test.go describes, and answer
 * in the same words.
 *
 *   modelpeer worker       a traced process
 *   modelpeer model-peer   a controller of its own streams, and an analyzer. A second thread takes the
 *                          lines of descriptor 3 and answers in 4.
 *
 * Each keeps to one processor, and so do its children and its agent: then it is one writer, whose
 * oldest events go first.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trace.h>

#define MUST(x)                                                                                        \
	do {                                                                                           \
		if (!(x)) {                                                                            \
			fprintf(stderr, "modelpeer.c:%d: %s: %s\n", __LINE__, #x, strerror(errno));    \
			_exit(3);                                                                      \
		}                                                                                      \
	} while (0)

/* channel is where lines come from and answers go to. */
struct channel {
	FILE *in, *out;
	char *line;
	size_t size;
};

static struct channel channel_of(int in, int out)
{
	struct channel c = {.in = fdopen(in, "r"), .out = fdopen(out, "w")};

	MUST(c.in && c.out);
	return c;
}

/* Returns the next line, or NULL at the end. */
static char *next_line(struct channel *c)
{
	ssize_t n = getline(&c->line, &c->size, c->in);

	if (n <= 0)
		return NULL;
	c->line[strcspn(c->line, "\n")] = 0;
	return c->line;
}

static void say(struct channel *c, const char *answer)
{
	fprintf(c->out, "%s\n", answer);
	fflush(c->out);
}

static void done(struct channel *c, int err)
{
	char text[40] = "done";

	if (err)
		snprintf(text, sizeof text, "error %d", err);
	say(c, text);
}

/* The traced process. */

/* hand is one of its threads, which passes trace points when it gets a task. */
static struct hand {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	char *task; /* NULL: none */
	int err;
} hands[2];

static void pass(struct hand *h)
{
	int times, size, seq, hand;
	char name[100], data[200];
	trace_event_id_t id;

	MUST(sscanf(h->task, "%d %99s %d %d %d", &times, name, &size, &seq, &hand) == 5);
	MUST(size < (int)sizeof data);
	h->err = posix_trace_eventid_open(name, &id);
	for (int i = 0; i < times; i++) {
		int n = snprintf(data, sizeof data, "%d", seq + i);
		while (n < size)
			data[n++] = 'x';
		posix_trace_event(id, data, (size_t)n);
	}
}

static void *work(void *arg)
{
	struct hand *h = arg;

	pthread_mutex_lock(&h->mutex);
	for (;;) {
		while (!h->task)
			pthread_cond_wait(&h->changed, &h->mutex);
		pass(h);
		h->task = NULL;
		pthread_cond_broadcast(&h->changed);
	}
	return NULL;
}

static void give(struct hand *h, char *task)
{
	pthread_mutex_lock(&h->mutex);
	h->task = task;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->mutex);
}

static int await(struct hand *h)
{
	pthread_mutex_lock(&h->mutex);
	while (h->task)
		pthread_cond_wait(&h->changed, &h->mutex);
	pthread_mutex_unlock(&h->mutex);
	return h->err;
}

/* Performs tasks at once, one for each thread at most. */
static int perform(char *line)
{
	struct hand *busy[2];
	int n = 0, err = 0;

	for (char *task = line, *next; task; task = next) {
		next = strstr(task, " & ");
		if (next) {
			*next = 0;
			next += 3;
		}
		MUST(n < 2);
		busy[n] = &hands[task[strlen(task) - 1] == '1'];
		give(busy[n++], task);
	}
	while (n > 0)
		err |= await(busy[--n]);
	return err;
}

/* kid is the child. */
static struct {
	pid_t pid;
	struct channel c;
} kid;

static void end_kid(void)
{
	if (!kid.pid)
		return;
	fclose(kid.c.in);
	fclose(kid.c.out);
	MUST(waitpid(kid.pid, NULL, 0) == kid.pid);
	kid.pid = 0;
}

static void worker(struct channel c);

/* Starts a child, which goes on in this program or executes another one. */
static void start_kid(const char *program)
{
	int in[2], out[2];

	end_kid();
	MUST(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	kid.pid = fork();
	MUST(kid.pid >= 0);
	if (!kid.pid) {
		MUST(dup2(in[0], 0) == 0 && dup2(out[1], 1) == 1);
		close(in[0]), close(in[1]), close(out[0]), close(out[1]);
		if (*program) {
			setenv("POSIXTRACE_TEST_HELPER", "worker", 1);
			execl(program, program, "worker", (char *)NULL);
			MUST(!"execl");
		}
		worker(channel_of(0, 1));
		_exit(0);
	}
	close(in[0]), close(out[1]);
	kid.c = channel_of(out[0], in[1]);
}

static void worker(struct channel c)
{
	char pid[20], *line;

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	say(&c, pid);
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		hands[i] = (struct hand){.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
		MUST(!pthread_create(&t, NULL, work, &hands[i]));
	}
	while ((line = next_line(&c))) {
		const char *answer;
		if (!strcmp(line, "fork") || !strncmp(line, "spawn ", 6)) {
			start_kid(*line == 's' ? line + 6 : "");
		} else if (!strncmp(line, "child ", 6)) {
			say(&kid.c, line + 6);
		} else {
			done(&c, perform(line));
			continue;
		}
		MUST((answer = next_line(&kid.c)));
		say(&c, answer);
	}
	end_kid();
}

/* The controller and analyzer. */

/* Of the streams and logs, which the test numbers. */
static struct {
	trace_id_t id;
	int log;
} streams[64];

static int number(char **text) { return (int)strtol(*text, text, 10); }

/* create PID NAME INHERITED POLICY SIZE DATA [LOGPOLICY LOGSIZE PATH] */
static int create(trace_id_t *trid, const char *text)
{
	int pid, inherited, policy, logpolicy, fd, err = 0;
	unsigned long size, data, logsize;
	char name[100], path[500];
	trace_attr_t a;
	int n = sscanf(text, "%d %99s %d %d %lu %lu %d %lu %499s", &pid, name, &inherited, &policy, &size, &data, &logpolicy,
		       &logsize, path);

	MUST(n == 6 || n == 9);
	err = posix_trace_attr_init(&a);
	err = err ? err : posix_trace_attr_setname(&a, name);
	err = err ? err : posix_trace_attr_setinherited(&a, inherited);
	err = err ? err : posix_trace_attr_setstreamfullpolicy(&a, policy);
	err = err ? err : posix_trace_attr_setstreamsize(&a, size);
	err = err ? err : posix_trace_attr_setmaxdatasize(&a, data);
	if (err || n == 6)
		return err ? err : posix_trace_create(pid, &a, trid);
	err = posix_trace_attr_setlogfullpolicy(&a, logpolicy);
	err = err ? err : posix_trace_attr_setlogsize(&a, logsize);
	MUST((fd = open(path, O_WRONLY | O_CLOEXEC)) >= 0);
	err = err ? err : posix_trace_create_withlog(pid, &a, fd, trid);
	close(fd);
	return err;
}

static int open_log(trace_id_t *trid, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? errno : posix_trace_open(fd, trid);

	if (fd >= 0)
		close(fd);
	return err;
}

static int filter(trace_id_t trid, char *text) /* HOW ID ... */
{
	int how = number(&text), err = 0;
	trace_event_set_t set;

	posix_trace_eventset_empty(&set);
	while (*text && !err)
		err = posix_trace_eventset_add((trace_event_id_t)number(&text), &set);
	return err ? err : posix_trace_set_filter(trid, &set, how);
}

static int status(trace_id_t trid, FILE *out)
{
	struct posix_trace_status_info st;
	int err = posix_trace_get_status(trid, &st);

	if (!err)
		fprintf(out, "%d %d %d %d %d %lu %lu", st.posix_stream_status, st.posix_stream_full_status,
			st.posix_stream_overrun_status, st.posix_log_overrun_status, st.posix_log_full_status,
			st.posixtrace_lost, st.posixtrace_log_lost);
	return err;
}

static void print_set(FILE *out, const trace_event_set_t *set)
{
	const char *comma = "";

	for (trace_event_id_t id = 1; id < 64; id++) {
		int has = 0;
		MUST(!posix_trace_eventset_ismember(id, set, &has));
		if (has) {
			fprintf(out, "%s%u", comma, id);
			comma = ",";
		}
	}
}

static void print_data(FILE *out, trace_event_id_t id, const void *data, size_t n)
{
	trace_event_set_t sets[2];
	int cause;

	if (id == POSIX_TRACE_START && n == sizeof sets[0]) {
		memcpy(sets, data, n);
		print_set(out, sets);
	} else if (id == POSIX_TRACE_FILTER && n == sizeof sets) {
		memcpy(sets, data, n);
		print_set(out, sets);
		fputc('>', out);
		print_set(out, sets + 1);
	} else if (id == POSIX_TRACE_STOP && n == sizeof cause) {
		memcpy(&cause, data, n);
		fprintf(out, "%d", cause);
	} else {
		fwrite(data, 1, n, out);
	}
}

static int read_events(trace_id_t trid, int log, int max, FILE *out)
{
	int (*next)(trace_id_t, struct posix_trace_event_info *, void *, size_t, size_t *, int *) =
		log ? posix_trace_getnext_event : posix_trace_trygetnext_event;
	struct posix_trace_event_info e;
	char data[2 * sizeof(trace_event_set_t)];
	size_t n;
	int unavailable, err;

	for (int i = 0; i < max; i++) {
		err = next(trid, &e, data, sizeof data, &n, &unavailable);
		if (err)
			return err;
		if (unavailable) {
			fputs("end", out);
			break;
		}
		fprintf(out, "%u %d %d %lld \"", e.posix_event_id, (int)e.posix_pid, e.posix_truncation_status,
			(long long)e.posix_timestamp.tv_sec * 1000000000 + e.posix_timestamp.tv_nsec);
		print_data(out, e.posix_event_id, data, n);
		fputs("\"\t", out);
	}
	return 0;
}

static int operate(int which, char *op, FILE *out)
{
	static const struct {
		const char *name;
		int (*call)(trace_id_t);
	} calls[] = {{"start", posix_trace_start}, {"stop", posix_trace_stop},	 {"clear", posix_trace_clear},
		     {"flush", posix_trace_flush}, {"close", posix_trace_close}, {"rewind", posix_trace_rewind},
		     {"shutdown", posix_trace_shutdown}};
	trace_id_t *trid = &streams[which].id;
	char *rest = op + strcspn(op, " ");

	if (*rest)
		*rest++ = 0;
	if (!strcmp(op, "open")) {
		streams[which].log = 1;
		return open_log(trid, rest);
	}
	if (!strcmp(op, "create")) {
		streams[which].log = 0;
		return create(trid, rest);
	}
	if (!strcmp(op, "filter"))
		return filter(*trid, rest);
	if (!strcmp(op, "status"))
		return status(*trid, out);
	if (!strcmp(op, "read"))
		return read_events(*trid, streams[which].log, atoi(rest), out);
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (!strcmp(calls[i].name, op))
			return calls[i].call(*trid);
	MUST(!"an operation");
	return 0;
}

/* Each line is the number of a stream or log, and an operation. */
static void *control(void *arg)
{
	struct channel *c = arg;
	char *line;

	while ((line = next_line(c))) {
		char *answer = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&answer, &n);
		int which = number(&line), err;
		MUST(out && which >= 0 && which < 64 && *line == ' ');
		err = operate(which, line + 1, out);
		fclose(out);
		if (err || !n)
			done(c, err);
		else
			say(c, answer);
		free(answer);
	}
	return NULL;
}

static void one_processor(void)
{
	cpu_set_t allowed, one;
	int n; /* of this processor, among those allowed */

	MUST(!sched_getaffinity(0, sizeof allowed, &allowed));
	n = (int)getpid() % CPU_COUNT(&allowed);
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed) && !n--)
			CPU_SET(i, &one);
	MUST(!sched_setaffinity(0, sizeof one, &one));
}

int main(int argc, char **argv)
{
	static struct channel first, second;
	pthread_t t;

	one_processor();
	first = channel_of(0, 1);
	if (argc > 1 && !strcmp(argv[1], "worker")) {
		worker(first);
		return 0;
	}
	second = channel_of(3, 4);
	MUST(!pthread_create(&t, NULL, control, &second));
	control(&first);
	return 0;
}
