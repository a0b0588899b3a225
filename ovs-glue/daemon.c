/* daemon.c - the manners of an Open vSwitch daemon; see daemon.h
 *
 * Everything is libopenvswitch's own: options, pid file, detaching, log, control socket, main loop.
 * Where we differ from it, on purpose:
 *	- the pid file is always made, so that a second daemon is refused and the tools find the first
 *	  without being told;
 *	- SIGTERM, SIGINT, SIGHUP and the `exit` command end the main loop, not the process, so that the
 *	  program can tidy up;
 *	- --user is refused: who makes devices and starts processes as other users has to be root. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command-line.h"
#include "dirs.h"
#include "fatal-signal.h"
#include "lib/daemon.h"		/* OVS's; ours has the same name */
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

#include "daemon.h"
#include "report_internal.h"

VLOG_DEFINE_THIS_MODULE(unetback);

#define COMMANDS_MAX 32
#define ARGUMENTS_MAX 8			/* of a command, with its name and --format */
#define PROGRAM_OPTIONS_MAX 24
#define FIRST_PROGRAM_OPTION 1000	/* getopt values of the program's own options */

struct command {
	int min_arguments, max_arguments;
	int (*run)(int argc, const char *argv[], struct report *report);
};

static struct unixctl_server *server;
static struct command commands[COMMANDS_MAX];
static int command_count;
static bool exiting;
static int signal_pipe[2] = { -1, -1 };

/* --- log -------------------------------------------------------------------------------------- */

/* A line may quote what a guest or an instance said: it must stay one line, and plain text. */
static void log_to_vlog(enum log_level level, const char *line)
{
	static const enum vlog_level levels[] = {
		[LOG_LEVEL_ERROR] = VLL_ERR, [LOG_LEVEL_WARNING] = VLL_WARN,
		[LOG_LEVEL_INFO] = VLL_INFO, [LOG_LEVEL_DEBUG] = VLL_DBG,
	};
	char clean[LOG_LINE_MAX];
	size_t n = 0;

	for (; line[n] != '\0' && n < sizeof clean - 1; n++)
		clean[n] = (unsigned char)line[n] < ' ' || line[n] == 0x7f ? '?' : line[n];
	clean[n] = '\0';
	vlog(&this_module, levels[level], "%s", clean);
}

/* --- options ---------------------------------------------------------------------------------- */

enum { OPTION_UNIXCTL = UCHAR_MAX + 1, VLOG_OPTION_ENUMS, DAEMON_OPTION_ENUMS };

static const char *unixctl_path;
static const char *pidfile_name;

static void print_usage(const struct daemon_program *program)
{
	printf("%s: %s\nusage: %s [OPTIONS]\n\nOptions:\n", program->name, program->purpose,
	       program->name);
	for (const struct daemon_option *option = program->options; option->name; option++) {
		char text[64];

		snprintf(text, sizeof text, "--%s%s%s", option->name, option->argument ? "=" : "",
			 option->argument ? option->argument : "");
		printf("  %-23s %s\n", text, option->help);
	}
	/* As OVS's daemon_usage(), without --user. */
	printf("\nDaemon options:\n"
	       "  --detach                run in background as daemon\n"
	       "  --monitor               creates a process to monitor this daemon\n"
	       "  --no-chdir              do not chdir to '/'\n"
	       "  --pidfile[=FILE]        name of the pidfile (default: %s/%s.pid)\n"
	       "  --overwrite-pidfile     start even if already running\n",
	       ovs_rundir(), program->name);
	vlog_usage();
	printf("\nOther options:\n"
	       "  --unixctl=SOCKET        override default control socket name\n"
	       "  -h, --help              display this help message\n"
	       "  -V, --version           display version information\n");
}

static void print_version(const struct daemon_program *program)
{
	printf("%s (unetback) %s\nOpen vSwitch Library %s\n", program->name, UNETBACK_VERSION,
	       OVS_PACKAGE_VERSION);
}

