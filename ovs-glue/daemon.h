/* daemon.h - what makes unetbackd feel like a daemon of Open vSwitch
 *
 * A thin cover over libopenvswitch (daemon, vlog, unixctl, poll-loop, json), so that no file outside
 * ovs-glue/ sees an OVS header.  One thread.  unetbackd's main is:
 *
 *	daemon_parse_options(argc, argv, options, &setup);	-h, -V, -v, --detach, --pidfile ...
 *	daemon_start();						forks with --detach; control socket opens
 *	... set up; a failure here is seen by the parent and its exit status ...
 *	daemon_ready();						the parent returns 0
 *	while (!daemon_exiting()) {
 *		run everything; daemon_run();
 *		daemon_wait_fd(...); daemon_wait_until(...);
 *		daemon_block();
 *	}
 *	daemon_stop();
 */
#ifndef OVS_GLUE_DAEMON_H
#define OVS_GLUE_DAEMON_H

#include <stdbool.h>

#include "../backend/clock.h"
#include "../backend/log.h"
#include "report.h"

/* An option of the program beside those of every OVS daemon.  Table ended by a NULL name. */
struct daemon_option {
	const char *name;		/* long name, without dashes */
	const char *argument;		/* name of its argument for --help, or NULL for none */
	const char *help;		/* one line */
	/* Takes the value (NULL without argument): 0, or -EINVAL after saying on stderr what is wrong
	 * with it and what would be right. */
	int (*set)(const char *value);
};

struct daemon_program {
	const char *name;		/* "unetbackd" */
	const char *purpose;		/* one line for --help */
	const struct daemon_option *options;
};

/* Parses the command line; ends the process for --help, --version (status 0) and errors (status 1). */
void daemon_parse_options(int argc, char *argv[], const struct daemon_program *program);
/* Detaches if asked, opens log and control socket.  Ends the process with a clear line and status 1
 * if the run folder is not writable or another instance runs.  From here on log.h goes to vlog. */
void daemon_start(void);
void daemon_ready(void);
bool daemon_exiting(void);		/* SIGTERM, SIGINT or the `exit` command came */
void daemon_run(void);			/* serves commands; call once a loop */
void daemon_wait_fd(int fd, short poll_events);
void daemon_wait_until(struct mono when);
void daemon_block(void);		/* sleeps until one of the waits above, or a command */
void daemon_stop(void);

/* A command of the control socket (`ovs-appctl -t unetbackd NAME ...`).  @run gets its name as argv[0]
 * and @min_arguments to @max_arguments behind it, without --format; it fills the report, which
 * is sent as text or, when the caller put --format=json first, as JSON; or returns -errno after
 * report_error() with one line. */
void daemon_command(const char *name, const char *usage, int min_arguments, int max_arguments,
		    int (*run)(int argc, const char *argv[], struct report *report));

#endif
