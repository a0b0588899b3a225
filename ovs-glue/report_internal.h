/* report_internal.h - how daemon.c makes and sends a report; for nobody else
 *
 * A report is kept as a tree, because the two forms want different things of it: text needs all
 * siblings to align them and keeps their order, OVS's JSON objects keep none. */
#ifndef OVS_GLUE_REPORT_INTERNAL_H
#define OVS_GLUE_REPORT_INTERNAL_H

#include <stdbool.h>

#include "report.h"

struct report_node;

struct report {
	struct report_node *root, *open;	/* @open: where the next value goes */
	const char *table;			/* title of the first column, or NULL */
	char *failure;
};

void report_init(struct report *report);
void report_destroy(struct report *report);
char *report_render(const struct report *report, bool json);	/* the caller frees it */
const char *report_failure(const struct report *report);

#endif
