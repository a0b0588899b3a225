/* simxen.h - what a simulated hypervisor and its clients agree on
 *
 * simxen listens on a SOCK_SEQPACKET socket ($SIMXEN_SOCKET).  A connection stands for an open
 * device node, or for a guest; its last descriptor closing is the kernel's release of that file.
 * The first message says what it is (SIM_HELLO); after that:
 *
 *	gnttab, gntshr, ctl	calls: a struct sim_call each way, one at a time
 *	evtchn, guest		speaks like /dev/xen/evtchn, in arrays of 32-bit words:
 *				from simxen	one word: a port that fired, and is masked now
 *				to simxen	ports to unmask, or one command (SIM_WORD_*)
 *				calls go over a second socket, got by SIM_WORD_ATTACH
 *
 * So the descriptor of an event channel handle can be passed on, polled, read and written just like
 * the device, and no call ever takes an event off it.
 *
 * A domain is two memfds: its memory, and its grant table with what only the hypervisor writes.
 * Clients map both, so that grant copies are done where they are asked for, without a system call.
 *
 * Where all this is unfaithful (each file says it again for its part):
 *	memory		anybody may map any domain's memory; a bad local address in a copy is a
 *			fault, not EFAULT
 *	grants		version 1 only: no transfer, no transitive or sub-page grants; no maptrack
 *			limit; closing the descriptor drops pins although pages are still mapped
 *	event channels	no vCPUs, no priorities, no spurious-event penalty or EOI delay; virqs
 *			never fire; a read returns one port
 *	domains		a domid may be used again at once; a guest's crash stops its process, not
 *			its domain, and nothing tells the toolstack of it
 *	XenStore	every client is domain 0: no permission is refused, no quota counts
 *	devices		a guest's TAP drops where netfront would stop the stack; one queue a vif
 *	cost		a copy costs a memcpy, an event two messages and a third process: what
 *			hypercalls, page pinning and TLB flushes cost on Xen is not measured here */
#ifndef TESTS_SIM_SIMXEN_H
#define TESTS_SIM_SIMXEN_H

#include <stddef.h>
#include <stdint.h>
#include <xen/xen.h>
#include <xen/grant_table.h>

#define SIM_PAGE	4096u
#define SIM_PAGES	65536u		/* of a domain: 256 MiB, allocated when touched */
#define SIM_GRANTS	32768u		/* 64 grant table frames, Xen's default */
#define SIM_PORTS	4096u		/* of a domain: the 2-level ABI's */

/* Lower halves belong to the guest's kernel (simguest), upper halves to its gntalloc (simxen). */
#define SIM_PAGES_KERNEL	(SIM_PAGES / 2)
#define SIM_GRANTS_KERNEL	(SIM_GRANTS / 2)
#define SIM_GRANTS_RESERVED	8u	/* as in Xen: console, xenstore and so on */

struct sim_table {
	uint32_t alive;			/* 0 once the domain is destroyed: clients forget it */
	uint32_t domid;
	uint32_t reserved[SIM_PAGE / 4 - 2];
	struct grant_entry_v1 entries[SIM_GRANTS];
	uint16_t pins[SIM_GRANTS];	/* times mapped; simxen's */
};

enum sim_kind { SIM_EVTCHN, SIM_GNTTAB, SIM_GNTSHR, SIM_GUEST, SIM_CTL, SIM_CONTROL };

enum sim_op {
	SIM_HELLO,		/* arg: kind, domid */
	/* evtchn and guest, over the control socket */
	SIM_BIND_UNBOUND,	/* arg: remote domid; answers port */
	SIM_BIND_INTERDOMAIN,	/* arg: remote domid, remote port; answers port */
	SIM_BIND_VIRQ,		/* arg: virq; answers port */
	SIM_UNBIND,		/* arg: port */
	SIM_RESTRICT,		/* arg: domid */
	/* gnttab, gntshr and guest */
	SIM_GET_DOMAIN,		/* arg: domid; answers with two descriptors: memory, table */
	SIM_MAP,		/* arg: domid, writable, notify offset, notify port; data: refs;
				 * answers arg: id; data: frames */
	SIM_UNMAP,		/* arg: id */
	SIM_SHARE,		/* arg: domid, writable, notify offset, notify port; data: room for
				 * count words; answers arg: id, first frame; data: grant refs */
	SIM_UNSHARE,		/* arg: id */
	/* ctl */
	SIM_CREATE,		/* arg: domid */
	SIM_DESTROY,		/* arg: domid */
	SIM_STATUS,		/* arg: 1 for JSON; answers text */
};

#define SIM_NOTHING	0xffffffffu	/* no notify offset, no notify port */
#define SIM_CALL_WORDS	8192u

struct sim_call {
	uint32_t op;
	int32_t error;			/* of an answer: 0 or a positive errno */
	uint32_t arg[4];
	uint32_t words;			/* of data that are sent */
	uint32_t data[SIM_CALL_WORDS];
};

static inline size_t sim_call_size(const struct sim_call *call)
{
	return offsetof(struct sim_call, data) + call->words * sizeof(uint32_t);
}

/* Commands among the words of an evtchn descriptor: no port is that big. */
#define SIM_WORD_COMMAND 0x80000000u
#define SIM_WORD_ATTACH  0x80000000u	/* answers: itself, domid, bound ports; a socket */
#define SIM_WORD_NOTIFY  0x80000001u	/* followed by the port */
#define SIM_WORD_REQUEUE 0x80000002u	/* followed by a port that was read too early */

#endif
