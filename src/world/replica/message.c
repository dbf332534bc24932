/* Messages between copies: sent from a copy that is kept, and received with a look at what else comes. */
#include "world/replica/message.h"

#include "world/replica/compare.h"
#include "world/replica/control.h"
#include "world/replica/decide.h"
#include "world/replica/look.h"
#include "world/replica/receives/gaps.h"
#include "world/replica/receives/list.h"
#include "world/rest/bell.h"
#include "world/rest/core.h"

#include "world/log/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often, in sends, what comes is taken in; after how much the sender's other copy is told. */
enum { SENDS_BETWEEN = 16, FRESH_MOST = 64, FRESH_BYTES = 1 << 18 };
/* Longest wait for the memory of what is kept. */
enum { MEMORY_WAIT_S = 10 };

static _Noreturn void no_memory(void)
{
    sk_world_fail(SK_WORLD_FAILED, "no memory for messages between copies: the job is started again");
}

int sk_replica_reach(int copy, int rank, int context, MPI_Comm *comm)
{
    int same = copy == sk_replica.copy;
    *comm = same ? sk_replica.same[context] : sk_replica.all[context];
    return same ? rank : sk_replica_process(copy, rank);
}

static struct sk_channel *channel(int rank, int context, int tag)
{
    struct sk_channel *c = sk_channel_find(&sk_replica.peer[rank].channels, context, tag);
    if (!c)
        no_memory();
    return c;
}

int sk_replica_address(struct sk_members *g, MPI_Comm c, int *peer, int *tag, int receives, int *lane)
{
    *lane = SK_REPLICA_PROGRAM;
    if (!g->context)
        return 0;
    int rc = sk_logging_address(g, c, peer, tag, receives);
    if (rc || *peer == MPI_PROC_NULL)
        return rc;
    int own = SK_REPLICA_OWN + sk_wire_context(*tag) - 1; /* the receiver's, which is not always the sender's (members.h) */
    *lane = own < SK_REPLICA_OTHERS ? own : SK_REPLICA_OTHERS;
    if (!sk_wire_is_any(*tag))
        return 0;
    if (*lane == SK_REPLICA_OTHERS) { /* it would find what is another communicator's */
        sk_world_say("MPI_ANY_TAG can be used in MPI_COMM_WORLD and in 6 communicators more at the same time with run.protocol=replication");
        SK_CALL(Comm_call_errhandler, (c, MPI_ERR_TAG));
        return MPI_ERR_TAG;
    }
    *tag = MPI_ANY_TAG;
    return 0;
}

/* ---- sending ---- */

/* Small messages that MPI has had no room for so far, of which others would have been MPI's when they were sent. It sends them when it is called, and nobody rings then. Of more than these
 * it is not known when they are sent. */
enum { SMALL = 1024, CROWD = 64 };
static struct crowded {
    struct sk_copied *message;
    int copy;
} crowd[CROWD];

static void remember_crowded(struct sk_copied *m, int copy)
{
    if (!m->request[copy] || m->synchronous || m->bytes > SMALL)
        return;
    if (sk_replica.crowded < CROWD)
        crowd[sk_replica.crowded++] = (struct crowded){m, copy};
    else
        sk_replica.floods = 1;
}

void sk_replica_is_out(struct sk_copied *m, int copy)
{
    m->request[copy] = 0;
    for (int i = 0; i < sk_replica.crowded; i++)
        if (crowd[i].message == m && crowd[i].copy == copy)
            crowd[i--] = crowd[--sk_replica.crowded];
}

void sk_replica_send_kept(struct sk_copied *m, int copy, int rank)
{
    MPI_Comm c;
    MPI_Request r = MPI_REQUEST_NULL;
    int done = 0, to = sk_replica_reach(copy, rank, m->channel->context, &c);
    sk_core_keep(); /* there is more to do */
    int rc = m->synchronous ? SK_CALL(Issend, (m->data, (int)m->bytes, MPI_PACKED, to, m->channel->tag, c, &r))
                            : SK_CALL(Isend, (m->data, (int)m->bytes, MPI_PACKED, to, m->channel->tag, c, &r));
    if (!rc)
        rc = SK_CALL(Test, (&r, &done, MPI_STATUS_IGNORE));
    sk_core_let_go();
    if (rc)
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot send a message: the job is started again");
    m->request[copy] = done ? 0 : SK_KEY(r);
    remember_crowded(m, copy);
    sk_bell_ring(sk_replica_process(copy, rank), SK_BELL_SENT);
}

