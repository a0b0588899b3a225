/* simxenctl.c - looks at simxen and makes domains
 *
 * usage: simxenctl status [--json]	see simxen_status.c for the fields
 *	  simxenctl create DOMID	a domain with no kernel running yet
 *	  simxenctl destroy DOMID	its ports close, its grants are void
 *	  simxenctl idle		status 0 if no port, grant, share or mapping is left, and no
 *					domain but 0; else prints what is */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

static struct sim_call call;

static int usage(void)
{
	fprintf(stderr, "usage: simxenctl status [--json] | idle | create DOMID | destroy DOMID\n");
	return 2;
}

static bool run(enum sim_op op, uint32_t arg)
{
	int fd = client_connect(SIM_CTL, 0, 0);

	call.op = op;
	call.arg[0] = arg;
	if (fd >= 0 && client_call(fd, &call, NULL) == 0)
		return true;
	fprintf(stderr, "simxenctl: %s\n", strerror(errno));
	return false;
}

static int status(bool json)
{
	if (!run(SIM_STATUS, json))
		return 1;
	fputs((const char *)call.data, stdout);
	return 0;
}

/* Domain 0 with its handles is what a quiet world has; anything counted beside is left over. */
static int idle(void)
{
	unsigned int ports, granted, shared, mapped;
	const char *text = (const char *)call.data;

	if (!run(SIM_STATUS, 0))
		return 1;
	if (sscanf(text,
		   "domain 0: alive true running false ports %u bound %*u granted %u shared %u "
		   "mapped %u",
		   &ports, &granted, &shared, &mapped) == 4 &&
	    strchr(text, '\n')[1] == '\0' && ports + granted + shared + mapped == 0)
		return 0;
	fputs(text, stdout);
	return 1;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	uint32_t domid = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

	if (strcmp(command, "status") == 0)
		return status(argc == 3 && strcmp(argv[2], "--json") == 0);
	if (strcmp(command, "idle") == 0 && argc == 2)
		return idle();
	if (strcmp(command, "create") == 0 && argc == 3)
		return run(SIM_CREATE, domid) ? 0 : 1;
	if (strcmp(command, "destroy") == 0 && argc == 3)
		return run(SIM_DESTROY, domid) ? 0 : 1;
	return usage();
}
