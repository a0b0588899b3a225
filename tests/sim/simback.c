/* simback.c - unetbackd as a test's child, and what it says; see simback.h */
#include "simback.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char programs[256], run_folder[160], log_path[192];
static pid_t unetbackd;
static bool instances_killed;
static struct xs_handle *xs;

struct xs_handle *simback_xs(void)
{
	return xs;
}

int simback_pid(void)
{
	return unetbackd;
}

/* --- start and stop --------------------------------------------------------------------------- */

/* build/VARIANT, two folders above the test's own. */
static void find_programs(void)
{
	ssize_t length = readlink("/proc/self/exe", programs, sizeof programs - 1);

	programs[length > 0 ? length : 0] = '\0';
	for (int i = 0; i < 3 && strrchr(programs, '/'); i++)
		*strrchr(programs, '/') = '\0';
}

static void __attribute__((noreturn)) become_unetbackd(const char *const options[])
{
	char path[300], libraries[300];
	char *arguments[16] = { "unetbackd", "--user-instance=nobody" };
	int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0644), count = 2;

	for (; options && *options && count < 15; options++)
		arguments[count++] = (char *)*options;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(libraries, sizeof libraries, "%s/tests/sim/lib", programs);
	setenv("LD_LIBRARY_PATH", libraries, 1);
	snprintf(path, sizeof path, "%s/unetbackd", programs);
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
	close(log);
	execv(path, arguments);
	_exit(127);
}

/* xenstored's socket is there before it listens. */
static bool has_xenstore(void *context)
{
	(void)context;
	xs = xs_open(0);
	return xs;
}

/* The host's own entry, which on Xen is made at boot. */
static bool make_home(void)
{
	return simback_until(has_xenstore, NULL) &&
	       xs_write(xs, XBT_NULL, "/local/domain/0/domid", "0", 1) &&
	       xs_write(xs, XBT_NULL, "/local/domain/0/name", "Domain-0", 8);
}

static bool is_up(void *context)
{
	(void)context;
	return simback_ask("list", NULL)[0] != '\0';
}

int simback_start(const char *const options[])
{
	void *state = NULL;

	if (unshare(CLONE_NEWNET) != 0) {
		fprintf(stderr, "simback: no network namespace: %s\n", strerror(errno));
		return -1;
	}
	if (simtest_start_with_xenstored(&state) != 0 || !make_home())
		return -1;
	find_programs();
	snprintf(run_folder, sizeof run_folder, "%s/run", getenv("XENSTORED_RUNDIR"));
	snprintf(log_path, sizeof log_path, "%s/unetbackd.log", getenv("XENSTORED_RUNDIR"));
	setenv("OVS_RUNDIR", run_folder, 1);
	if (mkdir(run_folder, 0755) != 0)
		return -1;
	unetbackd = fork();
	if (unetbackd == 0)
		become_unetbackd(options);
	return simback_until(is_up, NULL) ? 0 : -1;
}

/* What is said there is said for a person who looks why a test failed. */
static bool log_is_clean(void)
{
	char line[512];
	bool clean = true;
	FILE *log = fopen(log_path, "r");

	while (log && fgets(line, sizeof line, log)) {
		if (strstr(line, "Sanitizer") || strstr(line, "runtime error") ||
		    (strstr(line, "its instance ended") && !instances_killed) || strstr(line, "EMER|"))
			clean = false;
		fprintf(stderr, "# %s", line);
	}
	if (log)
		fclose(log);
	return clean;
}

int simback_stop(void)
{
	void *state = NULL;
	int status = -1, others;
	bool clean;

	if (unetbackd <= 0)
		return -1;	/* the start has failed */
	kill(unetbackd, SIGTERM);
	waitpid(unetbackd, &status, 0);
	clean = log_is_clean();
	if (status != 0 || !clean)
		fprintf(stderr, "simback: unetbackd ended with %#x, log %s\n", (unsigned int)status,
			clean ? "clean" : "not clean");
	xs_close(xs);
	clean &= simtest_idle();
	others = simtest_stop(&state);
	return status == 0 && clean && others == 0 ? 0 : -1;
}

