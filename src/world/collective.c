/* Collectives, blocking or not: all by the form that does not block, on copies of the program's buffers (bounce.h).
 *
 * For each there is one function that begins it on copies; without a request it waits for its end. Outside the body the real ones are
 * called. Intracommunicators alone come here: what makes others is refused. */
#include "world/direct.h"
#include "world/bounce.h"
#include "world/log/collective.h"
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

/* 1: it is to be begun, and then waited for. That must be the same on all ranks, since MPI does not match what blocks with what does not; and
 * what one rank alone called may have made this one the only one that cannot be repaired. Intercommunicators make all of their ranks so. */
static int does_not_block(MPI_Comm comm)
{
    int inter = 0;
    if (sk_careful() || !sk_world.in_body || sk_world.unwatched)
        return sk_careful();
    SK_CALL(Comm_test_inter, (sk_comm(comm), &inter));
    return !inter;
}

/* 1: collectives are made of messages that a protocol sees. */
static inline int by_messages(MPI_Comm comm)
{
    return sk_logs_collective(comm) || sk_replicates(comm);
}

/* What the protocols do about each. */
#define LOGGED_Bcast(...)                  return sk_logging_Bcast(__VA_ARGS__)
#define LOGGED_Reduce(...)                 return sk_logging_Reduce(__VA_ARGS__)
#define LOGGED_Allreduce(...)              return sk_logging_Allreduce(__VA_ARGS__)
#define LOGGED_Gather(...)                 return sk_logging_Gather(__VA_ARGS__)
#define LOGGED_Gatherv(...)                return sk_logging_Gatherv(__VA_ARGS__)
#define LOGGED_Scatter(...)                return sk_logging_Scatter(__VA_ARGS__)
#define LOGGED_Scatterv(...)               return sk_logging_Scatterv(__VA_ARGS__)
#define LOGGED_Allgather(...)              return sk_logging_Allgather(__VA_ARGS__)
#define LOGGED_Allgatherv(...)             return sk_logging_Allgatherv(__VA_ARGS__)
#define LOGGED_Alltoall(...)               return sk_logging_Alltoall(__VA_ARGS__)
#define LOGGED_Alltoallv(...)              return sk_logging_Alltoallv(__VA_ARGS__)
#define LOGGED_Scan(...)                   sk_logging_refuse("MPI_Scan")
#define LOGGED_Exscan(...)                 sk_logging_refuse("MPI_Exscan")
#define LOGGED_Alltoallw(...)              sk_logging_refuse("MPI_Alltoallw")
#define LOGGED_Reduce_scatter(...)         sk_logging_refuse("MPI_Reduce_scatter")
#define LOGGED_Reduce_scatter_block(...)   sk_logging_refuse("MPI_Reduce_scatter_block")

/* WRONG_X: MPI refuses these arguments, and is given them as they are (view/wrong.h). */
#define BLOCK(n, t)                         sk_is_wrong_block(n, t)
#define SOME_BLOCK(ns, t)                   sk_are_wrong_blocks(size_of(comm), ns, t)
#define SOME_TYPE(ns, ts)                   sk_are_wrong_types(size_of(comm), ns, ts)
#define ROOT(root)                          sk_is_wrong_root(root, comm)
#define GIVEN(b)                            ((b) != MPI_IN_PLACE)
#define AT(root)                            (rank_of(comm) == (root))
#define WRONG_Bcast(b, n, t, root)          (ROOT(root) || BLOCK(n, t))
#define WRONG_Reduce(s, r, n, t, op, root)  (ROOT(root) || BLOCK(n, t) || sk_is_wrong_op(op, t))
#define WRONG_Allreduce(s, r, n, t, op)     (BLOCK(n, t) || sk_is_wrong_op(op, t) || ((s) == (r) && (n) > 1))
#define WRONG_Scan(s, r, n, t, op)          (BLOCK(n, t) || sk_is_wrong_op(op, t))
#define WRONG_Exscan                        WRONG_Scan
#define WRONG_Gather(s, ns, ts, r, nr, tr, root) \
    (ROOT(root) || (GIVEN(s) && BLOCK(ns, ts)) || (AT(root) && BLOCK(nr, tr)))
#define WRONG_Gatherv(s, ns, ts, r, nr, d, tr, root) \
    (ROOT(root) || (GIVEN(s) && BLOCK(ns, ts)) || (AT(root) && SOME_BLOCK(nr, tr)))
#define WRONG_Scatter(s, ns, ts, r, nr, tr, root) \
    (ROOT(root) || (GIVEN(r) && BLOCK(nr, tr)) || (AT(root) && BLOCK(ns, ts)))
