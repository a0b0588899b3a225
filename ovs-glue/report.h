/* report.h - what a command answers, once, for people and for programs
 *
 * A report is a tree of named values, filled in order and printed as indented text or as JSON (OVS's
 * json.c).  Values may come from a guest (XenStore) or an instance: whatever is not printable ASCII is
 * printed as '?', so that nobody writes to an administrator's terminal.  Same thread as daemon.h. */
#ifndef OVS_GLUE_REPORT_H
#define OVS_GLUE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct report;

/* Opens an object below the current one; close with report_close().  @name is its key, which should
 * be unlike its siblings'; in a list it is not used and may be NULL. */
void report_open(struct report *report, const char *name);
void report_open_list(struct report *report, const char *name);	/* of objects or strings */
void report_close(struct report *report);
void report_string(struct report *report, const char *name, const char *value);
void report_number(struct report *report, const char *name, uint64_t value);
void report_bool(struct report *report, const char *name, bool value);
/* As text this report is a table: a line for each outermost object, @title above their names.  Objects
 * in them are left out.  JSON is as without. */
void report_table(struct report *report, const char *title);
/* The command failed: this one line is all it answers. */
void report_error(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
