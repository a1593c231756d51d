/* Tests of requirements that need what only libposixtrace has: its files, and its environment. */
#include "conform.h"
#include <dirent.h>
#include <sys/file.h>

int files_in_trace_directory(const char *prefix)
{
	DIR *d = opendir(getenv("PTRACE_DIR"));
	struct dirent *e;
	int n = 0;

	MUST(d);
	while ((e = readdir(d)))
		n += !strncmp(e->d_name, prefix, strlen(prefix)) && e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* A trace directory that this user owns. */
const char *user_environment(int uid)
{
	const char *dir = print("%s.%d", getenv("PTRACE_DIR"), uid);

	mkdir(dir, 0700);
	MUST(!chown(dir, (uid_t)uid, (gid_t)uid));
	return print("PTRACE_DIR=%s", dir);
}

/* A trace directory of its own, with little room. What exists has its memory. */
TEST(CRE_01_small, "posix_trace_create/ENOMEM/small file system")
{
	trace_id_t s[30];
	int n = 0, err, before;
	char block[4096] = {0};

	small_file_system(getenv("PTRACE_DIR"), "size=1m,mode=700");
	trace_event_id_t id = name("known");
	for (;; n++) {
		before = files_in_trace_directory("");
		if ((err = try_make((struct how){.policy = UNTIL_FULL}, &s[n])))
			break;
		MUST(n < 29);
	}
	EQ(err, ENOMEM);
	CHECK(n > 2);
	EQ(files_in_trace_directory(""), before);
	int fd = open(print("%s/filler", getenv("PTRACE_DIR")), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof block) > 0)
		;
	for (int i = 0; i < n; i++)
		OK(posix_trace_start(s[i]));
	numbers(id, 0, 200, 100);
	for (int i = 0; i < n; i++) {
		EQ(lost(s[i]), 0);
		range(drain(s[i]), 0, 200);
	}
	OK(posix_trace_shutdown(s[0])); /* then there is room again, when the traced process has seen it */
	text(id, "x");
	OK(posix_trace_shutdown(STREAM(.policy = UNTIL_FULL)));
}

static int mapped(void)
{
	size_t n;
	int k = 0;
	char *maps = contents("/proc/self/maps", &n);

	maps[n - 1] = 0;
	for (char *p = maps; (p = strstr(p, "/s-")); p++)
		k++;
	return k;
}

/* A traced process keeps the memory of no stream but its last, until a stream traces it again. */
TEST(SHU_01_memory, "posix_trace_shutdown/memory")
{
	for (int i = 0; i < 5; i++) {
		trace_id_t s = RUNNING(0);
		text(UNNAMED, "x");
		EQ(mapped(), 1);
		SAME(story(drain(s)), "START x");
		OK(posix_trace_shutdown(s));
		text(UNNAMED, "y");
		CHECK(mapped() <= 1);
	}
}

/* A stream of another word size is refused, and its would-be target is not harmed. */
TEST(INH_15, "EINVAL")
{
	trace_id_t s = STREAM(.name = "fifteen"), t;
	const char *dir = getenv("PTRACE_DIR");
	char path[300] = "";
	unsigned char mark[2], other[2];

	FILE *ls = popen(print("ls %s/s-*", dir), "r");
	MUST(ls && fscanf(ls, "%299s", path) == 1);
	pclose(ls);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	MUST(fd >= 0 && pread(fd, mark, 2, 10) == 2);
	EQ(mark[0], 8 * sizeof(void *));
	other[0] = (unsigned char)(32 + 64 - 8 * sizeof(void *));
	other[1] = 0;
	MUST(pwrite(fd, other, 2, 10) == 2);
	struct peer *p = new_peer(print("PTRACE_STREAM=%s", path));
	ask(p, "event inh.foreign x");
	exit_peer(p);
	/* A controller that is to use it gets EINVAL from the trace system, or finds nothing. */
	MUST(pwrite(fd, mark, 2, 10) == 2);
	OK(posix_trace_start(s));
	text(name("inh.foreign"), "y");
	SAME(named(s, drain(s)), "inh.foreign=y");
	/* A log of another word size or byte order. */
	OK(posix_trace_shutdown(RUNNING(.log = "log")));
	size_t n;
	char *b = contents("log", &n);
	for (int i = 8; i < 16; i++) {
		b[i] ^= 0x60;
		write_file("bad", b, n);
		b[i] ^= 0x60;
		ERR(posix_trace_open(open("bad", O_RDONLY | O_CLOEXEC), &t), EINVAL);
	}
}

