/* Collectives that are under way, in the order in which the program began them. */
#include "world/log/later/later.h"

#include "world/log/held.h"
#include "world/replica/message.h"
#include "world/rest/core.h"
#include "world/view/alone.h"
#include "world/view/errors.h"

#include <stdlib.h>

static struct later {
    struct later *next;
    struct sk_members *members, *made; /* made: of the communicator that it makes, NULL: none */
    int made_rc;
    struct sk_steps *steps;
    struct sk_logging_open *call; /* the program's request */
    MPI_Request receive, *send;   /* MPI's; send: of a rank that keeps nothing any more */
    size_t sends, room;
} *first;
static size_t uneven; /* how many of them are on a communicator whose members have contexts of their own */

/* ---- steps ---- */

static MPI_Datatype type_of(uint64_t key)
{
    return (MPI_Datatype)(uintptr_t)key;
}

/* Of what is sent to a rank of the world. */
static int tag_to(const struct later *l, int peer)
{
    return sk_wire_own(sk_members_to(l->members, l->members->rank_of[peer]), SK_LOGGING_LATER);
}

/* As ever, when it is not kept. */
static int send_by_mpi(struct later *l, const struct sk_step *s)
{
    if (l->sends == l->room) {
        size_t room = l->room ? 2 * l->room : 4;
        MPI_Request *more = realloc(l->send, room * sizeof *more);
        if (!more)
            return MPI_ERR_NO_MEM;
        l->send = more;
        l->room = room;
    }
    return SK_CALL(Isend, (s->from, s->n_from, type_of(s->t_from), s->peer, tag_to(l, s->peer), sk_world.comm, &l->send[l->sends++]));
}

/* How many there were when the program is at some place is chance: they do not count (course.h). */
static int send(void *extra, const struct sk_step *s)
{
    struct later *l = extra;
    struct sk_course_count count = sk_logging.count;
    struct sk_kept_message *m = NULL;
    if (sk_world.replicates) {
        sk_replica_begin_send(s->from, s->n_from, type_of(s->t_from), s->peer, tag_to(l, s->peer), SK_REPLICA_COLLECTIVE);
        return 0;
    }
    if (!sk_logging.refused)
        m = sk_logging_post(SK_LOGGING_PLAIN, s->from, s->n_from, type_of(s->t_from), s->peer, tag_to(l, s->peer));
    sk_logging.count = count;
    return m ? 0 : send_by_mpi(l, s);
}

static int receive(void *extra, const struct sk_step *s)
{
    struct later *l = extra;
    struct sk_course_count count = sk_logging.count;
    if (sk_world.replicates)
        return sk_replica_irecv(NULL, MPI_COMM_WORLD, s->to, s->n_to, type_of(s->t_to), s->peer, sk_wire_own(l->members->context, SK_LOGGING_LATER),
                                SK_REPLICA_COLLECTIVE, &l->receive);
    int rc = sk_logging_irecv(l->members, s->to, s->n_to, type_of(s->t_to), s->peer,
                               sk_wire_own(l->members->context, SK_LOGGING_LATER), &l->receive);
    sk_logging.count = count;
    return rc;
}

static int has_received(void *extra, int *rc)
{
    struct later *l = extra;
    int done = 0;
    if (sk_world.replicates && sk_replica_receives(l->receive))
        return 0;
    sk_logging_forward(1, &l->receive);
    uint64_t key = SK_KEY(l->receive);
    if (!SK_CALL(Request_get_status, (l->receive, &done, MPI_STATUS_IGNORE)) && !done)
        return 0;
    MPI_Errhandler held; /* the program hears of an error where it waits for its own request */
    sk_errors_mute(&held);
    *rc = SK_CALL(Test, (&l->receive, &done, MPI_STATUS_IGNORE));
    sk_errors_unmute(&held);
    sk_request_ended(key);
    return 1;
}

static int has_sent(void *extra)
{
    struct later *l = extra;
    for (int done = 0; l->sends; l->sends--)
        if (!SK_CALL(Test, (&l->send[l->sends - 1], &done, MPI_STATUS_IGNORE)) && !done)
            return 0;
    return 1;
}

static int here(void *extra, const struct sk_step *s)
{
    (void)extra;
    if (s->what == SK_STEP_REDUCE)
        return SK_CALL(Reduce_local, (s->from, s->to, s->n_to, type_of(s->t_to), (MPI_Op)(uintptr_t)s->op));
    return sk_alone_copy(s->from, s->n_from, type_of(s->t_from), s->to, s->n_to, type_of(s->t_to));
}

/* ---- types and operations that the program frees meanwhile ---- */

static struct freed {
    struct freed *next;
    uint64_t key;
    int is_op;
} *freed;

static int is_used(uint64_t key)
{
    for (const struct later *l = first; l; l = l->next)
        if (sk_steps_use(l->steps, key))
            return 1;
    return 0;
}

