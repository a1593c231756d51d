/* What the tests of all families share: see conform.h. */
#include "conform.h"
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

_Static_assert(POSIX_TRACE_LOOP != 0 && POSIX_TRACE_UNTIL_FULL != 0, "for struct how, 0 is the default");
#if TRL
_Static_assert(POSIX_TRACE_FLUSH != 0 && POSIX_TRACE_APPEND != 0, "for struct how, 0 is the default");
#endif
#if TRI
_Static_assert(POSIX_TRACE_INHERITED != 0, "for struct how, 0 is the default");
#endif

static struct {
	char name[100];
	void (*test)(void);
} tests[1000];
static int tests_n;
static atomic_int failures;

void conform(const char *id, const char *rest, void (*test)(void))
{
	if (tests_n == 1000)
		abort();
	snprintf(tests[tests_n].name, sizeof tests[0].name, "%.3s-%.2s%s%s", id, id + 4, *rest ? "/" : "", rest);
	tests[tests_n++].test = test;
}

static void report(const char *file, int line, const char *format, va_list args)
{
	char message[4000];
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was); /* in the middle of dprintf() nothing may end */
	vsnprintf(message, sizeof message, format, args);
	dprintf(1, "%s:%d: %s\n", file, line, message);
	if (++failures > 30)
		exit(1);
	pthread_setcancelstate(was, NULL);
}

void failure(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(file, line, format, args);
	va_end(args);
}

void fatal(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(file, line, format, args);
	va_end(args);
	exit(1);
}

void equal(const char *file, int line, const char *what, long long have, long long want)
{
	if (have != want)
		failure(file, line, "%s is %lld, want %lld", what, have, want);
}

void same(const char *file, int line, const char *what, const char *have, const char *want)
{
	if (strcmp(have, want))
		failure(file, line, "%s is \"%.1500s\", want \"%.1500s\"", what, have, want);
}

void zero(const char *file, int line, const char *what, int err)
{
	if (err)
		fatal(file, line, "%s = %d, %s", what, err, strerror(err));
}

void errnumber(const char *file, int line, const char *what, int err, int want)
{
	if (err != want)
		failure(file, line, "%s = %d, %s, want %d, %s", what, err, strerror(err), want, strerror(want));
}

void nap(void)
{
	struct timespec ms = {0, 1000000};

	nanosleep(&ms, NULL);
}

static cpu_set_t allowed;
static bool on_one;

void one_processor(void)
{
	cpu_set_t one;

	if (on_one)
		return;
	on_one = true;
	MUST(!sched_getaffinity(0, sizeof allowed, &allowed));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed)) {
			CPU_SET(i, &one);
			break;
		}
	MUST(!sched_setaffinity(0, sizeof one, &one));
}

void all_processors(void)
{
	MUST(!sched_setaffinity(0, sizeof allowed, &allowed));
	on_one = false;
}

bool choices;

/* The statuses of a test that has not run. What failed before counts. */
enum { NOT_HERE = 77, NOT_SUPPORTED = 78, NOT_PORTABLE = 79 };

static _Noreturn void not_run(int status, const char *why)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (!failures)
		dprintf(1, "%s\n", why);
	_exit(failures ? 1 : status);
}

void not_here(const char *why) { not_run(NOT_HERE, why); }
void not_portable(const char *why) { not_run(NOT_PORTABLE, why); }
int not_supported(const char *option)
{
	peer_lacks(option);
	not_run(NOT_SUPPORTED, option);
}

void need_root(void)
{
	if (geteuid())
		not_here("root");
}

const char *print(const char *format, ...)
{
	char *s;
	va_list args;

	va_start(args, format);
	if (vasprintf(&s, format, args) < 0)
		abort();
	va_end(args);
	return s;
}

void attributes(trace_attr_t *attr, struct how how)
{
	OK(posix_trace_attr_init(attr));
	if (how.name)
		OK(posix_trace_attr_setname(attr, how.name));
	if (how.policy)
		OK(posix_trace_attr_setstreamfullpolicy(attr, how.policy));
	if (how.logpolicy)
		OK(posix_trace_attr_setlogfullpolicy(attr, how.logpolicy));
	if (how.inherited)
		OK(posix_trace_attr_setinherited(attr, how.inherited));
	if (how.size)
		OK(posix_trace_attr_setstreamsize(attr, how.size));
	if (how.data)
		OK(posix_trace_attr_setmaxdatasize(attr, how.data == NODATA ? 0 : how.data));
	if (how.logsize)
		OK(posix_trace_attr_setlogsize(attr, how.logsize));
}

