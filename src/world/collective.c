/* Collectives, blocking or not: all by the form that does not block, on copies of the program's buffers (bounce.h).
 *
 * For each there is one function that begins it on copies; without a request it waits for its end. Outside the body the real ones are
 * called. Intracommunicators alone come here: what makes others is refused. */
#include "world/collective.h"

#include "world/direct.h"
#include "world/bounce.h"
#include "world/log/collective.h"
#include "world/log/later/later.h"
#include "world/log/log.h"
#include "world/replica/replica.h"
#include "world/view/wrong.h"
#include "world/wait.h"

/* What was begun on copies is waited for, or becomes the program's request. */
static int go_on(int rc, MPI_Request r, struct sk_bounce *b, MPI_Comm comm, MPI_Request *out)
{
    int done = 0;
    if (rc) {
        sk_bounce_free(b);
        return rc;
    }
    if (!out) {
        rc = sk_wait(&r, MPI_STATUS_IGNORE, sk_world_is_quiet(comm));
        if (!rc)
            sk_bounce_end(b); /* else MPI may still use it */
        return rc;
    }
    *out = r;
    rc = SK_CALL(Request_get_status, (r, &done, MPI_STATUS_IGNORE));
    if (done) { /* such requests may all be the same one */
        sk_bounce_end(b);
        return rc;
    }
    struct sk_object *o = sk_made_request(r, comm, SK_OBJECT_BOUNCED);
    if (o)
        o->more = b;
    return rc;
}

static int rank_of(MPI_Comm comm)
{
    int rank = 0;
    SK_CALL(Comm_rank, (sk_comm(comm), &rank));
    return rank;
}

static int size_of(MPI_Comm comm)
{
    int size = 0;
    SK_CALL(Comm_size, (sk_comm(comm), &size));
    return size;
}

/* 1: what refused functions have made (of processes that were started or found), and what is made of that: it is not known, and in processes without the layer
 * what blocks blocks. */
static int is_foreign(MPI_Comm comm)
{
    const struct sk_object *o = sk_objects_find(&sk_world.comms, SK_KEY(comm));
    return comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF && (!o || o->flags & SK_OBJECT_FOREIGN);
}

/* 1: it is to be begun, and then waited for. That must be the same on all ranks, since MPI does not match what blocks with what does not; and
 * what one rank alone called may have made this one the only one that cannot be repaired. Intercommunicators make all of their ranks so. */
static int does_not_block(MPI_Comm comm)
{
    int inter = 0;
    if (comm == MPI_COMM_NULL)
        return 0;
    if (sk_careful() || !sk_world.in_body || sk_world.unwatched)
        return sk_careful();
    if (is_foreign(comm))
        return 0;
    SK_CALL(Comm_test_inter, (sk_comm(comm), &inter));
    return !inter;
}

/* The members, when collectives are made of messages that a protocol sees. Those between two groups are left to MPI. */
static inline struct sk_members *by_messages(MPI_Comm comm)
{
    struct sk_members *g = sk_logs_on(comm);
    if (!g || !g->remote)
        return g;
    sk_world_cannot(SK_WORLD_FUNCTION, "a collective operation of an inter-communicator");
    return NULL;
}

