/* Small messages of the layer itself between any two processes. They are few words, so that MPI takes them at once or not at all, and
 * what the dead have said is passed over. */
#include "world/replica/control.h"

#include "world/replica/compare.h"
#include "world/replica/decide.h"
#include "world/replica/look.h"
#include "world/replica/message.h"
#include "world/replica/takeover.h"
#include "world/rest/bell.h"
#include "world/rest/core.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 1 };

/* What MPI may still read. */
static struct told {
    struct told *next;
    MPI_Request request;
    int process;
    uint64_t word[SK_CONTROL_WORDS];
} *under_way;

static void forget_sent(void)
{
    int done = 0;
    sk_core_keep();
    for (struct told **p = &under_way, *t; (t = *p);) {
        if (!SK_CALL(Test, (&t->request, &done, MPI_STATUS_IGNORE)) && done) {
            *p = t->next;
            free(t);
        } else {
            p = &t->next;
        }
    }
    sk_core_let_go();
}

void sk_control_tell(int process, const uint64_t *word, int n)
{
    forget_sent();
    struct told *t = malloc(sizeof *t);
    if (!t)
        sk_world_fail(SK_WORLD_FAILED, "no memory for messages between copies: the job is started again");
    memcpy(t->word, word, sizeof *word * (size_t)n);
    if (SK_CALL(Isend, (t->word, n, MPI_UINT64_T, process, TAG, sk_replica.control, &t->request)))
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot send a message: the job is started again");
    t->process = process;
    t->next = under_way;
    under_way = t;
    sk_bell_ring(process, word[0] == SK_CONTROL_ACK ? SK_BELL_TAKEN : SK_BELL_SENT);
}

/* Longest wait for that. */
enum { DRAIN_S = 5 };

static int is_under_way(void)
{
    forget_sent();
    for (const struct told *t = under_way; t; t = t->next)
        if (!sk_replica.dead[t->process])
            return 1;
    return 0;
}

void sk_control_drain(void)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    now = begun;
    while (is_under_way() && now.tv_sec - begun.tv_sec < DRAIN_S) {
        sk_replica_turn();
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

/* Of each channel in which there is something new: context, tag, how many. */
static void take_ack(int process, const uint64_t *word, int n)
{
    struct sk_replica_peer *p = &sk_replica.peer[sk_replica.rank[process]];
    for (int i = 1; i + SK_CONTROL_ACK_WORDS <= n; i += SK_CONTROL_ACK_WORDS) {
        struct sk_channel *c = sk_channel_find(&p->channels, (int)word[i], (int)word[i + 1]);
        if (!c)
            sk_world_fail(SK_WORLD_FAILED, "no memory for messages between copies: the job is started again");
        sk_channel_ack(c, word[i + 2]);
        sk_replica.bytes -= sk_channel_sweep(&p->channels, c, sk_replica.held, sk_replica_is_over);
    }
}

static void take(int process, const uint64_t *word, int n)
{
    enum sk_control kind = (enum sk_control)word[0];
    if (sk_replica.dead[process])
        return;
    sk_replica_found();
    switch (kind) {
    case SK_CONTROL_ACK:
        take_ack(process, word, n);
        break;
    case SK_CONTROL_CUT:
        sk_replica_take_cut(process, word, n);
        break;
    case SK_CONTROL_CUT_END:
        sk_replica_take_cut_end(process);
        break;
    case SK_CONTROL_LEFT:
        sk_replica.left[process] = 1;
        break;
    case SK_CONTROL_GONE:
        sk_replica_part(process);
        break;
    case SK_CONTROL_WILD:
    case SK_CONTROL_OUTCOME:
    case SK_CONTROL_TAKEN:
    case SK_CONTROL_BACK:
        sk_replica_take_decision(kind, word, n);
        break;
    case SK_CONTROL_HASH:
        sk_compare_take(word, n);
        break;
    }
}

void sk_control_listen(void)
{
    uint64_t word[SK_CONTROL_WORDS];
    MPI_Status s;
    int there = 0, n = 0;
    for (;;) {
        int rc = SK_CALL(Iprobe, (MPI_ANY_SOURCE, TAG, sk_replica.control, &there, &s));
        sk_replica_stop_at_death(rc);
        if (rc || !there)
            return;
        SK_CALL(Get_count, (&s, MPI_UINT64_T, &n));
        if (n < 1 || n > SK_CONTROL_WORDS ||
            SK_CALL(Recv, (word, n, MPI_UINT64_T, s.MPI_SOURCE, TAG, sk_replica.control, MPI_STATUS_IGNORE)))
            sk_world_fail(SK_WORLD_FAILED, "the copies could not tell each other what they have: the job is started again");
        take(s.MPI_SOURCE, word, n);
    }
}
