/* The program: runs with any number of ranks, checks every element after a restart, and damages or
 * removes files in between. */
#include "lib/data/attributes.h"
#include "lib/restart/reshape_testing.h"
#include "lib/whole/session_testing.h"

#include "base/file/io.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct sk_config *configure(const struct reshape_run *r, int rank)
{
    return world_config("store.local=%s/local%d; schedule.every=10; schedule.first=no; %s", world.dir, r->nodes ? rank % r->nodes : 0,
                        r->config ? r->config : "");
}

static double value(uint64_t place, int64_t it)
{
    return (double)place + 1e6 * (double)it;
}

struct block {
    size_t dims[3], offset[3], memory[3], count;
    double *data;
};

static int make_block(const struct reshape_run *r, int rank, struct block *b)
{
    const struct reshape_cut *k = &r->cut;
    int tiles = 1, at = rank;
    b->count = 1;
    for (int d = 0; d < k->ndims; d++)
        tiles *= k->grid[d];
    for (int d = k->ndims - 1; d >= 0; d--) {
        size_t n = (size_t)k->grid[d], i = (size_t)at % n, end;
        at /= k->grid[d];
        b->offset[d] = k->global[d] * i / n;
        end = k->global[d] * (i + 1) / n;
        if (r->odd == OVERLAP && end < k->global[d])
            end++;
        if (r->odd == HOLE && !d && end == k->global[d])
            end--;
        b->dims[d] = rank < tiles ? end - b->offset[d] : 0;
        b->memory[d] = b->dims[d] + 2 * k->halo;
        b->count *= b->memory[d];
    }
    b->data = malloc((b->count + 1) * sizeof *b->data);
    return b->data ? 0 : -1;
}

/* Call fn for each element of the memory; place: where it is in the global array, or -1 for a ghost
 * cell. */
static int for_all(const struct reshape_run *r, const struct block *b,
                   int (*fn)(double *x, int64_t place, const void *arg), const void *arg)
{
    int bad = 0;
    for (size_t i = 0; i < b->count; i++) {
        size_t at[3], left = i;
        int64_t place = 0;
        for (int d = r->cut.ndims - 1; d >= 0; d--) {
            at[d] = left % b->memory[d];
            left /= b->memory[d];
        }
        for (int d = 0; d < r->cut.ndims; d++) {
            int ghost = at[d] < r->cut.halo || at[d] >= r->cut.halo + b->dims[d];
            if (place >= 0)
                place = ghost ? -1
                              : place * (int64_t)r->cut.global[d] +
                                    (int64_t)(b->offset[d] + at[d] - r->cut.halo);
        }
        bad += fn(&b->data[i], place, arg);
    }
    return bad;
}

struct state {
    int64_t it;
    int rank;
    const struct reshape_run *run;
};

static int fill(double *x, int64_t place, const void *arg)
{
    const struct state *s = arg;
    *x = place < 0 ? -7 : value((uint64_t)place, s->it);
    if (s->run->odd == OVERLAP && s->rank && place >= 0)
        *x += 0.25; /* tells whose copy is restored */
    return 0;
}

static int is_wrong(double *x, int64_t place, const void *arg)
{
    const struct state *s = arg;
    if (place < 0)
        return *x != -7; /* ghost cells are left alone */
    double more = s->run->odd == OVERLAPPED && place > 5 ? 0.25 : 0;
    return fabs(*x - more - value((uint64_t)place, s->it)) > s->run->tolerance;
}

static int write_file(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[512];
    int due = sk_session_due(s, 0, it, &err);
    CHECK(due >= 0);
    if (!due)
        return 0;
    s->capture.in_files = 1;
    CHECK(!sk_session_file_path(s, "table.dat", path, sizeof path, &err));
    CHECK(!sk_io_replace(path, "x", 1, &err));
    s->capture.in_files = 0;
    CHECK(!sk_session_capture_files(s, 0, it, 1, &err));
    return world_settle(s, it);
}

/* What a rank protects, besides the array. */
struct others {
    int64_t step;
    double own;
    void *table;
    size_t length;
};

