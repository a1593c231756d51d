#define _GNU_SOURCE
#include "survey.h"

#include <errno.h>

#include "dir.h"
#include "kernel.h"
#include "scratch.h"

static void see_page(struct pxt_scratch *r, struct pxt_proc p)
{
	struct pxt_survey *s = &r->survey;
	s->pages++;
	if (pxt_same(p, r->self))
		return;
	if (p.start <= r->self.start) {
		s->group = s->group || p.pid == r->own.group;
		s->session = s->session || p.pid == r->own.session;
	}
	/* No process of this pid namespace has the number. One that has it may be another one: no matter. */
	if (pxt_sys(SYS_kill, p.pid, 0) != -ESRCH) {
		if (p.start < s->oldest)
			s->oldest = p.start;
		return;
	}
	if (s->dead++ < PXT_DEAD)
		s->chosen[s->dead - 1] = p;
	else if (pxt_chance(s->dead) < PXT_DEAD) /* each with the same probability */
		s->chosen[pxt_chance(PXT_DEAD)] = p;
}

static bool see(void *ctx, const char *name)
{
	struct pxt_scratch *r = ctx;
	struct pxt_proc p;
	if (pxt_parse_page(name, &p))
		see_page(r, p);
	else if (pxt_parse_id(name, "s-"))
		r->survey.streams++;
	else if (pxt_parse_id(name, "n-"))
		r->survey.names++;
	return true;
}

void pxt_survey(struct pxt_scratch *r)
{
	static const struct pxt_survey none = {.oldest = UINT64_MAX};
	r->survey = none;
	if (pxt_dir_each(r, see, r) < 0) {
		r->survey.oldest = 0; /* unknown: look for the page of each ancestor */
		r->survey.group = r->survey.session = true;
	}
}
