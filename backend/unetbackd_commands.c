/* unetbackd_commands.c - what unetbackd answers on its control socket
 *
 * Read-only: what is known of each vif, from the control plane's own records, from the state memory
 * that the instances write (numbers, printed and not otherwise believed) and from the device. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../ovs-glue/daemon.h"
#include "unetbackd.h"

static struct {
	struct vifs *vifs;
	struct supervisor *supervisor;
	const struct port_device_class *device_class;
} served;

static const struct { uint32_t bit; const char *name; } feature_names[] = {
	{ VIF_F_SG, "sg" }, { VIF_F_GSO_TCPV4, "gso-tcpv4" }, { VIF_F_GSO_TCPV6, "gso-tcpv6" },
	{ VIF_F_CSUM_IPV4, "csum-ipv4" }, { VIF_F_CSUM_IPV6, "csum-ipv6" },
	{ VIF_F_RX_NOTIFY, "rx-notify" },
};

/* One pass over the vifs for one command. */
struct visit {
	struct report *report;
	const char *only;		/* name of the vif asked for, or NULL for all */
	uint32_t found;
	void (*show)(struct report *report, const struct vif_info *info);
};

static void visit_one(void *context, const struct vif_info *info)
{
	struct visit *visit = context;

	if (visit->only && strcmp(visit->only, info->name) != 0)
		return;
	visit->found++;
	report_open(visit->report, info->name);
	visit->show(visit->report, info);
	report_close(visit->report);
}

static int visit_all(int argc, const char *argv[], struct report *report,
		     void (*show)(struct report *report, const struct vif_info *info))
{
	struct visit visit = { report, argc > 1 ? argv[1] : NULL, 0, show };

	vifs_each(served.vifs, visit_one, &visit);
	if (visit.only && visit.found == 0) {
		report_error(report, "no vif '%s'; `unetback list` names those there are", visit.only);
		return -ENOENT;
	}
	return 0;
}

/* --- counters --------------------------------------------------------------------------------- */

static void show_words(struct report *report, const struct queue_state *queue,
		       const struct state_word words[])
{
	for (; words->key; words++) {
		const uint64_t *word = (const uint64_t *)((const char *)queue + words->offset);

		report_number(report, words->key, state_get(word));
	}
}

static void show_verdicts(struct report *report, const char *title, const uint64_t counts[],
			  const struct verdict_name names[], int n, uint64_t *sum)
{
	report_open(report, title);
	for (int i = 0; i < n; i++) {
		uint64_t count = state_get(&counts[i]);

		*sum += count;
		report_number(report, names[i].key, count);
	}
	report_close(report);
}

/* Frames seen less frames judged and frames queued: 0 whenever the queue is at rest. */
static void show_balance(struct report *report, const struct queue_state *queue,
			 uint64_t tx_judged, uint64_t rx_judged)
{
	report_number(report, "guest_tx_unaccounted", state_get(&queue->tx_frames) - tx_judged);
	report_number(report, "guest_rx_unaccounted", state_get(&queue->rx_frames) - rx_judged -
		      state_get(&queue->rx_queued_frames));
}

static void show_queue(struct report *report, uint32_t index, const struct queue_state *queue)
{
	char title[] = { 'q', 'u', 'e', 'u', 'e', '-', (char)('0' + index % 10), '\0' };
	uint64_t tx_judged = 0, rx_judged = 0;

	report_open(report, title);
	show_words(report, queue, queue_counter_words);
	show_words(report, queue, queue_gauge_words);
	show_verdicts(report, "guest_tx_verdicts", queue->tx_verdicts, guest_tx_verdict_names,
		      GUEST_TX_VERDICT_COUNT, &tx_judged);
	show_verdicts(report, "guest_rx_verdicts", queue->rx_verdicts, guest_rx_verdict_names,
		      GUEST_RX_VERDICT_COUNT, &rx_judged);
	show_balance(report, queue, tx_judged, rx_judged);
	report_close(report);
}

static void show_device(struct report *report, const struct port_device *device)
{
	struct port_device_counters counters = { 0, 0 };

	if (!device)
		return;
	served.device_class->get_counters(device, &counters);
	report_open(report, "device");
	report_string(report, "kind", served.device_class->kind);
	report_number(report, "ifindex", (uint64_t)device->ifindex);
	report_number(report, "guest_rx_dropped", counters.guest_rx_dropped);
	report_number(report, "guest_tx_dropped", counters.guest_tx_dropped);
	report_close(report);
}

