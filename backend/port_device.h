/* port_device.h - the control plane's half of a port: the device behind it
 *
 * unetbackd makes the device before it writes InitWait, so that hotplug scripts find it, holds its
 * queues open so that frames survive a restart of the instance, and hands duplicates of the
 * descriptors to the instance, which needs no privilege to use them.  Called from unetbackd's one
 * thread; may use system calls that take a moment, never waits for a guest or the switch.
 * Those that may fail return 0 or -errno, then with the reason in device->reason: what is in the way and
 * what would be right, for a person, without the device's name.  Whoever called says it. */
#ifndef BACKEND_PORT_DEVICE_H
#define BACKEND_PORT_DEVICE_H

#include <stdint.h>

#include "hash.h"

#define PORT_NAME_MAX 16		/* IFNAMSIZ, with the NUL */
#define PORT_QUEUES_MAX 8
#define PORT_REASON_MAX 192

struct port_device {
	char name[PORT_NAME_MAX];
	int queue_count;
	int queue_fds[PORT_QUEUES_MAX];	/* owned; close-on-exec */
	int ifindex;			/* 0 for kinds without a network device */
	int hash_fd;			/* of the kind's own, -1 while it needs none; owned */
	char reason[PORT_REASON_MAX];	/* of the last failure */
};

/* Counts that the device itself keeps: frames that never reached the engine. */
struct port_device_counters {
	uint64_t guest_rx_dropped;	/* the device's own queue towards us was full */
	uint64_t guest_tx_dropped;	/* the stack behind the device refused frames from us */
};

struct port_device_class {
	const char *kind;
	/* Makes @name with one queue, or takes over a persistent one that is free; -EBUSY if another
	 * process serves it, -EEXIST if a device of another kind has that name.  Carrier is off. */
	int (*create)(struct port_device *device, const char *name);
	/* As many queues as the guest has now, who has chosen no hash yet.  Those that go take what waits in them with them; carrier
	 * is off afterwards if the number changed. */
	int (*set_queues)(struct port_device *device, int queues);
	/* The guest's own hash decides on which queue a frame arrives, until set_queues() is called again; if
	 * it is off the device is free to choose. */
	int (*set_hash)(struct port_device *device, const struct hash_config *hash);
	int (*set_mtu)(struct port_device *device, uint32_t mtu);
	int (*set_carrier)(struct port_device *device, int up);	/* guest connected or not */
	/* 1 unless the administrator has set the device down, or deleted it; has nothing to do with carrier. */
	int (*link_is_up)(const struct port_device *device);
	void (*get_counters)(const struct port_device *device, struct port_device_counters *counters);
	/* Device and descriptors; idempotent.  The device may go a moment later, but always before create() makes one
	 * of the same name. */
	void (*destroy)(struct port_device *device);
	void (*forget)(struct port_device *device);	/* descriptors only: the device stays for whoever comes next */
	void (*finish)(void);		/* all that was destroyed has gone; before the end of the process */
};

#endif
