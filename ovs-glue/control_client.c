/* control_client.c - asking unetbackd over its control socket; see control_client.h */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dirs.h"
#include "jsonrpc.h"
#include "lib/daemon.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

#include "control_client.h"

/* The socket of the running daemon @target, by its pid file; NULL with the reason in @why. */
static char *find_socket(const char *target, char **why)
{
	char *pidfile, *path;
	pid_t pid;

	if (target[0] == '/')
		return xstrdup(target);
	pidfile = xasprintf("%s/%s.pid", ovs_rundir(), target);
	if (access(pidfile, R_OK) != 0) {
		*why = xasprintf("%s does not run: no %s (start it with --pidfile, or name its control "
				 "socket with --target)", target, pidfile);
		free(pidfile);
		return NULL;
	}
	pid = read_pidfile(pidfile);
	if (pid < 0)
		*why = xasprintf("%s does not run: %s: %s", target, pidfile, ovs_strerror(-pid));
	free(pidfile);
	if (pid < 0)
		return NULL;
	path = xasprintf("%s/%s.%ld.ctl", ovs_rundir(), target, (long)pid);
	return path;
}

static int transact(struct jsonrpc *client, const char *command, int argc, char *argv[],
		    char **answer)
{
	char *result = NULL, *failure = NULL;
	int error = unixctl_client_transact(client, command, argc, argv, &result, &failure);

	if (error) {
		*answer = xasprintf("no answer: %s", ovs_strerror(error));
		return -error;
	}
	*answer = failure ? failure : result ? result : xstrdup("");
	return failure ? -EINVAL : 0;
}

int control_ask(const char *target, const char *command, int argc, char *argv[], char **answer)
{
	struct jsonrpc *client = NULL;
	char *path = find_socket(target, answer);
	int error;

	if (!path)
		return -ENOENT;
	error = -unixctl_client_create(path, &client);
	if (error) {
		*answer = xasprintf("cannot connect to %s: %s", path, ovs_strerror(-error));
	} else {
		error = transact(client, command, argc, argv, answer);
		jsonrpc_close(client);
	}
	free(path);
	return error;
}

void control_timeout(unsigned int seconds)
{
	time_alarm(seconds);
}

const char *control_library_version(void)
{
	return OVS_PACKAGE_VERSION;
}
