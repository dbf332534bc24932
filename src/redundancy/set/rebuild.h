/* Rebuild: make a generation whole again on the ranks that exist now.
 *
 * Nothing is assumed about who ran where: each rank says what it finds on its node (holdings) and
 * which ranks' files it needs from now on (claims). Pieces that are on another rank than the one
 * that claims them move; pieces that are missing or damaged are computed from the others, data and
 * parity alike, so that the group has its full protection again. All groups of the job are treated
 * in one call and work at the same time. */
#ifndef SK_REDUNDANCY_REBUILD_H
#define SK_REDUNDANCY_REBUILD_H

#include "redundancy/set/parity.h"
#include "group/group.h"

#define SK_RANK_UNKNOWN UINT32_MAX

/* What may be on this node: any of it may be missing or damaged. */
struct sk_holding {
    const char *parity_path;
    const char *dir; /* of the data files, whose names the record knows */
    uint32_t rank;   /* whose files these are, SK_RANK_UNKNOWN: the parity file tells */
};

/* This process goes on as `rank`: its files go to dir, its parity to parity_path. A claim whose dir
 * and parity_path are those of a holding keeps what is good there. */
struct sk_claim {
    uint32_t rank;
    const char *parity_path, *dir;
};

struct sk_rebuild_params {
    uint64_t generation;
    struct sk_id store; /* parity of another one is not used, which is said; all zero: any is */
    const struct sk_holding *holding;
    int holdings;
    const struct sk_claim *claim;
    int claims;
    const char *form; /* NULL: pipeline */
    int window;       /* as in encode */
    int no_sync;
};

struct sk_rebuild_result {
    int groups, members;                 /* of the job in this generation */
    int lost_data, lost_parity, moved;   /* pieces, over all groups */
    uint64_t rebuilt_bytes, moved_bytes; /* written by this rank */
    double seconds;
};

/* Collective over all ranks of the job (of any number), blocking. 0: every claimed rank's files are
 * in its dir, checked, with parity beside them. SAIKAI_ELOST: more is lost than the parity can give
 * (no file was changed); the sentence names generation, group and losses. SAIKAI_ENOENT: nothing of
 * this generation is left. SAIKAI_EINVAL: two processes claim one rank. Other codes: input, output
 * or the group failed; what was there before is still there, and the call can be repeated. */
int sk_rebuild(struct sk_group *g, const struct sk_rebuild_params *p,
               struct sk_rebuild_result *result, struct saikai_error *err);

#endif
