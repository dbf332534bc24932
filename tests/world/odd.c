/* What programs seldom do, and the layer between program and MPI must not change: wrong arguments, error handlers that return or are the program's
 * own, attributes that are copied, trees of communicators, thousands of requests. Prints a line for each thing that was found; with and without
 * the layer they must be the same.
 * usage: odd [PART…]   errors, handlers, attributes, trees, requests, chance, cancelled; else all of them */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;

/* What each rank found. */
static void tell(const char *what, int mine)
{
    int all[64] = {0};
    MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank)
        return;
    printf("%s:", what);
    for (int r = 0; r < ranks; r++)
        printf(" %d", all[r]);
    printf("\n");
    fflush(stdout);
}

/* ---- wrong arguments ---- */

static int class_of(int rc)
{
    int class = rc;
    if (rc != MPI_SUCCESS)
        MPI_Error_class(rc, &class);
    return class;
}
#define FAILS(name, call) tell(name, class_of(call))

enum { FEW = 4, MANY = 9000 };
static int a[16 * MANY], b[16 * MANY];

static void wrong_messages(MPI_Comm w)
{
    int next = (rank + 1) % ranks, flag;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status s;
    FAILS("send to nobody", MPI_Send(a, FEW, MPI_INT, ranks, 1, w));
    FAILS("send with tag -5", MPI_Send(a, FEW, MPI_INT, next, -5, w));
    FAILS("send of -1", MPI_Send(a, -1, MPI_INT, next, 1, w));
    FAILS("send without a type", MPI_Send(a, FEW, MPI_DATATYPE_NULL, next, 1, w));
    FAILS("send on no communicator", MPI_Send(a, FEW, MPI_INT, next, 1, MPI_COMM_NULL));
    FAILS("ssend to nobody", MPI_Ssend(a, FEW, MPI_INT, -7, 1, w));
    FAILS("isend to nobody", MPI_Isend(a, FEW, MPI_INT, ranks, 1, w, &r));
    FAILS("isend of -1", MPI_Isend(a, -1, MPI_INT, next, 1, w, &r));
    FAILS("isend without a type", MPI_Isend(a, 1, MPI_DATATYPE_NULL, next, 1, w, &r));
    FAILS("recv from nobody", MPI_Recv(a, FEW, MPI_INT, ranks, 1, w, &s));
    FAILS("recv of -1", MPI_Recv(a, -1, MPI_INT, next, 1, w, &s));
    FAILS("recv with tag -9", MPI_Recv(a, 1, MPI_INT, next, -9, w, &s));
    FAILS("recv without a type", MPI_Recv(a, 1, MPI_DATATYPE_NULL, next, 1, w, &s));
    FAILS("irecv from nobody", MPI_Irecv(a, FEW, MPI_INT, -9, 1, w, &r));
    FAILS("irecv without a type", MPI_Irecv(a, FEW, MPI_DATATYPE_NULL, next, 1, w, &r));
    FAILS("sendrecv to nobody", MPI_Sendrecv(a, 1, MPI_INT, ranks, 1, b, 1, MPI_INT, ranks, 1, w, &s));
    FAILS("sendrecv_replace to nobody", MPI_Sendrecv_replace(a, 1, MPI_INT, ranks, 1, ranks, 1, w, &s));
    FAILS("sendrecv without types", MPI_Sendrecv(a, 1, MPI_DATATYPE_NULL, next, 1, b, 1, MPI_DATATYPE_NULL, next, 1, w, &s));
    FAILS("probe of nobody", MPI_Probe(ranks, 1, w, &s));
    FAILS("iprobe of nobody", MPI_Iprobe(ranks, 1, w, &flag, &s));
    FAILS("send_init to nobody", MPI_Send_init(a, 1, MPI_INT, ranks, 1, w, &r));
}

