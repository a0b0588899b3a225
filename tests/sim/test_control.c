/* test_control.c - a guest that configures its hash over the control ring, served by the real unetbackd
 *
 * Shown: the way Windows does it; frames towards the guest come on the queue its mapping says and carry their
 * hash, which is right; other mappings are followed while connected; a new connection begins without; a broken
 * control ring closes its vif; a guest that floods it harms nobody else. */
#include "simback.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../../backend/hash.h"

#define QUEUES 4u
#define FLOWS 40

static struct simguest *guest;
static struct simvif *vif;
static struct hash_config hash;			/* as the guest believes it is */

static void ask(uint16_t type, uint32_t a, uint32_t b, uint32_t c, uint32_t wanted)
{
	const uint32_t arguments[3] = { a, b, c };
	uint32_t status;

	assert_true(netfront_control(vif->fe, type, arguments, &status, NULL, SIMBACK_PATIENCE));
	assert_int_equal(status, wanted);
}

static void set_key(void)
{
	for (uint32_t i = 0; i < HASH_KEY_MAX; i++)
		hash.key[i] = (uint8_t)(i * 37 + 5);
	memcpy(netfront_control_page(vif->fe), hash.key, HASH_KEY_MAX);
	ask(XEN_NETIF_CTRL_TYPE_SET_HASH_KEY, netfront_control_ref(vif->fe), HASH_KEY_MAX, 0, 0);
}

/* Entry I of the table says queue (I * @step + @first) modulo QUEUES. */
static void set_mapping(uint32_t first, uint32_t step)
{
	uint32_t *entries = netfront_control_page(vif->fe);

	for (uint32_t i = 0; i < HASH_MAPPING_MAX; i++)
		hash.mapping[i] = (uint8_t)(entries[i] = (i * step + first) % QUEUES);
	ask(XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING, netfront_control_ref(vif->fe), HASH_MAPPING_MAX, 0, 0);
}

static void set_up_as_windows_does(void)
{
	uint32_t data, status;
	static const uint32_t none[3];

	ask(XEN_NETIF_CTRL_TYPE_SET_HASH_ALGORITHM, HASH_TOEPLITZ, 0, 0, 0);
	assert_true(netfront_control(vif->fe, XEN_NETIF_CTRL_TYPE_GET_HASH_FLAGS, none, &status, &data,
				     SIMBACK_PATIENCE));
	assert_int_equal(data, HASH_TYPES_ALL);
	vif->fe->hashing = true;
	hash = (struct hash_config){ .algorithm = HASH_TOEPLITZ, .types = data, .mapping_size = HASH_MAPPING_MAX };
	ask(XEN_NETIF_CTRL_TYPE_SET_HASH_FLAGS, data, 0, 0, 0);
	set_key();
	ask(XEN_NETIF_CTRL_TYPE_SET_HASH_MAPPING_SIZE, HASH_MAPPING_MAX, 0, 0, 0);
	set_mapping(0, 1);
}

/* --- frames ----------------------------------------------------------------------------------- */

static struct { uint32_t frames, wrong_queue, wrong_hash; } seen;

/* By a second way to say it: netif.h's. */
static uint32_t toeplitz(const uint8_t *input, int length)
{
	uint64_t window = 0;
	uint32_t value = 0;

	for (int i = 0; i < 8; i++)
		window = window << 8 | hash.key[i];
	for (int i = 0; i < length * 8; i++) {
		if (input[i / 8] & 0x80 >> i % 8)
			value ^= (uint32_t)(window >> 32);
		window <<= 1;
		if (i % 8 == 7)
			window |= i / 8 + 8 < HASH_KEY_MAX ? hash.key[i / 8 + 8] : 0;
	}
	return value;
}

static void look_at(struct netfront *fe, const struct netfront_frame *frame, void *context)
{
	const uint8_t *bytes = frame->iov[0].iov_base;
	uint32_t value;

	(void)fe;
	(void)context;
	if (frame->length < 54 || bytes[12] != 8 || bytes[13] != 0)
		return;
	value = toeplitz(bytes + 26, 12);	/* addresses and ports lie side by side */
	seen.frames++;
	seen.wrong_hash += !frame->hashed || frame->hash_type != 1 || frame->hash != value;
	seen.wrong_queue += frame->queue != hash.mapping[value % HASH_MAPPING_MAX];
}

/* A TCP segment of each flow into the device, as a bridge would. */
static void send_flows(void)
{
	uint8_t bytes[60] = { 0, 0x16, 0x3e, 0, 1, 0, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6,
			      0, 0, 10, 0, 0, 1, 10, 0, 0, 2 };

	for (int i = 0; i < FLOWS; i++) {
		bytes[35] = (uint8_t)i;		/* source port */
		bytes[36] = 7;
		assert_int_equal(send(vif->wire, bytes, sizeof bytes, 0), sizeof bytes);
	}
}

static bool all_came(void *context)
{
	(void)context;
	return seen.frames == FLOWS;
}