/* 1: it is freed later. */
static int put_off(uint64_t key, int is_op)
{
    struct freed *f = first && is_used(key) ? malloc(sizeof *f) : NULL;
    if (!f)
        return 0;
    *f = (struct freed){freed, key, is_op};
    freed = f;
    return 1;
}

static void free_put_off(void)
{
    for (struct freed **at = &freed, *f; (f = *at);) {
        if (is_used(f->key)) {
            at = &f->next;
            continue;
        }
        MPI_Datatype t = type_of(f->key);
        MPI_Op op = (MPI_Op)(uintptr_t)f->key;
        f->is_op ? SK_CALL(Op_free, (&op)) : SK_CALL(Type_free, (&t));
        *at = f->next;
        free(f);
    }
}

SK_WRAP(Type_free, (MPI_Datatype *type))
{
    if (SK_PLAIN || !put_off(SK_KEY(*type), 0))
        return SK_CALL(Type_free, (type));
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

SK_WRAP(Op_free, (MPI_Op *op))
{
    if (SK_PLAIN || !put_off(SK_KEY(*op), 1))
        return SK_CALL(Op_free, (op));
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

/* ---- all of them ---- */

/* What the making of a communicator comes to: each member has to have had a number for it. */
static int has_made(const struct later *l)
{
    for (const struct sk_members *m = l->made; m; m = m->remote)
        for (int i = 0; i < m->n; i++)
            if (m->to[i] < 0)
                return MPI_ERR_INTERN;
    return l->made_rc;
}

static void end(struct later *l)
{
    uneven -= l->members->to != NULL;
    sk_held_called(l->call, l->steps->rc ? l->steps->rc : has_made(l));
    sk_steps_free(l->steps);
    sk_members_let_go(l->members);
    sk_members_let_go(l->made);
    free(l->send);
    free(l);
    if (freed)
        free_put_off();
}

/* 1: one before it of its communicator is not over, or of one that the program has freed since, whose messages look the same to a member of both. */
static int has_to_wait(uint64_t busy[SK_CONTEXT_WORDS], const struct later *l)
{
    uint64_t *word = &busy[l->members->context / 64], bit = 1ull << l->members->context % 64;
    int is_busy = (*word & bit) != 0;
    *word |= bit;
    for (const struct later *e = first; uneven && !is_busy && e != l; e = e->next)
        is_busy = sk_members_clash(e->members, l->members);
    return is_busy;
}

void sk_later_look(void)
{
    static const struct sk_steps_ops ops = {send, receive, here, has_received, has_sent};
    static int looks;
    uint64_t busy[SK_CONTEXT_WORDS] = {0};
    if (sk_logging.going_on || looks) /* the library waits, beside a new process that has to be sent what is older before (go_on.c) */
        return;
    looks = sk_world.replicates; /* each message that is sent looks for others (sk_replica_turn) */
    sk_core_keep(); /* who waits gives it away */
    for (struct later **at = &first, *l; (l = *at);) {
        if (has_to_wait(busy, l) || !sk_steps_go(l->steps, &ops, l)) {
            at = &l->next;
            continue;
        }
        busy[l->members->context / 64] &= ~(1ull << l->members->context % 64);
        *at = l->next;
        sk_logging.later--;
        end(l);
    }
    looks = 0;
    sk_core_let_go();
}

int sk_later_begin(struct sk_members *g, struct sk_steps *steps, int rc, MPI_Request *out)
{
    return sk_later_begin_making(g, steps, rc, NULL, 0, out);
}

int sk_later_begin_making(struct sk_members *g, struct sk_steps *steps, int rc, struct sk_members *made, int made_rc, MPI_Request *out)
{
    struct later *l = rc ? NULL : calloc(1, sizeof *l), **last = &first;
    if (!rc)
        rc = l ? sk_held_call(&l->call, out) : MPI_ERR_NO_MEM;
    if (rc) {
        sk_steps_free(steps);
        free(l);
        return rc;
    }
    l->members = sk_members_hold(g);
    l->made = made ? sk_members_hold(made) : NULL;
    l->made_rc = made_rc;
    uneven += g->to != NULL;
    l->steps = steps;
    l->receive = MPI_REQUEST_NULL;
    sk_logging.count.sends++;
    sk_logging.later++;
    while (*last)
        last = &(*last)->next;
    *last = l;
    sk_later_look();
    return 0;
}

int sk_later_is(MPI_Request r)
{
    const struct sk_object *o = r == MPI_REQUEST_NULL ? NULL : sk_objects_find(&sk_world.requests, SK_KEY(r));
    const struct sk_logging_open *open = o && o->flags & SK_OBJECT_HELD ? o->more : NULL;
    return open && open->is_call;
}

/* MPI may still read and write what they have. */
void sk_later_forget(void)
{
    first = NULL;
    freed = NULL;
    uneven = 0;
    sk_logging.later = 0;
}
