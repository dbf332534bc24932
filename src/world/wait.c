/* Waiting for requests and asking for them, by calls that do not block, with a look at the keeper's page between them. */
#include "world/wait.h"

#include "base/clock.h"
#include "world/form/over.h"
#include "world/log/chance.h"
#include "world/log/held.h"
#include "world/log/lasting.h"
#include "world/log/later/later.h"
#include "world/log/log.h"
#include "world/replica/decide.h"
#include "world/replica/look.h"
#include "world/replica/message.h"
#include "world/rest/arrivals.h"
#include "world/rest/core.h"
#include "world/view/wrong.h"

#include <stdlib.h>

struct sk_rest sk_world_rest;

void sk_world_sleeps(void)
{
    double s = sk_rest_for(&sk_world_rest, sk_now());
    if (s > 0 && sk_arrivals_sleep(s))
        sk_rest_is_roused(&sk_world_rest);
}

/* The requests of a call, as they were before MPI set some of them to MPI_REQUEST_NULL. */
enum { USUAL = 64 };
struct before {
    int n;
    uint64_t *key, usual[USUAL];
    MPI_Request *handle; /* the program's, where it is a persistent one that the layer made; NULL: there are none */
};

/* In place of persistent requests, what they are just now; and back again. */
static void take_lasting(struct before *b, int n, MPI_Request r[])
{
    b->handle = NULL;
    for (int i = 0; sk_logging.lasting && i < n; i++) {
        const MPI_Request *inner = sk_lasting_inner(r[i]);
        if (!inner)
            continue;
        if (!b->handle) {
            b->handle = malloc((size_t)n * sizeof *b->handle);
            if (!b->handle)
                sk_world_fail(SK_WORLD_FAILED, "no memory to wait for requests");
            for (int j = 0; j < n; j++)
                b->handle[j] = MPI_REQUEST_NULL;
        }
        b->handle[i] = r[i];
        r[i] = *inner;
    }
}

static void give_back_lasting(struct before *b, MPI_Request r[])
{
    for (int i = 0; b->handle && i < b->n; i++)
        if (b->handle[i] != MPI_REQUEST_NULL) {
            *sk_lasting_inner(b->handle[i]) = r[i];
            r[i] = b->handle[i];
        }
    free(b->handle);
    b->handle = NULL;
}

