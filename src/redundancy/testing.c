#include "redundancy/testing.h"

#include "base/io.h"
#include "redundancy/parity_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    j->nodes = j->processes = nodes;
    j->files = 1;
    j->coding = (struct sk_coding){.scheme = scheme, .parity = parity, .block = 1024};
    j->generation = 7;
    for (int i = 0; i < MAX_NODES; i++) {
        j->size[i][0] = size;
        j->node_of[i] = j->claimed_by[i] = i;
    }
}

void job_parity_path(const struct job *j, int node, char out[400])
{
    snprintf(out, 400, "%s/node%d/parity.skp", j->top, node);
}

void job_data_path(const struct job *j, int node, int file, char out[400])
{
    snprintf(out, 400, "%s/node%d/data/part%d.bin", j->top, node, file);
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
    snprintf(path, sizeof path, "%s/node%d/data", j->top, node);
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

/* As a program does it that codes between its iterations. */
static int encode_slices(struct sk_group *g, struct job *j, const struct sk_encode_params *p)
{
    struct sk_encode *e = NULL;
    int done = 0, rc = sk_encode_begin(g, p, &e, &j->err[g->rank]);
    for (int i = 0; !rc && !done && i < 3 + g->rank; i++)
        rc = sk_encode_step(e, j->step, &done);
    if (!rc)
        rc = sk_encode_finish(e, &j->encoded[g->rank], &j->err[g->rank]);
    sk_encode_free(e);
    return rc;
}

static int encode_rank(struct sk_group *g, void *arg)
{
    struct job *j = arg;
    char parity[400], path[MAX_FILES][400];
    const char *list[MAX_FILES], *host[] = {"alpha", "beta", "gamma"};
    for (int f = 0; f < j->files; f++) {
        job_data_path(j, g->rank, f, path[f]);
        list[f] = path[f];
    }
    job_parity_path(j, g->rank, parity);
    /* the last members of a dedicated group have no data */
    int has_data = j->coding.placement != SK_DEDICATED || g->rank < g->size - j->coding.parity;
    struct sk_encode_params p = {.coding = j->coding,
                                 .generation = j->generation,
                                 .rank = (uint32_t)g->rank,
                                 .host = host[g->rank % 3],
                                 .files = has_data ? j->files : 0,
                                 .path = list,
                                 .mode = j->mode,
                                 .parity_path = parity,
                                 .no_sync = 1};
    j->rc[g->rank] = j->step ? encode_slices(g, j, &p)
                             : sk_encode(g, &p, &j->encoded[g->rank], &j->err[g->rank]);
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
        snprintf(dir, 400, "%s/node%d/data", j->top, node);
        job_parity_path(j, node, parity);
    } else {
        snprintf(dir, 400, "%s/node%d/of-rank%d/data", j->top, node, rank);
        snprintf(parity, 400, "%s/node%d/of-rank%d/parity.skp", j->top, node, rank);
    }
}

static int rebuild_rank(struct sk_group *g, void *arg)
{
    struct job *j = arg;
    char parity[400], dir[400], claim_dir[MAX_NODES][400], claim_parity[MAX_NODES][400];
    int node = j->node_of[g->rank], claims = 0;
    job_parity_path(j, node, parity);
    snprintf(dir, sizeof dir, "%s/node%d/data", j->top, node);
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
    snprintf(path, sizeof path, "%s/node%d/data", j->top, node);
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
        if (snprintf(dir, sizeof dir, "%s/node%d/data", j->top, i) && !job_intact(j, dir, i))
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
