/*
 * The tests of each requirement of the standard, in C. TEST(CRE_06, "posix_trace_create/ESRCH")
 * { ... } defines the test CRE-06/posix_trace_create/ESRCH: the id, then functions and error numbers
 * if the requirement is about them. CRE_06_more is another test of the same id. The program runs
 * those that its arguments name, each in a process of its own.
 */
#ifndef CONFORM_H
#define CONFORM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <trace.h>
#include <unistd.h>

#include "options.h"

/*
 * An implementation's own run may say more, by a header that the compiler includes first (-include):
 *
 *   LOST_OF(st), LOG_LOST_OF(st)  how many events the stream, and its log, have lost; with COUNTS 1
 *   STREAMS_NOW()                 how many streams there are
 *   WAITS(thread)                 whether a thread, by its kernel's number, waits for an event
 *   USER_ENVIRONMENT(uid)         the variable, "NAME=VALUE", that processes of that user need
 */
#ifndef LOST_OF
#define LOST_OF(st) ((void)(st), 0L)
#define LOG_LOST_OF(st) ((void)(st), 0L)
#define COUNTS 0
#endif
#ifdef STREAMS_NOW
#define STREAMS(n) EQ(STREAMS_NOW(), n)
#define WAIT_STREAMS(n) WAIT(STREAMS_NOW() == (n))
#else
#define STREAMS_NOW() 0
#define STREAMS(n) ((void)0)
#define WAIT_STREAMS(n) ((void)0)
#endif
#ifndef WAITS
#define WAITS(thread) asleep(thread)
#endif
#ifndef USER_ENVIRONMENT
#define USER_ENVIRONMENT(uid) NULL
#endif

/* What the standard does not say of losses is checked only where they can be counted. */
#define LOST(st, n)                          \
	do {                                 \
		if (COUNTS)                  \
			EQ(LOST_OF(st), n);  \
	} while (0)
#define LOG_LOST(st, n)                          \
	do {                                     \
		if (COUNTS)                      \
			EQ(LOG_LOST_OF(st), n);  \
	} while (0)
#define COUNT(trid, n)                   \
	do {                             \
		if (COUNTS)              \
			EQ(lost(trid), n); \
	} while (0)
#define NONE_LOST(trid) CHECK(COUNTS ? lost(trid) == 0 : !overrun(trid))

/*
 * The standard leaves much to the implementation. Where the environment has CONFORM_CHOICES=1, the
 * programs also test what libposixtrace has chosen. The rest of a test behind CHOICE() does so.
 */
extern bool choices;
#define CHOICE(why)                            \
	do {                                   \
		if (!choices)                  \
			not_portable(why);     \
	} while (0)
#define PER_PROCESS "how many streams a process may have is the implementation's choice"
/* The one here: a thread is identified by its kernel's number. */
#define BY_THREAD(e, tid)                                                      \
	do {                                                                   \
		if (choices)                                                   \
			EQ((long long)(e)->i.posix_thread_id, tid);            \
	} while (0)

/* The event types are 1 to MOST_TYPES - 1, as far as the programs go through them. */
#ifndef MOST_TYPES
#define MOST_TYPES 4096U
#endif

/* A function whose calls stand nowhere else. */
#if defined __clang__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE __attribute__((noinline, noclone))
#endif

void conform(const char *id, const char *rest, void (*test)(void));

#define TEST(id, rest)                                                                             \
	static void test_##id(void);                                                               \
	__attribute__((constructor)) static void add_##id(void) { conform(#id, rest, test_##id); } \
	static void test_##id(void)

