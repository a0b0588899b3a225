/* fake_xen.h - libxengnttab and libxenevtchn for tests
 *
 * Defined in the test program itself, so the linker never asks the real libraries.  The guest's
 * memory is an array of pages, grant reference N is page N of it; copies are memcpy, checked as the
 * hypervisor checks them: domain, reference, no end of a grant across its page.  What is opened,
 * mapped or shared is counted, and each call can be made to fail.
 *
 * Unfaithful: one guest, a channel's descriptor is a pipe into which the test writes local ports,
 * and a port is never really masked (unmasking is counted). */
#ifndef FAKE_XEN_H
#define FAKE_XEN_H

#include <stdbool.h>
#include <stdint.h>
#include <xenevtchn.h>
#include <xengnttab.h>

#define FAKE_GUEST 7
#define FAKE_SELF 0
#define FAKE_PAGES 516u			/* of the guest */
#define FAKE_OWN_FIRST 0x10000u		/* our own grants are numbered from here */
#define FAKE_OWN_MAX 4096u
#define FAKE_LOCAL(remote) ((remote) + 100u)	/* the local port that a remote one is bound to */
#define FAKE_PORTS 256u
#define FAKE_NEVER UINT32_MAX

struct fake_xen {
	uint8_t (*guest)[4096];		/* [FAKE_PAGES] */

	/* Wishes. */
	uint32_t fail_operation;	/* the copy operation to fail, counted from the reset */
	int16_t fail_status;		/* its status */
	bool fail_copy_call;
	void (*on_copy)(void);		/* called as a batch begins; may be NULL */
	uint32_t fail_map;		/* the mapping to fail, counted from the reset */
	uint32_t fail_bind;		/* likewise */
	bool no_gntalloc;		/* xengntshr_open() fails */
	int notify_fd;			/* an eventfd told of every notify, or -1 */

	/* What happened. */
	uint32_t copy_calls, copy_operations, crossings;
	uint32_t map_calls, bind_calls;
	int gnttabs, gntshrs, evtchns, mapped, shared;	/* open now */
	uint32_t notified[FAKE_PORTS], unmasked[FAKE_PORTS];	/* by local port */
	uint8_t *own[FAKE_OWN_MAX];
};
extern struct fake_xen fake;

void fake_xen_setup(void);	/* fresh memory of 0x5a, no wishes, nothing open */
void fake_xen_teardown(void);	/* fails the test if anything is still open */

/* An event descriptor for events_open(), and the end to write fired local ports into. */
int fake_evtchn_fd(int *write_end);
void fake_evtchn_fire(int write_end, uint32_t local_port);
/* Adds what was unmasked since the last call to fake.unmasked. */
void fake_evtchn_count_unmasked(int write_end);

#endif
