/* tap_tool.c - drives tap_device_class from a shell test
 *
 * Reads commands from standard input and answers each by one line: "ok ..." or "error ERRNO-NAME".
 *	create NAME	carrier NAME 0|1	mtu NAME N	forget NAME	destroy NAME
 *	send NAME N	a broadcast frame, N in its payload, as if the guest had sent it
 *	receive NAME	waits for such a frame, at most 5 s, and says its N */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../backend/clock.h"
#include "../../ovs-glue/devices.h"

#define DEVICES_MAX 8
#define VNET_HEADER_BYTES 12
#define FRAME_BYTES 60
#define OUR_TYPE 0x88b5			/* EtherType for experiments */
#define RECEIVE_MS 5000

static struct port_device devices[DEVICES_MAX];

/* The device of that name, or else an unused one. */
static struct port_device *find(const char *name)
{
	struct port_device *unused = NULL;

	for (int i = 0; i < DEVICES_MAX; i++) {
		if (strcmp(devices[i].name, name) == 0)
			return &devices[i];
		if (devices[i].name[0] == '\0')
			unused = &devices[i];
	}
	if (!unused) {
		fprintf(stderr, "tap_tool: more than %d devices\n", DEVICES_MAX);
		exit(EXIT_FAILURE);
	}
	return unused;
}

static int send_frame(const struct port_device *device, int number)
{
	unsigned char frame[VNET_HEADER_BYTES + FRAME_BYTES] = { 0 }, *ethernet = frame + VNET_HEADER_BYTES;

	memset(ethernet, 0xff, 6);
	ethernet[6] = 0x02;
	ethernet[11] = (unsigned char)device->ifindex;
	ethernet[12] = OUR_TYPE >> 8;
	ethernet[13] = OUR_TYPE & 0xff;
	ethernet[14] = (unsigned char)number;
	return write(device->queue_fds[0], frame, sizeof frame) == sizeof frame ? 0 : -errno;
}

static bool is_our_frame(const unsigned char *ethernet, ssize_t bytes)
{
	return bytes >= 15 && ethernet[12] == OUR_TYPE >> 8 && ethernet[13] == (OUR_TYPE & 0xff);
}

static int receive_frame(const struct port_device *device)
{
	struct pollfd waiting = { .fd = device->queue_fds[0], .events = POLLIN };
	struct mono end = mono_add_ms(mono_now(), RECEIVE_MS);
	unsigned char frame[4096];

	for (;;) {
		int64_t left = mono_ms_between(mono_now(), end);
		ssize_t bytes;

		if (left <= 0 || poll(&waiting, 1, (int)left) <= 0)
			return -ETIMEDOUT;
		bytes = read(device->queue_fds[0], frame, sizeof frame);
		if (bytes > VNET_HEADER_BYTES &&
		    is_our_frame(frame + VNET_HEADER_BYTES, bytes - VNET_HEADER_BYTES))
			return frame[VNET_HEADER_BYTES + 14];
	}
}

static int end(void (*how)(struct port_device *device), struct port_device *device)
{
	how(device);
	tap_device_class.finish();
	device->name[0] = '\0';
	return 0;
}

static int run(const char *command, const char *name, int number)
{
	struct port_device *device = find(name);

	if (strcmp(command, "create") == 0) {
		int error = tap_device_class.create(device, name);

		if (error)
			device->name[0] = '\0';
		return error;
	}
	if (strcmp(command, "carrier") == 0)
		return tap_device_class.set_carrier(device, number);
	if (strcmp(command, "mtu") == 0)
		return tap_device_class.set_mtu(device, (uint32_t)number);
	if (strcmp(command, "send") == 0)
		return send_frame(device, number);
	if (strcmp(command, "receive") == 0)
		return receive_frame(device);
	if (strcmp(command, "forget") == 0)
		return end(tap_device_class.forget, device);
	if (strcmp(command, "destroy") == 0)
		return end(tap_device_class.destroy, device);
	return -ENOSYS;
}

int main(void)
{
	char line[128], command[16], name[32];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		int number = 0, result = -EINVAL;

		if (sscanf(line, "%15s %31s %d", command, name, &number) >= 2)
			result = run(command, name, number);
		if (result < 0)
			printf("error %s\n", strerrorname_np(-result));
		else
			printf("ok %d\n", result);
	}
	return EXIT_SUCCESS;
}
