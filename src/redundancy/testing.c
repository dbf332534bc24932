/* Makes the job's files, encodes, loses and rebuilds them with one thread per rank, and makes
 * operations fail on demand. */
#include "redundancy/testing.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "redundancy/set/parity_file.h"
#include "group/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who waits for a message is woken when one comes for it, or when the group breaks. */
static struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    unsigned long count;
} bells[MAX_NODES];

static void bells_make(void)
{
    for (int i = 0; i < MAX_NODES; i++) {
        pthread_mutex_init(&bells[i].lock, NULL);
        pthread_cond_init(&bells[i].rung, NULL);
    }
}

void job_make(struct job *j, const char *scheme, int nodes, int parity, uint64_t size)
{
    memset(j, 0, sizeof *j);
    const char *tmp = getenv("TMPDIR");
    snprintf(j->top, sizeof j->top, "%.150s/sk-redundancy-XXXXXX",
             tmp                        ? tmp
             : access("/dev/shm", W_OK) ? "/tmp"
                                        : "/dev/shm");
    if (!mkdtemp(j->top))
        abort();
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, bells_make);
    j->nodes = j->processes = nodes;
    j->files = 1;
    j->coding = (struct sk_encoding){.scheme = scheme, .parity = parity, .block = 1024};
    j->generation = 7;
    for (int i = 0; i < MAX_NODES; i++) {
        j->size[i][0] = size;
        j->node_of[i] = j->claimed_by[i] = i;
    }
}

static void parity_path_of(const struct job *j, uint64_t generation, int node, char out[400])
{
    snprintf(out, 400, "%s/node%d/g%llu/parity.skp", j->top, node, (unsigned long long)generation);
}

void job_parity_path(const struct job *j, int node, char out[400])
{
    parity_path_of(j, j->generation, node, out);
}

void job_data_path(const struct job *j, int node, int file, char out[400])
{
    snprintf(out, 400, "%s/node%d/g%llu/data/part%d.bin", j->top, node,
             (unsigned long long)j->generation, file);
}

static int job_dir(const struct job *j, int node, char out[400])
{
    return snprintf(out, 400, "%s/node%d/g%llu/data", j->top, node,
                    (unsigned long long)j->generation);
}

static uint8_t *content(const struct job *j, int rank, int file, size_t *n)
{
    *n = j->size[rank][file];
    uint8_t *p = malloc(*n + 1);
    uint64_t x = (uint64_t)rank * 1000003 + (uint64_t)file * 7919 + j->generation * 104729 + 1;
    for (size_t i = 0; p && i < *n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        p[i] = (uint8_t)(x >> 56);
    }
    return p;
}

void job_write_node(struct job *j, int node)
{
    char path[400];
    job_dir(j, node, path);
    sk_io_mkdirs(path, NULL);
    for (int f = 0; f < j->files; f++) {
        size_t n;
        uint8_t *p = content(j, node, f, &n);
        job_data_path(j, node, f, path);
        if (!p || sk_io_replace(path, p, n, NULL))
            abort();
        free(p);
    }
}

void job_write(struct job *j)
{
    for (int i = 0; i < j->nodes; i++)
        job_write_node(j, i);
}

/* ---- operations that fail on demand ---- */

static atomic_long seen, limit;
static atomic_int failing, broken;

/* 1: this operation has to fail. */
static int counted(void)
{
    if (broken || atomic_fetch_add(&seen, 1) + 1 != limit)
        return broken;
    if (!failing)
        _exit(9);
    return 1;
}

static int io_hook(const char *op, const char *path)
{
    return counted() ? ENOSPC : 0;
}

static int count_messages;

long job_break(int io, long n, int failure)
{
    long was = seen;
    seen = 0;
    limit = n;
    failing = failure;
    broken = 0;
    sk_io_hook = io ? io_hook : NULL;
    count_messages = !io;
    return was;
}

/* A group that breaks for all ranks at once, as a network does: nobody waits for ever for what will
 * not come. Its collectives are made of messages for that reason. */
