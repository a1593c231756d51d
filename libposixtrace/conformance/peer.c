/*
 * A peer is a process that obeys lines, as a traced process, a controller or an analyzer. It reads
 * them from one FIFO and answers in another, so that it can have any parent. The verbs are those of
 * the table at the end; names stand for streams. An answer is "done", an error number, or a result.
 */
#include "conform.h"
#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

extern char **environ;

/* The test's side. */

static struct peer *meet(const char *in, const char *out)
{
	struct peer *p = calloc(1, sizeof *p);
	int i = open(in, O_RDWR | O_CLOEXEC), o = open(out, O_RDWR | O_CLOEXEC);

	MUST(p && i >= 0 && o >= 0);
	p->in = fdopen(i, "w");
	p->out = fdopen(o, "r");
	MUST(p->in && p->out);
	setvbuf(p->in, NULL, _IOLBF, 0);
	return p;
}

static void fifos(char *in, char *out)
{
	static int n;

	snprintf(in, 100, "fifo.%d.%d.in", getpid(), ++n);
	snprintf(out, 100, "fifo.%d.%d.out", getpid(), n);
	MUST(!mkfifo(in, 0600) && !mkfifo(out, 0600));
}

static void hello(struct peer *p)
{
	const char *l = answer(p);

	p->pid = atoi(l);
	if (p->pid <= 0)
		FATAL("a peer says %s", l);
}

struct peer *new_peer(const char *environment) { return peer_of("/proc/self/exe", 0, environment); }

struct peer *peer_of(const char *file, int uid, const char *environment)
{
	char in[100], out[100], *argv[] = {"peer", "-peer", in, out, NULL};
	struct peer *p;
	pid_t pid;

	fifos(in, out);
	p = meet(in, out);
	pid = vfork();
	MUST(pid >= 0);
	if (!pid) {
		char *env[100], **e = env;
		for (char **from = environ; *from && e < env + 98; from++)
			if (!environment || strncmp(*from, environment, strcspn(environment, "=") + 1))
				*e++ = *from;
		if (environment)
			*e++ = (char *)environment;
		*e = NULL;
		if (uid && (syscall(SYS_setgid, uid) || syscall(SYS_setuid, uid))) /* of this process alone */
			_exit(126);
		execve(file, argv, env);
		_exit(127);
	}
	p->child = true;
	hello(p);
	return p;
}

struct peer *by_peer(struct peer *parent, const char *verb)
{
	char in[100], out[100];
	struct peer *p;

	fifos(in, out);
	p = meet(in, out);
	SAY(parent, "%s %s %s", verb, in, out);
	hello(p);
	return p;
}

void send_to(struct peer *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(p->in, format, args);
	va_end(args);
	fputc('\n', p->in);
	fflush(p->in);
}

const char *answer(struct peer *p)
{
	char *line = NULL;
	size_t n = 0;

	if (getline(&line, &n, p->out) <= 0)
		FATAL("peer %d says nothing", (int)p->pid);
	line[strcspn(line, "\n")] = 0;
	if (!strncmp(line, "lacks ", 6))
		not_supported(line + 6);
	return line;
}

const char *ask(struct peer *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(p->in, format, args);
	va_end(args);
	fputc('\n', p->in);
	fflush(p->in);
	return answer(p);
}

void exec_peer(struct peer *p)
{
	send_to(p, "exec");
	EQ(atoi(answer(p)), p->pid);
}

void gone(pid_t pid)
{
	char path[50], line[200];

	for (;; nap()) {
		FILE *f;
		char *end;
		snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
		f = fopen(path, "r");
		if (!f)
			return;
		end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
		fclose(f);
		if (!end || end[2] == 'Z' || end[2] == 'X')
			return;
	}
}

static void end(struct peer *p)
{
	if (p->child)
		MUST(waitpid(p->pid, NULL, 0) == p->pid);
	else
		gone(p->pid);
	fclose(p->in);
	fclose(p->out);
}

void kill_peer(struct peer *p)
{
	kill(p->pid, SIGKILL);
	end(p);
}

void exit_peer(struct peer *p)
{
	send_to(p, "exit");
	end(p);
}

pid_t sleeper(void)
{
	char *argv[] = {"sleep", "1000", NULL};
	pid_t pid;

	OK(posix_spawnp(&pid, "sleep", NULL, NULL, argv, environ));
	return pid;
}

