/* control_client.h - asking unetbackd over its control socket
 *
 * The one header of ours that the command line tool sees.  One question at a time; blocks until the
 * answer is there or time is up. */
#ifndef OVS_GLUE_CONTROL_CLIENT_H
#define OVS_GLUE_CONTROL_CLIENT_H

/* Sends @command with @argc arguments to @target: a program name, whose socket is looked for in the
 * run folder, or the path of a socket.  0 with the answer in @answer; -errno with one line in @answer
 * that says what failed: -ETIMEDOUT after @seconds.  The caller frees it. */
int control_ask(const char *target, unsigned int seconds, const char *command, int argc,
		char *const argv[], char **answer);

const char *control_library_version(void);

#endif
