/* A table of hosts, made when MPI begins. */
#include "world/replica/apart.h"

#include "base/hash.h"
#include "base/network/cut.h"
#include "world/replica/replica.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of each process. */
static struct place {
    uint64_t host;
    struct sk_cut_host at;
    uint64_t cut; /* it is cut off */
} *place;
static int me;

int sk_apart_begin(void)
{
    char name[256] = "";
    struct place own;
    if (!sk_replica.apart)
        return 0;
    memset(&own, 0, sizeof own);
    gethostname(name, sizeof name - 1);
    own.host = sk_hash64(name, strlen(name));
    sk_cut_own(&own.at);
    place = malloc(sizeof *place * (size_t)sk_replica.processes);
    if (!place)
        return MPI_ERR_NO_MEM;
    int rc = SK_CALL(Comm_rank, (MPI_COMM_WORLD, &me));
    return rc ? rc : SK_CALL(Allgather, (&own, (int)sizeof own, MPI_BYTE, place, (int)sizeof own, MPI_BYTE, MPI_COMM_WORLD));
}

static int is_among(int process, const uint16_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == process)
            return 1;
    return sk_replica.dead[process];
}

static int has(const struct sk_cut_host *h, const unsigned char address[16])
{
    for (int i = 0; i < SK_CUT_ADDRESSES; i++)
        if (!memcmp(h->address[i], address, 16))
            return 1;
    return 0;
}

/* An address that others have, too, as those of networks inside of a host, leads to them. */
static void leave_out_shared(struct sk_cut_host *lost, const struct place *others)
{
    for (int i = 0; i < SK_CUT_ADDRESSES; i++)
        if (has(&others->at, lost->address[i]))
            memset(lost->address[i], 0, sizeof lost->address[i]);
}

static void cut(uint64_t host)
{
    struct sk_cut_host lost = {{{0}}};
    for (int p = 0; p < sk_replica.processes; p++)
        if (place[p].host == host) {
            lost = place[p].at;
            place[p].cut = 1;
        }
    for (int p = 0; p < sk_replica.processes; p++)
        if (place[p].host != host && !place[p].cut)
            leave_out_shared(&lost, &place[p]);
    sk_cut_off(&lost);
}

void sk_apart_lose(const uint16_t *process, uint32_t n)
{
    for (uint32_t i = 0; place && i < n; i++) {
        if (process[i] >= sk_replica.processes)
            continue;
        uint64_t host = place[process[i]].host;
        int lives = host == place[me].host || place[process[i]].cut;
        for (int p = 0; p < sk_replica.processes; p++)
            lives |= place[p].host == host && !is_among(p, process, n);
        if (!lives)
            cut(host);
    }
}
