/* generator.h - a port that has as many frames as it is asked for
 *
 * Like the null port, but recv() gives frames of one size that lie ready in granted pages, one a
 * page; making them costs next to nothing, so what is measured is the engine. */
#ifndef TESTS_BENCH_GENERATOR_H
#define TESTS_BENCH_GENERATOR_H

#include "../../backend/port.h"

extern const struct port_class generator_port_class;

/* From now on each recv() gives at most @burst frames of @length bytes, up to a page. */
void generator_set(struct port *port, int burst, uint32_t length);

#endif
