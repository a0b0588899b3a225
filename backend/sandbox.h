/* sandbox.h - how an instance gives up what it does not need, in named stages
 *
 *	sandbox_start	first thing in main: only the inherited descriptors stay open, no new
 *			privileges ever, no core dump of a guest's memory
 *	sandbox_opened	the Xen devices are open: become an unprivileged user, without capabilities
 *	sandbox_serving	before the first guest byte is looked at: the limits that hold from then on
 *
 * Each is called once and either holds or ends the process: an instance that could not drop its
 * privileges serves nobody. */
#ifndef BACKEND_SANDBOX_H
#define BACKEND_SANDBOX_H

/* Keeps descriptors 0 to @last_fd. */
void sandbox_start(int last_fd);
/* @user by name; must not be root. */
void sandbox_opened(const char *user);
void sandbox_serving(void);

#endif
