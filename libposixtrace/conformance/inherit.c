/* Section INH: processes that fork, execute programs and end. */
#include "conform.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

static const char *one(struct peer *p, const char *name, const char *data)
{
	(void)p;
	return print("%s=%s", name, data);
}

TEST(INH_01, "fork")
{
	const char *how[] = {"fork", "_Fork", "spawn"};

	for (int i = 0; i < 3; i++) {
		struct peer *p = new_peer(NULL);
		const char *id = ask(p, "event inh.before 0");
		trace_id_t s = RUNNING(.pid = p->pid, .inherited = POSIX_TRACE_INHERITED);
		ask(p, "event inh.before parent");
		struct peer *child = by_peer(p, how[i]);
		SAY(child, "raw %s first", id); /* of a type that it has not opened itself */
		SAME(ask(child, "event inh.before second"), id);
		ask(p, "event inh.before third");
		struct events u = users(drain(s));
		SAME(story(u), "parent first second third");
		EQ(u.e[0].i.posix_pid, p->pid);
		EQ(u.e[1].i.posix_pid, child->pid);
		EQ(u.e[2].i.posix_pid, child->pid);
		BY_THREAD(&u.e[1], atoi(ask(child, "tid")));
	}
}

TEST(INH_02, "fork")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid);

	ask(p, "event inh.parent before");
	struct peer *child = by_peer(p, "fork"), *grandchild = by_peer(child, "fork"), *other = by_peer(p, "spawn");
	ask(child, "event inh.child 1");
	ask(grandchild, "event inh.child 2");
	ask(other, "event inh.child 3");
	ask(p, "event inh.parent after");
	SAME(story(users(drain(s))), "before after");
}

TEST(INH_03, "fork")
{
	struct peer *p = new_peer(NULL), *early = by_peer(p, "fork");
	trace_id_t passed = RUNNING(.pid = p->pid, .inherited = POSIX_TRACE_INHERITED), kept = RUNNING(.pid = p->pid);
	struct peer *b = by_peer(p, "fork");
	trace_id_t late = RUNNING(.pid = p->pid, .inherited = POSIX_TRACE_INHERITED);
	struct peer *c = by_peer(p, "fork"), *grandchild = by_peer(early, "fork");
	struct peer *all[] = {p, early, b, c, grandchild};
	const char *names[] = {"p", "early", "b", "c", "grandchild"};

	for (int i = 0; i < 5; i++) /* their start decides, not their first event */
		ask(all[i], "event inh.which %s", names[i]);
	SAME(story(users(drain(passed))), "p b c");
	SAME(story(users(drain(kept))), "p");
	SAME(story(users(drain(late))), "p c");
}

TEST(INH_04, "fork/EINVAL")
{
	struct peer *p = new_peer(NULL);

	SAY(p, "create plain 0 inherited=%d", POSIX_TRACE_INHERITED);
	SAY(p, "create logged 0 log=log logpolicy=%d", APPEND);
	SAY(p, "start plain");
	SAY(p, "start logged");
	struct peer *child = by_peer(p, "fork");
	const char *names[] = {"plain", "logged"};
	for (int i = 0; i < 2; i++) {
		const char *all = ask(child, "all %s", names[i]);
		for (const char *c = all; c; c = strchr(c, ' ') ? strchr(c, ' ') + 1 : NULL)
			EQ(atoi(c), EINVAL);
	}
	kill_peer(child); /* whatever its end */
	exit_peer(by_peer(p, "fork"));
	exit_peer(by_peer(p, "_Fork"));
	kill_peer(by_peer(p, "spawn"));
	for (int i = 0; i < 2; i++)
		EQ(atoi(ask(p, "status %s", names[i])), POSIX_TRACE_RUNNING);
	SAY(p, "flush logged");
	SAY(p, "shutdown plain");
	SAY(p, "shutdown logged");
}

