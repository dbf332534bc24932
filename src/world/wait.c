/* Point-to-point communication that blocks, and waiting for requests: by calls that do not block, with a look at the keeper's page
 * between them. */
#include "world/wait.h"

#include "world/log/chance.h"
#include "world/log/held.h"
#include "world/log/log.h"
#include "world/replica/decide.h"
#include "world/replica/message.h"
#include "world/view/wrong.h"

#include <stdlib.h>

/* The requests of a call, as they were before MPI set some of them to MPI_REQUEST_NULL. */
enum { USUAL = 64 };
struct before {
    int n;
    uint64_t *key, usual[USUAL];
};

static void take(struct before *b, int n, MPI_Request r[])
{
    if (sk_logging.chosen)
        sk_logging_forward(n, r);
    b->n = n > 0 ? n : 0;
    b->key = n <= USUAL ? b->usual : malloc((size_t)n * sizeof *b->key);
    if (!b->key)
        sk_world_fail(SK_WORLD_FAILED, "no memory to wait for requests");
    for (int i = 0; i < b->n; i++) {
        const struct sk_object *o;
        b->key[i] = r[i] == MPI_REQUEST_NULL ? 0 : SK_KEY(r[i]);
        if (sk_world.epoch && b->key[i] && (o = sk_objects_find(&sk_world.requests, b->key[i])) && o->epoch != sk_world.epoch)
            sk_world_fail(SK_WORLD_STALE, "a request is used that was made before the repair");
    }
}

static int any_quiet(const struct before *b)
{
    for (int i = 0; i < b->n; i++) {
        const struct sk_object *o = b->key[i] ? sk_objects_find(&sk_world.requests, b->key[i]) : NULL;
        if (o && o->flags & SK_OBJECT_QUIET)
            return 1;
    }
    return 0;
}

static int wanted(void)
{
    return sk_careful() && sk_pending();
}

/* 0: the repair is done, and the requests have others in their place. */
static int leave(struct before *b, int n, MPI_Request r[])
{
    int quiet = any_quiet(b);
    if (b->key != b->usual)
        free(b->key);
    int rc = sk_world_give_way(quiet);
    if (!rc)
        take(b, n, r);
    return rc;
}

static void settle(struct before *b, const MPI_Request r[])
{
    for (int i = 0; i < b->n; i++)
        if (b->key[i] && r[i] == MPI_REQUEST_NULL)
            sk_request_ended(b->key[i]);
    if (b->key != b->usual)
        free(b->key);
}

int sk_wait(MPI_Request *r, MPI_Status *status, int quiet)
{
    uint64_t key = *r == MPI_REQUEST_NULL ? 0 : SK_KEY(*r);
    int done = 0, rc;
    while (!(rc = SK_CALL(Test, (r, &done, status))) && !done) {
        sk_looks();
        sk_held_progress();
        if (wanted()) {
            if ((rc = sk_world_give_way(quiet)))
                return rc;
            sk_logging_forward(1, r);
            key = SK_KEY(*r);
        }
    }
    sk_finds();
    if (key && *r == MPI_REQUEST_NULL)
        sk_request_ended(key);
    return rc;
}

/* Whether it could still be taken back is chance. A request that is not known has ended. */
static void undetermined(const struct before *b, const char *what)
{
    for (int i = 0; sk_world.logs && what && i < b->n; i++) {
        const struct sk_object *o = b->key[i] ? sk_objects_find(&sk_world.requests, b->key[i]) : NULL;
        if (o && !(o->flags & SK_OBJECT_QUIET))
            sk_logging_refuse(what);
    }
}

/* The call is made until it has what was wanted, or it is time to leave. heard: what is done before the program hears of it. */
#define LOOK_UNTIL(n, requests, call, enough, heard)   \
    struct before b;                                   \
    int rc;                                            \
    take(&b, n, requests);                             \
    do {                                               \
        sk_looks();                                    \
        sk_held_progress();                            \
        if (wanted() && (rc = leave(&b, n, requests))) \
            return rc;                                 \
        if (sk_world.replicates)                       \
            sk_replica_turn();                         \
        rc = call;                                     \
    } while (!rc && !(enough));                        \
    sk_finds();                                        \
    settle(&b, requests);                              \
    if (!rc) {                                         \
        heard;                                         \
    }                                                  \
    return rc

