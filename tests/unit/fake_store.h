/* fake_store.h - XenStore for tests: xenstore.h over a list in memory
 *
 * Defined in the test program itself, so the linker never asks for backend/xenstore.c.  Watches fire as
 * xenstored's do: for the watched path, what is below it, and for what is removed above it.  Calls are
 * counted and can be made to fail.
 *
 * Unfaithful: no transactions to lose, no permissions, no quota. */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

#include <stdbool.h>

#include "../../backend/xenstore.h"

struct fake_store {
	uint16_t self;			/* whose home relative paths are below; set before use */

	/* Wishes. */
	int fail_write;			/* -errno of every write */
	int fail_watch;
	const char *read_only;		/* what is this or below it the daemon may not write: -EACCES */
	const char *fail_read;		/* a read of a path that ends so fails with -EIO */
	bool lost;			/* xenstored is gone: nothing works */
	void (*wrote)(const char *path, const char *value);	/* hears of each write by the daemon */

	/* What happened. */
	unsigned int reads, writes, watches;	/* watches: set now */
};
extern struct fake_store fake_store;

struct xenstore *fake_store_open(uint16_t self);
void fake_store_close(void);		/* fails the test if a watch is left */

/* What others do; absolute paths, or below our own home.  A NULL value removes path and all below it. */
void fake_store_set(const char *path, const char *value);
void fake_store_setf(const char *value, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "" if there is none. */
const char *fake_store_get(const char *path);
bool fake_store_exists(const char *path);	/* the path or something below it */
void fake_store_fire(const char *path);		/* an event as if somebody had written there */

#endif
