/* Section ATR: the stream attributes object. */
#include "conform.h"

static trace_attr_t fresh(void)
{
	trace_attr_t a;

	OK(posix_trace_attr_init(&a));
	return a;
}

/* Its only failure, ENOMEM, would be of an object that needs memory of its own. This one has none. */
TEST(ATR_01, "posix_trace_attr_init")
{
	trace_attr_t a;
	struct same_attr s, made;

	memset(&a, 0xa5, sizeof a);
	OK(posix_trace_attr_init(&a));
	s = settings(&a);
	SAME(s.name, "");
#if TRI
	EQ(s.inherited, POSIX_TRACE_CLOSE_FOR_CHILD);
#endif
	EQ(s.policy, LOOP);
#if TRL
	EQ(s.logpolicy, LOOP);
#endif
	if (choices) {
		EQ(s.data, 1024);
		EQ(s.size, 64 << 10);
		CHECK(!TRL || s.logsize == 1 << 20);
	}
	CHECK(s.version[0] && nanos(s.resolution) > 0);
	made = attr_of(STREAM(0));
	SAME(s.version, made.version);
	EQ(nanos(s.resolution), nanos(made.resolution));
	for (int i = 0; i < 10000; i++)
		OK(posix_trace_attr_init(&a));
}

TEST(ATR_02, "posix_trace_attr_init")
{
	trace_attr_t a;

	attributes(&a, (struct how){.name = "two", .policy = UNTIL_FULL, .data = 7, .inherited = INHERIT});
	OK(posix_trace_attr_init(&a));
	trace_attr_t b = fresh();
	CHECK(same_attributes(settings(&a), settings(&b)));
}

TEST(ATR_03, "posix_trace_attr_destroy/EINVAL")
{
	trace_attr_t destroyed = fresh(), never;
	trace_attr_t *bad[] = {&destroyed, &never};
	trace_id_t trid = 77;
	char name[TRACE_NAME_MAX + 1];
	int i;
	size_t n;
	int fd = open_log("log", O_WRONLY);

	OK(posix_trace_attr_destroy(&destroyed));
	ERR(posix_trace_attr_destroy(&destroyed), EINVAL);
	memset(&never, 0, sizeof never);
	for (int k = 0; k < 2; k++) {
		trace_attr_t *a = bad[k];
		ERR(posix_trace_attr_destroy(a), EINVAL);
		ERR(posix_trace_attr_getname(a, name), EINVAL);
		ERR(posix_trace_attr_setname(a, "x"), EINVAL);
		ERR(posix_trace_attr_getstreamfullpolicy(a, &i), EINVAL);
#if TRI
		ERR(posix_trace_attr_getinherited(a, &i), EINVAL);
#endif
		ERR(posix_trace_attr_getstreamsize(a, &n), EINVAL);
		ERR(posix_trace_create(0, a, &trid), EINVAL);
		ERR(posix_trace_create_withlog(0, a, fd, &trid), EINVAL);
		EQ(trid, 77);
		OK(posix_trace_attr_init(a)); /* and it is usable again */
		OK(posix_trace_attr_setname(a, "again"));
		OK(posix_trace_attr_getname(a, name));
		SAME(name, "again");
	}
}

TEST(ATR_04, "")
{
	trace_attr_t a;
	trace_id_t one, two, log;
	int fd = open_log("log", O_WRONLY);

	attributes(&a, (struct how){.name = "four", .policy = UNTIL_FULL, .data = 7});
	OK(posix_trace_create(0, &a, &one));
	OK(posix_trace_create(0, &a, &two));
	OK(posix_trace_create_withlog(0, &a, fd, &log));
	OK(posix_trace_attr_setname(&a, "other"));
	OK(posix_trace_attr_setmaxdatasize(&a, 100));
	OK(posix_trace_attr_destroy(&a));
	memset(&a, 0x5a, sizeof a);
	for (int i = 0; i < 3; i++) {
		struct same_attr s = attr_of(i == 0 ? one : i == 1 ? two : log);
		SAME(s.name, "four");
		EQ(s.policy, UNTIL_FULL);
		EQ(s.data, 7);
	}
}

