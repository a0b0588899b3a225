/* simfront.c - a guest: the TCP stack of a network namespace behind netfront's rings
 *
 * usage: simfront --domid D --netns NAME [--handle H] [--mac MAC] [--ip ADDRESS/BITS] [--ip6
 * ADDRESS/BITS]
 *		   [--mtu N] [--device NAME] [--rx-requests N] [--first-index N] [--single-event]
 *		   [--queues N] [--no-sg] [--no-gso] [--no-csum] [--no-rx-notify] [--check-tail]
 *
 * The device (eth0) is a TAP with vnet header.  Frames are read into the very pages they are sent
 * from, and written from the pages they came in, so a frame is copied by the kernel once on this
 * side.
 *
 * The domain must have the vif already (simtoolstack attach).  SIGTERM closes as Linux's netfront
 * does when its device goes; the exit status is 1 if that failed or the backend violated the
 * protocol.  SIGUSR1 prints counters.  SIGKILL is a crash of the guest. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "simfront.h"

#define BURST 64		/* frames of one direction before the other is looked at */

struct simfront {
	const struct simfront_options *options;
	struct netfront *fe;
	int taps[NETFRONT_QUEUES], signals;	/* a queue of the device for each of netfront's */
	bool up, ended;
	uint64_t tap_dropped;
};

static void receive(struct netfront *fe, const struct netfront_frame *frame, void *context)
{
	struct simfront *front = context;
	struct virtio_net_hdr header;
	struct iovec iov[NETFRONT_SLOTS + 1] = { { &header, sizeof header } };

	if (!simfront_to_virtio(frame, &header)) {
		netfront_violation(fe, "csum_blank in a frame that is not TCP or UDP over IP");
		return;
	}
	memcpy(iov + 1, frame->iov, (size_t)frame->iov_count * sizeof *iov);
	if (writev(front->taps[frame->queue], iov, frame->iov_count + 1) < 0)
		front->tap_dropped++;
}

/* On fe->tx_queue; true if there may be more. */
static bool send_burst(struct simfront *front)
{
	struct netfront *fe = front->fe;
	int n;

	for (n = 0; n < BURST && netfront_tx_room(fe) > 0; n++) {
		struct virtio_net_hdr header;
		struct netfront_frame frame = { 0 };
		struct iovec iov[NETFRONT_SLOTS + 1] = { { &header, sizeof header } };
		int pages = netfront_tx_pages(fe, iov + 1);
		ssize_t got = readv(front->taps[fe->tx_queue], iov, pages + 1);

		if (got <= (ssize_t)sizeof header)
			break;
		frame.length = (uint32_t)got - sizeof header;
		simfront_to_netif(&header, &frame);
		netfront_tx_commit(fe, &frame);
	}
	netfront_tx_flush(fe);
	return n == BURST;
}

static void print_stats(const struct simfront *front)
{
	const struct netfront_stats *s = &front->fe->stats;

	printf("tx frames %" PRIu64 " bytes %" PRIu64 " ok %" PRIu64 " error %" PRIu64
	       " dropped %" PRIu64 " null %" PRIu64 "; rx frames %" PRIu64 " bytes %" PRIu64
	       " error %" PRIu64 " not taken %" PRIu64 "; events %" PRIu64
	       " without work %" PRIu64 " notifies %" PRIu64 "; violations %" PRIu64 "\n",
	       s->tx_frames, s->tx_bytes, s->tx_ok, s->tx_error, s->tx_dropped, s->tx_null,
	       s->rx_frames, s->rx_bytes, s->rx_error, front->tap_dropped, s->events,
	       s->events_without_work, s->notifies, front->fe->violations);
	fflush(stdout);
}

static void take_signal(struct simfront *front)
{
	struct signalfd_siginfo info;

	if (read(front->signals, &info, sizeof info) != sizeof info)
		return;
	if (info.ssi_signo == SIGUSR1)
		print_stats(front);
	else
		front->ended = true;
}

/* The link follows the connection: offloads once they are known, then carrier. */
static void follow_state(struct simfront *front)
{
	bool up = front->fe->rings && front->fe->backend_state == XenbusStateConnected;

	if (up == front->up)
		return;
	for (uint32_t i = 1; i < front->options->config.queues; i++)
		simfront_tap_attach(front->taps[i], up && i < front->fe->queue_count);
	if (up)
		simfront_tap_offload(front->taps[0], front->fe);
	simfront_tap_carrier(front->taps[0], up);
	front->up = up;
}

/* What the device has, on every queue that has room; true if there may be more. */
static bool send_bursts(struct simfront *front)
{
	struct netfront *fe = front->fe;
	bool more = false;

	for (fe->tx_queue = 0; front->up && fe->tx_queue < fe->queue_count; fe->tx_queue++)
		if (netfront_tx_room(fe) > 0)
			more |= send_burst(front);
	return more;
}

/* The queues of the device that may be read now. */
static nfds_t wait_for_taps(struct simfront *front, struct pollfd fds[NETFRONT_QUEUES])
{
	struct netfront *fe = front->fe;
	nfds_t count = 0;

	for (fe->tx_queue = 0; front->up && fe->tx_queue < fe->queue_count; fe->tx_queue++)
		if (netfront_tx_room(fe) > 0)
			fds[count++] = (struct pollfd){ .fd = front->taps[fe->tx_queue], .events = POLLIN };
	return count;
}