struct fragile {
    struct sk_group g;
    struct sk_group *inner;
};

static void ring(struct bell *b)
{
    pthread_mutex_lock(&b->lock);
    b->count++;
    pthread_cond_broadcast(&b->rung);
    pthread_mutex_unlock(&b->lock);
}

static int message(void)
{
    if (count_messages && counted()) {
        broken = 1;
        for (int i = 0; i < MAX_NODES; i++)
            ring(&bells[i]);
    }
    return broken ? SAIKAI_EMPI : 0;
}

static struct sk_group *inner(struct sk_group *g)
{
    return ((struct fragile *)g)->inner;
}

static int fragile_isend(struct sk_group *g, const void *data, size_t n, int to, int tag,
                         struct sk_request **req)
{
    int rc = message();
    if (!rc)
        rc = sk_group_isend(inner(g), data, n, to, tag, req);
    ring(&bells[to]);
    return rc;
}

static int fragile_irecv(struct sk_group *g, void *data, size_t n, int from, int tag,
                         struct sk_request **req)
{
    return broken ? SAIKAI_EMPI : sk_group_irecv(inner(g), data, n, from, tag, req);
}

static int fragile_test(struct sk_group *g, struct sk_request **req, int *done)
{
    return broken ? SAIKAI_EMPI : sk_group_test(inner(g), req, done);
}

static int fragile_wait(struct sk_group *g, struct sk_request **req)
{
    struct bell *b = &bells[g->rank];
    for (;;) {
        int done = 0;
        pthread_mutex_lock(&b->lock);
        unsigned long heard = b->count;
        pthread_mutex_unlock(&b->lock);
        int rc = fragile_test(g, req, &done);
        if (rc || done)
            return rc;
        pthread_mutex_lock(&b->lock);
        while (b->count == heard)
            pthread_cond_wait(&b->rung, &b->lock);
        pthread_mutex_unlock(&b->lock);
    }
}

static int fragile_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    enum { TAG = 32766 };
    int rc = 0;
    for (int i = 0; !rc && i < g->size; i++) {
        struct sk_request *req = NULL;
        rc = fragile_isend(g, in, n, i, TAG, &req);
        if (!rc)
            rc = fragile_wait(g, &req);
    }
    for (int i = 0; !rc && i < g->size; i++) {
        struct sk_request *req = NULL;
        rc = fragile_irecv(g, (char *)out + (size_t)i * n, n, i, TAG, &req);
        if (!rc)
            rc = fragile_wait(g, &req);
    }
    return rc;
}

static int fragile_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    char *all = malloc(n * (size_t)g->size + 1);
    int rc = fragile_allgather(g, data, all, n);
    if (!rc)
        memcpy(data, all + n * (size_t)root, n);
    free(all);
    return rc;
}

static int fragile_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    int64_t *all = calloc((size_t)(count * g->size), sizeof *all);
    int rc = fragile_allgather(g, v, all, (size_t)count * sizeof *v);
    for (int k = 0; !rc && k < count; k++) {
        int64_t x = all[k];
        for (int i = 1; i < g->size; i++) {
            int64_t y = all[i * count + k];
            x = op == SK_OP_SUM ? x + y : (op == SK_OP_MIN) == (y < x) ? y : x;
        }
        v[k] = x;
    }
    free(all);
    return rc;
}

static const struct sk_group_ops fragile_ops = {
    .bcast = fragile_bcast,
    .allreduce = fragile_allreduce,
    .allgather = fragile_allgather,
    .isend = fragile_isend,
    .irecv = fragile_irecv,
    .test = fragile_test,
    .wait = fragile_wait,
};

/* As a program does it that codes between its iterations. */
static int encode_slices(struct sk_group *g, struct job *j, const struct sk_encode_params *p)
{
    struct sk_encode *e = NULL;
    int done = 0, rc = sk_encode_begin(g, p, &e, &j->err[g->rank]);
    for (int i = 0; !rc && !done && i < 3 + g->rank; i++)
        rc = sk_encode_step(e, j->step, &done);
    if (rc && !j->err[g->rank].text[0]) /* a step only has its code */
        sk_fail(&j->err[g->rank], rc, "the group failed in a step");
    if (!rc)
        rc = sk_encode_finish(e, &j->encoded[g->rank], &j->err[g->rank]);
    sk_encode_free(e);
    return rc;
}

