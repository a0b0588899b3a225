/* simstore.c - XenStore as a driver domain sees it
 *
 * usage: simstore DOMID SOCKET
 *
 * Listens on SOCKET for clients that are to believe they run in domain DOMID (XENSTORED_PATH=SOCKET),
 * and passes their messages to the real xenstored ($XENSTORED_PATH), one process and one connection
 * a client.  Relative paths get /local/domain/DOMID before them, which also makes them absolute in
 * the events of watches, where it is taken off again.  Prints "ready" when clients can connect.
 *
 * Unfaithful: permissions are still domain 0's. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <xen/io/xs_wire.h>

#define WATCHES 256

struct message {
	struct xsd_sockmsg header;
	char payload[XENSTORE_PAYLOAD_MAX + 64];	/* 64: what a prefix may add */
};

/* A watch on a relative path: what it became, and its token. */
struct watch {
	char *path, *token;		/* NULL: free */
};

static char prefix[64];
static struct watch watches[WATCHES];

static bool transfer(ssize_t (*how)(int, void *, size_t), int fd, void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = how(fd, (char *)data + done, size - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return false;
	}
	return true;
}

static ssize_t write_some(int fd, void *data, size_t size)
{
	return send(fd, data, size, MSG_NOSIGNAL);
}

static bool receive(int fd, struct message *message)
{
	return transfer(read, fd, &message->header, sizeof message->header) &&
	       message->header.len <= XENSTORE_PAYLOAD_MAX &&
	       transfer(read, fd, message->payload, message->header.len);
}

static bool pass_on(int fd, struct message *message)
{
	return transfer(write_some, fd, message, sizeof message->header + message->header.len);
}

static bool has_path(uint32_t type)
{
	switch (type) {
	case XS_DIRECTORY: case XS_READ: case XS_GET_PERMS: case XS_WATCH: case XS_UNWATCH:
	case XS_WRITE: case XS_MKDIR: case XS_RM: case XS_SET_PERMS: case XS_DIRECTORY_PART:
		return true;
	default:
		return false;
	}
}

static struct watch *find_watch(const char *path, const char *token)
{
	for (int i = 0; i < WATCHES; i++)
		if (watches[i].path && strcmp(watches[i].token, token) == 0 &&
		    strncmp(path, watches[i].path, strlen(watches[i].path)) == 0)
			return &watches[i];
	return NULL;
}

static void note_watch(uint32_t type, const char *path, const char *token)
{
	struct watch *watch = type == XS_UNWATCH ? find_watch(path, token) : NULL;

	if (watch) {
		free(watch->path);
		free(watch->token);
		*watch = (struct watch){ NULL, NULL };
	}
	for (int i = 0; type == XS_WATCH && i < WATCHES; i++) {
		if (watches[i].path)
			continue;
		watches[i] = (struct watch){ strdup(path), strdup(token) };
		break;
	}
}

static void make_absolute(struct message *message)
{
	char *path = message->payload;
	size_t length = strlen(prefix), path_length = strnlen(path, message->header.len);

	if (!has_path(message->header.type) || path_length == message->header.len ||
	    path[0] == '/' || path[0] == '@')
		return;
	memmove(path + length, path, message->header.len);
	memcpy(path, prefix, length);
	message->header.len += (uint32_t)length;
	path[message->header.len] = '\0';	/* a token ends here at the latest */
	if (message->header.type == XS_WATCH || message->header.type == XS_UNWATCH)
		note_watch(message->header.type, path, path + length + path_length + 1);
}

static void make_relative(struct message *message)
{
	char *path = message->payload;
	size_t length = strlen(prefix);

	if (message->header.type != XS_WATCH_EVENT || strncmp(path, prefix, length) != 0 ||
	    !find_watch(path, path + strlen(path) + 1))
		return;
	message->header.len -= (uint32_t)length;
	memmove(path, path + length, message->header.len);
}

static void serve(int client, int server)
{
	static struct message message;
	struct pollfd fds[2] = { { .fd = client, .events = POLLIN },
				 { .fd = server, .events = POLLIN } };

	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[0].revents) {
			if (!receive(client, &message))
				return;
			make_absolute(&message);
			if (!pass_on(server, &message))
				return;
		}
		if (fds[1].revents) {
			if (!receive(server, &message))
				return;
			make_relative(&message);
			if (!pass_on(client, &message))
				return;
		}
	}
}

static int open_socket(const char *path, bool listening)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	if (listening)
		unlink(path);
	if (fd >= 0 && (listening ? bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
				    listen(fd, 16) == 0
				  : connect(fd, (struct sockaddr *)&address, sizeof address) == 0))
		return fd;
	fprintf(stderr, "simstore: %s: %s\n", path, strerror(errno));
	exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	const char *xenstored = getenv("XENSTORED_PATH");
	int listener, client;

	if (argc != 3 || !xenstored) {
		fprintf(stderr, "usage: XENSTORED_PATH=... simstore DOMID SOCKET\n");
		return 2;
	}
	snprintf(prefix, sizeof prefix, "/local/domain/%lu/", strtoul(argv[1], NULL, 10));
	signal(SIGCHLD, SIG_IGN);
	listener = open_socket(argv[2], true);
	puts("ready");
	fflush(stdout);
	while ((client = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			serve(client, open_socket(xenstored, false));
			_exit(EXIT_SUCCESS);
		}
		close(client);
	}
	perror("simstore: accept");
	return EXIT_FAILURE;
}
