/* report.c - a command's answer as text and as JSON; see report.h and report_internal.h */
#include <config.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "openvswitch/json.h"
#include "util.h"

#include "report_internal.h"

#define KEY_WIDTH 28

void report_init(struct report *report)
{
	report->levels[0] = json_object_create();
	report->depth = 0;
	report->failure = NULL;
	ds_init(&report->text);
}

void report_destroy(struct report *report)
{
	json_destroy(report->levels[0]);
	ds_destroy(&report->text);
	free(report->failure);
}

char *report_render(struct report *report, bool json)
{
	return json ? json_to_string(report->levels[0], JSSF_PRETTY | JSSF_SORT)
		    : xstrdup(ds_cstr(&report->text));
}

const char *report_failure(const struct report *report)
{
	return report->failure ? report->failure : "the command failed";
}

/* Puts @value into the open object or list. */
static void put(struct report *report, const char *name, struct json *value)
{
	struct json *level = report->levels[report->depth];

	if (level->type == JSON_ARRAY)
		json_array_add(level, value);
	else
		json_object_put(level, name, value);
}

static void open_level(struct report *report, const char *name, struct json *level)
{
	ds_put_char_multiple(&report->text, ' ', (size_t)report->depth * 2);
	ds_put_format(&report->text, "%s:\n", name ? name : "-");
	put(report, name, level);
	ovs_assert(report->depth + 1 < REPORT_DEPTH_MAX);
	report->levels[++report->depth] = level;
}

void report_open(struct report *report, const char *name)
{
	open_level(report, name, json_object_create());
}

void report_open_list(struct report *report, const char *name)
{
	open_level(report, name, json_array_create_empty());
}

void report_close(struct report *report)
{
	ovs_assert(report->depth > 0);
	report->depth--;
}

static void line(struct report *report, const char *name, const char *value)
{
	int indent = report->depth * 2;

	ds_put_char_multiple(&report->text, ' ', (size_t)indent);
	if (name)
		ds_put_format(&report->text, "%-*s %s\n", KEY_WIDTH - indent > 1 ? KEY_WIDTH - indent : 1,
			      name, value);
	else
		ds_put_format(&report->text, "%s\n", value);
}

void report_string(struct report *report, const char *name, const char *value)
{
	line(report, name, value);
	put(report, name, json_string_create(value));
}

void report_number(struct report *report, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, value);
	line(report, name, text);
	put(report, name, json_integer_create((long long int)value));
}

void report_bool(struct report *report, const char *name, bool value)
{
	line(report, name, value ? "yes" : "no");
	put(report, name, json_boolean_create(value));
}

void report_error(struct report *report, const char *format, ...)
{
	va_list arguments;

	free(report->failure);
	va_start(arguments, format);
	report->failure = xvasprintf(format, arguments);
	va_end(arguments);
}
