/* xenstored_preload.c - lets the real xenstored run without Xen
 *
 * Preloaded, it answers for the hypervisor: domain 0 has an (idle) ring page, every domain that
 * is introduced exists and has one too, no virq ever fires.  So clients on the socket find
 * everything of the real daemon: transactions, watches, permissions, quotas, introduce and
 * release.
 *
 * Unfaithful: everybody on the socket is domain 0, guests too (no permission is refused, no quota
 * counts); relative paths mean /local/domain/0; @releaseDomain comes when the toolstack releases,
 * not at a crash. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#define XC_WANT_COMPAT_DEVICEMODEL_API
#include <xenctrl.h>
#include <xenevtchn.h>
#include <xengnttab.h>

struct xenevtchn_handle { int fd, next_port; };

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned int flags)
{
	xenevtchn_handle *xce = calloc(1, sizeof *xce);

	(void)logger;
	(void)flags;
	if (xce)
		xce->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return xce;
}

xenevtchn_handle *xenevtchn_fdopen(struct xentoollog_logger *logger, int fd, unsigned int flags)
{
	(void)fd;
	return xenevtchn_open(logger, flags);
}

int xenevtchn_fd(xenevtchn_handle *xce)
{
	return xce->fd;
}

static int new_port(xenevtchn_handle *xce)
{
	return ++xce->next_port;
}

int xenevtchn_bind_interdomain(xenevtchn_handle *xce, uint32_t domid, evtchn_port_t remote_port)
{
	(void)domid;
	(void)remote_port;
	return new_port(xce);
}

int xenevtchn_bind_virq(xenevtchn_handle *xce, unsigned int virq)
{
	(void)virq;
	return new_port(xce);
}

int xenevtchn_notify(xenevtchn_handle *xce, evtchn_port_t port)
{
	(void)xce;
	(void)port;
	return 0;
}

int xenevtchn_unbind(xenevtchn_handle *xce, evtchn_port_t port)
{
	(void)xce;
	(void)port;
	return 0;
}

int xenevtchn_unmask(xenevtchn_handle *xce, evtchn_port_t port)
{
	(void)xce;
	(void)port;
	return 0;
}

int xenevtchn_pending(xenevtchn_handle *xce)
{
	(void)xce;
	errno = EAGAIN;
	return -1;
}

xengnttab_handle *xengnttab_open(struct xentoollog_logger *logger, unsigned int flags)
{
	static char handle;

	(void)logger;
	(void)flags;
	return (xengnttab_handle *)(void *)&handle;
}

int xengnttab_close(xengnttab_handle *xgt)
{
	(void)xgt;
	return 0;
}

int xengnttab_set_max_grants(xengnttab_handle *xgt, uint32_t nr_grants)
{
	(void)xgt;
	(void)nr_grants;
	return 0;
}

/* The ring page of a domain, on which nothing will ever be written. */
void *xengnttab_map_grant_ref(xengnttab_handle *xgt, uint32_t domid, uint32_t ref, int prot)
{
	void *page = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)xgt;
	(void)domid;
	(void)ref;
	return page == MAP_FAILED ? NULL : page;
}

int xengnttab_unmap(xengnttab_handle *xgt, void *address, uint32_t count)
{
	(void)xgt;
	return munmap(address, (size_t)count * 4096);
}

xc_interface *xc_interface_open(xentoollog_logger *logger, xentoollog_logger *dombuild,
				unsigned int flags)
{
	static char handle;

	(void)logger;
	(void)dombuild;
	(void)flags;
	return (xc_interface *)(void *)&handle;
}

int xc_interface_close(xc_interface *xch)
{
	(void)xch;
	return 0;
}

int xc_domain_getinfo(xc_interface *xch, uint32_t first, unsigned int max, xc_dominfo_t *info)
{
	(void)xch;
	if (max == 0)
		return 0;
	memset(info, 0, sizeof *info);
	info->domid = first;
	info->running = 1;
	return 1;
}

static int memory_file(const char *text, size_t size)
{
	int fd = memfd_create("xenstored", MFD_CLOEXEC);

	if (fd >= 0 && (ftruncate(fd, (off_t)size) != 0 ||
			pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* xenstored learns of domain 0's ring from two files of xenfs. */
int open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	if (strcmp(path, "/proc/xen/xsd_port") == 0)
		return memory_file("1", 1);
	if (strcmp(path, "/proc/xen/xsd_kva") == 0)
		return memory_file("", 4096);
	va_start(arguments, flags);
	mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return openat(AT_FDCWD, path, flags, mode);
}
