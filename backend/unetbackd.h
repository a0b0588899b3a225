/* unetbackd.h - what the parts of the program unetbackd share */
#ifndef BACKEND_UNETBACKD_H
#define BACKEND_UNETBACKD_H

#include "stall.h"
#include "supervisor.h"
#include "vif.h"

struct unetbackd_options {
	int only_domid;				/* -1: all guests */
	uint8_t except[4096];			/* a bit a domid */
	const char *instance_path, *user;
	const struct port_device_class *device_class;
	bool pin_queues;
	const char *speed;		/* NULL: not said */
	uint32_t queues_max;		/* 0: not said */
	struct queue_limits limits;
	uint32_t stall_ms, announce_times;
	struct vif_policy policy;
};

/* Buffer pages a queue: transmit slots of a burst (docs/performance.md has what it costs and gains),
 * and received frames that wait for their copy. */
#define GUEST_TX_PAGES 96
#define GUEST_RX_GRANTED_BYTES (64u * 4096u)
/* What gntalloc may give out on this host: such queues of 100 guests. */
#define GNTALLOC_PAGES 16384u

/* Registers unetback/list, unetback/show and unetback/stats. */
void unetbackd_commands(struct vifs *vifs, struct supervisor *supervisor,
			const struct port_device_class *device_class);

#endif
