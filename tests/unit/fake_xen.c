/* fake_xen.c - see fake_xen.h */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_xen.h"
#include "unit.h"

struct fake_xen fake;

struct xengntdev_handle { int unused; };
struct xenevtchn_handle { int fd; };

void fake_xen_setup(void)
{
	fake = (struct fake_xen){
		.fail_operation = FAKE_NEVER, .fail_map = FAKE_NEVER, .fail_bind = FAKE_NEVER,
		.notify_fd = -1,
	};
	fake.guest = aligned_alloc(4096, FAKE_PAGES * 4096);
	assert_non_null(fake.guest);
	memset(fake.guest, 0x5a, FAKE_PAGES * 4096);
}

void fake_xen_teardown(void)
{
	free(fake.guest);
	fake.guest = NULL;
	SAME("left open", fake.gnttabs, 0);
	SAME("left open", fake.gntshrs, 0);
	SAME("left open", fake.evtchns, 0);
	SAME("left mapped", fake.mapped, 0);
	SAME("left shared", fake.shared, 0);
}

/* --- grants ----------------------------------------------------------------------------------- */

xengnttab_handle *xengnttab_open(struct xentoollog_logger *logger, unsigned flags)
{
	(void)logger;
	(void)flags;
	fake.gnttabs++;
	return malloc(sizeof(xengnttab_handle));
}

int xengnttab_close(xengnttab_handle *gnttab)
{
	fake.gnttabs--;
	free(gnttab);
	return 0;
}

void *xengnttab_map_grant_ref(xengnttab_handle *gnttab, uint32_t domid, uint32_t ref, int prot)
{
	(void)gnttab;
	(void)prot;
	if (fake.map_calls++ == fake.fail_map || domid != FAKE_GUEST || ref >= FAKE_PAGES) {
		errno = EINVAL;
		return NULL;
	}
	fake.mapped++;
	return fake.guest[ref];
}

int xengnttab_unmap(xengnttab_handle *gnttab, void *start, uint32_t count)
{
	(void)gnttab;
	(void)start;
	fake.mapped -= (int)count;
	return 0;
}

/* The memory of a grant, or NULL with the status the hypervisor would give. */
static uint8_t *grant_memory(uint32_t ref, uint16_t offset, uint16_t domid, uint16_t length,
			     int16_t *status)
{
	uint8_t *page = NULL;

	if (domid == FAKE_GUEST && ref < FAKE_PAGES)
		page = fake.guest[ref];
	else if (domid == FAKE_SELF && ref >= FAKE_OWN_FIRST && ref - FAKE_OWN_FIRST < FAKE_OWN_MAX)
		page = fake.own[ref - FAKE_OWN_FIRST];
	if (!page) {
		*status = GNTST_bad_gntref;
		return NULL;
	}
	if ((uint32_t)offset + length > 4096) {
		fake.crossings++;
		*status = GNTST_bad_copy_arg;
		return NULL;
	}
	return page + offset;
}

static uint8_t *copy_end(const union xengnttab_copy_ptr *end, bool is_grant, uint16_t length,
			 int16_t *status)
{
	if (!is_grant)
		return end->virt;
	return grant_memory(end->foreign.ref, end->foreign.offset, end->foreign.domid, length,
			    status);
}

static void copy_one(xengnttab_grant_copy_segment_t *segment)
{
	int16_t status = GNTST_okay;
	uint8_t *from, *to;

	if (fake.copy_operations++ == fake.fail_operation) {
		segment->status = fake.fail_status;
		return;
	}
	from = copy_end(&segment->source, segment->flags & GNTCOPY_source_gref, segment->len,
			&status);
	to = copy_end(&segment->dest, segment->flags & GNTCOPY_dest_gref, segment->len, &status);
	segment->status = status;
	if (status == GNTST_okay)
		memcpy(to, from, segment->len);
}

int xengnttab_grant_copy(xengnttab_handle *gnttab, uint32_t count,
			 xengnttab_grant_copy_segment_t *segments)
{
	(void)gnttab;
	fake.copy_calls++;
	if (fake.on_copy)
		fake.on_copy();
	if (fake.fail_copy_call) {
		errno = EFAULT;
		return -1;
	}
	for (uint32_t i = 0; i < count; i++)
		copy_one(&segments[i]);
	return 0;
}