TEST(ATR_05, "")
{
	trace_id_t s = STREAM(.name = "five", .inherited = INHERIT, .policy = UNTIL_FULL, .logpolicy = APPEND,
			      .size = 100 << 10, .data = 100, .logsize = 2 << 20, .log = "log");
	struct same_attr a = attr_of(s);

	SAME(a.name, "five");
	EQ(a.inherited, INHERIT);
	EQ(a.policy, UNTIL_FULL);
	EQ(a.logpolicy, APPEND);
	EQ(a.size, 100 << 10);
	EQ(a.data, 100);
	EQ(a.logsize, 2 << 20);
	CHECK(a.version[0] && nanos(a.created) > 0 && nanos(a.resolution) > 0);
}

TEST(ATR_06, "posix_trace_attr_getgenversion/EINVAL")
{
	trace_attr_t a = fresh();
	char s[TRACE_NAME_MAX + 1], least[TRACE_NAME_MAX];

	memset(s, 'x', sizeof s);
	OK(posix_trace_attr_getgenversion(&a, s));
	CHECK(strlen(s) > 0 && strlen(s) < TRACE_NAME_MAX && (!choices || strstr(s, "posixtrace")));
	OK(posix_trace_attr_getgenversion(&a, least)); /* an array of TRACE_NAME_MAX bytes suffices */
	SAME(least, s);
	OK(posix_trace_attr_destroy(&a));
	ERR(posix_trace_attr_getgenversion(&a, s), EINVAL);
	ERR(posix_trace_attr_getgenversion(NULL, s), EINVAL);
}

TEST(ATR_07, "posix_trace_attr_getname,posix_trace_attr_setname/EINVAL")
{
	trace_attr_t a = fresh();
	char s[TRACE_NAME_MAX + 1];

	OK(posix_trace_attr_getname(&a, s));
	SAME(s, "");
	OK(posix_trace_attr_setname(&a, "a name"));
	OK(posix_trace_attr_getname(&a, s));
	SAME(s, "a name");
	OK(posix_trace_attr_setname(&a, ""));
	OK(posix_trace_attr_getname(&a, s));
	SAME(s, "");
	OK(posix_trace_attr_destroy(&a));
	ERR(posix_trace_attr_getname(&a, s), EINVAL);
	ERR(posix_trace_attr_setname(&a, s), EINVAL);
}

TEST(ATR_08, "posix_trace_attr_setname")
{
	trace_attr_t a = fresh();
	char s[TRACE_NAME_MAX + 1], b[400];

	memset(b, 'x', sizeof b);
	b[TRACE_NAME_MAX] = 0;
	OK(posix_trace_attr_setname(&a, b));
	OK(posix_trace_attr_getname(&a, s));
	EQ(strlen(s), TRACE_NAME_MAX); /* it fits */
	b[TRACE_NAME_MAX] = 'x';
	b[300] = 0;
	OK(posix_trace_attr_setname(&a, b));
	OK(posix_trace_attr_getname(&a, s));
	EQ(strlen(s), TRACE_NAME_MAX - 1);
	CHECK(!memcmp(s, b, TRACE_NAME_MAX - 1));
	for (int i = 0; i < 300; i += 3) /* characters of three bytes */
		memcpy(b + i, "\xe2\x82\xac", 3);
	for (int shift = 0; shift < 3; shift++) {
		OK(posix_trace_attr_setname(&a, shift ? print("%.*s%s", shift, "ab", b) : b));
		OK(posix_trace_attr_getname(&a, s));
		CHECK(strlen(s) < TRACE_NAME_MAX && strlen(s) > TRACE_NAME_MAX - 4);
		EQ((strlen(s) - (size_t)shift) % 3, 0); /* none is cut */
	}
}

