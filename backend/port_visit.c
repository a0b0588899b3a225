/* port_visit.c - when to read from a port, and how many frames; see port_visit.h */
#include "port_visit.h"

/* A port that did not say it has frames: worth a look? */
static bool try_unasked(struct port_visit *visit)
{
	if (visit->luck > 0)
		return true;
	if (++visit->passed_by < PORT_VISIT_RETRY)
		return false;
	visit->passed_by = 0;
	visit->luck = 1;
	return true;
}

int port_visit_max(struct port_visit *visit, bool sent)
{
	if (!visit->readable && !(sent && try_unasked(visit)))
		return 0;
	return visit->expected > 0 ? visit->expected : PORT_VISIT_LIMIT;
}

static void learn(struct port_visit *visit, int max, int got)
{
	if (got < max) {
		visit->filled = 0;
		if (got > 0)	/* none: the last look after a filled visit, or one unasked */
			visit->expected = got <= PORT_VISIT_FEW ? got : 0;
	} else if (++visit->filled >= PORT_VISIT_FILLED) {
		visit->expected = 0;
		visit->filled = 0;
	}
}

void port_visit_done(struct port_visit *visit, bool sent, int max, int got)
{
	learn(visit, max, got);
	/* A filled visit of a few is the rule, not a sign of more: the next sleep will tell. */
	visit->readable = got == max && max > PORT_VISIT_FEW;
	if (sent && got > 0)
		visit->luck = PORT_VISIT_LUCK;
	else if (sent && visit->luck > 0)
		visit->luck--;
}
