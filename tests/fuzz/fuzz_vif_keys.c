/* fuzz_vif_keys.c - any values in XenStore, and keys that cannot be read
 *
 * The input answers each read: a value, or why there is none.  A configuration that is accepted must
 * pass the instance's own check, so that no guest can make unetbackd send what kills its instance;
 * one that is refused must say why in one printable line. */
#include <errno.h>
#include <stdbool.h>

#include "../../backend/frame.h"
#include "../../backend/vif_keys.h"
#include "fuzz.h"

struct store {
	struct fuzz_input input;
	int reads;
	bool bad;			/* a value was given out that is none for its key */
};

static const char *const likely[] = {
	"0", "1", "8", "9", "68", "1500", "9000", "65521", "65522", "131071", "131072", "4294967295",
	"4294967296", "00001", "-1", "+1", " 1", "1 ", "0x10", "1e3", "", "18446744073709551617",
};

/* A value of the input's own; it may be of any length up to what the caller takes. */
static int own_value(struct fuzz_input *input, size_t length, char *value, size_t size)
{
	if (length >= size)
		return -EMSGSIZE;
	length = fuzz_bytes(input, (uint8_t *)value, length);
	value[length] = '\0';
	return memchr(value, '\0', length) ? -EILSEQ : 0;
}

static int give(struct fuzz_input *input, char *value, size_t size)
{
	uint8_t kind = fuzz_u8(input);

	switch (kind % 8) {
	case 0: return -ENOENT;
	case 1: return (kind & 8) ? -EIO : -EACCES;
	case 2: return -EMSGSIZE;
	case 3: return own_value(input, kind / 8 * 3u, value, size);
	case 4: return snprintf(value, size, "%u", fuzz_u32(input)) < 0;
	case 5: return snprintf(value, size, "%u", fuzz_u8(input)) < 0;
	default:
		strcpy(value, likely[(kind / 8 + 32u * (kind & 1)) % (sizeof likely / sizeof *likely)]);
		return 0;
	}
}

/* Decimal digits only, and by the length and order of its text not above @max. */
static bool is_number(const char *value, const char *max)
{
	if (*value == '\0' || value[strspn(value, "0123456789")] != '\0')
		return false;
	while (value[0] == '0' && value[1] != '\0')
		value++;
	return strlen(value) < strlen(max) ||
	       (strlen(value) == strlen(max) && strcmp(value, max) <= 0);
}

static const char *max_of(const char *key)
{
	if (strstr(key, "event-channel"))
		return "131071";
	if (strcmp(key, "multi-queue-num-queues") == 0)
		return "8";
	return strstr(key, "ring-ref") ? "4294967295" : strcmp(key, "mtu") == 0 ? "65521" : "1";
}

static int read_key(void *context, enum vif_key_side side, const char *key, char *value, size_t size)
{
	struct store *store = context;
	int error;

	CHECK(size == VIF_KEY_VALUE_MAX && key[0] != '\0');
	CHECK((side == VIF_KEY_BACKEND) == (strcmp(key, "mtu") == 0 || strcmp(key, "mac") == 0));
	CHECK(!store->bad && ++store->reads < 100);
	memset(value, 0xee, size);		/* nothing may rely on what was there */
	error = give(&store->input, value, size);
	store->bad = !error && strcmp(key, "mac") != 0 && !is_number(value, max_of(key));
	return error;
}

static bool printable(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

/* What unetbackd adds of its own before it sends the configuration. */
static void fill(struct vif_config *config)
{
	config->version = VIF_CONFIG_VERSION;
	config->guest = 7;
	strcpy(config->name, "vif7.0");
	strcpy(config->port_kind, "tap");
	config->live.limits = (struct queue_limits){ QUEUE_FRAMES_DEFAULT, QUEUE_BYTES_DEFAULT,
						QUEUE_AGE_MS_DEFAULT };
	config->guest_tx_pages = FRAME_SEGMENTS_MAX;
}

static void check_quote(const uint8_t *data, size_t size)
{
	char *value = malloc(size + 1);
	size_t room = size > 0 ? 1u + data[0] : 1;
	char *out = malloc(room);

	memcpy(value, data, size);
	value[size] = '\0';
	vif_keys_quote(value, out, room);
	CHECK(strlen(out) < room && printable(out));
	free(value);
	free(out);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store store = { .input = { data, size } };
	struct vif_config config = { 0 };
	char why[256] = "", checked[256] = "";
	size_t why_size = 1 + (size > 0 ? data[size - 1] : 0);
	int error;

	check_quote(data, size);
	memset(why, 0xee, sizeof why);
	why[0] = '\0';
	error = vif_keys_read(read_key, &store, VIF_QUEUES_MAX, &config, why, why_size);
	CHECK(memchr(why, '\0', why_size) != NULL && printable(why));
	if (error) {
		CHECK(error < 0 && (why[0] != '\0' || why_size == 1));
		return 0;
	}
	CHECK(!store.bad);
	fill(&config);
	error = vif_config_check(&config, checked, sizeof checked);
	/* That rings have nothing in common, and a control ring its channel, is left to that check. */
	CHECK(error == 0 || strstr(checked, "they must differ") || strstr(checked, "there must be both"));
	return 0;
}
