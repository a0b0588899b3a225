/* simxen.c - the simulated hypervisor: connections and their messages
 *
 * usage: simxen [-l LIMIT] SOCKET
 *
 * Serves until SIGTERM.  Domain 0 exists from the start, others come and go by `simxenctl` or
 * simguest.  It prints "ready" when clients can connect.  -l is the number of pages that gntalloc
 * shares out in each domain ($SIMXEN_GNTALLOC_LIMIT, 1024).
 *
 * Simulated are grant tables (version 1: map, copy, share) and event channels (2-level ABI).  Not
 * simulated: time, scheduling, memory ownership (anybody could map a memfd), cost.  Everything a
 * client says is believed except what the hypervisor itself would check. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "hypervisor.h"

static struct connection *connections;
static int poll_fd;
static uint32_t gntalloc_limit = 1024;
static volatile sig_atomic_t stopped;

static void add(int fd, struct connection *connection)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };

	if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		perror("simxen: epoll_ctl");
		exit(EXIT_FAILURE);
	}
}

static struct connection *connection_new(int fd)
{
	struct connection *connection = calloc(1, sizeof *connection);

	if (!connection) {
		close(fd);
		return NULL;
	}
	connection->fd = fd;
	connection->restricted = -1;
	connection->next = connections;
	connections = connection;
	add(fd, connection);
	return connection;
}

/* Takes from the guest, or the device, what its connection held; its memory is freed at the end of
 * the round of events, as they may name it. */
static void connection_die(struct connection *connection)
{
	struct domain *domain = connection->domain;

	if (connection->dead)
		return;
	connection->dead = true;
	if (connection->kind == SIM_EVTCHN || connection->kind == SIM_GUEST) {
		for (struct connection *c = connections; c; c = c->next)
			if (c->handle == connection)
				connection_die(c);
		if (domain)
			events_released(connection);
	}
	grants_released(connection);
	if (connection->kind == SIM_GNTTAB)
		for (struct domain *d = domains; d; d = d->next)
			grants_sweep(d);
	if (domain && domain->guest == connection)
		domain->guest = NULL;
	close(connection->fd);
	if (domain)
		domain_unused(domain);
	connection->domain = NULL;
}

static void bury_dead(void)
{
	struct connection **link = &connections;

	while (*link) {
		struct connection *connection = *link;

		if (!connection->dead) {
			link = &connection->next;
			continue;
		}
		*link = connection->next;
		free(connection);
	}
}

