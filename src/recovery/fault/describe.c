/* Composes the sentence about the way back to the last generation. */
#include "recovery/fault/describe.h"

#include <stdio.h>

void sk_way_back_describe(const struct sk_way_back *w, char *out, size_t cap)
{
    if (!w->uses_library)
        snprintf(out, cap, "from whatever the program itself has kept (it does not use Saikai, or had not come to saikai_init)");
    else if (w->iteration < 0)
        snprintf(out, cap, "from the newest generation, if there is one");
    else if (w->again < 0)
        snprintf(out, cap, "from iteration %lld or the newest generation that is whole", (long long)w->iteration);
    else
        snprintf(out, cap,
                 "from iteration %lld or the newest generation that is whole (%lld iterations, %.1f s, are computed again)",
                 (long long)w->iteration, (long long)w->again, w->seconds);
}
