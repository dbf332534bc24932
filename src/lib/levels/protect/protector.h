/* The protector: keeps complete generations in the local directories safe against the loss of
 * nodes. It codes a generation's files over groups of different failure domains, off the program's
 * path, and keeps data and parity of the newest protected generation (and of what that one builds
 * on) until a newer one is protected. One coding at a time. */
#ifndef SK_LIB_PROTECTOR_H
#define SK_LIB_PROTECTOR_H

#include "base/config/config.h"
#include "lib/engine/engine.h"
#include "store/holdings.h"

struct sk_protector;

struct sk_protector_setup {
    struct sk_group *g;
    const struct sk_config *config;
    struct sk_engine *engine; /* stays the caller's, must outlive the protector */
    const char *root, *host;  /* local directory; copied */
    struct sk_id store;
    uint32_t incarnation;
    int sync; /* wait for the disk */
};

/* What one rank tells of its codings, for the minimum over all ranks (the session's poll). */
struct sk_protector_news {
    int64_t ready, ended; /* as of the offpath */
    int64_t coded;        /* newest coding that succeeded here */
};

/* Collective, blocking. *out NULL without an error: nothing can or shall be protected. */
int sk_protector_new(const struct sk_protector_setup *s, struct sk_protector **out,
                     struct saikai_error *err);
/* Local; coding under way is given up. What was protected stays so. NULL is accepted, here and
 * below. */
void sk_protector_free(struct sk_protector *p);
/* Collective, blocking: until the coding under way, if any, has ended on all ranks. Result as that
 * of sk_protector_hear. */
int sk_protector_drain(struct sk_protector *p, struct sk_gen *gen, int64_t *seq);

/* Begin to protect a generation that is complete (or adopted) in the local directories. At the same
 * tick on all ranks, when sk_protector_busy is 0. seq is the caller's. A rank whose file is missing
 * makes it fail on all. anew 1: with all that it builds on, whatever older sets have: their parity is damaged on some rank. */
void sk_protector_begin(struct sk_protector *p, struct sk_gen gen, int64_t seq, int anew);
/* A coding was begun whose end is not known on all ranks. The same at the same tick on all ranks.
 */
int sk_protector_busy(const struct sk_protector *p);
/* A set of an earlier start that protects until a newer one does: its files stay. Before the first
 * coding. Local. */
void sk_protector_adopt(struct sk_protector *p, struct sk_parity_set set);

/* Local: at every candidate where sk_protector_wants_slices says so. */
int sk_protector_wants_slices(const struct sk_protector *p);
void sk_protector_slice(struct sk_protector *p);
void sk_protector_tell(struct sk_protector *p, struct sk_protector_news *out);
/* At the same tick on all ranks, with the minimum of what they told. May block shortly, in slices.
 * 1: a generation became protected; *gen, *seq say which. */
int sk_protector_hear(struct sk_protector *p, const struct sk_protector_news *least,
                      struct sk_gen *gen, int64_t *seq);

/* Local: seconds that the last coding took, bytes of parity this rank has of it; how many codings
 * failed so far, and why the last one did; members of this rank's group, how many of them may be
 * lost, and how many groups there are. */
struct sk_protector_status {
    double seconds;
    uint64_t parity_bytes;
    int failures;
    struct saikai_error last_error;
    int members, tolerated, groups;
};
void sk_protector_status(const struct sk_protector *p, struct sk_protector_status *out);

#endif
