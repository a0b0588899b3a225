/* instance_main.c - the program unetback-instance
 *
 * Started by unetbackd for one guest, as root, with the channel and the state memory as descriptors 3
 * and 4.  Reads from top to bottom: keep nothing else, open the Xen devices, drop every privilege,
 * serve.  Not meant to be started by hand; says so if it is. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../ovs-glue/ports.h"
#include "channel.h"
#include "instance.h"
#include "pages.h"
#include "sandbox.h"

struct options {
	int guest, self;
	const char *user;
};

static int parse_domid(const char *text)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	return *text && !*end && errno == 0 && value >= 0 && value < 0x7ff0 ? (int)value : -1;
}

static void parse(int argc, char *argv[], struct options *options)
{
	static const struct option table[] = {
		{ "guest", required_argument, NULL, 'g' },
		{ "self", required_argument, NULL, 's' },
		{ "user", required_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	*options = (struct options){ -1, -1, NULL };
	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (option == 'g')
			options->guest = parse_domid(optarg);
		else if (option == 's')
			options->self = parse_domid(optarg);
		else if (option == 'u')
			options->user = optarg;
	}
	if (options->guest < 0 || options->self < 0 || !options->user) {
		fprintf(stderr, "unetback-instance: started by unetbackd, with --guest=DOMID "
			"--self=DOMID --user=NAME (domids are 0..32751)\n");
		exit(EXIT_FAILURE);
	}
}

static void log_to_channel(enum log_level level, const char *line)
{
	struct message message = { .type = MESSAGE_LOG, .level = level };

	snprintf(message.text, sizeof message.text, "%s", line);
	if (channel_send(CHANNEL_FD, &message, NULL, 0) != 0)
		fprintf(stderr, "unetback-instance: %s\n", line);
}

static struct guest_state *map_state(void)
{
	struct stat status;
	void *state;

	if (fstat(CHANNEL_STATE_FD, &status) != 0 ||
	    status.st_size < (off_t)sizeof(struct guest_state)) {
		fprintf(stderr, "unetback-instance: descriptor %d is not the guest's state memory; "
			"this program is started by unetbackd\n", CHANNEL_STATE_FD);
		exit(EXIT_FAILURE);
	}
	state = mmap(NULL, sizeof(struct guest_state), PROT_READ | PROT_WRITE, MAP_SHARED,
		     CHANNEL_STATE_FD, 0);
	if (state == MAP_FAILED) {
		log_error("cannot map the state memory: %s", strerror(errno));
		exit(EXIT_FAILURE);
	}
	close(CHANNEL_STATE_FD);
	return state;
}

static void open_devices(struct instance_setup *setup)
{
	setup->gnttab = xengnttab_open(NULL, 0);
	if (!setup->gnttab) {
		log_error("/dev/xen/gntdev cannot be opened: %s; load the module xen-gntdev",
			  strerror(errno));
		exit(EXIT_FAILURE);
	}
	setup->pages = pages_open(setup->self);
	if (!setup->pages) {
		log_error("no memory");
		exit(EXIT_FAILURE);
	}
}

int main(int argc, char *argv[])
{
	struct options options;
	struct instance_setup setup = { .channel = CHANNEL_FD, .port_classes = port_classes };
	int error;

	parse(argc, argv, &options);
	setup.guest = (uint16_t)options.guest;
	setup.self = (uint16_t)options.self;
	setup.state = map_state();
	log_set_sink(log_to_channel);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);	/* of a terminal: unetbackd decides when we end */

	sandbox_start(CHANNEL_FD);
	open_devices(&setup);
	sandbox_opened(options.user);
	sandbox_serving();
	error = instance_run(&setup);

	pages_close(setup.pages);
	xengnttab_close(setup.gnttab);
	munmap(setup.state, sizeof *setup.state);
	if (error)
		fprintf(stderr, "unetback-instance: channel: %s\n", strerror(-error));
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
