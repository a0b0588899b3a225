/* net_link.c - network devices, by rtnetlink; see net_link.h
 *
 * One socket and one request a call: this is the control path, a few calls in the life of a vif.  The
 * answer to a change is the kernel's acknowledgement; the answer to a question is one RTM_NEWLINK. */
#include <config.h>	/* first: OVS brings shims of its own for Linux headers */

#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net_link.h"

#define REQUEST_MAX 256
#define ANSWER_MAX  32768	/* one link with all its attributes; the kernel's own limit for a message */

struct request {
	struct nlmsghdr header;
	struct ifinfomsg link;
	char attributes[REQUEST_MAX];
};

static struct request make_request(uint16_t type, uint16_t flags, int ifindex)
{
	return (struct request){
		.header = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)), .nlmsg_type = type,
			    .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = 1 },
		.link = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex },
	};
}

/* Ours are few and small: they always fit. */
static void add_attribute(struct request *request, uint16_t type, const void *data, size_t size)
{
	struct rtattr *attribute = (struct rtattr *)((char *)request +
						     NLMSG_ALIGN(request->header.nlmsg_len));

	attribute->rta_type = type;
	attribute->rta_len = (unsigned short)RTA_LENGTH(size);
	memcpy(RTA_DATA(attribute), data, size);
	request->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(request->header.nlmsg_len) +
					       RTA_ALIGN(attribute->rta_len));
}

/* Sends @request and receives the one message that answers it.  Its size, or -errno. */
static ssize_t transact(const struct request *request, void *answer, size_t size)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t got = -1;
	int error;

	if (fd < 0)
		return -errno;
	if (send(fd, request, request->header.nlmsg_len, 0) >= 0)
		do {
			got = recv(fd, answer, size, 0);
		} while (got < 0 && errno == EINTR);
	error = errno;
	close(fd);
	return got < 0 ? -error : got;
}

/* What a message of type NLMSG_ERROR says: 0 is the acknowledgement. */
static int answered_error(const struct nlmsghdr *header)
{
	const struct nlmsgerr *error = NLMSG_DATA(header);

	return header->nlmsg_len >= NLMSG_LENGTH(sizeof *error) ? error->error : -EBADMSG;
}