static int is_sent_to(struct sk_copied *m, int copy)
{
    MPI_Request r = (MPI_Request)(uintptr_t)m->request[copy];
    int done = 0;
    if (!m->request[copy])
        return 1;
    sk_core_keep(); /* a wait gives it away where it sees that there is nothing (look.c) */
    int rc = SK_CALL(Test, (&r, &done, MPI_STATUS_IGNORE));
    sk_core_let_go();
    if (!rc && !done)
        return 0;
    sk_replica_is_out(m, copy);
    sk_replica_found();
    return 1;
}

void sk_replica_look_after_crowd(void)
{
    int self = sk_replica_process(sk_replica.copy, sk_world.rank), n = sk_replica.crowded;
    for (int i = n; i-- > 0;)
        is_sent_to(crowd[i].message, crowd[i].copy);
    for (int p = 0; (n || sk_replica.floods) && p < sk_replica.processes; p++)
        if (p != self)
            sk_bell_ring(p, SK_BELL_SENT);
}

int sk_replica_is_over(struct sk_copied *m)
{
    int first = is_sent_to(m, 0), second = is_sent_to(m, 1);
    return first && second;
}

/* The counterpart has it, or, where that is dead, the other one: what is sent can be more than what is received by no more than MPI
 * allows, and SK_LATE_BYTES. */
static int has_arrived(struct sk_copied *m, int dest)
{
    return is_sent_to(m, sk_replica.dead[sk_replica_process(sk_replica.copy, dest)] ? !sk_replica.copy : sk_replica.copy);
}

/* Of those that the program went on without. */
static void arrivals(int dest)
{
    struct sk_channels *c = &sk_replica.peer[dest].channels;
    while (c->n_late && has_arrived(c->late[0], dest))
        sk_channel_arrived(c);
}

/* Too much is kept because a twin is far behind: it has some time to get on. */
static void wait_for_memory(void)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    sk_replica.awaits++;
    while (sk_replica.bytes > sk_replica.limit && !sk_world.cannot) {
        sk_replica_wait();
        for (int r = 0; r < sk_replica.n; r++) {
            arrivals(r);
            sk_replica.bytes -= sk_channel_sweep_all(&sk_replica.peer[r].channels, sk_replica.held, sk_replica_is_over);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begun.tv_sec > MEMORY_WAIT_S)
            sk_replica_refuse("messages that the other copies have not received yet need more memory than run.log_memory");
    }
    sk_replica.awaits--;
}

static struct sk_copied *copy_of(const void *buf, int count, MPI_Datatype type, struct sk_channels *to, struct sk_channel *c)
{
    int each = sk_plain_bytes(type), most = 0, at = 0;
    if (each < 0 && SK_CALL(Pack_size, (count, type, sk_world.comm, &most)))
        return NULL;
    size_t bytes = each < 0 ? (size_t)most : (size_t)each * (size_t)count;
    if (bytes > INT_MAX)
        sk_world_fail(SK_WORLD_FUNCTION, "a message of more than 2 GiB cannot be sent with run.protocol=replication");
    struct sk_copied *m = sk_channel_add(to, c, bytes);
    if (!m)
        no_memory();
    if (each < 0 && SK_CALL(Pack, (buf, count, type, m->data, most, &at, sk_world.comm)))
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot pack a message: the job is started again");
    if (each < 0)
        m->bytes = (size_t)at;
    else if (bytes)
        memcpy(m->data, buf, bytes);
    return m;
}