/* The program's options stand behind those every OVS daemon has. */
static const struct option *make_options(const struct daemon_program *program)
{
	static const struct option common[] = {
		{ "unixctl", required_argument, NULL, OPTION_UNIXCTL },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		DAEMON_LONG_OPTIONS,
		VLOG_LONG_OPTIONS,
	};
	static struct option all[ARRAY_SIZE(common) + PROGRAM_OPTIONS_MAX + 1];
	size_t n = ARRAY_SIZE(common);

	memcpy(all, common, sizeof common);
	for (int i = 0; program->options[i].name; i++) {
		ovs_assert(i < PROGRAM_OPTIONS_MAX);
		all[n++] = (struct option){ program->options[i].name,
					    program->options[i].argument ? required_argument
									 : no_argument,
					    NULL, FIRST_PROGRAM_OPTION + i };
	}
	return all;
}

static void take_option(const struct daemon_program *program, int option)
{
	switch (option) {
	case 'h':
		print_usage(program);
		exit(EXIT_SUCCESS);
	case 'V':
		print_version(program);
		exit(EXIT_SUCCESS);
	case '?':
		exit(EXIT_FAILURE);	/* getopt has said why */
	case OPTION_UNIXCTL:
		unixctl_path = optarg;
		break;
	VLOG_OPTION_HANDLERS
	DAEMON_OPTION_HANDLERS
	default:
		if (program->options[option - FIRST_PROGRAM_OPTION].set(optarg) != 0)
			exit(EXIT_FAILURE);
	}
}

void daemon_parse_options(int argc, char *argv[], const struct daemon_program *program)
{
	static char *short_options;	/* --help ends the process in the middle: no leak, then */
	const struct option *options = make_options(program);
	int option;

	ovs_cmdl_proctitle_init(argc, argv);
	ovs_set_program_name(program->name, UNETBACK_VERSION);
	fatal_ignore_sigpipe();
	short_options = ovs_cmdl_long_options_to_short_options(options);
	while ((option = getopt_long(argc, argv, short_options, options, NULL)) != -1) {
		if (option == OPT_PIDFILE && optarg)
			pidfile_name = optarg;
		if (option == OPT_USER_GROUP)
			ovs_fatal(0, "--user=%s is not possible: %s makes network devices and starts "
				  "processes as other users, so it must be root", optarg, program->name);
		take_option(program, option);
	}
	free(short_options);
	if (optind < argc)
		ovs_fatal(0, "'%s' is not an option, and %s takes nothing else (--help lists them)",
			  argv[optind], program->name);
}

/* --- life ------------------------------------------------------------------------------------- */

static void exit_command(struct unixctl_conn *conn, int argc OVS_UNUSED,
			 const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
	exiting = true;
	unixctl_command_reply(conn, NULL);
}

/* By a pipe, because a signal that comes between the look at a flag and poll() would be slept over.
 * When the pipe is full it is readable, which is all that is wanted. */
static void on_signal(int number)
{
	int saved = errno;
	char byte = (char)number;

	ignore(write(signal_pipe[1], &byte, 1));
	errno = saved;
}

/* In the daemon itself only: its parents (--detach, --monitor) keep libopenvswitch's handlers, which
 * end them at once. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };

	if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		ovs_fatal(errno, "cannot make a pipe");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (sigaction(numbers[i], &action, NULL) != 0)
			ovs_fatal(errno, "cannot catch signal %d", numbers[i]);
}

static bool is_absolute(const char *path)
{
	return path && path[0] == '/';
}

/* What libopenvswitch would say of a missing folder names a temporary file and no remedy. */
static void check_run_folder(void)
{
	if (is_absolute(pidfile_name) && is_absolute(unixctl_path))
		return;		/* nothing of ours goes there */
	if (access(ovs_rundir(), W_OK | X_OK) != 0)
		ovs_fatal(errno, "the run folder %s cannot be written; make it, or name another by "
			  "OVS_RUNDIR in the environment", ovs_rundir());
}