/* --- our own grants --------------------------------------------------------------------------- */

xengntshr_handle *xengntshr_open(struct xentoollog_logger *logger, unsigned flags)
{
	(void)logger;
	(void)flags;
	if (fake.no_gntalloc) {
		errno = ENOENT;
		return NULL;
	}
	fake.gntshrs++;
	return malloc(sizeof(xengntshr_handle));
}

int xengntshr_close(xengntshr_handle *gntshr)
{
	fake.gntshrs--;
	free(gntshr);
	return 0;
}

/* References are given out backwards, so that code which counts them up itself is found out. */
void *xengntshr_share_pages(xengntshr_handle *gntshr, uint32_t domid, int count, uint32_t *refs,
			    int writable)
{
	uint8_t *data = aligned_alloc(4096, (size_t)count * 4096);
	int given = 0;

	(void)gntshr;
	(void)writable;
	if (!data || domid != FAKE_SELF)
		abort();
	memset(data, 0, (size_t)count * 4096);
	for (uint32_t slot = FAKE_OWN_MAX; slot-- > 0 && given < count; ) {
		if (fake.own[slot])
			continue;
		refs[given] = FAKE_OWN_FIRST + slot;
		fake.own[slot] = data + given++ * 4096;
	}
	if (given < count)
		abort();
	fake.shared += count;
	return data;
}

int xengntshr_unshare(xengntshr_handle *gntshr, void *start, uint32_t count)
{
	uint8_t *data = start;

	(void)gntshr;
	for (uint32_t slot = 0; slot < FAKE_OWN_MAX; slot++)
		if (fake.own[slot] >= data && fake.own[slot] < data + count * 4096)
			fake.own[slot] = NULL;
	free(data);
	fake.shared -= (int)count;
	return 0;
}

/* --- event channels --------------------------------------------------------------------------- */

int fake_evtchn_fd(int *write_end)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	*write_end = ends[1];
	return ends[0];
}

void fake_evtchn_count_unmasked(int write_end)
{
	uint32_t ports[2];
	ssize_t got;

	while ((got = recv(write_end, ports, sizeof ports, MSG_DONTWAIT)) > 0)
		for (size_t i = 0; i < (size_t)got / sizeof *ports; i++)
			fake.unmasked[ports[i]]++;
}

void fake_evtchn_fire(int write_end, uint32_t local_port)
{
	fake_evtchn_count_unmasked(write_end);	/* the socket holds few messages */
	assert_int_equal(write(write_end, &local_port, sizeof local_port), sizeof local_port);
}

xenevtchn_handle *xenevtchn_fdopen(struct xentoollog_logger *logger, int fd, unsigned flags)
{
	xenevtchn_handle *evtchn = malloc(sizeof *evtchn);

	(void)logger;
	(void)flags;
	evtchn->fd = fd;
	fake.evtchns++;
	return evtchn;
}

int xenevtchn_close(xenevtchn_handle *evtchn)
{
	close(evtchn->fd);
	free(evtchn);
	fake.evtchns--;
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *evtchn)
{
	return evtchn->fd;
}

xenevtchn_port_or_error_t xenevtchn_bind_interdomain(xenevtchn_handle *evtchn, uint32_t domid,
						     evtchn_port_t remote)
{
	(void)evtchn;
	if (fake.bind_calls++ == fake.fail_bind || domid != FAKE_GUEST) {
		errno = ENOENT;
		return -1;
	}
	return (int)FAKE_LOCAL(remote);
}

int xenevtchn_notify(xenevtchn_handle *evtchn, evtchn_port_t port)
{
	const uint64_t one = 1;

	(void)evtchn;
	__atomic_fetch_add(&fake.notified[port], 1, __ATOMIC_SEQ_CST);
	if (fake.notify_fd >= 0 && write(fake.notify_fd, &one, sizeof one) != sizeof one)
		abort();
	return 0;
}
