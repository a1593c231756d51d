/* Section SET: sets of event types. */
#include "conform.h"

static int members(const trace_event_set_t *set)
{
	int n = 0;

	for (trace_event_id_t id = 1; id < MOST_TYPES; id++)
		n += has(set, id);
	return n;
}

static trace_event_set_t filled(int what)
{
	trace_event_set_t set;

	memset(&set, 0x5a, sizeof set);
	OK(posix_trace_eventset_fill(&set, what));
	return set;
}

TEST(SET_01, "posix_trace_eventset_empty/EINVAL")
{
	trace_event_set_t set;
	int is;

	memset(&set, 0xff, sizeof set);
	OK(posix_trace_eventset_empty(&set));
	EQ(members(&set), 0);
	ERR(posix_trace_eventset_empty(NULL), EINVAL);
	ERR(posix_trace_eventset_add(40, NULL), EINVAL);
	ERR(posix_trace_eventset_del(40, NULL), EINVAL);
	ERR(posix_trace_eventset_ismember(40, NULL, &is), EINVAL);
	ERR(posix_trace_eventset_ismember(40, &set, NULL), EINVAL);
	trace_event_id_t bad[] = {4096, 5000, 1U << 31, ~0U};
	for (int i = 0; choices && i < 4; i++) {
		ERR(posix_trace_eventset_add(bad[i], &set), EINVAL);
		ERR(posix_trace_eventset_del(bad[i], &set), EINVAL);
		ERR(posix_trace_eventset_ismember(bad[i], &set, &is), EINVAL);
	}
	EQ(members(&set), 0);
}

TEST(SET_02, "posix_trace_eventset_fill/EINVAL")
{
	trace_event_set_t set = set_of(1, 40U), before = set;

	for (int bad = -2; bad < 100; bad++)
		if (bad != POSIX_TRACE_WOPID_EVENTS && bad != POSIX_TRACE_SYSTEM_EVENTS && bad != POSIX_TRACE_ALL_EVENTS)
			ERR(posix_trace_eventset_fill(&set, bad), EINVAL);
	ERR(posix_trace_eventset_fill(NULL, POSIX_TRACE_ALL_EVENTS), EINVAL);
	CHECK(same_set(&set, &before));
	/* The old content does not matter. */
	EACH (what, POSIX_TRACE_WOPID_EVENTS, POSIX_TRACE_SYSTEM_EVENTS, POSIX_TRACE_ALL_EVENTS) {
		trace_event_set_t a = filled(what), b;
		memset(&b, 0xff, sizeof b);
		OK(posix_trace_eventset_fill(&b, what));
		CHECK(same_set(&a, &b));
	}
}

TEST(SET_03, "posix_trace_eventset_fill")
{
	trace_event_set_t all = filled(POSIX_TRACE_ALL_EVENTS);
	trace_id_t s = RUNNING(0);

	CHECK(!choices || members(&all) == 4095);
	CHECK(has(&all, UNNAMED) && has(&all, name("set.three")));
	set_filter(s, all, POSIX_TRACE_SET_EVENTSET);
	drain(s);
	text(name("set.three"), "x");
	text(name("set.three.later"), "y"); /* registered later */
	SAME(story(drain(s)), "");
}

TEST(SET_04, "posix_trace_eventset_fill")
{
	trace_event_set_t system = filled(POSIX_TRACE_SYSTEM_EVENTS);
	trace_id_t s = STREAM(0);
	trace_event_id_t id;
	int none;

	name("set.four");
	trace_event_id_t in[] = {POSIX_TRACE_ERROR, POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_FILTER, POSIX_TRACE_OVERFLOW,
				 POSIX_TRACE_RESUME, POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP};
	for (int i = 0; i < 8; i++)
		CHECK(has(&system, in[i]));
	CHECK(!has(&system, UNNAMED) && !has(&system, POSIX_TRACE_UNNAMED_USEREVENT));
	for (;;) { /* those of the implementation, too */
		OK(posix_trace_eventtypelist_getnext_id(s, &id, &none));
		if (none)
			break;
		EQ(has(&system, id), !user(id));
	}
}

TEST(SET_05, "posix_trace_eventset_fill")
{
	trace_event_set_t wopid = filled(POSIX_TRACE_WOPID_EVENTS);
	trace_event_id_t in[] = {POSIX_TRACE_ERROR, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME, POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP};
	trace_event_id_t out[] = {POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_FILTER, UNNAMED};

	for (int i = 0; i < 5; i++)
		CHECK(has(&wopid, in[i]));
	for (int i = 0; i < 4; i++)
		CHECK(!has(&wopid, out[i]));
}

TEST(SET_06, "")
{
	trace_event_set_t w = filled(POSIX_TRACE_WOPID_EVENTS), s = filled(POSIX_TRACE_SYSTEM_EVENTS), a = filled(POSIX_TRACE_ALL_EVENTS);

	for (trace_event_id_t id = 1; id < MOST_TYPES; id++)
		CHECK((!has(&w, id) || has(&s, id)) && (!has(&s, id) || has(&a, id)));
	CHECK(members(&w) < members(&s) && members(&s) < members(&a));
}

TEST(SET_07, "posix_trace_eventset_add")
{
	trace_event_set_t set = set_of(0);

	for (int i = 0; i < 2; i++) {
		OK(posix_trace_eventset_add(50, &set));
		EQ(members(&set), 1);
	}
	for (int i = 0; i < 2; i++) {
		OK(posix_trace_eventset_del(50, &set));
		EQ(members(&set), 0);
	}
	for (trace_event_id_t id = 1; id < MOST_TYPES; id++) {
		OK(posix_trace_eventset_add(id, &set));
		CHECK(has(&set, id) && members(&set) == 1);
		OK(posix_trace_eventset_del(id, &set));
		if (id > 200)
			id += 37;
	}
}

TEST(SET_08, "posix_trace_eventset_ismember")
{
	trace_event_set_t set = set_of(1, 40U);
	int is = 99;

	OK(posix_trace_eventset_ismember(40, &set, &is));
	CHECK(is != 0);
	OK(posix_trace_eventset_ismember(41, &set, &is));
	EQ(is, 0);
}

TEST(SET_09, "")
{
	trace_id_t s = RUNNING(0);
	trace_event_id_t id = name("set.nine");
	trace_event_set_t set = set_of(1, id), have;

	set_filter(s, set, POSIX_TRACE_SET_EVENTSET);
	OK(posix_trace_eventset_empty(&set));
	OK(posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS));
	OK(posix_trace_eventset_del(id, &set));
	have = filter(s);
	CHECK(has(&have, id) && members(&have) == 1);
	OK(posix_trace_eventset_add(UNNAMED, &have)); /* a copy */
	drain(s);
	text(UNNAMED, "x");
	SAME(story(drain(s)), "x");
}

TEST(SET_10, "")
{
	trace_event_set_t set, copy;

	memset(&set, 0x77, sizeof set);
	OK(posix_trace_eventset_empty(&set));
	OK(posix_trace_eventset_add(33, &set));
	EQ(members(&set), 1);
	copy = set;
	CHECK(same_set(&copy, &set));
	if (choices) { /* zero is the empty set */
		memset(&set, 0, sizeof set);
		EQ(members(&set), 0);
	}
	OK(posix_trace_eventset_empty(&set));
	trace_id_t s = RUNNING(0);
	set_filter(s, set, POSIX_TRACE_SET_EVENTSET);
	text(UNNAMED, "x");
	SAME(story(drain(s)), "START FILTER x");
}