TEST(ATR_09, "")
{
	trace_attr_t a = fresh();
	char s[TRACE_NAME_MAX + 2], b[TRACE_NAME_MAX + 1];

	/* A name of TRACE_NAME_MAX bytes needs one more, and no other is written. */
	memset(b, 'n', TRACE_NAME_MAX);
	b[TRACE_NAME_MAX] = 0;
	OK(posix_trace_attr_setname(&a, b));
	s[TRACE_NAME_MAX + 1] = '!';
	OK(posix_trace_attr_getname(&a, s));
	SAME(b, s);
	EQ(s[TRACE_NAME_MAX + 1], '!');
	SAME(attr_of(STREAM(.name = b)).name, b);
}

TEST(ATR_10, "posix_trace_attr_getcreatetime")
{
	trace_attr_t a = fresh();
	struct timespec t = {1, 1};

	OK(posix_trace_attr_getcreatetime(&a, &t));
	EQ(nanos(t), 0);
	int64_t before = now();
	trace_id_t s = STREAM(0);
	int64_t after = now();
	int64_t at = nanos(attr_of(s).created);
	CHECK(before <= at && at <= after);
}

TEST(ATR_11, "posix_trace_attr_getclockres")
{
	trace_attr_t a = fresh();
	struct timespec t;

	OK(posix_trace_attr_getclockres(&a, &t));
	CHECK(t.tv_sec == 0 && t.tv_nsec > 0 && t.tv_nsec <= 1000000);
	EQ(nanos(attr_of(STREAM(0)).resolution), nanos(t));
}

TEST(ATR_12, "posix_trace_attr_setinherited/EINVAL")
{
	trace_attr_t a = fresh();
	int i = 9, values[] = {POSIX_TRACE_INHERITED, POSIX_TRACE_CLOSE_FOR_CHILD};

	OK(posix_trace_attr_getinherited(&a, &i));
	EQ(i, POSIX_TRACE_CLOSE_FOR_CHILD);
	for (int k = 0; k < 2; k++) {
		OK(posix_trace_attr_setinherited(&a, values[k]));
		OK(posix_trace_attr_getinherited(&a, &i));
		EQ(i, values[k]);
	}
	for (int bad = -2; bad < 300; bad++)
		if (bad != values[0] && bad != values[1])
			ERR(posix_trace_attr_setinherited(&a, bad), EINVAL);
	OK(posix_trace_attr_getinherited(&a, &i));
	EQ(i, POSIX_TRACE_CLOSE_FOR_CHILD);
}

static void policies(int (*set)(trace_attr_t *, int), int (*get)(const trace_attr_t *, int *), const int good[3])
{
	trace_attr_t a = fresh();
	int p = 0;

	for (int i = 0; i < 3; i++) {
		OK(set(&a, good[i]));
		OK(get(&a, &p));
		EQ(p, good[i]);
	}
	for (int bad = -3; bad < 300; bad++)
		if (bad != good[0] && bad != good[1] && bad != good[2])
			ERR(set(&a, bad), EINVAL);
	OK(get(&a, &p));
	EQ(p, good[2]);
	ERR(set(NULL, good[0]), EINVAL);
	ERR(get(&a, NULL), EINVAL);
}

TEST(ATR_13, "posix_trace_attr_setstreamfullpolicy/EINVAL")
{
	policies(posix_trace_attr_setstreamfullpolicy, posix_trace_attr_getstreamfullpolicy, (int[]){LOOP, UNTIL_FULL, FLUSH});
	EQ(attr_of(STREAM(.policy = UNTIL_FULL)).policy, UNTIL_FULL);
}

TEST(ATR_14, "posix_trace_attr_setlogfullpolicy/EINVAL")
{
	policies(posix_trace_attr_setlogfullpolicy, posix_trace_attr_getlogfullpolicy, (int[]){LOOP, UNTIL_FULL, APPEND});
	EQ(attr_of(STREAM(.log = "a")).logpolicy, LOOP);
	EQ(attr_of(STREAM(.log = "b", .logpolicy = APPEND)).logpolicy, APPEND);
}

