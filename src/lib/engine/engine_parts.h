/* The engine's inside, for its own files: the parts that it consists of (each with its header in parts/ and functions that need no
 * other), and what is done with several of them: engine.c (interface), slots.c, committer.c, heal.c, archiver.c, direct.c,
 * retention.c. */
#ifndef SK_LIB_ENGINE_PARTS_H
#define SK_LIB_ENGINE_PARTS_H

#include "lib/engine/engine.h"
#include "lib/engine/parts/copying.h"
#include "lib/engine/parts/healing.h"
#include "lib/engine/parts/keep.h"
#include "lib/engine/parts/sealing.h"
#include "lib/engine/parts/shelf.h"
#include "lib/engine/parts/stock.h"
#include "lib/engine/parts/threads.h"
#include "lib/engine/parts/trouble.h"
#include "lib/engine/parts/where.h"

struct sk_engine {
    struct sk_where where;     /* directories, and leave to write there */
    struct sk_ledger *ledger;  /* the session's */
    struct sk_threads threads; /* and the lock of all that follows */
    struct sk_stock stock;     /* what is held, and how far it got */
    struct sk_shelf shelf;     /* slots for what comes */
    struct sk_sealing sealing; /* the committer's */
    struct sk_copying copying; /* the archiver's */
    struct sk_keep keep;       /* what stays */
    struct sk_healing healing; /* what is suspected */
    struct sk_trouble trouble; /* what went wrong */
};

/* Both threads have ended. Without the lock. */
void sk_engine_free_parts(struct sk_engine *e);

/* Every function below is called with the lock held and may let go of it for a while. */

/* Count and tell a failure of a thread. */
void sk_engine_fail(struct sk_engine *e, const struct saikai_error *err);

/* direct.c: the record of a file in the prefix alone is no longer needed: its file goes, by the archiver, unless it is archived. */
void sk_engine_retire_far(struct sk_engine *e, struct sk_held *h);
/* By the archiver: 1: a file was removed. */
int sk_engine_remove_far(struct sk_engine *e);

/* slots.c: have the wanted slots ready; give away what nobody wants. */
void sk_engine_prepare_slots(struct sk_engine *e);

/* retention.c: give a committed generation's file up; its slot becomes free. */
int sk_engine_retire(struct sk_engine *e, struct sk_held *h, struct saikai_error *err);
int sk_engine_retain_local(struct sk_engine *e);
void sk_engine_retain_prefix(struct sk_engine *e);

/* heal.c. The committer: look at what is suspected, and heal what is damaged. */
void sk_engine_examine(struct sk_engine *e);
/* Tell the scrub what there is. */
void sk_engine_list_for_scrub(struct sk_engine *e);
/* The next checkpoint is to be full, and soon. */
void sk_engine_close_lineage(struct sk_engine *e);
/* For the scrub; takes the lock itself. */
void sk_engine_scrub_suspects(void *engine, struct sk_gen gen, int parity, const char *why);

/* The threads; they take the lock themselves. */
void *sk_engine_committer(void *engine);
void *sk_engine_archiver(void *engine);

#endif
