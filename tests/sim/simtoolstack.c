/* simtoolstack.c - what libxl does to a guest's vifs, in the simulator
 *
 * usage: simtoolstack create D				domain in simxen, folders in XenStore
 *	  simtoolstack attach D H [KEY=VALUE]...	xl network-attach
 *	  simtoolstack detach D H [KEY=VALUE]...	xl network-detach
 *	  simtoolstack destroy D [KEY=VALUE]...		xl destroy
 *
 *	mac=	bridge=	mtu=	as in an xl configuration; mtu is written if it is not 1500
 *	script=PROGRAM		run as hotplug script, `PROGRAM online type_if=vif`, with the
 *				environment libxl gives it; without it hotplug-status is
 *				connected at once
 *	hotplug=no		leave hotplug-status empty
 *	backend-domid=B		default 0
 *	timeout=SECONDS		for the backend to follow, 10 as in libxl
 *
 * Order and keys are libxl's (libxl_device.c, libxl_nic.c).  attach: both ends in one
 * transaction, wait for the backend's InitWait, script; a backend that does not come is an error
 * and the nodes are removed by force.  detach: online=0 and state=5, wait for Closed, script,
 * remove.  destroy: for each vif the frontend is removed first, then as detach; then the domain.
 *
 * Unfaithful: no domain build, no emulated twin, no limit to how long a script may run, scripts
 * always run here (libxl leaves those of a driver domain to `xl devd` there). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xen/io/xenbus.h>

#include "client.h"
#include "simtoolstack.h"

static int usage(void)
{
	fprintf(stderr, "usage: simtoolstack create D | attach D H | detach D H | destroy D "
		"[mac=] [bridge=] [mtu=] [script=] [hotplug=no] [backend-domid=] [timeout=]\n");
	return 2;
}

static int simxen(enum sim_op op, uint32_t domid)
{
	static struct sim_call call;
	int fd = client_connect(SIM_CTL, 0, SOCK_CLOEXEC), error;

	if (fd < 0)
		return -1;
	call.op = op;
	call.arg[0] = domid;
	error = client_call(fd, &call, NULL);
	close(fd);
	return error;
}

static void set_paths(struct vif *vif)
{
	snprintf(vif->frontend, sizeof vif->frontend, "/local/domain/%u/device/vif/%u", vif->domid,
		 vif->handle);
	snprintf(vif->backend, sizeof vif->backend, "/local/domain/%u/backend/vif/%u/%u",
		 vif->backend_domid, vif->domid, vif->handle);
	snprintf(vif->libxl, sizeof vif->libxl, "/libxl/%u/device/vif/%u", vif->domid, vif->handle);
}

static void domain_folders(struct toolstack *ts, const void *argument)
{
	const uint32_t domid = *(const uint32_t *)argument;
	char path[64], vm[64];

	snprintf(path, sizeof path, "/local/domain/%u", domid);
	snprintf(vm, sizeof vm, "/vm/00000000-0000-0000-0000-%012u", domid);
	xs_rm(ts->xs, ts->transaction, path);
	store_folder(ts, path, 0, domid);
	store_write(ts, path, "domid", "%u", domid);
	store_write(ts, path, "name", "sim%u", domid);
	store_write(ts, path, "vm", "%s", vm);
	store_write(ts, vm, "name", "sim%u", domid);
	store_write(ts, vm, "uuid", "%s", vm + 4);
	snprintf(path, sizeof path, "/local/domain/%u/device", domid);
	store_folder(ts, path, domid, 0);
	snprintf(path, sizeof path, "/libxl/%u/device", domid);
	store_folder(ts, path, 0, 0);
}

static int create(struct toolstack *ts, uint32_t domid)
{
	if (simxen(SIM_CREATE, domid) != 0) {
		fprintf(stderr, "simtoolstack: domain %u: %s\n", domid, strerror(errno));
		return EXIT_FAILURE;
	}
	store_transaction(ts, domain_folders, &domid);
	xs_introduce_domain(ts->xs, domid, 1, 1);
	return EXIT_SUCCESS;
}

static void write_backend(struct toolstack *ts, const struct vif *vif, const char *folder)
{
	store_write(ts, folder, "frontend", "%s", vif->frontend);
	store_write(ts, folder, "frontend-id", "%u", vif->domid);
	store_write(ts, folder, "online", "1");
	store_write(ts, folder, "state", "%d", XenbusStateInitialising);
	if (vif->script)
		store_write(ts, folder, "script", "%s", vif->script);
	store_write(ts, folder, "mac", "%s", vif->mac);
	if (strcmp(vif->mtu, "1500") != 0)
		store_write(ts, folder, "mtu", "%s", vif->mtu);
	if (vif->bridge)
		store_write(ts, folder, "bridge", "%s", vif->bridge);
	store_write(ts, folder, "handle", "%u", vif->handle);
	store_write(ts, folder, "type", "vif");
	store_write(ts, folder, "hotplug-status", "%s", "");
}

static void write_frontend(struct toolstack *ts, const struct vif *vif, const char *folder)
{
	store_write(ts, folder, "backend", "%s", vif->backend);
	store_write(ts, folder, "backend-id", "%u", vif->backend_domid);
	store_write(ts, folder, "state", "%d", XenbusStateInitialising);
	store_write(ts, folder, "handle", "%u", vif->handle);
	store_write(ts, folder, "mac", "%s", vif->mac);
	store_write(ts, folder, "mtu", "%s", vif->mtu);
	store_write(ts, folder, "trusted", "1");
}

static void write_device(struct toolstack *ts, const void *argument)
{
	const struct vif *vif = argument;

	store_folder(ts, vif->libxl, 0, 0);
	store_write(ts, vif->libxl, "frontend", "%s", vif->frontend);
	store_write(ts, vif->libxl, "backend", "%s", vif->backend);
	store_folder(ts, vif->frontend, vif->domid, vif->backend_domid);
	store_folder(ts, vif->backend, vif->backend_domid, vif->domid);
	write_frontend(ts, vif, vif->frontend);
	write_backend(ts, vif, vif->backend);
}

static void script_environment(const struct vif *vif)
{
	char text[160];

	setenv("script", vif->script, 1);
	setenv("XENBUS_TYPE", "vif", 1);
	setenv("XENBUS_BASE_PATH", "backend", 1);
	snprintf(text, sizeof text, "backend/vif/%u/%u", vif->domid, vif->handle);
	/* Relative to the own domain; here everybody's own domain is 0. */
	setenv("XENBUS_PATH", vif->backend_domid ? vif->backend : text, 1);
	snprintf(text, sizeof text, "vif%u.%u", vif->domid, vif->handle);
	setenv("vif", text, 1);
	setenv("netdev", text, 1);
}