TEST(INH_05, "posix_spawn")
{
	for (int i = 0; i < 2; i++) {
		struct peer *p = new_peer(NULL);
		trace_id_t s = RUNNING(.pid = p->pid, .inherited = i ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD);
		struct peer *child = by_peer(p, i ? "spawn" : "setsid");
		ask(child, "event inh.spawned x");
		SAME(named(s, drain(s)), i ? one(child, "inh.spawned", "x") : "");
	}
}

TEST(INH_06, "")
{
	struct peer *p[5];

	p[0] = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p[0]->pid, .inherited = POSIX_TRACE_INHERITED);
	for (int i = 1; i < 5; i++) /* silent, but the last */
		p[i] = by_peer(p[i - 1], i % 2 ? "fork" : "spawn");
	ask(p[4], "event inh.deep alive");
	for (int i = 0; i < 4; i++)
		kill_peer(p[i]);
	ask(p[4], "event inh.deep orphan");
	struct peer *child = by_peer(p[4], "fork");
	ask(child, "event inh.deep child");
	SAME(story(users(drain(s))), "alive orphan child");
}

TEST(INH_07, "exec")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid, .inherited = POSIX_TRACE_INHERITED), kept = RUNNING(.pid = p->pid);

	for (int i = 0; i < 4; i++) {
		ask(p, "event inh.image %d", i);
		exec_peer(p);
	}
	SAME(story(users(drain(s))), "0 1 2 3");
	SAME(story(users(drain(kept))), "0 1 2 3");
	struct peer *child = by_peer(p, "fork");
	exec_peer(child); /* before their first event */
	exec_peer(p);
	ask(p, "event inh.image a");
	ask(child, "event inh.image b");
	SAME(story(users(drain(s))), "a b");
	SAME(story(users(drain(kept))), "a");
}

TEST(INH_08, "exec")
{
	struct peer *p = new_peer(NULL);

	RUNNING(.pid = p->pid);
	ask(p, "fill inh.old. %d", TRACE_USER_EVENT_MAX);
	EQ(atoi(ask(p, "event inh.more 1")), UNNAMED);
	exec_peer(p);
	CHECK(atoi(ask(p, "event inh.new 1")) != UNNAMED); /* the new image has its own count */
}

TEST(INH_09, "exec")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid);
	const char *one = ask(p, "event inh.one old"), *two = ask(p, "event inh.two old");

	exec_peer(p);
	const char *three = ask(p, "event inh.three new");
	SAME(ask(p, "event inh.two new"), two);
	CHECK(strcmp(three, one) && strcmp(three, two));
	SAME(named(s, drain(s)), "inh.one=old inh.two=old inh.three=new inh.two=new");
}

TEST(INH_10, "exec")
{
	struct peer *target = new_peer(NULL), *c = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = c->pid);

	SAY(c, "create own %d name=x", (int)target->pid);
	SAY(c, "start own");
	ask(target, "event inh.target 1");
	STREAMS(2);
	exec_peer(c);
	WAIT_STREAMS(1); /* the stream that it owns is gone, the one that traces it is not */
	EQ(atoi(ask(c, "status own")), EINVAL);
	ask(c, "event inh.target 2");
	SAME(named(s, drain(s)), "inh.target=2");
	ask(target, "event inh.target 3");
	SAY(c, "create own %d", (int)target->pid); /* the same with an exit */
	STREAMS(2);
	exit_peer(c);
	WAIT_STREAMS(1);
	EQ(status(s).posix_stream_status, POSIX_TRACE_RUNNING);
}

TEST(INH_11, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid, .inherited = POSIX_TRACE_INHERITED);
	struct peer *b = by_peer(p, "fork"), *c = by_peer(p, "spawn"), *d = by_peer(c, "fork");
	const char *id = ask(b, "event inh.shared x");

	SAME(ask(p, "event inh.shared x"), id);
	SAME(ask(c, "event inh.shared x"), id);
	SAME(ask(d, "event inh.shared x"), id);
	SAME(type_name(s, (trace_event_id_t)atoi(id)), "inh.shared");
	const char *list = types(s), *at = strstr(list, " inh.shared ");
	CHECK(at && !strstr(at + 5, " inh.shared ")); /* once */
}