static void wrong_collectives(MPI_Comm w, int n)
{
    int counts[64], displs[64];
    MPI_Request r = MPI_REQUEST_NULL;
    for (int i = 0; i < 64; i++) {
        counts[i] = n;
        displs[i] = 0;
    }
    FAILS("bcast of no root", MPI_Bcast(a, n, MPI_INT, -3, w));
    FAILS("bcast of root beyond", MPI_Bcast(a, n, MPI_INT, ranks, w));
    FAILS("bcast of -1", MPI_Bcast(a, -1, MPI_INT, 0, w));
    FAILS("bcast without a type", MPI_Bcast(a, n, MPI_DATATYPE_NULL, 0, w));
    FAILS("reduce without an operation", MPI_Reduce(a, b, n, MPI_INT, MPI_OP_NULL, 0, w));
    FAILS("reduce to no root", MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, ranks, w));
    FAILS("allreduce without an operation", MPI_Allreduce(a, b, n, MPI_INT, MPI_OP_NULL, w));
    FAILS("allreduce without a type", MPI_Allreduce(a, b, n, MPI_DATATYPE_NULL, MPI_SUM, w));
    FAILS("allreduce of -1", MPI_Allreduce(a, b, -1, MPI_INT, MPI_SUM, w));
    FAILS("allreduce in one place", MPI_Allreduce(a, a, n, MPI_INT, MPI_SUM, w));
    FAILS("band of floats", MPI_Allreduce(a, b, n, MPI_FLOAT, MPI_BAND, w));
    FAILS("gather to no root", MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, ranks, w));
    FAILS("gather without a type", MPI_Gather(a, n, MPI_DATATYPE_NULL, b, n, MPI_DATATYPE_NULL, 0, w));
    FAILS("gatherv to no root", MPI_Gatherv(a, n, MPI_INT, b, counts, displs, MPI_INT, -9, w));
    FAILS("scatter of no root", MPI_Scatter(a, n, MPI_INT, b, n, MPI_INT, ranks + 3, w));
    FAILS("scatterv of no root", MPI_Scatterv(a, counts, displs, MPI_INT, b, n, MPI_INT, -9, w));
    FAILS("allgather without a type", MPI_Allgather(a, n, MPI_INT, b, n, MPI_DATATYPE_NULL, w));
    FAILS("allgather of -1", MPI_Allgather(a, -1, MPI_INT, b, -1, MPI_INT, w));
    FAILS("alltoall without a type", MPI_Alltoall(a, n, MPI_DATATYPE_NULL, b, n, MPI_DATATYPE_NULL, w));
    FAILS("scan without an operation", MPI_Scan(a, b, n, MPI_INT, MPI_OP_NULL, w));
    FAILS("exscan without a type", MPI_Exscan(a, b, n, MPI_DATATYPE_NULL, MPI_SUM, w));
    FAILS("reduce_scatter without an operation", MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_OP_NULL, w));
    FAILS("reduce_scatter_block of -1", MPI_Reduce_scatter_block(a, b, -1, MPI_INT, MPI_SUM, w));
    FAILS("ibcast of no root", MPI_Ibcast(a, n, MPI_INT, -3, w, &r));
    FAILS("iallreduce without an operation", MPI_Iallreduce(a, b, n, MPI_INT, MPI_OP_NULL, w, &r));
    FAILS("barrier on no communicator", MPI_Barrier(MPI_COMM_NULL));
    FAILS("bcast on no communicator", MPI_Bcast(a, n, MPI_INT, 0, MPI_COMM_NULL));
    FAILS("allreduce on no communicator", MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_NULL));
    FAILS("ibarrier on no communicator", MPI_Ibarrier(MPI_COMM_NULL, &r));
}