int open_log(const char *path, int flags)
{
	int fd = open(path, flags | O_CREAT | O_CLOEXEC, 0600);

	MUST(fd >= 0);
	return fd;
}

int try_make(struct how how, trace_id_t *trid)
{
	trace_attr_t attr;
	int err, fd;

	attributes(&attr, how);
	if (!how.log)
		return posix_trace_create(how.pid, &attr, trid);
	fd = open_log(how.log, O_WRONLY);
	err = posix_trace_create_withlog(how.pid, &attr, fd, trid);
	close(fd);
	return err;
}

trace_id_t make(const char *file, int line, struct how how)
{
	trace_id_t trid;

	zero(file, line, "create", try_make(how, &trid));
	return trid;
}

trace_id_t running(const char *file, int line, struct how how)
{
	trace_id_t trid = make(file, line, how);

	zero(file, line, "start", posix_trace_start(trid));
	return trid;
}

trace_event_id_t name(const char *name)
{
	trace_event_id_t id;

	OK(posix_trace_eventid_open(name, &id));
	return id;
}

trace_event_id_t namef(const char *format, ...)
{
	char s[400];
	va_list args;

	va_start(args, format);
	vsnprintf(s, sizeof s, format, args);
	va_end(args);
	return name(s);
}

void text(trace_event_id_t id, const char *data) { posix_trace_event(id, data, strlen(data)); }

void numbers(trace_event_id_t id, int first, int n, int size)
{
	char b[2000];

	for (int i = first; i < first + n; i++) {
		size_t len = (size_t)snprintf(b, sizeof b, "%d ", i);
		while (len < (size_t)size && len < sizeof b)
			b[len++] = '.';
		posix_trace_event(id, b, len);
	}
}

bool user(trace_event_id_t id)
{
#if TEF
	static _Thread_local bool filled;
	static _Thread_local trace_event_set_t system;
	int is = 0;

	if (!filled) {
		OK(posix_trace_eventset_fill(&system, POSIX_TRACE_SYSTEM_EVENTS));
		filled = true;
	}
	return !posix_trace_eventset_ismember(id, &system, &is) && !is;
#else /* as far as the standard says */
	return id != POSIX_TRACE_ERROR && id != POSIX_TRACE_START && id != POSIX_TRACE_STOP && id != POSIX_TRACE_OVERFLOW &&
	       id != POSIX_TRACE_RESUME;
#endif
}

static bool take(struct event *e, int err, int unavailable, char *buf, size_t n)
{
	OK(err);
	if (unavailable)
		return false;
	e->n = n;
	e->data = malloc(n + 1);
	MUST(e->data);
	memcpy(e->data, buf, n);
	e->data[n] = 0;
	return true;
}

static __thread char buffer[1 << 16];

bool next(trace_id_t trid, struct event *e)
{
	size_t n = 0;
	int unavailable = 7, err = posix_trace_trygetnext_event(trid, &e->i, buffer, sizeof buffer, &n, &unavailable);

	return take(e, err, unavailable, buffer, n);
}

static bool next_of_log(trace_id_t trid, struct event *e)
{
	size_t n = 0;
	int unavailable = 7, err = posix_trace_getnext_event(trid, &e->i, buffer, sizeof buffer, &n, &unavailable);

	return take(e, err, unavailable, buffer, n);
}

static struct events collect(trace_id_t trid, bool (*f)(trace_id_t, struct event *))
{
	struct events list = {NULL, 0};
	int room = 0;

	for (;;) {
		if (list.n == room) {
			room = room ? 2 * room : 64;
			list.e = realloc(list.e, (size_t)room * sizeof *list.e);
			MUST(list.e);
		}
		if (!f(trid, &list.e[list.n]))
			return list;
		list.n++;
	}
}

struct events drain(trace_id_t trid) { return collect(trid, next); }
struct events rest(trace_id_t trid) { return collect(trid, next_of_log); }

