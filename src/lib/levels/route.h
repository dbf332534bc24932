/* How generations go to the prefix: a kind. Each form brings complete generations there, off the program's path, one at a time;
 * the session decides when, and knows of none of them more than this table. */
#ifndef SK_LIB_ROUTE_H
#define SK_LIB_ROUTE_H

#include "base/config/config.h"
#include "base/config/kind.h"
#include "group/group.h"
#include "lib/engine/engine.h"

struct sk_route_setup {
    struct sk_group *g;
    const struct sk_config *config;
    struct sk_engine *engine;                    /* stays the caller's, must outlive what is opened */
    const char *local_root, *prefix_root, *host; /* copied */
    struct sk_id store;                          /* that files say they are of */
    struct sk_id lease;                          /* of the prefix (store/owner/lease.h) */
    uint32_t incarnation;
};

struct sk_route_form {
    const char *name, *about;
    /* Collective, blocking. *out NULL without an error: it cannot work here, rank 0 has said why, and the first form serves. */
    int (*open)(const struct sk_route_setup *s, void **out, struct saikai_error *err);
    /* Local; what is under way is given up. */
    void (*free)(void *f);
    /* The same, when what is under way hangs on some rank. 1: on this one; it goes on alone, and the engine must stay. */
    int (*give_up)(void *f);
    /* Begin with a generation that is complete in the local directories; at the same tick on all ranks, when nothing is under way
     * on any of them. Does not block. */
    void (*begin)(void *f, struct sk_gen gen, int64_t seq);
    /* Local: the newest of which this rank's part is there, and whether nothing is under way here. */
    void (*report)(void *f, int64_t *seq, int *idle);
    /* Local: for so long at most; 1: what was under way has ended here. */
    int (*wait)(void *f, double seconds);
};

/* One that was opened. Without a form there is no prefix apart from the local directory, and all of the following have no
 * effect and nothing to report. */
struct sk_route {
    const struct sk_route_form *form;
    void *opened;
};

/* Collective, blocking: as store.archive says. */
int sk_route_open(const struct sk_route_setup *s, struct sk_route *out, struct saikai_error *err);
void sk_route_close(struct sk_route *f);
int sk_route_give_up(struct sk_route *f);
void sk_route_begin(struct sk_route *f, struct sk_gen gen, int64_t seq);
void sk_route_report(struct sk_route *f, int64_t *seq, int *idle);
int sk_route_wait(struct sk_route *f, double seconds);

extern const struct sk_kind sk_route_kind;

/* Each in a file of its own. */
extern const struct sk_route_form sk_route_files;     /* route_files.c */
extern const struct sk_route_form sk_route_aggregate; /* aggregator.c */

#endif
