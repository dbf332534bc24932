/* Chooses names and generations for files of other programs, encodes them, and rebuilds the newest
 * generation that the nodes have together. */
#include "redundancy/protect.h"

#include "base/file/io.h"
#include "redundancy/code/cost.h"
#include "redundancy/domains.h"
#include "redundancy/transfer/exchange.h"
#include "redundancy/set/parity_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(const struct sk_protect_params *p)
{
    return p->parity_name ? p->parity_name : "saikai";
}

static int path_of(const struct sk_protect_params *p, uint64_t generation, char out[PATH_MAX],
                   struct saikai_error *err)
{
    return sk_io_path(out, PATH_MAX, err, "%s/%s.%llu.skp", p->parity_dir, name_of(p),
                      (unsigned long long)generation);
}

/* Generation of a file name of ours, 0: not one. */
static uint64_t generation_of(const struct sk_protect_params *p, const char *file)
{
    size_t n = strlen(name_of(p));
    char *end;
    if (strncmp(file, name_of(p), n) || file[n] != '.' || file[n + 1] < '1' || file[n + 1] > '9')
        return 0;
    unsigned long long g = strtoull(file + n + 1, &end, 10);
    return strcmp(end, ".skp") ? 0 : g;
}

/* The newest generation here below the limit, 0: none. */
static uint64_t newest_below(const struct sk_protect_params *p, uint64_t limit)
{
    uint64_t newest = 0;
    DIR *d = opendir(p->parity_dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        uint64_t g = generation_of(p, e->d_name);
        if (g < limit && g > newest)
            newest = g;
    }
    if (d)
        closedir(d);
    return newest;
}

/* The newest one of all ranks. */
static int newest_of_all(struct sk_group *job, const struct sk_protect_params *p, uint64_t limit,
                         uint64_t *out, struct saikai_error *err)
{
    int64_t newest = (int64_t)newest_below(p, limit);
    int rc = sk_group_allreduce(job, &newest, 1, SK_OP_MAX);
    if (rc)
        return sk_fail(err, rc, "the ranks cannot speak with each other");
    *out = (uint64_t)newest;
    return 0;
}

static void remove_older(const struct sk_protect_params *p, uint64_t generation)
{
    for (uint64_t g; (g = newest_below(p, generation));) {
        char path[PATH_MAX];
        if (path_of(p, g, path, NULL) || sk_io_unlink(path, NULL))
            return; /* the next protection tries again */
    }
}

static int encode_files(struct sk_group *g, const struct sk_protect_params *p, uint32_t rank,
                        int number, struct sk_protect_result *r, struct saikai_error *err)
{
    char parity[PATH_MAX];
    char **path = calloc((size_t)p->files + 1, sizeof *path);
    int rc = path ? path_of(p, r->generation, parity, err)
                  : sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %d files", p->files);
    for (int i = 0; !rc && i < p->files; i++)
        if (asprintf(&path[i], "%s/%s", p->dir, p->name[i]) < 0)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %d files", p->files);
    struct sk_link_costs costs;
    rc = sk_group_verdict(g, rc, err);
    if (!rc)
        rc = sk_link_costs_measure(g, &costs, err);
    struct sk_encode_params e = {.coding = p->coding,
                                 .generation = r->generation,
                                 .group = (uint64_t)number,
                                 .rank = rank,
                                 .host = p->host,
                                 .files = p->files,
                                 .path = (const char *const *)path,
                                 .name = p->name,
                                 .mode = SK_FILES_COPY,
                                 .parity_path = parity};
    if (!e.coding.costs)
        e.coding.costs = &costs;
    if (!rc)
        rc = sk_encode(g, &e, &r->encoded, err);
    for (int i = 0; path && i < p->files; i++)
        free(path[i]);
    free(path);
    return rc;
}

int sk_protect_files(struct sk_group *job, const struct sk_protect_params *p,
                     struct sk_protect_result *r, struct saikai_error *err)
{
    struct sk_protect_result v = {.rank = (uint32_t)job->rank};
    struct sk_protect_params here = *p;
    char name[256] = "";
    struct sk_group *g = NULL;
    if (!here.host && !gethostname(name, sizeof name - 1))
        here.host = name; /* for the record, so that a loss can be told by its name */
    p = &here;
    int number = 0, members = sk_grouping_members(p->members, p->coding.parity, job->size);
    int rc = newest_of_all(job, p, UINT64_MAX, &v.generation, err);
    if (rc)
        return rc;
    v.generation++;
    rc = sk_grouping_split(job, p->host, p->rule, members, p->coding.parity + 1, &g, &number, err);
    if (rc)
        return rc;
    v.members = g->size;
    rc = encode_files(g, p, (uint32_t)job->rank, number, &v, err);
    sk_group_free(g);
    /* the older protection goes when no group needs it any more */
    rc = sk_group_verdict(job, rc, err);
    int64_t groups = number + 1;
    if (!rc && (rc = sk_group_allreduce(job, &groups, 1, SK_OP_MAX)))
        sk_fail(err, rc, "the ranks cannot speak with each other");
    if (rc)
        return rc;
    v.groups = (int)groups;
    remove_older(p, v.generation);
    if (r)
        *r = v;
    return 0;
}

/* ---- rebuild ---- */

