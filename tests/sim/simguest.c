/* simguest.c - the kernel of a simulated guest; see simguest.h
 *
 * Allocators are byte maps searched from where the last search ended, so that a freed frame or
 * reference is not given out again at once: a stale use by the backend then shows. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "simguest.h"

static int control_domain(enum sim_op op, uint32_t domid)
{
	struct sim_call *call = calloc(1, sizeof *call);
	int fd = client_connect(SIM_CTL, 0, SOCK_CLOEXEC), error = -1;

	if (call && fd >= 0) {
		call->op = op;
		call->arg[0] = domid;
		error = client_call(fd, call, NULL);
	}
	if (fd >= 0)
		close(fd);
	free(call);
	return error;
}

static int attach(struct simguest *guest)
{
	uint32_t ports[SIM_PORTS], count;

	guest->fd = client_connect(SIM_GUEST, guest->domid, SOCK_CLOEXEC);
	if (guest->fd < 0)
		return -1;
	if (client_attach(guest->fd, &guest->control, &guest->domid, ports, &count) != 0)
		return -1;
	return client_domain_map(guest->control, guest->domid, &guest->domain);
}

/* Another kernel's grants that are still mapped somewhere are not ours to give out. */
static void reserve(struct simguest *guest)
{
	guest->frame_used[0] = 1;
	memset(guest->ref_used, 1, SIM_GRANTS_RESERVED);
	for (uint32_t ref = 0; ref < SIM_GRANTS_KERNEL; ref++) {
		const struct grant_entry_v1 *entry = simguest_entry(guest, ref);

		if (entry->flags == 0)
			continue;
		guest->ref_used[ref] = 1;
		if (entry->frame < SIM_PAGES_KERNEL)
			guest->frame_used[entry->frame] = 1;
	}
}

struct simguest *simguest_start(uint32_t domid)
{
	struct simguest *guest = calloc(1, sizeof *guest);

	if (!guest)
		return NULL;
	guest->domid = domid;
	guest->fd = guest->control = guest->domain.memory_fd = -1;
	if (control_domain(SIM_CREATE, domid) != 0 && errno != EEXIST) {
		free(guest);
		return NULL;
	}
	if (attach(guest) != 0) {
		int error = errno;

		simguest_crash(guest);
		errno = error;
		return NULL;
	}
	reserve(guest);
	return guest;
}

void simguest_crash(struct simguest *guest)
{
	if (!guest)
		return;
	if (guest->fd >= 0)
		close(guest->fd);
	if (guest->control >= 0)
		close(guest->control);
	client_domain_unmap(&guest->domain);
	free(guest);
}

void simguest_destroy(struct simguest *guest)
{
	if (!guest)
		return;
	control_domain(SIM_DESTROY, guest->domid);
	simguest_crash(guest);
}

static uint32_t take(uint8_t *used, uint32_t size, uint32_t *next, const char *what)
{
	for (uint32_t tried = 0; tried < size; tried++) {
		uint32_t i = (*next)++ % size;

		if (used[i])
			continue;
		used[i] = 1;
		return i;
	}
	fprintf(stderr, "simguest: out of %s\n", what);
	abort();
}

uint32_t simguest_page_alloc(struct simguest *guest)
{
	uint32_t frame = take(guest->frame_used, SIM_PAGES_KERNEL, &guest->next_frame, "pages");

	memset(simguest_page(guest, frame), 0, SIM_PAGE);
	return frame;
}

void simguest_page_free(struct simguest *guest, uint32_t frame)
{
	assert(frame < SIM_PAGES_KERNEL && guest->frame_used[frame]);
	guest->frame_used[frame] = 0;
}

void *simguest_page(const struct simguest *guest, uint32_t frame)
{
	return guest->domain.memory + (size_t)frame * SIM_PAGE;
}

struct grant_entry_v1 *simguest_entry(const struct simguest *guest, uint32_t ref)
{
	return &guest->domain.table->entries[ref];
}

void simguest_grant_again(struct simguest *guest, uint32_t ref, uint32_t to, uint32_t frame,
			  bool readonly)
{
	struct grant_entry_v1 *entry = simguest_entry(guest, ref);
	uint32_t word = GTF_permit_access | (readonly ? GTF_readonly : 0) | to << 16;

	entry->frame = frame;
	__atomic_store_n((uint32_t *)(void *)entry, word, __ATOMIC_RELEASE);
}

uint32_t simguest_grant(struct simguest *guest, uint32_t to, uint32_t frame, bool readonly)
{
	uint32_t ref = take(guest->ref_used, SIM_GRANTS_KERNEL, &guest->next_ref, "grants");

	simguest_grant_again(guest, ref, to, frame, readonly);
	return ref;
}

bool simguest_revoke(struct simguest *guest, uint32_t ref)
{
	uint32_t *word = (uint32_t *)(void *)simguest_entry(guest, ref);
	uint32_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	do {
		if (old & (GTF_reading | GTF_writing))
			return false;
	} while (!__atomic_compare_exchange_n(word, &old, 0, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return true;
}

bool simguest_grant_free(struct simguest *guest, uint32_t ref)
{
	if (!simguest_revoke(guest, ref))
		return false;
	guest->ref_used[ref] = 0;
	return true;
}

static int call(struct simguest *guest, enum sim_op op, uint32_t argument)
{
	guest->call.op = op;
	guest->call.words = 0;
	guest->call.arg[0] = argument;
	return client_call(guest->control, &guest->call, NULL) == 0 ? (int)guest->call.arg[0] : -1;
}

int simguest_port_alloc(struct simguest *guest, uint32_t remote)
{
	return call(guest, SIM_BIND_UNBOUND, remote);
}

void simguest_port_close(struct simguest *guest, uint32_t port)
{
	guest->handlers[port] = (struct simguest_handler){ 0 };
	call(guest, SIM_UNBIND, port);
}

int simguest_notify(struct simguest *guest, uint32_t port)
{
	uint32_t words[2] = { SIM_WORD_NOTIFY, port };

	return client_words(guest->fd, words, 2);
}

int simguest_unmask(struct simguest *guest, uint32_t port)
{
	return client_words(guest->fd, &port, 1);
}

int simguest_wait(struct simguest *guest, int timeout)
{
	struct pollfd pollfd = { .fd = guest->fd, .events = POLLIN };
	uint32_t port;
	int ready = poll(&pollfd, 1, timeout);

	if (ready <= 0) {
		if (ready == 0)
			errno = ETIMEDOUT;
		return -1;
	}
	if (read(guest->fd, &port, sizeof port) == sizeof port)
		return (int)port;
	errno = EIO;
	return -1;
}

void simguest_handle(struct simguest *guest, uint32_t port, struct simguest_handler handler)
{
	guest->handlers[port] = handler;
}

/* Unmasked first: what the handler then finds in the rings covers every event until now. */
void simguest_dispatch(struct simguest *guest)
{
	int port;

	while ((port = simguest_wait(guest, 0)) > 0) {
		struct simguest_handler handler = guest->handlers[port];

		simguest_unmask(guest, (uint32_t)port);
		if (handler.event)
			handler.event(handler.context, (uint32_t)port);
	}
}