/* Where each rank is two processes, both get the same. */
#define WITH_TWIN(theirs, own) (sk_world.replicates ? (theirs) : (own))

static int wait_for(MPI_Request *request, MPI_Status *status)
{
    int done = 0;
    LOOK_UNTIL(1, request, SK_CALL(Test, (request, &done, status)), done, );
}

static int wait_for_all(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int done = 0;
    LOOK_UNTIL(count, requests, SK_CALL(Testall, (count, requests, &done, statuses)), done, );
}

/* Of what chance decides (log/chance.h): whether it is kept, and what the process before this one was told. */
#define CHANCE(CALL, n, requests, number, most)                                        \
    const int kept = sk_world.logs && sk_chance_of(n, requests, "MPI_" CALL##_NAME);   \
    const int told = kept ? sk_chance_told(CALL, number, most, n) : SK_CHANCE_FREE
#define HEARD(CALL, n, number)         \
    if (kept)                          \
        sk_chance_happened(CALL, n, number)
#define SK_CHANCE_TEST_NAME       "Test"
#define SK_CHANCE_TESTALL_NAME    "Testall"
#define SK_CHANCE_TESTANY_NAME    "Testany"
#define SK_CHANCE_TESTSOME_NAME   "Testsome"
#define SK_CHANCE_WAITANY_NAME    "Waitany"
#define SK_CHANCE_WAITSOME_NAME   "Waitsome"
#define SK_CHANCE_GET_STATUS_NAME "Request_get_status"

SK_WRAP(Wait, (MPI_Request *request, MPI_Status *status))
{
    return SK_PLAIN ? SK_CALL(Wait, (request, status)) : wait_for(request, status);
}

SK_WRAP(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]))
{
    return SK_PLAIN ? SK_CALL(Waitall, (count, requests, statuses)) : wait_for_all(count, requests, statuses);
}

SK_WRAP(Test, (MPI_Request *request, int *flag, MPI_Status *status))
{
    if (SK_PLAIN)
        return SK_CALL(Test, (request, flag, status));
    CHANCE(SK_CHANCE_TEST, 1, request, NULL, 0);
    if (told != SK_CHANCE_FREE)
        return (*flag = told >= 0) ? wait_for(request, status) : MPI_SUCCESS;
    LOOK_UNTIL(1, request, WITH_TWIN(sk_replica_test(request, flag, status), SK_CALL(Test, (request, flag, status))), 1,
               HEARD(SK_CHANCE_TEST, *flag ? 0 : -1, NULL));
}

SK_WRAP(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]))
{
    if (SK_PLAIN)
        return SK_CALL(Testall, (count, requests, flag, statuses));
    CHANCE(SK_CHANCE_TESTALL, count, requests, NULL, 0);
    if (told != SK_CHANCE_FREE)
        return (*flag = told >= 0) ? wait_for_all(count, requests, statuses) : MPI_SUCCESS;
    LOOK_UNTIL(count, requests,
               WITH_TWIN(sk_replica_test_all(count, requests, flag, statuses), SK_CALL(Testall, (count, requests, flag, statuses))), 1,
               HEARD(SK_CHANCE_TESTALL, *flag ? 0 : -1, NULL));
}

SK_WRAP(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status))
{
    if (SK_PLAIN)
        return SK_CALL(Waitany, (count, requests, index, status));
    int done = 0;
    CHANCE(SK_CHANCE_WAITANY, count, requests, index, 1);
    if (told == 1)
        return wait_for(&requests[*index], status);
    LOOK_UNTIL(count, requests,
               WITH_TWIN(sk_replica_any(count, requests, index, &done, status, 1), SK_CALL(Testany, (count, requests, index, &done, status))),
               done, HEARD(SK_CHANCE_WAITANY, 1, index));
}

SK_WRAP(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status))
{
    if (SK_PLAIN)
        return SK_CALL(Testany, (count, requests, index, flag, status));
    CHANCE(SK_CHANCE_TESTANY, count, requests, index, 1);
    if (told == SK_CHANCE_NONE)
        *index = MPI_UNDEFINED;
    if (told != SK_CHANCE_FREE)
        return (*flag = told == 1) ? wait_for(&requests[*index], status) : MPI_SUCCESS;
    LOOK_UNTIL(count, requests,
               WITH_TWIN(sk_replica_any(count, requests, index, flag, status, 0), SK_CALL(Testany, (count, requests, index, flag, status))), 1,
               HEARD(SK_CHANCE_TESTANY, *flag ? 1 : -1, index));
}

