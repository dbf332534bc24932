/* The group's functions by those of MPI, on a communicator that nobody else uses. */
#include "group/mpi.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>

struct on_mpi {
    struct sk_group g;
    MPI_Comm comm;
    MPI_Request *list; /* these three of on_some */
    MPI_Status *status;
    int *index, room;
};

struct sk_request {
    MPI_Request r;
};

static MPI_Comm comm_of(struct sk_group *g)
{
    return ((struct on_mpi *)g)->comm;
}

static int code(int mpi)
{
    return mpi == MPI_SUCCESS ? 0 : SAIKAI_EMPI;
}

static MPI_Op op_of(enum sk_op op)
{
    return op == SK_OP_MIN ? MPI_MIN : op == SK_OP_MAX ? MPI_MAX : MPI_SUM;
}

static int on_barrier(struct sk_group *g)
{
    return code(MPI_Barrier(comm_of(g)));
}

static int on_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    int rc = 0;
    for (size_t done = 0; !rc && done < n;) { /* counts of MPI 3 are int */
        size_t part = n - done < INT_MAX ? n - done : INT_MAX;
        rc = code(MPI_Bcast((char *)data + done, (int)part, MPI_BYTE, root, comm_of(g)));
        done += part;
    }
    return rc;
}

static int on_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    return code(MPI_Allreduce(MPI_IN_PLACE, v, count, MPI_INT64_T, op_of(op), comm_of(g)));
}

static int on_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    if (n > INT_MAX)
        return SAIKAI_EINVAL;
    return code(MPI_Allgather(in, (int)n, MPI_BYTE, out, (int)n, MPI_BYTE, comm_of(g)));
}

static int on_iallreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op,
                         struct sk_request **req)
{
    struct sk_request *r = malloc(sizeof *r);
    if (!r)
        return SAIKAI_ENOMEM;
    int rc = code(MPI_Iallreduce(MPI_IN_PLACE, v, count, MPI_INT64_T, op_of(op), comm_of(g), &r->r));
    if (rc)
        free(r);
    else
        *req = r;
    return rc;
}

static int on_isend(struct sk_group *g, const void *data, size_t n, int to, int tag,
                    struct sk_request **req)
{
    struct sk_request *r = n <= INT_MAX ? malloc(sizeof *r) : NULL;
    if (!r)
        return n <= INT_MAX ? SAIKAI_ENOMEM : SAIKAI_EINVAL;
    int rc = code(MPI_Isend(data, (int)n, MPI_BYTE, to, tag, comm_of(g), &r->r));
    if (rc)
        free(r);
    else
        *req = r;
    return rc;
}

static int on_irecv(struct sk_group *g, void *data, size_t n, int from, int tag,
                    struct sk_request **req)
{
    struct sk_request *r = n <= INT_MAX ? malloc(sizeof *r) : NULL;
    if (!r)
        return n <= INT_MAX ? SAIKAI_ENOMEM : SAIKAI_EINVAL;
    int rc = code(MPI_Irecv(data, (int)n, MPI_BYTE, from, tag, comm_of(g), &r->r));
    if (rc)
        free(r);
    else
        *req = r;
    return rc;
}

static int on_test(struct sk_group *g, struct sk_request **req, int *done)
{
    (void)g;
    *done = 1;
    if (!*req)
        return 0;
    int rc = code(MPI_Test(&(*req)->r, done, MPI_STATUS_IGNORE));
    if (rc || *done) {
        free(*req);
        *req = NULL;
        *done = 1;
    }
    return rc;
}

static int on_wait(struct sk_group *g, struct sk_request **req)
{
    (void)g;
    if (!*req)
        return 0;
    int rc = code(MPI_Wait(&(*req)->r, MPI_STATUS_IGNORE));
    free(*req);
    *req = NULL;
    return rc;
}

static int make_room(struct on_mpi *m, int n)
{
    if (n <= m->room)
        return 0;
    MPI_Request *list = realloc(m->list, (size_t)n * sizeof *list);
    if (list)
        m->list = list;
    MPI_Status *status = realloc(m->status, (size_t)n * sizeof *status);
    if (status)
        m->status = status;
    int *index = realloc(m->index, (size_t)n * sizeof *index);
    if (index)
        m->index = index;
    if (!list || !status || !index)
        return SAIKAI_ENOMEM;
    m->room = n;
    return 0;
}

