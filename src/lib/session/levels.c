/* The levels of a session as one. */
#include "lib/session/levels.h"

int sk_levels_has(const struct sk_levels *l, enum sk_level_place place)
{
    return l->at[place].ops != NULL;
}

int64_t sk_levels_complete(const struct sk_levels *l)
{
    return sk_ledger_newest(l->ledger, SK_LEDGER_COMPLETE);
}

int sk_levels_want_slices(const struct sk_levels *l)
{
    for (int k = 0; k < SK_LEVELS; k++)
        if (sk_level_wants_slices(&l->at[k]))
            return 1;
    return 0;
}

void sk_levels_slice(struct sk_levels *l)
{
    for (int k = 0; k < SK_LEVELS; k++)
        if (sk_level_wants_slices(&l->at[k]))
            sk_level_slice(&l->at[k]);
}

void sk_levels_close(struct sk_levels *l)
{
    for (int k = SK_LEVELS; k-- > 0;)
        sk_level_close(&l->at[k]);
    if (l->engine_left)
        sk_engine_leave(l->engine);
    l->ledger_left |= l->engine_left || sk_engine_free(l->engine);
    if (!l->ledger_left)
        sk_ledger_free(l->ledger);
}
