/* The engine's inside, for its own files: the parts that it consists of (each with its header in parts/ and functions that need no
 * other). What is done with several of them is in files with headers of their names: slots, committer, archiver, direct, retention,
 * heal. */
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

/* Count and tell a failure of a thread. With the lock held. */
void sk_engine_fail(struct sk_engine *e, const struct saikai_error *err);

#endif
