/* oversize.h - frames that are longer than a guest's MTU though nobody left them to be cut
 *
 * Some guests drop such frames (Windows all above the MTU and 18 bytes, protocol.md 1.10), others take them and
 * pass them on to where they do not fit.  They come when the MTU was lowered under frames that waited, or
 * from a switch that merged TCP segments and forgot.  Pure. */
#ifndef BACKEND_OVERSIZE_H
#define BACKEND_OVERSIZE_H

#include <stdbool.h>

#include "frame.h"

/* Whether @frame is not left to be cut and longer than @mtu allows: an Ethernet header, and a VLAN tag whether
 * there is one or not, as Linux has it (is_skb_forwardable); a second tag if there is one. */
bool oversize_is(const struct frame *frame, uint32_t mtu);

/* Makes such a frame, in one segment, one that is left to be cut to @mtu.  False, and nothing changed, unless it
 * is TCP that may be: no SYN, RST or URG, its length and its checksum right (cutting would make a wrong
 * one right). */
bool oversize_leave_to_cut(struct frame *frame, uint32_t mtu);

#endif