static void all_record(struct peer **p, const char *data)
{
	for (int i = 0; i < 3; i++)
		ask(p[i], "event inh.whole %s", data);
}

TEST(INH_12, "")
{
	struct peer *p[3];
	trace_event_id_t id;

	p[0] = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p[0]->pid, .inherited = POSIX_TRACE_INHERITED);
	p[1] = by_peer(p[0], "fork");
	p[2] = by_peer(p[1], "spawn");
	all_record(p, "running");
	OK(posix_trace_stop(s));
	all_record(p, "stopped");
	OK(posix_trace_start(s));
	OK(posix_trace_trid_eventid_open(s, "inh.whole", &id));
	set_filter(s, set_of(1, id), POSIX_TRACE_SET_EVENTSET);
	all_record(p, "filtered");
	set_filter(s, set_of(0), POSIX_TRACE_SET_EVENTSET);
	SAME(story(users(drain(s))), "running running running");
	all_record(p, "cleared");
	OK(posix_trace_clear(s));
	all_record(p, "again");
	SAME(story(users(drain(s))), "again again again");
	OK(posix_trace_shutdown(s));
	all_record(p, "gone");
}

TEST(INH_13, "fork")
{
	struct peer *p = new_peer(NULL);

	ask(p, "event inh.filler 0");
	const char *id = ask(p, "event inh.copied 0");
	struct peer *child = by_peer(p, "fork"); /* not traced: it has a copy of the map */
	SAME(ask(child, "event inh.copied 1"), id);
	trace_id_t a = RUNNING(.pid = p->pid), b = RUNNING(.pid = child->pid);
	SAME(type_name(b, (trace_event_id_t)atoi(id)), "inh.copied");
	ask(p, "event inh.only.a 2");
	ask(child, "event inh.only.b 3");
	ask(child, "event inh.copied 4");
	SAME(named(a, drain(a)), "inh.only.a=2");
	SAME(named(b, drain(b)), "inh.only.b=3 inh.copied=4");
	CHECK(!is_in("inh.only.b", types(a)) && !is_in("inh.only.a", types(b)));
	/* One that has executed a program has an empty map. */
	struct peer *other = by_peer(p, "spawn");
	CHECK(!strstr(types(RUNNING(.pid = other->pid)), " inh."));
}

/* A pid that is used again is another process. Here it is the first of a namespace. */
TEST(INH_14, "")
{
	need_root();
	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		not_here("pid namespaces");
	pid_t init = fork();
	if (init) {
		int how;
		MUST(waitpid(init, &how, 0) == init);
		EQ(how, 0);
		return;
	}
	MUST(!mount("", "/", "", MS_REC | MS_PRIVATE, "") && !mount("proc", "/proc", "proc", 0, ""));
	alarm(WATCHDOG - 10);
	struct peer *first = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = first->pid, .inherited = INHERIT);
	pid_t pid = first->pid;
	ask(first, "event mine 1");
	kill_peer(first);
	for (int i = 0; i < 20; i++)
		nap(); /* start times count in ticks */
	for (int i = 0; i < 50; i++) {
		int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
		MUST(fd >= 0 && dprintf(fd, "%d", pid - 1) > 0);
		close(fd);
		struct peer *second = new_peer(NULL);
		if (second->pid != pid) {
			kill_peer(second);
			continue;
		}
		ask(second, "event other 1");
		ask(second, "event mine 2");
		SAME(named(s, drain(s)), "mine=1");
		CHECK(!is_in("other", types(s)));
		trace_id_t t = RUNNING(.pid = pid); /* is for the second */
		ask(second, "event other 3");
		SAME(named(t, drain(t)), "other=3");
		EQ(drain(s).n, 0);
		kill_peer(second);
		exit(0);
	}
	FATAL("no process got the number again");
}

