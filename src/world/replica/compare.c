/* Both processes of a rank send the same, or one of them has computed with something wrong: a bit that flipped, which no error told of (silent data
 * corruption). Each hashes what it sends; the twin tells the lead, some messages at a time, and the lead compares channel by channel, the n-th
 * with the n-th. The receivers do nothing, and no message waits for its comparison: what differs is told, and was sent. (redMPI: Fiala
 * et al., "Detection and Correction of Silent Data Corruption for Large-Scale HPC", SC 2012, lets receivers compare; teaMPI: Samfass et al. 2020, compares
 * hashes between teams beside the program, as this does.) */
#include "world/replica/compare.h"

#include "world/replica/control.h"

#include "base/hash.h"

#include <time.h>

/* A message in words: where it went, and its hash. */
enum { WORDS = 2, MOST = (SK_CONTROL_WORDS - 1) / WORDS };
/* Where in its word they are. */
enum { DEST = 32, LANE = 58, DEST_BITS = LANE - DEST };
/* How long the twin keeps what it has to tell while it waits for something: a message for each message would cost more than the program's own. */
static const double keeps_s = 0.02;

static struct {
    uint64_t word[1 + MOST * WORDS];
    int n;
    double since; /* when it was first idle with them, 0: it was not */
} out;

static int twin(void)
{
    return sk_replica_process(!sk_replica.copy, sk_world.rank);
}

/* 1: there are two to compare. */
static int is_on(void)
{
    return sk_replica.compares && !sk_replica.dead[twin()] && !sk_world.cannot;
}

static uint64_t place_of(int dest, const struct sk_channel *c)
{
    return (uint64_t)c->context << LANE | (uint64_t)(uint32_t)dest << DEST | (uint32_t)c->tag;
}

/* The first is told in full, of the others how many: after a first one much differs. */
static void differs(int dest, const struct sk_channel *c, uint64_t number, int64_t iteration, int missing)
{
    struct sk_keeper_page *p = sk_world.page;
    uint32_t n = atomic_load_explicit(&p->differ, memory_order_relaxed);
    if (!n) {
        p->differ_to = dest;
        p->differ_tag = c->context == SK_REPLICA_PROGRAM ? c->tag : sk_wire_tag(c->tag);
        p->differ_how = (c->context == SK_REPLICA_COLLECTIVE ? SK_DIFFER_COLLECTIVE : 0) | (missing ? SK_DIFFER_MISSING : 0);
        p->differ_number = number;
        p->differ_iteration = iteration;
    }
    if (n < UINT32_MAX)
        atomic_store_explicit(&p->differ, n + 1, memory_order_release);
}

static void compare(int dest, struct sk_channel *c, int theirs, uint64_t hash)
{
    uint64_t number = 0;
    int64_t iteration = -1;
    switch (sk_pairing_add(&c->pairing, theirs, hash, sk_replica.iteration, &number, &iteration)) {
    case SK_PAIR_DIFFERS:
        differs(dest, c, number, iteration, 0);
        break;
    case SK_PAIR_NO_MEMORY:
        sk_world_fail(SK_WORLD_FAILED, "no memory to compare messages: the job is started again");
    default:
        break;
    }
}

void sk_compare_sent(int dest, const struct sk_copied *m)
{
    if (!is_on())
        return;
    uint64_t hash = sk_hash64(m->data, m->bytes);
    if (!sk_replica.copy) {
        compare(dest, m->channel, 0, hash);
        return;
    }
    out.word[1 + out.n * WORDS] = place_of(dest, m->channel);
    out.word[2 + out.n * WORDS] = hash;
    if (++out.n == MOST)
        sk_compare_flush();
}

void sk_compare_flush(void)
{
    int n = out.n;
    out.n = 0;
    out.since = 0;
    if (!n || !is_on())
        return;
    out.word[0] = SK_CONTROL_HASH;
    sk_control_tell(twin(), out.word, 1 + n * WORDS);
}

void sk_compare_idle(void)
{
    struct timespec t;
    if (!out.n)
        return;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    if (!(out.since > 0))
        out.since = now;
    else if (now - out.since > keeps_s)
        sk_compare_flush();
}

void sk_compare_take(const uint64_t *word, int n)
{
    if (!is_on())
        return;
    for (int i = 1; i + 1 < n; i += WORDS) {
        int context = (int)(word[i] >> LANE), dest = (int)(word[i] >> DEST & ((1u << DEST_BITS) - 1)), tag = (int)(uint32_t)word[i];
        struct sk_channel *c = dest < sk_replica.n ? sk_channel_find(&sk_replica.peer[dest].channels, context, tag) : NULL;
        if (!c)
            sk_world_fail(SK_WORLD_FAILED, "no memory to compare messages: the job is started again");
        compare(dest, c, 1, word[i + 1]);
    }
}

void sk_compare_end(void)
{
    if (!is_on())
        return;
    for (int r = 0; r < sk_replica.n; r++) {
        const struct sk_channels *all = &sk_replica.peer[r].channels;
        for (size_t i = 0; i < all->n; i++) {
            const struct sk_pairing *p = &all->at[i]->pairing;
            if (p->n)
                differs(r, all->at[i], p->compared, p->theirs ? sk_replica.iteration : p->at[p->first].iteration, 1);
        }
    }
}
