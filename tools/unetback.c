/* unetback.c - the command line tool
 *
 * Asks unetbackd over its control socket and prints the answer; knows nothing of vifs itself.  What
 * goes wrong is one line on stderr and exit status 1. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ovs-glue/control_client.h"

#define ARGUMENTS_MAX 2			/* of a command of the daemon: --format=json and a vif */
#define TIMEOUT_DEFAULT 10		/* seconds: a daemon that is well answers in milliseconds */
#define TIMEOUT_MAX 86400

static const struct command {
	const char *name, *arguments, *help;
	int max_arguments;
} commands[] = {
	{ "list", "", "all vifs and the states of both their ends, a line each", 0 },
	{ "show", "[VIF]", "everything known of one vif or all", 1 },
	{ "stats", "[VIF]", "counters: what became of every frame", 1 },
	{ NULL, NULL, NULL, 0 },
};

struct options {
	const char *target, *format;
	unsigned int timeout;
};

static void usage(void)
{
	printf("unetback: looks into the userspace network backend of Xen guests\n"
	       "usage: unetback [OPTIONS] COMMAND\n\nCommands:\n");
	for (const struct command *command = commands; command->name; command++)
		printf("  %-5s %-6s              %s\n", command->name, command->arguments, command->help);
	printf("\nOptions:\n"
	       "  -f, --format=text|json    for people (default) or for programs\n"
	       "  -t, --target=NAME|SOCKET  the daemon to ask (default: unetbackd)\n"
	       "  -T, --timeout=SECONDS     give up after that long (default: %d)\n"
	       "  -h, --help                display this help message\n"
	       "  -V, --version             display version information\n", TIMEOUT_DEFAULT);
}

static unsigned int parse_timeout(const char *value)
{
	char *end;
	long seconds = strtol(value, &end, 10);

	if (*value == '\0' || *end != '\0' || seconds < 1 || seconds > TIMEOUT_MAX) {
		fprintf(stderr, "unetback: --timeout is '%s', must be a number of seconds from 1 to %d\n",
			value, TIMEOUT_MAX);
		exit(EXIT_FAILURE);
	}
	return (unsigned int)seconds;
}

static void take_option(int option, struct options *options)
{
	switch (option) {
	case 'h':
		usage();
		exit(EXIT_SUCCESS);
	case 'V':
		printf("unetback %s\nOpen vSwitch Library %s\n", UNETBACK_VERSION,
		       control_library_version());
		exit(EXIT_SUCCESS);
	case 'f':
		options->format = optarg;
		break;
	case 't':
		options->target = optarg;
		break;
	case 'T':
		options->timeout = parse_timeout(optarg);
		break;
	default:
		exit(EXIT_FAILURE);	/* getopt has said why */
	}
}

static void parse(int argc, char *argv[], struct options *options)
{
	static const struct option table[] = {
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'V' },
		{ "format", required_argument, NULL, 'f' }, { "target", required_argument, NULL, 't' },
		{ "timeout", required_argument, NULL, 'T' }, { NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "hVf:t:T:", table, NULL)) != -1)
		take_option(option, options);
	if (strcmp(options->format, "text") != 0 && strcmp(options->format, "json") != 0) {
		fprintf(stderr, "unetback: --format is '%s', must be text or json\n", options->format);
		exit(EXIT_FAILURE);
	}
}

/* --- what was meant by a word nobody knows ---------------------------------------------------- */

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Letters to put in, take out or replace to make one word of the other (Levenshtein).  INT_MAX for
 * words too long to be a slip of ours. */
static int distance(const char *a, const char *b)
{
	int row[32], length = (int)strlen(b);

	if (length >= (int)(sizeof row / sizeof *row) || strlen(a) >= sizeof row / sizeof *row)
		return INT_MAX;
	for (int j = 0; j <= length; j++)
		row[j] = j;
	for (int i = 1; a[i - 1] != '\0'; i++) {
		int diagonal = row[0];

		row[0] = i;
		for (int j = 1; j <= length; j++) {
			int above = row[j];

			row[j] = least(least(above, row[j - 1]) + 1,
				       diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[length];
}

static const struct command *find_command(const char *name)
{
	const struct command *nearest = NULL;
	int best = 4;			/* farther than that is another word, not a slip */

	for (const struct command *command = commands; command->name; command++) {
		int away = distance(name, command->name);

		if (away == 0)
			return command;
		if (away < best && away < (int)strlen(command->name)) {
			best = away;
			nearest = command;
		}
	}
	if (nearest)
		fprintf(stderr, "unetback: unknown command '%s'; did you mean '%s'?\n", name,
			nearest->name);
	else
		fprintf(stderr, "unetback: unknown command '%s' (--help lists those there are)\n", name);
	exit(EXIT_FAILURE);
}

/* --- asking ----------------------------------------------------------------------------------- */

static int ask(const struct options *options, const struct command *command, char *const words[],
	       int count)
{
	char *arguments[ARGUMENTS_MAX], *answer = NULL, format[] = "--format=json", name[32];
	int n = 0, error;

	if (strcmp(options->format, "json") == 0)
		arguments[n++] = format;
	for (int i = 0; i < count; i++)
		arguments[n++] = words[i];
	snprintf(name, sizeof name, "unetback/%s", command->name);
	error = control_ask(options->target, options->timeout, name, n, arguments, &answer);
	fprintf(error ? stderr : stdout, error ? "unetback: %s\n" : "%s\n", answer);
	free(answer);
	if (!error && fflush(stdout) != 0) {
		perror("unetback: cannot write the answer");
		error = -1;
	}
	return error;
}

int main(int argc, char *argv[])
{
	struct options options = { "unetbackd", "text", TIMEOUT_DEFAULT };
	const struct command *command;
	int count;

	parse(argc, argv, &options);
	if (optind >= argc) {
		fprintf(stderr, "unetback: no command given (--help lists them)\n");
		return EXIT_FAILURE;
	}
	command = find_command(argv[optind]);
	count = argc - optind - 1;
	if (count > command->max_arguments) {
		fprintf(stderr, "unetback: '%s' is one argument too many; usage: unetback %s%s%s\n",
			argv[optind + 1 + command->max_arguments], command->name,
			*command->arguments ? " " : "", command->arguments);
		return EXIT_FAILURE;
	}
	return ask(&options, command, argv + optind + 1, count) ? EXIT_FAILURE : EXIT_SUCCESS;
}
