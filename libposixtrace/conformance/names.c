/* Section MAP: event types and their names. */
#include "conform.h"

static trace_event_id_t of(const char *answer) { return (trace_event_id_t)atoi(answer); }

static trace_id_t opened(const char *path)
{
	trace_id_t l;

	OK(posix_trace_open(open(path, O_RDONLY | O_CLOEXEC), &l));
	return l;
}

static trace_event_id_t open_by(trace_id_t s, const char *name)
{
	trace_event_id_t id;

	OK(posix_trace_trid_eventid_open(s, name, &id));
	return id;
}

static const struct {
	trace_event_id_t id;
	const char *name;
} predefined[] = {{POSIX_TRACE_ERROR, "posix_trace_error"},
		  {POSIX_TRACE_START, "posix_trace_start"},
		  {POSIX_TRACE_STOP, "posix_trace_stop"},
#if TEF
		  {POSIX_TRACE_FILTER, "posix_trace_filter"},
#endif
		  {POSIX_TRACE_OVERFLOW, "posix_trace_overflow"},
		  {POSIX_TRACE_RESUME, "posix_trace_resume"},
#if TRL
		  {POSIX_TRACE_FLUSH_START, "posix_trace_flush_start"},
		  {POSIX_TRACE_FLUSH_STOP, "posix_trace_flush_stop"},
#endif
		  {POSIX_TRACE_UNNAMED_USER_EVENT, "posix_trace_unnamed_userevent"}};

TEST(MAP_01, "posix_trace_eventid_open")
{
	trace_id_t s = RUNNING(0);
	trace_event_id_t ids[50];

	for (int i = 0; i < 50; i++) {
		ids[i] = namef("map.one.%d", i);
		CHECK(ids[i] != UNNAMED && user(ids[i]));
		for (int k = 0; k < i; k++)
			CHECK(ids[k] != ids[i]);
		SAME(type_name(s, ids[i]), print("map.one.%d", i));
	}
}

static void *open_together(void *arg)
{
	*(trace_event_id_t *)arg = name("map.two.together");
	return NULL;
}

TEST(MAP_02, "posix_trace_eventid_open")
{
	trace_event_id_t a = name("map.two.a"), b = name("map.two.b"), ids[16];
	pthread_t t[16];

	CHECK(a != b && name("map.two.a") == a && name("map.two.b") == b);
	for (int i = 0; i < 16; i++)
		t[i] = start(open_together, &ids[i]);
	for (int i = 0; i < 16; i++) {
		OK(pthread_join(t[i], NULL));
		EQ(ids[i], ids[0]);
	}
#if TRI
	STREAM(.inherited = POSIX_TRACE_INHERITED); /* the family */
	struct peer *child = new_peer(NULL);
	EQ(of(ask(child, "open map.two.together")), ids[0]);
	EQ(of(ask(child, "open map.two.child")), name("map.two.child"));
#endif
}

TEST(MAP_03, "posix_trace_eventid_open/ENAMETOOLONG")
{
	char s[TRACE_EVENT_NAME_MAX + 3] = "x";
	trace_event_id_t id = 77;

	for (int i = 0; i < TRACE_EVENT_NAME_MAX / 2; i++)
		memcpy(s + 1 + 2 * i, "\xc3\xa9", 3);
	EQ(strlen(s), TRACE_EVENT_NAME_MAX);
	CHECK(name(s) != UNNAMED);
	memcpy(s + TRACE_EVENT_NAME_MAX, "y", 2); /* bytes count, not characters */
	ERR(posix_trace_eventid_open(s, &id), ENAMETOOLONG);
	EQ(id, 77);
}

TEST(MAP_04, "posix_trace_eventid_open")
{
	trace_event_id_t first = name("map.four.first"), last = 0;

	for (int i = 0; i < TRACE_USER_EVENT_MAX - 2; i++) {
		last = namef("map.four.%d", i);
		MUST(last != UNNAMED);
	}
	EQ(name("map.four.more"), UNNAMED);
	EQ(name("map.four.still.more"), UNNAMED);
	EQ(name("map.four.first"), first);
	EQ(namef("map.four.%d", TRACE_USER_EVENT_MAX - 3), last);
	EQ(name("posix_trace_start"), POSIX_TRACE_START);
	trace_id_t s = RUNNING(0);
	text(name("map.four.more"), "x");
	SAME(named(s, drain(s)), "posix_trace_unnamed_userevent=x");
}