static struct sk_copied *post(int synchronous, const void *buf, int count, MPI_Datatype type, int dest, int tag, int context)
{
    static unsigned sends;
    struct sk_replica_peer *p = &sk_replica.peer[dest];
    sk_replica_found();
    if (!(++sends % SENDS_BETWEEN))
        sk_replica_look();
    sk_replica_settle();
    if (sk_replica.bytes > sk_replica.limit)
        wait_for_memory();
    struct sk_channel *c = channel(dest, context, tag);
    arrivals(dest);
    sk_replica.bytes -= sk_channel_sweep(&p->channels, NULL, sk_replica.held, sk_replica_is_over);
    sk_replica.bytes -= sk_channel_sweep(&p->channels, c, sk_replica.held, sk_replica_is_over);
    struct sk_copied *m = copy_of(buf, count, type, &p->channels, c);
    m->synchronous = synchronous;
    sk_replica.bytes += m->bytes;
    if (sk_replica.compares)
        sk_compare_sent(dest, m);
    for (int x = 0; x < 2; x++) {
        int crosses = x != sk_replica.copy;
        if (p->feed[x] == SK_FEED_SEND && !(crosses && sk_channel_had(c, m->index)))
            sk_replica_send_kept(m, x, dest);
        else if (p->feed[x] == SK_FEED_WAIT || (p->feed[x] == SK_FEED_KEEP && m->index >= c->acked))
            m->backup = 1;
    }
    return m;
}

/* The program goes on as soon as the receiver has it, by has_arrived, or will get it without this process: it was copied. */
static void wait_sent(struct sk_copied *m, int dest)
{
    const struct sk_copied *held = sk_replica.held;
    sk_replica.held = m;
    sk_replica.awaits++;
    while (!has_arrived(m, dest)) {
        arrivals(dest);
        if (sk_replica.moves && !m->synchronous && sk_channel_is_late(&sk_replica.peer[dest].channels, m))
            break;
        sk_replica_wait();
    }
    sk_replica.awaits--;
    sk_replica.held = held;
}

/* 1: nowhere, or MPI says what is wrong with it. */
static int is_for_mpi(int count, int peer, int tag)
{
    return peer < 0 || peer >= sk_replica.n || tag < 0 || count < 0;
}

int sk_replica_send(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag, int context)
{
    if (is_for_mpi(count, dest, tag))
        return SK_CALL(Send, (buf, count, type, dest, tag, sk_world.comm));
    struct sk_copied *m = post(mode == SK_LOGGING_SYNCHRONOUS, buf, count, type, dest, tag, context);
    if (mode != SK_LOGGING_BUFFERED)
        wait_sent(m, dest);
    return 0;
}

void sk_replica_begin_send(const void *buf, int count, MPI_Datatype type, int dest, int tag, int context)
{
    post(0, buf, count, type, dest, tag, context);
}

/* Synchronous sends that have not ended. */
static struct sending {
    struct sending *next;
    struct sk_copied *message;
    int dest;
    MPI_Request handle;
} *sending;