struct events logged(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	trace_id_t trid;
	struct events list;

	MUST(fd >= 0);
	OK(posix_trace_open(fd, &trid));
	close(fd);
	list = rest(trid);
	OK(posix_trace_close(trid));
	ordered(list);
	return list;
}

static struct events keep(struct events list, bool (*f)(trace_event_id_t, trace_event_id_t), trace_event_id_t id)
{
	struct events some = {malloc(((size_t)list.n + 1) * sizeof *list.e), 0};

	for (int i = 0; i < list.n; i++)
		if (f(list.e[i].i.posix_event_id, id))
			some.e[some.n++] = list.e[i];
	return some;
}

static bool is_user(trace_event_id_t id, trace_event_id_t not_used)
{
	(void)not_used;
	return user(id);
}
static bool is_id(trace_event_id_t id, trace_event_id_t want) { return id == want; }
static bool no_mark(trace_event_id_t id, trace_event_id_t not_used)
{
	(void)not_used;
#if TRL
	return id != POSIX_TRACE_FLUSH_START && id != POSIX_TRACE_FLUSH_STOP;
#else
	return id != 0;
#endif
}

struct events users(struct events list) { return keep(list, is_user, 0); }
struct events only(struct events list, trace_event_id_t id) { return keep(list, is_id, id); }
struct events unmarked(struct events list) { return keep(list, no_mark, 0); }

struct events from(struct events list, int first)
{
	if (first < 0)
		first = list.n + first;
	if (first < 0 || first > list.n)
		FATAL("no event %d of %d", first, list.n);
	return (struct events){list.e + first, list.n - first};
}

const char *story(struct events list)
{
	static const struct {
		trace_event_id_t id;
		const char *name;
	} names[] = {{POSIX_TRACE_ERROR, "ERROR"}, {POSIX_TRACE_START, "START"}, {POSIX_TRACE_OVERFLOW, "OVERFLOW"},
#if TEF
		     {POSIX_TRACE_FILTER, "FILTER"},
#endif
#if TRL
		     {POSIX_TRACE_FLUSH_START, "FLUSH_START"}, {POSIX_TRACE_FLUSH_STOP, "FLUSH_STOP"},
#endif
		     {POSIX_TRACE_RESUME, "RESUME"}};
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);

	MUST(f);
	for (int i = 0; i < list.n; i++) {
		const struct event *e = &list.e[i];
		int cause = -1;
		if (i)
			fputc(' ', f);
		if (e->i.posix_event_id == POSIX_TRACE_STOP) {
			if (e->n == sizeof cause)
				memcpy(&cause, e->data, sizeof cause);
			fprintf(f, "STOP%d", cause);
		} else if (!user(e->i.posix_event_id)) {
			size_t k = 0;
			while (k < sizeof names / sizeof names[0] && names[k].id != e->i.posix_event_id)
				k++;
			fputs(k < sizeof names / sizeof names[0] ? names[k].name : "SYSTEM", f);
		} else {
			fprintf(f, "%.*s", (int)strcspn(e->data, " ."), e->data);
		}
	}
	fclose(f);
	return s;
}

const char *named(trace_id_t trid, struct events list)
{
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);
	int some = 0;

	MUST(f);
	for (int i = 0; i < list.n; i++)
		if (user(list.e[i].i.posix_event_id))
			fprintf(f, "%s%s=%s", some++ ? " " : "", type_name(trid, list.e[i].i.posix_event_id), list.e[i].data);
	fclose(f);
	return s;
}

void ordered(struct events list)
{
	for (int i = 1; i < list.n; i++)
		if (made_at(&list.e[i]) < made_at(&list.e[i - 1]))
			FATAL("event %d at %" PRId64 " comes after one at %" PRId64, i, made_at(&list.e[i]), made_at(&list.e[i - 1]));
}

void consecutive(struct events list, int *first, int *last)
{
	struct events u = users(list);

	if (!u.n)
		FATAL("no user event among %d", list.n);
	*first = *last = atoi(u.e[0].data);
	for (int i = 1; i < u.n; i++, ++*last)
		if (!isdigit((unsigned char)u.e[i].data[0]) || atoi(u.e[i].data) != *last + 1)
			FATAL("event %.20s follows %d", u.e[i].data, *last);
}