static void wrong_handles(MPI_Comm w)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Group g = MPI_GROUP_NULL, all;
    MPI_Request r = MPI_REQUEST_NULL;
    int n, flag, dims[2] = {ranks + 1, 2}, periods[2] = {0, 0}, list[1] = {ranks + 4};
    FAILS("rank in no communicator", MPI_Comm_rank(MPI_COMM_NULL, &n));
    FAILS("dup of no communicator", MPI_Comm_dup(MPI_COMM_NULL, &c));
    FAILS("free of no communicator", MPI_Comm_free(&c));
    FAILS("disconnect of no communicator", MPI_Comm_disconnect(&c));
    FAILS("compare with no communicator", MPI_Comm_compare(w, MPI_COMM_NULL, &n));
    FAILS("group of no communicator", MPI_Comm_group(MPI_COMM_NULL, &g));
    FAILS("free of no group", MPI_Group_free(&g));
    FAILS("size of no group", MPI_Group_size(MPI_GROUP_NULL, &n));
    MPI_Comm_group(w, &all);
    FAILS("group of ranks beyond", MPI_Group_incl(all, 1, list, &g));
    FAILS("create with no group", MPI_Comm_create(w, MPI_GROUP_NULL, &c));
    FAILS("remote size", MPI_Comm_remote_size(w, &n));
    FAILS("grid that is too large", MPI_Cart_create(w, 2, dims, periods, 0, &c));
    FAILS("coordinates of no grid", MPI_Cart_get(w, 2, dims, periods, dims));
    FAILS("split with a wrong color", MPI_Comm_split(w, -17, 0, &c));
    FAILS("wait for nothing", MPI_Wait(&r, MPI_STATUS_IGNORE));
    FAILS("start of nothing", MPI_Start(&r));
    FAILS("free of no request", MPI_Request_free(&r));
    FAILS("cancel of nothing", MPI_Cancel(&r));
    FAILS("status of nothing", MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
    MPI_Group_free(&all);
}

/* A message longer than its receive. */
static void too_long(MPI_Comm w, int n)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, rc;
    MPI_Request r[2];
    MPI_Status s[2] = {{.MPI_ERROR = MPI_SUCCESS}, {.MPI_ERROR = MPI_SUCCESS}};
    MPI_Irecv(b, n / 2, MPI_INT, before, 3, w, &r[0]);
    MPI_Isend(a, n, MPI_INT, next, 3, w, &r[1]);
    rc = MPI_Waitall(2, r, s);
    tell("too long, waitall", class_of(rc));
    tell("too long, its status", class_of(s[0].MPI_ERROR));
    MPI_Irecv(b, n / 2, MPI_INT, before, 4, w, &r[0]);
    MPI_Isend(a, n, MPI_INT, next, 4, w, &r[1]);
    tell("too long, wait", class_of(MPI_Wait(&r[0], s)));
    tell("too long, request", r[0] == MPI_REQUEST_NULL);
    MPI_Wait(&r[1], s);
    MPI_Isend(a, n, MPI_INT, next, 5, w, &r[1]);
    tell("too long, recv", class_of(MPI_Recv(b, n / 2, MPI_INT, before, 5, w, s)));
    MPI_Wait(&r[1], s);
    tell("too long, sendrecv", class_of(MPI_Sendrecv(a, n, MPI_INT, next, 6, b, n / 2, MPI_INT, before, 6, w, s)));
}

