/* Writers that record as fast as they can: to be killed, stopped, or interrupted by timers. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

static uint32_t number(const char *name)
{
	const char *v = getenv(name);
	return v ? (uint32_t)atoi(v) : 0;
}

static void count(struct oracle *o, bool ok)
{
	if (ok)
		o->recorded++;
	else
		o->refused++;
}

/* kill: as the Go program, whose modes these are. */
void kill_program(const char *mode)
{
	uint32_t who = number("STREAM_TEST_WHO");
	struct oracle *o = &oracles[who];
	struct pxt_writer *w = new_writer(2);
	bool large = !strcmp(mode, "large");
	uint64_t seed = who * 2654435761u + 3;
	static unsigned char data[PXT_CK_MaxData];
	w->opens_only = !strcmp(mode, "short");
	ready();
	for (uint64_t n = 0;; n++) {
		uint32_t size = STAMP_SIZE + random_below(&seed, large ? mem.max_data - STAMP_SIZE : 40);
		stamp(data, who, n, size);
		o->before = n + 1;
		count(o, record(w, (unsigned)(n >> 6), who, random_below(&seed, 5), data, size));
		if (n % 256 == 0)
			usleep(20); /* so that the reader can keep up */
	}
}

/* storm: threads rage, and then each records some last events. */

#define STORM_PHASE (ORACLES - 1)
#define STORM_DONE (ORACLES - 2)
#define STORM_SIZE 16

struct storm {
	struct pxt_writer *w;
	uint32_t me;
	int last;
};

static void storm_event(struct storm *s, uint64_t n, uint32_t size, uint64_t *seed)
{
	unsigned char data[64];
	struct oracle *o = &oracles[s->me];
	stamp(data, s->me, n, size);
	o->before = n;
	count(o, record(s->w, random_below(seed, 2), s->me, random_below(seed, 5), data, size));
}

static void *storm_thread(void *arg)
{
	struct storm *s = arg;
	uint64_t seed = s->me * 2654435761u + 3, n = 0;
	while (oracles[STORM_PHASE].before == 0)
		storm_event(s, ++n, STAMP_SIZE + random_below(&seed, 40), &seed);
	for (int i = 0; i < s->last; i++)
		storm_event(s, ++n, STORM_SIZE, &seed);
	oracles[STORM_DONE].before++;
	return NULL;
}

void storm_program(const char *mode)
{
	int writers, last;
	char c;
	need(sscanf(mode, "%d %d", &writers, &last) == 2, "bad mode");
	struct pxt_writer *w = new_writer(2);
	struct storm *all = calloc((size_t)writers, sizeof *all);
	pthread_t *threads = calloc((size_t)writers, sizeof *threads);
	ready();
	for (int i = 0; i < writers; i++) {
		all[i] = (struct storm){w, number("STREAM_TEST_WHO") + (uint32_t)i, last};
		need(pthread_create(&threads[i], NULL, storm_thread, &all[i]) == 0, "pthread_create");
	}
	for (int i = 0; i < writers; i++)
		pthread_join(threads[i], NULL);
	while (read(0, &c, 1) > 0)
		; /* stay alive */
}

/* timer: a signal for each thread, 25,000 times a second, whose handler records and may not return. */

struct timed {
	struct pxt_writer *w;
	uint32_t me; /* its events; those of its handler are of me + 1 */
	uint64_t seed;
	uint64_t events;
	sigjmp_buf top;
	timer_t timer;
};

static _Thread_local struct timed *timed;
static int jumps; /* of so many handlers one does not return, 0: each returns */
static uint32_t calm;

static bool timed_event(struct timed *t, unsigned hint, uint32_t who)
{
	unsigned char data[64];
	struct oracle *o = &oracles[who];
	uint32_t size = STAMP_SIZE + random_below(&t->seed, 40);
	uint64_t n = o->before++;
	stamp(data, who, n, size);
	bool ok = record(t->w, hint, who, n % 5, data, size);
	count(o, ok);
	return ok;
}

