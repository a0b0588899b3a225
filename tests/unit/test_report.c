/* test_report.c - reports as text and as JSON, against what an administrator should see */
#include "../../ovs-glue/report.c"

#include "unit.h"

/* Renders what @fill puts into a report. */
static char *rendered(void (*fill)(struct report *report), bool json)
{
	struct report report;
	char *text;

	report_init(&report);
	fill(&report);
	text = report_render(&report, json);
	report_destroy(&report);
	return text;
}

static void same_text(void (*fill)(struct report *report), bool json, const char *want)
{
	char *got = rendered(fill, json);

	assert_string_equal(got, want);
	free(got);
}

static void fill_nothing(struct report *report)
{
	(void)report;
}

static void fill_flat(struct report *report)
{
	report_string(report, "state", "Connected");
	report_number(report, "guest", 7);
	report_bool(report, "rings_connected", true);
	report_string(report, "error", "");
}

static void fill_nested(struct report *report)
{
	for (int i = 0; i < 2; i++) {
		report_open(report, i ? "vif2.0" : "vif1.0");
		report_number(report, "guest", (uint64_t)i + 1);
		report_open_list(report, "features");
		if (i) {
			report_string(report, NULL, "sg");
			report_string(report, NULL, "gso-tcpv4");
		}
		report_close(report);
		report_open(report, "instance");
		report_number(report, "a_much_longer_name", 12);
		report_number(report, "pid", 1);
		report_close(report);
		report_close(report);
	}
}

static void fill_list_of_objects(struct report *report)
{
	report_open_list(report, "queues");
	for (uint64_t i = 0; i < 2; i++) {
		report_open(report, NULL);
		report_number(report, "frames", i);
		report_close(report);
	}
	report_close(report);
}

static void fill_table(struct report *report)
{
	report_table(report, "vif");
	report_open(report, "vif1.0");
	report_number(report, "guest", 1);
	report_string(report, "state", "");
	report_open(report, "left_out");
	report_close(report);
	report_close(report);
	report_open(report, "vif100.0");
	report_string(report, "waiting_for", "the frontend");
	report_string(report, "state", "InitWait");
	report_close(report);
}

static void fill_hostile(struct report *report)
{
	report_string(report, "na\nme", "a\x1b[2J\r\n\t\x7f\xff\xc3\xa9z");
}

static void fill_largest(struct report *report)
{
	report_number(report, "largest", INT64_MAX);
	report_number(report, "beyond", UINT64_MAX);
}

static void text_is_aligned(void **state)
{
	(void)state;
	same_text(fill_flat, false,
		  "state:           Connected\n"
		  "guest:           7\n"
		  "rings_connected: yes\n"
		  "error:           -\n");
}

static void text_is_nested(void **state)
{
	(void)state;
	same_text(fill_nested, false,
		  "vif1.0:\n"
		  "  guest:    1\n"
		  "  features: none\n"
		  "  instance:\n"
		  "    a_much_longer_name: 12\n"
		  "    pid:                1\n"
		  "\n"
		  "vif2.0:\n"
		  "  guest:    2\n"
		  "  features: sg, gso-tcpv4\n"
		  "  instance:\n"
		  "    a_much_longer_name: 12\n"
		  "    pid:                1\n");
}

static void lists_of_objects(void **state)
{
	(void)state;
	same_text(fill_list_of_objects, false,
		  "queues:\n  -\n    frames: 0\n  -\n    frames: 1\n");
	same_text(fill_list_of_objects, true,
		  "{\n  \"queues\": [\n    {\n      \"frames\": 0},\n    {\n      \"frames\": 1}]}");
}

static void table_has_a_column_for_every_name(void **state)
{
	(void)state;
	same_text(fill_table, false,
		  "vif       guest  state     waiting_for\n"
		  "vif1.0    1      -         -\n"
		  "vif100.0  -      InitWait  the frontend\n");
}

static void nothing_is_said_to_be_nothing(void **state)
{
	(void)state;
	same_text(fill_nothing, false, "none\n");
	same_text(fill_nothing, true, "{\n  }");
}

/* What a guest put into XenStore reaches neither the terminal nor the JSON parser. */
static void hostile_bytes_are_replaced(void **state)
{
	(void)state;
	same_text(fill_hostile, false, "na?me: a?[2J???????z\n");
	same_text(fill_hostile, true, "{\n  \"na?me\": \"a?[2J???????z\"}");
}

static void largest_numbers(void **state)
{
	(void)state;
	same_text(fill_largest, false,
		  "largest: 9223372036854775807\nbeyond:  18446744073709551615\n");
	same_text(fill_largest, true,
		  "{\n  \"beyond\": 1.84467440737096e+19,\n  \"largest\": 9223372036854775807}");
}

static void json_can_be_parsed_again(void **state)
{
	void (*const fills[])(struct report *report) = {
		fill_nothing, fill_flat, fill_nested, fill_list_of_objects, fill_table, fill_hostile,
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(fills); i++) {
		char *text = rendered(fills[i], true);
		struct json *json = json_from_string(text);

		SAME(text, json->type, JSON_OBJECT);
		json_destroy(json);
		free(text);
	}
}

static void last_error_counts(void **state)
{
	struct report report;

	(void)state;
	report_init(&report);
	assert_string_equal(report_failure(&report), "the command failed and does not say why");
	report_error(&report, "first");
	report_error(&report, "no vif '%s'", "vif\n9");
	assert_string_equal(report_failure(&report), "no vif 'vif?9'");
	report_destroy(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_aligned),
		cmocka_unit_test(text_is_nested),
		cmocka_unit_test(lists_of_objects),
		cmocka_unit_test(table_has_a_column_for_every_name),
		cmocka_unit_test(nothing_is_said_to_be_nothing),
		cmocka_unit_test(hostile_bytes_are_replaced),
		cmocka_unit_test(largest_numbers),
		cmocka_unit_test(json_can_be_parsed_again),
		cmocka_unit_test(last_error_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
