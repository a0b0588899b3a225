/* report_internal.h - how daemon.c makes and sends a report; for nobody else
 *
 * Text is written as the report is filled, in that order; JSON is built beside it, because OVS's
 * objects keep no order. */
#ifndef OVS_GLUE_REPORT_INTERNAL_H
#define OVS_GLUE_REPORT_INTERNAL_H

#include <stdbool.h>

#include "openvswitch/dynamic-string.h"
#include "report.h"

#define REPORT_DEPTH_MAX 16

struct report {
	struct json *levels[REPORT_DEPTH_MAX];	/* from the root to the open object */
	int depth;
	struct ds text;
	char *failure;
};

void report_init(struct report *report);
void report_destroy(struct report *report);
char *report_render(struct report *report, bool json);	/* the caller frees it */
const char *report_failure(const struct report *report);

#endif