static void on_timer(int sig)
{
	(void)sig;
	struct timed *t = timed;
	uint64_t seed = t->seed;
	timed_event(t, pxt_processor(), t->me + 1);
	t->seed = seed * 6364136223846793005u + 1442695040888963407u; /* what it has interrupted goes on */
	if (oracles[STORM_PHASE].before != 0) {
		/* On a busy machine the next signal may always be there. */
		static const struct itimerspec never;
		timer_settime(t->timer, 0, &never, NULL);
	}
	if (jumps && random_below(&t->seed, (uint32_t)jumps) == 0)
		siglongjmp(t->top, 1);
}

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static timer_t new_timer(void)
{
	timer_t timer;
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	ev.sigev_notify_thread_id = (int)pxt_gettid();
	need(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0, "timer_create");
	return timer;
}

static void *timed_thread(void *arg)
{
	static const struct itimerspec every = {{0, 40000}, {0, 40000}};
	struct timed *t = arg;
	timed = t;
	t->timer = new_timer();
	/* The first signal may come at once. */
	if (sigsetjmp(t->top, 1) == 0)
		need(timer_settime(t->timer, 0, &every, NULL) == 0, "timer_settime");
	while (oracles[STORM_PHASE].before == 0) {
		timed_event(t, pxt_processor(), t->me);
		if (oracles[t->me].before % 1024 == 0)
			usleep(20); /* so that the reader can keep up */
	}
	timer_delete(t->timer);
	for (uint32_t i = 0, tries = 0; i < calm && tries < 100000000; tries++)
		i += timed_event(t, i, t->me); /* with each of the shards */
	oracles[STORM_DONE].before++;
	return NULL;
}

void timer_program(const char *mode)
{
	int threads;
	char c;
	need(sscanf(mode, "%d %d %u", &threads, &jumps, &calm) == 3 && threads <= 64, "bad mode");
	struct sigaction act = {.sa_handler = on_timer};
	struct pxt_writer *w = new_writer(2);
	static struct timed all[64];
	pthread_t ids[64];
	sigaction(SIGUSR1, &act, NULL);
	ready();
	for (int i = 0; i < threads; i++) {
		all[i].w = w;
		all[i].me = 2 * (uint32_t)i;
		all[i].seed = (uint64_t)i + 77;
		need(pthread_create(&ids[i], NULL, timed_thread, &all[i]) == 0, "pthread_create");
	}
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	while (read(0, &c, 1) > 0)
		;
}

/* fault: data at the ends of pages, the next of which cannot be read. */

static sigjmp_buf survived;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(survived, 1);
}

void fault_program(const char *mode)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	static const size_t sizes[] = {1, 7, 8, 12, 16, 17, 64, 100, 1024};
	struct sigaction act = {.sa_handler = on_fault};
	struct pxt_writer *w = new_writer(1);
	struct oracle *o = &oracles[0];
	unsigned char good[64], *p = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char c;
	need(p != MAP_FAILED && mprotect(p + page, page, PROT_READ | PROT_WRITE) == 0, "mmap");
	w->opens_only = !strcmp(mode, "open");
	sigaction(SIGSEGV, &act, NULL);
	ready();
	for (volatile size_t i = 0; i < 3 * sizeof sizes / sizeof *sizes; i++) {
		size_t n = sizes[i / 3];
		const unsigned char *bad[] = {p, p + page - 1, p + 2 * page - n + 1};
		if (sigsetjmp(survived, 1) == 0) {
			record(w, 0, 0, 1, bad[i % 3], n);
			need(false, "the data can be read");
		}
		o->refused++;
		stamp(good, 0, o->recorded, 40);
		need(record(w, 0, 0, 1, good, 40), "no room");
		o->recorded++;
	}
	oracles[STORM_DONE].before = 1;
	while (read(0, &c, 1) > 0)
		;
}

/* bench: the processor time of an event with 16 bytes, in threads of their own. */

static struct pxt_writer *bench_writer;
static int bench_events;

static void *bench_thread(void *arg)
{
	struct timespec a, b;
	uint64_t data[2] = {1, 2}, who = pxt_who(bench_writer->pid, (uint32_t)(uintptr_t)arg);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (int i = 0; i < bench_events; i++) {
		data[0]++;
		pxt_append(bench_writer, pxt_processor(), PXT_EV_FirstUser, who, 77, &(uint64_t){0}, data, sizeof data);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	printf("%.1f ns an event\n", ns / bench_events);
	return NULL;
}

void bench_program(const char *mode)
{
	int threads;
	pthread_t ids[64];
	need(sscanf(mode, "%d %d", &threads, &bench_events) == 2 && threads <= 64, "bad mode");
	bench_writer = new_writer(2);
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, bench_thread, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}
