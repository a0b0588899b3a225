/* simtoolstack.h - the two halves of simtoolstack, for each other */
#ifndef TESTS_SIM_SIMTOOLSTACK_H
#define TESTS_SIM_SIMTOOLSTACK_H

#include <stdbool.h>
#include <stdint.h>
#include <xenstore.h>

struct toolstack {
	struct xs_handle *xs;
	xs_transaction_t transaction;	/* all reads and writes are in it; XBT_NULL outside */
};

struct vif {
	uint32_t domid, handle, backend_domid;
	char frontend[128], backend[128], libxl[128];
	const char *mac, *bridge, *script, *mtu;
	bool hotplug;
	int timeout;			/* seconds to wait for the backend, each time */
};

/* simtoolstack_store.c.  Failures end the program with a line that names the path. */
void store_write(struct toolstack *ts, const char *folder, const char *name, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));
/* The value, to be freed, or NULL. */
char *store_read(struct toolstack *ts, const char *folder, const char *name);
void store_folder(struct toolstack *ts, const char *path, uint32_t owner, uint32_t reader);
/* Removes a folder, and those above it that are empty then. */
void store_cleanup(struct toolstack *ts, const char *path);
/* True when @folder/state has become @state; with @or_gone also when it is no more. */
bool store_wait_state(struct toolstack *ts, const char *folder, int state, bool or_gone,
		      int timeout);
/* Runs @change in a transaction, again until no one was in between. */
void store_transaction(struct toolstack *ts, void (*change)(struct toolstack *, const void *),
		       const void *argument);

#endif
