/* daemon_probe.c - a daemon of the least size, for check_daemon.sh
 *
 * All of daemon.h and report.h with nothing behind it: no Xen, no XenStore.  Commands:
 *	probe/report	a report with everything a report can have
 *	probe/table	the same kind of thing as a table
 *	probe/echo X	says X, or fails if X is "bad"
 *	probe/log X	writes a log line of each level, with X in it
 *	probe/hang	never answers for as long as --hang says, to try time limits */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ovs-glue/daemon.h"

static bool fail_to_start;
static int64_t hang_until_ms;
static int hang_ms = 2000;

static int set_number(const char *value)
{
	char *end;
	long number = strtol(value, &end, 10);

	if (*value == '\0' || *end != '\0' || number < 1 || number > 60000) {
		fprintf(stderr, "daemon_probe: --hang is '%s', must be milliseconds from 1 to 60000\n",
			value);
		return -EINVAL;
	}
	hang_ms = (int)number;
	return 0;
}

static int set_fail(const char *value)
{
	(void)value;
	fail_to_start = true;
	return 0;
}

static int command_report(int argc, const char *argv[], struct report *report)
{
	(void)argc;
	(void)argv;
	report_open(report, "vif1.0");
	report_number(report, "guest", 1);
	report_string(report, "hotplug_status", "");
	report_bool(report, "rings_connected", true);
	report_string(report, "said", "caf\xc3\xa9 \x1b[31m\n\xff");
	report_open_list(report, "features");
	report_string(report, NULL, "sg");
	report_string(report, NULL, "gso-tcpv4");
	report_close(report);
	report_open_list(report, "nothing");
	report_close(report);
	report_open_list(report, "queues");
	report_open(report, NULL);
	report_number(report, "frames", UINT64_MAX);
	report_close(report);
	report_close(report);
	report_close(report);
	report_string(report, "last", "one");
	return 0;
}

static int command_table(int argc, const char *argv[], struct report *report)
{
	(void)argc;
	(void)argv;
	report_table(report, "vif");
	report_open(report, "vif1.0");
	report_number(report, "guest", 1);
	report_close(report);
	report_open(report, "vif10.0");
	report_number(report, "guest", 10);
	report_string(report, "waiting_for", "the frontend");
	report_close(report);
	return 0;
}

static int command_echo(int argc, const char *argv[], struct report *report)
{
	if (argc > 1 && strcmp(argv[1], "bad") == 0) {
		report_error(report, "'%s' is bad", argv[1]);
		return -EINVAL;
	}
	report_string(report, "said", argc > 1 ? argv[1] : "nothing");
	return 0;
}

static int command_log(int argc, const char *argv[], struct report *report)
{
	(void)argc;
	log_error("error %s", argv[1]);
	log_warning("warning %s", argv[1]);
	log_info("info %s", argv[1]);
	log_debug("debug %s\nforged line", argv[1]);
	report_string(report, "logged", argv[1]);
	return 0;
}

static int command_hang(int argc, const char *argv[], struct report *report)
{
	(void)argc;
	(void)argv;
	hang_until_ms = mono_add_ms(mono_now(), hang_ms).ns / NS_PER_MS;
	report_string(report, "hanging", "now");
	return 0;
}

static const struct daemon_option options[] = {
	{ "hang", "MS", "how long probe/hang makes us deaf", set_number },
	{ "fail", NULL, "fail between daemon_start() and daemon_ready()", set_fail },
	{ NULL, NULL, NULL, NULL },
};

static const struct daemon_program program = {
	.name = "daemon_probe", .purpose = "tries daemon.h", .options = options,
};

/* Serves nothing while it hangs, as a daemon whose loop is stuck. */
static void turn(void)
{
	if (mono_now().ns / NS_PER_MS >= hang_until_ms) {
		daemon_run();
		daemon_block();
	}
}

int main(int argc, char *argv[])
{
	daemon_parse_options(argc, argv, &program);
	daemon_start();
	if (fail_to_start) {
		log_error("cannot start: told to fail");
		daemon_stop();
		return EXIT_FAILURE;
	}
	daemon_command("probe/report", "", 0, 0, command_report);
	daemon_command("probe/table", "", 0, 0, command_table);
	daemon_command("probe/echo", "[WORD]", 0, 1, command_echo);
	daemon_command("probe/log", "WORD", 1, 1, command_log);
	daemon_command("probe/hang", "", 0, 0, command_hang);
	daemon_command("unetback/list", "", 0, 0, command_table);	/* for the command line tool */
	daemon_command("unetback/show", "[VIF]", 0, 1, command_echo);
	daemon_ready();
	while (!daemon_exiting())
		turn();
	log_info("ending in good order");
	daemon_stop();
	return EXIT_SUCCESS;
}