static int tell_sent(void *extra, MPI_Status *status)
{
    (void)extra;
    SK_CALL(Status_set_elements, (status, MPI_BYTE, 0));
    SK_CALL(Status_set_cancelled, (status, 0));
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int free_sent(void *extra)
{
    free(extra);
    return 0;
}

/* What MPI calls when one of the layer's requests is cancelled: the layer sees to that before (sk_replica_cancel). What is sent always is. */
static int nothing(void *extra, int complete)
{
    (void)extra, (void)complete;
    return 0;
}

static int isend_synchronous(struct sk_copied *m, int dest, MPI_Request *out)
{
    struct sending *s = malloc(sizeof *s);
    if (!s)
        no_memory();
    *s = (struct sending){sending, m, dest, MPI_REQUEST_NULL};
    int rc = SK_CALL(Grequest_start, (tell_sent, free_sent, nothing, s, &s->handle));
    if (rc) {
        free(s);
        return rc;
    }
    m->waited = 1;
    sk_replica.awaits++;
    sending = s;
    *out = s->handle;
    sk_made_request(*out, MPI_COMM_WORLD, SK_OBJECT_COPIED);
    return 0;
}

void sk_replica_end_sends(void)
{
    for (struct sending **p = &sending, *s; (s = *p);) {
        if (!has_arrived(s->message, s->dest)) {
            p = &s->next;
            continue;
        }
        *p = s->next;
        s->message->waited = 0;
        sk_replica.awaits--;
        SK_CALL(Grequest_complete, (s->handle)); /* may free it */
    }
}

int sk_replica_isend(enum sk_logging_mode mode, const void *buf, int count, MPI_Datatype type, int dest, int tag, int context, MPI_Request *out)
{
    if (is_for_mpi(count, dest, tag))
        return SK_CALL(Isend, (buf, count, type, dest, tag, sk_world.comm, out));
    struct sk_copied *m = post(mode == SK_LOGGING_SYNCHRONOUS, buf, count, type, dest, tag, context);
    if (mode == SK_LOGGING_SYNCHRONOUS)
        return isend_synchronous(m, dest, out);
    return SK_CALL(Isend, (NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, sk_world.comm, out)); /* it is kept: the program may go on */
}

/* ---- receiving ---- */

void sk_replica_begin_receive(struct sk_replica_open *o)
{
    MPI_Comm c;
    int from = sk_replica_reach(sk_replica_feeder(o->source), o->source, o->context, &c);
    if (!o->channel) {
        o->channel = channel(o->source, o->context, o->tag);
        o->index = o->channel->posted++;
    }
    if (sk_gaps_begin(o))
        no_memory();
    int rc = o->piece ? SK_CALL(Irecv, (o->piece, o->n_piece, MPI_PACKED, from, o->tag, c, &o->request))
                      : SK_CALL(Irecv, (o->buf, o->count, o->type, from, o->tag, c, &o->request));
    if (rc)
        sk_replica_end_receive(o, rc);
}

/* How many of the channel have come, without a gap. Its receives stand in the order of their numbers. */
static uint64_t come(const struct sk_channel *c)
{
    const struct sk_replica_open *o = sk_replica.first;
    while (o && o->channel != c)
        o = o->next;
    return o ? o->index : c->posted;
}

/* To the sender's other copy: of all channels in which something has come. */
static void tell_fresh(struct sk_replica_peer *p, int other)
{
    uint64_t word[SK_CONTROL_WORDS] = {SK_CONTROL_ACK};
    int n = 1;
    for (size_t i = 0; i < p->channels.n; i++) {
        struct sk_channel *c = p->channels.at[i];
        if (!c->fresh)
            continue;
        c->fresh = 0;
        word[n] = (uint64_t)c->context;
        word[n + 1] = (uint64_t)c->tag;
        word[n + 2] = come(c);
        n += SK_CONTROL_ACK_WORDS;
        if (n + SK_CONTROL_ACK_WORDS > SK_CONTROL_WORDS) {
            sk_control_tell(other, word, n);
            n = 1;
        }
    }
    if (n > 1)
        sk_control_tell(other, word, n);
    p->fresh = p->fresh_bytes = 0;
}

/* Whoever could be asked for these again need keep them no more. */
static void acknowledge(const struct sk_replica_open *o)
{
    struct sk_channel *c = o->channel;
    if (!c || sk_replica_feeder(o->source) != sk_replica.copy)
        return;
    struct sk_replica_peer *p = &sk_replica.peer[o->source];
    int other = sk_replica_process(!sk_replica.copy, o->source), bytes = 0;
    if (sk_replica.dead[other])
        return;
    if (!o->rc)
        SK_CALL(Get_count, (&o->status, MPI_BYTE, &bytes));
    c->fresh = 1;
    p->fresh++;
    p->fresh_bytes += bytes > 0 ? (size_t)bytes : 0;
    if (p->fresh >= FRESH_MOST || p->fresh_bytes >= FRESH_BYTES)
        tell_fresh(p, other);
}

void sk_replica_end_receive(struct sk_replica_open *o, int rc)
{
    sk_receives_remove(o);
    sk_replica_found();
    o->rc = rc;
    o->done = 1;
    if (!o->taken)
        o->status.MPI_SOURCE = o->source;
    acknowledge(o);
    sk_gaps_end(o);
    if (o->channel)
        sk_bell_ring(sk_replica_process(sk_replica_feeder(o->source), o->source), SK_BELL_TAKEN); /* its send may have ended with it */
    if (o->members)
        sk_logging_translate(o->members, &o->status);
    if (o->own_type)
        SK_CALL(Type_free, (&o->type));
    if (o->handle != MPI_REQUEST_NULL)
        SK_CALL(Grequest_complete, (o->handle));
}

static void open_receive(struct sk_replica_open *o)
{
    int wild = o->source == MPI_ANY_SOURCE;
    sk_receives_add(o);
    if (wild)
        o->serial = sk_replica.serial++;
    if (!wild && o->tag != MPI_ANY_TAG && !sk_receives_is_behind(o))
        sk_replica_begin_receive(o);
    else if (sk_receives_first_waiting() == o) /* for one behind others there will be time when they have theirs */
        sk_replica_look();
}

int sk_replica_receives(MPI_Request handle)
{
    for (const struct sk_replica_open *o = sk_replica.first; o; o = o->next)
        if (o->handle == handle)
            return 1;
    return 0;
}

static int given(int rc, const struct sk_replica_open *o, MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE) {
        int error = status->MPI_ERROR; /* it is no concern of a call for one message */
        *status = o->status;
        status->MPI_ERROR = error;
    }
    if (rc)
        SK_CALL(Comm_call_errhandler, (o->members ? o->comm : sk_world.comm, rc));
    return rc;
}