static void errors(void)
{
    MPI_Comm copy;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    wrong_messages(MPI_COMM_WORLD);
    wrong_collectives(MPI_COMM_WORLD, FEW);
    wrong_collectives(MPI_COMM_WORLD, MANY);
    wrong_handles(MPI_COMM_WORLD);
    too_long(MPI_COMM_WORLD, FEW);
    too_long(MPI_COMM_WORLD, MANY);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy); /* with its handler of errors */
    wrong_messages(copy);
    wrong_collectives(copy, FEW);
    wrong_collectives(copy, MANY);
    wrong_handles(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- error handlers of the program's own ---- */

static MPI_Comm heard_of;
static int heard, often;

static void hear(MPI_Comm *c, int *code, ...)
{
    heard_of = *c;
    heard = class_of(*code);
    often++;
}

static void handled(const char *what, MPI_Comm c)
{
    int n = 0;
    tell(what, often);
    tell("  as", heard);
    tell("  of it", heard_of == c);
    if (heard_of != MPI_COMM_NULL && often)
        MPI_Comm_size(heard_of, &n);
    tell("  its size", n);
    often = heard = 0;
    heard_of = MPI_COMM_NULL;
}

static void handle(MPI_Comm c, int n)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, value = 0;
    MPI_Request r[2];
    MPI_Send(a, 1, MPI_INT, ranks, 1, c);
    handled("send to nobody", c);
    MPI_Bcast(a, n, MPI_INT, -3, c);
    handled("bcast of no root", c);
    MPI_Allreduce(a, b, n, MPI_INT, MPI_OP_NULL, c);
    handled("allreduce without an operation", c);
    MPI_Comm_call_errhandler(c, MPI_ERR_OTHER);
    handled("called", c);
    MPI_Isend(a, n, MPI_INT, next, 3, c, &r[1]);
    MPI_Recv(b, n / 2, MPI_INT, before, 3, c, MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    handled("recv of what is too long", c);
    MPI_Isend(a, n, MPI_INT, next, 5, c, &r[1]);
    MPI_Recv(b, n / 2, MPI_INT, MPI_ANY_SOURCE, 5, c, MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    handled("recv of it from anybody", c);
    MPI_Irecv(b, n / 2, MPI_INT, MPI_ANY_SOURCE, 6, c, &r[0]);
    MPI_Isend(a, n, MPI_INT, next, 6, c, &r[1]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    handled("wait for it from anybody", c);
    MPI_Irecv(b, n / 2, MPI_INT, before, 4, c, &r[0]);
    MPI_Isend(a, n, MPI_INT, next, 4, c, &r[1]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    handled("wait for what is too long", c);
    MPI_Comm_get_name(c, (char[MPI_MAX_OBJECT_NAME]){0}, &value);
    handled("nothing wrong", c);
}

static void handlers(void)
{
    MPI_Comm copy, half, fresh;
    MPI_Errhandler mine, got;
    MPI_Comm_create_errhandler(hear, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got);
    tell("the handler of the world", got == mine);
    MPI_Errhandler_free(&got);
    handle(MPI_COMM_WORLD, FEW);
    handle(MPI_COMM_WORLD, MANY);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_errhandler(copy, &got);
    tell("the handler of a copy", got == mine);
    MPI_Errhandler_free(&got);
    handle(copy, FEW);
    handle(copy, MANY);
    MPI_Comm_free(&copy);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &half);
    handle(half, FEW);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    MPI_Comm_dup(half, &fresh);
    FAILS("returned", MPI_Send(a, 1, MPI_INT, ranks, 1, fresh));
    handled("not heard", fresh);
    MPI_Comm_free(&fresh);
    MPI_Comm_free(&half);
    MPI_Comm_rank(MPI_COMM_NULL, &often); /* an error of no communicator is one of the world */
    handled("of no communicator", MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&mine);
}

/* ---- attributes ---- */

static int copied, deleted, copied_of_world, elsewhere;

static int copy_attribute(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    (void)key;
    copied++;
    copied_of_world += old == MPI_COMM_WORLD;
    *(void **)out = (char *)in + *(int *)extra;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm c, int key, void *value, void *extra)
{
    int me = -1, n = -1;
    (void)c, (void)key, (void)value, (void)extra;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    elsewhere |= me != rank || n != ranks;
    deleted++;
    return MPI_SUCCESS;
}

static int refuse_copy(MPI_Comm old, int key, void *extra, void *in, void *out, int *flag)
{
    (void)old, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

static int value_of(MPI_Comm c, int key)
{
    int found = 0;
    char *value = NULL;
    MPI_Comm_get_attr(c, key, &value, &found);
    return found ? (int)(value - (char *)NULL) : -1;
}

static void attributes(void)
{
    static int one = 1;
    int key, bare, bad, found;
    int *most;
    MPI_Comm copy, twice, half;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &one);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &bare, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (char *)NULL + 10);
    MPI_Comm_set_attr(MPI_COMM_WORLD, bare, (char *)NULL + 20);
    tell("of the world", value_of(MPI_COMM_WORLD, key));
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    tell("of a copy", value_of(copy, key));
    tell("not copied", value_of(copy, bare));
    MPI_Comm_dup(copy, &twice);
    tell("of a copy's copy", value_of(twice, key));
    tell("copied", copied);
    tell("  of the world", copied_of_world);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    tell("of a part", value_of(half, key));
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (char *)NULL + 30);
    tell("deleted as it is set", deleted);
    tell("set anew", value_of(MPI_COMM_WORLD, key));
    MPI_Comm_free(&copy);
    MPI_Comm_free(&twice);
    MPI_Comm_free(&half);
    tell("deleted", deleted);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    tell("of the world, deleted", value_of(MPI_COMM_WORLD, key));
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    tell("the highest tag", found && *most > 1000);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_attr(copy, MPI_TAG_UB, &most, &found);
    tell("the highest tag of a copy", found && *most > 1000);
    MPI_Comm_free(&copy);
    MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &bad, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(MPI_COMM_WORLD, bad, NULL);
    copy = MPI_COMM_NULL;
    found = MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    tell("a copy is refused", found != MPI_SUCCESS);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, bad);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, bare);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    tell("deleted at last", deleted);
    tell("deleted elsewhere", elsewhere);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free_keyval(&bare);
    MPI_Comm_free_keyval(&bad);
}

