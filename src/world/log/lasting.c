/* What a persistent request is to do each time, and the functions that make it. The handle is a persistent request of MPI's to nobody: it stays what
 * it is through a repair. */
#include "world/log/lasting.h"

#include "world/replica/message.h"
#include "world/view/wrong.h"
#include "world/wait.h"

#include <stdlib.h>

struct lasting {
    struct sk_members *members;
    enum sk_logging_mode mode;
    int receives, count, peer, tag, lane, own_type; /* peer, tag: rank in the world, wire tag; lane: of the protocol replication */
    void *buf;
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Request inner;
};

static struct lasting *find(MPI_Request handle)
{
    const struct sk_object *o = handle == MPI_REQUEST_NULL ? NULL : sk_objects_find(&sk_world.requests, SK_KEY(handle));
    return o && o->flags & SK_OBJECT_LASTING ? o->more : NULL;
}

MPI_Request *sk_lasting_inner(MPI_Request handle)
{
    struct lasting *l = sk_logging.lasting ? find(handle) : NULL;
    if (!l)
        return NULL;
    sk_logging_forward(1, &l->inner);
    return &l->inner;
}

int sk_lasting_start(MPI_Request handle)
{
    struct lasting *l = find(handle);
    if (!l)
        return -1;
    if (l->inner != MPI_REQUEST_NULL) {
        SK_CALL(Comm_call_errhandler, (sk_world.comm, MPI_ERR_REQUEST));
        return MPI_ERR_REQUEST;
    }
    if (sk_world.replicates)
        return l->receives ? sk_replica_irecv(l->members->context ? l->members : NULL, l->comm, l->buf, l->count, l->type, l->peer, l->tag, l->lane, &l->inner)
                           : sk_replica_isend(l->mode, l->buf, l->count, l->type, l->peer, l->tag, l->lane, &l->inner);
    return l->receives ? sk_logging_irecv(l->members, l->buf, l->count, l->type, l->peer, l->tag, &l->inner)
                       : sk_logging_isend(l->mode, l->buf, l->count, l->type, l->peer, l->tag, &l->inner);
}

static void let_go(struct lasting *l)
{
    if (l->own_type)
        SK_CALL(Type_free, (&l->type));
    if (l->receives)
        sk_made_end_receive(l->members);
    else
        sk_members_let_go(l->members);
    sk_logging.lasting--;
    free(l);
}

void sk_lasting_forget(MPI_Request handle)
{
    struct lasting *l = find(handle);
    if (!l)
        return;
    sk_logging_forward(1, &l->inner);
    if (sk_logging_was_tried(l->inner) || sk_replica_was_taken(l->inner))
        sk_wait(&l->inner, MPI_STATUS_IGNORE, 0);
    if (l->inner != MPI_REQUEST_NULL && l->receives)
        sk_world_cannot(SK_WORLD_FUNCTION, "MPI_Request_free of a receive that has not ended");
    let_go(l);
}

/* The peer and tag of a request as the protocol knows them: what MPI would refuse at once is refused at once, also where nothing is translated. */
static int address(struct sk_members *g, MPI_Comm comm, struct lasting *l)
{
    int any = l->receives && l->peer == MPI_ANY_SOURCE;
    if (!sk_world.replicates)
        return sk_logging_address(g, comm, &l->peer, &l->tag, l->receives);
    if (!g->context && l->peer != MPI_PROC_NULL && !any && (l->peer < 0 || l->peer >= sk_members_peers(g)->n))
        return sk_wrong(comm, MPI_ERR_RANK);
    if (!g->context && l->peer != MPI_PROC_NULL && l->tag < 0 && !(l->receives && l->tag == MPI_ANY_TAG))
        return sk_wrong(comm, MPI_ERR_TAG);
    return sk_replica_address(g, comm, &l->peer, &l->tag, l->receives, &l->lane);
}

/* The program may free its datatype meanwhile, and the communicator. */
static int make(struct sk_members *g, MPI_Comm comm, const struct lasting *how, MPI_Request *out)
{
    struct lasting *l = malloc(sizeof *l);
    int rc = MPI_ERR_NO_MEM;
    if (l) {
        *l = *how;
        rc = address(g, comm, l);
    }
    if (!rc)
        rc = SK_CALL(Recv_init, (NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, out));
    if (rc) {
        free(l);
        return rc;
    }
    l->comm = comm;
    l->members = g;
    if (l->receives)
        sk_made_begin_receive(g);
    else
        sk_members_hold(g);
    l->inner = MPI_REQUEST_NULL;
    l->own_type = sk_plain_bytes(l->type) < 0 && !SK_CALL(Type_dup, (how->type, &l->type));
    struct sk_object *o = sk_made_request(*out, MPI_COMM_SELF, SK_OBJECT_PERSISTENT | SK_OBJECT_LASTING);
    o->more = l;
    sk_logging.lasting++;
    return 0;
}

#define NO_CANNOT
#define CANNOT(what) sk_world_cannot(SK_WORLD_FUNCTION, what)
#define INIT(Name, buffer, is_receive, how, other, made)                                                               \
    SK_WRAP(Name, (buffer buf, int count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, MPI_Request *request))  \
    {                                                                                                                  \
        int plain = SK_PLAIN, rc;                                                                                      \
        struct sk_members *g = plain ? NULL : sk_logs_on(comm);                                                        \
        if (!plain && !g) {                                                                                            \
            other;                                                                                                     \
        }                                                                                                              \
        if (!plain && (rc = sk_world_enter(comm)))                                                                     \
            return rc;                                                                                                 \
        if (g && sk_wrong_message(buf, count, datatype, comm))                                                        \
            return SK_CALL(Name, (buf, count, datatype, MPI_PROC_NULL, tag, sk_asked(comm), request));                 \
        if (g)                                                                                                         \
            return make(g, comm, &(struct lasting){.mode = (how), .receives = (is_receive), .count = count, .peer = peer, .tag = tag, \
                                                   .buf = (void *)(uintptr_t)buf, .type = datatype}, request);         \
        rc = SK_CALL(Name, (buf, count, datatype, peer, tag, sk_comm(comm), request));                                 \
        if (!plain && !rc)                                                                                             \
            made;                                                                                                      \
        return rc;                                                                                                     \
    }
#define SENDS    sk_made_request(*request, comm, SK_OBJECT_PERSISTENT)
#define RECEIVES sk_made_receive(*request, comm, peer, SK_OBJECT_PERSISTENT)

INIT(Send_init, const void *, 0, SK_LOGGING_PLAIN, NO_CANNOT, SENDS)
INIT(Ssend_init, const void *, 0, SK_LOGGING_SYNCHRONOUS, NO_CANNOT, SENDS)
INIT(Rsend_init, const void *, 0, SK_LOGGING_PLAIN, NO_CANNOT, SENDS)
INIT(Bsend_init, const void *, 0, SK_LOGGING_BUFFERED, CANNOT("MPI_Bsend_init"), (void)0)
INIT(Recv_init, void *, 1, SK_LOGGING_PLAIN, NO_CANNOT, RECEIVES)
