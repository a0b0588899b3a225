/* traffic.c - streams and datagrams that are checked where they come out; see traffic.h
 *
 * Bytes follow from their place in the stream or from the datagram's number.  No more than a window of
 * datagrams is under way, less than any queue on the way holds, so that each one must arrive. */
#include "traffic.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATTERN 65521u			/* prime: no multiple of a page or of a segment */
#define CHUNK 65536u
#define PATIENCE_NS (20 * 1000000000LL)	/* without any progress */
#define WINDOW 64u
#define AGAIN_NS 50000000LL
#define TCP_PORT 5201
#define UDP_PORT 5202
#define PROBE_PORT 5203		/* one that comes late meets nobody */

static uint8_t pattern[PATTERN + CHUNK];

static void fill_pattern(void)
{
	uint32_t state = 1;

	if (pattern[1])
		return;
	for (uint32_t i = 0; i < sizeof pattern; i++) {
		state = state * 1664525 + 1013904223;
		pattern[i] = i < PATTERN ? (uint8_t)(state >> 24) | 1 : pattern[i - PATTERN];
	}
}

static bool is_pattern(const uint8_t *bytes, uint64_t at, size_t length)
{
	return memcmp(bytes, pattern + at % PATTERN, length) == 0;
}

/* --- TCP -------------------------------------------------------------------------------------- */

struct stream {
	bool from_guest, ended;
	int listener, sender, receiver;		/* -1: not there yet */
	uint64_t total, sent, received;
	int64_t last, delay;			/* when bytes came last; life_delay() not long before */
};

/* life_delay(), looked at anew after this time. */
#define SAMPLE_NS 2000000LL
static int64_t sampled_at, sampled_delay;

static void sample_delay(int64_t now)
{
	if (now - sampled_at < SAMPLE_NS)
		return;
	sampled_at = now;
	sampled_delay = life_delay(true);
}

static void keep_stall(const struct stream *stream, struct traffic *sums, int64_t now)
{
	int64_t stall = now - stream->last;

	if (stall > sums->stall_ns)
		sums->stall_ns = stall;
	if (stall > sums->stall_own_ns && stall > SAMPLE_NS)
		stall -= life_delay(true) - stream->delay;
	if (stall > sums->stall_own_ns)
		sums->stall_own_ns = stall;
}

