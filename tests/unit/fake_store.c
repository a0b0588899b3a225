/* fake_store.c - XenStore for tests; see fake_store.h */
#include "fake_store.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#define NODES_MAX 4096
#define WATCHES_MAX 1024
#define EVENTS_MAX 65536

struct fake_store fake_store;

struct xenstore { int unused; };
static struct xenstore the_store;

static struct { char path[XENSTORE_PATH], value[4096]; } *nodes;
static size_t node_count;
static struct { char path[XENSTORE_PATH], asked[XENSTORE_PATH], token[XENSTORE_TOKEN]; } *watches;
static struct { char path[XENSTORE_PATH], token[XENSTORE_TOKEN]; } *events;
static size_t event_head, event_tail;

struct xenstore *fake_store_open(uint16_t self)
{
	fake_store = (struct fake_store){ .self = self };
	nodes = calloc(NODES_MAX, sizeof *nodes);
	watches = calloc(WATCHES_MAX, sizeof *watches);
	events = calloc(EVENTS_MAX, sizeof *events);
	assert_true(nodes && watches && events);
	node_count = event_head = event_tail = 0;
	return &the_store;
}

void fake_store_close(void)
{
	free(nodes);
	free(watches);
	free(events);
	nodes = NULL;
	assert_int_equal(fake_store.watches, 0);
}

static const char *absolute(const char *path, char full[XENSTORE_PATH])
{
	int length;

	if (path[0] == '/')
		length = snprintf(full, XENSTORE_PATH, "%s", path);
	else
		length = snprintf(full, XENSTORE_PATH, "/local/domain/%u/%s", fake_store.self, path);
	assert_true(length < XENSTORE_PATH);
	return full;
}

/* @path is @folder or below it. */
static bool is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

static size_t find_node(const char *full)
{
	size_t i = 0;

	while (i < node_count && strcmp(nodes[i].path, full) != 0)
		i++;
	return i;
}

/* An event carries the path in the form in which the watch was asked for. */
static void add_event(size_t watch, const char *full)
{
	size_t home = strlen(watches[watch].path) - strlen(watches[watch].asked);

	assert_true(event_tail < EVENTS_MAX);
	snprintf(events[event_tail].path, XENSTORE_PATH, "%s",
		 is_below(full, watches[watch].path) ? full + home : watches[watch].asked);
	memcpy(events[event_tail++].token, watches[watch].token, XENSTORE_TOKEN);
}

static void fire(const char *full, bool removed)
{
	if (event_head == event_tail)
		event_head = event_tail = 0;
	for (size_t i = 0; i < WATCHES_MAX; i++)
		if (watches[i].path[0] != '\0' &&
		    (is_below(full, watches[i].path) || (removed && is_below(watches[i].path, full))))
			add_event(i, full);
}

void fake_store_fire(const char *path)
{
	char full[XENSTORE_PATH];

	fire(absolute(path, full), false);
}

void fake_store_set(const char *path, const char *value)
{
	char full[XENSTORE_PATH];
	size_t i;

	absolute(path, full);
	if (!value) {
		for (i = 0; i < node_count; )
			if (is_below(nodes[i].path, full))
				nodes[i] = nodes[--node_count];
			else
				i++;
		fire(full, true);
		return;
	}
	i = find_node(full);
	assert_true(i < NODES_MAX);
	node_count += i == node_count;
	memcpy(nodes[i].path, full, sizeof full);
	snprintf(nodes[i].value, sizeof nodes[i].value, "%s", value);
	fire(full, false);
}

void fake_store_setf(const char *value, const char *format, ...)
{
	char path[XENSTORE_PATH];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(path, sizeof path, format, arguments);
	va_end(arguments);
	fake_store_set(path, value);
}

const char *fake_store_get(const char *path)
{
	char full[XENSTORE_PATH];
	size_t i = find_node(absolute(path, full));

	return i < node_count ? nodes[i].value : "";
}

bool fake_store_exists(const char *path)
{
	char full[XENSTORE_PATH];

	absolute(path, full);
	for (size_t i = 0; i < node_count; i++)
		if (is_below(nodes[i].path, full))
			return true;
	return false;
}

/* --- xenstore.h ------------------------------------------------------------------------------- */

int xenstore_fd(const struct xenstore *store)
{
	(void)store;
	return 0;
}

int xenstore_sensor_fd(const struct xenstore *store)
{
	(void)store;
	return 1;
}

int xenstore_reopen(struct xenstore *store)
{
	assert_ptr_equal(store, &the_store);
	if (fake_store.lost)
		return -ECONNREFUSED;
	memset(watches, 0, WATCHES_MAX * sizeof *watches);
	fake_store.watches = 0;
	event_head = event_tail = 0;
	return 0;
}

static bool ends_with(const char *path, const char *end)
{
	size_t length = strlen(path), tail = strlen(end);

	return length >= tail && strcmp(path + length - tail, end) == 0;
}

