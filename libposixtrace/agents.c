/* The agents of this process: starting, entering and retiring them. See agent.h. */
#include "agent.h"

#include <errno.h>

#include "kernel.h"

/* Takes an agent that has ended, or is about to, out of use. */
static void retire(struct pxt_home *h, struct pxt_link *l)
{
	for (int i = 0; i < PXT_W_Areas; i++) {
		struct pxt_log *r = &h->readers[i];
		pxt_lock(&r->lock);
		if (r->trid && r->link == l)
			pxt_log_close(r);
		else
			pxt_unlock(&r->lock);
	}
	pxt_lock(&h->lock);
	l->retired = true;
	if (h->now == l)
		h->now = NULL;
	pxt_unlock(&h->lock);
}

/* Enters a new channel, whose first user is the caller. */
static struct pxt_link *enter(struct pxt_home *h, struct pxt_channel *ch)
{
	struct pxt_link *l = NULL;
	pxt_lock(&h->lock);
	for (int i = 0; i < 8 && !l; i++)
		if (!h->links[i].ch)
			l = &h->links[i];
	if (l) {
		*l = (struct pxt_link){.ch = ch, .users = 1};
		h->now = l;
	}
	pxt_unlock(&h->lock);
	return l;
}

/* Starts an agent, unless another thread has. The caller is a user of the channel. */
int pxt_link_start(struct pxt_home *h, struct pxt_use *u)
{
	struct pxt_channel *ch;
	int err = 0;
	pxt_lock(&h->starting);
	u->link = pxt_link_hold(h);
	if (u->link && !(pxt_agent_alive(u->link->ch) && !(atomic_load(&u->link->ch->gate) & PXT_W_Leaving))) {
		if (!pxt_agent_alive(u->link->ch))
			h->former = u->link->ch->agentPID;
		retire(h, u->link);
		pxt_link_let(h, u->link);
		u->link = NULL;
	}
	if (!u->link && !(err = pxt_agent_start(&ch, h->former)) && !(u->link = enter(h, ch))) {
		pxt_unmap(ch, sizeof *ch);
		err = ENOMEM;
	}
	pxt_unlock(&h->starting);
	return err;
}