pid_t zombie(void)
{
	char *argv[] = {"true", NULL};
	siginfo_t info;
	pid_t pid;

	OK(posix_spawnp(&pid, "true", NULL, NULL, argv, environ));
	MUST(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	return pid;
}

/* The peer's side. */

static FILE *replies;
static char *self_in, *self_out;
static struct {
	char name[40];
	trace_id_t trid;
} streams[2000];
static int streams_n;

static trace_id_t *stream(const char *name)
{
	for (int i = 0; i < streams_n; i++)
		if (!strcmp(streams[i].name, name))
			return &streams[i].trid;
	snprintf(streams[streams_n].name, sizeof streams[0].name, "%s", name);
	streams[streams_n].trid = 0;
	return &streams[streams_n++].trid;
}

static void done(int err)
{
	if (err)
		fprintf(replies, "%d\n", err);
	else
		fputs("done\n", replies);
}

void peer_lacks(const char *option)
{
	if (!replies)
		return;
	fprintf(replies, "lacks %s\n", option);
	fflush(replies);
}

static void listen_to(char *in, char *out);

static void verb_event(char **f) /* NAME DATA */
{
	trace_event_id_t id;
	int err = posix_trace_eventid_open(f[1], &id);

	if (err) {
		done(err);
		return;
	}
	posix_trace_event(id, f[2], f[2] ? strlen(f[2]) : 0);
	fprintf(replies, "%u\n", id);
}

static void verb_open(char **f) /* NAME */
{
	trace_event_id_t id;
	int err = posix_trace_eventid_open(f[1] ? f[1] : "", &id);

	if (err)
		done(err);
	else
		fprintf(replies, "%u\n", id);
}

static void verb_raw(char **f) /* ID DATA */
{
	posix_trace_event((trace_event_id_t)strtoul(f[1], NULL, 10), f[2], f[2] ? strlen(f[2]) : 0);
	done(0);
}

static void verb_times(char **f) /* NAME FIRST N SIZE */
{
	numbers(name(f[1]), atoi(f[2]), atoi(f[3]), atoi(f[4]));
	done(0);
}

static void verb_fill(char **f) /* PREFIX N: how many names got an id, and how many the unnamed one */
{
	int own = 0, unnamed = 0;

	for (int i = 0; i < atoi(f[2]); i++)
		if (namef("%s%d", f[1], i) == UNNAMED)
			unnamed++;
		else
			own++;
	fprintf(replies, "%d %d\n", own, unnamed);
}

static void verb_forever(char **f) /* NAME */
{
	trace_event_id_t id = name(f[1]);

	done(0);
	fflush(replies);
	for (int i = 0;; i++)
		numbers(id, i, 1, 0);
}

static void verb_fork(char **f) /* IN OUT */
{
	pid_t pid;

	if (!strcmp(f[0], "_Fork"))
		pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	else
		pid = fork();
	if (!pid)
		listen_to(strdup(f[1]), strdup(f[2]));
	done(pid < 0 ? errno : 0);
}

static void verb_spawn(char **f) /* IN OUT [setsid] */
{
	char *argv[] = {"peer", "-peer", f[1], f[2], NULL};
	posix_spawnattr_t attr;
	pid_t pid;

	posix_spawnattr_init(&attr);
	if (f[3] && !strcmp(f[3], "setsid"))
		posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	done(posix_spawn(&pid, "/proc/self/exe", NULL, &attr, argv, environ));
}

static void verb_setsid(char **f) /* IN OUT: spawn with a session of its own */
{
	f[3] = "setsid";
	verb_spawn(f);
}

static void verb_exec(char **f)
{
	char *argv[] = {"peer", "-peer", self_in, self_out, NULL};

	(void)f;
	execve("/proc/self/exe", argv, environ);
	done(errno);
}

static void verb_exit(char **f)
{
	(void)f;
	exit(0);
}

/* NAME PID [name=... policy=... logpolicy=... inherited=... size=... data=... logsize=... log=...] */
static void verb_create(char **f)
{
	struct how how = {.pid = atoi(f[2]), .name = f[1]};
	trace_id_t trid = 0;
	int err;

	for (int i = 3; f[i]; i++) {
		char *v = strchr(f[i], '=');
		*v++ = 0;
		if (!strcmp(f[i], "policy"))
			how.policy = atoi(v);
		else if (!strcmp(f[i], "logpolicy"))
			how.logpolicy = atoi(v);
		else if (!strcmp(f[i], "inherited"))
			how.inherited = atoi(v);
		else if (!strcmp(f[i], "size"))
			how.size = strtoul(v, NULL, 10);
		else if (!strcmp(f[i], "data"))
			how.data = atoi(v) < 0 ? NODATA : strtoul(v, NULL, 10);
		else if (!strcmp(f[i], "logsize"))
			how.logsize = strtoul(v, NULL, 10);
		else if (!strcmp(f[i], "log"))
			how.log = v;
	}
	err = try_make(how, &trid);
	if (!err)
		*stream(f[1]) = trid;
	done(err);
}

static void verb_many(char **f) /* PID N: how many streams it has made, and the error of one more */
{
	int n = 0, err = 0;
	trace_id_t trid;

	while (n < atoi(f[2]) && !(err = try_make((struct how){.pid = atoi(f[1]), .size = 1, .data = NODATA}, &trid)))
		n++;
	fprintf(replies, "%d %d\n", n, err);
}

static void verb_stream(char **f) /* start, stop, clear, flush, shutdown, close, rewind NAME */
{
	static const struct {
		const char *name;
		int (*call)(trace_id_t);
	} calls[] = {{"start", posix_trace_start},	 {"stop", posix_trace_stop},   {"clear", posix_trace_clear},
		     {"flush", posix_trace_flush},	 {"close", posix_trace_close}, {"rewind", posix_trace_rewind},
		     {"shutdown", posix_trace_shutdown}};

	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (!strcmp(calls[i].name, f[0]))
			done(calls[i].call(*stream(f[1])));
}

static void verb_all(char **f) /* NAME: the error numbers of all calls with an id */
{
	trace_id_t s = *stream(f[1]);
	trace_event_set_t set;
	trace_event_id_t id;
	trace_attr_t attr;
	struct posix_trace_status_info st;
	struct posix_trace_event_info info;
	char n[TRACE_EVENT_NAME_MAX + 1];
	size_t len;
	int no;
	struct timespec t = {0, 0};

	posix_trace_eventset_empty(&set);
	posix_trace_attr_init(&attr);
	fprintf(replies, "%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", posix_trace_start(s), posix_trace_stop(s),
		posix_trace_clear(s), posix_trace_flush(s), posix_trace_get_filter(s, &set), posix_trace_set_filter(s, &set, POSIX_TRACE_SET_EVENTSET),
		posix_trace_trid_eventid_open(s, "all", &id), posix_trace_get_attr(s, &attr), posix_trace_get_status(s, &st),
		posix_trace_eventid_get_name(s, POSIX_TRACE_START, n), posix_trace_eventtypelist_getnext_id(s, &id, &no),
		posix_trace_eventtypelist_rewind(s), posix_trace_rewind(s), posix_trace_close(s),
		posix_trace_getnext_event(s, &info, n, 1, &len, &no), posix_trace_timedgetnext_event(s, &info, n, 1, &len, &no, &t),
		posix_trace_trygetnext_event(s, &info, n, 1, &len, &no), posix_trace_shutdown(s));
}

static void verb_status(char **f) /* NAME */
{
	struct posix_trace_status_info st;
	int err = posix_trace_get_status(*stream(f[1]), &st);

	if (err)
		done(err);
	else
		fprintf(replies, "%d %d %d %d %d %d %d %ld %ld\n", st.posix_stream_status, st.posix_stream_full_status,
			st.posix_stream_overrun_status,
#if TRL
			st.posix_stream_flush_status, st.posix_stream_flush_error, st.posix_log_overrun_status,
			st.posix_log_full_status,
#else
			0, 0, 0, 0,
#endif
			LOST_OF(st), LOG_LOST_OF(st));
}

static void verb_filter(char **f) /* NAME HOW EVENT...: a name, or ALL, SYSTEM, WOPID */
{
	trace_id_t s = *stream(f[1]);
	trace_event_set_t set;
	trace_event_id_t id;
	int err = 0;

	posix_trace_eventset_empty(&set);
	for (int i = 3; f[i] && !err; i++) {
		if (!strcmp(f[i], "ALL"))
			posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS);
		else if (!strcmp(f[i], "SYSTEM"))
			posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS);
		else if (!(err = posix_trace_trid_eventid_open(s, f[i], &id)))
			posix_trace_eventset_add(id, &set);
	}
	done(err ? err : posix_trace_set_filter(s, &set, atoi(f[2])));
}