int xenstore_read(struct xenstore *store, const char *path, char *value, size_t size)
{
	char full[XENSTORE_PATH];
	size_t i = find_node(absolute(path, full));

	assert_ptr_equal(store, &the_store);
	fake_store.reads++;
	if (fake_store.lost)
		return -EIO;
	if (fake_store.fail_read && ends_with(full, fake_store.fail_read))
		return -EIO;
	if (i == node_count)
		return -ENOENT;
	if (strlen(nodes[i].value) >= size)
		return -EMSGSIZE;
	memcpy(value, nodes[i].value, strlen(nodes[i].value) + 1);
	return 0;
}

int xenstore_write(struct xenstore *store, const char *path, const char *value)
{
	char full[XENSTORE_PATH];

	assert_ptr_equal(store, &the_store);
	fake_store.writes++;
	if (fake_store.lost || fake_store.fail_write)
		return fake_store.lost ? -EIO : fake_store.fail_write;
	if (fake_store.read_only && is_below(absolute(path, full), fake_store.read_only))
		return -EACCES;
	fake_store_set(absolute(path, full), value);
	if (fake_store.wrote)
		fake_store.wrote(full, value);
	return 0;
}

/* Folders are only what lies in them here: none is ever left empty. */
int xenstore_remove(struct xenstore *store, const char *path, int levels)
{
	assert_ptr_equal(store, &the_store);
	assert_true(levels > 0);
	if (!fake_store_exists(path))
		return -ENOENT;
	fake_store_set(path, NULL);
	return 0;
}

int xenstore_write_all(struct xenstore *store, const char *folder, const char *guard,
		       const struct xenstore_value values[], size_t count)
{
	char path[XENSTORE_PATH];
	int error = 0;

	snprintf(path, sizeof path, "%s/%s", folder, guard);
	if (!fake_store_exists(path))
		return -ENOENT;
	for (size_t i = 0; !error && i < count; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, values[i].name);
		error = xenstore_write(store, path, values[i].value);
	}
	return error;
}

/* As of now: @each may change the store. */
int xenstore_children(struct xenstore *store, const char *path,
		      void (*each)(void *context, const char *name), void *context)
{
	char full[XENSTORE_PATH], (*names)[XENSTORE_PATH] = calloc(NODES_MAX, sizeof *names);
	size_t length = strlen(absolute(path, full)), count = 0;

	assert_ptr_equal(store, &the_store);
	fake_store.reads++;
	for (size_t i = 0; i < node_count; i++) {
		char name[XENSTORE_PATH];
		size_t seen = 0;

		if (!is_below(nodes[i].path, full) || nodes[i].path[length] == '\0')
			continue;
		snprintf(name, sizeof name, "%s", nodes[i].path + length + 1);
		name[strcspn(name, "/")] = '\0';
		while (seen < count && strcmp(names[seen], name) != 0)
			seen++;
		if (seen == count)
			memcpy(names[count++], name, sizeof name);
	}
	for (size_t i = 0; i < count; i++)
		each(context, names[i]);
	free(names);
	return fake_store_exists(path) ? 0 : -ENOENT;
}

int xenstore_watch(struct xenstore *store, const char *path, const char *token)
{
	char full[XENSTORE_PATH];
	size_t i = 0;

	assert_ptr_equal(store, &the_store);
	if (fake_store.fail_watch)
		return fake_store.fail_watch;
	while (watches[i].path[0] != '\0')
		assert_true(++i < WATCHES_MAX);
	memcpy(watches[i].path, absolute(path, full), sizeof full);
	snprintf(watches[i].asked, XENSTORE_PATH, "%s", path);
	snprintf(watches[i].token, XENSTORE_TOKEN, "%s", token);
	fake_store.watches++;
	add_event(i, full);		/* xenstored: a watch fires once when it is set */
	return 0;
}

void xenstore_unwatch(struct xenstore *store, const char *path, const char *token)
{
	assert_ptr_equal(store, &the_store);
	for (size_t i = 0; i < WATCHES_MAX; i++)
		if (strcmp(watches[i].asked, path) == 0 && strcmp(watches[i].token, token) == 0) {
			watches[i].path[0] = watches[i].asked[0] = '\0';
			fake_store.watches--;
			return;
		}
	fail_msg("no watch on %s with token %s", path, token);
}

int xenstore_next_event(struct xenstore *store, char *path, size_t path_size,
			char token[XENSTORE_TOKEN])
{
	assert_ptr_equal(store, &the_store);
	if (fake_store.lost)
		return -ECONNRESET;
	if (event_head == event_tail)
		return 0;
	snprintf(path, path_size, "%s", events[event_head].path);
	memcpy(token, events[event_head++].token, XENSTORE_TOKEN);
	return 1;
}
