/* The kernel counts for each thread how long it was ready to run and did not: the second number of its schedstat. */
#include "base/host/starved.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int waited_of(const char *thread, uint64_t *ns)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", thread);
    FILE *f = fopen(path, "re");
    int n = f ? fscanf(f, "%*u %" SCNu64, ns) : 0;
    if (f)
        fclose(f);
    return n == 1 ? 0 : -1;
}

/* What it waited since the last time. A thread that is new has no last time. */
static uint64_t since(const struct sk_starved *s, int id, uint64_t waited)
{
    for (int i = 0; i < s->n; i++)
        if (s->thread[i].id == id)
            return waited > s->thread[i].waited ? waited - s->thread[i].waited : 0;
    return 0;
}

double sk_starved_since(struct sk_starved *s)
{
    struct sk_starved now = {0};
    uint64_t most = 0, waited;
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    while (d && now.n < SK_STARVED_THREADS && (e = readdir(d))) {
        int id = atoi(e->d_name);
        if (id <= 0 || waited_of(e->d_name, &waited))
            continue;
        uint64_t more = since(s, id, waited);
        most = more > most ? more : most;
        now.thread[now.n].id = id;
        now.thread[now.n++].waited = waited;
    }
    if (d)
        closedir(d);
    *s = now;
    return (double)most / 1e9;
}
