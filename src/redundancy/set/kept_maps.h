/* Mappings of parity files that are kept. */
#ifndef SK_REDUNDANCY_KEPT_MAPS_H
#define SK_REDUNDANCY_KEPT_MAPS_H

#include "redundancy/set/parity_file.h"

#include <stddef.h>

/* Mappings of parity files that were filled in place, kept for when the same files are used again:
 * mapping and unmapping pages of 4 KiB takes about as long as coding what they hold. They are known
 * by device and inode, so that files may be renamed meanwhile; a file that is removed is let go at
 * the next use, or by sk_kept_maps_trim. Local; one thread at a time. */
struct sk_kept_maps *sk_kept_maps_new(void); /* NULL: no memory */
void sk_kept_maps_trim(struct sk_kept_maps *k);
void sk_kept_maps_free(struct sk_kept_maps *k); /* NULL is accepted */

/* For parity files. Local. The kept mapping of the file that fd is open on, when it has at least these bytes: it is
 * the caller's from now on. NULL: there is none. */
uint8_t *sk_take_map(struct sk_kept_maps *k, int fd, uint64_t least_bytes, uint64_t *bytes);
/* Local. Keep this mapping, and the descriptor; both are taken over (*fd -1, *map NULL), unless the
 * file cannot be told from others. The one kept longest goes when there is no place. */
void sk_keep_map(struct sk_kept_maps *k, int *fd, uint8_t **map, uint64_t bytes);

#endif
