/* Reads which host has which rank, and tells MPI where to start processes (the info key "host" of MPI_Comm_spawn_multiple: one command for each, as the
 * value of a key has an end soon). On one host nothing is told. */
#include "world/form/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SK_WORLD_HOSTS_ENV, as it was; NULL: one host. */
static char *told;

void sk_place_begin(void)
{
    const char *text = getenv(SK_WORLD_HOSTS_ENV);
    told = text && *text ? strdup(text) : NULL;
}

/* 0, or -1: nobody knows. */
static int host_of(int rank, char *out, size_t cap)
{
    const char *p = told;
    while (*p) {
        size_t n = strcspn(p, "*,");
        long count = p[n] == '*' ? strtol(p + n + 1, NULL, 10) : 1;
        if (rank < count) {
            snprintf(out, cap, "%.*s", (int)n, p);
            return n && n < cap ? 0 : -1;
        }
        rank -= (int)count;
        p += strcspn(p, ",");
        p += *p == ',';
    }
    return -1;
}

static int where(int rank, MPI_Info *info)
{
    char host[MPI_MAX_INFO_VAL];
    if (host_of(rank, host, sizeof host))
        return MPI_ERR_OTHER;
    int rc = SK_CALL(Info_create, (info));
    return rc ? rc : SK_CALL(Info_set, (*info, "host", host));
}

int sk_place_spawn(const char *command, char **argv, const int *dead, int n, MPI_Comm survivors, MPI_Comm *inter)
{
    char *commands[SK_REPAIR_MOST], **argvs[SK_REPAIR_MOST];
    int one[SK_REPAIR_MOST], rc = 0;
    MPI_Info info[SK_REPAIR_MOST];
    if (!told)
        return SK_CALL(Comm_spawn, (command, argv, n, MPI_INFO_NULL, 0, survivors, inter, MPI_ERRCODES_IGNORE));
    for (int i = 0; i < n; i++) {
        commands[i] = (char *)(uintptr_t)command;
        argvs[i] = argv;
        one[i] = 1;
        info[i] = MPI_INFO_NULL;
        if (!rc)
            rc = where(dead[i], &info[i]);
    }
    if (!rc)
        rc = SK_CALL(Comm_spawn_multiple, (n, commands, argvs, one, info, 0, survivors, inter, MPI_ERRCODES_IGNORE));
    for (int i = 0; i < n; i++)
        if (info[i] != MPI_INFO_NULL)
            SK_CALL(Info_free, (&info[i]));
    return rc;
}