static void lend(const struct job *j, int rank, int file, const char *path, struct sk_source *out)
{
    int fault = rank == 1 && !file ? (int)j->lend_fault : LEND_RIGHT;
    size_t n = j->size[rank][file];
    int fd = open(path, O_RDWR);
    uint8_t *map = n ? mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : NULL;
    if (fd < 0 || map == MAP_FAILED)
        abort();
    close(fd);
    *out = (struct sk_source){map, n, sk_hash64(map, n), 1};
    out->hash += fault == LEND_WRONG_HASH;
    out->size_bytes -= fault == LEND_SHORT;
    if (fault == LEND_CHANGED)
        map[n / 2] ^= 4;
}

static int encode_rank(struct sk_group *plain, void *arg)
{
    struct job *j = arg;
    struct fragile fragile = {{&fragile_ops, plain->rank, plain->size, 0}, plain};
    struct sk_group *g = j->fragile ? &fragile.g : plain;
    char parity[400], old[400], path[MAX_FILES][400];
    parity_path_of(j, j->recycle, g->rank, old);
    const char *list[MAX_FILES], *host[] = {"alpha", "beta", "gamma"};
    struct sk_source source[MAX_FILES] = {{0}};
    for (int f = 0; f < j->files; f++) {
        job_data_path(j, g->rank, f, path[f]);
        list[f] = path[f];
        if (j->lend)
            lend(j, g->rank, f, path[f], &source[f]);
    }
    job_parity_path(j, g->rank, parity);
    /* the last members of a dedicated group have no data */
    int has_data = j->coding.placement != SK_DEDICATED || g->rank < g->size - j->coding.parity;
    struct sk_encode_params p = {.coding = j->coding,
                                 .generation = j->generation,
                                 .store = j->store,
                                 .rank = (uint32_t)g->rank,
                                 .host = host[g->rank % 3],
                                 .files = has_data ? j->files : 0,
                                 .path = list,
                                 .source = j->lend ? source : NULL,
                                 .mode = j->mode,
                                 .kept = j->kept ? j->kept[g->rank] : NULL,
                                 .parity_path = parity,
                                 .recycle_path = j->recycle ? old : NULL,
                                 .no_sync = 1};
    if (j->disagree && g->rank == 1)
        p.coding.block = 2048;
    j->rc[g->rank] = j->step ? encode_slices(g, j, &p)
                             : sk_encode(g, &p, &j->encoded[g->rank], &j->err[g->rank]);
    for (int f = 0; j->lend && f < j->files; f++)
        if (source[f].map)
            munmap((void *)source[f].map, j->size[g->rank][f]);
    return 0;
}

static int worst(const struct job *j, int n)
{
    int rc = 0;
    for (int i = 0; i < n; i++)
        if (j->rc[i] && (!rc || rc == SAIKAI_EPEER))
            rc = j->rc[i];
    return rc;
}

int job_encode(struct job *j)
{
    memset(j->err, 0, sizeof j->err);
    int rc = sk_loop_run(j->nodes, encode_rank, j);
    return rc ? rc : worst(j, j->nodes);
}

void job_claim_paths(const struct job *j, int rank, char dir[400], char parity[400])
{
    int node = j->node_of[j->claimed_by[rank]];
    if (node == rank) {
        job_dir(j, node, dir);
        job_parity_path(j, node, parity);
    } else {
        snprintf(dir, 400, "%s/node%d/g%llu/of-rank%d/data", j->top, node,
                 (unsigned long long)j->generation, rank);
        snprintf(parity, 400, "%s/node%d/g%llu/of-rank%d/parity.skp", j->top, node,
                 (unsigned long long)j->generation, rank);
    }
}