/* What the protocols do about each. */
#define LOGGED_Bcast(...)                  return sk_logging_Bcast(g, __VA_ARGS__)
#define LOGGED_Reduce(...)                 return sk_logging_Reduce(g, __VA_ARGS__)
#define LOGGED_Allreduce(...)              return sk_logging_Allreduce(g, __VA_ARGS__)
#define LOGGED_Gather(...)                 return sk_logging_Gather(g, __VA_ARGS__)
#define LOGGED_Gatherv(...)                return sk_logging_Gatherv(g, __VA_ARGS__)
#define LOGGED_Scatter(...)                return sk_logging_Scatter(g, __VA_ARGS__)
#define LOGGED_Scatterv(...)               return sk_logging_Scatterv(g, __VA_ARGS__)
#define LOGGED_Allgather(...)              return sk_logging_Allgather(g, __VA_ARGS__)
#define LOGGED_Allgatherv(...)             return sk_logging_Allgatherv(g, __VA_ARGS__)
#define LOGGED_Alltoall(...)               return sk_logging_Alltoall(g, __VA_ARGS__)
#define LOGGED_Alltoallv(...)              return sk_logging_Alltoallv(g, __VA_ARGS__)
#define LOGGED_Alltoallw(...)              return sk_logging_Alltoallw(g, __VA_ARGS__)
#define LOGGED_Scan(...)                   return sk_logging_Scan(g, __VA_ARGS__)
#define LOGGED_Exscan(...)                 return sk_logging_Exscan(g, __VA_ARGS__)
#define LOGGED_Reduce_scatter(...)         return sk_logging_Reduce_scatter(g, __VA_ARGS__)
#define LOGGED_Reduce_scatter_block(...)   return sk_logging_Reduce_scatter_block(g, __VA_ARGS__)

/* One that does not block. */
#define LATER(call)                                \
    struct sk_steps *steps = sk_steps_new();       \
    if (!steps)                                    \
        return MPI_ERR_NO_MEM;                     \
    sk_logging_note(steps);                        \
    rc = call;                                     \
    sk_logging_note(NULL);                         \
    return sk_later_begin(g, steps, rc, request)

/* WRONG_X: what MPI would say is wrong with these arguments (view/wrong.h), among n ranks, of which this one is me; 0: nothing. */
#define BLOCK(count, t)                     sk_wrong_block(count, t)
#define SOME_BLOCK(counts, t)               sk_wrong_blocks(n, counts, t)
#define SOME_TYPE(counts, ts)               sk_wrong_types(n, counts, ts)
#define ROOT(root)                          sk_wrong_root(root, n)
#define GIVEN(b, wrong)                     ((b) != MPI_IN_PLACE ? (wrong) : 0)
#define AT(root, wrong)                     (me == (root) ? (wrong) : 0)
#define WRONG_Bcast(b, c, t, root)          (BLOCK(c, t) ?: ROOT(root))
#define WRONG_Reduce(s, r, c, t, op, root)  (sk_wrong_op(op, t) ?: BLOCK(c, t) ?: ROOT(root) ?: AT(root, (s) == (r) && (c) ? MPI_ERR_ARG : 0))
#define WRONG_Allreduce(s, r, c, t, op)     (sk_wrong_op(op, t) ?: BLOCK(c, t) ?: (s) == (r) && (c) > 1 ? MPI_ERR_BUFFER : 0)
#define WRONG_Scan(s, r, c, t, op)          (sk_wrong_op(op, t) ?: BLOCK(c, t))
#define WRONG_Exscan                        WRONG_Scan
#define WRONG_Gather(s, cs, ts, r, cr, tr, root)      (ROOT(root) ?: GIVEN(s, BLOCK(cs, ts)) ?: AT(root, BLOCK(cr, tr)))
#define WRONG_Gatherv(s, cs, ts, r, cr, d, tr, root)  (ROOT(root) ?: GIVEN(s, BLOCK(cs, ts)) ?: AT(root, SOME_BLOCK(cr, tr)))
#define WRONG_Scatter(s, cs, ts, r, cr, tr, root)     (ROOT(root) ?: GIVEN(r, BLOCK(cr, tr)) ?: AT(root, BLOCK(cs, ts)))
#define WRONG_Scatterv(s, cs, d, ts, r, cr, tr, root) (ROOT(root) ?: GIVEN(r, BLOCK(cr, tr)) ?: AT(root, SOME_BLOCK(cs, ts)))
#define WRONG_Allgather(s, cs, ts, r, cr, tr)         (GIVEN(s, BLOCK(cs, ts)) ?: BLOCK(cr, tr))
#define WRONG_Allgatherv(s, cs, ts, r, cr, d, tr)     (GIVEN(s, BLOCK(cs, ts)) ?: SOME_BLOCK(cr, tr))
#define WRONG_Alltoall                                WRONG_Allgather
#define WRONG_Alltoallv(s, cs, ds, ts, r, cr, dr, tr) (GIVEN(s, SOME_BLOCK(cs, ts)) ?: SOME_BLOCK(cr, tr))
#define WRONG_Alltoallw(s, cs, ds, ts, r, cr, dr, tr) (GIVEN(s, SOME_TYPE(cs, ts)) ?: SOME_TYPE(cr, tr))
#define WRONG_Reduce_scatter(s, r, cs, t, op)         (sk_wrong_op(op, t) ?: SOME_BLOCK(cs, t))
#define WRONG_Reduce_scatter_block(s, r, c, t, op)    (sk_wrong_op(op, t) ?: BLOCK(c, t))