static int is_for_mpi_to_receive(int count, int source, int tag)
{
    return count < 0 || source >= sk_replica.n || (source < 0 && source != MPI_ANY_SOURCE) || (tag < 0 && tag != MPI_ANY_TAG);
}

int sk_replica_recv(const struct sk_replica_known *as, void *buf, int count, MPI_Datatype type, int source, int tag, int context, MPI_Status *status)
{
    if (is_for_mpi_to_receive(count, source, tag))
        return SK_CALL(Recv, (buf, count, type, source, tag, sk_world.comm, status));
    struct sk_replica_open o = {.buf = buf, .type = type, .count = count, .source = source, .tag = tag, .context = context,
                                .request = MPI_REQUEST_NULL, .handle = MPI_REQUEST_NULL, .comm = as ? as->comm : MPI_COMM_WORLD,
                                .members = as ? as->members : NULL};
    open_receive(&o);
    while (!o.done)
        sk_replica_wait();
    return given(o.rc, &o, status);
}

static int tell_status(void *extra, MPI_Status *status)
{
    const struct sk_replica_open *o = extra;
    *status = o->status;
    return o->rc;
}

static int free_receive(void *extra)
{
    sk_members_let_go(((struct sk_replica_open *)extra)->members);
    free(extra);
    return 0;
}

int sk_replica_irecv(struct sk_members *g, MPI_Comm comm, void *buf, int count, MPI_Datatype type, int source, int tag, int context, MPI_Request *out)
{
    if (is_for_mpi_to_receive(count, source, tag))
        return SK_CALL(Irecv, (buf, count, type, source, tag, sk_world.comm, out));
    struct sk_replica_open *o = malloc(sizeof *o);
    if (!o)
        no_memory();
    *o = (struct sk_replica_open){.buf = buf, .type = type, .count = count, .source = source, .tag = tag, .context = context,
                                  .request = MPI_REQUEST_NULL, .handle = MPI_REQUEST_NULL, .comm = comm, .members = g ? sk_members_hold(g) : NULL};
    if (sk_plain_bytes(type) < 0 && !SK_CALL(Type_dup, (type, &o->type))) /* the program may free its own before this ends */
        o->own_type = 1;
    int rc = SK_CALL(Grequest_start, (tell_status, free_receive, nothing, o, &o->handle));
    if (rc) {
        sk_members_let_go(o->members);
        free(o);
        return rc;
    }
    *out = o->handle;
    struct sk_object *made = sk_made_request(*out, MPI_COMM_WORLD, SK_OBJECT_COPIED);
    if (made)
        made->more = o;
    if (made && g) { /* until the program hears of its end: the two processes of a rank come to that at the same place */
        made->of = (uint64_t)(uintptr_t)g;
        sk_made_begin_receive(g);
    }
    open_receive(o);
    return 0;
}

int sk_replica_exchange(const struct sk_replica_known *as, const void *send, int nsend, MPI_Datatype stype, int dest, int stag, int scontext, void *recv, int nrecv,
                        MPI_Datatype rtype, int source, int rtag, int rcontext, MPI_Status *status)
{
    const struct sk_copied *held = sk_replica.held;
    struct sk_copied *m = NULL;
    int rc = 0;
    if (is_for_mpi(nsend, dest, stag))
        rc = SK_CALL(Send, (send, nsend, stype, dest, stag, sk_world.comm));
    else
        sk_replica.held = m = post(0, send, nsend, stype, dest, stag, scontext);
    if (!rc)
        rc = sk_replica_recv(as, recv, nrecv, rtype, source, rtag, rcontext, status);
    if (m)
        wait_sent(m, dest);
    sk_replica.held = held;
    return rc;
}