/* ---- trees of communicators ---- */

static int sum_of_tree(MPI_Comm c, int depth)
{
    int me, n, sum = 0, below;
    MPI_Comm half, copy;
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c);
    if (n == 1 || !depth)
        return sum;
    MPI_Comm_dup(c, &copy);
    MPI_Comm_split(copy, me % 2, -me, &half);
    MPI_Comm_free(&copy);
    below = sum_of_tree(half, depth - 1);
    MPI_Comm_free(&half);
    return 7 * sum + below;
}

static void trees(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {1, 0}, v = 0, from, to, all = 0;
    int index[64], edges[128];
    MPI_Comm grid, row, graph, part, none;
    tell("a tree of splits", sum_of_tree(MPI_COMM_WORLD, 5));
    for (int i = 0; i < 60; i++)
        v += sum_of_tree(MPI_COMM_WORLD, 2);
    tell("many trees", v);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    MPI_Cart_sub(grid, keep, &row);
    MPI_Comm_rank(grid, &v);
    MPI_Allreduce(&v, &all, 1, MPI_INT, MPI_SUM, row);
    tell("a row of a grid", all);
    MPI_Cart_shift(grid, 0, 1, &from, &to);
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 9, &v, 1, MPI_INT, from, 9, grid, MPI_STATUS_IGNORE);
    tell("a neighbour in a grid", v);
    for (int i = 0; i < ranks; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + 1) % ranks;
        edges[2 * i + 1] = (i + ranks - 1) % ranks;
    }
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &graph);
    MPI_Graph_neighbors_count(graph, rank, &v);
    tell("neighbours in a graph", v);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &none);
    tell("no part", none == MPI_COMM_NULL);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &part);
    MPI_Comm_compare(part, MPI_COMM_WORLD, &v);
    tell("a node", v == MPI_CONGRUENT);
    if (none != MPI_COMM_NULL)
        MPI_Comm_free(&none);
    MPI_Comm_free(&part);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
}

/* ---- thousands of requests ---- */

