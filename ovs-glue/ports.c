/* ports.c - the table of port kinds */
#include <stddef.h>

#include "ports.h"

const struct port_class *const port_classes[] = { &tap_port_class, &null_port_class, NULL };