void daemon_start(void)
{
	check_run_folder();
	set_pidfile(pidfile_name);
	daemonize_start(false);
	catch_signals();
	log_set_sink(log_to_vlog);
	if (unixctl_server_create(unixctl_path, &server) != 0)
		exit(EXIT_FAILURE);	/* it has said which path and why */
	unixctl_command_register("exit", "", 0, 0, exit_command, NULL);
}

void daemon_ready(void)
{
	daemonize_complete();
}

bool daemon_exiting(void)
{
	struct pollfd signals = { .fd = signal_pipe[0], .events = POLLIN };

	return exiting || poll(&signals, 1, 0) > 0;
}

void daemon_run(void)
{
	unixctl_server_run(server);
}

void daemon_wait_fd(int fd, short poll_events)
{
	poll_fd_wait(fd, poll_events);
}

void daemon_wait_until(struct mono when)
{
	poll_timer_wait_until((when.ns + NS_PER_MS - 1) / NS_PER_MS);
}

void daemon_block(void)
{
	unixctl_server_wait(server);
	poll_fd_wait(signal_pipe[0], POLLIN);
	if (exiting)
		poll_immediate_wake();
	poll_block();
}

void daemon_stop(void)
{
	unixctl_server_destroy(server);
	server = NULL;
	log_set_sink(NULL);
}

/* --- commands --------------------------------------------------------------------------------- */

#define FORMAT_OPTION "--format="

/* Takes --format=... out of the arguments.  False if it is one we do not know. */
static bool take_format(int *argc, const char *argv[], bool *json)
{
	const char *format;

	*json = false;
	if (*argc < 2 || strncmp(argv[1], FORMAT_OPTION, strlen(FORMAT_OPTION)) != 0)
		return true;
	format = argv[1] + strlen(FORMAT_OPTION);
	*json = strcmp(format, "json") == 0;
	(*argc)--;
	for (int i = 1; i < *argc; i++)
		argv[i] = argv[i + 1];
	return *json || strcmp(format, "text") == 0;
}

/* 0 with the report filled, or -errno with its failure. */
static int fill_report(const struct command *command, int argc, const char *argv[], bool *json,
		       struct report *report)
{
	if (!take_format(&argc, argv, json)) {
		report_error(report, "--format must be text or json");
		return -EINVAL;
	}
	if (argc - 1 < command->min_arguments || argc - 1 > command->max_arguments) {
		report_error(report, "%s takes %d to %d arguments, not %d", argv[0],
			     command->min_arguments, command->max_arguments, argc - 1);
		return -EINVAL;
	}
	return command->run(argc, argv, report);
}

static void run_command(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
	const char *arguments[ARGUMENTS_MAX];	/* libopenvswitch frees its own by what stands in it */
	struct report report;
	bool json;

	ovs_assert(argc <= ARGUMENTS_MAX);
	memcpy(arguments, argv, (size_t)argc * sizeof *argv);
	report_init(&report);
	if (fill_report(aux, argc, arguments, &json, &report) == 0) {
		char *text = report_render(&report, json);

		unixctl_command_reply(conn, text);
		free(text);
	} else {
		unixctl_command_reply_error(conn, report_failure(&report));
	}
	report_destroy(&report);
}

void daemon_command(const char *name, const char *usage, int min_arguments, int max_arguments,
		    int (*run)(int argc, const char *argv[], struct report *report))
{
	struct command *command = &commands[command_count];
	/* libopenvswitch keeps the usage for as long as it lives. */
	char *full_usage = xasprintf("[--format=text|json]%s%s", *usage ? " " : "", usage);

	ovs_assert(command_count < COMMANDS_MAX && max_arguments + 2 <= ARGUMENTS_MAX);
	command_count++;
	*command = (struct command){ min_arguments, max_arguments, run };
	unixctl_command_register(name, full_usage, 0, max_arguments + 1, run_command, command);
}