/* --- asking ----------------------------------------------------------------------------------- */

const char *simback_ask(const char *command, const char *vif)
{
	static char text[1 << 18];
	char line[512];
	size_t length;
	FILE *output;

	snprintf(line, sizeof line, "%s/../release/unetback --format=json %s %s 2>&1",
		 programs, command, vif ? vif : "");
	output = popen(line, "r");
	length = output ? fread(text, 1, sizeof text - 1, output) : 0;
	text[length] = '\0';
	if (!output || pclose(output) != 0)
		text[0] = '\0';
	return text;
}

long long simback_number(const char *command, const char *vif, const char *section,
			 const char *key)
{
	const char *at = simback_ask(command, vif);
	char quoted[64];

	if (section) {
		snprintf(quoted, sizeof quoted, "\"%s\":", section);
		at = strstr(at, quoted);
	}
	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	at = at ? strstr(at, quoted) : NULL;
	return at ? strtoll(at + strlen(quoted), NULL, 10) : -1;
}

static int count_entries(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

int simback_descriptors(void)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd", unetbackd);
	return count_entries(path);
}

int simback_children(void)
{
	char path[64];
	int count = 0, pid;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", unetbackd, unetbackd);
	file = fopen(path, "r");
	while (file && fscanf(file, "%d", &pid) == 1)
		count++;
	if (file)
		fclose(file);
	return count;
}

struct successor { const char *vif; long long pid; };

static bool has_successor(void *context)
{
	const struct successor *wanted = context;
	long long pid = simback_number("show", wanted->vif, "instance", "pid");

	return pid > 0 && pid != wanted->pid;
}

void simback_kill_instance(const char *vif)
{
	struct successor successor = { vif, simback_number("show", vif, "instance", "pid") };

	assert_true(successor.pid > 0);
	instances_killed = true;
	assert_int_equal(kill((pid_t)successor.pid, SIGKILL), 0);
	simback_await(has_successor, &successor);
}

/* --- guests ----------------------------------------------------------------------------------- */

struct simguest *simback_guest(uint32_t domid)
{
	struct simguest *guest;
	char number[16];

	snprintf(number, sizeof number, "%u", domid);
	assert_int_equal(simtest_run(SIMBACK_TOOLSTACK, "create", number, NULL), 0);
	guest = simguest_start(domid);
	assert_non_null(guest);
	return guest;
}

void simback_destroy(struct simguest *guest)
{
	uint32_t domid = guest->domid;
	char number[16];

	snprintf(number, sizeof number, "%u", domid);
	simguest_crash(guest);
	assert_int_equal(simtest_run(SIMBACK_TOOLSTACK, "destroy", number, "timeout=20", NULL), 0);
	simback_await_gone(domid);
}

static bool has_entry(const char *format, uint32_t domid)
{
	char path[64], *text;
	unsigned int length;

	snprintf(path, sizeof path, format, domid);
	text = xs_read(xs, XBT_NULL, path, &length);
	free(text);
	return text;
}

/* A device of that guest's in our namespace. */
static bool has_device(uint32_t domid)
{
	char prefix[16], line[256];
	FILE *devices = fopen("/proc/self/net/dev", "r");
	bool found = false;

	snprintf(prefix, sizeof prefix, "vif%u.", domid);
	while (devices && fgets(line, sizeof line, devices))
		found |= strncmp(line + strspn(line, " "), prefix, strlen(prefix)) == 0;
	if (devices)
		fclose(devices);
	return found;
}

static bool is_gone(void *context)
{
	uint32_t domid = *(uint32_t *)context;
	char word[32];

	snprintf(word, sizeof word, "\"vif%u.", domid);
	return !has_device(domid) && !has_entry("/local/domain/%u", domid) &&
	       !has_entry("/local/domain/0/backend/vif/%u", domid) &&
	       !has_entry("/local/domain/0/error/backend/vif/%u", domid) &&
	       !strstr(simback_ask("list", NULL), word) && simtest_count(domid, "mapped") == 0 &&
	       simtest_count(domid, "granted") == 0;
}

void simback_await_gone(uint32_t domid)
{
	assert_true(simback_until(is_gone, &domid));
}
