/* tap_device.c - the persistent TAP vifD.N
 *
 * Made by root before the guest may connect, so that hotplug scripts find it, and kept until the
 * toolstack has removed the vif: it outlives instances and unetbackd, and with it ifindex, bridge port
 * and flows.  One descriptor a queue is held here all the time, so frames that arrive while an
 * instance restarts wait in the TAP.
 *
 * As every backend device it has the MAC fe:ff:ff:ff:ff:ff, so that a bridge never takes it for its
 * own, and says nothing by itself: IPv6 is off on it.  It has a queue for each of the guest's, and one
 * while no guest is connected.  Offloads are left off; the data plane (tap.c)
 * switches on what its guest can take.
 *
 * A device of that name which exists already is taken over if it is what we would have made ourselves
 * and nobody has it open.  Refused are one that a program serves (-EBUSY; a dying instance of ours is
 * waited for, TAKEOVER_MS at most) and one of any other form (-EEXIST): it is never changed.  One of ours
 * that somebody has set down stays down.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../backend/log.h"
#include "devices.h"
#include "net_link.h"
#include "steering.h"
#include "tap_holder.h"
#include "tap_reaper.h"

#define TUN_PATH "/dev/net/tun"
#define VNET_HEADER_BYTES 12	/* struct virtio_net_hdr_v1 */
#define FEATURES (IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE)
#define MTU_MIN 68		/* the least that IPv4 can live with, and the kernel accepts */

/* txqueuelen: frames in the kernel between two polls of ours.  The queue that has limits and counts
 * what it drops is the engine's; this one only has to last while our thread is not on a CPU: a
 * millisecond at a million frames a second.  It is not memory until frames wait in it. */
#define TX_QUEUE_LENGTH 1000

/* An instance whose unetbackd died holds its queue until it has noticed: some milliseconds. */
#define TAKEOVER_MS      1000
#define TAKEOVER_STEP_MS 10
#define OUR_PROGRAMS "unetback"		/* unetbackd, unetback-instance */

static const uint8_t backend_mac[NET_LINK_MAC_BYTES] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff };

static int refuse(struct port_device *device, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int refuse(struct port_device *device, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(device->reason, sizeof device->reason, format, arguments);
	va_end(arguments);
	return error;
}

static int failed(struct port_device *device, const char *what, int error)
{
	return refuse(device, error, "cannot %s: %s", what, strerror(-error));
}

/* --- what is there already -------------------------------------------------------------------- */

static int refuse_foreign(struct port_device *device, const struct net_link *link)
{
	const struct net_link_tun *tun = &link->tun;

	if (strcmp(link->kind, "tun") != 0)
		return refuse(device, -EEXIST, "a network device of that name exists and is no TAP (kind %s); "
			      "rename or delete it",
			      *link->kind ? link->kind : "unknown, perhaps xen-netback's vif");
	if (!tun->persistent)
		return refuse(device, -EBUSY, "the TAP belongs to another program (it is not persistent); "
			      "stop that program");
	if (tun->owned)
		return refuse(device, -EEXIST, "a TAP exists that another user or group may open, who could "
			      "read the guest's frames; delete it: ip link delete %s", device->name);
	return refuse(device, -EEXIST, "a %s of another form exists (packet info %d, vnet_hdr %d, "
		      "multi_queue %d; ours has 0, 1, 1); delete it: ip link delete %s",
		      tun->type == IFF_TAP ? "TAP" : "TUN", tun->packet_info, tun->vnet_header,
		      tun->multi_queue, device->name);
}

static bool is_ours(const struct net_link *link)
{
	const struct net_link_tun *tun = &link->tun;

	return strcmp(link->kind, "tun") == 0 && tun->type == IFF_TAP && tun->persistent &&
	       tun->vnet_header && tun->multi_queue && !tun->packet_info && !tun->owned;
}

static bool is_free(const struct net_link *link)
{
	return link->tun.queues == 0 && link->tun.disabled_queues == 0;
}

/* Waits, within bounds, for processes of ours that are ending.  Anybody else is given no time. */
static int wait_until_free(struct port_device *device, struct net_link *link)
{
	struct tap_holder holder;

	if (is_free(link))
		return 0;
	if (!tap_holder_find(device->name, &holder)) {
		if (net_link_get(device->name, link) == -ENODEV || is_free(link))
			return 0;		/* ended while it was looked for */
		snprintf(holder.program, sizeof holder.program, "unknown");
	}
	if (strncmp(holder.program, OUR_PROGRAMS, strlen(OUR_PROGRAMS)) == 0)
		for (int waited = 0; waited < TAKEOVER_MS; waited += TAKEOVER_STEP_MS) {
			poll(NULL, 0, TAKEOVER_STEP_MS);
			if (net_link_get(device->name, link) == -ENODEV || is_free(link))
				return 0;
		}
	return refuse(device, -EBUSY, "the TAP is served by another program (pid %d, %s); stop it",
		      (int)holder.pid, holder.program);
}

/* 0 and *@exists if the name is free or what has it may be taken over. */
static int look(struct port_device *device, bool *exists)
{
	struct net_link link;
	int error = net_link_get(device->name, &link);

	*exists = false;
	if (error == -ENODEV)
		return 0;
	if (error)
		return failed(device, "ask the kernel whether the device exists", error);
	if (!is_ours(&link))
		return refuse_foreign(device, &link);
	error = wait_until_free(device, &link);
	*exists = !error && net_link_get(device->name, &link) == 0;
	return error;
}

/* --- making ----------------------------------------------------------------------------------- */

static int explain_open(struct port_device *device, int error)
{
	return refuse(device, error, "%s cannot be opened: %s; %s", TUN_PATH, strerror(-error),
		      error == -EPERM || error == -EACCES ? "unetbackd must run as root"
							  : "load the module: modprobe tun");
}

/* @flags: IFF_TUN_EXCL if the device must be a new one. */
static int attach_queue(struct port_device *device, short flags)
{
	struct ifreq ifr = { .ifr_flags = (short)(FEATURES | flags) };
	int header = VNET_HEADER_BYTES, error;
	int fd = open(TUN_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return explain_open(device, -errno);
	memcpy(ifr.ifr_name, device->name, sizeof ifr.ifr_name);
	if (ioctl(fd, TUNSETIFF, &ifr) != 0 || ioctl(fd, TUNSETVNETHDRSZ, &header) != 0) {
		error = failed(device, "attach a queue of the TAP", -errno);
		close(fd);
		return error;
	}
	device->queue_fds[device->queue_count++] = fd;
	return 0;
}

/* The host must not speak on the guest's wire: no router solicitations, no neighbour discovery.  Done
 * before the link comes up.  A host without IPv6 has no such file. */
static void silence_ipv6(const struct port_device *device)
{
	char path[96];
	int fd, error = 0;

	snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", device->name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1\n", 2) != 2)
		error = errno;
	if (fd >= 0)
		close(fd);
	if (error && error != ENOENT)
		log_warning("%s: cannot write %s: %s; the host may send IPv6 router solicitations to the "
			    "guest", device->name, path, strerror(error));
}

