/* control_ring.c - the ring over which a guest configures its vif; see control_ring.h
 *
 * A request that needs data names a page of the guest's: that is copied into memory of ours first and looked at
 * then, and only what has passed all checks becomes part of the configuration (XSA-270 was the other order). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control_ring.h"

struct answer { uint32_t status, data; };

#define SUCCESS  XEN_NETIF_CTRL_STATUS_SUCCESS
#define INVALID  XEN_NETIF_CTRL_STATUS_INVALID_PARAMETER
#define OVERFLOW XEN_NETIF_CTRL_STATUS_BUFFER_OVERFLOW
#define UNKNOWN  XEN_NETIF_CTRL_STATUS_NOT_SUPPORTED

/* --- requests --------------------------------------------------------------------------------- */

static _Alignas(XEN_PAGE) uint8_t page[XEN_PAGE];	/* the main thread's alone */

/* The first @bytes (1 to a page) of the guest's page @ref.  False if it cannot be copied. */
static bool fetch_page(struct control_ring *control, uint32_t ref, void *to, uint32_t bytes)
{
	const struct page_buffer buffer = { page, GREF_NONE };

	gcopy_reset(&control->copy);
	gcopy_from_guest(&control->copy, ref, 0, &buffer, 0, (uint16_t)bytes);
	gcopy_run(&control->copy);
	if (!gcopy_ok(&control->copy, 0))
		return false;
	memcpy(to, page, bytes);
	return true;
}

static struct answer set_algorithm(struct control_ring *control, const uint32_t data[3])
{
	if (data[0] > HASH_TOEPLITZ)
		return (struct answer){ INVALID, 0 };
	control->hash.algorithm = data[0];
	return (struct answer){ SUCCESS, 0 };
}

static struct answer get_types(struct control_ring *control, const uint32_t data[3])
{
	(void)data;
	if (control->hash.algorithm == HASH_NONE)
		return (struct answer){ UNKNOWN, 0 };
	return (struct answer){ SUCCESS, HASH_TYPES_ALL };
}

static struct answer set_types(struct control_ring *control, const uint32_t data[3])
{
	if ((data[0] & ~HASH_TYPES_ALL) != 0 || control->hash.algorithm == HASH_NONE)
		return (struct answer){ INVALID, 0 };
	control->hash.types = data[0];
	return (struct answer){ SUCCESS, 0 };
}

static struct answer set_key(struct control_ring *control, const uint32_t data[3])
{
	uint8_t key[HASH_KEY_MAX] = { 0 };

	if (data[1] > HASH_KEY_MAX)
		return (struct answer){ OVERFLOW, 0 };	/* by netif.h; xen-netback says INVALID */
	if (data[1] > 0 && !fetch_page(control, data[0], key, data[1]))
		return (struct answer){ INVALID, 0 };
	memcpy(control->hash.key, key, sizeof key);
	return (struct answer){ SUCCESS, 0 };
}

static struct answer get_mapping_size(struct control_ring *control, const uint32_t data[3])
{
	(void)control;
	(void)data;
	return (struct answer){ SUCCESS, HASH_MAPPING_MAX };
}

static struct answer set_mapping_size(struct control_ring *control, const uint32_t data[3])
{
	if (data[0] > HASH_MAPPING_MAX)
		return (struct answer){ INVALID, 0 };
	control->hash.mapping_size = data[0];
	memset(control->hash.mapping, 0, sizeof control->hash.mapping);
	return (struct answer){ SUCCESS, 0 };
}

/* All of the entries, or none of them. */
static struct answer set_mapping(struct control_ring *control, const uint32_t data[3])
{
	uint32_t entries[HASH_MAPPING_MAX], count = data[1], offset = data[2];
	uint32_t size = control->hash.mapping_size;