static void verb_read(char **f) /* NAME: the events of an active stream, or the rest of a log */
{
	trace_id_t s = *stream(f[1]);
	struct posix_trace_event_info e;
	static char data[70000];
	char n[TRACE_EVENT_NAME_MAX + 1];
	size_t len;
	int unavailable = 0, err = 0;

	for (;;) {
		err = posix_trace_trygetnext_event(s, &e, data, sizeof data, &len, &unavailable);
		if (err == EINVAL)
			err = posix_trace_getnext_event(s, &e, data, sizeof data, &len, &unavailable);
		if (err || unavailable)
			break;
		if ((err = posix_trace_eventid_get_name(s, e.posix_event_id, n)))
			break;
		if (!user(e.posix_event_id)) {
			int cause = 0;
			if (e.posix_event_id == POSIX_TRACE_STOP && len == sizeof cause)
				memcpy(&cause, data, sizeof cause);
			fprintf(replies, "%s %d %d\t", n, (int)e.posix_pid, cause);
		} else {
			fprintf(replies, "%s %d %d %.*s\t", n, (int)e.posix_pid, e.posix_truncation_status, (int)len, data);
		}
	}
	if (err)
		fprintf(replies, "error %d", err);
	fputc('\n', replies);
}

static void verb_types(char **f) /* NAME */
{
	trace_id_t s = *stream(f[1]);

	OK(posix_trace_eventtypelist_rewind(s));
	fprintf(replies, "%s\n", types(s));
}

