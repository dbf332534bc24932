/* What went wrong so far, for the session. With the engine's lock. */
#ifndef SK_LIB_ENGINE_TROUBLE_H
#define SK_LIB_ENGINE_TROUBLE_H

#include "base/error.h"

struct sk_trouble {
    int failures; /* of the two threads */
    struct saikai_error last_error;
    int breaks;  /* how often the tip was lost */
    int damages; /* how often a checkpoint is wanted because something is damaged */
};

static inline void sk_trouble_note(struct sk_trouble *t, const struct saikai_error *err)
{
    t->failures++;
    t->last_error = *err;
}

#endif
