/* Makes blocking calls of another group's non-blocking ones, with short sleeps between two
 * looks. */
#include "group/patient.h"

#include "base/clock.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { GATHER_TAG = 32760, BCAST_TAG = 32761, PART = 1 << 30 };

struct patient {
    struct sk_group g;
    struct sk_group *under;
    const atomic_int *stop;
};

static struct patient *of(struct sk_group *g)
{
    return (struct patient *)g;
}

/* Memory that a transfer may still write to when its wait was given up. It stays, and stays
 * reachable. */
struct kept {
    struct kept *next;
};
static _Atomic(struct kept *) all_kept;

static void *scratch_new(size_t n)
{
    struct kept *k = malloc(sizeof *k + n);
    return k ? k + 1 : NULL;
}

static void scratch_free(void *p, int under_way)
{
    struct kept *k = p ? (struct kept *)p - 1 : NULL;
    if (!under_way || !k) {
        free(k);
        return;
    }
    k->next = atomic_load(&all_kept);
    while (!atomic_compare_exchange_weak(&all_kept, &k->next, k))
        ;
}

static int on_some(struct sk_group *g, struct sk_request **const req[], int n, int block, int *ended)
{
    enum { QUICK = 50 };
    double pause = 10e-6;
    for (int looks = 0;; looks++) {
        int open = 0;
        int rc = sk_group_some(of(g)->under, req, n, 0, ended);
        for (int i = 0; i < n; i++)
            open += *req[i] != NULL;
        if (rc || *ended || !open)
            return rc;
        if (of(g)->stop && atomic_load(of(g)->stop))
            return SAIKAI_EPEER;
        if (!block)
            return 0;
        if (looks < QUICK) {
            sched_yield();
            continue;
        }
        sk_sleep(pause);
        pause = pause < 100e-6 ? 2 * pause : 200e-6;
    }
}

static int on_wait(struct sk_group *g, struct sk_request **req)
{
    int ended;
    return on_some(g, (struct sk_request **const[]){req}, 1, 1, &ended);
}

static int on_test(struct sk_group *g, struct sk_request **req, int *done)
{
    *done = 0;
    if (of(g)->stop && atomic_load(of(g)->stop))
        return SAIKAI_EPEER;
    return sk_group_test(of(g)->under, req, done);
}

static int on_iallreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op,
                         struct sk_request **req)
{
    return sk_group_iallreduce(of(g)->under, v, count, op, req);
}

static int on_isend(struct sk_group *g, const void *data, size_t n, int to, int tag,
                    struct sk_request **req)
{
    return sk_group_isend(of(g)->under, data, n, to, tag, req);
}

static int on_irecv(struct sk_group *g, void *data, size_t n, int from, int tag,
                    struct sk_request **req)
{
    return sk_group_irecv(of(g)->under, data, n, from, tag, req);
}

static int on_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    size_t n = (size_t)count * sizeof *v;
    int64_t *own = scratch_new(n);
    struct sk_request *req = NULL;
    if (!own)
        return SAIKAI_ENOMEM;
    memcpy(own, v, n);
    int rc = sk_group_iallreduce(of(g)->under, own, count, op, &req);
    if (!rc)
        rc = on_wait(g, &req);
    if (!rc)
        memcpy(v, own, n);
    scratch_free(own, req != NULL);
    return rc;
}

static int on_barrier(struct sk_group *g)
{
    int64_t v = 0;
    return on_allreduce(g, &v, 1, SK_OP_MIN);
}

/* Send and receive at once, and wait for both. *under_way: a transfer was given up. */
static int swap(struct sk_group *g, const void *out, size_t n_out, int to, void *in, size_t n_in,
                int from, int tag, int *under_way)
{
    struct sk_request *recv = NULL, *send = NULL;
    int rc = sk_group_irecv(of(g)->under, in, n_in, from, tag, &recv);
    if (!rc)
        rc = sk_group_isend(of(g)->under, out, n_out, to, tag, &send);
    if (!rc)
        rc = on_wait(g, &recv);
    if (!rc)
        rc = on_wait(g, &send);
    *under_way |= recv || send;
    return rc;
}

/* Each round doubles what a rank has: from the right-hand neighbours, whose ranks follow its own
 * (Bruck et al., "Efficient algorithms for all-to-all communications", 1997, concatenation). */
static int on_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    int size = g->size, under_way = 0, rc = 0;
    uint8_t *all = scratch_new(n * (size_t)size);
    if (!all)
        return SAIKAI_ENOMEM;
    if (n)
        memcpy(all, in, n);
    for (int have = 1; !rc && have < size; have *= 2) {
        size_t more = n * (size_t)(have < size - have ? have : size - have);
        rc = swap(g, all, more, (g->rank - have + size) % size, all + n * (size_t)have, more,
                  (g->rank + have) % size, GATHER_TAG, &under_way);
    }
    for (int i = 0; !rc && n && i < size; i++)
        memcpy((uint8_t *)out + n * (size_t)((g->rank + i) % size), all + n * (size_t)i, n);
    scratch_free(all, under_way);
    return rc;
}

/* One part down a binomial tree. */
static int bcast_part(struct sk_group *g, uint8_t *data, size_t n, int root, int *under_way)
{
    int size = g->size, place = (g->rank - root + size) % size, mask = 1, rc = 0;
    struct sk_request *req = NULL;
    for (; mask < size; mask *= 2)
        if (place & mask) {
            rc = sk_group_irecv(of(g)->under, data, n, (g->rank - mask + size) % size, BCAST_TAG,
                                &req);
            if (!rc)
                rc = on_wait(g, &req);
            break;
        }
    for (mask /= 2; !rc && mask; mask /= 2)
        if (place + mask < size) {
            rc = sk_group_isend(of(g)->under, data, n, (g->rank + mask) % size, BCAST_TAG, &req);
            if (!rc)
                rc = on_wait(g, &req);
        }
    *under_way = req != NULL;
    return rc;
}

static int on_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    int rc = 0, under_way = 0;
    size_t most = n < PART ? n : PART;
    uint8_t *own = scratch_new(most);
    if (!own)
        return SAIKAI_ENOMEM;
    for (size_t done = 0; !rc && done < n; done += most) {
        size_t part = n - done < most ? n - done : most;
        if (g->rank == root)
            memcpy(own, (uint8_t *)data + done, part);
        rc = bcast_part(g, own, part, root, &under_way);
        if (!rc && g->rank != root)
            memcpy((uint8_t *)data + done, own, part);
    }
    scratch_free(own, under_way);
    return rc;
}

static int on_split(struct sk_group *g, int colour, int key, struct sk_group **out)
{
    struct sk_group *sub = NULL;
    int rc = sk_group_split(of(g)->under, colour, key, &sub);
    if (!rc && !sub)
        *out = NULL;
    return rc || !sub ? rc : sk_group_patient(sub, of(g)->stop, out, NULL);
}

static void on_free(struct sk_group *g)
{
    sk_group_free(of(g)->under);
    free(g);
}

static const struct sk_group_ops patient_ops = {
    on_barrier, on_bcast, on_allreduce, on_allgather, on_iallreduce, on_isend,
    on_irecv,   on_test,  on_wait,      on_split,     on_free,      on_some,
};

int sk_group_patient(struct sk_group *g, const atomic_int *stop, struct sk_group **out,
                     struct saikai_error *err)
{
    struct patient *p = calloc(1, sizeof *p);
    if (!p) {
        sk_group_free(g);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a group of ranks");
    }
    *p = (struct patient){{&patient_ops, g->rank, g->size, g->threads}, g, stop};
    *out = &p->g;
    return 0;
}
