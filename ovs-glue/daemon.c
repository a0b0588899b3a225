/* daemon.c - the manners of an Open vSwitch daemon; see daemon.h
 *
 * Everything is libopenvswitch's own: options, pid file, detaching, log, control socket, main loop.
 * The exit command and signals end the loop, not the process, so that the program can tidy up. */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command-line.h"
#include "daemon.h"
#include "dirs.h"
#include "fatal-signal.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

#include "../ovs-glue/daemon.h"
#include "report_internal.h"

VLOG_DEFINE_THIS_MODULE(unetback);

#define COMMANDS_MAX 32
#define PROGRAM_OPTIONS_MAX 24
#define FIRST_PROGRAM_OPTION 1000	/* getopt values of the program's own options */

struct command {
	int (*run)(int argc, const char *argv[], struct report *report);
};

static struct unixctl_server *server;
static volatile sig_atomic_t exiting;
static struct command commands[COMMANDS_MAX];
static int command_count;

/* --- log -------------------------------------------------------------------------------------- */

static void log_to_vlog(enum log_level level, const char *line)
{
	static const enum vlog_level levels[] = {
		[LOG_LEVEL_ERROR] = VLL_ERR, [LOG_LEVEL_WARNING] = VLL_WARN,
		[LOG_LEVEL_INFO] = VLL_INFO, [LOG_LEVEL_DEBUG] = VLL_DBG,
	};

	vlog(&this_module, levels[level], "%s", line);
}

/* --- options ---------------------------------------------------------------------------------- */

enum { OPTION_UNIXCTL = UCHAR_MAX + 1, VLOG_OPTION_ENUMS, DAEMON_OPTION_ENUMS };

static const char *unixctl_path;

static void print_usage(const struct daemon_program *program)
{
	printf("%s: %s\nusage: %s [OPTIONS]\n\nOptions:\n", program->name, program->purpose,
	       program->name);
	for (const struct daemon_option *option = program->options; option->name; option++) {
		char text[64];

		snprintf(text, sizeof text, "--%s%s%s", option->name, option->argument ? "=" : "",
			 option->argument ? option->argument : "");
		printf("  %-27s %s\n", text, option->help);
	}
	daemon_usage();
	vlog_usage();
	printf("\nOther options:\n"
	       "  --unixctl=SOCKET            override default control socket name\n"
	       "  -h, --help                  display this help message\n"
	       "  -V, --version               display version information\n");
}

static void print_version(const struct daemon_program *program)
{
	printf("%s (unetback) %s\nOpen vSwitch Library %s\n", program->name, UNETBACK_VERSION,
	       OVS_PACKAGE_VERSION);
}

static void take_program_option(const struct daemon_option *option, const char *value)
{
	if (option->set(value) != 0)
		exit(EXIT_FAILURE);
}

/* The program's options stand behind those every OVS daemon has. */
static struct option *make_options(const struct daemon_program *program)
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
	for (int i = 0; program->options[i].name && i < PROGRAM_OPTIONS_MAX; i++)
		all[n++] = (struct option){ program->options[i].name,
					    program->options[i].argument ? required_argument
									 : no_argument,
					    NULL, FIRST_PROGRAM_OPTION + i };
	return all;
}

void daemon_parse_options(int argc, char *argv[], const struct daemon_program *program)
{
	struct option *options = make_options(program);
	char *short_options = ovs_cmdl_long_options_to_short_options(options);
	int option;

	ovs_cmdl_proctitle_init(argc, argv);
	ovs_set_program_name(program->name, UNETBACK_VERSION);
	fatal_ignore_sigpipe();
	while ((option = getopt_long(argc, argv, short_options, options, NULL)) != -1) {
		switch (option) {
		case 'h':
			print_usage(program);
			exit(EXIT_SUCCESS);
		case 'V':
			print_version(program);
			exit(EXIT_SUCCESS);
		case OPTION_UNIXCTL:
			unixctl_path = optarg;
			break;
		VLOG_OPTION_HANDLERS
		DAEMON_OPTION_HANDLERS
		case '?':
			exit(EXIT_FAILURE);	/* getopt has said why */
		default:
			take_program_option(&program->options[option - FIRST_PROGRAM_OPTION], optarg);
			break;
		}
	}
	free(short_options);
	if (optind < argc)
		ovs_fatal(0, "'%s' is no option; %s takes no other arguments (--help lists them)",
			  argv[optind], program->name);
}

/* --- life ------------------------------------------------------------------------------------- */

static void exit_command(struct unixctl_conn *conn, int argc OVS_UNUSED,
			 const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
	exiting = 1;
	unixctl_command_reply(conn, NULL);
}

static void on_signal(int number)
{
	(void)number;
	exiting = 1;
}

/* SIGTERM and SIGINT end the main loop; libopenvswitch's own handler would end the process at once. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

void daemon_start(void)
{
	int error;

	daemonize_start(false, false);
	log_set_sink(log_to_vlog);
	error = unixctl_server_create(unixctl_path, &server);
	if (error)
		ovs_fatal(error, "cannot open the control socket in %s; the folder must exist and be "
			  "writable (OVS_RUNDIR names another)", ovs_rundir());
	unixctl_command_register("exit", "", 0, 0, exit_command, NULL);
	catch_signals();
}

void daemon_ready(void)
{
	daemonize_complete();
}

bool daemon_exiting(void)
{
	return exiting;
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

void daemon_wait_now(void)
{
	poll_immediate_wake();
}

void daemon_block(void)
{
	unixctl_server_wait(server);
	if (exiting)
		poll_immediate_wake();
	poll_block();
}

void daemon_stop(void)
{
	unixctl_server_destroy(server);
	log_set_sink(NULL);
	fatal_signal_fork();	/* forgets the files to be unlinked... */
}

/* --- commands --------------------------------------------------------------------------------- */

static bool wants_json(int argc, const char *argv[])
{
	return argc > 1 && strcmp(argv[1], "--format=json") == 0;
}

static void run_command(struct unixctl_conn *conn, int argc, const char *argv[], void *aux)
{
	const struct command *command = aux;
	bool json = wants_json(argc, argv);
	struct report report;
	const char *arguments[8] = { argv[0] };
	int n = 1;

	for (int i = json ? 2 : 1; i < argc && n < 8; i++)
		arguments[n++] = argv[i];
	report_init(&report);
	if (command->run(n, arguments, &report) != 0) {
		unixctl_command_reply_error(conn, report_failure(&report));
	} else {
		char *text = report_render(&report, json);

		unixctl_command_reply(conn, text);
		free(text);
	}
	report_destroy(&report);
}

void daemon_command(const char *name, const char *usage, int min_arguments, int max_arguments,
		    int (*run)(int argc, const char *argv[], struct report *report))
{
	struct command *command = &commands[command_count++];
	char *full_usage = xasprintf("[--format=json]%s%s", *usage ? " " : "", usage);

	ovs_assert(command_count <= COMMANDS_MAX);
	command->run = run;
	/* libopenvswitch keeps the usage for as long as it lives. */
	unixctl_command_register(name, full_usage, min_arguments, max_arguments + 1, run_command,
				 command);
}
