/* Room for slots in a node-local directory, which the ranks of a node share: each takes what there is and what its share
 * allows, one rank after the other, so that none starves the others and nobody takes what is not there. */
#ifndef SK_LIB_ROOM_H
#define SK_LIB_ROOM_H

#include "base/error.h"

#include <stdint.h>

/* Before `more` bytes are taken in root by a rank with this share (0 to 1; 0: root is no node-local directory) of what all
 * ranks of the node may have there together: SAIKAI_ENOSPC with a sentence when they are not to be had. On success *lock is
 * to be left when the bytes are taken; until then the other ranks wait, some seconds at most. */
int sk_room_enter(const char *root, int rank, double share, uint64_t more, int *lock, struct saikai_error *err);
void sk_room_leave(int lock);

#endif