/* The core goes to whoever else has work between two looks: not every MPI does that by itself. */
static int on_some(struct sk_group *g, struct sk_request **const req[], int n, int block, int *ended)
{
    struct on_mpi *m = (struct on_mpi *)g;
    int rc = make_room(m, n), open = 0, count = 0;
    *ended = 0;
    if (rc)
        return rc;
    for (int i = 0; i < n; i++) {
        m->list[i] = *req[i] ? (*req[i])->r : MPI_REQUEST_NULL;
        open += *req[i] != NULL;
    }
    while (open && !rc && !count) {
        rc = code(MPI_Testsome(n, m->list, &count, m->index, m->status));
        if (count == MPI_UNDEFINED || !block)
            break;
        if (!count)
            sched_yield();
    }
    for (int i = 0; !rc && i < count; i++) {
        free(*req[m->index[i]]);
        *req[m->index[i]] = NULL;
        ++*ended;
    }
    return rc;
}

/* src/world/world.h: what is below does not know what is above. */
extern void saikai_world_quiet(const void *comm) __attribute__((weak));
extern int saikai_world_dup(const void *comm, void *copy) __attribute__((weak));

static const struct sk_group_ops mpi_ops;

/* Takes over comm, which must not be used by anyone else. */
static int wrap(MPI_Comm comm, struct sk_group **out)
{
    struct on_mpi *m = calloc(1, sizeof *m);
    if (!m) {
        MPI_Comm_free(&comm);
        return SAIKAI_ENOMEM;
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (saikai_world_quiet) /* the layer between program and MPI is there */
        saikai_world_quiet(&comm);
    m->g.ops = &mpi_ops;
    m->comm = comm;
    MPI_Comm_rank(comm, &m->g.rank);
    MPI_Comm_size(comm, &m->g.size);
    int level = MPI_THREAD_SINGLE;
    m->g.threads = MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
    *out = &m->g;
    return 0;
}

static int on_split(struct sk_group *g, int colour, int key, struct sk_group **out)
{
    MPI_Comm sub;
    int rc = code(MPI_Comm_split(comm_of(g), colour < 0 ? MPI_UNDEFINED : colour, key, &sub));
    if (rc)
        return rc;
    if (sub == MPI_COMM_NULL) {
        *out = NULL;
        return 0;
    }
    return wrap(sub, out);
}

static void on_free(struct sk_group *g)
{
    MPI_Comm comm = comm_of(g);
    MPI_Comm_free(&comm);
    free(((struct on_mpi *)g)->list);
    free(((struct on_mpi *)g)->status);
    free(((struct on_mpi *)g)->index);
    free(g);
}

static const struct sk_group_ops mpi_ops = {
    on_barrier, on_bcast, on_allreduce, on_allgather, on_iallreduce, on_isend,
    on_irecv,   on_test,  on_wait,      on_split,     on_free,      on_some,
};

int sk_group_mpi(const void *comm, struct sk_group **out, struct saikai_error *err)
{
    MPI_Comm copy;
    int made = saikai_world_dup ? saikai_world_dup(comm, &copy) : MPI_Comm_dup(*(const MPI_Comm *)comm, &copy);
    if (made != MPI_SUCCESS)
        return sk_fail(err, SAIKAI_EMPI, "cannot duplicate the communicator given to saikai_init");
    int rc = wrap(copy, out);
    return rc ? sk_fail(err, rc, "no memory for the group of ranks") : 0;
}

#ifdef SK_GROUP_MPI_PLUGIN

__attribute__((visibility("default"))) int sk_group_mpi_start(struct sk_group **out,
                                                              struct saikai_error *err)
{
    int provided;
    MPI_Comm world = MPI_COMM_WORLD;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return sk_fail(err, SAIKAI_EMPI, "MPI_Init failed");
    return sk_group_mpi(&world, out, err);
}

__attribute__((visibility("default"))) void sk_group_mpi_stop(struct sk_group *g)
{
    sk_group_free(g);
    MPI_Finalize();
}

#endif
