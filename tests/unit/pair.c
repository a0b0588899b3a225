/* pair.c - see pair.h */
#include <unistd.h>

#include "pair.h"
#include "world.c"

struct queue_pair_setup pair_setup;
struct vif_config pair_config;
struct queue_state pair_state;
int pair_event_end;
struct vif_common pair_common;

int pair_prepare(void **state)
{
	(void)state;
	world_bare();
	pair_config = (struct vif_config){
		.version = VIF_CONFIG_VERSION, .guest = FAKE_GUEST, .self = FAKE_SELF,
		.name = "vif7.0", .features = VIF_F_ALL, .queue_count = 2, .guest_tx_pages = 64,
		.mtu = 1500,
		.live.limits = { QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT, QUEUE_AGE_MS_DEFAULT },
	};
	pair_config.queues[1] = (struct queue_config){
		WORLD_TX_RING, WORLD_RX_RING, WORLD_TX_PORT, WORLD_RX_PORT,
	};
	vif_common_init(&pair_common, &pair_config.live);
	memset(&pair_state, 0xff, sizeof pair_state);	/* open has to clear it */
	pair_setup = (struct queue_pair_setup){
		.config = &pair_config, .index = 1, .port_class = &fake_port_class, .port_fd = -1,
		.evtchn_fd = fake_evtchn_fd(&pair_event_end), .gnttab = world->gnttab,
		.pages = world->pages, .state = &pair_state, .common = &pair_common,
	};
	return 0;
}

int pair_finish(void **state)
{
	(void)state;
	close(pair_event_end);
	vif_common_destroy(&pair_common);
	pair_check_verdicts();
	world_bare_end();
	return 0;
}

void pair_check_verdicts(void)
{
	uint64_t tx = 0, rx = 0;

	for (int i = 0; i < GUEST_TX_VERDICT_COUNT; i++)
		tx += state_get(&pair_state.tx_verdicts[i]);
	for (int i = 0; i < GUEST_RX_VERDICT_COUNT; i++)
		rx += state_get(&pair_state.rx_verdicts[i]);
	SAME("tx frames", tx, state_get(&pair_state.tx_frames));
	SAME("rx frames", rx + state_get(&pair_state.rx_queued_frames),
	     state_get(&pair_state.rx_frames));
}
