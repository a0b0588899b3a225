/* tap_holder.c - who serves a TAP; see tap_holder.h
 *
 * The kernel shows the interface of an open /dev/net/tun in /proc/PID/fdinfo/FD, line "iff:\tNAME".
 * Processes come and go meanwhile: whatever cannot be read is passed over. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap_holder.h"

#define TUN_PATH "/dev/net/tun"
#define PROC_PATH_MAX 64

static bool is_tun(const char *pid, const char *fd)
{
	char path[PROC_PATH_MAX], target[sizeof TUN_PATH + 1];
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%.16s/fd/%.16s", pid, fd);
	length = readlink(path, target, sizeof target);
	return length == (ssize_t)strlen(TUN_PATH) && memcmp(target, TUN_PATH, (size_t)length) == 0;
}

static bool is_queue_of(const char *pid, const char *fd, const char *name)
{
	char path[PROC_PATH_MAX], line[128], wanted[64];
	bool found = false;
	FILE *file;

	snprintf(wanted, sizeof wanted, "iff:\t%.16s\n", name);
	snprintf(path, sizeof path, "/proc/%.16s/fdinfo/%.16s", pid, fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof line, file))
		found = strcmp(line, wanted) == 0;
	fclose(file);
	return found;
}

/* Other network namespaces have devices of the same name. */
static bool is_in_our_network(const char *pid)
{
	char path[PROC_PATH_MAX], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof path, "/proc/%.16s/ns/net", pid);
	return readlink("/proc/self/ns/net", ours, sizeof ours - 1) > 0 &&
	       readlink(path, theirs, sizeof theirs - 1) > 0 && strcmp(ours, theirs) == 0;
}

static bool holds(const char *pid, const char *name)
{
	char path[PROC_PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
	folder = opendir(path);
	if (!folder)
		return false;
	while (!found && (entry = readdir(folder)) != NULL)
		found = is_tun(pid, entry->d_name) && is_queue_of(pid, entry->d_name, name);
	closedir(folder);
	return found;
}

static void read_program(const char *pid, struct tap_holder *holder)
{
	char path[PROC_PATH_MAX];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%.16s/comm", pid);
	file = fopen(path, "re");
	if (file && fgets(holder->program, sizeof holder->program, file))
		holder->program[strcspn(holder->program, "\n")] = '\0';
	if (file)
		fclose(file);
}

bool tap_holder_find(const char *name, struct tap_holder *holder)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	*holder = (struct tap_holder){ 0 };
	while (folder && holder->pid == 0 && (entry = readdir(folder)) != NULL) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && is_in_our_network(entry->d_name) && holds(entry->d_name, name)) {
			holder->pid = (pid_t)pid;
			read_program(entry->d_name, holder);
		}
	}
	if (folder)
		closedir(folder);
	return holder->pid != 0;
}
