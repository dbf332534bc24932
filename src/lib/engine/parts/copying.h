/* What the archiver knows: what is to be copied to the prefix, what is there, and whether it hangs. With the engine's lock. */
#ifndef SK_LIB_ENGINE_COPYING_H
#define SK_LIB_ENGINE_COPYING_H

#include <stdint.h>

struct sk_copying {
    int64_t wanted_seq;   /* to be copied, 0: none */
    int64_t archived_seq; /* newest copied by this rank */
    int busy;
    double final_wait; /* for the prefix when all else is done; 0: without end */
    int stuck;         /* nobody waits for it any more */
    int ended;
    int orphaned;   /* the engine is gone but for the archiver, which frees the rest */
    int in_trouble; /* the last copy failed, and that was said */
    int made_room;  /* a generation went before its time since the prefix is full, and that was said */
};

static inline int sk_copying_is_idle(const struct sk_copying *c)
{
    return !c->wanted_seq && !c->busy;
}

#endif