static int rebuild_rank(struct sk_group *plain, void *arg)
{
    struct job *j = arg;
    struct fragile fragile = {{&fragile_ops, plain->rank, plain->size, 0}, plain};
    struct sk_group *g = j->fragile ? &fragile.g : plain;
    char parity[400], dir[400], claim_dir[MAX_NODES][400], claim_parity[MAX_NODES][400];
    int node = j->node_of[g->rank], claims = 0;
    job_parity_path(j, node, parity);
    job_dir(j, node, dir);
    struct sk_holding holding = {parity, dir, SK_RANK_UNKNOWN};
    struct sk_claim claim[MAX_NODES];
    for (int r = 0; r < j->nodes; r++) {
        if (j->claimed_by[r] != g->rank)
            continue;
        job_claim_paths(j, r, claim_dir[claims], claim_parity[claims]);
        claim[claims] = (struct sk_claim){(uint32_t)r, claim_parity[claims], claim_dir[claims]};
        claims++;
        if (r == node) /* who runs where it ran before knows whose files these are even without the
                          parity file */
            holding.rank = (uint32_t)r;
    }
    struct sk_rebuild_params p = {.generation = j->generation,
                                  .store = j->store,
                                  .holding = &holding,
                                  .holdings = 1,
                                  .claim = claim,
                                  .claims = claims,
                                  .form = j->form,
                                  .no_sync = 1};
    j->rc[g->rank] = sk_rebuild(g, &p, &j->rebuilt[g->rank], &j->err[g->rank]);
    return 0;
}

int job_rebuild(struct job *j)
{
    memset(j->err, 0, sizeof j->err);
    int rc = sk_loop_run(j->processes, rebuild_rank, j);
    return rc ? rc : worst(j, j->processes);
}

void job_lose(struct job *j, int node)
{
    char path[400];
    snprintf(path, sizeof path, "%s/node%d", j->top, node);
    sk_io_rmtree(path, NULL);
}

void job_lose_data(struct job *j, int node)
{
    char path[400];
    job_dir(j, node, path);
    sk_io_rmtree(path, NULL);
}

void job_lose_parity(struct job *j, int node)
{
    char path[400];
    job_parity_path(j, node, path);
    sk_io_unlink(path, NULL);
}

int job_intact(struct job *j, const char *dir, int rank)
{
    int same = 1;
    for (int f = 0; same && f < j->files; f++) {
        char path[400];
        size_t n, have = 0;
        void *data = NULL;
        uint8_t *p = content(j, rank, f, &n);
        snprintf(path, sizeof path, "%.380s/part%d.bin", dir, f);
        same = p && !sk_io_slurp(path, (size_t)1 << 30, &data, &have, NULL) && have == n &&
               !memcmp(p, data, n);
        free(data);
        free(p);
    }
    return same;
}

int job_all_intact(struct job *j)
{
    char dir[400];
    int data_nodes = j->nodes - (j->coding.placement == SK_DEDICATED ? j->coding.parity : 0);
    for (int i = 0; i < data_nodes; i++)
        if (job_dir(j, i, dir) && !job_intact(j, dir, i))
            return 0;
    return 1;
}

int job_claims_intact(struct job *j)
{
    for (int r = 0; r < j->nodes; r++) {
        char dir[400], parity[400];
        struct sk_parity_header h = {0};
        struct sk_parity_file *f = NULL;
        if (j->claimed_by[r] < 0)
            continue;
        job_claim_paths(j, r, dir, parity);
        int good = job_intact(j, dir, r) && !sk_parity_open(parity, &h, &f, NULL) &&
                   !sk_parity_check(f, NULL);
        sk_parity_header_free(&h);
        sk_parity_file_free(f);
        if (!good)
            return 0;
    }
    return 1;
}

void job_flip(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    if (!f || fseek(f, at, at < 0 ? SEEK_END : SEEK_SET))
        abort();
    int c = fgetc(f);
    fseek(f, -1, SEEK_CUR);
    fputc(c ^ 16, f);
    fclose(f);
}

void job_remove(struct job *j)
{
    sk_io_rmtree(j->top, NULL);
}