	if (count > size || offset > size - count)
		return (struct answer){ count > HASH_MAPPING_MAX ? OVERFLOW : INVALID, 0 };
	if (count > 0 && !fetch_page(control, data[0], entries, count * (uint32_t)sizeof *entries))
		return (struct answer){ INVALID, 0 };
	for (uint32_t i = 0; i < count; i++)
		if (entries[i] >= control->queues)
			return (struct answer){ INVALID, 0 };
	for (uint32_t i = 0; i < count; i++)
		control->hash.mapping[offset + i] = (uint8_t)entries[i];
	return (struct answer){ SUCCESS, 0 };
}

/* --- pages that stay mapped ------------------------------------------------------------------- */

static bool store_page(struct control_ring *control, uint32_t ref, const void *from, uint32_t bytes)
{
	memcpy(page, from, bytes);
	gcopy_reset(&control->copy);
	gcopy_to_guest(&control->copy, ref, 0, page, GREF_NONE, (uint16_t)bytes);
	gcopy_run(&control->copy);
	return gcopy_ok(&control->copy, 0);
}

static struct answer get_gref_size(struct control_ring *control, const uint32_t data[3])
{
	if (!control->maps)
		return (struct answer){ UNKNOWN, 0 };
	if (data[0] >= control->queues)
		return (struct answer){ INVALID, 0 };
	return (struct answer){ SUCCESS, control->maps[data[0]].limit };
}

/* The list of ADD and DEL: queue, page, number of entries.  Its bytes, or 0 if it makes no sense. */
static uint32_t fetch_list(struct control_ring *control, const uint32_t data[3], struct xen_netif_gref *list)
{
	uint32_t bytes = data[2] * (uint32_t)sizeof *list;

	if (data[0] >= control->queues || data[2] == 0 || data[2] > GREF_MAP_MAX ||
	    !fetch_page(control, data[1], list, bytes))
		return 0;
	return bytes;
}
_Static_assert(GREF_MAP_MAX * sizeof(struct xen_netif_gref) == XEN_PAGE, "the longest list fills its page");

static struct answer add_grefs(struct control_ring *control, const uint32_t data[3])
{
	struct xen_netif_gref list[GREF_MAP_MAX];

	if (!control->maps)
		return (struct answer){ UNKNOWN, 0 };
	if (fetch_list(control, data, list) == 0)
		return (struct answer){ INVALID, 0 };
	control->mapped = true;
	return (struct answer){ gref_map_add(&control->maps[data[0]], list, data[2]) ? SUCCESS : INVALID, 0 };
}

/* Each entry's own status goes back into the list; how many are unmapped is the answer's data. */
static struct answer delete_grefs(struct control_ring *control, const uint32_t data[3])
{
	struct xen_netif_gref list[GREF_MAP_MAX];
	uint32_t bytes, n;

	if (!control->maps)
		return (struct answer){ UNKNOWN, 0 };
	bytes = fetch_list(control, data, list);
	if (bytes == 0)
		return (struct answer){ INVALID, 0 };
	control->mapped = true;
	n = gref_map_delete(&control->maps[data[0]], list, data[2]);
	return (struct answer){ store_page(control, data[1], list, bytes) ? SUCCESS : INVALID, n };
}

/* By type; the others are answered as not supported. */
static struct answer (*const handlers[])(struct control_ring *control, const uint32_t data[3]) = {
	[XEN_NETIF_CTRL_TYPE_GET_HASH_FLAGS]        = get_types,
	[XEN_NETIF_CTRL_TYPE_SET_HASH_FLAGS]        = set_types,
	[XEN_NETIF_CTRL_TYPE_SET_HASH_KEY]          = set_key,
	[XEN_NETIF_CTRL_TYPE_GET_HASH_MAPPING_SIZE] = get_mapping_size,
	[XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING_SIZE] = set_mapping_size,
	[XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING]      = set_mapping,
	[XEN_NETIF_CTRL_TYPE_SET_HASH_ALGORITHM]    = set_algorithm,
	[XEN_NETIF_CTRL_TYPE_GET_GREF_MAPPING_SIZE] = get_gref_size,
	[XEN_NETIF_CTRL_TYPE_ADD_GREF_MAPPING]      = add_grefs,
	[XEN_NETIF_CTRL_TYPE_DEL_GREF_MAPPING]      = delete_grefs,
};