static int tap_set_carrier(struct port_device *device, int up)
{
	if (device->queue_count == 0)
		return refuse(device, -EBADF, "no queue of the TAP is open");
	if (ioctl(device->queue_fds[0], TUNSETCARRIER, &up) != 0)
		return failed(device, "set its carrier", -errno);
	return 0;
}

/* Without it flows are still spread, but one that changes its direction may be reordered once. */
static void steer(const struct port_device *device)
{
	static bool said;
	int error = steering_by_flow(device->queue_fds[0]);

	if (error && !said)
		log_warning("%s: the kernel does not take the program that keeps a flow on its queue: %s; "
			    "frames of guests with several queues may be reordered", device->name,
			    strerror(-error));
	said |= error != 0;
}

_Static_assert(HASH_KEY_MAX == STEERING_KEY_BYTES && HASH_MAPPING_MAX == STEERING_MAPPING_MAX &&
	       HASH_IPV4 == STEERING_HASH_IPV4 && HASH_IPV6_TCP == STEERING_HASH_IPV6_TCP, "one hash");

/* One of ours that is down was set down by somebody, whose word outlives us: MAC and up come in one step. */
static bool was_set_down(const struct port_device *device)
{
	struct net_link link;

	return net_link_get(device->name, &link) == 0 && (link.flags & IFF_UP) == 0 &&
	       memcmp(link.mac, backend_mac, sizeof link.mac) == 0;
}

static int set_up(struct port_device *device)
{
	int error;

	device->ifindex = (int)if_nametoindex(device->name);
	if (ioctl(device->queue_fds[0], TUNSETPERSIST, 1) != 0)
		return failed(device, "make it persistent", -errno);
	if (ioctl(device->queue_fds[0], TUNSETOFFLOAD, 0) != 0)	/* one taken over may have some */
		return failed(device, "switch its offloads off", -errno);
	steer(device);
	silence_ipv6(device);
	error = tap_set_carrier(device, 0);	/* attaching switched it on */
	if (error || was_set_down(device))
		return error;
	error = net_link_bring_up(device->ifindex, backend_mac, TX_QUEUE_LENGTH);
	return error ? failed(device, "set its MAC and txqueuelen and bring it up", error) : 0;
}

