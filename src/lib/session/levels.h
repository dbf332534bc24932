/* Where a session's generations are: what keeps them in each place, and the ledger of all. */
#ifndef SK_LIB_SESSION_LEVELS_H
#define SK_LIB_SESSION_LEVELS_H

#include "lib/engine/engine.h"
#include "lib/levels/route.h"
#include "lib/engine/ledger.h"
#include "lib/levels/protector.h"

struct sk_levels {
    struct sk_ledger *ledger; /* all generations of this run */
    struct sk_engine *engine;
    struct sk_protector *protector;   /* NULL: nothing is protected */
    struct sk_route route;                /* the prefix, where it is another place than the local directory */
    int ledger_left;                  /* to a thread of the engine that hangs in the prefix */
    int engine_left;                  /* an archive that hangs in the prefix still uses the engine */
    int64_t last_from;  /* the next generation after this one is the time slot's last and goes to the prefix in any case; -1: none */
    int64_t heals_from; /* a generation newer than this one is to be protected and archived without waiting; -1: none */
};

#endif
