/* report.c - a command's answer as text and as JSON; see report.h and report_internal.h
 *
 * Text: `key: value`, the values of one object below each other; what is below an object is indented;
 * a list of plain values is one line.  An empty value is `-`, an empty object or list `none`, so that
 * a missing word is never mistaken for a missing line. */
#include <config.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

#include "report_internal.h"

enum node_kind { NODE_OBJECT, NODE_LIST, NODE_STRING, NODE_NUMBER, NODE_BOOL };

struct report_node {
	enum node_kind kind;
	char *name;			/* NULL in a list */
	char *text;			/* STRING, NUMBER, BOOL: as printed */
	uint64_t number;		/* NUMBER, BOOL */
	struct report_node *parent, *first, *last, *next;
};

static bool is_plain(const struct report_node *node)
{
	return node->kind >= NODE_STRING;
}

/* --- filling ---------------------------------------------------------------------------------- */

/* OVS's JSON refuses bytes that are not UTF-8, and with them the whole answer. */
static char *printable(char *text)
{
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	return text;
}

static struct report_node *add(struct report *report, enum node_kind kind, const char *name,
			       char *text, uint64_t number)
{
	struct report_node *node = xzalloc(sizeof *node), *parent = report->open;

	ovs_assert(!parent || !is_plain(parent));
	*node = (struct report_node){ .kind = kind, .text = text, .number = number, .parent = parent };
	if (parent && parent->kind == NODE_OBJECT)
		node->name = printable(xstrdup(name ? name : ""));
	if (parent && parent->last)
		parent->last->next = node;
	else if (parent)
		parent->first = node;
	if (parent)
		parent->last = node;
	return node;
}

void report_init(struct report *report)
{
	*report = (struct report){ NULL, NULL, NULL, NULL };
	report->root = report->open = add(report, NODE_OBJECT, NULL, NULL, 0);
}

static void free_node(struct report_node *node)
{
	for (struct report_node *child = node->first, *next; child; child = next) {
		next = child->next;
		free_node(child);
	}
	free(node->name);
	free(node->text);
	free(node);
}

void report_destroy(struct report *report)
{
	free_node(report->root);
	free(report->failure);
}

void report_open(struct report *report, const char *name)
{
	report->open = add(report, NODE_OBJECT, name, NULL, 0);
}

void report_open_list(struct report *report, const char *name)
{
	report->open = add(report, NODE_LIST, name, NULL, 0);
}

void report_close(struct report *report)
{
	ovs_assert(report->open->parent);
	report->open = report->open->parent;
}

void report_string(struct report *report, const char *name, const char *value)
{
	add(report, NODE_STRING, name, printable(xstrdup(value)), 0);
}

void report_number(struct report *report, const char *name, uint64_t value)
{
	add(report, NODE_NUMBER, name, xasprintf("%" PRIu64, value), value);
}

void report_bool(struct report *report, const char *name, bool value)
{
	add(report, NODE_BOOL, name, xstrdup(value ? "yes" : "no"), value);
}

void report_table(struct report *report, const char *title)
{
	report->table = title;
}

void report_error(struct report *report, const char *format, ...)
{
	va_list arguments;

	free(report->failure);
	va_start(arguments, format);
	report->failure = printable(xvasprintf(format, arguments));
	va_end(arguments);
}