/* The test has failed; fatal() also ends it. */
void failure(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void fatal(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define FAIL(...) failure(__FILE__, __LINE__, __VA_ARGS__)
#define FATAL(...) fatal(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(what)                                    \
	do {                                           \
		if (!(what))                           \
			FAIL("not true: %s", #what);   \
	} while (0)
#define MUST(what)                                                          \
	do {                                                                \
		if (!(what))                                                \
			FATAL("not true: %s (errno %d)", #what, errno);     \
	} while (0)
#define EQ(have, want) equal(__FILE__, __LINE__, #have, (long long)(have), (long long)(want))
#define SAME(have, want) same(__FILE__, __LINE__, #have, have, want)
#define OK(call) zero(__FILE__, __LINE__, #call, call)
#define ERR(call, want) errnumber(__FILE__, __LINE__, #call, call, want)
void equal(const char *file, int line, const char *what, long long have, long long want);
void same(const char *file, int line, const char *what, const char *have, const char *want);
void zero(const char *file, int line, const char *what, int err);
void errnumber(const char *file, int line, const char *what, int err, int want);

/* Waits until a condition holds, or the test has taken too long. */
#define WAIT(condition)           \
	do {                      \
		while (!(condition)) \
			nap();    \
	} while (0)
void nap(void);
/* A program on one processor is one writer, whose events lie in a stream in one order. */
void one_processor(void);
void all_processors(void);
void need_root(void);
/* The test has not run, for want of what? */
_Noreturn void not_here(const char *why);
_Noreturn void not_portable(const char *why);

#define LOOP POSIX_TRACE_LOOP
#define UNTIL_FULL POSIX_TRACE_UNTIL_FULL
#define FLUSH POSIX_TRACE_FLUSH
#define APPEND POSIX_TRACE_APPEND
#define UNNAMED POSIX_TRACE_UNNAMED_USER_EVENT
#define NODATA SIZE_MAX

/* Goes through some constants. */
#define EACH(p, ...)                                                                             \
	for (int p, p##_i = 0; p##_i < (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)) &&      \
			       (p = ((const int[]){__VA_ARGS__})[p##_i], true);                  \
	     p##_i++)

/* A stream to make. What is 0 has its default value. */
struct how {
	pid_t pid;
	const char *name;
	int policy, logpolicy, inherited;
	size_t size, data, logsize; /* data NODATA: 0 */
	const char *log;	    /* a file to make; NULL: no log */
};
#define TINY .size = 1, .data = 64
/* Seconds after which a test that hangs ends. */
#define WATCHDOG 300
#define STREAM(...) make(__FILE__, __LINE__, (struct how){__VA_ARGS__})
#define RUNNING(...) running(__FILE__, __LINE__, (struct how){__VA_ARGS__})
void attributes(trace_attr_t *attr, struct how how);
trace_id_t make(const char *file, int line, struct how how);
trace_id_t running(const char *file, int line, struct how how);
int try_make(struct how how, trace_id_t *trid);
int open_log(const char *path, int flags);

trace_event_id_t name(const char *name);
trace_event_id_t namef(const char *format, ...) __attribute__((format(printf, 1, 2)));
void text(trace_event_id_t id, const char *data);
/* Records numbers, padded to size. */
void numbers(trace_event_id_t id, int first, int n, int size);

struct event {
	struct posix_trace_event_info i;
	size_t n;
	char *data; /* with a 0 behind it */
};
struct events {
	struct event *e;
	int n;
};
bool user(trace_event_id_t id);
bool next(trace_id_t trid, struct event *e);   /* posix_trace_trygetnext_event() */
struct events drain(trace_id_t trid);	       /* all that is ready */
struct events rest(trace_id_t trid);	       /* the rest of an opened log */
struct events logged(const char *path);	       /* a finished log */
struct events users(struct events list);
struct events only(struct events list, trace_event_id_t id);
struct events unmarked(struct events list);    /* without the marks of flushes */
struct events from(struct events list, int first);
const char *story(struct events list);	       /* "START x STOP0" */
const char *named(trace_id_t trid, struct events list); /* users only: "name=x name=y" */
void consecutive(struct events list, int *first, int *last); /* numbers() in order */
void ordered(struct events list);
void range(struct events list, int first, int n);

int64_t nanos(struct timespec t);
int64_t now(void);
int64_t made_at(const struct event *e);
pid_t tid(void);
bool is_in(const char *name, const char *list); /* blank-separated */
const char *print(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct posix_trace_status_info status(trace_id_t trid);
#define STATE(trid, run, full) state(__FILE__, __LINE__, trid, POSIX_TRACE_##run, POSIX_TRACE_##full)
void state(const char *file, int line, trace_id_t trid, int run, int full);
long lost(trace_id_t trid); /* 0 where it cannot be counted */
bool overrun(trace_id_t trid); /* and resets it */
int fill(trace_id_t trid, int first); /* UNTIL_FULL: numbers until one is lost; how many were taken */
int overwrite(trace_id_t trid, int first); /* LOOP: numbers until more are lost; how many were recorded */

const char *types(trace_id_t trid); /* the rest of the type list: " a b " */
const char *type_name(trace_id_t trid, trace_event_id_t id);

#define EMPTY set_of(0)
trace_event_set_t set_of(int n, ...);
bool has(const trace_event_set_t *set, trace_event_id_t id);
bool same_set(const trace_event_set_t *a, const trace_event_set_t *b);
trace_event_set_t filter(trace_id_t trid);
void set_filter(trace_id_t trid, trace_event_set_t set, int how);

struct same_attr {
	char name[TRACE_NAME_MAX + 1], version[TRACE_NAME_MAX + 1];
	struct timespec created, resolution;
	int inherited, policy, logpolicy;
	size_t size, data, logsize;
};
struct same_attr attr_of(trace_id_t trid);
struct same_attr settings(const trace_attr_t *attr);
bool same_attributes(struct same_attr a, struct same_attr b);

struct call {
	trace_id_t trid;
	pthread_t thread;
	int err, unavailable;
	struct event e;
	atomic_bool done;
	struct timespec deadline;
	bool timed;
	_Atomic pid_t tid;
};
struct call *reading(trace_id_t trid);	/* a thread in posix_trace_getnext_event() */
struct call *reading_until(trace_id_t trid, struct timespec deadline);
void blocked(struct call *c);		/* it waits, and goes on waiting */
bool asleep(const char *thread);
void one_waits(void);			/* another thread of the process does */
void finished(struct call *c);		/* it returns */
struct timespec after(int64_t ns);	/* CLOCK_REALTIME */
pthread_t start(void *(*f)(void *), void *arg);
/* Sends SIGUSR1, whose handler restarts calls or not, to all threads of the process while f runs. */
void during_signals(void (*f)(void), int flags);
void handle(int sig, int flags);
extern atomic_int handled;

/* A stream whose log is a pipe that is not read: its flush waits. */
struct slow {
	trace_id_t s;
	int out;
	pthread_t reader;
	char *data;
	size_t n;
};
struct slow *slow_log(struct how how);
void read_slow(struct slow *p);		      /* begins to read it */
struct events slow_events(struct slow *p);    /* shuts the stream down */
off_t length(const char *path);

/* A peer: see peer.c. */
struct peer {
	pid_t pid;
	FILE *in, *out;
	bool child;
};
struct peer *new_peer(const char *environment); /* NULL, or "NAME=VALUE" */
struct peer *peer_of(const char *file, int uid, const char *environment); /* of that program, started by that user */
struct peer *by_peer(struct peer *p, const char *verb); /* its child: fork, spawn, vfork, _Fork, double */
const char *ask(struct peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define SAY(p, ...) same(__FILE__, __LINE__, "the answer", ask(p, __VA_ARGS__), "done")
#define EXEC(p) exec_peer(p)
void exec_peer(struct peer *p);
void send_to(struct peer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *answer(struct peer *p);
void kill_peer(struct peer *p);
void exit_peer(struct peer *p);
void gone(pid_t pid);
int peer_main(char *in, char *out);
void peer_lacks(const char *option); /* a peer says so to the test */
pid_t sleeper(void);
pid_t zombie(void);
char *contents(const char *path, size_t *n);
void write_file(const char *path, const void *data, size_t n);
void small_file_system(const char *dir, const char *options);
char *read_all(int fd, size_t *n);

#endif
