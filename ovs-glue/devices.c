/* devices.c - the table of device kinds, and the kind that is none */
#include <stddef.h>
#include <stdio.h>

#include "devices.h"

static int null_create(struct port_device *device, const char *name)
{
	*device = (struct port_device){ .queue_count = 1, .hash_fd = -1 };
	snprintf(device->name, sizeof device->name, "%s", name);
	return 0;
}

static int null_set_queues(struct port_device *device, int queues)
{
	device->queue_count = queues;
	return 0;
}

static int null_set_hash(struct port_device *device, const struct hash_config *hash)
{
	(void)device;
	(void)hash;
	return 0;
}

static int null_set_mtu(struct port_device *device, uint32_t mtu)
{
	(void)device;
	(void)mtu;
	return 0;
}

static int null_set_carrier(struct port_device *device, int up)
{
	(void)device;
	(void)up;
	return 0;
}

static int null_link_is_up(const struct port_device *device)
{
	(void)device;
	return 1;
}

static void null_get_counters(const struct port_device *device,
			      struct port_device_counters *counters)
{
	(void)device;
	*counters = (struct port_device_counters){ 0, 0 };
}

static void null_release(struct port_device *device)
{
	(void)device;
}

static void null_finish(void)
{
}

const struct port_device_class null_device_class = {
	.kind = "null",
	.create = null_create,
	.set_queues = null_set_queues,
	.set_hash = null_set_hash,
	.set_mtu = null_set_mtu,
	.set_carrier = null_set_carrier,
	.link_is_up = null_link_is_up,
	.get_counters = null_get_counters,
	.destroy = null_release,
	.forget = null_release,
	.finish = null_finish,
};

const struct port_device_class *const device_classes[] = {
	&tap_device_class, &null_device_class, NULL
};