/* Who takes part, as far as it is needed to look at arguments. */
static void look_at(MPI_Comm comm, const struct sk_members *g, int *n, int *me)
{
    *n = g ? g->n : size_of(comm);
    *me = g ? g->rank : rank_of(comm);
}
/* What a communicator that the layer made has of MPI is of this process alone: it would find something else wrong. */
static inline int is_stand_in(const struct sk_members *g)
{
    return g && g->context;
}

/* What blocks, moves data and may be large is made of messages, on the program's own memory (direct.h). TRY_X does that and returns, or goes on
 * to the copies; decided by what is the same on all ranks. */
#define DIRECT(when, what, root, sent, received)                                                                                      \
    if (when)                                                                                                                         \
        return sk_direct(SK_DIRECT_##what, &(struct sk_blocks){UNPACK sent}, &(struct sk_blocks){UNPACK received}, root, comm)
#define ONE(b, n, t)           (.buf = (b), .is_one = 1, .count = (n), .type = (t))
#define EVERY(b, n, t)         (.buf = (b), .count = (n), .type = (t))
#define LYING(b, ns, ds, t)    (.buf = (b), .counts = (ns), .displs = (ds), .type = (t))
#define LYING_AS(b, ns, ds, t) (.buf = (b), .counts = (ns), .displs = (ds), .types = (t))
#define TRY_Bcast(buf, count, type, root) DIRECT(sk_is_large(count, type), BCAST, root, (.buf = NULL), ONE(buf, count, type))
#define TRY_Gather(send, ns, ts, recv, nr, tr, root)                                                    \
    DIRECT(rank_of(comm) == (root) ? sk_is_large(nr, tr) : sk_is_large(ns, ts), GATHER, root, ONE(send, ns, ts), EVERY(recv, nr, tr))
#define TRY_Scatter(send, ns, ts, recv, nr, tr, root)                                                   \
    DIRECT(rank_of(comm) == (root) ? sk_is_large(ns, ts) : sk_is_large(nr, tr), SCATTER, root, EVERY(send, ns, ts), ONE(recv, nr, tr))
#define TRY_Gatherv(send, ns, ts, recv, nr, displs, tr, root)  DIRECT(1, GATHER, root, ONE(send, ns, ts), LYING(recv, nr, displs, tr))
#define TRY_Scatterv(send, ns, displs, ts, recv, nr, tr, root) DIRECT(1, SCATTER, root, LYING(send, ns, displs, ts), ONE(recv, nr, tr))
#define TRY_Allgather(send, ns, ts, recv, nr, tr)              DIRECT(sk_is_large(nr, tr), ALLGATHER, 0, ONE(send, ns, ts), EVERY(recv, nr, tr))
#define TRY_Allgatherv(send, ns, ts, recv, nr, displs, tr)                                              \
    DIRECT(sk_are_large(size_of(comm), nr, tr), ALLGATHER, 0, ONE(send, ns, ts), LYING(recv, nr, displs, tr))
#define TRY_Alltoall(send, ns, ts, recv, nr, tr)                                                        \
    DIRECT((send) != MPI_IN_PLACE && sk_is_large(nr, tr), ALLTOALL, 0, EVERY(send, ns, ts), EVERY(recv, nr, tr))
#define TRY_Alltoallv(send, ns, ds, ts, recv, nr, dr, tr)                                               \
    DIRECT((send) != MPI_IN_PLACE, ALLTOALL, 0, LYING(send, ns, ds, ts), LYING(recv, nr, dr, tr))
#define TRY_Alltoallw(send, ns, ds, ts, recv, nr, dr, tr)                                               \
    DIRECT((send) != MPI_IN_PLACE, ALLTOALL, 0, LYING_AS(send, ns, ds, ts), LYING_AS(recv, nr, dr, tr))
#define TRY_Reduce(...)
#define TRY_Allreduce(send, recv, count, type, op)   \
    if (sk_reduces_directly(count, type, op, comm))  \
        return sk_direct_allreduce(send, recv, count, type, op, comm)
#define TRY_Scan(...)
#define TRY_Exscan(...)
#define TRY_Reduce_scatter(...)
#define TRY_Reduce_scatter_block(...)

/* PAIR(Name, Iname, parameters, arguments, send layout, recv layout, arguments for the copies): `s` and `r` are the addresses of the
 * copies, `n` the number of ranks, `root` whether this one is it. */
#define UNPACK(...) __VA_ARGS__
#define NOTHING     ((struct sk_spread *)NULL)
#define ALL(b, c, t)            (&(struct sk_spread){.buf = (b), .n_parts = 1, .count = (c), .type = (t)})
#define EACH(b, c, t)           (&(struct sk_spread){.buf = (b), .n_parts = n, .count = (c), .type = (t)})
#define PARTS(b, cs, ds, t)     (&(struct sk_spread){.buf = (b), .n_parts = n, .counts = (cs), .displs = (ds), .type = (t)})
#define TYPED(b, cs, ds, ts)    (&(struct sk_spread){.buf = (b), .n_parts = n, .counts = (cs), .displs = (ds), .types = (ts)})
/* Wrong arguments are MPI's affair, where the layer would do something else with them. */
#define LOOK(by_mpi, wrong)                                                                              \
            if (g || begins) {                                                                           \
                look_at(comm, g, &n, &me);                                                               \
                if ((rc = wrong))                                                                        \
                    return is_stand_in(g) ? sk_wrong(comm, rc) : by_mpi;                                 \
            }
#define PAIR(Name, Iname, params, args, send, recv, copies)                                              \
    static int begin_##Name(UNPACK params, MPI_Request *out)                                             \
    {                                                                                                    \
        MPI_Request q_ = MPI_REQUEST_NULL;                                                               \
        int n = size_of(comm), me = rank_of(comm);                                                       \
        (void)n, (void)me;                                                                               \
        struct sk_bounce *b_ = sk_bounce_new(send, recv);                                                \
        if (!b_)                                                                                         \
            return MPI_ERR_NO_MEM;                                                                       \
        const void *s = sk_bounce_send(b_);                                                              \
        void *r = sk_bounce_recv(b_);                                                                    \
        (void)s, (void)r;                                                                                \
        int rc = SK_CALL(Iname, (UNPACK copies, sk_comm(comm), &q_));                                    \
        return go_on(rc, q_, b_, comm, out);                                                             \
    }                                                                                                    \
    SK_WRAP(Name, (UNPACK params))                                                                       \
    {                                                                                                    \
        struct sk_members *g;                                                                            \
        int rc, begins, n, me;                                                                           \
        if (!SK_PLAIN) {                                                                                 \
            if ((rc = sk_world_enter(comm)))                                                             \
                return rc;                                                                               \
            g = by_messages(comm);                                                                       \
            begins = does_not_block(comm);                                                               \
            LOOK(SK_CALL(Name, (UNPACK args, sk_comm(comm))), WRONG_##Name args)                         \
            if (g) {                                                                                     \
                LOGGED_##Name args;                                                                      \
            }                                                                                            \
            if (begins) {                                                                                \
                TRY_##Name args;                                                                         \
                return begin_##Name(UNPACK args, comm, NULL);                                            \
            }                                                                                            \
        }                                                                                                \
        return SK_CALL_ASIDE(Name, (UNPACK args, sk_comm(comm)));                                              \
    }                                                                                                    \
    SK_WRAP(Iname, (UNPACK params, MPI_Request *request))                                                \
    {                                                                                                    \
        struct sk_members *g;                                                                            \
        int rc, begins, n, me;                                                                           \
        if (!SK_PLAIN) {                                                                                 \
            if ((rc = sk_world_enter(comm)))                                                             \
                return rc;                                                                               \
            g = by_messages(comm);                                                                       \
            begins = does_not_block(comm);                                                               \
            LOOK(SK_CALL(Iname, (UNPACK args, sk_comm(comm), request)), WRONG_##Name args)               \
            if (g) {                                                                                     \
                LATER(sk_logging_##Name(g, UNPACK args));                                                \
            }                                                                                            \
            if (begins)                                                                                  \
                return begin_##Name(UNPACK args, comm, request);                                         \
        }                                                                                                \
        return SK_CALL(Iname, (UNPACK args, sk_comm(comm), request));                                    \
    }

PAIR(Bcast, Ibcast, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm), (buf, count, type, root), NOTHING,
     ALL(buf, count, type), (r, count, type, root))
PAIR(Reduce, Ireduce, (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
     (send, recv, count, type, op, root), ALL(send, count, type), me == root ? ALL(recv, count, type) : NOTHING,
     (s, r, count, type, op, root))
PAIR(Allreduce, Iallreduce, (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (send, recv, count, type, op), ALL(send, count, type), ALL(recv, count, type), (s, r, count, type, op))
PAIR(Scan, Iscan, (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (send, recv, count, type, op),
     ALL(send, count, type), ALL(recv, count, type), (s, r, count, type, op))
PAIR(Exscan, Iexscan, (const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (send, recv, count, type, op), ALL(send, count, type), ALL(recv, count, type), (s, r, count, type, op))
PAIR(Gather, Igather,
     (const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root, MPI_Comm comm),
     (send, ns, ts, recv, nr, tr, root), ALL(send, ns, ts), me == root ? EACH(recv, nr, tr) : NOTHING, (s, ns, ts, r, nr, tr, root))
PAIR(Gatherv, Igatherv,
     (const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr, int root, MPI_Comm comm),
     (send, ns, ts, recv, nr, displs, tr, root), ALL(send, ns, ts), me == root ? PARTS(recv, nr, displs, tr) : NOTHING,
     (s, ns, ts, r, nr, displs, tr, root))
PAIR(Scatter, Iscatter,
     (const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root, MPI_Comm comm),
     (send, ns, ts, recv, nr, tr, root), me == root ? EACH(send, ns, ts) : NOTHING, ALL(recv, nr, tr), (s, ns, ts, r, nr, tr, root))
PAIR(Scatterv, Iscatterv,
     (const void *send, const int *ns, const int *displs, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, int root, MPI_Comm comm),
     (send, ns, displs, ts, recv, nr, tr, root), me == root ? PARTS(send, ns, displs, ts) : NOTHING, ALL(recv, nr, tr),
     (s, ns, displs, ts, r, nr, tr, root))
PAIR(Allgather, Iallgather, (const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, MPI_Comm comm),
     (send, ns, ts, recv, nr, tr), ALL(send, ns, ts), EACH(recv, nr, tr), (s, ns, ts, r, nr, tr))
PAIR(Allgatherv, Iallgatherv,
     (const void *send, int ns, MPI_Datatype ts, void *recv, const int *nr, const int *displs, MPI_Datatype tr, MPI_Comm comm),
     (send, ns, ts, recv, nr, displs, tr), ALL(send, ns, ts), PARTS(recv, nr, displs, tr), (s, ns, ts, r, nr, displs, tr))
PAIR(Alltoall, Ialltoall, (const void *send, int ns, MPI_Datatype ts, void *recv, int nr, MPI_Datatype tr, MPI_Comm comm),
     (send, ns, ts, recv, nr, tr), EACH(send, ns, ts), EACH(recv, nr, tr), (s, ns, ts, r, nr, tr))
PAIR(Alltoallv, Ialltoallv,
     (const void *send, const int *ns, const int *ds, MPI_Datatype ts, void *recv, const int *nr, const int *dr, MPI_Datatype tr,
      MPI_Comm comm),
     (send, ns, ds, ts, recv, nr, dr, tr), send == MPI_IN_PLACE ? NOTHING : PARTS(send, ns, ds, ts), PARTS(recv, nr, dr, tr),
     (send == MPI_IN_PLACE ? MPI_IN_PLACE : s, ns, ds, ts, r, nr, dr, tr))
PAIR(Alltoallw, Ialltoallw,
     (const void *send, const int *ns, const int *ds, const MPI_Datatype *ts, void *recv, const int *nr, const int *dr,
      const MPI_Datatype *tr, MPI_Comm comm),
     (send, ns, ds, ts, recv, nr, dr, tr), send == MPI_IN_PLACE ? NOTHING : TYPED(send, ns, ds, ts), TYPED(recv, nr, dr, tr),
     (send == MPI_IN_PLACE ? MPI_IN_PLACE : s, ns, ds, ts, r, nr, dr, tr))
PAIR(Reduce_scatter, Ireduce_scatter, (const void *send, void *recv, const int *nr, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (send, recv, nr, type, op), PARTS(send, nr, NULL, type), send == MPI_IN_PLACE ? PARTS(recv, nr, NULL, type) : ALL(recv, nr[me], type),
     (s, r, nr, type, op))
PAIR(Reduce_scatter_block, Ireduce_scatter_block, (const void *send, void *recv, int nr, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (send, recv, nr, type, op), EACH(send, nr, type), send == MPI_IN_PLACE ? EACH(recv, nr, type) : ALL(recv, nr, type),
     (s, r, nr, type, op))

static int begin_barrier(MPI_Comm comm, MPI_Request *out)
{
    MPI_Request q = MPI_REQUEST_NULL;
    int rc = SK_CALL(Ibarrier, (sk_comm(comm), &q));
    if (rc || !out)
        return rc ? rc : sk_wait(&q, MPI_STATUS_IGNORE, sk_world_is_quiet(comm));
    *out = q;
    sk_made_request(q, comm, 0);
    return 0;
}

int sk_collective_meet(MPI_Comm comm)
{
    return does_not_block(comm) ? begin_barrier(comm, NULL) : 0;
}

SK_WRAP(Barrier, (MPI_Comm comm))
{
    int rc;
    if (!SK_PLAIN) {
        if ((rc = sk_world_enter(comm)))
            return rc;
        struct sk_members *g = by_messages(comm);
        if (g)
            return sk_logging_Barrier(g);
        if (does_not_block(comm))
            return begin_barrier(comm, NULL);
    }
    return SK_CALL_ASIDE(Barrier, (sk_comm(comm)));
}

SK_WRAP(Ibarrier, (MPI_Comm comm, MPI_Request *request))
{
    int rc;
    if (!SK_PLAIN) {
        if ((rc = sk_world_enter(comm)))
            return rc;
        struct sk_members *g = by_messages(comm);
        if (g) {
            LATER(sk_logging_Barrier(g));
        }
        if (does_not_block(comm))
            return begin_barrier(comm, request);
    }
    return SK_CALL(Ibarrier, (sk_comm(comm), request));
}