TEST(MAP_05, "posix_trace_eventid_open")
{
	trace_event_id_t id = name("map.five");

	for (int i = 0; i < 2; i++) { /* also in a stream after a stream */
		trace_id_t s = RUNNING(0);
		SAME(type_name(s, id), "map.five");
		EQ(open_by(s, "map.five"), id);
		text(id, "y");
		SAME(named(s, drain(s)), "map.five=y");
		OK(posix_trace_shutdown(s));
	}
}

TEST(MAP_06, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid);
	trace_event_id_t ids[60];

	for (int i = 0; i < 60; i++) {
		ids[i] = of(ask(p, "event map.six.%d x", i));
		for (int k = 0; k < i; k++)
			CHECK(ids[i] != ids[k]);
	}
	OK(posix_trace_clear(s));
	exit_peer(p);
	for (int i = 0; i < 60; i++) {
		SAME(type_name(s, ids[i]), print("map.six.%d", i));
		EQ(open_by(s, print("map.six.%d", i)), ids[i]);
	}
	trace_event_id_t new = open_by(s, "map.six.new");
	for (int i = 0; i < 60; i++)
		CHECK(ids[i] != new);
}

TEST(MAP_07, "")
{
	static const char *const names[] = {" ", "", "map.seven", "MAP.seven", "map.seven\n", "\xff\xfe", "\xc3\xa9", "e\xcc\x81"};
	trace_id_t s = STREAM(.log = "log");
	trace_event_id_t ids[8];

	for (int i = 0; i < 8; i++) {
		ids[i] = name(names[i]);
		CHECK(ids[i] != UNNAMED && user(ids[i]));
		EQ(name(names[i]), ids[i]);
		SAME(type_name(s, ids[i]), names[i]);
		for (int k = 0; k < i; k++)
			CHECK(ids[i] != ids[k]);
	}
	types(s);
	for (size_t i = 0; i < sizeof predefined / sizeof predefined[0]; i++) {
		EQ(name(predefined[i].name), predefined[i].id);
		EQ(open_by(s, predefined[i].name), predefined[i].id);
	}
	SAME(types(s), " "); /* nothing was made */
	OK(posix_trace_shutdown(s));
	for (int i = 0; i < 8; i++)
		SAME(type_name(opened("log"), ids[i]), names[i]);
}

TEST(MAP_08, "posix_trace_trid_eventid_open")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid);
	trace_event_id_t id = open_by(s, "map.eight");

	EQ(open_by(s, "map.eight"), id);
	EQ(of(ask(p, "open map.eight")), id);
	trace_event_id_t theirs = of(ask(p, "open map.eight.target"));
	EQ(open_by(s, "map.eight.target"), theirs);
	SAY(p, "raw %u z", id);
	SAME(named(s, drain(s)), "map.eight=z");
}

TEST(MAP_09, "posix_trace_trid_eventid_open/EINVAL,ENAMETOOLONG")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid), l;
	char longer[TRACE_EVENT_NAME_MAX + 2];
	trace_event_id_t id;

	for (int i = 0; i < 500; i++)
		MUST(open_by(s, print("map.nine.ctl.%d", i)) != UNNAMED);
	SAME(ask(p, "fill map.nine. 300"), "300 0");
	for (int i = 500; i < TRACE_USER_EVENT_MAX - 1 - 300; i++)
		MUST(open_by(s, print("map.nine.ctl.%d", i)) != UNNAMED);
	for (int i = 0; i < 2; i++) {
		EQ(open_by(s, "map.nine.past"), UNNAMED);
		EQ(of(ask(p, "open map.nine.past.too")), UNNAMED);
	}
	id = open_by(s, "map.nine.ctl.0");
	CHECK(id != UNNAMED);
	EQ(of(ask(p, "open map.nine.ctl.0")), id);
	memset(longer, 'n', sizeof longer);
	longer[sizeof longer - 1] = 0;
	ERR(posix_trace_trid_eventid_open(s, longer, &id), ENAMETOOLONG);
	OK(posix_trace_shutdown(s));
	ERR(posix_trace_trid_eventid_open(s, "map.nine", &id), EINVAL);
	OK(posix_trace_shutdown(STREAM(.log = "log")));
	l = opened("log");
	ERR(posix_trace_trid_eventid_open(l, "map.nine", &id), EINVAL);
}

