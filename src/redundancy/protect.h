/* Protect and rebuild node-local files of others: what `saikai protect` and `saikai rebuild` do,
 * one process per node.
 *
 * Parity files are called <name>.<generation>.skp in the parity directory. A new generation
 * replaces the older ones only when it is complete on all nodes. */
#ifndef SK_REDUNDANCY_PROTECT_H
#define SK_REDUNDANCY_PROTECT_H

#include "redundancy/set/encode.h"
#include "redundancy/set/rebuild.h"

struct sk_protect_params {
    struct sk_encoding coding; /* protect only; without costs and form they are measured */
    int members;             /* of a group, 0: the usual number */
    const char *rule;        /* failure domains (domains.h) */
    const char *host;        /* NULL: this machine's name */
    const char *dir;         /* the files' directory */
    int files;               /* protect only: names relative to dir */
    const char *const *name;
    const char *parity_dir;  /* made when it is missing */
    const char *parity_name; /* NULL: "saikai" */
};

struct sk_protect_result {
    uint64_t generation;
    int groups, members; /* of the job; members of this rank's group */
    struct sk_encode_result encoded;
    struct sk_rebuild_result rebuilt;
    uint32_t rank; /* rebuild: whose files this process now has, SK_RANK_UNKNOWN: nobody's */
};

/* Collective over the job, blocking. Files are read, not mapped: one that is cut short meanwhile is
 * an error. After a failure the previous protection, if any, stays. Errors as sk_encode;
 * SAIKAI_EINVAL when the nodes do not allow such groups. */
int sk_protect_files(struct sk_group *job, const struct sk_protect_params *p,
                     struct sk_protect_result *r, struct saikai_error *err);

/* Collective over the job, blocking. A process whose parity directory has a parity file goes on
 * with those files; the others, on nodes that lost theirs or on new ones, get in order what nobody
 * has. The newest generation that can be given back whole is used; of several losses the newest one
 * is told. SAIKAI_ERANKS: more nodes' files are without a process than there are processes without
 * files. Other errors as sk_rebuild. */
int sk_rebuild_files(struct sk_group *job, const struct sk_protect_params *p,
                     struct sk_protect_result *r, struct saikai_error *err);

#endif