static void take(struct before *b, int n, MPI_Request r[])
{
    if (sk_logging.chosen)
        sk_logging_forward(n, r);
    take_lasting(b, n, r);
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

/* A request that is not known has ended: where there are no others, nothing is waited for, and whose call this is cannot be told. */
static int waits(const struct before *b)
{
    for (int i = 0; i < b->n; i++)
        if (b->key[i] && sk_objects_find(&sk_world.requests, b->key[i]))
            return 1;
    return sk_world.unwatched;
}

/* 0: the repair is done, and the requests have others in their place. */
static int leave(struct before *b, int n, MPI_Request r[])
{
    int quiet = any_quiet(b);
    give_back_lasting(b, r);
    if (b->key != b->usual)
        free(b->key);
    int rc = sk_world_give_way(quiet);
    if (!rc)
        take(b, n, r);
    return rc;
}

static void settle(struct before *b, MPI_Request r[])
{
    for (int i = 0; i < b->n; i++)
        if (b->key[i] && r[i] == MPI_REQUEST_NULL)
            sk_request_ended(b->key[i]);
    give_back_lasting(b, r);
    if (b->key != b->usual)
        free(b->key);
}

/* The status of request i, if it has ended, as the program's communicator has it. */
static void tell(const struct before *b, int i, MPI_Status *s)
{
    if (__builtin_expect(sk_logging.translated > 0, 0) && s != MPI_STATUS_IGNORE && i >= 0 && i < b->n && b->key[i])
        sk_logging_tell(b->key[i], s);
}

static void tell_all(const struct before *b, int ended, MPI_Status statuses[])
{
    for (int i = 0; sk_logging.translated && ended && statuses != MPI_STATUSES_IGNORE && i < b->n; i++)
        tell(b, i, &statuses[i]);
}

static void tell_some(const struct before *b, int n, const int indices[], MPI_Status statuses[])
{
    for (int i = 0; sk_logging.translated && statuses != MPI_STATUSES_IGNORE && i < n; i++) /* MPI_UNDEFINED is negative */
        tell(b, indices[i], &statuses[i]);
}

int sk_wait(MPI_Request *r, MPI_Status *status, int quiet)
{
    uint64_t key = *r == MPI_REQUEST_NULL ? 0 : SK_KEY(*r);
    int done = 0, rc;
    while (!(rc = sk_over_test(r, &done, status)) && !done) {
        sk_looks();
        sk_held_progress();
        if (sk_world.replicates)
            sk_replica_turn();
        if (wanted()) {
            if ((rc = sk_world_give_way(quiet)))
                return rc;
            sk_logging_forward(1, r);
            key = SK_KEY(*r);
        }
    }
    sk_finds();
    if (key && sk_logging.translated && !rc && status != MPI_STATUS_IGNORE)
        sk_logging_tell(key, status);
    if (key && *r == MPI_REQUEST_NULL)
        sk_request_ended(key);
    return rc;
}

/* The call is made until it has what was wanted, or it is time to leave. translate: what becomes of statuses; heard: what is done before the program
 * hears of it. */
#define LOOK_UNTIL(n, requests, call, enough, translate, heard) \
    struct before b;                                   \
    int rc, again_ = 0;                                \
    take(&b, n, requests);                             \
    do {                                               \
        sk_looks();                                    \
        sk_held_progress();                            \
        if (wanted() && waits(&b) && (rc = leave(&b, n, requests))) \
            return rc;                                 \
        if (sk_world.replicates) {                     \
            if (again_++ && sk_replica.first) /* which gives the core away */ \
                sk_replica_wait();                     \
            else                                       \
                sk_replica_glance();                   \
            sk_core_keep();                            \
        }                                              \
        rc = call;                                     \
        if (sk_world.replicates)                       \
            sk_core_let_go();                          \
    } while (!rc && !(enough));                        \
    sk_finds();                                        \
    translate;                                         \
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
    LOOK_UNTIL(1, request, sk_over_test(request, &done, status), done, tell(&b, 0, status), );
}

static int wait_for_all(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int done = 0;
    LOOK_UNTIL(count, requests, sk_over_test_all(count, requests, &done, statuses), done, tell_all(&b, done, statuses), );
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
    LOOK_UNTIL(1, request, WITH_TWIN(sk_replica_test(request, flag, status), sk_over_test(request, flag, status)), 1, tell(&b, *flag ? 0 : -1, status),
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
               WITH_TWIN(sk_replica_test_all(count, requests, flag, statuses), sk_over_test_all(count, requests, flag, statuses)), 1,
               tell_all(&b, *flag, statuses),
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
               WITH_TWIN(sk_replica_any(count, requests, index, &done, status, 1), sk_over_test_any(count, requests, index, &done, status)),
               done, tell(&b, *index, status), HEARD(SK_CHANCE_WAITANY, 1, index));
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
               WITH_TWIN(sk_replica_any(count, requests, index, flag, status, 0), sk_over_test_any(count, requests, index, flag, status)), 1,
               tell(&b, *flag ? *index : -1, status),
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
                                            sk_over_test_some(incount, requests, outcount, indices, statuses)), *outcount,
               tell_some(&b, *outcount, indices, statuses), HEARD(SK_CHANCE_WAITSOME, *outcount, indices));
}

SK_WRAP(Testsome, (int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]))
{
    if (SK_PLAIN)
        return SK_CALL(Testsome, (incount, requests, outcount, indices, statuses));
    CHANCE(SK_CHANCE_TESTSOME, incount, requests, indices, incount);
    if (told != SK_CHANCE_FREE)
        return wait_for_some(*outcount = told > 0 ? told : 0, requests, indices, statuses);
    LOOK_UNTIL(incount, requests, WITH_TWIN(sk_replica_some(incount, requests, outcount, indices, statuses, 0),
                                            sk_over_test_some(incount, requests, outcount, indices, statuses)), 1,
               tell_some(&b, *outcount, indices, statuses),
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
               tell(&b, *flag ? 0 : -1, status), if (told == SK_CHANCE_FREE) HEARD(SK_CHANCE_GET_STATUS, *flag ? 0 : -1, NULL));
}