static void verb_openlog(char **f) /* NAME PATH */
{
	int fd = open(f[2], O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? errno : posix_trace_open(fd, stream(f[1]));

	if (fd >= 0)
		close(fd);
	done(err);
}

static void verb_dumpable(char **f) /* 0 or 1 */
{
	done(prctl(PR_SET_DUMPABLE, atoi(f[1]), 0, 0, 0) ? errno : 0);
}

static void verb_fsize(char **f) /* N: no file may grow beyond that */
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = strtoul(f[1], NULL, 10);
	done(setrlimit(RLIMIT_FSIZE, &l) ? errno : 0);
}

static void verb_user(char **f) /* UID GID */
{
	done(setgid((gid_t)atoi(f[2])) || setuid((uid_t)atoi(f[1])) ? errno : 0);
}

static void verb_tid(char **f)
{
	(void)f;
	fprintf(replies, "%d\n", (int)tid());
}

static void verb_equal(char **f) /* NAME ID ID */
{
	fprintf(replies, "%d\n", posix_trace_eventid_equal(*stream(f[1]), (trace_event_id_t)atoi(f[2]), (trace_event_id_t)atoi(f[3])) != 0);
}

static void verb_set(char **f) /* NAME: an event whose data is a set of ids 2, 40, 1000, 4095 */
{
	trace_event_set_t set = set_of(4, 2U, 40U, 1000U, 4095U);

	posix_trace_event(name(f[1]), &set, sizeof set);
	done(0);
}

static void verb_alone(char **f) /* one writer, whose events lie in one order */
{
	(void)f;
	one_processor();
	done(0);
}

static const struct {
	const char *name;
	void (*f)(char **);
} verbs[] = {
	{"event", verb_event},	     {"open", verb_open},     {"raw", verb_raw},	 {"times", verb_times},
	{"fill", verb_fill},	     {"forever", verb_forever}, {"fork", verb_fork},
	{"_Fork", verb_fork},	     {"spawn", verb_spawn},   {"setsid", verb_setsid},	 {"exec", verb_exec},
	{"exit", verb_exit},	     {"create", verb_create}, {"many", verb_many},	 {"start", verb_stream},
	{"stop", verb_stream},	     {"clear", verb_stream},  {"flush", verb_stream},	 {"shutdown", verb_stream},
	{"close", verb_stream},	     {"rewind", verb_stream}, {"all", verb_all},	 {"status", verb_status},
	{"filter", verb_filter},     {"read", verb_read},     {"types", verb_types},	 {"openlog", verb_openlog},
	{"dumpable", verb_dumpable}, {"fsize", verb_fsize},   {"user", verb_user},
	{"tid", verb_tid},	     {"equal", verb_equal},   {"set", verb_set},
	{"alone", verb_alone},
};

static void obey(char *line)
{
	char *f[20] = {0};
	int n = 0;

	for (char *p = strtok(line, " "); p && n < 18; p = strtok(NULL, " "))
		f[n++] = p;
	for (size_t i = 0; n && i < sizeof verbs / sizeof verbs[0]; i++)
		if (!strcmp(verbs[i].name, f[0])) {
			verbs[i].f(f);
			return;
		}
	fprintf(replies, "no verb %s\n", n ? f[0] : "");
}

/* Obeys the lines of one FIFO, and answers in another, until the end. */
static void listen_to(char *in, char *out)
{
	int i = open(in, O_RDONLY | O_CLOEXEC), o = open(out, O_WRONLY | O_CLOEXEC);
	FILE *lines = i < 0 ? NULL : fdopen(i, "r");
	char *line = NULL;
	size_t n = 0;

	alarm(WATCHDOG);
	replies = o < 0 ? NULL : fdopen(o, "w");
	if (!lines || !replies)
		_exit(3);
	self_in = in;
	self_out = out;
	fprintf(replies, "%d\n", (int)getpid());
	fflush(replies);
	while (getline(&line, &n, lines) > 0) {
		line[strcspn(line, "\n")] = 0;
		obey(line);
		fflush(replies);
	}
	_exit(0);
}

int peer_main(char *in, char *out)
{
	/* It ends with the test, whatever becomes of its parent. */
	signal(SIGCHLD, SIG_IGN);
	listen_to(in, out);
	return 0;
}