static bool flows_follow(void)
{
	memset(&seen, 0, sizeof seen);
	send_flows();
	simback_await(all_came, NULL);
	assert_int_equal(seen.wrong_hash, 0);
	return seen.wrong_queue == 0;
}

/* The device's program changes a moment after the request is answered. */
static bool mapping_is_followed(void *context)
{
	(void)context;
	return flows_follow();
}

/* --- tests ------------------------------------------------------------------------------------ */

static int setup(void **state)
{
	const struct netfront_config config = { .queues = QUEUES, .control_ring = true };

	(void)state;
	guest = simback_guest(1);
	vif = simvif_open(guest, 0, &config, NULL);
	simvif_exchange(vif, 2);
	vif->fe->config.hooks.receive = look_at;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(vif->fe->violations, 0);
	simvif_free(vif);
	simback_destroy(guest);
	return 0;
}

static void the_mapping_decides_and_frames_carry_their_hash(void **state)
{
	(void)state;
	set_up_as_windows_does();
	simback_await(mapping_is_followed, NULL);
	for (uint32_t step = 0; step < 4; step++) {
		set_mapping(step, step);
		simback_await(mapping_is_followed, NULL);
	}
	assert_non_null(strstr(simback_ask("show", vif->name), "\"hash_algorithm\": \"toeplitz\""));
	assert_int_equal(simback_number("show", vif->name, NULL, "hash_mapping_size"), HASH_MAPPING_MAX);
	simback_await(simvif_balanced, vif);
}

static bool hash_is_shown(void *context)
{
	(void)context;
	return strstr(simback_ask("show", vif->name), "hash_algorithm");
}

static bool hash_is_not_shown(void *context)
{
	return !hash_is_shown(context);
}

static void a_new_connection_begins_without_a_hash(void **state)
{
	(void)state;
	set_up_as_windows_does();
	simback_await(mapping_is_followed, NULL);
	assert_true(netfront_close(vif->fe, SIMBACK_PATIENCE));
	assert_true(netfront_reopen(vif->fe));		/* an extra now is a violation */
	simback_await(simvif_connected, vif);
	simback_await(hash_is_not_shown, NULL);
	memset(&seen, 0, sizeof seen);
	send_flows();
	simback_await(all_came, NULL);
	assert_int_equal(seen.wrong_hash, FLOWS);	/* none had one */
	set_up_as_windows_does();
	simback_await(mapping_is_followed, NULL);
	ask(XEN_NETIF_CTRL_TYPE_SET_HASH_ALGORITHM, HASH_NONE, 0, 0, 0);
	simback_await(hash_is_not_shown, NULL);
}

static void unknown_types_are_answered_so(void **state)
{
	(void)state;
	ask(XEN_NETIF_CTRL_TYPE_INVALID, 0, 0, 0, XEN_NETIF_CTRL_STATUS_NOT_SUPPORTED);
	ask(99, 0, 0, 0, XEN_NETIF_CTRL_STATUS_NOT_SUPPORTED);
}

static void the_hash_outlives_the_instance(void **state)
{
	(void)state;
	set_up_as_windows_does();
	simback_await(mapping_is_followed, NULL);
	simback_kill_instance(vif->name);
	simback_await(hash_is_shown, NULL);
	simback_await(mapping_is_followed, NULL);
	set_mapping(1, 3);
	simback_await(mapping_is_followed, NULL);
}

/* Requests without end, as fast as it can: another vif of the same guest notices nothing. */
static void a_flood_harms_nobody(void **state)
{
	struct simvif *other = simvif_open(guest, 1, NULL, NULL);
	struct xen_netif_ctrl_sring *ring = vif->fe->control_ring.shared;

	(void)state;
	simvif_exchange(other, 2);
	for (int i = 0; i < 200; i++) {
		uint32_t prod = ring->rsp_prod + 128;

		__atomic_store_n(&ring->req_prod, prod, __ATOMIC_RELEASE);
		simguest_notify(guest, vif->fe->control_ring.port);
		simback_serve(0);
	}
	simvif_exchange(other, 10);
	simvif_free(other);
}

static void a_broken_control_ring_closes_its_vif(void **state)
{
	struct xen_netif_ctrl_sring *ring = vif->fe->control_ring.shared;

	(void)state;
	netfront_judge_off(vif->fe);
	__atomic_store_n(&ring->req_prod, ring->rsp_prod + 129, __ATOMIC_RELEASE);
	simguest_notify(guest, vif->fe->control_ring.port);
	simback_await(simvif_closed, vif);
	assert_non_null(strstr(simvif_error(vif), "requests in the control ring"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int start(void **state)
{
	static const char *const options[] = { "--queues=4", NULL };

	(void)state;
	return simback_start(options);
}

static int stop(void **state)
{
	(void)state;
	return simback_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_mapping_decides_and_frames_carry_their_hash),
		TEST(a_new_connection_begins_without_a_hash),
		TEST(unknown_types_are_answered_so),
		TEST(the_hash_outlives_the_instance),
		TEST(a_flood_harms_nobody),
		TEST(a_broken_control_ring_closes_its_vif),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