static void show_counters(struct report *report, const struct vif_info *info)
{
	struct supervisor_guest_info guest;

	show_device(report, info->device);
	if (!supervisor_info(served.supervisor, info->guest, info->handle, &guest) || !guest.state)
		return;
	for (uint32_t i = 0; i < info->config->queue_count && i < VIF_QUEUES_MAX; i++)
		show_queue(report, i, &guest.state->queues[i]);
}

/* --- the commands ----------------------------------------------------------------------------- */

static void show_features(struct report *report, uint32_t features)
{
	report_open_list(report, "features");
	for (size_t i = 0; i < sizeof feature_names / sizeof *feature_names; i++)
		if (features & feature_names[i].bit)
			report_string(report, NULL, feature_names[i].name);
	report_close(report);
}

static void show_instance(struct report *report, const struct vif_info *info)
{
	struct supervisor_guest_info guest;

	if (!supervisor_info(served.supervisor, info->guest, info->handle, &guest))
		return;
	report_open(report, "instance");
	report_number(report, "pid", (uint64_t)guest.pid);
	report_number(report, "restarts", guest.restarts);
	if (guest.last_end[0] != '\0')
		report_string(report, "last_end", guest.last_end);
	report_close(report);
}

/* The first queue whose guest takes no frames: what it waits for.  "" if there is none, or if all that waited
 * grew too old: then nobody knows what the guest has posted since. */
static void describe_stall(const struct vif_info *info, char *text, size_t size)
{
	struct supervisor_guest_info guest;

	*text = '\0';
	if (!info->rings_connected ||
	    !supervisor_info(served.supervisor, info->guest, info->handle, &guest) || !guest.state)
		return;
	for (uint32_t i = 0; i < info->config->queue_count && i < VIF_QUEUES_MAX; i++) {
		const struct queue_state *queue = &guest.state->queues[i];
		uint32_t posted = (uint32_t)(state_get(&queue->rx_req_prod) - state_get(&queue->rx_req_cons));

		if (!state_get(&queue->rx_stalled) || state_get(&queue->rx_queued_frames) == 0)
			continue;
		snprintf(text, size, "the guest to post receive buffers in queue %u: %u posted, %" PRIu64
			 " needed", i, posted, state_get(&queue->rx_slots_needed));
		return;
	}
}

/* What the control plane waits for, or else the data plane; "" if neither. */
static void show_waiting_for(struct report *report, const struct vif_info *info, bool also_empty)
{
	char text[128];

	if (info->waiting_for[0] != '\0')
		snprintf(text, sizeof text, "%s", info->waiting_for);
	else
		describe_stall(info, text, sizeof text);
	if (also_empty || text[0] != '\0')
		report_string(report, "waiting_for", text);
}

static void show_states(struct report *report, const struct vif_info *info)
{
	report_number(report, "guest", info->guest);
	report_string(report, "backend_state", xenbus_state_name(info->ours));
	report_string(report, "frontend_state", xenbus_state_name(info->theirs));
	report_string(report, "hotplug_status", info->hotplug_status);
	report_bool(report, "rings_connected", info->rings_connected);
	report_string(report, "link", info->link);
	show_waiting_for(report, info, false);
	if (info->last_error[0] != '\0')
		report_string(report, "last_error", info->last_error);
	if (info->ignored[0] != '\0')
		report_string(report, "ignored", info->ignored);
	if (info->policy_ignored[0] != '\0')
		report_string(report, "ignored_at_connect", info->policy_ignored);
}

/* Each rate that limits: as it was asked for, and what it comes to. */
static void show_rates(struct report *report, const struct vif_live *live)
{
	static const char *const units[RATE_KINDS] = { "bytes", "packets" };
	static const char *const names[2][RATE_KINDS] = {
		{ "guest_tx_rate", "guest_tx_rate_packets" }, { "guest_rx_rate", "guest_rx_rate_packets" },
	};

	for (int direction = 0; direction < 2; direction++)
		for (int kind = 0; kind < RATE_KINDS; kind++) {
			const struct rate *rate = direction == 0 ? &live->tx_rates[kind] : &live->rx_rates[kind];
			char text[96];

			if (!rate_is_limited(rate))
				continue;
			snprintf(text, sizeof text, "%.0f %s/s (%" PRIu64 " in %" PRIu64 " us)",
				 (double)rate->units * 1e6 / (double)rate->usec, units[kind], rate->units,
				 rate->usec);
			report_string(report, names[direction][kind], text);
		}
}

