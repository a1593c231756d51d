/* Two threads make calls with one trace id at once, each pair of calls: agent_threads_test.go. */
#define _GNU_SOURCE
#include "agent.h"

enum { ROUNDS = 8 };

static int set_filter(trace_id_t t)
{
	trace_event_set_t set;
	posix_trace_eventset_empty(&set);
	return posix_trace_set_filter(t, &set, POSIX_TRACE_ADD_EVENTSET);
}

static int get_filter(trace_id_t t)
{
	trace_event_set_t set;
	return posix_trace_get_filter(t, &set);
}

static int get_status(trace_id_t t)
{
	struct posix_trace_status_info st;
	return posix_trace_get_status(t, &st);
}

static int get_attr(trace_id_t t)
{
	trace_attr_t a;
	OK(posix_trace_attr_init(&a));
	return posix_trace_get_attr(t, &a);
}

static int open_id(trace_id_t t)
{
	trace_event_id_t id;
	return posix_trace_trid_eventid_open(t, "pair", &id);
}

static int get_name(trace_id_t t)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	int err = posix_trace_eventid_get_name(t, POSIX_TRACE_START, name);
	if (!err)
		OK(strcmp(name, "posix_trace_start"));
	return err;
}

static int next_id(trace_id_t t)
{
	trace_event_id_t id;
	int none;
	return posix_trace_eventtypelist_getnext_id(t, &id, &none);
}

static int try_next(trace_id_t t)
{
	struct got g;
	return try_get(t, &g);
}

static int timed_next(trace_id_t t)
{
	struct timespec past = {1, 0};
	struct got g;
	int err = posix_trace_timedgetnext_event(t, &g.info, g.data, sizeof g.data, &g.length, &g.none, &past);
	return err == ETIMEDOUT ? 0 : err; /* there is an event or not */
}

static int next_of_log(trace_id_t t)
{
	struct got g;
	struct posix_trace_status_info st;
	if (posix_trace_get_status(t, &st) == 0 && posix_trace_start(t) == 0)
		return EINVAL; /* an active stream, on which the call would wait */
	return get(t, &g);
}

static const struct {
	const char *name;
	int (*call)(trace_id_t);
	int ends; /* makes the trace id invalid */
} calls[] = {
	{"start", posix_trace_start, 0}, {"stop", posix_trace_stop, 0}, {"clear", posix_trace_clear, 0},
	{"flush", posix_trace_flush, 0}, {"set_filter", set_filter, 0}, {"get_filter", get_filter, 0},
	{"get_status", get_status, 0}, {"get_attr", get_attr, 0}, {"trid_eventid_open", open_id, 0},
	{"eventid_get_name", get_name, 0}, {"eventtypelist_getnext_id", next_id, 0},
	{"eventtypelist_rewind", posix_trace_eventtypelist_rewind, 0}, {"trygetnext_event", try_next, 0},
	{"timedgetnext_event", timed_next, 0}, {"getnext_event", next_of_log, 0}, {"rewind", posix_trace_rewind, 0},
	{"close", posix_trace_close, 1}, {"shutdown", posix_trace_shutdown, 1},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* The kinds of trace ids. */
enum { STREAM, LOGGED, LOG, KINDS };
static const char *const kinds[] = {"an active stream", "a stream with log", "a log"};

static const char *path;

static trace_id_t make(int kind)
{
	trace_id_t t;
	int fd = -1;
	if (kind == STREAM) {
		OK(posix_trace_create(0, NULL, &t));
	} else {
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		CHECK(fd >= 0);
		OK(posix_trace_create_withlog(0, NULL, fd, &t));
	}
	OK(posix_trace_start(t));
	for (int i = 0; i < 20; i++)
		posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, "pair", 4);
	if (kind == LOG) {
		OK(posix_trace_shutdown(t));
		OK(posix_trace_open(fd, &t));
	}
	if (fd >= 0)
		close(fd);
	return t;
}

static void end(trace_id_t t, int kind) { OK(kind == LOG ? posix_trace_close(t) : posix_trace_shutdown(t)); }

struct side {
	trace_id_t t;
	pthread_barrier_t *both;
	int call, errors[ROUNDS];
};

static void *run(void *arg)
{
	struct side *s = arg;
	pthread_barrier_wait(s->both);
	for (int i = 0; i < ROUNDS; i++)
		s->errors[i] = calls[s->call].call(s->t);
	return NULL;
}

/* Checks the results of one side: those of the call alone, and EINVAL once the id is invalid. */
static int ended(const struct side *s, int kind, int alone, int may_end)
{
	int n = 0;
	for (int i = 0; i < ROUNDS; i++) {
		int err = s->errors[i];
		if (err != alone && !(may_end && err == EINVAL))
			FAIL("%s on %s, beside another call: %s", calls[s->call].name, kinds[kind], strerror(err));
		n += calls[s->call].ends && !err;
	}
	return n;
}

static void pair(int kind, const int *alone, int a, int b)
{
	pthread_barrier_t both;
	trace_id_t t = make(kind);
	struct side sides[2] = {{.t = t, .both = &both, .call = a}, {.t = t, .both = &both, .call = b}};
	int ends = (calls[a].ends && !alone[a]) || (calls[b].ends && !alone[b]);
	pthread_t thread;
	pthread_barrier_init(&both, NULL, 2);
	OK(pthread_create(&thread, NULL, run, &sides[1]));
	run(&sides[0]);
	OK(pthread_join(thread, NULL));
	int n = ended(&sides[0], kind, alone[a], ends) + ended(&sides[1], kind, alone[b], ends);
	if (n != ends)
		FAIL("%s and %s on %s: ended %d times", calls[a].name, calls[b].name, kinds[kind], n);
	if (!n) {
		IS(calls[a].call(t), alone[a]);
		IS(calls[b].call(t), alone[b]);
		end(t, kind);
	}
	IS(calls[a].call(t), EINVAL);
	IS(calls[b].call(t), EINVAL);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	path = argv[1];
	for (int kind = 0; kind < KINDS; kind++) {
		int alone[CALLS], good = 0;
		for (int i = 0; i < CALLS; i++) {
			trace_id_t t = make(kind);
			alone[i] = calls[i].call(t);
			CHECK(!alone[i] || alone[i] == EINVAL);
			good += !alone[i];
			if (!calls[i].ends || alone[i])
				end(t, kind);
		}
		CHECK(good > CALLS / 3);
		for (int a = 0; a < CALLS; a++)
			for (int b = a; b < CALLS; b++)
				pair(kind, alone, a, b);
	}
	return 0;
}
