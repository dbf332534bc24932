/* Stacks that are left and come back to (swapcontext). Only what waits for a message leaves: no call of MPI is ever under way then. A repair happens
 * on the program's own stack; afterwards each looks for what its requests have become (log.c). */
#include "world/log/later.h"

#include "world/log/collective.h"
#include "world/log/held.h"
#include "world/log/log.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

/* A reduction may call an operation of the program's there. */
enum { STACK = 1 << 20, GUARD = 1 << 16, TAGS = SK_WIRE_OWN - SK_LOGGING_TAGS };

static struct later {
    struct later *next;
    struct sk_members *members;
    struct sk_later_call call;
    int tag, rc, begun, ended, owns_send, owns_recv;
    char *stack;
    ucontext_t context, back;
    struct sk_logging_open *open;
} *first, *running;
static uint64_t turn;
static char *spare; /* a stack that nobody needs */

void sk_later_turn(void)
{
    turn++;
}

int sk_later_runs(void)
{
    return running != NULL;
}

int sk_later_tag(void)
{
    return running ? running->tag : SK_LOGGING_COLLECTIVE;
}

void sk_later_leave(void)
{
    struct later *l = running;
    swapcontext(&l->context, &l->back);
}

static int perform(struct sk_members *g, const struct sk_later_call *c)
{
    switch (c->what) {
    case SK_LATER_BARRIER: return sk_logging_Barrier(g);
    case SK_LATER_BCAST: return sk_logging_Bcast(g, c->recv, c->nr, c->tr, c->root);
    case SK_LATER_REDUCE: return sk_logging_Reduce(g, c->send, c->recv, c->nr, c->tr, c->op, c->root);
    case SK_LATER_ALLREDUCE: return sk_logging_Allreduce(g, c->send, c->recv, c->nr, c->tr, c->op);
    case SK_LATER_GATHER: return sk_logging_Gather(g, c->send, c->ns, c->ts, c->recv, c->nr, c->tr, c->root);
    case SK_LATER_GATHERV: return sk_logging_Gatherv(g, c->send, c->ns, c->ts, c->recv, c->cr, c->dr, c->tr, c->root);
    case SK_LATER_SCATTER: return sk_logging_Scatter(g, c->send, c->ns, c->ts, c->recv, c->nr, c->tr, c->root);
    case SK_LATER_SCATTERV: return sk_logging_Scatterv(g, c->send, c->cs, c->ds, c->ts, c->recv, c->nr, c->tr, c->root);
    case SK_LATER_ALLGATHER: return sk_logging_Allgather(g, c->send, c->ns, c->ts, c->recv, c->nr, c->tr);
    case SK_LATER_ALLGATHERV: return sk_logging_Allgatherv(g, c->send, c->ns, c->ts, c->recv, c->cr, c->dr, c->tr);
    case SK_LATER_ALLTOALL: return sk_logging_Alltoall(g, c->send, c->ns, c->ts, c->recv, c->nr, c->tr);
    case SK_LATER_ALLTOALLV: return sk_logging_Alltoallv(g, c->send, c->cs, c->ds, c->ts, c->recv, c->cr, c->dr, c->tr);
    case SK_LATER_ALLTOALLW: return sk_logging_Alltoallw(g, c->send, c->cs, c->ds, c->tss, c->recv, c->cr, c->dr, c->trs);
    case SK_LATER_SCAN: return sk_logging_Scan(g, c->send, c->recv, c->nr, c->tr, c->op);
    case SK_LATER_EXSCAN: return sk_logging_Exscan(g, c->send, c->recv, c->nr, c->tr, c->op);
    case SK_LATER_REDUCE_SCATTER: return sk_logging_Reduce_scatter(g, c->send, c->recv, c->cr, c->tr, c->op);
    case SK_LATER_REDUCE_SCATTER_BLOCK: return sk_logging_Reduce_scatter_block(g, c->send, c->recv, c->nr, c->tr, c->op);
    }
    return MPI_ERR_INTERN;
}

static void run(void)
{
    struct later *l = running;
    l->rc = perform(l->members, &l->call);
    l->ended = 1;
} /* goes on at l->back */

/* The program may free its datatypes before this ends; those of MPI_Alltoallw it has to keep with the array of them. */
static int own(MPI_Datatype *type)
{
    return *type && sk_plain_bytes(*type) < 0 && !SK_CALL(Type_dup, (*type, type));
}

/* What does not count at this rank may be anything. */
static void own_both(struct later *l, int is_root)
{
    enum sk_later what = l->call.what;
    int gathers = what == SK_LATER_GATHER || what == SK_LATER_GATHERV, scatters = what == SK_LATER_SCATTER || what == SK_LATER_SCATTERV;
    l->owns_send = l->call.send != MPI_IN_PLACE && (is_root || !scatters) && own(&l->call.ts);
    l->owns_recv = l->call.recv != MPI_IN_PLACE && (is_root || !gathers) && own(&l->call.tr);
}

static int prepare(struct later *l)
{
    l->stack = spare ? spare : mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (l->stack == MAP_FAILED)
        return MPI_ERR_NO_MEM;
    spare = NULL;
    mprotect(l->stack, GUARD, PROT_NONE);
    getcontext(&l->context);
    l->context.uc_stack.ss_sp = l->stack + GUARD;
    l->context.uc_stack.ss_size = STACK;
    l->context.uc_link = &l->back;
    makecontext(&l->context, run, 0);
    return 0;
}

int sk_later_begin(struct sk_members *g, const struct sk_later_call *call, MPI_Request *out)
{
    struct later *l = calloc(1, sizeof *l), **end = &first;
    int rc = l ? prepare(l) : MPI_ERR_NO_MEM;
    if (rc) {
        free(l);
        return rc;
    }
    l->call = *call;
    own_both(l, g->rank == call->root);
    l->members = sk_members_hold(g);
    if (g->turn != turn)
        g->begun = 0;
    g->turn = turn;
    l->tag = SK_LOGGING_TAGS + (int)(g->begun++ % TAGS);
    sk_logging.count.sends++; /* however far it is when they are looked at */
    if ((rc = sk_held_call(&l->open, out)))
        return rc;
    while (*end)
        end = &(*end)->next;
    *end = l;
    sk_logging.later++;
    sk_later_look();
    return 0;
}

/* 1: one before it has its tag. */
static int has_to_wait(const struct later *l)
{
    for (const struct later *o = first; o != l; o = o->next)
        if (o->tag == l->tag && o->members->context == l->members->context)
            return 1;
    return 0;
}

static void end(struct later *l)
{
    if (l->owns_send)
        SK_CALL(Type_free, (&l->call.ts));
    if (l->owns_recv)
        SK_CALL(Type_free, (&l->call.tr));
    sk_held_called(l->open, l->rc);
    sk_members_let_go(l->members);
    if (spare)
        munmap(l->stack, GUARD + STACK);
    else
        spare = l->stack;
    sk_logging.later--;
    free(l);
}

void sk_later_look(void)
{
    for (struct later **at = &first, *l; (l = *at);) {
        if (l->begun || !has_to_wait(l)) {
            l->begun = 1;
            running = l;
            swapcontext(&l->back, &l->context);
            running = NULL;
        }
        if (l->ended) {
            *at = l->next;
            end(l);
        } else {
            at = &l->next;
        }
    }
}

void sk_later_forget(void)
{
    sk_later_turn();
    first = running = NULL; /* their stacks may be where MPI still writes */
    sk_logging.later = 0;
}
