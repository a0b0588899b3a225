/* simtest.h - a world for C tests: simxen, xenstored, and what is left at the end
 *
 * Programs are looked for in the folder sim beside the test's own, as the Makefile lays them out.  Include
 * this first. */
#ifndef TESTS_SIM_SIMTEST_H
#define TESTS_SIM_SIMTEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* cmocka group fixtures; without or with xenstored.  The stop fails the group if simxen did not
 * end well. */
int simtest_start(void **state);
int simtest_start_with_xenstored(void **state);
int simtest_stop(void **state);

/* A number of simxenctl status, such as "mapped", of a domain that is alive or dying; 0 if there
 * is none. */
unsigned int simtest_count(unsigned int domid, const char *name);
/* Until that number is @value; fails the test after 10 s. */
void simtest_await(unsigned int domid, const char *name, unsigned int value);
/* True when all handles are closed, no domain but 0 exists and nothing of domain 0 is in use;
 * waits up to 10 s for that, then says what is left. */
bool simtest_idle(void);

/* Runs a program from beside the test, to its end; its exit status. */
int simtest_run(const char *program, ...) __attribute__((sentinel));
/* In a child: @body(@argument), which must not return but block or exit; the child's pid when it
 * has written a byte to the descriptor it is given. */
int simtest_child(void (*body)(void *argument, int ready), void *argument);
void simtest_kill(int child);

#endif