static int protect(struct sk_session *s, const struct reshape_run *r, struct block *b,
                   struct others *o, struct saikai_error *err)
{
    struct sk_var u = {.name = "u",
                       .type = SAIKAI_F64,
                       .ndims = r->cut.ndims,
                       .data = b->data,
                       .scope = SK_SKC_GLOBAL};
    struct sk_var step = {.name = "step", .type = SAIKAI_I64, .data = &o->step};
    struct sk_var table = {.name = "table",
                           .form = SK_VAR_ARRAY,
                           .type = SAIKAI_I32,
                           .ndims = 1,
                           .array.pdata = &o->table,
                           .array.pcount = &o->length};
    struct sk_var own = {.name = "own", .type = SAIKAI_F64, .data = &o->own};
    size_t halo[3] = {r->cut.halo, r->cut.halo, r->cut.halo};
    memcpy(u.dims, b->dims, sizeof b->dims);
    for (int d = 0; d < 3; d++) {
        u.tile.global[d] =
            d < r->cut.ndims ? r->cut.global[d] + (r->odd == DISAGREE && s->g->rank == 1) : 0;
        u.tile.offset[d] = d < r->cut.ndims ? b->offset[d] : 0;
    }
    int rc = r->cut.halo ? sk_var_set_halo(&u, halo, halo, err) : 0;
    if (!rc && s->g->rank % 2) /* the order is each rank's own affair */
        rc = sk_vars_put(&s->vars, &step, err);
    if (!rc)
        rc = sk_vars_put(&s->vars, &u, err);
    if (!rc)
        rc = sk_vars_put(&s->vars, &table, err);
    if (!rc && !(s->g->rank % 2))
        rc = sk_vars_put(&s->vars, &step, err);
    if (!rc && r->odd == PRIVATE)
        rc = sk_vars_put(&s->vars, &own, err);
    if (!rc && r->odd != FORGOTTEN)
        rc = sk_attribute_set(&s->vars, "step", "replicated", "yes", err);
    return rc ? rc : sk_attribute_set(&s->vars, "table", "replicated", "yes", err);
}

static int iterate(struct sk_session *s, const struct reshape_run *r, const struct block *b,
                   struct others *o, int64_t from)
{
    struct saikai_error err = {0};
    for (int64_t it = from; it < r->until;) {
        it++;
        for_all(r, b, fill, &(struct state){it, s->g->rank, r});
        o->step = it + (r->odd == UNEQUAL && s->g->rank == 2);
        ((int32_t *)o->table)[3] = (int32_t)it;
        int rc = r->odd == WITH_FILES ? write_file(s, it) : sk_session_candidate(s, 0, it, &err);
        CHECK(rc >= 0);
        if (rc)
            CHECK(!world_settle(s, it));
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct reshape_run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct block b;
    struct others o = {.length = 4 + (size_t)(r->until > 0), .table = calloc(5, 4)};
    int restored = 0, result = 0;
    int64_t from = 0;
    CHECK(!make_block(r, g->rank, &b));
    CHECK(!world_session(g, configure(r, g->rank), &s, &err));
    for_all(r, &b, fill, &(struct state){0, g->rank, r});
    CHECK(!protect(s, r, &b, &o, &err));
    int rc = sk_session_restart(s, &restored, &from, &err);
    if (r->any && rc == SAIKAI_EDAMAGED) {
        result = 0;
    } else if (r->expect < 0) {
        CHECK(rc == r->expect || rc == SAIKAI_EPEER);
        if (r->expect_text && !strstr(err.text, r->expect_text))
            fprintf(stderr, "expected: %s\n", r->expect_text);
        CHECK(!r->expect_text || strstr(err.text, r->expect_text));
    } else {
        CHECK(!rc && restored == r->expect);
        CHECK(r->any ? from == 10 || from == 20 : from == r->expect_from);
        CHECK(!for_all(r, &b, is_wrong, &(struct state){from, g->rank, r}));
        if (restored)
            CHECK(o.step == from && o.length == 5 && ((int32_t *)o.table)[3] == from);
        result = iterate(s, r, &b, &o, from);
        if (!result) /* rank 0 gives the lease back, and the others may still be removing what is old */
            result = sk_group_barrier(g);
    }
    free(b.data);
    if (r->finish && !result)
        result = sk_session_finalize(s, &err);
    else
        sk_session_abandon(s);
    free(o.table);
    return result;
}

void reshape_start(struct reshape_run r)
{
    int ranks = r.cut.ranks;
    if (!ranks) {
        ranks = 1;
        for (int d = 0; d < r.cut.ndims; d++)
            ranks *= r.cut.grid[d];
    }
    world_start(ranks, program, &r);
}

int reshape_begin_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-reshape-XXXXXX", SK_LOG_DEBUG);
}

int reshape_remove_dir(void **state)
{
    (void)state;
    return world_end();
}

const char *reshape_local(void)
{
    return world_local_of("local0");
}

void reshape_remove_copies(int incarnation, int64_t it, int rank)
{
    char path[256];
    world_path(path, reshape_local(), incarnation, it, rank);
    unlink(path);
    world_path(path, "prefix", incarnation, it, rank);
    unlink(path);
}
