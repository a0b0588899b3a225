/* client.c - a client's connection to simxen; see client.h */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"

uint32_t client_domid(void)
{
	const char *text = getenv("SIMXEN_DOMID");

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static int open_socket(int flags)
{
	const char *path = getenv("SIMXEN_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (!path || strlen(path) >= sizeof address.sun_path) {
		errno = ENOENT;
		return -1;
	}
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | flags, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
		int error = errno == ECONNREFUSED ? ENOENT : errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

int client_connect(enum sim_kind kind, uint32_t domid, int flags)
{
	struct sim_call *call = calloc(1, sizeof *call);
	int fd = call ? open_socket(flags) : -1, error = 0;

	if (fd >= 0) {
		call->op = SIM_HELLO;
		call->arg[0] = kind;
		call->arg[1] = domid;
		if (kind == SIM_EVTCHN || kind == SIM_GUEST)
			error = send(fd, call, sim_call_size(call), MSG_NOSIGNAL) < 0;
		else
			error = client_call(fd, call, NULL);
	}
	if (error) {
		error = errno;
		close(fd);
		fd = -1;
		errno = error;
	}
	free(call);
	return fd;
}

static ssize_t receive(int fd, void *data, size_t size, int *fds, size_t fd_room, size_t *fd_count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec iov = { data, size };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof control };
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	ssize_t got;

	while ((got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC)) < 0)
		if ((errno != EINTR && errno != EAGAIN) ||
		    (poll(&pollfd, 1, -1) < 0 && errno != EINTR))
			return -1;
	*fd_count = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_type != SCM_RIGHTS || count > fd_room)
			continue;
		memcpy(fds, CMSG_DATA(c), count * sizeof(int));
		*fd_count = count;
	}
	if (got == 0) {
		errno = EIO;		/* simxen is gone, or does not want us */
		return -1;
	}
	return got;
}

int client_call(int fd, struct sim_call *call, int fds[2])
{
	int got_fds[2];
	size_t count;

	if (send(fd, call, sim_call_size(call), MSG_NOSIGNAL) < 0)
		return -1;
	if (receive(fd, call, sizeof *call, got_fds, 2, &count) < 0)
		return -1;
	if (count == 2 && fds)
		memcpy(fds, got_fds, sizeof got_fds);
	if (call->error == 0)
		return 0;
	errno = call->error;
	return -1;
}

int client_words(int fd, const uint32_t *words, size_t count)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLOUT };

	while (send(fd, words, count * sizeof *words, MSG_NOSIGNAL) < 0)
		if ((errno != EINTR && errno != EAGAIN) ||
		    (poll(&pollfd, 1, -1) < 0 && errno != EINTR))
			return -1;
	return 0;
}

int client_attach(int fd, int *control, uint32_t *domid, uint32_t *ports, uint32_t *count)
{
	uint32_t words[2 + SIM_PORTS] = { SIM_WORD_ATTACH };

	if (client_words(fd, words, 1) != 0)
		return -1;
	for (;;) {
		size_t fd_count;
		ssize_t got = receive(fd, words, sizeof words, control, 1, &fd_count);

		if (got < 0)
			return -1;
		if (words[0] != SIM_WORD_ATTACH) {	/* an event: put it back */
			uint32_t back[2] = { SIM_WORD_REQUEUE, words[0] };

			client_words(fd, back, 2);
			continue;
		}
		*domid = words[1];
		*count = (uint32_t)got / 4 - 2;
		memcpy(ports, words + 2, *count * sizeof *ports);
		return fd_count == 1 ? 0 : -1;
	}
}

static void *map_whole(int fd, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int client_domain_map(int fd, uint32_t domid, struct client_domain *domain)
{
	struct sim_call *call = calloc(1, sizeof *call);
	int fds[2], error;

	if (!call)
		return -1;
	call->op = SIM_GET_DOMAIN;
	call->arg[0] = domid;
	error = client_call(fd, call, fds);
	free(call);
	if (error)
		return -1;
	domain->memory_fd = fds[0];
	domain->memory = map_whole(fds[0], (size_t)SIM_PAGES * SIM_PAGE);
	domain->table = map_whole(fds[1], sizeof *domain->table);
	close(fds[1]);
	if (domain->memory && domain->table)
		return 0;
	client_domain_unmap(domain);
	errno = ENOMEM;
	return -1;
}

void client_domain_unmap(struct client_domain *domain)
{
	if (domain->memory)
		munmap(domain->memory, (size_t)SIM_PAGES * SIM_PAGE);
	if (domain->table)
		munmap(domain->table, sizeof *domain->table);
	if (domain->memory_fd >= 0)
		close(domain->memory_fd);
	*domain = (struct client_domain){ .memory_fd = -1 };
}