static void requests(void)
{
    enum { LOTS = 3000 };
    static MPI_Request r[2 * LOTS];
    static MPI_Status s[2 * LOTS];
    static int in[LOTS], out[LOTS], indices[2 * LOTS];
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, sum = 0, n, left, index;
    for (int how = 0; how < 4; how++) {
        for (int i = 0; i < LOTS; i++) {
            in[i] = -1;
            out[i] = rank + i * (how + 1);
            MPI_Irecv(&in[i], 1, MPI_INT, how == 3 ? MPI_ANY_SOURCE : before, 100 + i % 7, MPI_COMM_WORLD, &r[LOTS - 1 - i]);
        }
        for (int i = 0; i < LOTS; i++)
            MPI_Isend(&out[i], 1, MPI_INT, next, 100 + i % 7, MPI_COMM_WORLD, &r[LOTS + i]);
        if (how == 0 || how == 3)
            MPI_Waitall(2 * LOTS, r, s);
        for (left = 2 * LOTS; how == 1 && left; left -= n)
            MPI_Waitsome(2 * LOTS, r, &n, indices, s);
        for (left = 2 * LOTS; how == 2 && left; left--)
            MPI_Waitany(2 * LOTS, r, &index, s);
        sum = 0;
        for (int i = 0; i < LOTS; i++)
            sum += in[i] * (i % 5 + 1);
        tell("thousands of requests", sum);
    }
}

/* Receives that are taken back, and what comes after them. */
static void cancelled(void)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, in[3] = {-1, -1, -1}, is = 0;
    MPI_Request r[3];
    MPI_Status s;
    for (int how = 0; how < 4; how++) {
        int source = how % 2 ? MPI_ANY_SOURCE : before, tag = how / 2 ? MPI_ANY_TAG : 3;
        MPI_Irecv(&in[0], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &r[1]);
        MPI_Cancel(&r[0]);
        MPI_Wait(&r[0], &s);
        MPI_Test_cancelled(&s, &is);
        tell("cancelled", is);
        MPI_Barrier(MPI_COMM_WORLD); /* nothing was sent before */
        MPI_Send(&rank, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
        MPI_Wait(&r[1], &s);
        MPI_Test_cancelled(&s, &is);
        tell("not cancelled", is);
        tell("what came", in[1]);
        tell("where nothing came", in[0]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* How many looks it takes until a collective operation has ended is chance; what is sent then follows from it. */
static void chance(void)
{
    enum { TURNS = 60, MOST = 50 };
    int next = (rank + 1) % ranks, good = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Request r[2];
        MPI_Status statuses[2];
        int mine = rank + turn, sum = 0, given = rank ? -1 : turn, n = 0, theirs = 0, left = 2, indices[2];
        usleep((useconds_t)(turn % (2 + rank)) * 300);
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
        MPI_Ibcast(&given, 1, MPI_INT, 0, MPI_COMM_WORLD, &r[1]);
        for (int index, flag; left; left -= flag) {
            if (turn % 3 == 0)
                MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE);
            else if (turn % 3 == 1)
                MPI_Test(&r[left - 1], &flag, MPI_STATUS_IGNORE);
            else
                MPI_Testsome(2, r, &flag, indices, statuses);
            for (; !flag && n < MOST; n++, flag = -1)
                MPI_Send(&n, 1, MPI_INT, next, 50, MPI_COMM_WORLD);
            flag = flag > 0 ? flag : 0;
        }
        MPI_Send(&n, 1, MPI_INT, next, 51, MPI_COMM_WORLD);
        MPI_Recv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good += sum == ranks * (ranks - 1) / 2 + ranks * turn && given == turn;
        for (int i = 0, got; i < theirs; i++) {
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            good -= got != i;
        }
    }
    tell("turns of chance", good);
}

static char **wanted;

static int is_wanted(const char *part)
{
    for (char **w = wanted; *w; w++)
        if (!strcmp(*w, part))
            return 1;
    return !*wanted;
}

static void body(void *arg)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"errors", errors}, {"handlers", handlers}, {"attributes", attributes}, {"trees", trees}, {"requests", requests}, {"chance", chance}, {"cancelled", cancelled}};
    (void)arg;
    long it = 0; /* nothing is ever saved, but with logging what chance decides is kept from here on */
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("it", &it, SAIKAI_I64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (is_wanted(parts[i].name))
            parts[i].run();
    saikai_finalize();
    if (!rank)
        printf("odd: verified\n");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    wanted = argv + 1;
    saikai_in_place(body, NULL);
    MPI_Finalize();
    return 0;
}