TEST(MAP_10, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t a = STREAM(.pid = p->pid), b = STREAM(.pid = p->pid, .inherited = INHERIT);

	for (int i = 0; i < 20; i++) {
		const char *n = print("map.ten.%d", i);
		trace_event_id_t id = open_by(i % 2 ? a : b, n);
		EQ(open_by(i % 2 ? b : a, n), id);
	}
}

TEST(MAP_11, "posix_trace_eventid_get_name/EINVAL")
{
	trace_id_t s = STREAM(.log = "log");
	trace_event_id_t id = name("map.eleven"), bad[] = {0, 9, 3500, 4000, 4096, ~0U}; /* of libposixtrace */
	char n[TRACE_EVENT_NAME_MAX + 1];

	for (int k = 0; k < 2; k++) {
		for (int round = 0; round < 3; round++) {
			SAME(type_name(s, id), "map.eleven");
			for (size_t i = 0; i < sizeof predefined / sizeof predefined[0]; i++)
				SAME(type_name(s, predefined[i].id), predefined[i].name);
		}
		for (int i = 0; choices && i < 6; i++)
			ERR(posix_trace_eventid_get_name(s, bad[i], n), EINVAL);
		OK(k ? posix_trace_close(s) : posix_trace_shutdown(s));
		ERR(posix_trace_eventid_get_name(s, id, n), EINVAL);
		s = opened("log");
	}
}

TEST(MAP_12, "posix_trace_eventid_equal")
{
	trace_id_t s = STREAM(0);
	trace_event_id_t a = name("map.twelve.a"), b = name("map.twelve.b");

	for (int i = 0; i < 2; i++) {
		CHECK(posix_trace_eventid_equal(s, a, name("map.twelve.a")));
		CHECK(!posix_trace_eventid_equal(s, a, b));
		CHECK(!posix_trace_eventid_equal(s, a, UNNAMED));
		CHECK(posix_trace_eventid_equal(s, POSIX_TRACE_START, POSIX_TRACE_START));
		CHECK(!posix_trace_eventid_equal(s, POSIX_TRACE_START, POSIX_TRACE_STOP));
		if (!i) {
			EQ(open_by(s, "map.twelve.a"), a);
			OK(posix_trace_shutdown(s)); /* the stream does not matter */
		}
	}
}

TEST(MAP_13, "posix_trace_eventtypelist_getnext_id/EINVAL")
{
	trace_id_t s = STREAM(.log = "log");
	trace_event_id_t id;
	int none;

	name("map.thirteen");
	for (int k = 0; k < 2; k++) {
		none = 7;
		OK(posix_trace_eventtypelist_getnext_id(s, &id, &none));
		EQ(none, 0);
		EQ(id, POSIX_TRACE_ERROR);
		const char *list = types(s);
		CHECK(is_in("map.thirteen", list) && !is_in("posix_trace_error", list));
		ERR(posix_trace_eventtypelist_getnext_id(s, NULL, &none), EINVAL);
		ERR(posix_trace_eventtypelist_getnext_id(s, &id, NULL), EINVAL);
		OK(k ? posix_trace_close(s) : posix_trace_shutdown(s));
		ERR(posix_trace_eventtypelist_getnext_id(s, &id, &none), EINVAL);
		s = opened("log");
	}
}

TEST(MAP_14, "posix_trace_eventtypelist_getnext_id")
{
	trace_id_t s = STREAM(.log = "log");

	for (int k = 0; k < 2; k++) {
		types(s);
		for (int i = 0; i < 3; i++) {
			trace_event_id_t id = 12345;
			int none = 0;
			OK(posix_trace_eventtypelist_getnext_id(s, &id, &none));
			CHECK(none != 0);
			EQ(id, 12345); /* not stored */
		}
		if (!k)
			OK(posix_trace_shutdown(s));
		s = opened("log");
	}
}