/* Only its user has access to the memory; a set-uid program is not traced. */
TEST(INH_16, "")
{
	need_root();
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid, .inherited = POSIX_TRACE_INHERITED);
	struct stat st;
	char path[300];
	int n = 0;

	ask(p, "event inh.mode x");
	MUST(!stat(getenv("PTRACE_DIR"), &st));
	EQ(st.st_mode & 0777, 0700);
	FILE *find = popen(print("find %s -type f", getenv("PTRACE_DIR")), "r");
	for (; find && fscanf(find, "%299s", path) == 1; n++) {
		MUST(!stat(path, &st));
		EQ(st.st_mode & 077, 0);
		EQ(st.st_uid, geteuid());
	}
	pclose(find);
	CHECK(n >= 2);
	drain(s);
	/* Another user's process cannot be traced by it, and a process that changes its user is not the
	   controller of its agent any more: it gets no new stream through it. */
	struct peer *c = new_peer(NULL);
	SAY(c, "create before 0 size=1");
	SAY(c, "user 65534 65534");
	CHECK(atoi(ask(c, "create after %d size=1", (int)p->pid)) != 0);
	kill_peer(c);
	WAIT(files_in_trace_directory("s-") == 1);
	/* A set-uid program is not traced, although its environment asks for it; another copy is. */
	char dir[] = "/dev/shm/posixtrace-setuid-XXXXXX";
	MUST(mkdtemp(dir) && !chmod(dir, 0755));
	size_t size;
	char *b = contents("/proc/self/exe", &size);
	const char *file = print("%s/set", dir);
	write_file(file, b, size);
	find = popen(print("ls %s/s-*", getenv("PTRACE_DIR")), "r");
	MUST(find && fscanf(find, "%299s", path) == 1);
	pclose(find);
	for (int set = 0; set < 2; set++) {
		MUST(!chmod(file, set ? 04755 : 0755));
		p = peer_of(file, set ? 65534 : 0, print("PTRACE_STREAM=%s", path));
		ask(p, "event inh.set %d", set);
		exit_peer(p);
	}
	unlink(file);
	rmdir(dir);
	SAME(named(s, drain(s)), "inh.set=0");
}

TEST(LOG_13, "")
{
	size_t n;
	trace_id_t l = 77;

	OK(posix_trace_shutdown(RUNNING(.name = "foreign", .log = "log")));
	unsigned char *b = (unsigned char *)contents("log", &n);
	size_t head = b[16] | (size_t)b[17] << 8;
	MUST(head >= 100 && head < n);
	for (size_t i = 0; i < head; i++) { /* magic, version, byte order, attributes */
		b[i] ^= 0x11;
		write_file("bad", b, n);
		b[i] ^= 0x11;
		int fd = open("bad", O_RDONLY | O_CLOEXEC), err = posix_trace_open(fd, &l);
		close(fd);
		if (err != EINVAL || l != 77)
			FATAL("byte %zu: %d", i, err);
	}
}

/* An unusable trace directory does no harm. */
TEST(EVT_14_directory, "no directory")
{
	struct peer *p = new_peer("PTRACE_DIR=/proc/none/such");

	SAY(p, "raw %u x", UNNAMED);
	SAY(p, "raw %u y", UNNAMED);
	exit_peer(p);
}

/* The streams of one directory do not count in another. */
TEST(LIM_06_other, "other directory")
{
	mkdir("other", 0700);
	struct peer *p = new_peer(print("PTRACE_DIR=%s/other", getcwd(NULL, 0)));
	SAY(p, "create other 0 size=1");
	SAY(p, "shutdown other");
	exit_peer(p);
}

/* A trace point waits for no lock: those of the files are all taken here. */
TEST(LIM_21_locks, "locks")
{
	trace_event_id_t id = name("lim.twentyone");
	trace_id_t s = RUNNING(0);
	text(id, "0"); /* connects */
	drain(s);
	const char *dir = getenv("PTRACE_DIR");
	DIR *d = opendir(dir);
	struct dirent *e;
	int fds[100], n = 0;
	while ((e = readdir(d)) && n < 100)
		if (e->d_name[0] != '.') {
			fds[n] = open(print("%s/%s", dir, e->d_name), O_RDONLY | O_CLOEXEC);
			MUST(fds[n] >= 0 && !flock(fds[n], LOCK_EX | LOCK_NB));
			n++;
		}
	closedir(d);
	CHECK(n >= 2);
	numbers(id, 0, 100, 0);
	while (n)
		close(fds[--n]);
	range(drain(s), 0, 100);
}
