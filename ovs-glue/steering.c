/* steering.c - loads and attaches steering.bpf.c, which is linked in as the bytes of its object file; see
 * steering.h */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include "steering.h"

/* Made by the linker: the Makefile turns build/bpf/steering.o into data. */
extern const char steering_object_start[] __asm__("_binary_steering_bpf_o_start");
extern const char steering_object_end[] __asm__("_binary_steering_bpf_o_end");

/* The loaded program, or -errno. */
static int load(void)
{
	size_t size = (size_t)(steering_object_end - steering_object_start);
	struct bpf_program *program;
	struct bpf_object *object;
	int fd = -ENOENT, error;

	libbpf_set_print(NULL);		/* the caller says what failed */
	object = bpf_object__open_mem(steering_object_start, size, NULL);
	error = libbpf_get_error(object);
	if (error)
		return error;
	error = bpf_object__load(object);
	program = bpf_object__find_program_by_name(object, "steer");
	if (!error && program)
		fd = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0);
	bpf_object__close(object);
	return error ? error : fd;
}

int steering_attach(int tap_fd)
{
	static int program = -EAGAIN;	/* not loaded yet */

	if (program == -EAGAIN)
		program = load();
	if (program < 0)
		return program;
	return ioctl(tap_fd, TUNSETSTEERINGEBPF, &program) != 0 ? -errno : 0;
}