static void send_fds(int fd, const void *data, size_t size, const int *fds, size_t count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { (void *)data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (count > 0) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Gives a handle a control socket, and tells it what it is. */
static void attach(struct connection *handle)
{
	uint32_t words[2 + SIM_PORTS] = { SIM_WORD_ATTACH, handle->domain->domid };
	uint32_t count = events_owned(handle, words + 2, SIM_PORTS);
	int pair[2];
	struct connection *control;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return;
	control = connection_new(pair[0]);
	if (control) {
		control->greeted = true;
		control->kind = SIM_CONTROL;
		control->handle = handle;
		control->domain = handle->domain;
		control->domain->users++;
		send_fds(handle->fd, words, (2 + count) * sizeof *words, &pair[1], 1);
	}
	close(pair[1]);
}

static int guest_starts(struct connection *connection, struct domain *domain)
{
	if (domain->guest)
		return EBUSY;
	events_domain_destroyed(domain);	/* a new kernel's EVTCHNOP_reset */
	domain_guest_starts(domain, connection);
	return 0;
}

static int hello(struct connection *connection, struct sim_call *call)
{
	struct domain *domain = domain_find(call->arg[1]);
	int buffer = 4 << 20;

	connection->kind = (enum sim_kind)call->arg[0];
	if (connection->kind == SIM_CTL) {
		connection->greeted = true;
		return 0;
	}
	if (!domain || connection->kind > SIM_GUEST)
		return ESRCH;
	if (connection->kind == SIM_GUEST && guest_starts(connection, domain) != 0)
		return EBUSY;
	/* Room for one event of every port. */
	setsockopt(connection->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
	connection->greeted = true;
	connection->domain = domain;
	domain->users++;
	return 0;
}

static int status(struct sim_call *call)
{
	FILE *out = fmemopen(call->data, sizeof call->data, "w");
	long size;

	if (!out)
		return ENOMEM;
	status_write(out, connections, call->arg[0] != 0);
	size = ftell(out);
	fclose(out);
	call->words = (uint32_t)(size + 4) / 4;
	return 0;
}

static int get_domain(const struct sim_call *call, int fds[2])
{
	struct domain *domain = domain_find(call->arg[0]);

	if (!domain)
		return ESRCH;
	fds[0] = domain->memory_fd;
	fds[1] = domain->table_fd;
	return 0;
}

static int handle_call(struct connection *connection, struct sim_call *call, int fds[2])
{
	switch (call->op) {
	case SIM_GET_DOMAIN:
		return get_domain(call, fds);
	case SIM_MAP:
		return connection->kind == SIM_GNTTAB ? grants_map(connection, call) : ENOTTY;
	case SIM_UNMAP:
		return grants_unmap(connection, call->arg[0]);
	case SIM_SHARE:
		return connection->kind == SIM_GNTSHR ?
		       grants_share(connection, call, gntalloc_limit) : ENOTTY;
	case SIM_UNSHARE:
		return connection->kind == SIM_GNTSHR ? grants_unshare(connection, call->arg[0])
						      : ENOTTY;
	case SIM_CREATE:
		return domain_create(call->arg[0]);
	case SIM_DESTROY:
		return domain_destroy(call->arg[0]);
	case SIM_STATUS:
		return status(call);
	default:
		return connection->kind == SIM_CONTROL ? events_call(connection->handle, call)
						       : ENOTTY;
	}
}

static void answer_call(struct connection *connection, struct sim_call *call)
{
	int fds[2] = { -1, -1 };

	call->error = handle_call(connection, call, fds);
	if (call->error)
		call->words = 0;
	send_fds(connection->fd, call, sim_call_size(call), fds, fds[0] >= 0 ? 2 : 0);
}

static void greet(struct connection *connection, struct sim_call *call, ssize_t got)
{
	if (got < (ssize_t)offsetof(struct sim_call, data) || call->op != SIM_HELLO) {
		connection_die(connection);
		return;
	}
	call->error = hello(connection, call);
	if (connection->kind != SIM_EVTCHN && connection->kind != SIM_GUEST)
		send_fds(connection->fd, call, sim_call_size(call), NULL, 0);
	if (call->error)
		connection_die(connection);
}

static void receive(struct connection *connection)
{
	static struct sim_call call;
	ssize_t got = recv(connection->fd, &call, sizeof call, MSG_DONTWAIT);
	bool words = connection->kind == SIM_EVTCHN || connection->kind == SIM_GUEST;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		connection_die(connection);
	else if (!connection->greeted)
		greet(connection, &call, got);
	else if (words && got == 4 && call.op == SIM_WORD_ATTACH)
		attach(connection);
	else if (words)
		events_words(connection, (const uint32_t *)(const void *)&call, (size_t)got / 4);
	else if (got >= (ssize_t)offsetof(struct sim_call, data) && call.words <= SIM_CALL_WORDS)
		answer_call(connection, &call);
	else
		connection_die(connection);
}

static int listen_on(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof address.sun_path) {
		fprintf(stderr, "simxen: %s: too long for a socket's name\n", path);
		exit(EXIT_FAILURE);
	}
	strcpy(address.sun_path, path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(fd, 128) != 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	return fd;
}

static void serve(int listener, const sigset_t *mask)
{
	struct epoll_event events[64];

	while (!stopped) {
		int n = epoll_pwait(poll_fd, events, 64, -1, mask);

		for (int i = 0; i < n; i++) {
			struct connection *connection = events[i].data.ptr;

			if (!connection)
				connection_new(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
			else if (!connection->dead)
				receive(connection);
		}
		bury_dead();
	}
}

static void on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked, mask;
	int listener, option;
	const char *limit = getenv("SIMXEN_GNTALLOC_LIMIT");

	if (limit)
		gntalloc_limit = (uint32_t)strtoul(limit, NULL, 0);
	while ((option = getopt(argc, argv, "l:")) == 'l')
		gntalloc_limit = (uint32_t)strtoul(optarg, NULL, 0);
	if (option != -1 || optind != argc - 1) {
		fprintf(stderr, "usage: simxen [-l LIMIT] SOCKET\n");
		return EXIT_FAILURE;
	}
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	listener = listen_on(argv[optind]);
	add(listener, NULL);
	if (domain_create(0) != 0)
		return EXIT_FAILURE;
	puts("ready");
	fflush(stdout);
	serve(listener, &mask);
	unlink(argv[optind]);
	return EXIT_SUCCESS;
}
