/* xenstore.h - the little of libxenstore that unetbackd needs
 *
 * Paths that do not start with a slash are below our own domain's home, so nothing here or above
 * knows whether that is dom0.  Calls wait for xenstored, which answers at once or not at all.  All
 * return 0 or -errno; none logs, the caller knows what it wanted.  unetbackd's one thread. */
#ifndef BACKEND_XENSTORE_H
#define BACKEND_XENSTORE_H

#include <stddef.h>
#include <stdint.h>

#define XENSTORE_PATH 256	/* bytes of a path of ours, with the NUL */

struct xenstore;

/* -errno with one line logged that names what is missing. */
int xenstore_open(struct xenstore **store);
void xenstore_close(struct xenstore *store);
int xenstore_fd(const struct xenstore *store);	/* readable when xenstore_next_event() has one */
/* Readable when xenstored has gone, which xenstore_next_event() then says.  -1: cannot be seen, because
 * the connection is the kernel's (outside of xenstored's domain). */
int xenstore_sensor_fd(const struct xenstore *store);
/* A new connection, without watches, in place of one that is lost. */
int xenstore_reopen(struct xenstore *store);

/* A value as text.  -EMSGSIZE if it, with a NUL, does not fit; -EILSEQ if a NUL lies in it. */
int xenstore_read(struct xenstore *store, const char *path, char *value, size_t size);
int xenstore_write(struct xenstore *store, const char *path, const char *value);
/* Removes @path, and above it the folders that are empty then, up to @levels of them. */
int xenstore_remove(struct xenstore *store, const char *path, int levels);

/* Writes @count values below @folder in one transaction, but only if @folder/@guard exists: a
 * directory the toolstack has removed must not come back (-ENOENT). */
struct xenstore_value { const char *name, *value; };
int xenstore_write_all(struct xenstore *store, const char *folder, const char *guard,
		       const struct xenstore_value values[], size_t count);

/* Calls @each with the name of every child of @path. */
int xenstore_children(struct xenstore *store, const char *path,
		      void (*each)(void *context, const char *name), void *context);

/* @token comes back with each event; at most XENSTORE_TOKEN bytes with the NUL. */
#define XENSTORE_TOKEN 32
int xenstore_watch(struct xenstore *store, const char *path, const char *token);
void xenstore_unwatch(struct xenstore *store, const char *path, const char *token);
/* The next event: 1 with path and token cut to their sizes, 0 if there is none now, -ECONNRESET when
 * xenstored is gone. */
int xenstore_next_event(struct xenstore *store, char *path, size_t path_size,
			char token[XENSTORE_TOKEN]);

#endif
