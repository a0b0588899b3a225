/* hostile.h - what a guest can do to its rings, grants and event channels
 *
 * The cases of test_hostile.c's table.  Attacks are run by a connected frontend, hooks
 * (netfront_hooks.at) by one on its way. */
#ifndef TESTS_SIM_HOSTILE_H
#define TESTS_SIM_HOSTILE_H

#include "simback.h"

/* A good guest's vif, and frames both ways through it: what must go on all the time. */
extern struct simvif *neighbour;
void others_go_on(void);

long long verdict(const struct simvif *vif, const char *direction, const char *key);
bool nothing_is_queued(void *vif);

/* For hooks: @act once, when all keys are written. */
void at_connecting(struct netfront *fe, enum netfront_point point, void (*act)(struct netfront *));

void at_overrun(struct netfront *fe, enum netfront_point point, void *context);
void spoil_tx_refs(struct netfront *fe, enum netfront_point point, void *context);
void spoil_rx_refs(struct netfront *fe, enum netfront_point point, void *context);
void revoke_published(struct netfront *fe, enum netfront_point point, void *context);
void give_readonly(struct netfront *fe, enum netfront_point point, void *context);
void at_revoke_rings(struct netfront *fe, enum netfront_point point, void *context);
void at_ring_for_reading(struct netfront *fe, enum netfront_point point, void *context);

void too_many_requests(struct simvif *vif);
void requests_taken_back(struct simvif *vif);
void too_many_buffers(struct simvif *vif);
void slot_over_page_end(struct simvif *vif);
void later_slot_over_page_end(struct simvif *vif);
void slot_promised(struct simvif *vif);
void endless_frame(struct simvif *vif);
void extra_promised(struct simvif *vif);
void segments_of_no_size(struct simvif *vif);
void send_much(struct simvif *vif);
void send_and_flood(struct simvif *vif);
void all_sent_have_failed(struct simvif *vif);
void all_received_have_failed(struct simvif *vif);
void some_have_failed(struct simvif *vif);
void mutate_gently(struct simvif *vif);
void mutate_wildly(struct simvif *vif);
void storm(struct simvif *vif);

#endif