static void close_queues_from(struct port_device *device, int first)
{
	while (device->queue_count > first)
		close(device->queue_fds[--device->queue_count]);
}

static void tap_forget(struct port_device *device)
{
	close_queues_from(device, 0);
	if (device->hash_fd >= 0)
		close(device->hash_fd);
	device->hash_fd = -1;
	device->ifindex = 0;
}

static void tap_destroy(struct port_device *device)
{
	if (device->ifindex > 0 || device->queue_count > 0)
		tap_reaper_take(device);
}

static void tap_finish(void)
{
	tap_reaper_wait(NULL);
}

static int tap_create(struct port_device *device, const char *name)
{
	bool exists;
	int error;

	*device = (struct port_device){ .hash_fd = -1 };
	if (*name == '\0' || strlen(name) >= sizeof device->name)
		return refuse(device, -EINVAL, "'%s': a TAP's name has 1 to %d characters", name,
			      PORT_NAME_MAX - 1);
	memcpy(device->name, name, strlen(name) + 1);
	tap_reaper_wait(name);
	error = look(device, &exists);
	if (!error)
		error = attach_queue(device, exists ? 0 : (short)IFF_TUN_EXCL);
	if (!error)
		error = set_up(device);
	if (error && !exists)
		tap_destroy(device);
	else if (error)
		tap_forget(device);
	return error;
}

static int tap_set_hash(struct port_device *device, const struct hash_config *hash)
{
	struct steering_hash steering = { .queues = (__u32)device->queue_count };
	int error;

	if (!hash || !hash_is_on(hash)) {
		if (device->hash_fd >= 0)
			close(device->hash_fd);
		device->hash_fd = -1;
		steer(device);
		return 0;
	}
	steering.types = hash->types;
	steering.mapping_size = hash->mapping_size;
	memcpy(steering.key, hash->key, sizeof steering.key);
	memcpy(steering.mapping, hash->mapping, sizeof steering.mapping);
	error = steering_by_guest(device->queue_fds[0], &steering, &device->hash_fd);
	return error ? failed(device, "steer frames by the guest's hash", error) : 0;
}

/* Queues are attached only while the guest serves them: the kernel spreads frames over all that are. */
static int tap_set_queues(struct port_device *device, int queues)
{
	int before = device->queue_count, error = 0;

	if (queues < 1 || queues > PORT_QUEUES_MAX)
		return refuse(device, -EINVAL, "%d queues: a TAP has 1 to %d", queues, PORT_QUEUES_MAX);
	if (device->hash_fd >= 0)
		tap_set_hash(device, NULL);
	if (queues == before)
		return 0;
	close_queues_from(device, queues);
	while (device->queue_count < queues && !error)
		error = attach_queue(device, 0);
	if (error) {
		close_queues_from(device, before);
		return error;
	}
	return tap_set_carrier(device, 0);	/* attaching switched it on */
}

/* --- the rest --------------------------------------------------------------------------------- */

static int tap_set_mtu(struct port_device *device, uint32_t mtu)
{
	int error = net_link_set_mtu(device->ifindex, mtu);
	struct net_link link;

	if (error == -EINVAL && net_link_get(device->name, &link) == 0 && link.mtu_max > 0)
		return refuse(device, error, "the TAP takes %d to %u", MTU_MIN, link.mtu_max);
	return error ? failed(device, "set it", error) : 0;
}

static int tap_link_is_up(const struct port_device *device)
{
	struct net_link link;

	return net_link_get(device->name, &link) == 0 && link.ifindex == device->ifindex &&
	       (link.flags & IFF_UP) != 0;
}

/* The kernel counts from its side: what it transmits goes to the guest. */
static void tap_get_counters(const struct port_device *device, struct port_device_counters *counters)
{
	struct net_link link;

	*counters = (struct port_device_counters){ 0 };
	if (net_link_get(device->name, &link) != 0 || link.ifindex != device->ifindex)
		return;
	counters->guest_rx_dropped = link.tx_dropped;
	counters->guest_tx_dropped = link.rx_dropped;
}

const struct port_device_class tap_device_class = {
	.kind = "tap",
	.create = tap_create,
	.set_queues = tap_set_queues,
	.set_hash = tap_set_hash,
	.set_mtu = tap_set_mtu,
	.set_carrier = tap_set_carrier,
	.link_is_up = tap_link_is_up,
	.get_counters = tap_get_counters,
	.destroy = tap_destroy,
	.forget = tap_forget,
	.finish = tap_finish,
};