/* What had ended before. */
static int wait_for_some(int n, MPI_Request requests[], const int indices[], MPI_Status statuses[])
{
    int rc = 0;
    for (int i = 0; i < n && !rc; i++)
        rc = wait_for(&requests[indices[i]], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    return rc;
}

SK_WRAP(Waitsome, (int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]))
{
    if (SK_PLAIN)
        return SK_CALL(Waitsome, (incount, requests, outcount, indices, statuses));
    CHANCE(SK_CHANCE_WAITSOME, incount, requests, indices, incount);
    if (told >= 0)
        return wait_for_some(*outcount = told, requests, indices, statuses);
    LOOK_UNTIL(incount, requests, WITH_TWIN(sk_replica_some(incount, requests, outcount, indices, statuses, 1),
                                            SK_CALL(Testsome, (incount, requests, outcount, indices, statuses))), *outcount,
               HEARD(SK_CHANCE_WAITSOME, *outcount, indices));
}

SK_WRAP(Testsome, (int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]))
{
    if (SK_PLAIN)
        return SK_CALL(Testsome, (incount, requests, outcount, indices, statuses));
    CHANCE(SK_CHANCE_TESTSOME, incount, requests, indices, incount);
    if (told != SK_CHANCE_FREE)
        return wait_for_some(*outcount = told > 0 ? told : 0, requests, indices, statuses);
    LOOK_UNTIL(incount, requests, WITH_TWIN(sk_replica_some(incount, requests, outcount, indices, statuses, 0),
                                            SK_CALL(Testsome, (incount, requests, outcount, indices, statuses))), 1,
               HEARD(SK_CHANCE_TESTSOME, *outcount ? *outcount : -1, indices));
}

SK_WRAP(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status))
{
    if (SK_PLAIN)
        return SK_CALL(Request_get_status, (request, flag, status));
    CHANCE(SK_CHANCE_GET_STATUS, 1, &request, NULL, 0);
    if ((*flag = 0, told == SK_CHANCE_NONE))
        return MPI_SUCCESS;
    LOOK_UNTIL(1, &request, WITH_TWIN(sk_replica_get_status(request, flag, status), SK_CALL(Request_get_status, (request, flag, status))), told == SK_CHANCE_FREE || *flag,
               if (told == SK_CHANCE_FREE) HEARD(SK_CHANCE_GET_STATUS, *flag ? 0 : -1, NULL));
}

/* A request that MPI frees when it has ended: nobody will hear of that, so what it writes into could not be taken back. */
SK_WRAP(Request_free, (MPI_Request *request))
{
    if (SK_PLAIN)
        return SK_CALL(Request_free, (request));
    sk_logging_forward(1, request);
    uint64_t key = SK_KEY(*request);
    struct sk_object *o = sk_objects_find(&sk_world.requests, key);
    if (o && o->epoch != sk_world.epoch) {
        *request = MPI_REQUEST_NULL;
        return MPI_SUCCESS;
    }
    if (o && o->flags & (SK_OBJECT_RECEIVES | SK_OBJECT_BOUNCED) && !(o->flags & SK_OBJECT_PERSISTENT))
        sk_world_cannot(SK_WORLD_FUNCTION, "MPI_Request_free of a receive that has not ended");
    sk_objects_remove(&sk_world.requests, key);
    return SK_CALL(Request_free, (request));
}

SK_WRAP(Cancel, (MPI_Request *request))
{
    struct before b;
    if (!SK_PLAIN) {
        take(&b, 1, request);
        undetermined(&b, "MPI_Cancel");
    }
    return SK_CALL(Cancel, (request));
}

SK_WRAP(Start, (MPI_Request *request))
{
    struct before b;
    if (!SK_PLAIN) {
        int rc;
        take(&b, 1, request);
        if (wanted() && (rc = leave(&b, 1, request)))
            return rc;
    }
    return SK_CALL(Start, (request));
}

