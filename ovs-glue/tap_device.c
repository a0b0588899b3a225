/* tap_device.c - the persistent TAP vifD.N
 *
 * Made by root before the guest may connect, so that hotplug scripts find it, and kept until the
 * toolstack has removed the vif: it outlives instances and unetbackd, and with it ifindex, bridge port
 * and flows. One queue descriptor a guest queue is held here all the time, so frames that arrive while
 * an instance restarts wait in the TAP.
 *
 * MAC fe:ff:ff:ff:ff:ff as every backend device has, so that a bridge never takes it for its own. The
 * TAP's own queue (txqueuelen) has to absorb what arrives between two polls, no more: the queue with
 * the limits an administrator sets is the engine's.
 *
 * Refuses a name that another program serves (-EBUSY) or that is no TAP of this form (-EEXIST). */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../backend/log.h"
#include "devices.h"

#define TUN_PATH "/dev/net/tun"
#define VNET_HEADER_BYTES 12	/* struct virtio_net_hdr_v1 */
#define TX_QUEUE_LENGTH 1000	/* frames: some milliseconds at full rate */

static const unsigned char backend_mac[6] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff };

static int failed(const struct port_device *device, const char *what)
{
	int error = errno > 0 ? errno : EIO;

	log_error("%s: cannot %s: %s", device->name, what, strerror(error));
	return -error;
}

/* An ioctl on the interface by its name. */
static int interface_ioctl(const struct port_device *device, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int result, error;

	if (fd < 0)
		return -1;
	memcpy(ifr->ifr_name, device->name, sizeof ifr->ifr_name);
	result = ioctl(fd, request, ifr);
	error = errno;
	close(fd);
	errno = error;
	return result;
}

/* Why TUNSETIFF refused a name, in words that say what to do. */
static int explain_attach(const struct port_device *device)
{
	int error = errno;

	if (error == EBUSY) {
		log_error("%s: the device exists and another program serves it; stop that program, or "
			  "delete the device", device->name);
	} else if (error == EINVAL && if_nametoindex(device->name) != 0) {
		log_error("%s: a device of that name exists that is no multi-queue TAP with virtio header; "
			  "delete it or rename it", device->name);
		error = EEXIST;
	} else {
		log_error("%s: cannot make the TAP: %s", device->name, strerror(error));
	}
	return -error;
}

static int attach_queue(struct port_device *device, int *fd)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE };
	int header = VNET_HEADER_BYTES;

	*fd = open(TUN_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0) {
		int error = errno;

		log_error("%s: %s cannot be opened: %s; load the module tun", device->name, TUN_PATH,
			  strerror(error));
		return -error;
	}
	memcpy(ifr.ifr_name, device->name, sizeof ifr.ifr_name);
	if (ioctl(*fd, TUNSETIFF, &ifr) != 0) {
		int error = explain_attach(device);

		close(*fd);
		*fd = -1;
		return error;
	}
	device->queue_fds[device->queue_count++] = *fd;
	if (ioctl(*fd, TUNSETVNETHDRSZ, &header) != 0)
		return failed(device, "set the size of its virtio header");
	return 0;
}

static int set_link(struct port_device *device, bool up)
{
	struct ifreq ifr = { 0 };

	if (interface_ioctl(device, SIOCGIFFLAGS, &ifr) != 0)
		return -errno;
	ifr.ifr_flags = (short)(up ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP);
	return interface_ioctl(device, SIOCSIFFLAGS, &ifr) != 0 ? -errno : 0;
}

static int set_mac(struct port_device *device)
{
	struct ifreq ifr = { .ifr_hwaddr.sa_family = ARPHRD_ETHER };

	memcpy(ifr.ifr_hwaddr.sa_data, backend_mac, sizeof backend_mac);
	return interface_ioctl(device, SIOCSIFHWADDR, &ifr) != 0 ? failed(device, "set its MAC") : 0;
}

static int set_queue_length(struct port_device *device)
{
	struct ifreq ifr = { .ifr_qlen = TX_QUEUE_LENGTH };

	return interface_ioctl(device, SIOCSIFTXQLEN, &ifr) != 0 ? failed(device, "set txqueuelen") : 0;
}

/* The host must not speak on the guest's wire: no router solicitations, no neighbour discovery. */
static void silence_ipv6(const struct port_device *device)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", device->name);
	file = fopen(path, "w");
	if (!file)
		return;		/* no IPv6 on this host */
	if (fputs("1\n", file) < 0 || fflush(file) != 0)
		log_warning("%s: cannot write %s: %s", device->name, path, strerror(errno));
	fclose(file);
}

static int tap_set_carrier(struct port_device *device, int up)
{
	if (ioctl(device->queue_fds[0], TUNSETCARRIER, &up) != 0)
		return failed(device, "set its carrier");
	return 0;
}

static int set_up(struct port_device *device)
{
	int error = 0;

	if (ioctl(device->queue_fds[0], TUNSETPERSIST, 1) != 0)
		return failed(device, "make it persistent");
	device->ifindex = (int)if_nametoindex(device->name);
	set_link(device, false);	/* one taken over may be up; the MAC changes only while down */
	error = set_mac(device);
	if (!error)
		error = set_queue_length(device);
	silence_ipv6(device);
	if (!error && set_link(device, true) != 0)
		error = failed(device, "set it up");
	if (!error)
		error = tap_set_carrier(device, 0);
	return error;
}

static void tap_forget(struct port_device *device)
{
	for (int i = 0; i < device->queue_count; i++)
		close(device->queue_fds[i]);
	device->queue_count = 0;
}

static void tap_destroy(struct port_device *device)
{
	if (device->queue_count > 0 && ioctl(device->queue_fds[0], TUNSETPERSIST, 0) != 0)
		failed(device, "delete it");
	tap_forget(device);	/* the last descriptor takes the device with it */
}

static int tap_create(struct port_device *device, const char *name, int queues)
{
	int error = 0, fd;

	*device = (struct port_device){ 0 };
	if (strlen(name) >= sizeof device->name || queues < 1 || queues > PORT_QUEUES_MAX) {
		log_error("%s: a TAP's name has at most %d characters, and it has 1 to %d queues, not %d",
			  name, PORT_NAME_MAX - 1, PORT_QUEUES_MAX, queues);
		return -EINVAL;
	}
	memcpy(device->name, name, strlen(name) + 1);
	for (int i = 0; i < queues && !error; i++)
		error = attach_queue(device, &fd);
	if (!error)
		error = set_up(device);
	if (error)
		tap_destroy(device);
	return error;
}

static int tap_set_mtu(struct port_device *device, uint32_t mtu)
{
	struct ifreq ifr = { .ifr_mtu = (int)mtu };

	return interface_ioctl(device, SIOCSIFMTU, &ifr) != 0 ? failed(device, "set its MTU") : 0;
}

static uint64_t read_counter(const struct port_device *device, const char *counter)
{
	unsigned long long value = 0;
	char path[96];
	FILE *file;

	snprintf(path, sizeof path, "/sys/class/net/%s/statistics/%s", device->name, counter);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

/* The kernel counts from its side: what it transmits goes to the guest. */
static void tap_get_counters(const struct port_device *device, struct port_device_counters *counters)
{
	counters->guest_rx_dropped = read_counter(device, "tx_dropped");
	counters->guest_tx_dropped = read_counter(device, "rx_dropped");
}

const struct port_device_class tap_device_class = {
	.kind = "tap",
	.create = tap_create,
	.set_mtu = tap_set_mtu,
	.set_carrier = tap_set_carrier,
	.get_counters = tap_get_counters,
	.destroy = tap_destroy,
	.forget = tap_forget,
};
