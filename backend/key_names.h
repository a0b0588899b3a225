/* key_names.h - which keys a folder of XenStore may have, to spare asking for those it has not
 *
 * A vif has some forty keys, half of which most frontends and toolstacks leave out, and a frontend may spin until
 * all are read: one listing is cheaper than ten answers of ENOENT.  Nothing is remembered of a name but one of 256
 * bits, so what a guest writes takes no memory; a name whose bit is set by another is asked for in vain. */
#ifndef BACKEND_KEY_NAMES_H
#define BACKEND_KEY_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "xenstore.h"

struct key_names {
	bool listed;		/* false: any name may be there */
	uint64_t bits[4];
};

/* What stands in @folder now; if it cannot be listed any name may be there.  Zeroed @names say the same. */
void key_names_list(struct key_names *names, struct xenstore *store, const char *folder);

/* False only if @key was not there.  Keys of folders below (with a slash) may always be. */
bool key_names_may_have(const struct key_names *names, const char *key);

#endif
