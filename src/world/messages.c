/* Point-to-point communication: by the protocol that has the communicator, else by calls that do not block, whose requests are waited for. */
#include "world/wait.h"

#include "world/log/log.h"
#include "world/replica/message.h"
#include "world/view/wrong.h"

#include <stdlib.h>

/* The members, if the protocol `logging` has the message: what is no more kept on MPI_COMM_WORLD goes as ever. */
static inline struct sk_members *by_protocol(MPI_Comm c)
{
    struct sk_members *g = sk_logs_on(c);
    return g && !sk_world.replicates && (g->context || sk_logging_keeps()) ? g : NULL;
}

/* A protocol has nothing to do with what MPI refuses. MPI is told of nobody: the communicator may be this process's alone (comms/made.h). */
static inline int is_refused(const void *buf, int count, MPI_Datatype type, MPI_Comm comm)
{
    return __builtin_expect(sk_world.makes, 0) && sk_wrong_message(buf, count, type, comm);
}

#define SEND(Name, Begin)                                                                                      \
    SK_WRAP(Name, (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))       \
    {                                                                                                          \
        MPI_Request r = MPI_REQUEST_NULL;                                                                      \
        struct sk_members *g;                                                                                  \
        int lane, rc;                                                                                                \
        if (SK_PLAIN)                                                                                          \
            return SK_CALL(Name, (buf, count, datatype, dest, tag, comm));                                     \
        if ((rc = sk_world_enter(comm)))                                                                       \
            return rc;                                                                                         \
        if (is_refused(buf, count, datatype, comm))                                                            \
            return SK_CALL(Name, (buf, count, datatype, MPI_PROC_NULL, tag, sk_asked(comm)));                  \
        if ((g = sk_replicates_on(comm)))                                                                             \
            return (rc = sk_replica_address(g, comm, &dest, &tag, 0, &lane))                                   \
                       ? rc : sk_replica_send(LOGGED_##Name, buf, count, datatype, dest, tag, lane);           \
        BEFORE_##Name(comm);                                                                                   \
        if ((g = by_protocol(comm))) {                                                                         \
            if ((rc = sk_logging_address(g, comm, &dest, &tag, 0)))                                            \
                return rc;                                                                                     \
            return sk_logging_send(LOGGED_##Name, buf, count, datatype, dest, tag);                            \
        }                                                                                                      \
        if (!sk_careful())                                                                                     \
            return SK_CALL_ASIDE(Name, (buf, count, datatype, dest, tag, sk_comm(comm)));                            \
        rc = SK_CALL(Begin, (buf, count, datatype, dest, tag, sk_comm(comm), &r));                             \
        return rc ? rc : sk_wait(&r, MPI_STATUS_IGNORE, sk_world_is_quiet(comm));                              \
    }

#define BEFORE_Send(comm)  (void)0
#define BEFORE_Ssend(comm) (void)0
#define BEFORE_Rsend(comm) (void)0
#define BEFORE_Bsend(comm) buffered(comm)
/* A message that is sent ready is received as any other. */
#define LOGGED_Send  SK_LOGGING_PLAIN
#define LOGGED_Ssend SK_LOGGING_SYNCHRONOUS
#define LOGGED_Rsend SK_LOGGING_PLAIN
#define LOGGED_Bsend SK_LOGGING_BUFFERED

SEND(Send, Isend)
SEND(Ssend, Issend)
SEND(Rsend, Irsend)

/* Where it is not logged, the message may leave MPI's buffer when nobody looks. */
static void buffered(MPI_Comm comm)
{
    if (!by_protocol(comm) || !sk_logging_keeps())
        sk_world_cannot(SK_WORLD_FUNCTION, "MPI_Bsend");
}

SEND(Bsend, Ibsend)

#define BEGIN_SEND(Name, Blocking)                                                                                              \
    SK_WRAP(Name, (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request))   \
    {                                                                                                                           \
        int plain = SK_PLAIN, lane, rc;                                                                                         \
        struct sk_members *g;                                                                                                   \
        if (!plain && (rc = sk_world_enter(comm)))                                                                              \
            return rc;                                                                                                          \
        if (!plain && is_refused(buf, count, datatype, comm))                                                                   \
            return SK_CALL(Name, (buf, count, datatype, MPI_PROC_NULL, tag, sk_asked(comm), request));                          \
        if ((g = plain ? NULL : sk_replicates_on(comm)))                                                                               \
            return (rc = sk_replica_address(g, comm, &dest, &tag, 0, &lane))                                                    \
                       ? rc : sk_replica_isend(LOGGED_##Blocking, buf, count, datatype, dest, tag, lane, request);              \
        if (!plain)                                                                                                             \
            BEFORE_##Blocking(comm);                                                                                            \
        g = plain ? NULL : by_protocol(comm);                                                                                   \
        if (g) {                                                                                                                \
            rc = sk_logging_address(g, comm, &dest, &tag, 0);                                                                   \
            return rc ? rc : sk_logging_isend(LOGGED_##Blocking, buf, count, datatype, dest, tag, request);                     \
        }                                                                                                                       \
        rc = SK_CALL(Name, (buf, count, datatype, dest, tag, sk_comm(comm), request));                                          \
        if (!plain && !rc)                                                                                                      \
            sk_made_request(*request, comm, 0);                                                                                 \
        return rc;                                                                                                              \
    }

BEGIN_SEND(Isend, Send)
BEGIN_SEND(Issend, Ssend)
BEGIN_SEND(Irsend, Rsend)
BEGIN_SEND(Ibsend, Bsend)

SK_WRAP(Irecv, (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request))
{
    int plain = SK_PLAIN, rc;
    if (!plain && (rc = sk_world_enter(comm)))
        return rc;
    if (!plain && is_refused(buf, count, datatype, comm))
        return SK_CALL(Irecv, (buf, count, datatype, MPI_PROC_NULL, tag, sk_asked(comm), request));
    struct sk_members *g = plain ? NULL : sk_replicates_on(comm);
    int lane;
    if (g)
        return (rc = sk_replica_address(g, comm, &source, &tag, 1, &lane))
                   ? rc : sk_replica_irecv(g->context ? g : NULL, comm, buf, count, datatype, source, tag, lane, request);
    g = plain ? NULL : sk_logs_on(comm);
    if (g) {
        rc = sk_logging_address(g, comm, &source, &tag, 1);
        return rc ? rc : sk_logging_irecv(g, buf, count, datatype, source, tag, request);
    }
    rc = SK_CALL(Irecv, (buf, count, datatype, source, tag, sk_comm(comm), request));
    if (!plain && !rc)
        sk_made_receive(*request, comm, source, 0);
    return rc;
}

SK_WRAP(Recv, (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status))
{
    MPI_Request r = MPI_REQUEST_NULL;
    int rc;
    if (SK_PLAIN)
        return SK_CALL(Recv, (buf, count, datatype, source, tag, comm, status));
    if ((rc = sk_world_enter(comm)))
        return rc;
    if (is_refused(buf, count, datatype, comm))
        return SK_CALL(Recv, (buf, count, datatype, MPI_PROC_NULL, tag, sk_asked(comm), status));
    struct sk_members *g = sk_replicates_on(comm);
    int lane;
    if (g)
        return (rc = sk_replica_address(g, comm, &source, &tag, 1, &lane))
                   ? rc : sk_replica_recv(&(struct sk_replica_known){comm, g->context ? g : NULL}, buf, count, datatype, source, tag, lane, status);
    g = sk_logs_on(comm);
    if (g) {
        rc = sk_logging_address(g, comm, &source, &tag, 1);
        return rc ? rc : sk_logging_recv(g, buf, count, datatype, source, tag, status);
    }
    if (!sk_careful())
        return SK_CALL_ASIDE(Recv, (buf, count, datatype, source, tag, sk_comm(comm), status));
    rc = SK_CALL(Irecv, (buf, count, datatype, source, tag, sk_comm(comm), &r));
    if (rc)
        return rc;
    sk_made_receive(r, comm, source, 0);
    return sk_wait(&r, status, sk_world_is_quiet(comm));
}

static int address_both(struct sk_members *g, MPI_Comm comm, int *dest, int *sendtag, int *source, int *recvtag)
{
    int rc = sk_logging_address(g, comm, dest, sendtag, 0);
    return rc ? rc : sk_logging_address(g, comm, source, recvtag, 1);
}

static int exchange_with_twins(struct sk_members *g, MPI_Comm comm, const void *send, int nsend, MPI_Datatype stype, int dest, int stag, void *recv,
                               int nrecv, MPI_Datatype rtype, int source, int rtag, MPI_Status *status)
{
    int slane, rlane, rc = sk_replica_address(g, comm, &dest, &stag, 0, &slane);
    if (!rc)
        rc = sk_replica_address(g, comm, &source, &rtag, 1, &rlane);
    return rc ? rc : sk_replica_exchange(&(struct sk_replica_known){comm, g->context ? g : NULL}, send, nsend, stype, dest, stag, slane, recv, nrecv, rtype,
                                         source, rtag, rlane, status);
}

/* Both at once; the send is of packed bytes when packed. */
static int exchange(const void *send, int nsend, MPI_Datatype stype, int dest, int stag, void *recv, int nrecv, MPI_Datatype rtype,
                    int source, int rtag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request r = MPI_REQUEST_NULL, s = MPI_REQUEST_NULL;
    int quiet = sk_world_is_quiet(comm);
    struct sk_members *g = sk_logs_on(comm);
    if (g) {
        int bad = address_both(g, comm, &dest, &stag, &source, &rtag);
        return bad ? bad : sk_logging_exchange(g, send, nsend, stype, dest, stag, recv, nrecv, rtype, source, rtag, status);
    }
    int rc = SK_CALL(Irecv, (recv, nrecv, rtype, source, rtag, sk_comm(comm), &r));
    if (rc)
        return rc;
    sk_made_receive(r, comm, source, 0);
    rc = SK_CALL(Isend, (send, nsend, stype, dest, stag, sk_comm(comm), &s));
    if (!rc)
        rc = sk_wait(&s, MPI_STATUS_IGNORE, quiet);
    return rc ? rc : sk_wait(&r, status, quiet);
}

SK_WRAP(Sendrecv, (const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status))
{
    int rc;
    if (!SK_PLAIN) {
        if ((rc = sk_world_enter(comm)))
            return rc;
        if (is_refused(sendbuf, sendcount, sendtype, comm) || is_refused(recvbuf, recvcount, recvtype, comm))
            return SK_CALL(Sendrecv, (sendbuf, sendcount, sendtype, MPI_PROC_NULL, sendtag, recvbuf, recvcount, recvtype, MPI_PROC_NULL, recvtag,
                                      sk_asked(comm), status));
        struct sk_members *g = sk_replicates_on(comm);
        if (g)
            return exchange_with_twins(g, comm, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, status);
        if (sk_careful() || sk_logs_on(comm))
            return exchange(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status);
    }
    return SK_CALL_ASIDE(Sendrecv, (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, sk_comm(comm),
                              status));
}

static int exchange_packed(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                           MPI_Status *status)
{
    int size = 0, at = 0, rc;
    struct sk_members *g = sk_logs_on(comm);
    if (g) {
        if ((rc = address_both(g, comm, &dest, &sendtag, &source, &recvtag)))
            return rc;
        struct sk_kept_message *m = sk_logging_keeps() ? sk_logging_post(SK_LOGGING_PLAIN, buf, count, datatype, dest, sendtag) : NULL;
        if (m || dest == MPI_PROC_NULL) /* what is sent was copied */
            return sk_logging_receive_after(g, m, buf, count, datatype, source, recvtag, status);
    }
    rc = SK_CALL(Pack_size, (count, datatype, sk_asked(comm), &size));
    void *packed = rc ? NULL : malloc((size_t)size + 1); /* stays, when the body is left meanwhile */
    if (!rc && !packed)
        rc = MPI_ERR_NO_MEM;
    if (!rc)
        rc = SK_CALL(Pack, (buf, count, datatype, packed, size, &at, sk_asked(comm)));
    if (!rc && g)
        rc = sk_logging_exchange(g, packed, at, MPI_PACKED, dest, sendtag, buf, count, datatype, source, recvtag, status);
    else if (!rc)
        rc = exchange(packed, at, MPI_PACKED, dest, sendtag, buf, count, datatype, source, recvtag, comm, status);
    free(packed);
    return rc;
}

SK_WRAP(Sendrecv_replace, (void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                           MPI_Status *status))
{
    int rc;
    if (!SK_PLAIN) {
        if ((rc = sk_world_enter(comm)))
            return rc;
        if (is_refused(buf, count, datatype, comm))
            return SK_CALL(Sendrecv_replace, (buf, count, datatype, MPI_PROC_NULL, sendtag, MPI_PROC_NULL, recvtag, sk_asked(comm), status));
        struct sk_members *g = sk_replicates_on(comm);
        if (g)
            return exchange_with_twins(g, comm, buf, count, datatype, dest, sendtag, buf, count, datatype, source, recvtag, status);
        if (sk_careful() || sk_logs_on(comm))
            return exchange_packed(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
    }
    return SK_CALL_ASIDE(Sendrecv_replace, (buf, count, datatype, dest, sendtag, source, recvtag, sk_comm(comm), status));
}
