/* devices.h - the kinds of devices behind ports, the control plane's half (port_device.h) */
#ifndef OVS_GLUE_DEVICES_H
#define OVS_GLUE_DEVICES_H

#include "../backend/port_device.h"

extern const struct port_device_class tap_device_class;		/* tap_device.c */
extern const struct port_device_class null_device_class;	/* devices.c */

extern const struct port_device_class *const device_classes[];	/* all, ended by NULL */

#endif