TEST(ATR_15, "")
{
	trace_attr_t a = fresh();
	trace_id_t s;
	int p;

	OK(posix_trace_attr_getstreamfullpolicy(&a, &p));
	EQ(p, LOOP);
	for (int i = 0; i < 2; i++) { /* one object serves both calls */
		OK(posix_trace_create(0, &a, &s));
		EQ(attr_of(s).policy, LOOP);
		OK(posix_trace_create_withlog(0, &a, open_log(i ? "a" : "b", O_WRONLY), &s));
		EQ(attr_of(s).policy, FLUSH);
	}
	EQ(attr_of(STREAM(.log = "c", .size = 100 << 10)).size, 100 << 10);
}

TEST(ATR_16, "")
{
	EACH (p, LOOP, UNTIL_FULL) {
		const char *log = p == LOOP ? "loop" : "until-full";
		trace_id_t s = RUNNING(.policy = p, .logpolicy = APPEND, .log = log, .size = 1);
		EQ(attr_of(s).policy, p);
		numbers(UNNAMED, 0, 5000, 0); /* no automatic flush */
		struct posix_trace_status_info st = status(s);
		EQ(st.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		EQ(st.posix_stream_full_status, POSIX_TRACE_FULL);
		OK(posix_trace_shutdown(s));
		int n = users(logged(log)).n;
		CHECK(n > 0 && n < 5000);
	}
}

static size_t most(const trace_attr_t *a, size_t data)
{
	size_t user, system;

	OK(posix_trace_attr_getmaxusereventsize(a, data, &user));
	OK(posix_trace_attr_getmaxsystemeventsize(a, &system));
	return user + system;
}

TEST(ATR_17, "posix_trace_attr_getstreamsize,posix_trace_attr_setstreamsize")
{
	size_t data[] = {NODATA, 0, 8, 20000}, sizes[] = {1, 100, 5000, 64 << 10, 1 << 20};
	trace_attr_t a = fresh();
	size_t n;

	OK(posix_trace_attr_getstreamsize(&a, &n));
	CHECK(!choices || n == 64 << 10);
	for (size_t d = 0; d < 4; d++)
		for (size_t i = 0; i < 5; i++) {
			attributes(&a, (struct how){.size = sizes[i], .data = data[d]});
			OK(posix_trace_attr_getstreamsize(&a, &n));
			EQ(n, sizes[i]);
			size_t least = most(&a, SIZE_MAX / 2);
			trace_id_t s = STREAM(.size = sizes[i], .data = data[d]);
			EQ(attr_of(s).size, sizes[i] > least ? sizes[i] : least);
			OK(posix_trace_shutdown(s));
		}
	/* It counts events, and no names of types. */
	trace_id_t s = RUNNING(.size = 1, .policy = UNTIL_FULL);
	char name[251], longest[1024] = "x";
	memset(name, 'n', 250);
	for (int i = 0; i < 100; i++) {
		trace_event_id_t id;
		snprintf(name + 245, 6, "%05d", i);
		OK(posix_trace_trid_eventid_open(s, name, &id));
	}
	posix_trace_event(UNNAMED, longest, sizeof longest);
	EQ(users(drain(s)).n, 1);
}

TEST(ATR_18, "posix_trace_attr_getmaxdatasize,posix_trace_attr_setmaxdatasize")
{
	static char data[20001];
	size_t kept[] = {0, 1, 7, 1024, 1025, 20000}, n;
	trace_attr_t a = fresh();

	OK(posix_trace_attr_getmaxdatasize(&a, &n));
	CHECK(!choices || n == 1024);
	for (int i = 0; i < 6; i++) {
		trace_id_t s = RUNNING(.data = kept[i] ? kept[i] : NODATA);
		posix_trace_event(UNNAMED, data, 0);
		posix_trace_event(UNNAMED, data, kept[i]);
		posix_trace_event(UNNAMED, data, kept[i] + 1);
		struct events u = users(drain(s));
		EQ(u.n, 3);
		for (int k = 0; k < u.n; k++) {
			EQ(u.e[k].n, k ? kept[i] : 0);
			EQ(u.e[k].i.posix_truncation_status, k == 2 ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
		}
		OK(posix_trace_shutdown(s));
	}
}

TEST(ATR_19, "")
{
	trace_id_t s = STREAM(.data = NODATA);
	trace_event_set_t old = set_of(1, 4095U), all;
	struct events list;

	OK(posix_trace_eventset_fill(&all, POSIX_TRACE_ALL_EVENTS));
	OK(posix_trace_eventset_del(POSIX_TRACE_FILTER, &all));
	OK(posix_trace_eventset_del(POSIX_TRACE_STOP, &all));
	set_filter(s, old, POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	set_filter(s, all, POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_stop(s));
	list = drain(s);
	SAME(story(list), "START FILTER STOP0");
	EQ(list.e[0].n, sizeof old);
	CHECK(same_set((trace_event_set_t *)list.e[0].data, &old));
	EQ(list.e[1].n, 2 * sizeof old);
	CHECK(same_set((trace_event_set_t *)list.e[1].data, &old));
	CHECK(same_set((trace_event_set_t *)list.e[1].data + 1, &all));
	for (int i = 0; i < list.n; i++)
		EQ(list.e[i].i.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
}

TEST(ATR_20, "posix_trace_attr_getlogsize,posix_trace_attr_setlogsize")
{
	trace_attr_t a = fresh();
	size_t n, user, system;

	OK(posix_trace_attr_getlogsize(&a, &n));
	CHECK(!choices || n == 1 << 20);
	EQ(attr_of(STREAM(.log = "a", .logsize = 2 << 20)).logsize, 2 << 20);
	EACH (p, LOOP, UNTIL_FULL) { /* it holds one full stream */
		const char *log = print("log%d", p);
		trace_id_t s = RUNNING(.log = log, .logsize = 1, .logpolicy = p, .size = 100 << 10, .policy = UNTIL_FULL, .data = 100);
		struct same_attr at = attr_of(s);
		CHECK(at.logsize >= at.size);
		attributes(&a, (struct how){.data = 100});
		OK(posix_trace_attr_getmaxusereventsize(&a, 100, &user));
		OK(posix_trace_attr_getmaxsystemeventsize(&a, &system));
		int most = (int)((at.size - system) / user);
		numbers(UNNAMED, 0, most, 100);
		OK(posix_trace_shutdown(s));
		range(logged(log), 0, most);
	}
}

TEST(ATR_21, "")
{
	int ps[] = {APPEND, UNTIL_FULL, LOOP};

	for (int i = 0; i < 3; i++) {
		const char *log = print("log%d", i);
		trace_id_t s = RUNNING(.log = log, .logpolicy = ps[i], .logsize = 1, .size = 1, .policy = UNTIL_FULL, .data = 500);
		for (int k = 0; k < 60; k++) {
			numbers(UNNAMED, 4 * k, 4, 500);
			OK(posix_trace_flush(s));
		}
		OK(posix_trace_shutdown(s));
		int n = users(logged(log)).n;
		if (ps[i] == APPEND)
			EQ(n, 240);
		else
			CHECK(n > 0 && n < 120);
	}
}

TEST(ATR_22, "posix_trace_attr_getmaxusereventsize")
{
	trace_attr_t a;
	size_t last = 0, n, at100, system;

	attributes(&a, (struct how){.data = 100});
	OK(posix_trace_attr_getmaxusereventsize(&a, 100, &at100));
	for (size_t i = 0; i < 300; i++) {
		OK(posix_trace_attr_getmaxusereventsize(&a, i, &n));
		CHECK(n >= last && n >= (i < 100 ? i : 100) && (i <= 100 || n == at100));
		last = n;
	}
	OK(posix_trace_attr_getmaxusereventsize(&a, SIZE_MAX, &n));
	EQ(n, at100);
	/* So many events fit. */
	OK(posix_trace_attr_getmaxusereventsize(&a, 37, &n));
	OK(posix_trace_attr_getmaxsystemeventsize(&a, &system));
	trace_id_t s = RUNNING(.data = 100, .policy = UNTIL_FULL, .size = system + 200 * n);
	numbers(UNNAMED, 0, 200, 37);
	EQ(users(drain(s)).n, 200);
}

TEST(ATR_23, "posix_trace_attr_getmaxsystemeventsize")
{
	trace_attr_t a;
	size_t system, user, data[] = {NODATA, 0, 8, 5000};
	trace_event_set_t set;

	for (int i = 0; i < 4; i++) {
		attributes(&a, (struct how){.data = data[i]});
		OK(posix_trace_attr_getmaxsystemeventsize(&a, &system));
		OK(posix_trace_attr_getmaxusereventsize(&a, SIZE_MAX, &user));
		CHECK(system >= 2 * sizeof set && system >= user);
	}
	attributes(&a, (struct how){.data = NODATA});
	OK(posix_trace_attr_getmaxsystemeventsize(&a, &system));
	trace_id_t s = RUNNING(.data = NODATA, .policy = UNTIL_FULL, .size = 41 * system);
	OK(posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS));
	OK(posix_trace_eventset_del(POSIX_TRACE_FILTER, &set));
	for (int i = 0; i < 40; i++)
		set_filter(s, set, POSIX_TRACE_SET_EVENTSET);
	EQ(only(drain(s), POSIX_TRACE_FILTER).n, 40);
	NONE_LOST(s);
}

static atomic_int budget_next;
static int budget_n;
static size_t budget_sizes[20000];
static void *spend(void *arg)
{
	static char data[5000];
	int i;

	while ((i = budget_next++) < budget_n)
		posix_trace_event(*(trace_event_id_t *)arg, data, budget_sizes[i]);
	return NULL;
}

/* All events whose maximum sizes add up to no more than the stream's size are recorded. */
TEST(ATR_24, "")
{
	trace_event_id_t ids[] = {UNNAMED, name("atr.a"), name("atr.b")};
	size_t sizes[] = {1, 20 << 10, 300 << 10}, data[] = {NODATA, 1, 100, 1024, 5000};

	for (int i = 0; i < 3; i++)
		for (int d = 0; d < 5; d++)
			for (int threads = 1; threads < 16; threads += 7) {
				trace_attr_t a;
				size_t system, user, n = 0, max = data[d] == NODATA ? 0 : data[d];
				pthread_t t[16];
				attributes(&a, (struct how){.data = data[d]});
				OK(posix_trace_attr_getmaxsystemeventsize(&a, &system));
				trace_id_t s = RUNNING(.policy = UNTIL_FULL, .size = sizes[i], .data = data[d]);
				size_t left = attr_of(s).size - system;
				for (budget_n = 0; budget_n < 20000; n = (n * 7 + 13) % (max + 1)) {
					OK(posix_trace_attr_getmaxusereventsize(&a, n, &user));
					if (user > left)
						break;
					left -= user;
					budget_sizes[budget_n++] = n;
				}
				budget_next = 0;
				for (int k = 0; k < threads; k++)
					t[k] = start(spend, &ids[k % 3]);
				for (int k = 0; k < threads; k++)
					OK(pthread_join(t[k], NULL));
				NONE_LOST(s);
				if (sizes[i] < 100000)
					EQ(users(drain(s)).n, budget_n);
				OK(posix_trace_shutdown(s));
			}
}

TEST(ATR_25, "EINVAL")
{
	trace_attr_t a = fresh();
	char name[TRACE_NAME_MAX + 1];
	struct timespec t;
	int i;
	size_t n;

#define PAIR(get, to)                            \
	ERR(posix_trace_attr_##get(NULL, to), EINVAL); \
	ERR(posix_trace_attr_##get(&a, NULL), EINVAL)
	PAIR(getname, name);
	PAIR(getgenversion, name);
	PAIR(getcreatetime, &t);
	PAIR(getclockres, &t);
#if TRI
	PAIR(getinherited, &i);
	ERR(posix_trace_attr_setinherited(NULL, 0), EINVAL);
#endif
	PAIR(getstreamfullpolicy, &i);
#if TRL
	PAIR(getlogfullpolicy, &i);
#endif
	PAIR(getstreamsize, &n);
	PAIR(getmaxdatasize, &n);
#if TRL
	PAIR(getlogsize, &n);
#endif
	PAIR(getmaxsystemeventsize, &n);
	PAIR(setname, name);
	ERR(posix_trace_attr_getmaxusereventsize(NULL, 1, &n), EINVAL);
	ERR(posix_trace_attr_getmaxusereventsize(&a, 1, NULL), EINVAL);
	ERR(posix_trace_attr_setstreamfullpolicy(NULL, LOOP), EINVAL);
#if TRL
	ERR(posix_trace_attr_setlogfullpolicy(NULL, LOOP), EINVAL);
#endif
	ERR(posix_trace_attr_setstreamsize(NULL, 1), EINVAL);
	ERR(posix_trace_attr_setmaxdatasize(NULL, 1), EINVAL);
#if TRL
	ERR(posix_trace_attr_setlogsize(NULL, 1), EINVAL);
#endif
	ERR(posix_trace_attr_init(NULL), EINVAL);
	ERR(posix_trace_attr_destroy(NULL), EINVAL);
}

TEST(ATR_26, "")
{
	trace_id_t log = STREAM(.log = "log", .size = 1, .logsize = 1, .data = 1 << 30);
	struct same_attr at = attr_of(log);

	CHECK(at.data < 1 << 30 && at.size > 1 && at.logsize > 1);
	trace_id_t s = RUNNING(.data = 1 << 30);
	size_t most = attr_of(s).data;
	char *data = calloc(1, most + 1);
	posix_trace_event(UNNAMED, data, most);
	posix_trace_event(UNNAMED, data, most + 1);
	for (int want = 0; want < 2;) {
		struct posix_trace_event_info e;
		size_t n;
		int none;
		char *buf = malloc(most + 10);
		OK(posix_trace_trygetnext_event(s, &e, buf, most + 10, &n, &none));
		MUST(!none);
		if (user(e.posix_event_id)) {
			EQ(n, most);
			EQ(e.posix_truncation_status, want++ ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
		}
		free(buf);
	}
	/* What it reports it also makes. */
	struct same_attr again = attr_of(STREAM(.data = most, .size = attr_of(s).size));
	EQ(again.data, most);
	EQ(again.size, attr_of(s).size);
}

TEST(ATR_27, "ENOMEM,EINVAL")
{
	CHOICE("how large a stream or a log may be is the implementation's choice");
	size_t sizes[] = {(size_t)1 << 39, (size_t)1 << 41, (size_t)1 << 62, SIZE_MAX / 2};
	trace_attr_t a = fresh();
	trace_id_t trid = 77;

	OK(posix_trace_attr_setstreamsize(&a, SIZE_MAX));
	OK(posix_trace_attr_setmaxdatasize(&a, SIZE_MAX));
	OK(posix_trace_attr_setlogsize(&a, SIZE_MAX));
	for (int i = 0; i < 4; i++) {
		ERR(try_make((struct how){.size = sizes[i]}, &trid), ENOMEM);
		ERR(try_make((struct how){.size = sizes[i], .log = "log"}, &trid), ENOMEM);
	}
	EACH (p, LOOP, UNTIL_FULL) {
		ERR(try_make((struct how){.logsize = (size_t)1 << 62, .logpolicy = p, .log = "log"}, &trid), EINVAL);
		ERR(try_make((struct how){.logsize = SIZE_MAX / 2, .logpolicy = p, .log = "log"}, &trid), EINVAL);
	}
	EQ(trid, 77);
	STREAM(.logsize = SIZE_MAX / 2, .logpolicy = APPEND, .log = "b"); /* a size that is not used */
	STREAM(.logsize = SIZE_MAX / 2);
	int err = try_make((struct how){.size = SIZE_MAX}, &trid);
	CHECK(err == ENOMEM || err == EINVAL);
}
