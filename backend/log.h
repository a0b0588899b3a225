/* log.h - what the engine has to say
 *
 * backend/ formats lines here and does not know where they go: the instance sends them to unetbackd
 * over its channel, unetbackd hands them to Open vSwitch's vlog, tests collect them.  A line names the
 * thing, the value and what would be right; it ends without a newline.
 *
 * Whatever a guest can cause goes through log_limited(): a token bucket per call owner, so that no
 * guest can fill a disk.  Counters tell the rest.
 *
 * Any thread may call; the sink must cope with that. */
#ifndef BACKEND_LOG_H
#define BACKEND_LOG_H

#include <stdint.h>

#include "clock.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

#define LOG_LINE_MAX 512	/* bytes with the final NUL; longer lines are cut */

/* Receives each finished line.  The default sink writes to stderr. */
void log_set_sink(void (*sink)(enum log_level level, const char *line));

void log_line(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...)   log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* At most LOG_LIMIT_BURST lines at once and one more each LOG_LIMIT_INTERVAL_MS from one limiter.
 * The first line after a silence says how many were left out.  A zeroed limiter is ready to use;
 * it belongs to one thread. */
#define LOG_LIMIT_BURST       5
#define LOG_LIMIT_INTERVAL_MS 10000
struct log_limiter {
	struct mono refilled;
	uint32_t spent;
	uint32_t suppressed;
};
void log_limited(struct log_limiter *limiter, struct mono now, enum log_level level,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
