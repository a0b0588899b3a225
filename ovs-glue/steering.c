/* steering.c - loads and attaches steering.bpf.c, which is linked in as the bytes of its object file; see
 * steering.h */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "steering.h"

/* Made by the linker: the Makefile turns build/bpf/steering.bpf.o into data. */
extern const char steering_object_start[] __asm__("_binary_steering_bpf_o_start");
extern const char steering_object_end[] __asm__("_binary_steering_bpf_o_end");

#define BY_FLOW  "steer"
#define BY_GUEST "steer_by_guest"
#define MAP      "guest_hash"

static int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}

/* Of the object's programs only @name is wanted, and of its maps those of that one. */
static void want_only(struct bpf_object *object, const char *name)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, strcmp(bpf_program__name(program), name) == 0);
	if (strcmp(name, BY_GUEST) != 0)
		bpf_map__set_autocreate(bpf_object__find_map_by_name(object, MAP), false);
}

/* The program @name, newly loaded, and in *@map_fd its map if that is not NULL; or -errno. */
static int load(const char *name, int *map_fd)
{
	size_t size = (size_t)(steering_object_end - steering_object_start);
	struct bpf_object *object;
	int program, error;

	libbpf_set_print(NULL);		/* the caller says what failed */
	object = bpf_object__open_mem(steering_object_start, size, NULL);
	error = libbpf_get_error(object);
	if (error)
		return error;
	want_only(object, name);
	error = bpf_object__load(object);
	program = error ? error : duplicate(bpf_program__fd(bpf_object__find_program_by_name(object, name)));
	if (program >= 0 && map_fd)
		*map_fd = duplicate(bpf_map__fd(bpf_object__find_map_by_name(object, MAP)));
	bpf_object__close(object);
	return program;
}

static int attach(int tap_fd, int program)
{
	return ioctl(tap_fd, TUNSETSTEERINGEBPF, &program) != 0 ? -errno : 0;
}

int steering_by_flow(int tap_fd)
{
	static int program = -EAGAIN;	/* not loaded yet; then for all TAPs and for good */

	if (program == -EAGAIN)
		program = load(BY_FLOW, NULL);
	return program < 0 ? program : attach(tap_fd, program);
}

static int set(int map_fd, const struct steering_hash *hash)
{
	static const __u32 only = 0;

	return bpf_map_update_elem(map_fd, &only, hash, BPF_ANY);
}

int steering_by_guest(int tap_fd, const struct steering_hash *hash, int *map_fd)
{
	int program, error;

	if (*map_fd >= 0)
		return set(*map_fd, hash);
	program = load(BY_GUEST, map_fd);
	if (program < 0)
		return program;
	error = *map_fd < 0 ? *map_fd : set(*map_fd, hash);
	if (!error)
		error = attach(tap_fd, program);
	close(program);
	return error;
}