/* The filter the guest asked for, and its list. */
static void show_multicast(struct report *report, const struct vif_info *info)
{
	struct supervisor_guest_info guest;
	uint8_t mac[6];

	report_bool(report, "multicast_filter", info->config->live.multicast_control != 0);
	if (!supervisor_info(served.supervisor, info->guest, info->handle, &guest) || !guest.state)
		return;
	report_open_list(report, "multicast");
	for (int i = 0; i < MULTICAST_MAX; i++) {
		char text[18];

		if (!multicast_at(&guest.state->multicast, i, mac))
			continue;
		snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
			 mac[4], mac[5]);
		report_string(report, NULL, text);
	}
	report_close(report);
}

/* The hash the guest chose over its control ring. */
static void show_hash(struct report *report, const struct vif_info *info)
{
	static const char *const names[] = { "ipv4", "ipv4-tcp", "ipv6", "ipv6-tcp" };
	struct supervisor_guest_info guest;
	struct hash_config hash;

	report_bool(report, "control_ring", info->config->control_ring_ref != 0);
	if (!supervisor_info(served.supervisor, info->guest, info->handle, &guest) || !guest.state)
		return;
	hash = guest.state->hash;
	if (!hash_is_on(&hash))
		return;
	report_string(report, "hash_algorithm", "toeplitz");
	report_number(report, "hash_mapping_size", hash.mapping_size);
	report_open_list(report, "hash_types");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (hash.types & (1u << i))
			report_string(report, NULL, names[i]);
	report_close(report);
}

/* Whom the guest may say it is, if that is checked. */
static void show_antispoof(struct report *report, const struct antispoof *antispoof)
{
	report_bool(report, "anti_spoof", antispoof->on != 0);
	if (!antispoof->on || !antispoof->listed)
		return;
	report_open_list(report, "addresses");
	for (uint32_t i = 0; i < antispoof->count; i++) {
		char text[64];

		antispoof_format(&antispoof->addresses[i], text, sizeof text);
		report_string(report, NULL, text);
	}
	report_close(report);
}

static void show_vif(struct report *report, const struct vif_info *info)
{
	show_states(report, info);
	if (info->rings_connected) {
		show_features(report, info->config->features);
		report_string(report, "csum", vif_policy_csum_names[info->config->csum]);
		show_antispoof(report, &info->config->antispoof);
		show_rates(report, &info->config->live);
		report_number(report, "xdp_headroom", info->config->live.xdp_headroom);
		show_multicast(report, info);
		show_hash(report, info);
		report_number(report, "mtu", info->config->mtu);
		report_number(report, "queues", info->config->queue_count);
		report_bool(report, "split_event_channels",
			    info->config->queues[0].tx_port != info->config->queues[0].rx_port);
	}
	show_instance(report, info);
	show_counters(report, info);
}

static void show_row(struct report *report, const struct vif_info *info)
{
	report_number(report, "guest", info->guest);
	report_string(report, "frontend_state", xenbus_state_name(info->theirs));
	report_string(report, "backend_state", xenbus_state_name(info->ours));
	report_string(report, "hotplug_status", info->hotplug_status);
	show_waiting_for(report, info, true);
}

static int command_list(int argc, const char *argv[], struct report *report)
{
	report_table(report, "vif");
	return visit_all(argc, argv, report, show_row);
}

static int command_show(int argc, const char *argv[], struct report *report)
{
	return visit_all(argc, argv, report, show_vif);
}

static int command_stats(int argc, const char *argv[], struct report *report)
{
	return visit_all(argc, argv, report, show_counters);
}

void unetbackd_commands(struct vifs *vifs, struct supervisor *supervisor,
			const struct port_device_class *device_class)
{
	served.vifs = vifs;
	served.supervisor = supervisor;
	served.device_class = device_class;
	daemon_command("unetback/list", "", 0, 0, command_list);
	daemon_command("unetback/show", "[vif]", 0, 1, command_show);
	daemon_command("unetback/stats", "[vif]", 0, 1, command_stats);
}
