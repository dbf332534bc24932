/* Where the failure database is, and the names of its sides. */
#include "schedule/learn/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *sk_side_name(int side)
{
    static const char *const names[SK_SIDES] = {"node", "program"};
    return side >= 0 && side < SK_SIDES ? names[side] : NULL;
}

int sk_database_place(const char *told, char *path, size_t cap, int *own, struct saikai_error *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    *own = 0;
    *path = 0;
    if (!*told || !strcmp(told, "none"))
        return 1;
    if (strcmp(told, "auto")) {
        n = snprintf(path, cap, "%s", told);
    } else {
        *own = 1;
        if (state && *state == '/')
            n = snprintf(path, cap, "%s/saikai/failures.db", state);
        else if (home && *home == '/')
            n = snprintf(path, cap, "%s/.local/state/saikai/failures.db", home);
        else
            return sk_fail(err, SAIKAI_ENOENT, "there is no home directory (HOME, XDG_STATE_HOME) for the failure database");
    }
    if (n < 0 || (size_t)n >= cap)
        return sk_fail(err, SAIKAI_ECONFIG, "the path of the failure database is too long");
    return 0;
}
