/* instance_process.c - one unetback-instance; see instance_process.h */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "instance_process.h"
#include "log.h"

#define PATIENCE_MS 5000	/* between closing the channel and SIGKILL */
#define CANNOT_EXECUTE 127	/* the shell's word for it */

void instance_process_init(struct instance_process *process)
{
	*process = (struct instance_process){ .pidfd = -1, .channel = -1 };
}

/* Moves a descriptor of the child to the number agreed on, without close-on-exec. */
static bool place_fd(int fd, int number)
{
	return dup2(fd, number) == number && fcntl(number, F_SETFD, 0) == 0;
}

/* In the child, between fork and exec: only async-signal-safe calls. */
static void __attribute__((noreturn)) become_instance(char *const argv[], int channel, int state_fd)
{
	sigset_t none;
	/* Out of the way of the two numbers first. */
	int high_channel = fcntl(channel, F_DUPFD, 10), high_state = fcntl(state_fd, F_DUPFD, 10);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (place_fd(high_channel, CHANNEL_FD) && place_fd(high_state, CHANNEL_STATE_FD))
		execv(argv[0], argv);
	_exit(CANNOT_EXECUTE);
}

static int spawn(struct instance_process *process, const struct instance_program *program,
		 int channel, int state_fd)
{
	char guest[24], self[24], user[64];
	char *const argv[] = { (char *)program->path, guest, self, user, NULL };

	snprintf(guest, sizeof guest, "--guest=%u", program->guest);
	snprintf(self, sizeof self, "--self=%u", program->self);
	snprintf(user, sizeof user, "--user=%s", program->user);
	process->pid = fork();
	if (process->pid < 0)
		return -errno;
	if (process->pid == 0)
		become_instance(argv, channel, state_fd);
	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0) {
		int error = -errno;

		kill(process->pid, SIGKILL);
		waitpid(process->pid, NULL, 0);
		return error;
	}
	return 0;
}

int instance_process_start(struct instance_process *process, const struct instance_program *program,
			   int state_fd)
{
	int pair[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		error = -errno;
	} else {
		process->channel = pair[0];
		error = spawn(process, program, pair[1], state_fd);
		close(pair[1]);
	}
	if (error) {
		log_error("guest %u: cannot start %s: %s", program->guest, program->path,
			  strerror(-error));
		instance_process_forget(process);
	}
	return error;
}

void instance_process_end(struct instance_process *process, struct mono now)
{
	if (process->channel < 0)
		return;
	close(process->channel);
	process->channel = -1;
	process->kill_at = mono_add_ms(now, PATIENCE_MS);
}

void instance_process_kill(struct instance_process *process, struct mono now)
{
	instance_process_end(process, now);
	process->kill_at = now;
}

bool instance_process_reaped(struct instance_process *process, struct mono now)
{
	if (process->channel < 0 && now.ns >= process->kill_at.ns) {
		kill(process->pid, SIGKILL);
		process->kill_at = mono_add_ms(now, PATIENCE_MS);
	}
	return waitpid(process->pid, &process->status, WNOHANG) == process->pid;
}

bool instance_process_wait(struct instance_process *process, int ms)
{
	struct pollfd fd = { .fd = process->pidfd, .events = POLLIN };

	if (process->pid == 0)
		return false;
	if (poll(&fd, 1, ms) <= 0)
		kill(process->pid, SIGKILL);
	return waitpid(process->pid, &process->status, 0) == process->pid;
}

void instance_process_describe(const struct instance_process *process, char *text, size_t size)
{
	int status = process->status;

	if (WIFSIGNALED(status))
		snprintf(text, size, "killed by signal %d (%s)%s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
	else
		snprintf(text, size, "exit status %d%s", WEXITSTATUS(status),
			 WEXITSTATUS(status) == CANNOT_EXECUTE ? " (the program cannot be executed)" : "");
}

void instance_process_forget(struct instance_process *process)
{
	if (process->pidfd >= 0)
		close(process->pidfd);
	if (process->channel >= 0)
		close(process->channel);
	instance_process_init(process);
}
