/* unetback.c - the command line tool
 *
 * Asks unetbackd over its control socket and prints the answer; knows nothing of vifs itself.  What
 * goes wrong is one line on stderr and exit status 1. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ovs-glue/control_client.h"

static const struct command {
	const char *name, *arguments, *help;
	int max_arguments;
} commands[] = {
	{ "list", "", "all vifs and their states", 0 },
	{ "show", "[VIF]", "everything known of one vif or all", 1 },
	{ "stats", "[VIF]", "counters: what became of every frame", 1 },
	{ NULL, NULL, NULL, 0 },
};

struct options { const char *target, *format; };

static void usage(void)
{
	printf("unetback: looks into the userspace network backend of Xen guests\n"
	       "usage: unetback [OPTIONS] COMMAND\n\nCommands:\n");
	for (const struct command *command = commands; command->name; command++)
		printf("  %-6s %-6s  %s\n", command->name, command->arguments, command->help);
	printf("\nOptions:\n"
	       "  --format=text|json   for people (default) or for programs\n"
	       "  --target=NAME|SOCKET the daemon to ask (default: unetbackd)\n"
	       "  --timeout=SECONDS    give up after that long\n"
	       "  -h, --help           this text\n"
	       "  -V, --version        the version\n");
}

static void parse_timeout(const char *value)
{
	char *end;
	long seconds = strtol(value, &end, 10);

	if (*value == '\0' || *end != '\0' || seconds < 1 || seconds > 86400) {
		fprintf(stderr, "unetback: --timeout is '%s', must be a number from 1 to 86400\n", value);
		exit(EXIT_FAILURE);
	}
	control_timeout((unsigned int)seconds);
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
		parse_timeout(optarg);
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

	while ((option = getopt_long(argc, argv, "hV", table, NULL)) != -1)
		take_option(option, options);
	if (strcmp(options->format, "text") != 0 && strcmp(options->format, "json") != 0) {
		fprintf(stderr, "unetback: --format is '%s', must be text or json\n", options->format);
		exit(EXIT_FAILURE);
	}
}

/* How many letters two words share from the start: enough to guess what was meant. */
static size_t likeness(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] != '\0' && a[n] == b[n])
		n++;
	return n;
}

static const struct command *find_command(const char *name)
{
	const struct command *nearest = commands;

	for (const struct command *command = commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
		if (likeness(command->name, name) > likeness(nearest->name, name))
			nearest = command;
	}
	fprintf(stderr, "unetback: unknown command '%s'; did you mean '%s'? (--help lists all)\n", name,
		nearest->name);
	exit(EXIT_FAILURE);
}

int main(int argc, char *argv[])
{
	struct options options = { "unetbackd", "text" };
	char *arguments[4], *answer = NULL, name[32];
	const struct command *command;
	int n = 0, error;

	parse(argc, argv, &options);
	if (optind >= argc) {
		fprintf(stderr, "unetback: no command given (--help lists all)\n");
		return EXIT_FAILURE;
	}
	command = find_command(argv[optind++]);
	if (argc - optind > command->max_arguments) {
		fprintf(stderr, "unetback: '%s' is one argument too many; usage: unetback %s %s\n",
			argv[optind + command->max_arguments], command->name, command->arguments);
		return EXIT_FAILURE;
	}
	if (strcmp(options.format, "json") == 0)
		arguments[n++] = (char *)"--format=json";
	for (; optind < argc; optind++)
		arguments[n++] = argv[optind];
	snprintf(name, sizeof name, "unetback/%s", command->name);
	error = control_ask(options.target, name, n, arguments, &answer);
	fprintf(error ? stderr : stdout, error ? "unetback: %s\n" : "%s\n", answer);
	free(answer);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
