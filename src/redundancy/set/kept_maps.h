/* Inside of sk_kept_maps (parity_file.h), for parity files. */
#ifndef SK_REDUNDANCY_KEPT_MAPS_H
#define SK_REDUNDANCY_KEPT_MAPS_H

#include "redundancy/set/parity_file.h"

#include <stddef.h>

/* Local. The kept mapping of the file that fd is open on, when it has at least these bytes: it is
 * the caller's from now on. NULL: there is none. */
uint8_t *sk_take_map(struct sk_kept_maps *k, int fd, uint64_t least_bytes, uint64_t *bytes);
/* Local. Keep this mapping, and the descriptor; both are taken over (*fd -1, *map NULL), unless the
 * file cannot be told from others. The one kept longest goes when there is no place. */
void sk_keep_map(struct sk_kept_maps *k, int *fd, uint8_t **map, uint64_t bytes);

#endif