void range(struct events list, int first, int n)
{
	int a = first, b = first - 1;

	if (users(list).n)
		consecutive(list, &a, &b);
	if (a != first || b != first + n - 1)
		FAIL("there are events %d to %d, want %d to %d", a, b, first, first + n - 1);
}

int64_t nanos(struct timespec t) { return t.tv_sec * INT64_C(1000000000) + t.tv_nsec; }
int64_t made_at(const struct event *e) { return nanos(e->i.posix_timestamp); }

int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return nanos(t);
}

struct timespec after(int64_t ns)
{
	int64_t t = now() + ns;

	return (struct timespec){t / 1000000000, t % 1000000000};
}

pid_t tid(void) { return (pid_t)syscall(SYS_gettid); }

bool is_in(const char *name, const char *list)
{
	size_t n = strlen(name);

	for (const char *p = list; (p = strstr(p, name)); p += 1)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

struct posix_trace_status_info status(trace_id_t trid)
{
	struct posix_trace_status_info st;

	memset(&st, 0x55, sizeof st);
	OK(posix_trace_get_status(trid, &st));
	return st;
}

void state(const char *file, int line, trace_id_t trid, int run, int full)
{
	struct posix_trace_status_info st = status(trid);

	if (st.posix_stream_status != run || st.posix_stream_full_status != full)
		failure(file, line, "the stream is running %d, full %d, want %d, %d", st.posix_stream_status,
			st.posix_stream_full_status, run, full);
}

long lost(trace_id_t trid)
{
	struct posix_trace_status_info st = status(trid);

	(void)st;
	return LOST_OF(st);
}

bool overrun(trace_id_t trid) { return status(trid).posix_stream_overrun_status == POSIX_TRACE_OVERRUN; }

int fill(trace_id_t trid, int first)
{
	trace_event_id_t id = name("flow");

	overrun(trid); /* resets it */

	one_processor();
	for (int n = 0; n < 1000000; n++) {
		numbers(id, first + n, 1, 0);
		if (overrun(trid))
			return n;
	}
	FATAL("the stream does not become full");
}

int overwrite(trace_id_t trid, int first) { return fill(trid, first) + 1; }

const char *type_name(trace_id_t trid, trace_event_id_t id)
{
	char s[TRACE_EVENT_NAME_MAX + 1];

	OK(posix_trace_eventid_get_name(trid, id, s));
	return strdup(s);
}

const char *types(trace_id_t trid)
{
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);
	trace_event_id_t id;
	int unavailable;

	MUST(f);
	for (;;) {
		OK(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable));
		if (unavailable)
			break;
		fprintf(f, " %s", type_name(trid, id));
	}
	fputc(' ', f);
	fclose(f);
	return s;
}

trace_event_set_t set_of(int n, ...)
{
	trace_event_set_t set;
	va_list args;

	OK(posix_trace_eventset_empty(&set));
	va_start(args, n);
	while (n-- > 0)
		OK(posix_trace_eventset_add(va_arg(args, trace_event_id_t), &set));
	va_end(args);
	return set;
}

bool has(const trace_event_set_t *set, trace_event_id_t id)
{
	int is = 77;

	OK(posix_trace_eventset_ismember(id, set, &is));
	MUST(is == 0 || is != 77);
	return is;
}

bool same_set(const trace_event_set_t *a, const trace_event_set_t *b)
{
	for (trace_event_id_t id = 1; id < MOST_TYPES; id++)
		if (has(a, id) != has(b, id))
			return false;
	return true;
}

trace_event_set_t filter(trace_id_t trid)
{
	trace_event_set_t set;

	OK(posix_trace_get_filter(trid, &set));
	return set;
}

void set_filter(trace_id_t trid, trace_event_set_t set, int how) { OK(posix_trace_set_filter(trid, &set, how)); }

struct same_attr settings(const trace_attr_t *attr)
{
	struct same_attr s;

	memset(&s, 0, sizeof s);
	OK(posix_trace_attr_getname(attr, s.name));
	OK(posix_trace_attr_getgenversion(attr, s.version));
	OK(posix_trace_attr_getcreatetime(attr, &s.created));
	OK(posix_trace_attr_getclockres(attr, &s.resolution));
#if TRI
	OK(posix_trace_attr_getinherited(attr, &s.inherited));
#endif
	OK(posix_trace_attr_getstreamfullpolicy(attr, &s.policy));
#if TRL
	OK(posix_trace_attr_getlogfullpolicy(attr, &s.logpolicy));
	OK(posix_trace_attr_getlogsize(attr, &s.logsize));
#endif
	OK(posix_trace_attr_getstreamsize(attr, &s.size));
	OK(posix_trace_attr_getmaxdatasize(attr, &s.data));
	return s;
}

