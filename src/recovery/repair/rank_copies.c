/* The processes of a start by rank and copy, and their seats. */
#include "recovery/repair/rank_copies.h"

#include "base/config/ranklist.h"

#include <stdlib.h>
#include <string.h>

int sk_copies_make(struct sk_copies *c, int ranks, const char *list, struct saikai_error *err)
{
    char *named = malloc((size_t)ranks);
    int n = named ? sk_ranklist_parse(list, ranks, named, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for %d ranks", ranks);
    if (n < 0 && named) {
        sk_error_prefix(err, "run.replicate");
        n = SAIKAI_ECONFIG;
        if (err)
            err->code = n;
    }
    *c = (struct sk_copies){0};
    if (n >= 0) {
        *c = (struct sk_copies){ranks, ranks + n, calloc((size_t)(ranks + n), sizeof *c->rank), calloc((size_t)ranks, sizeof *c->second)};
        if (!c->rank || !c->second) {
            sk_copies_free(c);
            n = sk_fail(err, SAIKAI_ENOMEM, "no memory for %d ranks", ranks);
        }
    }
    for (int r = 0, next = ranks; n >= 0 && r < ranks; r++) {
        c->rank[r] = r;
        c->second[r] = named[r] ? next++ : -1;
        if (named[r])
            c->rank[c->second[r]] = r;
    }
    free(named);
    return n < 0 ? n : 0;
}

void sk_copies_free(struct sk_copies *c)
{
    free(c->rank);
    free(c->second);
    *c = (struct sk_copies){0};
}

int sk_copies_is_second(const struct sk_copies *c, int process)
{
    return process >= c->ranks;
}

int sk_copies_twin(const struct sk_copies *c, int process)
{
    return sk_copies_is_second(c, process) ? c->rank[process] : c->second[process];
}

int sk_copies_process(const struct sk_copies *c, int rank, int copy)
{
    return copy ? c->second[rank] : rank;
}

int sk_copies_together(const struct sk_copies *c, const int *seat)
{
    int n = 0;
    for (int r = 0; r < c->ranks; r++)
        n += c->second[r] >= 0 && seat[r] == seat[c->second[r]];
    return n;
}

/* How many each host is given: its slots, but no more than there are ranks, or two of a rank would meet there; hosts without slots an even share
 * of what is left then. */
static void share(const struct sk_copies *c, const struct sk_hosts *h, int *room)
{
    long told = 0, rest = c->processes;
    int untold = 0, k = 0;
    for (int i = 0; i < h->n; i++) {
        room[i] = 0;
        if (h->host[i].state != SK_HOST_ACTIVE)
            continue;
        room[i] = h->host[i].slots < c->ranks ? h->host[i].slots : c->ranks;
        told += room[i];
        untold += !h->host[i].slots;
    }
    rest = rest > told ? rest - told : 0;
    for (int i = 0; untold && i < h->n; i++)
        if (h->host[i].state == SK_HOST_ACTIVE && !h->host[i].slots) {
            room[i] = (int)(rest / untold) + (k < rest % untold);
            k++;
        }
}

/* What is still without a seat goes where the most slots are free, and when none are, evenly. */
static void have_room_for_all(const struct sk_copies *c, const struct sk_hosts *h, int *room)
{
    long all = 0;
    for (int i = 0; i < h->n; i++)
        all += room[i];
    for (; all < c->processes; all++) {
        int best = -1;
        for (int i = 0; i < h->n; i++)
            if (h->host[i].state == SK_HOST_ACTIVE && (best < 0 || h->host[i].slots - room[i] > h->host[best].slots - room[best]))
                best = i;
        if (best < 0)
            return;
        room[best]++;
    }
}

/* In blocks: the first copies of those that are two, those that are one, and the second copies. Between two of a rank are as many as there are ranks,
 * less one: no host with at most that many has both. */
static int nth(const struct sk_copies *c, const int *order, int i)
{
    return i < c->ranks ? order[i] : i;
}

int sk_copies_place(const struct sk_copies *c, const struct sk_hosts *h, int *seat)
{
    int *room = calloc((size_t)h->n + (size_t)c->ranks, sizeof *room), *order = room ? room + h->n : NULL, at = 0, host = 0;
    if (!room)
        return -1;
    for (int two = 1; two >= 0; two--)
        for (int r = 0; r < c->ranks; r++)
            if ((c->second[r] >= 0) == two)
                order[at++] = r;
    share(c, h, room);
    have_room_for_all(c, h, room);
    for (int i = 0; i < c->processes; i++) {
        while (host < h->n && !room[host])
            host++;
        if (host == h->n)
            break;
        room[host]--;
        seat[nth(c, order, i)] = host;
    }
    free(room);
    return sk_copies_together(c, seat);
}
