/* xenstore.c - the little of libxenstore that unetbackd needs; see xenstore.h
 *
 * libxenstore does not tell when xenstored is gone: the thread that reads events for it just ends.  So
 * we keep a connection of our own to xenstored's socket, on which nothing is ever said, and whose end
 * is the news.
 *
 * That thread also reads the answers to requests on its connection, at the price of one more wake-up
 * each (measured: 160 microseconds a read, not 100), and a handshake has fifty while the guest waits.
 * So watches have a connection of their own, and requests one without a thread.  An event is sent after
 * the change it tells of, so what is read then is never older. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <xenstore.h>
#include <xenstore_lib.h>

#include "log.h"
#include "xenstore.h"

#define TRANSACTION_TRIES 50	/* each lost to somebody else's write */

struct xenstore {
	struct xs_handle *handle;	/* requests */
	struct xs_handle *watches;
	int sensor;
};

static int last_error(void)
{
	return errno > 0 ? -errno : -EIO;
}

static int open_sensor(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", xs_daemon_socket());
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void close_all(struct xenstore *store)
{
	xs_close(store->handle);
	xs_close(store->watches);
	if (store->sensor >= 0)
		close(store->sensor);
}

int xenstore_reopen(struct xenstore *store)
{
	struct xs_handle *handle = xs_open(0), *watches = handle ? xs_open(0) : NULL;

	if (!watches) {
		int error = last_error();

		xs_close(handle);
		return error;
	}
	close_all(store);
	store->handle = handle;
	store->watches = watches;
	store->sensor = open_sensor();
	return 0;
}

int xenstore_open(struct xenstore **out)
{
	struct xenstore *store = calloc(1, sizeof *store);
	int error;

	if (!store)
		return -ENOMEM;
	store->sensor = -1;
	error = xenstore_reopen(store);
	if (error) {
		log_error("no connection to xenstored: %s; is this a Xen domain and is xenstored running?",
			  strerror(-error));
		free(store);
		return error;
	}
	*out = store;
	return 0;
}

void xenstore_close(struct xenstore *store)
{
	if (!store)
		return;
	close_all(store);
	free(store);
}

int xenstore_fd(const struct xenstore *store)
{
	return xs_fileno(store->watches);
}

int xenstore_sensor_fd(const struct xenstore *store)
{
	return store->sensor;
}

static bool is_gone(const struct xenstore *store)
{
	char byte;
	ssize_t got = store->sensor < 0 ? 1 : recv(store->sensor, &byte, 1, MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

int xenstore_read(struct xenstore *store, const char *path, char *value, size_t size)
{
	unsigned int length;
	char *data = xs_read(store->handle, XBT_NULL, path, &length);
	int error = 0;

	if (!data)
		return last_error();
	if (length >= size)
		error = -EMSGSIZE;
	else if (memchr(data, '\0', length))
		error = -EILSEQ;
	else
		memcpy(value, data, (size_t)length + 1);	/* libxenstore adds a NUL */
	free(data);
	return error;
}

static int write_in(struct xenstore *store, xs_transaction_t transaction, const char *path,
		    const char *value)
{
	if (!xs_write(store->handle, transaction, path, value, (unsigned int)strlen(value)))
		return last_error();
	return 0;
}

int xenstore_write(struct xenstore *store, const char *path, const char *value)
{
	return write_in(store, XBT_NULL, path, value);
}

static int join(char path[XENSTORE_PATH], const char *folder, const char *name)
{
	int length = snprintf(path, XENSTORE_PATH, "%s/%s", folder, name);

	return length < XENSTORE_PATH ? 0 : -ENAMETOOLONG;
}

static int check_guard(struct xenstore *store, xs_transaction_t transaction, const char *folder,
		       const char *guard)
{
	char path[XENSTORE_PATH];
	unsigned int length;
	char *data;

	if (join(path, folder, guard) != 0)
		return -ENAMETOOLONG;
	data = xs_read(store->handle, transaction, path, &length);
	if (!data)
		return last_error();
	free(data);
	return 0;
}

static int write_values(struct xenstore *store, xs_transaction_t transaction, const char *folder,
			const struct xenstore_value values[], size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		char path[XENSTORE_PATH];

		error = join(path, folder, values[i].name);
		if (!error)
			error = write_in(store, transaction, path, values[i].value);
	}
	return error;
}

/* One try: 0, -EAGAIN if somebody else wrote meanwhile, or another error. */
static int try_write_all(struct xenstore *store, const char *folder, const char *guard,
			 const struct xenstore_value values[], size_t count)
{
	xs_transaction_t transaction = xs_transaction_start(store->handle);
	int error;

	if (transaction == XBT_NULL)
		return last_error();
	error = check_guard(store, transaction, folder, guard);
	if (!error)
		error = write_values(store, transaction, folder, values, count);
	if (!xs_transaction_end(store->handle, transaction, error != 0) && !error)
		error = last_error();
	return error;
}

int xenstore_write_all(struct xenstore *store, const char *folder, const char *guard,
		       const struct xenstore_value values[], size_t count)
{
	int error = -EAGAIN;

	for (int tries = 0; tries < TRANSACTION_TRIES && error == -EAGAIN; tries++)
		error = try_write_all(store, folder, guard, values, count);
	return error;
}

static bool is_empty(struct xenstore *store, xs_transaction_t transaction, const char *path)
{
	unsigned int count;
	char **names = xs_directory(store->handle, transaction, path, &count);

	free(names);
	return names && count == 0;
}

/* One try, as above. */
static int try_remove(struct xenstore *store, const char *path, int levels)
{
	xs_transaction_t transaction = xs_transaction_start(store->handle);
	char above[XENSTORE_PATH];
	char *slash;
	int error = 0;

	if (transaction == XBT_NULL)
		return last_error();
	snprintf(above, sizeof above, "%s", path);
	if (!xs_rm(store->handle, transaction, path))
		error = last_error();
	while (!error && levels-- > 0 && (slash = strrchr(above, '/'))) {
		*slash = '\0';
		if (!is_empty(store, transaction, above))
			break;
		if (!xs_rm(store->handle, transaction, above))
			error = last_error();
	}
	if (!xs_transaction_end(store->handle, transaction, error != 0) && !error)
		error = last_error();
	return error;
}

int xenstore_remove(struct xenstore *store, const char *path, int levels)
{
	int error = -EAGAIN;

	for (int tries = 0; tries < TRANSACTION_TRIES && error == -EAGAIN; tries++)
		error = try_remove(store, path, levels);
	return error;
}

int xenstore_children(struct xenstore *store, const char *path,
		      void (*each)(void *context, const char *name), void *context)
{
	unsigned int count;
	char **names = xs_directory(store->handle, XBT_NULL, path, &count);

	if (!names)
		return last_error();
	for (unsigned int i = 0; i < count; i++)
		each(context, names[i]);
	free(names);
	return 0;
}

int xenstore_watch(struct xenstore *store, const char *path, const char *token)
{
	return xs_watch(store->watches, path, token) ? 0 : last_error();
}

void xenstore_unwatch(struct xenstore *store, const char *path, const char *token)
{
	xs_unwatch(store->watches, path, token);
}

int xenstore_next_event(struct xenstore *store, char *path, size_t path_size,
			char token[XENSTORE_TOKEN])
{
	char **event = xs_check_watch(store->watches);

	if (!event)
		return is_gone(store) ? -ECONNRESET : 0;
	snprintf(path, path_size, "%s", event[XS_WATCH_PATH]);
	snprintf(token, XENSTORE_TOKEN, "%s", event[XS_WATCH_TOKEN]);
	free(event);
	return 1;
}