SK_WRAP(Startall, (int count, MPI_Request requests[]))
{
    struct before b;
    if (!SK_PLAIN) {
        int rc;
        take(&b, count, requests);
        if (wanted() && (rc = leave(&b, count, requests)))
            return rc;
        if (b.key != b.usual)
            free(b.key);
    }
    return SK_CALL(Startall, (count, requests));
}

/* ---- one message ---- */

/* A protocol has nothing to do with what MPI refuses; MPI is given it as it is. */
static inline int is_refused(const void *buf, int count, MPI_Datatype type, MPI_Comm comm)
{
    return (sk_world.logs || sk_world.replicates) && sk_is_wrong_message(buf, count, type, comm);
}

#define SEND(Name, Begin)                                                                                      \
    SK_WRAP(Name, (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm))       \
    {                                                                                                          \
        MPI_Request r = MPI_REQUEST_NULL;                                                                      \
        int rc;                                                                                                \
        if (SK_PLAIN)                                                                                          \
            return SK_CALL(Name, (buf, count, datatype, dest, tag, comm));                                     \
        if ((rc = sk_world_enter(comm)))                                                                       \
            return rc;                                                                                         \
        if (is_refused(buf, count, datatype, comm))                                                            \
            return SK_CALL(Name, (buf, count, datatype, dest, tag, sk_comm(comm)));                            \
        if (sk_replicates(comm) && LOGGED_##Name)                                                              \
            return sk_replica_send(buf, count, datatype, dest, tag, SK_REPLICA_PROGRAM);                       \
        if (sk_logs(comm) && LOGGED_##Name && sk_logging_tag(tag))                                                 \
            return sk_logging_send(buf, count, datatype, dest, tag);                                               \
        if (!sk_careful())                                                                                     \
            return SK_CALL(Name, (buf, count, datatype, dest, tag, sk_comm(comm)));                            \
        rc = SK_CALL(Begin, (buf, count, datatype, dest, tag, sk_comm(comm), &r));                             \
        return rc ? rc : sk_wait(&r, MPI_STATUS_IGNORE, sk_world_is_quiet(comm));                              \
    }

/* Whoever sends synchronously learns from its end that it is received: that would have to be logged, too. */
static int refused(const char *what)
{
    sk_logging_refuse(what);
    return 0;
}
#define LOGGED_Send   1
#define LOGGED_Ssend  refused("MPI_Ssend")
#define LOGGED_Rsend  refused("MPI_Rsend")

SEND(Send, Isend)
SEND(Ssend, Issend)
SEND(Rsend, Irsend)

SK_WRAP(Isend, (const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request *request))
{
    int plain = SK_PLAIN, rc;
    if (!plain && (rc = sk_world_enter(comm)))
        return rc;
    if (!plain && is_refused(buf, count, datatype, comm))
        return SK_CALL(Isend, (buf, count, datatype, dest, tag, sk_comm(comm), request));
    if (!plain && sk_replicates(comm))
        return sk_replica_isend(buf, count, datatype, dest, tag, request);
    if (!plain && sk_logs(comm) && sk_logging_tag(tag) && sk_logging_post(buf, count, datatype, dest, tag))
        return sk_logging_nothing(request);
    rc = SK_CALL(Isend, (buf, count, datatype, dest, tag, sk_comm(comm), request));
    if (!plain && !rc)
        sk_made_request(*request, comm, 0);
    return rc;
}

SK_WRAP(Irecv, (void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request))
{
    int plain = SK_PLAIN, rc;
    if (!plain && (rc = sk_world_enter(comm)))
        return rc;
    if (!plain && is_refused(buf, count, datatype, comm))
        return SK_CALL(Irecv, (buf, count, datatype, source, tag, sk_comm(comm), request));
    if (!plain && sk_replicates(comm))
        return sk_replica_irecv(buf, count, datatype, source, tag, request);
    if (!plain && sk_logs_collective(comm) && sk_logging_tag(tag))
        return sk_logging_irecv(buf, count, datatype, source, tag, request);
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
        return SK_CALL(Recv, (buf, count, datatype, source, tag, sk_comm(comm), status));
    if (sk_replicates(comm))
        return sk_replica_recv(buf, count, datatype, source, tag, SK_REPLICA_PROGRAM, status);
    if (sk_logs_collective(comm) && sk_logging_tag(tag))
        return sk_logging_recv(buf, count, datatype, source, tag, status);
    if (!sk_careful())
        return SK_CALL(Recv, (buf, count, datatype, source, tag, sk_comm(comm), status));
    rc = SK_CALL(Irecv, (buf, count, datatype, source, tag, sk_comm(comm), &r));
    if (rc)
        return rc;
    sk_made_receive(r, comm, source, 0);
    return sk_wait(&r, status, sk_world_is_quiet(comm));
}

/* Both at once; the send is of packed bytes when packed. */
static int exchange(const void *send, int nsend, MPI_Datatype stype, int dest, int stag, void *recv, int nrecv, MPI_Datatype rtype,
                    int source, int rtag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request r = MPI_REQUEST_NULL, s = MPI_REQUEST_NULL;
    int quiet = sk_world_is_quiet(comm);
    if (sk_logs_collective(comm))
        return sk_logging_exchange(send, nsend, stype, dest, stag, recv, nrecv, rtype, source, rtag, status);
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
            return SK_CALL(Sendrecv, (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                                      sk_comm(comm), status));
        if (sk_replicates(comm))
            return sk_replica_exchange(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag,
                                       SK_REPLICA_PROGRAM, status);
        if (sk_logs_collective(comm) && sk_logging_tag(sendtag) && sk_logging_tag(recvtag))
            return sk_logging_exchange(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, status);
        if (sk_careful())
            return exchange(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status);
    }
    return SK_CALL(Sendrecv, (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, sk_comm(comm),
                              status));
}

static int exchange_packed(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                           MPI_Status *status)
{
    int size = 0, at = 0;
    int rc = SK_CALL(Pack_size, (count, datatype, sk_comm(comm), &size));
    void *packed = rc ? NULL : malloc((size_t)size + 1); /* stays, when the body is left meanwhile */
    if (!rc && !packed)
        rc = MPI_ERR_NO_MEM;
    if (!rc)
        rc = SK_CALL(Pack, (buf, count, datatype, packed, size, &at, sk_comm(comm)));
    if (!rc)
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
            return SK_CALL(Sendrecv_replace, (buf, count, datatype, dest, sendtag, source, recvtag, sk_comm(comm), status));
        if (sk_replicates(comm))
            return sk_replica_exchange(buf, count, datatype, dest, sendtag, buf, count, datatype, source, recvtag, SK_REPLICA_PROGRAM, status);
        struct sk_kept_message *m = NULL;
        if (sk_logs(comm) && sk_logging_tag(sendtag) && sk_logging_tag(recvtag) && (m = sk_logging_post(buf, count, datatype, dest, sendtag)))
            return sk_logging_receive_after(m, buf, count, datatype, source, recvtag, status); /* what is sent was copied */
        if (sk_careful())
            return exchange_packed(buf, count, datatype, dest, sendtag, source, recvtag, comm, status);
    }
    return SK_CALL(Sendrecv_replace, (buf, count, datatype, dest, sendtag, source, recvtag, sk_comm(comm), status));
}

SK_WRAP(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status))
{
    int rc, found = 0;
    if (SK_PLAIN)
        return SK_CALL(Probe, (source, tag, comm, status));
    if (sk_logs_collective(comm) && source != MPI_PROC_NULL && !(rc = sk_world_enter(comm)))
        return sk_logging_probe(source, tag, NULL, status);
    do {
        if ((rc = sk_world_enter(comm)))
            return rc;
        rc = sk_replicates(comm) ? sk_replica_probe(source, tag, &found, status, 1)
                                 : SK_CALL(Iprobe, (source, tag, sk_comm(comm), &found, status));
    } while (!rc && !found);
    return rc;
}

SK_WRAP(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status))
{
    int rc;
    if (!SK_PLAIN) {
        if ((rc = sk_world_enter(comm)))
            return rc;
        if (sk_replicates(comm))
            return sk_replica_probe(source, tag, flag, status, 0);
        if (sk_logs_collective(comm) && source != MPI_PROC_NULL)
            return sk_logging_probe(source, tag, flag, status);
    }
    return SK_CALL(Iprobe, (source, tag, sk_comm(comm), flag, status));
}
