/* log.c - formats lines and passes them to the sink; see log.h */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "log.h"

static void to_stderr(enum log_level level, const char *line)
{
	static const char *const name[] = { "error", "warning", "info", "debug" };

	fprintf(stderr, "%s: %s\n", name[level], line);
}

static void (*log_sink)(enum log_level level, const char *line) = to_stderr;

void log_set_sink(void (*sink)(enum log_level level, const char *line))
{
	log_sink = sink ? sink : to_stderr;
}

static void log_va(enum log_level level, const char *format, va_list arguments)
{
	char line[LOG_LINE_MAX];

	vsnprintf(line, sizeof line, format, arguments);
	log_sink(level, line);
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_va(level, format, arguments);
	va_end(arguments);
}

/* True if the limiter has a line left; refills by whole intervals. */
static bool limiter_take(struct log_limiter *limiter, struct mono now)
{
	int64_t earned = mono_ms_between(limiter->refilled, now) / LOG_LIMIT_INTERVAL_MS;

	if (earned > 0) {
		limiter->spent = earned >= limiter->spent ? 0 : limiter->spent - (uint32_t)earned;
		limiter->refilled = now;
	}
	if (limiter->spent >= LOG_LIMIT_BURST) {
		limiter->suppressed++;
		return false;
	}
	limiter->spent++;
	return true;
}

void log_limited(struct log_limiter *limiter, struct mono now, enum log_level level,
		 const char *format, ...)
{
	va_list arguments;

	if (!limiter_take(limiter, now))
		return;
	if (limiter->suppressed > 0) {
		log_line(level, "%u similar lines were left out", limiter->suppressed);
		limiter->suppressed = 0;
	}
	va_start(arguments, format);
	log_va(level, format, arguments);
	va_end(arguments);
}