/* After the backend has closed on its own account, a guest comes back when it is told to: so do
 * we. */
static void serve(struct simfront *front)
{
	bool more = false;

	while (!front->ended) {
		struct pollfd fds[3 + NETFRONT_QUEUES] = { { .fd = front->signals, .events = POLLIN },
					 { .fd = front->fe->guest->fd, .events = POLLIN },
					 { .fd = netfront_xs_fd(front->fe), .events = POLLIN } };
		nfds_t taps = wait_for_taps(front, fds + 3);

		if (poll(fds, 3 + taps, more ? 0 : -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			take_signal(front);
		if (fds[1].revents || fds[2].revents)
			netfront_dispatch(front->fe);
		follow_state(front);
		more = send_bursts(front);
	}
}

static void open_signals(struct simfront *front)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	front->signals = signalfd(-1, &set, SFD_CLOEXEC);
}

static const struct option long_options[] = {
	{ "domid", required_argument, NULL, 'd' },
	{ "handle", required_argument, NULL, 'h' },
	{ "netns", required_argument, NULL, 'n' },
	{ "mac", required_argument, NULL, 'm' },
	{ "ip", required_argument, NULL, 'i' },
	{ "ip6", required_argument, NULL, '6' },
	{ "mtu", required_argument, NULL, 'u' },
	{ "device", required_argument, NULL, 'D' },
	{ "queues", required_argument, NULL, 'q' },
	{ "rx-requests", required_argument, NULL, 'r' },
	{ "single-event", no_argument, NULL, 's' },
	{ "first-index", required_argument, NULL, 'f' },
	{ "no-sg", no_argument, NULL, 'S' },
	{ "no-gso", no_argument, NULL, 'G' },
	{ "no-csum", no_argument, NULL, 'C' },
	{ "no-rx-notify", no_argument, NULL, 'N' },
	{ "check-tail", no_argument, NULL, 't' },
	{ NULL, 0, NULL, 0 },
};

static bool parse_value(struct simfront_options *options, int option)
{
	switch (option) {
	case 'd': options->domid = (uint32_t)strtoul(optarg, NULL, 10); return true;
	case 'h': options->config.handle = (uint32_t)strtoul(optarg, NULL, 10); return true;
	case 'u': options->mtu = (unsigned int)strtoul(optarg, NULL, 10); return true;
	case 'q': options->config.queues = (uint32_t)strtoul(optarg, NULL, 10); return true;
	case 'r': options->config.rx_requests = (uint32_t)strtoul(optarg, NULL, 10); return true;
	case 'f': options->config.first_index = (uint32_t)strtoul(optarg, NULL, 0); return true;
	case 'n': options->netns = optarg; return true;
	case 'm': options->mac = optarg; return true;
	case 'i': options->ip = optarg; return true;
	case '6': options->ip6 = optarg; return true;
	case 'D': options->device = optarg; return true;
	default: return false;
	}
}

static bool parse(struct simfront_options *options, int argc, char **argv)
{
	struct netfront_config *config = &options->config;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 's': config->single_event = true; break;
		case 'S': config->no_sg = true; break;
		case 'G': config->no_gso4 = config->no_gso6 = true; break;
		case 'C': config->no_csum4 = config->no_csum6 = true; break;
		case 'N': config->no_rx_notify = true; break;
		case 't': config->no_tail_check = false; break;
		default:
			if (!parse_value(options, option))
				return false;
		}
	}
	return optind == argc && options->domid != 0 && config->queues >= 1 &&
	       config->queues <= NETFRONT_QUEUES;
}

int main(int argc, char **argv)
{
	struct simfront_options options = { .mac = "00:16:3e:00:00:01",
					    .mtu = 1500,
					    .device = "eth0",
					    .config = { .queues = 1, .no_tail_check = true } };
	struct simfront front = { .options = &options };
	struct simguest *guest;
	bool closed;

	if (!parse(&options, argc, argv)) {
		fprintf(stderr,
			"usage: simfront --domid D --netns NAME [options]; see simfront.c\n");
		return 2;
	}
	open_signals(&front);
	options.config.hooks = (struct netfront_hooks){ .context = &front, .receive = receive };
	if (simfront_tap_open(&options, front.taps) != 0)
		return EXIT_FAILURE;
	guest = simguest_start(options.domid);
	front.fe = guest ? netfront_open(guest, &options.config) : NULL;
	if (!front.fe) {
		fprintf(stderr, "simfront: no vif%u.%u: %s\n", options.domid, options.config.handle,
			strerror(errno));
		return EXIT_FAILURE;
	}
	serve(&front);
	closed = netfront_close(front.fe, 10000);
	if (!closed)
		fprintf(stderr, "simfront: the backend did not close\n");
	print_stats(&front);
	closed = closed && front.fe->violations == 0;
	netfront_free(front.fe);
	simguest_crash(guest);
	for (uint32_t i = 0; i < options.config.queues; i++)
		close(front.taps[i]);
	return closed ? EXIT_SUCCESS : EXIT_FAILURE;
}
