/* simvif.c - frontends and their wires, all in one thread; see simback.h */
#include "simback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define VIFS_MAX 24
#define ETHERTYPE 0x88b5u		/* for local experiments: no stack takes it */
#define HEADER 18u			/* Ethernet's, and the frame's number */
#define LONGEST 65535u

static struct simvif *vifs[VIFS_MAX];

/* --- frames ----------------------------------------------------------------------------------- */

static uint8_t byte_of(uint32_t number, uint32_t at)
{
	return (uint8_t)(number * 31 + at * 7 + at / 251);
}

#define FLOW_BYTE 11			/* the last of the source MAC */

static void fill(const struct simvif *vif, uint8_t *bytes, uint32_t length, uint32_t number)
{
	memcpy(bytes, vif->to, 6);
	memcpy(bytes + 6, "\x00\x16\x3e\x01\x02\x03", 6);
	bytes[FLOW_BYTE] = vif->flow;
	bytes[12] = ETHERTYPE >> 8;
	bytes[13] = ETHERTYPE & 0xff;
	memcpy(bytes + 14, &number, sizeof number);
	for (uint32_t i = HEADER; i < length; i++)
		bytes[i] = byte_of(number, i);
}

/* The number of a frame that is as it was made, or 0. */
static uint32_t number_of(const uint8_t *bytes, uint32_t length)
{
	uint32_t number;

	if (length < HEADER || bytes[12] != ETHERTYPE >> 8 || bytes[13] != (ETHERTYPE & 0xff))
		return 0;
	memcpy(&number, bytes + 14, sizeof number);
	for (uint32_t i = HEADER; i < length; i++)
		if (bytes[i] != byte_of(number, i))
			return 0;
	return number;
}

static void take(struct simvif *vif, const uint8_t *bytes, uint32_t length, uint32_t *newest,
		 struct simvif_flow flows[256], uint32_t queue)
{
	uint32_t number = number_of(bytes, length);
	struct simvif_flow *flow = &flows[bytes[FLOW_BYTE]];

	if (number == 0) {
		vif->spoiled++;
		return;
	}
	if (number > *newest)
		*newest = number;
	vif->reordered += number < flow->newest;
	vif->moved += flow->queue != 0 && flow->queue != queue;
	*flow = (struct simvif_flow){ number, queue };
}

static void at_guest(struct netfront *fe, const struct netfront_frame *frame, void *context)
{
	static uint8_t bytes[LONGEST + 1];
	struct simvif *vif = context;
	uint32_t length = 0;

	(void)fe;
	for (int i = 0; i < frame->iov_count; length += (uint32_t)frame->iov[i++].iov_len)
		memcpy(bytes + length, frame->iov[i].iov_base, frame->iov[i].iov_len);
	take(vif, bytes, length, &vif->at_guest, vif->to_guest, frame->queue + 1);
}

