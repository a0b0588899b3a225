/* fake_instance.h - an instance for the tests of the supervisor: the test program itself, started again
 *
 * What it does stands in the environment, in FAKE_INSTANCE_BEHAVIOUR:
 *
 *	good		as a real one
 *	fail, break	answers VIF_ADD by VIF_FAILED; by VIF_CONNECTED and then VIF_BROKEN
 *	early, exit	exits with status 1 at once; with 3 at VIF_ADD
 *	crash-once	the first of its guest kills itself at VIF_ADD
 *	bad-end		exits with status 9 at the end
 *	mute, keep	does not answer VIF_ADD; VIF_REMOVE
 *	undead		does not end
 *	nonsense, order	sends a malformed message; one that only unetbackd sends
 *	liar		answers what it was not asked
 *	chatty		logs a thousand lines
 *	shrink		tries to cut the state memory
 */
#ifndef FAKE_INSTANCE_H
#define FAKE_INSTANCE_H

#define FAKE_INSTANCE_BEHAVIOUR "FAKE_INSTANCE"
#define FAKE_INSTANCE_GUEST 7
#define FAKE_INSTANCE_OTHER 8

/* For main(), when its first argument starts with --guest=.  The exit status. */
int fake_instance(int argc, char *argv[]);

#endif