/* Whose files this node has, by its parity file; and who else is in that group. */
static int look_here(const struct sk_protect_params *p, uint64_t generation, uint32_t *rank,
                     struct sk_buf *ranks)
{
    struct sk_parity_header h = {0};
    struct sk_parity_file *f = NULL;
    char path[PATH_MAX];
    *rank = SK_RANK_UNKNOWN;
    if (!path_of(p, generation, path, NULL) && !sk_parity_open(path, &h, &f, NULL) &&
        h.record.generation == generation)
        *rank = h.record.member[h.member].rank;
    sk_buf_put_u32(ranks, *rank);
    for (int i = 0; *rank != SK_RANK_UNKNOWN && i < h.record.code.members; i++)
        sk_buf_put_u32(ranks, h.record.member[i].rank);
    sk_parity_header_free(&h);
    sk_parity_file_free(f);
    return sk_buf_ok(ranks) ? 0 : SAIKAI_ENOMEM;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Ranks of the protected job that no process has, in order, to the processes that have none, in
 * order. all[n] are all ranks that the records name, has[size] what each process has. */
static int assign(struct sk_group *job, uint32_t *all, size_t n, const uint32_t *has,
                  uint32_t *mine, struct saikai_error *err)
{
    int next = 0, left = 0;
    *mine = SK_RANK_UNKNOWN;
    qsort(all, n, sizeof *all, by_number);
    for (size_t i = 0; i < n; i++) {
        int owner = -1;
        if (i && all[i] == all[i - 1])
            continue;
        for (int r = 0; r < job->size && owner < 0; r++)
            if (has[r] == all[i])
                owner = r;
        while (owner < 0 && next < job->size && has[next] != SK_RANK_UNKNOWN)
            next++;
        if (owner < 0 && next < job->size)
            owner = next++;
        left += owner < 0;
        if (owner == job->rank)
            *mine = all[i];
    }
    if (!left)
        return 0;
    return sk_fail(err, SAIKAI_ERANKS,
                   "the files of %d nodes have no process to go to: start %d more, on nodes "
                   "without parity files",
                   left, left);
}

static int choose_claim(struct sk_group *job, const struct sk_protect_params *p,
                        uint64_t generation, uint32_t *mine, struct saikai_error *err)
{
    struct sk_buf buf = {0};
    struct sk_exchange x;
    uint32_t here;
    int rc = look_here(p, generation, &here, &buf);
    if (rc)
        sk_fail(err, rc, "no memory for a list of ranks");
    rc = sk_exchange(job, rc, buf.data, buf.len, &x, err);
    size_t total = 0, at = 0;
    for (int r = 0; !rc && r < job->size; r++)
        total += x.size[r] / 4;
    uint32_t *all = rc ? NULL : calloc(total + 1, sizeof *all);
    uint32_t *has = rc ? NULL : calloc((size_t)job->size, sizeof *has);
    if (!rc)
        rc = sk_group_verdict(
            job, all && has ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of ranks"),
            err);
    for (int r = 0; !rc && r < job->size; r++) {
        memcpy(&has[r], sk_exchange_at(&x, r), 4);
        memcpy(all + at, sk_exchange_at(&x, r) + 4, x.size[r] - 4);
        at += x.size[r] / 4 - 1;
    }
    if (!rc)
        rc = assign(job, all, at, has, mine, err);
    free(all);
    free(has);
    sk_exchange_free(&x);
    sk_buf_free(&buf);
    return rc;
}

static int rebuild_generation(struct sk_group *job, const struct sk_protect_params *p,
                              struct sk_protect_result *v, struct saikai_error *err)
{
    char parity[PATH_MAX];
    int rc = choose_claim(job, p, v->generation, &v->rank, err);
    if (rc)
        return rc;
    rc = sk_group_verdict(job, path_of(p, v->generation, parity, err), err);
    if (rc)
        return rc;
    struct sk_holding holding = {parity, p->dir, SK_RANK_UNKNOWN};
    struct sk_claim claim = {v->rank, parity, p->dir};
    struct sk_rebuild_params params = {
        .generation = v->generation,
        .holding = &holding,
        .holdings = 1,
        .claim = &claim,
        .claims = v->rank != SK_RANK_UNKNOWN,
        .form = sk_is_auto(p->coding.form) ? NULL : p->coding.form,
        .window = p->coding.window};
    return sk_rebuild(job, &params, &v->rebuilt, err);
}

int sk_rebuild_files(struct sk_group *job, const struct sk_protect_params *p,
                     struct sk_protect_result *r, struct saikai_error *err)
{
    struct sk_protect_result v = {0};
    struct saikai_error first = {0}, now = {0};
    uint64_t limit = UINT64_MAX;
    for (;;) {
        int rc = newest_of_all(job, p, limit, &v.generation, &now);
        if (!rc && !v.generation) {
            if (first.code && err)
                *err = first;
            return first.code
                       ? first.code
                       : sk_fail(err, SAIKAI_ENOENT, "no parity file %s.*.skp in %s on any node",
                                 name_of(p), p->parity_dir);
        }
        if (!rc)
            rc = rebuild_generation(job, p, &v, &now);
        if (!rc) {
            v.groups = v.rebuilt.groups;
            if (r)
                *r = v;
            return 0;
        }
        if (!first.code)
            first = now;
        if (rc != SAIKAI_ELOST && rc != SAIKAI_ENOENT) {
            if (err)
                *err = now;
            return rc;
        }
        limit = v.generation; /* all ranks say the same here: the loss was found by all alike */
    }
}
