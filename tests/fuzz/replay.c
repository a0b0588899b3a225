/* replay.c - runs the inputs that are checked in through one fuzz target, without a fuzzer
 *
 * usage: test_TARGET [FOLDER]	(default tests/fuzz)
 * Every file of FOLDER/corpus/TARGET and FOLDER/regressions/TARGET is a test.  One that fails ends
 * the program; the last line printed names it. */
#include <dirent.h>
#include <errno.h>

#include "fuzz.h"

static int count;

static void run_file(const char *path)
{
	static uint8_t buffer[1 << 20];
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	size_t size;

	CHECK(file != NULL);
	size = fread(buffer, 1, sizeof buffer, file);
	CHECK(size < sizeof buffer);
	fclose(file);
	data = malloc(size ? size : 1);		/* its own block: ASan watches the end */
	memcpy(data, buffer, size);
	printf("# %s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	printf("ok %d - %s\n", ++count, path);
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_folder(const char *base, const char *kind, const char *target)
{
	struct dirent **entries;
	char path[1024];
	int n;

	snprintf(path, sizeof path, "%s/%s/%s", base, kind, target);
	n = scandir(path, &entries, is_input, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/%s/%s/%s", base, kind, target, entries[i]->d_name);
		run_file(path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	const char *target = strstr(program_invocation_short_name, "test_");
	const char *folder = argc > 1 ? argv[1] : "tests/fuzz";

	CHECK(target != NULL);
	target += strlen("test_");
	LLVMFuzzerInitialize(&argc, &argv);
	run_folder(folder, "corpus", target);
	run_folder(folder, "regressions", target);
	printf("1..%d\n", count);
	return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