/* 1: MPI is through with it, and it got nothing. */
static int is_taken_back(MPI_Request r)
{
    MPI_Status s;
    int ended = 0, cancelled = 0;
    if (!SK_CALL(Request_get_status, (r, &ended, &s)) && ended)
        SK_CALL(Test_cancelled, (&s, &cancelled));
    return cancelled;
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
    if (sk_later_is(*request))
        return sk_wrong(MPI_COMM_WORLD, MPI_ERR_REQUEST);
    if (sk_logging_was_tried(*request)) /* it is at its end, or its message is on its way */
        return sk_wait(request, MPI_STATUS_IGNORE, 0);
    if (o && o->flags & (SK_OBJECT_RECEIVES | SK_OBJECT_BOUNCED) && !(o->flags & SK_OBJECT_PERSISTENT) && !is_taken_back(*request))
        sk_world_cannot(SK_WORLD_FUNCTION, "MPI_Request_free of a receive that has not ended");
    sk_lasting_forget(*request);
    sk_objects_remove(&sk_world.requests, key);
    return SK_CALL(Request_free, (request));
}

/* Of a communicator that is this process's alone what ends when follows from the program. */
static int is_alone(const struct sk_object *receive)
{
    const struct sk_object *c = sk_objects_find(&sk_world.comms, receive->of);
    return receive->of == SK_KEY(MPI_COMM_SELF) || (c && c->flags & SK_OBJECT_ALONE);
}

/* Whether a receive can still be taken back is chance, and the protocol's affair; MPI takes back no message that is sent. */
static int cancel(MPI_Request *r)
{
    const struct sk_object *o = *r == MPI_REQUEST_NULL ? NULL : sk_objects_find(&sk_world.requests, SK_KEY(*r));
    uint32_t flags = o ? o->flags : 0;
    if (flags & SK_OBJECT_COPIED)
        return o->more ? sk_replica_cancel(o->more) : 0;
    if (sk_world.logs && !sk_logging.refused && !(flags & SK_OBJECT_QUIET)) {
        if (flags & (SK_OBJECT_LOGGED | SK_OBJECT_HELD))
            return sk_logging_cancel(o->more, r);
        if (flags & SK_OBJECT_RECEIVES && !is_alone(o))
            sk_logging_refuse("MPI_Cancel of a receive that is not logged");
    }
    return SK_CALL(Cancel, (r));
}

SK_WRAP(Cancel, (MPI_Request *request))
{
    struct before b;
    if (SK_PLAIN)
        return SK_CALL(Cancel, (request));
    if (sk_later_is(*request))
        return sk_wrong(MPI_COMM_WORLD, MPI_ERR_REQUEST);
    take(&b, 1, request);
    int rc = cancel(request);
    give_back_lasting(&b, request);
    return rc;
}

SK_WRAP(Start, (MPI_Request *request))
{
    struct before b;
    if (!SK_PLAIN) {
        int rc;
        take(&b, 1, request);
        if (wanted() && (rc = leave(&b, 1, request)))
            return rc;
        give_back_lasting(&b, request);
        if ((rc = sk_lasting_start(*request)) >= 0)
            return rc;
    }
    return SK_CALL(Start, (request));
}

SK_WRAP(Startall, (int count, MPI_Request requests[]))
{
    struct before b;
    if (!SK_PLAIN) {
        int rc = 0;
        take(&b, count, requests);
        if (wanted() && (rc = leave(&b, count, requests)))
            return rc;
        give_back_lasting(&b, requests);
        if (b.key != b.usual)
            free(b.key);
        for (int i = 0; i < count && sk_logging.lasting && !rc; i++) /* in their order; others, of MPI_COMM_SELF, are MPI's */
            if ((rc = sk_lasting_start(requests[i])) < 0)
                rc = SK_CALL(Start, (&requests[i]));
        if (sk_logging.lasting)
            return rc;
    }
    return SK_CALL(Startall, (count, requests));
}
