/* What happens when a process has died. Those who received from it stop where they are in its messages: what has come has come, and what
 * else MPI may have is not looked at any more. They say what they lack to its twin, which sends that, and all that comes later, to
 * both copies. The twin may be before or behind the dead one in the program: of what it has yet to send, it skips what the others have. */
#include "world/replica/takeover.h"

#include "world/hooks/hooks.h"
#include "world/replica/apart.h"
#include "world/replica/control.h"
#include "world/replica/message.h"
#include "world/rest/drain.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How long a receive may take to end that can no longer be cancelled: what the dead has sent is there, or never comes. */
enum { TURNS_AT_ONCE = 100, TURNS = 110, TURN_US = 1000 };
/* How often it is looked for what the dead has said: each look may give the core away. */
enum { LAST_WORDS = 4 };

/* Nobody hears of these. */
static void abandon_sends(int copy, int rank)
{
    struct sk_replica_peer *p = &sk_replica.peer[rank];
    int kept = p->feed[copy] == SK_FEED_KEEP || p->feed[copy] == SK_FEED_WAIT;
    p->feed[copy] = SK_FEED_NONE;
    for (struct sk_copied *m = p->channels.first; m; m = m->next) {
        m->lent |= m->request[copy] != 0;
        sk_replica_is_out(m, copy);
        if (kept)
            m->backup = 0;
    }
}

/* 1: it has ended with what was sent. */
static int take_back(struct sk_replica_open *o)
{
    int ended = 0, cancelled = 0;
    MPI_Request r = o->request;
    if (SK_CALL(Test, (&o->request, &ended, &o->status))) /* an error is the dead one's, or comes again */
        return 0;
    if (ended)
        return 1;
    SK_CALL(Cancel, (&r));
    for (int turn = 0; turn < TURNS && !ended; turn++) {
        if (SK_CALL(Test, (&o->request, &ended, &o->status)))
            return 0;
        if (!ended && turn > TURNS_AT_ONCE)
            usleep(TURN_US);
    }
    if (ended)
        SK_CALL(Test_cancelled, (&o->status, &cancelled));
    return ended && !cancelled;
}

/* To the new sender: of each channel how many were posted, and which of those lack. */
static void tell_cut(int rank, int process)
{
    const struct sk_channels *all = &sk_replica.peer[rank].channels;
    enum { HEAD = 4 };
    for (size_t i = 0; i < all->n; i++) {
        const struct sk_channel *c = all->at[i];
        uint64_t word[SK_CONTROL_WORDS] = {SK_CONTROL_CUT, (uint64_t)c->context, (uint64_t)c->tag, c->posted};
        int n = HEAD;
        for (const struct sk_replica_open *o = sk_replica.first; o; o = o->next) {
            if (o->channel != c)
                continue;
            word[n++] = o->index;
            if (n == SK_CONTROL_WORDS) { /* the rest in another one */
                sk_control_tell(process, word, n);
                n = HEAD;
            }
        }
        sk_control_tell(process, word, n);
    }
    sk_control_tell(process, (uint64_t[]){SK_CONTROL_CUT_END}, 1);
}

/* This rank's messages came from the dead one. */
static void change_feeder(int rank)
{
    int to = sk_replica_process(!sk_replica.copy, rank);
    for (struct sk_replica_open *o = sk_replica.first, *next; o; o = next) {
        next = o->next;
        if (o->channel && !o->out && o->source == rank && take_back(o))
            sk_replica_end_receive(o, 0);
    }
    if (sk_drain()) /* into memory that is received into again */
        sk_world_fail(SK_WORLD_FAILED, "what a dead process had sent does not come to its end: the job is started again");
    tell_cut(rank, to);
    for (struct sk_replica_open *o = sk_replica.first; o; o = o->next)
        if (o->channel && !o->out && o->source == rank)
            sk_replica_begin_receive(o);
}

/* The twin of this process is dead: those who received from it will ask. */
static void take_over(void)
{
    for (int round = 0; round < LAST_WORDS; round++)
        sk_control_listen(); /* its last decisions; those that do not come nobody knows */
    sk_replica.dead[sk_replica_process(!sk_replica.copy, sk_world.rank)] = 1;
    for (int r = 0; r < sk_replica.n; r++) {
        enum sk_replica_feed *f = &sk_replica.peer[r].feed[!sk_replica.copy];
        if (*f == SK_FEED_KEEP)
            *f = SK_FEED_WAIT;
    }
}

void sk_replica_part(int process)
{
    int copy = sk_replica_copy_of(process), rank = sk_replica.rank[process];
    if (rank == sk_world.rank)
        take_over();
    sk_replica.dead[process] = 1;
    abandon_sends(copy, rank);
    if (sk_replica.dead[sk_replica_process(!copy, rank)])
        sk_world_fail(SK_WORLD_FAILED, "both processes of a rank have died: the job is started again");
    if (copy == sk_replica.copy && rank != sk_world.rank)
        change_feeder(rank);
}

static void lose(int process)
{
    if (process < 0 || process >= sk_replica.processes || sk_replica.dead[process])
        return;
    sk_replica.losses++;
    if (saikai_hooks_lost)
        saikai_hooks_lost(&sk_replica.rank[process], 1);
    sk_replica_part(process);
}

void sk_replica_hear(void)
{
    const struct sk_keeper_page *p = sk_world.page;
    uint32_t order = atomic_load_explicit(&p->repair, memory_order_acquire);
    sk_replica.heard = order;
    if (sk_world.cannot)
        sk_world_fail(SK_WORLD_FUNCTION, "a process has died, and its twin cannot go on in its place: the job is started again");
    uint32_t n = p->repair_dead < SK_REPAIR_MOST ? p->repair_dead : SK_REPAIR_MOST;
    sk_apart_lose(p->repair_rank, n);
    for (uint32_t i = 0; i < n; i++)
        lose(p->repair_rank[i]);
    atomic_store(&sk_world.page->world, SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_FINE, order));
}

/* ---- in the twin of the dead ---- */

void sk_replica_take_cut(int process, const uint64_t *word, int n)
{
    struct sk_channel *c = sk_channel_find(&sk_replica.peer[sk_replica.rank[process]].channels, (int)word[1], (int)word[2]);
    int bad = !c || n < 4;
    if (c)
        c->cut = word[3];
    for (int i = 4; !bad && i < n; i++)
        bad = sk_channel_lacks(c, word[i]);
    if (bad)
        sk_world_fail(SK_WORLD_FAILED, "no memory for messages between copies: the job is started again");
}

void sk_replica_take_cut_end(int process)
{
    int copy = sk_replica_copy_of(process), rank = sk_replica.rank[process];
    struct sk_replica_peer *p = &sk_replica.peer[rank];
    p->feed[copy] = SK_FEED_SEND;
    for (struct sk_copied *m = p->channels.first; m; m = m->next) {
        if (!m->backup)
            continue;
        m->backup = 0;
        if (!sk_channel_had(m->channel, m->index))
            sk_replica_send_kept(m, copy, rank);
    }
}
