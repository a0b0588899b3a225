/* port_visit.h - when to read from a port, and how many frames
 *
 * A read that finds nothing costs as much as one that brings a frame, and so does asking whether
 * there is one.  Where a wake-up brings one frame or two, as with segmented TCP, that is a good part of
 * the work, so this number is learnt: such a visit takes as many as the last one that fell short and
 * does not try for another one, which the next sleep would report anyway; visits that are filled again
 * and again are followed by one without limit.  Where more come, one vain read is cheap beside them,
 * and what lies in the port is taken in one burst.  And after frames of the guest were sent, their answers
 * (acknowledgements) often lie in the port already: it is looked at unasked as long as that pays, and
 * now and then to see whether it pays again.
 *
 * Pure.  A zeroed visit is ready to use. */
#ifndef BACKEND_PORT_VISIT_H
#define BACKEND_PORT_VISIT_H

#include <stdbool.h>

#define PORT_VISIT_LIMIT  64	/* frames a visit at most */
#define PORT_VISIT_FEW    2	/* frames a visit that are worth expecting */
#define PORT_VISIT_FILLED 3	/* visits filled in a row before one asks for more */
#define PORT_VISIT_LUCK   8	/* visits unasked that may find nothing before they stop */
#define PORT_VISIT_RETRY  32	/* chances passed by before one more visit unasked */

struct port_visit {
	bool readable;		/* the port said that it has frames, or probably has more */
	int expected;		/* frames a visit, 1..PORT_VISIT_FEW; 0: as many as there may be */
	int filled;		/* visits in a row that brought as many as expected */
	int luck;		/* visits unasked left */
	int passed_by;		/* chances since they stopped */
};

/* How many frames to read now, at most; 0: leave the port alone.  @sent: frames of the guest were sent
 * just before. */
int port_visit_max(struct port_visit *visit, bool sent);
/* That many were asked for and @got came. */
void port_visit_done(struct port_visit *visit, bool sent, int max, int got);

#endif
