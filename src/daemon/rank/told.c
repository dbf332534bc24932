/* Reads the variables, and makes nothing of what is none. */
#include "daemon/rank/told.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int sk_told_apart(void)
{
    const char *copies = getenv(SK_WORLD_COPIES_ENV);
    int apart = 0;
    return getenv(SK_WORLD_HOSTS_ENV) || (copies && sscanf(copies, "%*d %*d %*d %d", &apart) == 1 && apart);
}

uint32_t sk_told_last_end(void)
{
    const char *text = getenv(SK_LAST_END_ENV);
    int v = text ? atoi(text) : SK_LAST_END_UNKNOWN;
    return v == SK_LAST_END_BY_ITSELF || v == SK_LAST_END_FROM_OUTSIDE ? (uint32_t)v
                                                                       : SK_LAST_END_UNKNOWN;
}

void sk_told_learnt(struct sk_keeper_page *page)
{
    const char *text = getenv(SK_LEARNT_ENV);
    float v[5];
    int end = -1, n = text ? sscanf(text, "%f,%f,%f,%f,%f%n", &v[0], &v[1], &v[2], &v[3], &v[4], &end) : 0;
    if (n != 5 || end < 0 || text[end])
        return;
    for (int i = 0; i < 5; i++)
        if (!(v[i] >= 0) || isinf(v[i]))
            return;
    page->host_rate = v[0];
    page->program_rate = v[1];
    page->own_faults = v[2];
    page->own_seconds = v[3];
    page->shape = v[4];
}