struct same_attr attr_of(trace_id_t trid)
{
	trace_attr_t attr;

	OK(posix_trace_attr_init(&attr));
	OK(posix_trace_get_attr(trid, &attr));
	return settings(&attr);
}

bool same_attributes(struct same_attr a, struct same_attr b)
{
	return !strcmp(a.name, b.name) && !strcmp(a.version, b.version) && nanos(a.created) == nanos(b.created) &&
	       nanos(a.resolution) == nanos(b.resolution) && a.inherited == b.inherited && a.policy == b.policy &&
	       a.logpolicy == b.logpolicy && a.size == b.size && a.data == b.data && a.logsize == b.logsize;
}

pthread_t start(void *(*f)(void *), void *arg)
{
	pthread_t t;

	OK(pthread_create(&t, NULL, f, arg));
	return t;
}

static void *read_one(void *arg)
{
	struct call *c = arg;
	char data[5000];

	c->tid = tid();
	c->unavailable = 7;
	if (c->timed)
		c->err = posix_trace_timedgetnext_event(c->trid, &c->e.i, data, sizeof data - 1, &c->e.n, &c->unavailable,
							&c->deadline);
	else
		c->err = posix_trace_getnext_event(c->trid, &c->e.i, data, sizeof data - 1, &c->e.n, &c->unavailable);
	if (!c->err && !c->unavailable) {
		data[c->e.n] = 0;
		c->e.data = strdup(data);
	}
	c->done = true;
	return NULL;
}

static struct call *begin(struct call call)
{
	struct call *c = malloc(sizeof *c);

	MUST(c);
	*c = call;
	c->thread = start(read_one, c);
	WAIT(c->tid);
	return c;
}

struct call *reading(trace_id_t trid) { return begin((struct call){.trid = trid}); }

struct call *reading_until(trace_id_t trid, struct timespec deadline)
{
	return begin((struct call){.trid = trid, .timed = true, .deadline = deadline});
}

/* Whether the kernel says that a thread sleeps. */
bool asleep(const char *thread)
{
	char path[60], line[300], *end;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%s/stat", thread);
	f = fopen(path, "r");
	if (!f)
		return true; /* it does not say */
	end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return end && end[2] == 'S';
}

void one_waits(void)
{
	for (;; nap()) {
		DIR *d = opendir("/proc/self/task");
		struct dirent *e;
		int n = 0;
		MUST(d);
		while ((e = readdir(d)))
			n += isdigit((unsigned char)e->d_name[0]) && atoi(e->d_name) != tid() && WAITS(e->d_name);
		closedir(d);
		if (n == 1)
			return;
	}
}

void blocked(struct call *c)
{
	char thread[20];

	snprintf(thread, sizeof thread, "%d", (int)c->tid);
	WAIT(c->done || WAITS(thread));
	for (int i = 0; i < 30; i++)
		nap();
	if (c->done)
		FATAL("a call returns that should block: %d, unavailable %d", c->err, c->unavailable);
}

void finished(struct call *c) { OK(pthread_join(c->thread, NULL)); }

atomic_int handled;
static void count(int sig)
{
	(void)sig;
	handled++;
}

void handle(int sig, int flags)
{
	struct sigaction act = {.sa_handler = count, .sa_flags = flags};

	MUST(!sigaction(sig, &act, NULL));
}

static atomic_bool over;
static void *pester(void *arg)
{
	(void)arg;
	while (!over) {
		DIR *d = opendir("/proc/self/task");
		struct dirent *e;
		while (d && (e = readdir(d)))
			if (isdigit((unsigned char)e->d_name[0]) && atoi(e->d_name) != tid())
				syscall(SYS_tgkill, getpid(), atoi(e->d_name), SIGUSR1);
		closedir(d);
		usleep(50);
	}
	return NULL;
}

