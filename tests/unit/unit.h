/* unit.h - what every unit test starts with
 *
 * A test program includes the .c under test, so it sees its static functions; what that needs comes
 * from the libraries, except Xen's and the port, which are fakes (fake_xen.h, fake_port.h).
 * Helpers are included as .c too: each program is one unit and needs no rule of its own. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Compares two integers; @row names the case, so that a table says which line of it failed. */
#define SAME(row, got, want) do {                                                                  \
	long long same_got = (long long)(got), same_want = (long long)(want);                      \
	if (same_got != same_want)                                                                 \
		fail_msg("%s: %s is %lld, not %lld", (row), #got, same_got, same_want);            \
} while (0)

#endif
