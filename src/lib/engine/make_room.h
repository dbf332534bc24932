/* Room in a prefix that is full: what is not needed any more goes before its time. */
#ifndef SK_LIB_ENGINE_MAKE_ROOM_H
#define SK_LIB_ENGINE_MAKE_ROOM_H

#include "lib/engine/engine_parts.h"

/* 1: something of this rank's in the prefix was let go so that gen finds room there, and it may be tried again; 0: nothing may go, or
 * nothing could. In this order: what is to go anyhow, files of generations of this start that other ranks could not copy, and the oldest
 * generation that stays as long as a newer one is whole: the newest never goes, and is read in full before another one does. Local; by a
 * thread that has the prefix to itself: the archiver, or the program's while that is idle. Without the lock, which is taken. What goes is
 * said once. */
int sk_engine_make_room(struct sk_engine *e, struct sk_gen gen);

#endif