static void at_host(struct simvif *vif)
{
	static uint8_t bytes[LONGEST];
	ssize_t got;

	while ((got = recv(vif->wire, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
		take(vif, bytes, (uint32_t)got, &vif->at_host, vif->to_host, 0);
}

bool simvif_send(struct simvif *vif, uint32_t length)
{
	static uint8_t bytes[LONGEST];

	fill(vif, bytes, length, vif->number + 1);
	if (!netfront_send(vif->fe, bytes, length, NULL))
		return false;
	vif->number++;
	return true;
}

/* What the device has no room for is lost, as on any wire; so is all when it is down or removed. */
static void send_to_guest(struct simvif *vif, uint32_t length)
{
	static uint8_t bytes[LONGEST];

	fill(vif, bytes, length, vif->number);
	if (send(vif->wire, bytes, length, 0) < 0)
		assert_true(errno == ENOBUFS || errno == ENETDOWN || errno == ENXIO ||
			    errno == ENODEV);
}

void simvif_flood(struct simvif *vif, int frames, uint32_t length)
{
	while (frames-- > 0) {
		vif->number++;
		send_to_guest(vif, length);
	}
}

/* --- vifs ------------------------------------------------------------------------------------- */

/* Takes what the guest sends only: ours do not come back to a socket of one protocol. */
static int open_wire(const char *device)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	address.sll_ifindex = (int)if_nametoindex(device);
	assert_true(fd >= 0 && address.sll_ifindex > 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static void attach(const struct simvif *vif, const char *mtu)
{
	char domid[16], handle[16], mac[32], mtu_option[16];

	snprintf(domid, sizeof domid, "%u", vif->domid);
	snprintf(handle, sizeof handle, "%u", vif->handle);
	snprintf(mac, sizeof mac, "mac=00:16:3e:00:%02x:%02x", vif->domid & 0xff, vif->handle);
	snprintf(mtu_option, sizeof mtu_option, "mtu=%s", mtu ? mtu : "1500");
	assert_int_equal(simtest_run(SIMBACK_TOOLSTACK, "attach", domid, handle, mac, mtu_option,
				     "timeout=20", NULL), 0);
}

struct simvif *simvif_open(struct simguest *guest, uint32_t handle,
			   const struct netfront_config *config, const char *mtu)
{
	struct netfront_config mine = config ? *config : (struct netfront_config){ 0 };
	struct simvif *vif = calloc(1, sizeof *vif);
	int place = 0;

	assert_non_null(vif);
	memset(vif->to, 0xff, sizeof vif->to);
	vif->domid = guest->domid;
	vif->handle = mine.handle = handle;
	snprintf(vif->name, sizeof vif->name, "vif%u.%u", vif->domid, handle);
	snprintf(vif->backend, sizeof vif->backend, "backend/vif/%u/%u", vif->domid, handle);
	attach(vif, mtu);
	vif->wire = open_wire(vif->name);
	mine.hooks.context = vif;
	mine.hooks.receive = at_guest;
	vif->fe = netfront_open(guest, &mine);
	assert_non_null(vif->fe);
	while (vifs[place])
		assert_true(++place < VIFS_MAX);
	return vifs[place] = vif;
}

void simvif_free(struct simvif *vif)
{
	if (!vif)
		return;
	for (int i = 0; i < VIFS_MAX; i++)
		if (vifs[i] == vif)
			vifs[i] = NULL;
	close(vif->wire);
	netfront_free(vif->fe);
	free(vif);
}

/* --- serving ---------------------------------------------------------------------------------- */

void simback_serve(int ms)
{
	struct pollfd fds[3 * VIFS_MAX];
	nfds_t count = 0;

	for (int i = 0; i < VIFS_MAX; i++) {
		if (!vifs[i])
			continue;
		netfront_dispatch(vifs[i]->fe);
		at_host(vifs[i]);
		fds[count++] = (struct pollfd){ vifs[i]->fe->guest->fd, POLLIN, 0 };
		fds[count++] = (struct pollfd){ netfront_xs_fd(vifs[i]->fe), POLLIN, 0 };
		fds[count++] = (struct pollfd){ vifs[i]->wire, POLLIN, 0 };
	}
	poll(fds, count, ms);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool simback_until(bool (*condition)(void *context), void *context)
{
	int64_t end = now_ms() + SIMBACK_PATIENCE;

	while (!condition(context)) {
		if (now_ms() > end)
			return false;
		simback_serve(10);
	}
	return true;
}

bool simvif_connected(void *context)
{
	const struct simvif *vif = context;

	return vif->fe->state == XenbusStateConnected &&
	       vif->fe->backend_state == XenbusStateConnected;
}

bool simvif_closed(void *context)
{
	const struct simvif *vif = context;
	char path[96], *text;
	bool closed;

	snprintf(path, sizeof path, "%s/state", vif->backend);
	text = xs_read(simback_xs(), XBT_NULL, path, NULL);
	closed = text && atoi(text) == XenbusStateClosed;
	free(text);
	return closed;
}

/* Of every queue that there is. */
static bool all_zero(const char *stats, const char *key)
{
	const char *at = strstr(stats, key);
	bool zero = at;

	for (; at; at = strstr(at, key)) {
		at += strlen(key);
		zero &= strtoll(at, NULL, 10) == 0;
	}
	return zero;
}

bool simvif_balanced(void *context)
{
	const struct simvif *vif = context;
	const char *stats = simback_ask("stats", vif->name);

	return all_zero(stats, "\"guest_tx_unaccounted\":") && all_zero(stats, "\"guest_rx_unaccounted\":");
}

bool simvif_tx_idle(void *context)
{
	const struct simvif *vif = context;

	for (uint32_t i = 0; vif->fe->rings && i < vif->fe->queue_count; i++)
		if (vif->fe->queues[i].tx.req_prod != vif->fe->queues[i].tx.rsp_cons)
			return false;
	return true;
}

/* --- traffic ---------------------------------------------------------------------------------- */

static bool is_at_host(void *context)
{
	const struct simvif *vif = context;

	return vif->at_host == vif->number;
}

/* A device whose carrier has just come may lose the first frames: sent again until one arrives. */
static void send_until_at_guest(struct simvif *vif, uint32_t length)
{
	int64_t end = now_ms() + SIMBACK_PATIENCE;

	vif->number++;
	for (int64_t again = 0; vif->at_guest != vif->number; simback_serve(10)) {
		assert_true(now_ms() < end);
		if (now_ms() < again)
			continue;
		send_to_guest(vif, length);
		again = now_ms() + 500;
	}
}

void simvif_exchange(struct simvif *vif, int rounds)
{
	static const uint32_t lengths[] = { 60, 1514, 18, 700 };

	simback_await(simvif_connected, vif);
	for (int i = 0; i < rounds; i++) {
		uint32_t length = lengths[i % 4];

		assert_true(simvif_send(vif, length));
		assert_true(simback_until(is_at_host, vif));
		send_until_at_guest(vif, length);
	}
	assert_int_equal(vif->spoiled, 0);
	assert_int_equal(vif->fe->violations, 0);
}

const char *simvif_error(const struct simvif *vif)
{
	static char text[512];
	char path[96], *value;
	unsigned int length = 0;

	snprintf(path, sizeof path, "error/%s/error", vif->backend);
	value = xs_read(simback_xs(), XBT_NULL, path, &length);
	snprintf(text, sizeof text, "%.*s", (int)length, value ? value : "");
	free(value);
	return text;
}