const char *report_failure(const struct report *report)
{
	return report->failure ? report->failure : "the command failed and does not say why";
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* OVS's integers are signed; a counter beyond that, which nobody will see, loses its last digits. */
static struct json *number_to_json(uint64_t number)
{
	return number <= INT64_MAX ? json_integer_create((long long int)number)
				   : json_real_create((double)number);
}

static struct json *to_json(const struct report_node *node)
{
	struct json *json;

	switch (node->kind) {
	case NODE_STRING: return json_string_create(node->text);
	case NODE_NUMBER: return number_to_json(node->number);
	case NODE_BOOL: return json_boolean_create(node->number != 0);
	case NODE_OBJECT:
	case NODE_LIST:
	default: break;
	}
	json = node->kind == NODE_LIST ? json_array_create_empty() : json_object_create();
	for (const struct report_node *child = node->first; child; child = child->next)
		if (node->kind == NODE_LIST)
			json_array_add(json, to_json(child));
		else
			json_object_put(json, child->name, to_json(child));
	return json;
}

/* --- text ------------------------------------------------------------------------------------- */

static bool fits_a_line(const struct report_node *node)
{
	if (node->kind == NODE_OBJECT)
		return !node->first;
	for (const struct report_node *child = node->first; child; child = child->next)
		if (!is_plain(child))
			return false;
	return true;
}

static void put_value(struct ds *text, const struct report_node *node)
{
	if (is_plain(node))
		ds_put_cstr(text, *node->text ? node->text : "-");
	else if (!node->first)
		ds_put_cstr(text, "none");
	for (const struct report_node *child = node->first; child; child = child->next)
		ds_put_format(text, "%s%s", child->text, child->next ? ", " : "");
}

static int name_width(const struct report_node *parent)
{
	size_t width = 0;

	for (const struct report_node *child = parent->first; child; child = child->next)
		if (child->name && fits_a_line(child))
			width = MAX(width, strlen(child->name));
	return (int)width;
}

static void put_line(struct ds *text, const struct report_node *node, int width)
{
	if (node->name)
		ds_put_format(text, "%s: %*s", node->name, width - (int)strlen(node->name), "");
	put_value(text, node);
	ds_put_char(text, '\n');
}

/* What is below @parent, a line or a block each; outermost blocks are set apart. */
static void put_children(struct ds *text, const struct report_node *parent, int indent)
{
	int width = name_width(parent);

	for (const struct report_node *child = parent->first; child; child = child->next) {
		bool line = fits_a_line(child);

		ds_put_char_multiple(text, ' ', (size_t)indent);
		if (line) {
			put_line(text, child, width);
			continue;
		}
		ds_put_format(text, "%s%s\n", child->name ? child->name : "-", child->name ? ":" : "");
		put_children(text, child, indent + 2);
		if (indent == 0 && child->next)
			ds_put_char(text, '\n');
	}
}

/* --- tables ----------------------------------------------------------------------------------- */

#define COLUMNS_MAX 16

struct column {
	const char *name;
	int width;
};

static void widen(struct column *column, const char *text)
{
	column->width = MAX(column->width, (int)MAX(strlen(text), 1));
}

/* The columns of a table: every name that any row has, in the order of first appearance.  The first
 * column is the rows' own name. */
static int find_columns(const struct report *report, struct column columns[COLUMNS_MAX])
{
	int n = 1;

	columns[0] = (struct column){ report->table, (int)strlen(report->table) };
	for (const struct report_node *row = report->root->first; row; row = row->next) {
		ovs_assert(row->kind == NODE_OBJECT);
		widen(&columns[0], row->name);
		for (const struct report_node *cell = row->first; cell; cell = cell->next) {
			int i = 1;

			while (i < n && strcmp(columns[i].name, cell->name) != 0)
				i++;
			if (!is_plain(cell) || i == COLUMNS_MAX)
				continue;
			if (i == n)
				columns[n++] = (struct column){ cell->name, (int)strlen(cell->name) };
			widen(&columns[i], cell->text);
		}
	}
	return n;
}

static const char *cell_text(const struct report_node *row, const char *name)
{
	for (const struct report_node *cell = row->first; cell; cell = cell->next)
		if (is_plain(cell) && *cell->text != '\0' && strcmp(cell->name, name) == 0)
			return cell->text;
	return "-";
}

static void put_cell(struct ds *text, const struct column *column, const char *value, bool last)
{
	if (last)
		ds_put_format(text, "%s\n", value);
	else
		ds_put_format(text, "%-*s  ", column->width, value);
}

static void put_table(struct ds *text, const struct report *report)
{
	struct column columns[COLUMNS_MAX];
	int n = find_columns(report, columns);

	for (int i = 0; i < n; i++)
		put_cell(text, &columns[i], columns[i].name, i == n - 1);
	for (const struct report_node *row = report->root->first; row; row = row->next)
		for (int i = 0; i < n; i++)
			put_cell(text, &columns[i], i == 0 ? row->name : cell_text(row, columns[i].name),
				 i == n - 1);
}

char *report_render(const struct report *report, bool json)
{
	struct ds text = DS_EMPTY_INITIALIZER;

	if (json) {
		struct json *tree = to_json(report->root);
		char *answer = json_to_string(tree, JSSF_PRETTY | JSSF_SORT);

		json_destroy(tree);
		return answer;
	}
	if (!report->root->first)
		ds_put_cstr(&text, "none\n");
	else if (report->table)
		put_table(&text, report);
	else
		put_children(&text, report->root, 0);
	return ds_steal_cstr(&text);
}
