/* frames.c - see frames.h */
#include <netinet/in.h>

#include "frames.h"
#include "unit.h"

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

uint16_t frame_get16(const uint8_t *at)
{
	return (uint16_t)(at[0] * 256 + at[1]);
}

static uint32_t extension_bytes(const struct frame_spec *spec)
{
	uint32_t bytes = 0;

	for (int i = 0; i < spec->extensions; i++)
		bytes += 8u * (uint32_t)(i + 1);
	return bytes;
}

static uint32_t transport_header(const struct frame_spec *spec)
{
	return spec->protocol == IPPROTO_TCP ? 20u + (uint32_t)spec->tcp_options : 8u;
}

static void find_layout(const struct frame_spec *spec, struct frame_layout *layout)
{
	layout->network = 14 + 4 * (uint32_t)spec->vlan_tags;
	layout->transport = layout->network;
	if (spec->ip_version == 4)
		layout->transport += 20 + (uint32_t)spec->ip_options;
	else if (spec->ip_version == 6)
		layout->transport += 40 + extension_bytes(spec);
	layout->checksum = layout->transport + (spec->protocol == IPPROTO_TCP ? 16 : 6);
	layout->payload = layout->transport + transport_header(spec);
	layout->length = layout->payload + spec->payload;
}

uint32_t frame_spec_length(const struct frame_spec *spec)
{
	struct frame_layout layout;

	find_layout(spec, &layout);
	return layout.length;
}

static void put_ethernet(uint8_t *out, const struct frame_spec *spec)
{
	static const int types[] = { [0] = 0x0806, [4] = 0x0800, [6] = 0x86dd };

	memcpy(out, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02", 12);
	for (int tag = 0; tag < spec->vlan_tags; tag++) {
		put16(out + 12 + 4 * tag, tag + 1 < spec->vlan_tags ? 0x88a8 : 0x8100);
		put16(out + 14 + 4 * tag, 5);
	}
	put16(out + 12 + 4 * spec->vlan_tags, (uint32_t)types[spec->ip_version]);
}

static void put_ipv4(uint8_t *ip, const struct frame_spec *spec, const struct frame_layout *layout)
{
	ip[0] = (uint8_t)(0x45 + spec->ip_options / 4);
	put16(ip + 2, layout->length - layout->network);
	put16(ip + 6, 0x4000);		/* do not fragment */
	ip[8] = 64;
	ip[9] = (uint8_t)spec->protocol;
	memcpy(ip + 12, "\x0a\x00\x00\x01\xc0\xa8\xff\xfe", 8);
	memset(ip + 20, 1, (size_t)spec->ip_options);	/* no-operation options */
}

static void put_ipv6(uint8_t *ip, const struct frame_spec *spec, const struct frame_layout *layout)
{
	static const uint8_t kinds[] = { IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS };
	uint8_t *next = ip + 6;
	uint8_t *extension = ip + 40;

	ip[0] = 0x60;
	put16(ip + 4, layout->length - layout->network - 40);
	ip[7] = 64;
	for (int i = 0; i < 32; i++)
		ip[8 + i] = (uint8_t)(0x20 + 7 * i);
	for (int i = 0; i < spec->extensions; i++) {
		*next = kinds[i % 3];
		next = extension;
		extension[1] = (uint8_t)i;	/* in units of 8 bytes, the first not counted */
		extension += 8 * (i + 1);
	}
	*next = (uint8_t)spec->protocol;
}

void frame_build(uint8_t *out, const struct frame_spec *spec, struct frame_layout *layout)
{
	find_layout(spec, layout);
	memset(out, 0, layout->length);
	put_ethernet(out, spec);
	if (spec->ip_version == 4)
		put_ipv4(out + layout->network, spec, layout);
	else if (spec->ip_version == 6)
		put_ipv6(out + layout->network, spec, layout);
	if (spec->protocol == IPPROTO_TCP)
		out[layout->transport + 12] = (uint8_t)((5 + spec->tcp_options / 4) << 4);
	if (spec->protocol == IPPROTO_UDP)
		put16(out + layout->transport + 4, layout->length - layout->transport);
	for (uint32_t i = 0; i < spec->payload; i++)
		out[layout->payload + i] = (uint8_t)(i * 31 + 7);
	if (spec->protocol == IPPROTO_TCP || spec->protocol == IPPROTO_UDP)
		put16(out + layout->checksum, naive_checksum(out, spec, layout));
}

uint16_t naive_sum(uint16_t sum, const uint8_t *data, uint32_t length)
{
	uint32_t total = sum;

	for (uint32_t i = 0; i < length; i++) {
		total += i % 2 ? data[i] : data[i] * 256u;
		if (total > 0xffff)
			total -= 0xffff;
	}
	return (uint16_t)total;
}

uint16_t naive_pseudo_header(const uint8_t *frame, const struct frame_spec *spec,
			     const struct frame_layout *layout)
{
	const uint8_t *ip = frame + layout->network;
	uint32_t length = layout->length - layout->transport;
	uint8_t tail[8] = {
		(uint8_t)(length >> 24), (uint8_t)(length >> 16), (uint8_t)(length >> 8),
		(uint8_t)length, 0, 0, 0, (uint8_t)spec->protocol,
	};
	uint16_t sum = spec->ip_version == 4 ? naive_sum(0, ip + 12, 8) : naive_sum(0, ip + 8, 32);

	return naive_sum(sum, tail, sizeof tail);
}

uint16_t naive_checksum(const uint8_t *frame, const struct frame_spec *spec,
			const struct frame_layout *layout)
{
	uint32_t field = layout->checksum;
	uint16_t sum = naive_pseudo_header(frame, spec, layout);

	sum = naive_sum(sum, frame + layout->transport, field - layout->transport);
	sum = naive_sum(sum, frame + field + 2, layout->length - field - 2);
	sum = (uint16_t)~sum;
	return sum ? sum : 0xffff;
}

void frame_blank_checksum(uint8_t *frame, const struct frame_spec *spec,
			  const struct frame_layout *layout)
{
	put16(frame + layout->checksum, naive_pseudo_header(frame, spec, layout));
}