#define WRONG_Scatterv(s, ns, d, ts, r, nr, tr, root) \
    (ROOT(root) || (GIVEN(r) && BLOCK(nr, tr)) || (AT(root) && SOME_BLOCK(ns, ts)))
#define WRONG_Allgather(s, ns, ts, r, nr, tr)      ((GIVEN(s) && BLOCK(ns, ts)) || BLOCK(nr, tr))
#define WRONG_Allgatherv(s, ns, ts, r, nr, d, tr)  ((GIVEN(s) && BLOCK(ns, ts)) || SOME_BLOCK(nr, tr))
#define WRONG_Alltoall                             WRONG_Allgather
#define WRONG_Alltoallv(s, ns, ds, ts, r, nr, dr, tr) ((GIVEN(s) && SOME_BLOCK(ns, ts)) || SOME_BLOCK(nr, tr))
#define WRONG_Alltoallw(s, ns, ds, ts, r, nr, dr, tr) ((GIVEN(s) && SOME_TYPE(ns, ts)) || SOME_TYPE(nr, tr))
#define WRONG_Reduce_scatter(s, r, ns, t, op)      (SOME_BLOCK(ns, t) || sk_is_wrong_op(op, t))
#define WRONG_Reduce_scatter_block(s, r, n, t, op) (BLOCK(n, t) || sk_is_wrong_op(op, t))
/* Where the layer does something about a collective. */
static inline int is_concerned(MPI_Comm comm)
{
    return (sk_world.in_body || sk_world.replicates) && comm != MPI_COMM_NULL;
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
#define ALL(b, c, t)            (&(struct sk_spread){.buf = (b), .count = (c), .type = (t)})
#define EACH(b, c, t)           (&(struct sk_spread){.buf = (b), .count = (c) * n, .type = (t)})
#define PARTS(b, cs, ds, t)     (&(struct sk_spread){.buf = (b), .n_parts = n, .counts = (cs), .displs = (ds), .type = (t)})
#define TYPED(b, cs, ds, ts)    (&(struct sk_spread){.buf = (b), .n_parts = n, .counts = (cs), .displs = (ds), .types = (ts)})
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
        int rc;                                                                                          \
        if (!SK_PLAIN) {                                                                                 \
            if ((rc = sk_world_enter(comm)))                                                             \
                return rc;                                                                               \
            if (!is_concerned(comm) || WRONG_##Name args)                                                \
                return SK_CALL(Name, (UNPACK args, sk_comm(comm)));                                      \
            if (by_messages(comm))                                                                       \
                LOGGED_##Name args;                                                                      \
            if (does_not_block(comm)) {                                                                  \
                TRY_##Name args;                                                                         \
                return begin_##Name(UNPACK args, comm, NULL);                                            \
            }                                                                                            \
        }                                                                                                \
        return SK_CALL(Name, (UNPACK args, sk_comm(comm)));                                              \
    }                                                                                                    \
    SK_WRAP(Iname, (UNPACK params, MPI_Request *request))                                                \
    {                                                                                                    \
        int rc;                                                                                          \
        if (!SK_PLAIN) {                                                                                 \
            if ((rc = sk_world_enter(comm)))                                                             \
                return rc;                                                                               \
            if (!is_concerned(comm) || WRONG_##Name args)                                                \
                return SK_CALL(Iname, (UNPACK args, sk_comm(comm), request));                            \
            if (by_messages(comm))                                                                       \
                sk_logging_refuse("MPI_" #Iname);                                                            \
            if (does_not_block(comm))                                                                            \
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

SK_WRAP(Barrier, (MPI_Comm comm))
{
    int rc;
    if (!SK_PLAIN) {
        if ((rc = sk_world_enter(comm)))
            return rc;
        if (!is_concerned(comm))
            return SK_CALL(Barrier, (sk_comm(comm)));
        if (by_messages(comm))
            return sk_logging_Barrier();
        if (does_not_block(comm))
            return begin_barrier(comm, NULL);
    }
    return SK_CALL(Barrier, (sk_comm(comm)));
}

SK_WRAP(Ibarrier, (MPI_Comm comm, MPI_Request *request))
{
    int rc;
    if (!SK_PLAIN) {
        if ((rc = sk_world_enter(comm)))
            return rc;
        if (!is_concerned(comm))
            return SK_CALL(Ibarrier, (sk_comm(comm), request));
        if (by_messages(comm))
            sk_logging_refuse("MPI_Ibarrier");
        if (does_not_block(comm))
            return begin_barrier(comm, request);
    }
    return SK_CALL(Ibarrier, (sk_comm(comm), request));
}
