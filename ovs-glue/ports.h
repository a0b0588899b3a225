/* ports.h - the kinds of ports there are
 *
 * Data plane half (port.h); devices.h has the control plane's. */
#ifndef OVS_GLUE_PORTS_H
#define OVS_GLUE_PORTS_H

#include "../backend/port.h"

extern const struct port_class tap_port_class;		/* tap.c */
extern const struct port_class null_port_class;		/* null.c */

extern const struct port_class *const port_classes[];	/* all, ended by NULL */

#endif