void during_signals(void (*f)(void), int flags)
{
	pthread_t t;

	handle(SIGUSR1, flags);
	over = false;
	t = start(pester, NULL);
	WAIT(handled > 0);
	f();
	over = true;
	OK(pthread_join(t, NULL));
}

char *read_all(int fd, size_t *n)
{
	size_t room = 1 << 16;
	char *b = malloc(room);
	ssize_t got;

	for (*n = 0; (got = read(fd, b + *n, room - *n)) > 0;) {
		*n += (size_t)got;
		if (*n == room)
			b = realloc(b, room *= 2);
	}
	return b;
}

char *contents(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *b;

	MUST(fd >= 0);
	b = read_all(fd, n);
	close(fd);
	return b;
}

void write_file(const char *path, const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	MUST(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	close(fd);
}

void small_file_system(const char *dir, const char *options)
{
	need_root();
	if (unshare(CLONE_NEWNS) || mount("", "/", "", MS_REC | MS_PRIVATE, "") ||
	    (mkdir(dir, 0700) && errno != EEXIST) || mount("small", dir, "tmpfs", 0, options))
		not_here("private mounts");
}

static void *read_pipe(void *arg)
{
	struct slow *p = arg;
	char b[65536];
	ssize_t n;

	MUST(!fcntl(p->out, F_SETFL, 0));
	while ((n = read(p->out, b, sizeof b)) > 0) {
		p->data = realloc(p->data, p->n + (size_t)n);
		memcpy(p->data + p->n, b, (size_t)n);
		p->n += (size_t)n;
	}
	return NULL;
}

struct slow *slow_log(struct how how)
{
	struct slow *p = calloc(1, sizeof *p);
	int ends[2];
	trace_attr_t a;
	char b[65536];
	ssize_t n;

	MUST(!pipe2(ends, O_CLOEXEC) && !fcntl(ends[0], F_SETFL, O_NONBLOCK));
	how.logpolicy = APPEND;
	attributes(&a, how);
	OK(posix_trace_create_withlog(how.pid, &a, ends[1], &p->s));
	close(ends[1]);
	p->out = ends[0];
	while ((n = read(p->out, b, sizeof b)) > 0) {
		p->data = realloc(p->data, p->n + (size_t)n);
		memcpy(p->data + p->n, b, (size_t)n);
		p->n += (size_t)n;
	}
	return p;
}

void read_slow(struct slow *p) { p->reader = start(read_pipe, p); }

struct events slow_events(struct slow *p)
{
	OK(posix_trace_shutdown(p->s));
	OK(pthread_join(p->reader, NULL));
	write_file("slow", p->data, p->n);
	return logged("slow");
}

off_t length(const char *path)
{
	struct stat st;

	MUST(!stat(path, &st));
	return st.st_size;
}

static void late(int sig)
{
	static const char message[] = "the test does not end\n";

	(void)sig;
	if (write(1, message, sizeof message - 1) > 0)
		_exit(1);
	_exit(1);
}

/* Whether there is an option, by what the header says of it. 0: the program has to ask. */
static int there_is(long said, int name) { return said > 0 || (said == 0 && sysconf(name) > 0); }

static void print_options(void)
{
	printf("TRC %d\n", there_is(SAID_TRC, _SC_TRACE));
	printf("TEF %d\n", there_is(SAID_TEF, _SC_TRACE_EVENT_FILTER));
	printf("TRL %d\n", there_is(SAID_TRL, _SC_TRACE_LOG));
	printf("TRI %d\n", there_is(SAID_TRI, _SC_TRACE_INHERIT));
}

int main(int argc, char **argv)
{
	int ran = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	choices = getenv("CONFORM_CHOICES") != NULL;
	if (argc == 4 && !strcmp(argv[1], "-peer"))
		return peer_main(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "-list")) {
		for (int i = 0; i < tests_n; i++)
			puts(tests[i].name);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "-options")) {
		print_options();
		return 0;
	}
	signal(SIGALRM, late);
	alarm(WATCHDOG);
	for (int k = 1; k < argc; k++)
		for (int i = 0; i < tests_n; i++)
			if (!strcmp(tests[i].name, argv[k])) {
				ran++;
				tests[i].test();
			}
	if (ran != argc - 1)
		FATAL("%d tests of %d", ran, argc - 1);
	return failures != 0;
}
