/* control_client.c - asking unetbackd over its control socket; see control_client.h
 *
 * The protocol of ovs-appctl: one JSON-RPC request whose method is the command.  Not by OVS's own
 * unixctl_client_transact(), because that waits for ever and a time limit there ends the process by
 * SIGALRM, without a word. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dirs.h"
#include "jsonrpc.h"
#include "lib/daemon.h"		/* OVS's: read_pidfile() */
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "stream.h"
#include "timeval.h"
#include "util.h"

#include "control_client.h"

/* The pid of the running daemon @target; -errno with the reason in @why. */
static pid_t find_daemon(const char *target, char **why)
{
	char *pidfile = xasprintf("%s/%s.pid", ovs_rundir(), target);
	pid_t pid = read_pidfile(pidfile);

	if (pid == -ENOENT)
		*why = xasprintf("%s does not run (there is no %s); start it, or name its control socket "
				 "with --target", target, pidfile);
	else if (pid == -ESRCH)
		*why = xasprintf("%s does not run (%s is left over from one that died); start it", target,
				 pidfile);
	else if (pid < 0)
		*why = xasprintf("cannot read %s: %s%s", pidfile, ovs_strerror(-pid),
				 pid == -EACCES ? "; only root may ask" : "");
	free(pidfile);
	return pid;
}

/* The path of its socket, or NULL with the reason in @why. */
static char *find_socket(const char *target, char **why)
{
	pid_t pid;

	if (target[0] == '/')
		return xstrdup(target);
	pid = find_daemon(target, why);
	return pid < 0 ? NULL : xasprintf("%s/%s.%ld.ctl", ovs_rundir(), target, (long)pid);
}

static int open_socket(const char *path, long long deadline, struct jsonrpc **rpc, char **why)
{
	char *name = xasprintf("unix:%s", path);
	struct stream *stream;
	int error = stream_open_block(stream_open(name, &stream, DSCP_DEFAULT),
				      MAX(deadline - time_msec(), 0), &stream);

	if (error)
		*why = xasprintf("cannot connect to %s: %s%s", path, ovs_strerror(error),
				 error == ECONNREFUSED ? "; nobody serves it" : "");
	else
		*rpc = jsonrpc_open(stream);
	free(name);
	return -error;
}

static struct jsonrpc_msg *make_request(const char *command, int argc, char *const argv[])
{
	struct json *arguments = json_array_create_empty();

	for (int i = 0; i < argc; i++)
		json_array_add(arguments, json_string_create(argv[i]));
	return jsonrpc_create_request(command, arguments, NULL);
}

/* 0 with a @reply, or -errno. */
static int transact(struct jsonrpc *rpc, struct jsonrpc_msg *request, long long deadline,
		    struct jsonrpc_msg **reply)
{
	int error = jsonrpc_send(rpc, request);

	while (!error) {
		jsonrpc_run(rpc);
		error = jsonrpc_recv(rpc, reply);
		if (error != EAGAIN)
			break;
		if (time_msec() >= deadline)
			return -ETIMEDOUT;
		jsonrpc_wait(rpc);
		jsonrpc_recv_wait(rpc);
		poll_timer_wait_until(deadline);
		poll_block();
		error = 0;
	}
	return error == EOF ? -ECONNRESET : -error;
}

static char *without_newline(const char *text)
{
	char *copy = xstrdup(text);
	size_t length = strlen(copy);

	if (length > 0 && copy[length - 1] == '\n')
		copy[length - 1] = '\0';
	return copy;
}

/* What @reply says: 0 for an answer, -EINVAL for a refusal. */
static int take_reply(const struct jsonrpc_msg *reply, char **answer)
{
	const struct json *body = reply->error ? reply->error : reply->result;

	if (!body || body->type != JSON_STRING) {
		*answer = xstrdup("the daemon's answer is not understood: it is not a string");
		return -EPROTO;
	}
	*answer = without_newline(json_string(body));
	return reply->type == JSONRPC_REPLY ? 0 : -EINVAL;
}

int control_ask(const char *target, unsigned int seconds, const char *command, int argc,
		char *const argv[], char **answer)
{
	long long deadline = time_msec() + seconds * 1000LL;
	struct jsonrpc_msg *reply = NULL;
	struct jsonrpc *rpc = NULL;
	char *path;
	int error;

	vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);	/* what matters is in @answer */
	path = find_socket(target, answer);
	if (!path)
		return -ENOENT;
	error = open_socket(path, deadline, &rpc, answer);
	if (!error) {
		error = transact(rpc, make_request(command, argc, argv), deadline, &reply);
		if (error)
			*answer = xasprintf("no answer from %s within %u s: %s", path, seconds,
					    ovs_strerror(-error));
		else
			error = take_reply(reply, answer);
		jsonrpc_msg_destroy(reply);
		jsonrpc_close(rpc);
	}
	free(path);
	return error;
}

const char *control_library_version(void)
{
	return OVS_PACKAGE_VERSION;
}