TEST(MAP_15, "posix_trace_eventtypelist_rewind/EINVAL")
{
	trace_id_t s = STREAM(.log = "log");
	trace_event_id_t id;
	int none;

	for (int k = 0; k < 2; k++) {
		const char *all = types(s);
		for (int i = 0; i < 2; i++) {
			OK(posix_trace_eventtypelist_rewind(s));
			SAME(types(s), all);
		}
		OK(posix_trace_eventtypelist_rewind(s));
		for (int i = 0; i < 3; i++)
			OK(posix_trace_eventtypelist_getnext_id(s, &id, &none));
		OK(posix_trace_eventtypelist_rewind(s)); /* in the middle */
		OK(posix_trace_eventtypelist_getnext_id(s, &id, &none));
		EQ(id, POSIX_TRACE_ERROR);
		OK(k ? posix_trace_close(s) : posix_trace_shutdown(s));
		ERR(posix_trace_eventtypelist_rewind(s), EINVAL);
		s = opened("log");
	}
}

TEST(MAP_16, "")
{
	struct peer *p = new_peer(NULL);

	ask(p, "open map.sixteen.unused");
	trace_id_t s = STREAM(.pid = p->pid, .log = "log");
	ask(p, "open map.sixteen.later");
	open_by(s, "map.sixteen.controller");
	const char *live = types(s);
	CHECK(strstr(live, " posix_trace_unnamed_userevent map.sixteen.unused map.sixteen.later map.sixteen.controller "));
	for (size_t i = 0; i < sizeof predefined / sizeof predefined[0]; i++)
		CHECK(is_in(predefined[i].name, live));
	OK(posix_trace_shutdown(s));
	ask(p, "open map.sixteen.too.late");
	SAME(types(opened("log")), live);
}

static void *take_types(void *arg)
{
	static atomic_int seen[MOST_TYPES];
	trace_event_id_t id;
	int none;

	for (int i = 0; i < 5; i++) {
		OK(posix_trace_eventtypelist_getnext_id(*(trace_id_t *)arg, &id, &none));
		CHECK(!none && id < MOST_TYPES && ++seen[id] == 1);
	}
	return NULL;
}

TEST(MAP_17, "")
{
	struct peer *p = new_peer(NULL);
	trace_id_t s = RUNNING(.pid = p->pid);
	pthread_t t[3];

	ask(p, "open map.seventeen.z");
	ask(p, "open map.seventeen.a");
	const char *all = types(s);
	CHECK(strstr(all, " posix_trace_unnamed_userevent map.seventeen.z map.seventeen.a "));
	SAME(types(s), " ");
	ask(p, "open map.seventeen.m"); /* after the end of the list */
	SAME(types(s), " map.seventeen.m ");
	OK(posix_trace_eventtypelist_rewind(s)); /* the position is shared by threads */
	for (int i = 0; i < 3; i++)
		t[i] = start(take_types, &s);
	for (int i = 0; i < 3; i++)
		OK(pthread_join(t[i], NULL));
	OK(posix_trace_clear(s)); /* does not move it */
	int left = 0, n = 0;
	for (const char *c = types(s); *c; c++)
		left += *c == ' ' && c[1];
	for (const char *c = all; *c; c++)
		n += *c == ' ' && c[1];
	EQ(left, n + 1 - 15);
	/* Nor does posix_trace_rewind(). */
	OK(posix_trace_shutdown(STREAM(.log = "log")));
	trace_id_t l = opened("log");
	trace_event_id_t id;
	int none;
	OK(posix_trace_eventtypelist_getnext_id(l, &id, &none));
	OK(posix_trace_rewind(l));
	OK(posix_trace_eventtypelist_getnext_id(l, &id, &none));
	EQ(id, POSIX_TRACE_START);
}

TEST(MAP_18, "")
{
	trace_id_t s = STREAM(0);
	const char *list = types(s);
	trace_event_set_t system;

	OK(posix_trace_eventset_fill(&system, POSIX_TRACE_SYSTEM_EVENTS));
	for (size_t i = 0; i < sizeof predefined / sizeof predefined[0]; i++) {
		SAME(type_name(s, predefined[i].id), predefined[i].name);
		CHECK(is_in(predefined[i].name, list));
		EQ(has(&system, predefined[i].id), predefined[i].id != UNNAMED);
	}
}

