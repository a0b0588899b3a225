/* simxen_status.c - what simxen knows, for tests to assert on: text, or JSON on one line
 *
 * Both have one record a domain:
 *	ports		not free
 *	bound		of those, interdomain
 *	granted		grant entries that permit access
 *	shared		of those, pages of gntalloc (also released ones that are still mapped)
 *	mapped		times a page of the domain is mapped by anybody
 *	using		handles of the domain that are open: evtchn, gnttab, gntshr
 * and destroyed domains show as long as a page of theirs is mapped. */
#include "hypervisor.h"

struct numbers {
	uint32_t ports, bound, granted, evtchn, gnttab, gntshr;
};

static struct numbers count(const struct domain *domain, const struct connection *connections)
{
	struct numbers numbers = { 0 };

	for (uint32_t i = 1; i < SIM_PORTS; i++) {
		numbers.ports += domain->ports[i].state != PORT_FREE;
		numbers.bound += domain->ports[i].state == PORT_INTERDOMAIN;
	}
	for (uint32_t i = 0; i < SIM_GRANTS; i++)
		numbers.granted += (domain->table->entries[i].flags & GTF_type_mask) ==
				   GTF_permit_access;
	for (const struct connection *c = connections; c; c = c->next) {
		if (c->dead || c->domain != domain)
			continue;
		numbers.evtchn += c->kind == SIM_EVTCHN;
		numbers.gnttab += c->kind == SIM_GNTTAB;
		numbers.gntshr += c->kind == SIM_GNTSHR;
	}
	return numbers;
}

static const char json_format[] =
	"%s{\"domid\":%u,\"alive\":%s,\"running\":%s,\"ports\":%u,\"bound\":%u,\"granted\":%u,"
	"\"shared\":%u,\"mapped\":%u,\"evtchn\":%u,\"gnttab\":%u,\"gntshr\":%u}";
static const char text_format[] =
	"%sdomain %u: alive %s running %s ports %u bound %u granted %u shared %u mapped %u "
	"evtchn %u gnttab %u gntshr %u\n";

static void write_domain(FILE *out, const struct domain *domain, const struct numbers *numbers,
			 const char *prefix, bool json)
{
	const char *alive = domain->alive ? "true" : "false";
	const char *running = domain->guest ? "true" : "false";

	if (json)
		fprintf(out, json_format, prefix, domain->domid, alive, running, numbers->ports,
			numbers->bound, numbers->granted, domain->shared_count, domain->mapped,
			numbers->evtchn, numbers->gnttab, numbers->gntshr);
	else
		fprintf(out, text_format, prefix, domain->domid, alive, running, numbers->ports,
			numbers->bound, numbers->granted, domain->shared_count, domain->mapped,
			numbers->evtchn, numbers->gnttab, numbers->gntshr);
}

void status_write(FILE *out, const struct connection *connections, bool json)
{
	const char *separator = "";

	if (json)
		fputs("{\"domains\":[", out);
	for (const struct domain *domain = domains; domain; domain = domain->next) {
		struct numbers numbers = count(domain, connections);

		write_domain(out, domain, &numbers, separator, json);
		separator = json ? "," : "";
	}
	if (json)
		fputs("]}\n", out);
}
