/* Where a session's generations are: the levels that there are, the ledger of all generations, and the engine, which has this rank's
 * files of each. */
#ifndef SK_LIB_SESSION_LEVELS_H
#define SK_LIB_SESSION_LEVELS_H

#include "lib/engine/engine.h"
#include "lib/engine/ledger.h"
#include "lib/levels/level.h"

struct sk_levels {
    struct sk_ledger *ledger; /* all generations of this run */
    struct sk_engine *engine;
    struct sk_open_level at[SK_LEVELS];
    int ledger_left;    /* to a thread of the engine that hangs in the prefix */
    int engine_left;    /* an archive that hangs in the prefix still uses the engine */
    int64_t last_from;  /* the next generation after this one is the time slot's last and goes to the prefix in any case; -1: none */
    int64_t heals_from; /* a generation newer than this one is to be protected and archived without waiting; -1: none */
};

/* 1: there is such a level. */
int sk_levels_has(const struct sk_levels *l, enum sk_level_place place);
/* The newest generation that is complete in the local directories, 0: none of this run. */
int64_t sk_levels_complete(const struct sk_levels *l);
/* 1: the program's thread is to help at every candidate; and does. */
int sk_levels_want_slices(const struct sk_levels *l);
void sk_levels_slice(struct sk_levels *l);
/* Local: what is under way is given up, from the last level to the first, and the engine ends. */
void sk_levels_close(struct sk_levels *l);

#endif
