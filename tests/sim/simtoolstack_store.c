/* simtoolstack_store.c - XenStore as libxl uses it; see simtoolstack.h */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "simtoolstack.h"

static void __attribute__((noreturn)) fail(const char *what, const char *path)
{
	fprintf(stderr, "simtoolstack: %s %s: %s\n", what, path, strerror(errno));
	exit(EXIT_FAILURE);
}

void store_write(struct toolstack *ts, const char *folder, const char *name, const char *format,
		 ...)
{
	char path[256], value[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(value, sizeof value, format, arguments);
	va_end(arguments);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	if (!xs_write(ts->xs, ts->transaction, path, value, (unsigned int)strlen(value)))
		fail("cannot write", path);
}

char *store_read(struct toolstack *ts, const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return xs_read(ts->xs, ts->transaction, path, NULL);
}

void store_folder(struct toolstack *ts, const char *path, uint32_t owner, uint32_t reader)
{
	struct xs_permissions permissions[2] = { { owner, XS_PERM_NONE },
						 { reader, XS_PERM_READ } };

	if (!xs_mkdir(ts->xs, ts->transaction, path) ||
	    !xs_set_permissions(ts->xs, ts->transaction, path, permissions, 2))
		fail("cannot make", path);
}

void store_cleanup(struct toolstack *ts, const char *path)
{
	char parent[256], *slash;

	if (!xs_rm(ts->xs, ts->transaction, path) && errno != ENOENT)
		fail("cannot remove", path);
	snprintf(parent, sizeof parent, "%s", path);
	while ((slash = strrchr(parent, '/')) && slash != parent) {
		unsigned int count;
		char **names;

		*slash = '\0';
		names = xs_directory(ts->xs, ts->transaction, parent, &count);
		free(names);
		if (!names || count > 0 || !xs_rm(ts->xs, ts->transaction, parent))
			break;
	}
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool state_is(struct toolstack *ts, const char *folder, int state, bool or_gone)
{
	char *text = store_read(ts, folder, "state");
	bool is = text ? atoi(text) == state : or_gone;

	free(text);
	return is;
}

bool store_wait_state(struct toolstack *ts, const char *folder, int state, bool or_gone,
		      int timeout)
{
	int64_t end = now_ms() + timeout * 1000, left;
	struct pollfd pollfd = { .fd = xs_fileno(ts->xs), .events = POLLIN };
	char path[256];
	bool reached;
	unsigned int count;

	snprintf(path, sizeof path, "%s/state", folder);
	if (!xs_watch(ts->xs, path, "wait"))
		fail("cannot watch", path);
	while (!(reached = state_is(ts, folder, state, or_gone)) && (left = end - now_ms()) > 0)
		if (poll(&pollfd, 1, (int)left) > 0)
			free(xs_read_watch(ts->xs, &count));
	xs_unwatch(ts->xs, path, "wait");
	return reached;
}

void store_transaction(struct toolstack *ts, void (*change)(struct toolstack *, const void *),
		       const void *argument)
{
	bool done = false;

	while (!done) {
		ts->transaction = xs_transaction_start(ts->xs);
		if (ts->transaction == XBT_NULL)
			fail("cannot start", "a transaction");
		change(ts, argument);
		done = xs_transaction_end(ts->xs, ts->transaction, false);
		ts->transaction = XBT_NULL;
		if (!done && errno != EAGAIN)
			fail("cannot end", "a transaction");
	}
}
