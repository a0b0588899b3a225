/* sandbox.c - the stages of an instance's privileges; see sandbox.h
 *
 * libcap-ng clears capabilities and bounding set in one call and says whether it worked, which by
 * hand takes a page.  System call filter, mount namespace and xenevtchn_restrict belong to
 * sandbox_serving and sandbox_opened. */
#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log.h"
#include "sandbox.h"

static void __attribute__((noreturn)) fail(const char *what)
{
	log_error("sandbox: %s: %s; not serving", what, strerror(errno));
	exit(EXIT_FAILURE);
}

void sandbox_start(int last_fd)
{
	if (close_range((unsigned int)last_fd + 1, ~0u, 0) != 0)
		fail("cannot close inherited descriptors");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		fail("cannot set no_new_privs");
}

static void become(const struct passwd *user)
{
	if (setgroups(0, NULL) != 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0)
		fail("cannot change to the group of the unprivileged user");
	capng_clear(CAPNG_SELECT_BOTH);
	if (setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0)
		fail("cannot change to the unprivileged user");
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		fail("cannot drop capabilities");
	if (setresuid(0, 0, 0) == 0) {
		errno = EPERM;
		fail("root came back after it was given up");
	}
}

void sandbox_opened(const char *name)
{
	const struct passwd *user = getpwnam(name);

	if (!user) {
		log_error("sandbox: no user '%s'; name an unprivileged one with --user-instance", name);
		exit(EXIT_FAILURE);
	}
	if (user->pw_uid == 0) {
		log_error("sandbox: user '%s' is root; an instance must not run as root", name);
		exit(EXIT_FAILURE);
	}
	become(user);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)	/* no core file with guests' frames */
		fail("cannot forbid core dumps");
}

void sandbox_serving(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) != 0 || setrlimit(RLIMIT_MSGQUEUE, &none) != 0)
		fail("cannot set limits");
}