static size_t first_size(struct events list, trace_event_id_t id)
{
	list = only(list, id);
	MUST(list.n > 0);
	return list.e[0].n;
}

TEST(MAP_19, "")
{
	trace_id_t s = STREAM(.data = 4);
	trace_event_id_t id = name("map.nineteen");
	trace_event_set_t old = set_of(2, id, 4000U), new = set_of(1, 17U);
	struct events all;

	set_filter(s, old, POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_start(s));
	set_filter(s, new, POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_stop(s));
	OK(posix_trace_start(s));
	all = drain(s);
	SAME(story(all), "START FILTER STOP0 START");
	EQ(all.e[0].n, sizeof old);
	CHECK(same_set((trace_event_set_t *)all.e[0].data, &old));
	EQ(all.e[1].n, 2 * sizeof old);
	CHECK(same_set((trace_event_set_t *)all.e[1].data, &old) && same_set((trace_event_set_t *)all.e[1].data + 1, &new));
	EQ(all.e[2].n, sizeof(int));
	CHECK(same_set((trace_event_set_t *)all.e[3].data, &new));
	s = RUNNING(.policy = LOOP, TINY);
	overwrite(s, 0);
	all = drain(s);
	EQ(first_size(all, POSIX_TRACE_OVERFLOW), 0);
	EQ(first_size(all, POSIX_TRACE_RESUME), 0);
	s = RUNNING(.log = "log");
	OK(posix_trace_shutdown(s));
	all = logged("log");
	EQ(first_size(all, POSIX_TRACE_FLUSH_START), 0);
	EQ(first_size(all, POSIX_TRACE_FLUSH_STOP), 0);
}

TEST(MAP_20, "")
{
	trace_id_t s = STREAM(0);
	trace_event_id_t id;
	trace_event_set_t system;
	int none, own = 0;

	OK(posix_trace_eventset_fill(&system, POSIX_TRACE_SYSTEM_EVENTS));
	for (;;) {
		OK(posix_trace_eventtypelist_getnext_id(s, &id, &none));
		if (none)
			break;
		bool mine = !user(id);
		for (size_t i = 0; i < sizeof predefined / sizeof predefined[0]; i++)
			mine &= id != predefined[i].id;
		if (mine) { /* of the implementation */
			own++;
			const char *n = type_name(s, id);
			CHECK(*n && strncmp(n, "posix_trace_", 12) && has(&system, id));
			EQ(open_by(s, n), id);
			EQ(name(n), id);
		}
	}
	CHECK(own > 0 || !choices);
}

TEST(MAP_21, "")
{
	for (int i = 0; i < TRACE_USER_EVENT_MAX - 1; i++)
		namef("map.twentyone.%d", i);
	trace_id_t s = RUNNING(0);
	text(UNNAMED, "direct");
	text(name("map.exhausted.1"), "one");
	text(name("map.exhausted.2"), "two");
	SAME(named(s, drain(s)), "posix_trace_unnamed_userevent=direct posix_trace_unnamed_userevent=one posix_trace_unnamed_userevent=two");
}

TEST(MAP_22, "")
{
	trace_event_id_t id = name("map.twentytwo"), rare = name("map.twentytwo.rare");
	trace_id_t s = RUNNING(.name = "overrun", .size = 1);
	trace_id_t l = RUNNING(.name = "overrun", .size = 1, .logsize = 1, .policy = UNTIL_FULL, .log = "log");
	struct same_attr before = attr_of(s), logs = attr_of(l);

	text(rare, "x");
	for (int i = 0; i < 20; i++) {
		numbers(id, 0, 500, 0);
		OK(posix_trace_flush(l));
	}
	EQ(status(s).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	EQ(status(l).posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK(same_attributes(attr_of(s), before));
	SAME(type_name(s, rare), "map.twentytwo.rare");
	OK(posix_trace_shutdown(l));
	l = opened("log");
	CHECK(same_attributes(attr_of(l), logs));
	SAME(type_name(l, rare), "map.twentytwo.rare");
}