/* 0 if there is none, or it ended well. */
static int run_script(const struct vif *vif, const char *action)
{
	pid_t child;
	int status;

	if (!vif->script)
		return 0;
	child = fork();
	if (child == 0) {
		script_environment(vif);
		execl(vif->script, vif->script, action, "type_if=vif", (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "simtoolstack: %s %s failed\n", vif->script, action);
		return -1;
	}
	return 0;
}

static void remove_nodes(struct toolstack *ts, const void *argument)
{
	const struct vif *vif = argument;

	store_cleanup(ts, vif->frontend);
	store_cleanup(ts, vif->backend);
	store_cleanup(ts, vif->libxl);
}

static void begin_removal(struct toolstack *ts, const void *argument)
{
	const struct vif *vif = argument;
	char *state = store_read(ts, vif->backend, "state");

	if (state && atoi(state) != XenbusStateClosed) {
		store_write(ts, vif->backend, "online", "0");
		store_write(ts, vif->backend, "state", "%d", XenbusStateClosing);
	}
	free(state);
}

static void begin_forced_removal(struct toolstack *ts, const void *argument)
{
	const struct vif *vif = argument;

	store_cleanup(ts, vif->frontend);
	begin_removal(ts, vif);
}

static int remove_vif(struct toolstack *ts, struct vif *vif, bool force)
{
	char *script;
	int error = 0;

	store_transaction(ts, force ? begin_forced_removal : begin_removal, vif);
	if (!store_wait_state(ts, vif->backend, XenbusStateClosed, true, vif->timeout)) {
		fprintf(stderr, "simtoolstack: vif%u.%u: backend did not close in %d s\n",
			vif->domid, vif->handle, vif->timeout);
		error = -1;
	}
	script = store_read(ts, vif->backend, "script");
	vif->script = script;
	if (run_script(vif, "offline") != 0)
		error = -1;
	vif->script = NULL;
	free(script);
	store_transaction(ts, remove_nodes, vif);
	return error;
}

static int attach(struct toolstack *ts, struct vif *vif)
{
	store_transaction(ts, write_device, vif);
	if (!store_wait_state(ts, vif->backend, XenbusStateInitWait, false, vif->timeout)) {
		char *state = store_read(ts, vif->backend, "state");

		fprintf(stderr,
			"simtoolstack: vif%u.%u: backend not ready in %d s, its state is %s\n",
			vif->domid, vif->handle, vif->timeout, state ? state : "gone");
		free(state);
		remove_vif(ts, vif, true);
		return EXIT_FAILURE;
	}
	if (run_script(vif, "online") != 0) {
		remove_vif(ts, vif, true);
		return EXIT_FAILURE;
	}
	if (!vif->script && vif->hotplug)
		store_write(ts, vif->backend, "hotplug-status", "connected");
	return EXIT_SUCCESS;
}

/* "/local/domain/B/backend/vif/D/H" of what libxl has on record for a vif. */
static bool find_backend(struct toolstack *ts, struct vif *vif)
{
	char *backend;
	bool found;

	set_paths(vif);
	backend = store_read(ts, vif->libxl, "backend");
	found = backend && sscanf(backend, "/local/domain/%u/", &vif->backend_domid) == 1;
	free(backend);
	set_paths(vif);
	return found;
}

static int detach(struct toolstack *ts, struct vif *vif)
{
	if (!find_backend(ts, vif)) {
		fprintf(stderr, "simtoolstack: there is no vif%u.%u\n", vif->domid, vif->handle);
		return EXIT_FAILURE;
	}
	return remove_vif(ts, vif, false) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int remove_all_vifs(struct toolstack *ts, struct vif *vif)
{
	char path[64], **names;
	unsigned int count;
	int error = 0;

	snprintf(path, sizeof path, "/libxl/%u/device/vif", vif->domid);
	names = xs_directory(ts->xs, XBT_NULL, path, &count);
	for (unsigned int i = 0; names && i < count; i++) {
		vif->handle = (uint32_t)strtoul(names[i], NULL, 10);
		if (find_backend(ts, vif) && remove_vif(ts, vif, true) != 0)
			error = -1;
	}
	free(names);
	return error;
}

static void remove_domain(struct toolstack *ts, const void *argument)
{
	const uint32_t domid = *(const uint32_t *)argument;
	char path[64];

	snprintf(path, sizeof path, "/local/domain/%u", domid);
	store_cleanup(ts, path);
	snprintf(path, sizeof path, "/vm/00000000-0000-0000-0000-%012u", domid);
	store_cleanup(ts, path);
	snprintf(path, sizeof path, "/libxl/%u", domid);
	store_cleanup(ts, path);
}

static int destroy(struct toolstack *ts, struct vif *vif)
{
	int error = remove_all_vifs(ts, vif);

	if (simxen(SIM_DESTROY, vif->domid) != 0) {
		fprintf(stderr, "simtoolstack: domain %u: %s\n", vif->domid, strerror(errno));
		error = -1;
	}
	xs_release_domain(ts->xs, vif->domid);
	store_transaction(ts, remove_domain, &vif->domid);
	return error == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool parse_option(struct vif *vif, char *text)
{
	char *value = strchr(text, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (strcmp(text, "mac") == 0)
		vif->mac = value;
	else if (strcmp(text, "bridge") == 0)
		vif->bridge = value;
	else if (strcmp(text, "script") == 0)
		vif->script = value;
	else if (strcmp(text, "mtu") == 0)
		vif->mtu = value;
	else if (strcmp(text, "hotplug") == 0)
		vif->hotplug = strcmp(value, "no") != 0;
	else if (strcmp(text, "backend-domid") == 0)
		vif->backend_domid = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(text, "timeout") == 0)
		vif->timeout = atoi(value);
	else
		return false;
	return true;
}

static bool parse(struct vif *vif, int argc, char **argv, bool has_handle)
{
	int next = 3;

	if (argc < 3 + has_handle)
		return false;
	vif->domid = (uint32_t)strtoul(argv[2], NULL, 10);
	if (has_handle)
		vif->handle = (uint32_t)strtoul(argv[next++], NULL, 10);
	while (next < argc)
		if (!parse_option(vif, argv[next++]))
			return false;
	set_paths(vif);
	return true;
}

int main(int argc, char **argv)
{
	struct vif vif = {
		.mac = "00:16:3e:00:00:01", .mtu = "1500", .hotplug = true, .timeout = 10
	};
	struct toolstack ts = { .transaction = XBT_NULL };
	const char *command = argc > 1 ? argv[1] : "";
	bool one = strcmp(command, "attach") == 0 || strcmp(command, "detach") == 0;
	int result;

	if (!parse(&vif, argc, argv, one))
		return usage();
	ts.xs = xs_open(0);
	if (!ts.xs) {
		fprintf(stderr, "simtoolstack: xenstored: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	if (strcmp(command, "create") == 0)
		result = create(&ts, vif.domid);
	else if (strcmp(command, "attach") == 0)
		result = attach(&ts, &vif);
	else if (strcmp(command, "detach") == 0)
		result = detach(&ts, &vif);
	else if (strcmp(command, "destroy") == 0)
		result = destroy(&ts, &vif);
	else
		result = usage();
	xs_close(ts.xs);
	return result;
}
