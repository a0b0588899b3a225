/* tx_twin.c - see tx_twin.h */
#include <endian.h>

#include "../unit/fake_xen.h"
#include "fuzz.h"
#include "tx_twin.h"

struct reader {
	const struct netif_tx_sring *ring;
	uint32_t next, end;
	bool fault;
};

static const union netif_tx_sring_entry *take(struct reader *reader)
{
	if (reader->next == reader->end)
		reader->fault = true;	/* promised, and not there */
	return &reader->ring->ring[reader->next++ % NETIF_RING_SIZE];
}

static void take_answer(struct twin_poll *twin, uint32_t *count, uint16_t id, int16_t status)
{
	if (*count < NETIF_RING_SIZE)
		twin->answers[(*count)++] = (struct twin_answer){ id, status, false };
}

/* The guest's multicast list: addresses in the order they came. */
static struct { uint8_t macs[64][6]; int count; } list;

void twin_start(void)
{
	list.count = 0;
}

static int find_in_list(const uint8_t *mac)
{
	int i = 0;

	while (i < list.count && memcmp(list.macs[i], mac, 6) != 0)
		i++;
	return i;
}

static int16_t edit_list(const struct netif_extra_info *add, const struct netif_extra_info *del)
{
	static const uint8_t everybody[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	const uint8_t *mac = add->type ? add->u.mcast.addr : del->u.mcast.addr;
	int at = find_in_list(mac);

	if (!add->type) {
		if (at < list.count)
			memmove(list.macs[at], list.macs[--list.count], 6);
		return NETIF_RSP_OKAY;
	}
	if (!(mac[0] & 1) || memcmp(mac, everybody, 6) == 0 || (at == list.count && list.count == 64))
		return NETIF_RSP_ERROR;
	if (at == list.count)
		memcpy(list.macs[list.count++], mac, 6);
	return NETIF_RSP_OKAY;
}

/* Extras behind the first slot: whether there was a control request among them, and its status. */
static bool read_extras(struct reader *reader, struct twin_poll *twin, uint32_t *answers,
			struct netif_extra_info *gso, bool *has_gso, int16_t *status)
{
	struct netif_extra_info extra, add = { .type = 0 }, del = { .type = 0 };
	bool control = false;

	do {
		memcpy(&extra, take(reader), sizeof extra);
		if (extra.type == 0 || extra.type > 5)
			reader->fault = true;
		if (reader->fault)
			return false;
		take_answer(twin, answers, 0, NETIF_RSP_NULL);
		control |= extra.type == 2 || extra.type == 3;
		if (extra.type == 2)
			add = extra;
		if (extra.type == 3)
			del = extra;
		if (extra.type == 1) {
			*gso = extra;
			*has_gso = true;
		}
	} while (extra.flags & 1);
	if (control)
		*status = edit_list(&add, &del);
	return control;
}

static void read_slots(struct reader *reader, struct twin_frame *frame)
{
	uint32_t rest = frame->slots[0].size;
	int count = 1;

	for (uint16_t flags = frame->slots[0].flags; flags & NETTXF_more_data; count++) {
		struct netif_tx_request slot = take(reader)->req;

		flags = slot.flags;
		if (count >= 21 || slot.offset + slot.size > 4096)
			reader->fault = true;
		if (reader->fault)
			return;
		if (count >= 19 || slot.size > rest)
			frame->dropped = true;
		else
			rest -= slot.size;
		frame->slots[count] = slot;
	}
	frame->slot_count = count;
	frame->slots[0].size = (uint16_t)rest;
}

static void check_frame(struct reader *reader, struct twin_frame *frame, uint32_t total,
			const struct netif_extra_info *gso)
{
	if (total < 14)
		frame->dropped = true;
	if (frame->dropped)
		return;
	if (frame->slots[0].offset + frame->slots[0].size > 4096)
		reader->fault = true;
	if (frame->has_gso && (gso->u.gso.size == 0 || gso->u.gso.type < 1 || gso->u.gso.type > 2))
		reader->fault = true;
	for (int i = 0; i < frame->slot_count; i++)
		frame->data_slots += frame->slots[i].size > 0;
	frame->length = total;
	frame->blank = frame->slots[0].flags & NETTXF_csum_blank;
	frame->offload = frame->blank || frame->has_gso;
}

/* The next frame; false if the ring can not be believed any more. */
static bool read_frame(struct reader *reader, struct twin_poll *twin, struct twin_frame *frame)
{
	uint32_t answers = twin->answer_count;
	struct netif_extra_info gso = { 0 };
	bool control = false;
	int16_t status = NETIF_RSP_OKAY;
	uint32_t total;

	memset(frame, 0, sizeof *frame);
	frame->first_index = reader->next;
	frame->first_answer = answers;
	frame->slot_count = 1;
	frame->slots[0] = take(reader)->req;
	total = frame->slots[0].size;
	take_answer(twin, &answers, frame->slots[0].id, NETIF_RSP_OKAY);
	if (frame->slots[0].flags & NETTXF_extra_info)
		control = read_extras(reader, twin, &answers, &gso, &frame->has_gso, &status);
	if (!reader->fault && !control) {
		read_slots(reader, frame);
		if (!reader->fault)
			check_frame(reader, frame, total, &gso);
	}
	if (reader->fault)
		return false;
	frame->control = control;
	if (control)
		twin->answers[frame->first_answer].status = status;
	for (int i = 1; i < frame->slot_count; i++)
		take_answer(twin, &answers, frame->slots[i].id, NETIF_RSP_OKAY);
	frame->requests = answers - twin->answer_count;
	twin->answer_count = answers;
	return true;
}

static void fail_frame(struct twin_poll *twin, const struct twin_frame *frame)
{
	for (uint32_t i = 0; i < frame->requests; i++) {
		struct twin_answer *answer = &twin->answers[frame->first_answer + i];

		if (answer->status != NETIF_RSP_NULL)
			answer->status = NETIF_RSP_ERROR;
	}
}

void twin_run(struct twin_poll *twin, const struct netif_tx_sring *ring, uint32_t cons, int pages,
	      int burst)
{
	struct reader reader = { ring, cons, ring->req_prod, false };
	int used = 0, planned = 0;

	twin->frame_count = 0;
	twin->answer_count = 0;
	twin->fault = reader.end - cons > NETIF_RING_SIZE;
	while (!twin->fault && reader.next != reader.end && planned < burst && used + 19 <= pages) {
		struct twin_frame *frame = &twin->frames[twin->frame_count];

		if (!read_frame(&reader, twin, frame)) {
			twin->fault = true;
			break;
		}
		twin->frame_count++;
		if (frame->control)
			continue;
		if (frame->dropped) {
			fail_frame(twin, frame);
			continue;
		}
		planned++;
		used += frame->data_slots;
		for (uint32_t i = 0; i < frame->requests; i++)
			twin->answers[frame->first_answer + i].any_error = frame->offload;
	}
}

void twin_apply_copies(struct twin_poll *twin, uint32_t done, uint32_t fail, bool call_fails)
{
	for (int i = 0; i < twin->frame_count; i++) {
		const struct twin_frame *frame = &twin->frames[i];
		bool failed = false;

		if (frame->dropped || frame->control)
			continue;
		for (int s = 0; s < frame->slot_count; s++) {
			if (frame->slots[s].size == 0)
				continue;
			failed |= call_fails || frame->slots[s].gref >= FAKE_PAGES || done == fail;
			done++;
		}
		if (failed)
			fail_frame(twin, frame);
	}
	for (uint32_t i = 0; i < twin->answer_count; i++)
		if (twin->answers[i].status != NETIF_RSP_OKAY)
			twin->answers[i].any_error = false;
}

void twin_check_bytes(const struct twin_frame *frame, const uint8_t (*pages)[XEN_PAGE],
		      const uint8_t *bytes, const struct virtio_net_hdr_v1 *vnet)
{
	uint32_t field = UINT32_MAX, at = 0;

	CHECK((vnet->gso_type != 0) == frame->has_gso);
	CHECK((vnet->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == frame->offload);
	if (frame->has_gso && !frame->blank)
		field = le16toh(vnet->csum_start) + le16toh(vnet->csum_offset);
	for (int s = 0; s < frame->slot_count; s++) {
		const struct netif_tx_request *slot = &frame->slots[s];

		for (uint32_t i = 0; i < slot->size; i++, at++)
			CHECK(bytes[at] == pages[slot->gref][slot->offset + i] || at == field ||
			      at == field + 1);
	}
	CHECK(at == frame->length);
}
