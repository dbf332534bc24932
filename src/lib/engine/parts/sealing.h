/* What the committer knows: what a generation's file becomes, and what the next delta builds on. With the engine's lock, but for
 * limits and coding, which stay. */
#ifndef SK_LIB_ENGINE_SEALING_H
#define SK_LIB_ENGINE_SEALING_H

#include "lib/engine/engine.h"

/* The newest generation that was committed: what the next delta must build on. */
struct sk_tip {
    int known; /* 0: nothing, or the newest one was lost: a full one must come */
    struct sk_gen gen;
    uint64_t index_hash; /* of its file */
    unsigned deltas;     /* that it consists of, beside a full one */
    uint64_t delta_bytes, full_bytes;
    int spoiled; /* something that it builds on is damaged: a full one was asked for */
};

struct sk_sealing {
    const struct sk_coding_policy *coding;
    struct sk_delta_limits limits;
    struct sk_tip tip;
    int busy;                  /* with a generation, or looking at what is suspected */
    int hash_files;            /* somebody will want the checksums of whole files */
    int plain_told, fold_told; /* that there was no room to code, or to fold */
};

/* As much as the deltas on the next full generation may take: the slots of one lineage come free together when it is folded, and to
 * fill pages that are there takes a fraction of the time that new ones take. */
static inline double sk_sealing_deltas_bytes(const struct sk_sealing *s)
{
    double ratio = s->limits.max_ratio > 0 ? s->limits.max_ratio : 1;
    return ratio * (double)s->tip.full_bytes;
}

#endif
