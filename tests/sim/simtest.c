/* simtest.c - a world for C tests; see simtest.h */
#include "simtest.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

static char folder[64], beside[256];
static pid_t simxen, xenstored;

static const char *program_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s", beside, name);
	return path;
}

static void find_programs(void)
{
	ssize_t length = readlink("/proc/self/exe", beside, sizeof beside - 1);

	beside[length > 0 ? length : 0] = '\0';
	for (int i = 0; i < 2 && strrchr(beside, '/'); i++)
		*strrchr(beside, '/') = '\0';
	strncat(beside, "/sim", sizeof beside - strlen(beside) - 1);
}

static void set_folder(void)
{
	char path[128];

	snprintf(folder, sizeof folder, "/tmp/simtest.XXXXXX");
	if (!mkdtemp(folder) || chmod(folder, 0755) != 0)
		exit(EXIT_FAILURE);
	snprintf(path, sizeof path, "%s/simxen", folder);
	setenv("SIMXEN_SOCKET", path, 1);
	snprintf(path, sizeof path, "%s/socket", folder);
	setenv("XENSTORED_PATH", path, 1);
	setenv("XENSTORED_RUNDIR", folder, 1);
	unsetenv("SIMXEN_DOMID");
}

static bool ready_within(int fd, int ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&pollfd, 1, ms) > 0 && read(fd, &byte, 1) == 1;
}

static int start_simxen(void)
{
	int ends[2];

	if (pipe(ends) != 0)
		return -1;
	simxen = fork();
	if (simxen == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(program_path("simxen"), "simxen", getenv("SIMXEN_SOCKET"), (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (!ready_within(ends[0], 10000))
		return -1;
	close(ends[0]);
	return 0;
}

int simtest_start(void **state)
{
	(void)state;
	find_programs();
	set_folder();
	return start_simxen();
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int simtest_start_with_xenstored(void **state)
{
	int64_t end;

	if (simtest_start(state) != 0)
		return -1;
	xenstored = fork();
	if (xenstored == 0) {
		setenv("LD_PRELOAD", program_path("lib/xenstored_preload.so"), 1);
		execl("/usr/lib/xen-4.17/bin/xenstored", "xenstored", "-N", "-I", (char *)NULL);
		_exit(127);
	}
	for (end = now_ms() + 10000; now_ms() < end; sched_yield())
		if (access(getenv("XENSTORED_PATH"), F_OK) == 0)
			return 0;
	return -1;
}

int simtest_stop(void **state)
{
	char command[128];
	int status = 0;

	(void)state;
	if (xenstored > 0) {
		kill(xenstored, SIGKILL);
		waitpid(xenstored, NULL, 0);
	}
	kill(simxen, SIGTERM);
	waitpid(simxen, &status, 0);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command) != 0)
		return -1;
	return status;
}

static char *status_text(void)
{
	static struct sim_call call;
	int fd = client_connect(SIM_CTL, 0, SOCK_CLOEXEC);

	assert_true(fd >= 0);
	call.op = SIM_STATUS;
	call.words = 0;
	call.arg[0] = 0;
	assert_int_equal(client_call(fd, &call, NULL), 0);
	close(fd);
	return (char *)call.data;
}

unsigned int simtest_count(unsigned int domid, const char *name)
{
	char prefix[32], key[32], *at;
	unsigned int value = 0;

	snprintf(prefix, sizeof prefix, "domain %u:", domid);
	snprintf(key, sizeof key, " %s ", name);
	at = strstr(status_text(), prefix);
	at = at ? strstr(at, key) : NULL;
	if (at)
		value = (unsigned int)strtoul(at + strlen(key), NULL, 10);
	return value;
}

void simtest_await(unsigned int domid, const char *name, unsigned int value)
{
	int64_t end = now_ms() + 10000;

	while (simtest_count(domid, name) != value && now_ms() < end)
		sched_yield();
	assert_int_equal(simtest_count(domid, name), value);
}

bool simtest_idle(void)
{
	static const char expected[] =
		"domain 0: alive true running false ports 0 bound 0 granted 0 "
		"shared 0 mapped 0 evtchn 0 gnttab 0 gntshr 0\n";
	int64_t end = now_ms() + 10000;

	while (strcmp(status_text(), expected) != 0) {
		if (now_ms() > end) {
			fprintf(stderr, "left over:\n%s", status_text());
			return false;
		}
		sched_yield();
	}
	return true;
}

int simtest_run(const char *program, ...)
{
	char *arguments[16] = { (char *)program };
	va_list list;
	pid_t child;
	int status, count = 1;

	va_start(list, program);
	while (count < 15 && (arguments[count] = va_arg(list, char *)))
		count++;
	va_end(list);
	child = fork();
	if (child == 0) {
		execv(program_path(program), arguments);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int simtest_child(void (*body)(void *argument, int ready), void *argument)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(ends[0]);
		body(argument, ends[1]);
		_exit(EXIT_SUCCESS);
	}
	close(ends[1]);
	assert_true(ready_within(ends[0], 10000));
	close(ends[0]);
	return child;
}

void simtest_kill(int child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