static struct xen_netif_ctrl_response answer(struct control_ring *control,
					     const struct xen_netif_ctrl_request *request)
{
	struct answer answer = { UNKNOWN, 0 };

	if (request->type < sizeof handlers / sizeof *handlers && handlers[request->type])
		answer = handlers[request->type](control, request->data);
	return (struct xen_netif_ctrl_response){
		.id = request->id, .type = request->type, .status = answer.status, .data = answer.data,
	};
}

/* --- serving ---------------------------------------------------------------------------------- */

/* An instance that dies before it has answered leaves the request to the next, and after that the hash. */
static void answer_one(struct control_ring *control)
{
	struct hash_config before = control->hash;
	struct xen_netif_ctrl_request request;
	struct xen_netif_ctrl_response response;

	ring_control_fetch(&control->ring, &request);
	response = answer(control, &request);
	if (control->publish && memcmp(&before, &control->hash, sizeof before) != 0)
		control->publish(control->context, &control->hash);
	if (ring_control_respond(&control->ring, &response))
		events_notify_tx(&control->events);
}

/* What is in the ring now, or until pages were mapped; one answer at a time, as most guests wait for each. */
static int serve_ring(struct control_ring *control)
{
	int available = ring_control_available(&control->ring), served = 0;

	if (available < 0) {
		control->fault = "requests in the control ring";
		return available;
	}
	control->mapped = false;
	for (; served < available && !control->mapped; served++)
		answer_one(control);
	control->requests += (uint64_t)served;
	return served;
}

int control_ring_serve(struct control_ring *control)
{
	struct hash_config before = control->hash;
	int served;

	events_take(&control->events);
	served = serve_ring(control);
	control->hash_changed = memcmp(&before, &control->hash, sizeof before) != 0;
	if (served < 0)
		return served;
	/* What came meanwhile waits for the next call, and the port stays masked (XSA-332). */
	control->more = ring_control_arm(&control->ring) != 0;
	if (!control->more)
		events_unmask(&control->events);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------- */

static int explain(char *why, size_t size, int error, const char *what, uint32_t value)
{
	snprintf(why, size, "%s %u: %s", what, value, strerror(-error));
	return error;
}

static int open_ring(struct control_ring *control, const struct vif_config *config, char *why, size_t size)
{
	control->page = xengnttab_map_grant_ref(control->gnttab, config->guest, config->control_ring_ref,
						PROT_READ | PROT_WRITE);
	if (!control->page)
		return explain(why, size, errno > 0 ? -errno : -EINVAL, "cannot map ctrl-ring-ref",
			       config->control_ring_ref);
	if (ring_control_attach(&control->ring, control->page) != 0)
		return explain(why, size, -EPROTO, "more requests than slots in the ring of ctrl-ring-ref",
			       config->control_ring_ref);
	return 0;
}

int control_ring_open(struct control_ring *control, const struct control_setup *setup, char *why, size_t size)
{
	const struct vif_config *config = setup->config;
	int error;

	memset(control, 0, sizeof *control);
	control->gnttab = setup->gnttab;
	control->queues = config->queue_count;
	control->maps = setup->maps;
	control->publish = setup->publish;
	control->context = setup->context;
	if (hash_config_is_good(setup->hash, config->queue_count))
		control->hash = *setup->hash;
	gcopy_init(&control->copy, setup->gnttab, config->guest, config->self);
	error = events_open(&control->events, setup->evtchn_fd, config->guest, config->control_port,
			    config->control_port);
	if (error)
		return explain(why, size, error, "cannot bind the guest's event-channel-ctrl",
			       config->control_port);
	error = open_ring(control, config, why, size);
	if (error)
		control_ring_close(control);
	else
		events_notify_tx(&control->events);	/* as queue_pair_open() */
	return error;
}

void control_ring_close(struct control_ring *control)
{
	events_close(&control->events);
	if (control->page)
		xengnttab_unmap(control->gnttab, control->page, 1);
	control->page = NULL;
}