static int change(const struct request *request)
{
	_Alignas(struct nlmsghdr) char answer[4096];
	const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
	ssize_t size = transact(request, answer, sizeof answer);

	if (size < 0)
		return (int)size;
	if (!NLMSG_OK(header, (size_t)size) || header->nlmsg_type != NLMSG_ERROR)
		return -EBADMSG;
	return answered_error(header);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Copies an attribute of just the size we expect; any other is left alone. */
static void take(const struct rtattr *attribute, void *value, size_t size)
{
	if (RTA_PAYLOAD(attribute) == size)
		memcpy(value, RTA_DATA(attribute), size);
}

static void read_tun(const struct rtattr *nest, struct net_link_tun *tun)
{
	const struct rtattr *attribute = RTA_DATA(nest);
	size_t left = RTA_PAYLOAD(nest);

	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		switch (attribute->rta_type) {
		case IFLA_TUN_OWNER:
		case IFLA_TUN_GROUP: tun->owned = true; break;	/* told only if it is set */
		case IFLA_TUN_TYPE: take(attribute, &tun->type, 1); break;
		case IFLA_TUN_PI: take(attribute, &tun->packet_info, 1); break;
		case IFLA_TUN_VNET_HDR: take(attribute, &tun->vnet_header, 1); break;
		case IFLA_TUN_PERSIST: take(attribute, &tun->persistent, 1); break;
		case IFLA_TUN_MULTI_QUEUE: take(attribute, &tun->multi_queue, 1); break;
		case IFLA_TUN_NUM_QUEUES: take(attribute, &tun->queues, 4); break;
		case IFLA_TUN_NUM_DISABLED_QUEUES: take(attribute, &tun->disabled_queues, 4); break;
		default: break;
		}
}

static void read_kind(const struct rtattr *attribute, struct net_link *link)
{
	size_t size = RTA_PAYLOAD(attribute);

	if (size >= sizeof link->kind)
		size = sizeof link->kind - 1;
	memcpy(link->kind, RTA_DATA(attribute), size);
	link->kind[size] = '\0';
}

/* The kernel puts the kind before the data that only this kind understands. */
static void read_info(const struct rtattr *nest, struct net_link *link)
{
	const struct rtattr *attribute = RTA_DATA(nest);
	size_t left = RTA_PAYLOAD(nest);

	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		if (attribute->rta_type == IFLA_INFO_KIND)
			read_kind(attribute, link);
		else if (attribute->rta_type == IFLA_INFO_DATA && strcmp(link->kind, "tun") == 0)
			read_tun(attribute, &link->tun);
}

/* Newer kernels append counters, older ones lack some: take those both have. */
static void read_counters(const struct rtattr *attribute, struct net_link *link)
{
	struct rtnl_link_stats64 stats = { 0 };
	size_t size = RTA_PAYLOAD(attribute);

	memcpy(&stats, RTA_DATA(attribute), size < sizeof stats ? size : sizeof stats);
	link->rx_dropped = stats.rx_dropped;
	link->tx_dropped = stats.tx_dropped;
}

static void read_attribute(const struct rtattr *attribute, struct net_link *link)
{
	uint8_t carrier = 0;

	switch (attribute->rta_type) {
	case IFLA_ADDRESS: take(attribute, link->mac, sizeof link->mac); break;
	case IFLA_MTU: take(attribute, &link->mtu, 4); break;
	case IFLA_MAX_MTU: take(attribute, &link->mtu_max, 4); break;
	case IFLA_TXQLEN: take(attribute, &link->queue_length, 4); break;
	case IFLA_CARRIER:
		take(attribute, &carrier, 1);
		link->carrier = carrier != 0;
		break;
	case IFLA_STATS64: read_counters(attribute, link); break;
	case IFLA_LINKINFO: read_info(attribute, link); break;
	default: break;
	}
}

int net_link_get(const char *name, struct net_link *link)
{
	_Alignas(struct nlmsghdr) static char answer[ANSWER_MAX];	/* one thread: see daemon.h */
	const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
	struct request request = make_request(RTM_GETLINK, 0, 0);
	const struct ifinfomsg *info = NLMSG_DATA(header);
	const struct rtattr *attribute;
	ssize_t size;
	size_t left;

	if (strlen(name) >= IFNAMSIZ)
		return -ENODEV;
	*link = (struct net_link){ 0 };
	add_attribute(&request, IFLA_IFNAME, name, strlen(name) + 1);
	size = transact(&request, answer, sizeof answer);
	if (size < 0)
		return (int)size;
	if (!NLMSG_OK(header, (size_t)size))
		return -EBADMSG;
	if (header->nlmsg_type == NLMSG_ERROR)
		return answered_error(header);
	if (header->nlmsg_type != RTM_NEWLINK || header->nlmsg_len < NLMSG_LENGTH(sizeof *info))
		return -EBADMSG;
	link->ifindex = info->ifi_index;
	link->flags = info->ifi_flags;
	attribute = IFLA_RTA(info);
	left = IFLA_PAYLOAD(header);
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
		read_attribute(attribute, link);
	return 0;
}

/* --- changing --------------------------------------------------------------------------------- */

int net_link_bring_up(int ifindex, const uint8_t mac[NET_LINK_MAC_BYTES], uint32_t queue_length)
{
	struct request request = make_request(RTM_NEWLINK, NLM_F_ACK, ifindex);

	request.link.ifi_flags = request.link.ifi_change = IFF_UP;
	add_attribute(&request, IFLA_ADDRESS, mac, NET_LINK_MAC_BYTES);
	add_attribute(&request, IFLA_TXQLEN, &queue_length, sizeof queue_length);
	return change(&request);
}

int net_link_set_mtu(int ifindex, uint32_t mtu)
{
	struct request request = make_request(RTM_NEWLINK, NLM_F_ACK, ifindex);

	add_attribute(&request, IFLA_MTU, &mtu, sizeof mtu);
	return change(&request);
}

int net_link_delete(int ifindex)
{
	struct request request = make_request(RTM_DELLINK, NLM_F_ACK, ifindex);

	return change(&request);
}