static void stream_open(struct stream *stream, const struct stack *stack, int family, uint64_t bytes,
			bool from_guest)
{
	struct sockaddr_storage address;
	socklen_t size = stack_address(stack, !from_guest, family, TCP_PORT, &address);

	*stream = (struct stream){ .from_guest = from_guest, .receiver = -1, .total = bytes,
				   .last = life_now(), .delay = life_delay(true) };
	stream->listener = stack_socket(stack, !from_guest, family, SOCK_STREAM);
	assert_int_equal(bind(stream->listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(stream->listener, 1), 0);
	stream->sender = stack_socket(stack, from_guest, family, SOCK_STREAM);
	if (connect(stream->sender, (struct sockaddr *)&address, size) != 0)
		assert_int_equal(errno, EINPROGRESS);
}

static void stream_send(struct stream *stream)
{
	while (stream->sent < stream->total) {
		uint64_t left = stream->total - stream->sent;
		ssize_t done = send(stream->sender, pattern + stream->sent % PATTERN,
				    left < CHUNK ? left : CHUNK, MSG_NOSIGNAL);

		if (done <= 0)
			return;
		stream->sent += (uint64_t)done;
		if (stream->sent == stream->total)
			shutdown(stream->sender, SHUT_WR);
	}
}

static void stream_receive(struct stream *stream, struct traffic *sums)
{
	static uint8_t bytes[CHUNK];
	ssize_t got;

	while ((got = recv(stream->receiver, bytes, sizeof bytes, 0)) > 0) {
		int64_t now = life_now();

		if (!is_pattern(bytes, stream->received, (size_t)got))
			sums->spoiled++;
		stream->received += (uint64_t)got;
		keep_stall(stream, sums, now);
		stream->last = now;
		stream->delay = sampled_delay;
	}
	stream->ended = got == 0 || (errno != EAGAIN && errno != EINTR);
}

static void stream_serve(struct stream *stream, struct traffic *sums)
{
	if (stream->receiver < 0)
		stream->receiver = accept4(stream->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	stream_send(stream);
	if (stream->receiver >= 0 && !stream->ended)
		stream_receive(stream, sums);
}

static nfds_t stream_fds(const struct stream *stream, struct pollfd fds[2])
{
	nfds_t count = 0;

	if (stream->sent < stream->total)
		fds[count++] = (struct pollfd){ stream->sender, POLLOUT, 0 };
	if (!stream->ended)
		fds[count++] = (struct pollfd){ stream->receiver < 0 ? stream->listener :
						stream->receiver, POLLIN, 0 };
	return count;
}

static void stream_close(struct stream *stream, struct traffic *sums)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof info;

	if (getsockopt(stream->sender, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
		sums->retransmits += info.tcpi_total_retrans;
	sums->streams++;
	sums->bytes += stream->received;
	if (stream->received != stream->total)
		sums->unfinished++;
	/* The sender last: whoever closes first keeps the port for a minute. */
	if (stream->receiver >= 0)
		close(stream->receiver);
	close(stream->listener);
	close(stream->sender);
}

void traffic_tcp(struct traffic *sums, const struct stack *stack, int family, uint64_t bytes,
		 const struct traffic_server *server)
{
	struct stream streams[2];
	struct pollfd fds[4];
	int64_t began = life_now();

	fill_pattern();
	for (int i = 0; i < 2; i++)
		stream_open(&streams[i], stack, family, bytes, i == 0);
	while (!streams[0].ended || !streams[1].ended) {
		nfds_t count = 0;

		sample_delay(life_now());
		for (int i = 0; i < 2; i++) {
			stream_serve(&streams[i], sums);
			count += stream_fds(&streams[i], fds + count);
		}
		if (life_now() - streams[0].last > PATIENCE_NS && life_now() - streams[1].last > PATIENCE_NS)
			break;
		server->serve(server->context, fds, count, 10);
	}
	sums->took_ns = life_now() - began;
	for (int i = 0; i < 2; i++)
		stream_close(&streams[i], sums);
}

/* --- UDP -------------------------------------------------------------------------------------- */

struct flow {
	int sender, receiver;
	uint32_t total, sent, received, newest;
	int64_t last;
};

#define SHORTEST 18u			/* a frame of 60 bytes */
#define LONGEST 1452u			/* of an MTU of 1500 over IPv6 */

static uint32_t length_of(uint32_t number)
{
	return SHORTEST + number * 37 % (LONGEST - SHORTEST + 1);
}

static void flow_open(struct flow *flow, const struct stack *stack, int family, uint16_t port,
		      uint32_t datagrams, bool from_guest)
{
	struct sockaddr_storage address;
	socklen_t size = stack_address(stack, !from_guest, family, port, &address);

	*flow = (struct flow){ .total = datagrams, .last = life_now() };
	flow->receiver = stack_socket(stack, !from_guest, family, SOCK_DGRAM);
	assert_int_equal(bind(flow->receiver, (struct sockaddr *)&address, size), 0);
	flow->sender = stack_socket(stack, from_guest, family, SOCK_DGRAM);
	assert_int_equal(connect(flow->sender, (struct sockaddr *)&address, size), 0);
}

/* Numbers count from 1. */
static void flow_send(struct flow *flow)
{
	uint8_t bytes[LONGEST];

	while (flow->sent < flow->total && flow->sent - flow->received < WINDOW) {
		uint32_t number = flow->sent + 1, length = length_of(number);

		memcpy(bytes, pattern + number % PATTERN, length);
		memcpy(bytes, &number, sizeof number);
		if (send(flow->sender, bytes, length, 0) < 0)
			return;
		flow->sent++;
	}
}

static void flow_receive(struct flow *flow, struct traffic *sums)
{
	uint8_t bytes[LONGEST + 1];
	uint32_t number;
	ssize_t got;

	while ((got = recv(flow->receiver, bytes, sizeof bytes, 0)) > 0) {
		memcpy(&number, bytes, sizeof number);
		if (got < (ssize_t)SHORTEST || (uint32_t)got != length_of(number) ||
		    !is_pattern(bytes + sizeof number, number + sizeof number,
				(size_t)got - sizeof number))
			sums->spoiled++;
		sums->reordered += number < flow->newest;
		if (number > flow->newest)
			flow->newest = number;
		flow->received++;
		flow->last = life_now();
	}
}

static bool flow_waits(const struct flow *flow)
{
	return flow->received < flow->total && life_now() - flow->last < PATIENCE_NS;
}

static void flow_close(struct flow *flow, struct traffic *sums)
{
	sums->datagrams += flow->total;
	sums->lost += flow->total - flow->received;
	close(flow->sender);
	close(flow->receiver);
}

static void flows_open(struct flow flows[2], struct pollfd fds[2], const struct stack *stack, int family,
		       uint16_t port, uint32_t datagrams)
{
	fill_pattern();
	for (int i = 0; i < 2; i++) {
		flow_open(&flows[i], stack, family, port, datagrams, i == 0);
		fds[i] = (struct pollfd){ flows[i].receiver, POLLIN, 0 };
	}
}

/* The same datagram again and again, each way until one has arrived. */
void traffic_await(const struct stack *stack, int family, const struct traffic_server *server)
{
	struct traffic ignored = { 0 };
	struct flow flows[2];
	struct pollfd fds[2];
	int64_t again = 0;

	flows_open(flows, fds, stack, family, PROBE_PORT, 1);
	while (flow_waits(&flows[0]) || flow_waits(&flows[1])) {
		for (int i = 0; i < 2; i++) {
			if (life_now() >= again && flows[i].received == 0)
				flows[i].sent = 0;
			flow_send(&flows[i]);
			flow_receive(&flows[i], &ignored);
		}
		if (life_now() >= again)
			again = life_now() + AGAIN_NS;
		server->serve(server->context, fds, 2, 10);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_not_equal(flows[i].received, 0);
		flow_close(&flows[i], &ignored);
	}
}

#define KNOCKS 32

/* A segment each of many flows; true if each came on its queue. */
static bool knock(struct stack *stack, const struct traffic_server *server)
{
	int fds[KNOCKS];
	int64_t end = life_now() + 20 * AGAIN_NS;
	struct sockaddr_storage address;
	socklen_t size = stack_address(stack, true, AF_INET, PROBE_PORT, &address);

	stack->hashed = stack->misplaced = 0;
	for (int i = 0; i < KNOCKS; i++) {
		fds[i] = stack_socket(stack, false, AF_INET, SOCK_STREAM);
		if (connect(fds[i], (struct sockaddr *)&address, size) != 0)
			assert_true(errno == EINPROGRESS || errno == ECONNREFUSED);
	}
	while (stack->hashed < KNOCKS && life_now() < end)
		server->serve(server->context, NULL, 0, 10);
	for (int i = 0; i < KNOCKS; i++)
		close(fds[i]);
	return stack->hashed >= KNOCKS && stack->misplaced == 0;
}

void traffic_await_hash(struct stack *stack, const struct traffic_server *server)
{
	int64_t end = life_now() + PATIENCE_NS;

	while (stack->fe->hashing && !knock(stack, server))
		assert_true(life_now() < end);
}

void traffic_udp(struct traffic *sums, const struct stack *stack, int family, uint32_t datagrams,
		 const struct traffic_server *server)
{
	struct flow flows[2];
	struct pollfd fds[2];

	flows_open(flows, fds, stack, family, UDP_PORT, datagrams);
	while (flow_waits(&flows[0]) || flow_waits(&flows[1])) {
		for (int i = 0; i < 2; i++) {
			flow_send(&flows[i]);
			flow_receive(&flows[i], sums);
		}
		server->serve(server->context, fds, 2, 10);
	}
	for (int i = 0; i < 2; i++)
		flow_close(&flows[i], sums);
}
