/* Sessions that go on with another number of ranks, or cut their arrays in another way: every rank
 * gets exactly its part, whoever wrote it and wherever the files are; and what cannot be is said.
 */
#include "lib/session.h"

#include "base/io.h"
#include "base/log.h"
#include "base/types.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64], last_log[4096];

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, err.text);                          \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

/* How a program cuts its array: a grid of ranks[d] tiles in each dimension; further ranks have
 * none. */
struct cut {
    int ndims;
    size_t global[3];
    int grid[3];
    int ranks;
    size_t halo;
};

enum oddity {
    REGULAR,
    PRIVATE,    /* one more variable, each rank's own */
    UNEQUAL,    /* "step" is not the same on all ranks */
    HOLE,       /* the last tile is one shorter in the first dimension */
    OVERLAP,    /* tiles reach one further; all but the lowest rank have other values there */
    OVERLAPPED, /* reads that, as two ranks wrote it of ten elements: number 5 is both ranks' */
    DISAGREE,   /* rank 1 declares another global array */
    WITH_FILES, /* checkpoints have a file of the program */
    FORGOTTEN,  /* "step" is not declared replicated */
};

struct run {
    const char *config;
    struct cut cut;
    int64_t until;
    int expect; /* result of restart: 1, 0 or an error */
    int64_t expect_from;
    const char *expect_text;
    enum oddity odd;
    int nodes; /* ranks share node-local directories with rank % nodes; 0: all of them one */
    double tolerance;
    int any;    /* 1: whatever is restored must be right, of iteration 10 or 20; SAIKAI_EDAMAGED is
                   right, too */
    int finish; /* 1: finalize; 0: leave as a killed program does */
};

static void log_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    size_t n = strlen(last_log);
    snprintf(last_log + n, sizeof last_log - n, "%s\n", line);
}

static struct sk_config *configure(const struct run *r, int rank)
{
    struct sk_config *c = sk_config_new();
    char text[512];
    snprintf(
        text, sizeof text,
        "store.prefix=%s/prefix; store.local=%s/local%d; schedule.poll=1ms; schedule.signals=; "
        "job.name=test; store.fsync=no; schedule.every=10; schedule.first=no; %s",
        dir, dir, r->nodes ? rank % r->nodes : 0, r->config ? r->config : "");
    return sk_config_set_all(c, text, SK_FROM_API, NULL) ? NULL : c;
}

static double value(uint64_t place, int64_t it)
{
    return (double)place + 1e6 * (double)it;
}

struct block {
    size_t dims[3], offset[3], memory[3], count;
    double *data;
};

static int make_block(const struct run *r, int rank, struct block *b)
{
    const struct cut *k = &r->cut;
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
static int for_all(const struct run *r, const struct block *b,
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
    const struct run *run;
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

static int settle(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!sk_session_wait(s, &err));
    int apart = *s->prefix_root && strcmp(s->prefix_root, s->local_root);
    while (apart && s->archived_seq < s->complete_seq) {
        sk_engine_drain(s->engine);
        CHECK(sk_session_due(s, 1, it, &err) == 0);
    }
    sk_engine_drain(s->engine);
    return 0;
}

static int write_file(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[512];
    int due = sk_session_due(s, 0, it, &err);
    CHECK(due >= 0);
    if (!due)
        return 0;
    s->in_files = 1;
    CHECK(!sk_session_file_path(s, "table.dat", path, sizeof path, &err));
    CHECK(!sk_io_replace(path, "x", 1, &err));
    s->in_files = 0;
    CHECK(!sk_session_capture_files(s, 0, it, 1, &err));
    return settle(s, it);
}

/* What a rank protects, besides the array. */
struct others {
    int64_t step;
    double own;
    void *table;
    size_t length;
};

static int protect(struct sk_session *s, const struct run *r, struct block *b, struct others *o,
                   struct saikai_error *err)
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
                           .pdata = &o->table,
                           .pcount = &o->length};
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
        rc = sk_vars_replicated(&s->vars, "step", err);
    return rc ? rc : sk_vars_replicated(&s->vars, "table", err);
}

static int iterate(struct sk_session *s, const struct run *r, const struct block *b,
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
            CHECK(!settle(s, it));
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_group *own;
    struct block b;
    struct others o = {.length = 4 + (size_t)(r->until > 0), .table = calloc(5, 4)};
    int restored = 0, result = 0;
    int64_t from = 0;
    CHECK(!make_block(r, g->rank, &b) && !sk_group_dup(g, &own));
    CHECK(!sk_session_new(own, configure(r, g->rank), "program", &s, &err));
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
    }
    free(b.data);
    if (r->finish && !result)
        result = sk_session_finalize(s, &err);
    else
        sk_session_abandon(s);
    free(o.table);
    return result;
}

static void run(struct run r)
{
    last_log[0] = 0;
    int ranks = r.cut.ranks;
    if (!ranks) {
        ranks = 1;
        for (int d = 0; d < r.cut.ndims; d++)
            ranks *= r.cut.grid[d];
    }
    int rc = sk_loop_run(ranks, program, &r);
    if (rc)
        fail_msg("run ended with %d (line %d):\n%s", rc, -1000 - rc, last_log);
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-reshape-XXXXXX");
    sk_log_set(log_line, NULL, SK_LOG_DEBUG);
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static const char *local_root(void)
{
    static char local[64];
    snprintf(local, sizeof local, "local0/saikai-%ld/test", (long)getuid());
    return local;
}

static void path_of(char *path, const char *root, int incarnation, int64_t it, int rank)
{
    snprintf(path, 256, "%s/%s/gen-%04d-%012lld-0/rank-%06d.skc", dir, root, incarnation,
             (long long)it, rank);
}

static void damage(const char *root, int incarnation, int64_t it, int rank)
{
    char path[256];
    path_of(path, root, incarnation, it, rank);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damage", 6, 200), 6);
    close(fd);
}

static void remove_copies(int incarnation, int64_t it, int rank)
{
    char path[256];
    path_of(path, local_root(), incarnation, it, rank);
    unlink(path);
    path_of(path, "prefix", incarnation, it, rank);
    unlink(path);
}

static void expect_log(const char *text)
{
    if (!strstr(last_log, text))
        fail_msg("the log does not say '%s':\n%s", text, last_log);
}

static struct cut slabs(int ranks)
{
    return (struct cut){3, {11, 6, 5}, {ranks, 1, 1}, 0, 0};
}

/* ---- tests ---- */

static void test_many_shapes(void **state)
{
    (void)state;
    static const struct cut cuts[][4] = {
        {{1, {1000}, {4}, 0, 0},
         {1, {1000}, {3}, 0, 2},
         {1, {1000}, {8}, 0, 0},
         {1, {1000}, {1}, 0, 1}},
        {{2, {17, 23}, {2, 2}, 0, 1},
         {2, {17, 23}, {1, 3}, 0, 0},
         {2, {17, 23}, {4, 2}, 0, 2},
         {2, {17, 23}, {7, 1}, 0, 1}},
        {{3, {9, 8, 7}, {2, 1, 2}, 0, 1},
         {3, {9, 8, 7}, {3, 1, 1}, 0, 0},
         {3, {9, 8, 7}, {2, 2, 2}, 0, 2},
         {3, {9, 8, 7}, {1, 1, 5}, 0, 1}},
        /* tiles larger than a chunk; ranks without any; more ranks than rows */
        {{2, {400, 1000}, {2, 2}, 0, 0},
         {2, {400, 1000}, {3, 1}, 5, 3},
         {2, {400, 1000}, {1, 2}, 0, 1},
         {2, {400, 1000}, {1, 1}, 3, 0}},
        {{1, {3}, {3}, 0, 0}, {1, {3}, {7}, 0, 1}, {1, {3}, {1}, 4, 0}, {1, {3}, {2}, 0, 0}},
    };
    static const char *const configs[] = {
        "", "codec.chains=*=shuffle+zstd", "store.local=none", "store.prefix=none",
        "codec.chains=u=predict; store.keep_local=3; store.keep_prefix=1"};
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        make_dir(NULL);
        run((struct run){.config = configs[k], .cut = cuts[k][0], .until = 25});
        for (int i = 1; i < 9; i++)
            run((struct run){.config = configs[(k + (size_t)i) % 2 ? k : k],
                             .cut = cuts[k][i % 4],
                             .until = 25 + 10 * i,
                             .expect = 1,
                             .expect_from = 10 + 10 * i});
        expect_log("written by");
        remove_dir(NULL);
    }
    make_dir(NULL);
}

static unsigned seed = 7;

static int below(int n)
{
    return rand_r(&seed) % n;
}

/* A random way to cut the same array. */
static struct cut random_cut(const struct cut *array)
{
    struct cut k = *array;
    int tiles = 1;
    for (int d = 0; d < k.ndims; d++) {
        k.grid[d] = 1 + below(8 / tiles < 4 ? 8 / tiles : 4);
        tiles *= k.grid[d];
    }
    k.halo = (size_t)below(3);
    k.ranks = below(4) ? 0 : tiles + 1;
    return k;
}

static struct cut random_array(void)
{
    struct cut k = {.ndims = 1 + below(3)};
    for (int d = 0; d < k.ndims; d++)
        k.global[d] = 1 + (size_t)below(below(4) ? 12 : 60);
    return k;
}

static const char *random_config(void)
{
    static const char *const configs[] = {
        "store.keep_local=2; store.prefix=none",
        "store.keep_local=2; store.prefix=none; codec.chains=u=shuffle+zstd",
        "store.keep_local=2; store.prefix=none; codec.chains=*=predict",
        "store.keep_prefix=2; store.local=none"};
    return configs[below(4)];
}

static void test_random_cuts(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        struct cut array = random_array();
        const char *config = random_config();
        remove_dir(NULL);
        make_dir(NULL);
        run((struct run){.config = config, .cut = random_cut(&array), .until = 15});
        run((struct run){.config = config,
                         .cut = random_cut(&array),
                         .until = 25,
                         .expect = 1,
                         .expect_from = 10});
        run((struct run){.config = config,
                         .cut = random_cut(&array),
                         .until = 25,
                         .expect = 1,
                         .expect_from = 20});
    }
}

/* A byte of a file is another one, or the file is shorter: never wrong data. */
static void spoil(const char *root)
{
    char path[256];
    int rank = 0, n;
    for (n = 0; n < 20; n++) {
        path_of(path, root, 1, 20, n);
        if (access(path, F_OK))
            break;
    }
    rank = below(n);
    path_of(path, root, 1, below(2) ? 20 : 10, rank);
    int fd = open(path, O_RDWR);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    assert_true(size > 0);
    off_t at = (off_t)below((int)size);
    uint8_t b;
    assert_int_equal(pread(fd, &b, 1, at), 1);
    b ^= (uint8_t)(1 << below(8));
    if (below(5))
        assert_int_equal(pwrite(fd, &b, 1, at), 1);
    else
        assert_int_equal(ftruncate(fd, at), 0);
    close(fd);
}

static void test_random_damage(void **state)
{
    (void)state;
    for (int k = 0; k < 60; k++) {
        struct cut array = random_array();
        const char *config = random_config();
        remove_dir(NULL);
        make_dir(NULL);
        run((struct run){.config = config, .cut = random_cut(&array), .until = 25});
        for (int times = below(3); times >= 0; times--)
            spoil(strstr(config, "store.local=none") ? "prefix" : local_root());
        run((struct run){.config = config, .cut = random_cut(&array), .expect = 1, .any = 1});
    }
}

static void test_other_tiles_of_as_many_ranks(void **state)
{
    (void)state;
    struct cut a = {2, {12, 10}, {4, 1}, 0, 0}, b = {2, {12, 10}, {2, 2}, 0, 1};
    run((struct run){.cut = a, .until = 15});
    run((struct run){.cut = b, .until = 25, .expect = 1, .expect_from = 10});
    run((struct run){.cut = b, .until = 35, .expect = 1, .expect_from = 20});
    run((struct run){.cut = a, .until = 15, .expect = 1, .expect_from = 30});
}

static void test_lossy_within_bounds(void **state)
{
    (void)state;
    struct cut a = {2, {300, 200}, {2, 2}, 0, 0}, b = {2, {300, 200}, {3, 1}, 0, 1};
    run((struct run){.config = "codec.bounds=u=abs:0.5", .cut = a, .until = 15});
    run((struct run){.cut = b, .until = 15, .expect = 1, .expect_from = 10, .tolerance = 0.5});
}

static void test_lost_and_damaged_files(void **state)
{
    (void)state;
    run((struct run){
        .cut = slabs(4), .until = 35, .config = "store.keep_local=3; store.keep_prefix=3"});
    damage(local_root(), 1, 30, 3); /* one copy of one: the other one */
    run((struct run){.cut = slabs(3), .until = 31, .expect = 1, .expect_from = 30});
    expect_log("rank-000003.skc");
    damage("prefix", 1, 30, 3); /* both: older, for every rank, also those that do not need it */
    run((struct run){.cut = slabs(2), .until = 21, .expect = 1, .expect_from = 20});
    expect_log("is damaged: trying the next older one");
    remove_copies(1, 20, 1); /* missing: it is not complete */
    run((struct run){.cut = slabs(5), .until = 11, .expect = 1, .expect_from = 10});
    damage(local_root(), 1, 10, 0);
    damage("prefix", 1, 10, 0);
    run((struct run){
        .cut = slabs(5), .expect = SAIKAI_EDAMAGED, .expect_text = "restart.mode=never"});
    run((struct run){
        .cut = slabs(4), .expect = SAIKAI_EDAMAGED, .expect_text = "restart.mode=never"});
}

static void test_without_the_node_local_copies(void **state)
{
    (void)state;
    char path[128];
    run((struct run){.cut = slabs(4), .until = 25});
    snprintf(path, sizeof path, "%s/local0", dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
    run((struct run){.cut = slabs(6), .until = 25, .expect = 1, .expect_from = 20});
}

static void test_from_archives_alone(void **state)
{
    (void)state;
    static const char config[] = "store.archive=aggregate; far.writers=2; codec.threads=1";
    char path[128];
    static const int ranks[] = {4, 3, 5, 4};
    int64_t from = 0;
    for (int i = 0; i < 4; i++, from += 20) {
        run((struct run){.cut = slabs(ranks[i]),
                         .config = config,
                         .until = from + 25,
                         .expect = from > 0,
                         .expect_from = from});
        snprintf(path, sizeof path, "%s/local0", dir);
        assert_int_equal(sk_io_rmtree(path, NULL), 0);
    }
}

static void test_several_nodes(void **state)
{
    (void)state;
    run((struct run){.cut = slabs(4), .until = 25, .nodes = 2, .config = "store.prefix=none"});
    run((struct run){.cut = slabs(3),
                     .nodes = 2,
                     .config = "store.prefix=none",
                     .expect = SAIKAI_ERANKS,
                     .expect_text = "several nodes: start once with 4 ranks"});
    run((struct run){.cut = slabs(4),
                     .until = 30,
                     .nodes = 2,
                     .expect = 1,
                     .expect_from = 20,
                     .config = "store.prefix=none"});
    remove_dir(NULL);
    make_dir(NULL);
    run((struct run){.cut = slabs(4), .until = 25, .nodes = 2});
    run((struct run){.cut = slabs(3),
                     .until = 35,
                     .nodes = 2,
                     .expect = 1,
                     .expect_from = 20}); /* by the prefix */
    run((struct run){.cut = slabs(5), .until = 35, .nodes = 3, .expect = 1, .expect_from = 30});
}

static void test_never_a_silent_fresh_start(void **state)
{
    (void)state;
    run((struct run){.cut = slabs(4), .until = 15});
    remove_copies(1, 10, 2);
    run((struct run){
        .cut = slabs(3),
        .expect = SAIKAI_ERANKS,
        .expect_text =
            "gen-0001-000000000010-0 was written by 4 ranks, and of 1 of them (rank 2) no file"});
    run((struct run){.cut = slabs(3), .until = 15, .config = "restart.mode=never"});
    run((struct run){.cut = slabs(2), .until = 15, .expect = 1, .expect_from = 10});
}

static void test_what_cannot_be(void **state)
{
    (void)state;
    run((struct run){.cut = slabs(3), .until = 15, .odd = PRIVATE});
    run((struct run){.cut = slabs(4),
                     .odd = PRIVATE,
                     .expect = SAIKAI_ERANKS,
                     .expect_text = "('own' is neither"});
    run((struct run){.cut = slabs(4),
                     .odd = FORGOTTEN,
                     .expect = SAIKAI_ERANKS,
                     .expect_text = "('step' is neither"});
    run((struct run){.cut = slabs(2),
                     .odd = PRIVATE,
                     .expect = SAIKAI_ERANKS,
                     .expect_text = "start it with 3"});
    run((struct run){.cut = {3, {12, 6, 5}, {2, 1, 1}, 0, 0},
                     .expect = SAIKAI_ECHANGED,
                     .expect_text = "the global array of 'u' is f64 [0:12, 0:6, 0:5] in this "
                                    "program but f64 [0:11, 0:6, 0:5]"});
    run((struct run){.cut = {2, {11, 30}, {2, 1}, 0, 0}, .expect = SAIKAI_ECHANGED});
    run((struct run){.cut = slabs(2),
                     .odd = DISAGREE,
                     .expect = SAIKAI_EINVAL,
                     .expect_text = "rank 1 protects other"});
    for (int i = 0; i < 3; i++) /* none of this has used the generation up; what nobody wants any
                                   more is no obstacle */
        run((struct run){.cut = slabs(4), .until = 11, .expect = 1, .expect_from = 10});
    expect_log("a variable 'own' that this program does not protect");
}

static void test_unequal_copies(void **state)
{
    (void)state;
    run((struct run){.cut = slabs(3), .until = 15, .odd = UNEQUAL});
    run((struct run){.cut = slabs(2),
                     .expect = SAIKAI_ERANKS,
                     .expect_text =
                         "variable 'step' is said to be the same on all ranks, but rank 2"});
}

static void test_files_of_the_program(void **state)
{
    (void)state;
    run((struct run){.cut = slabs(3), .until = 15, .odd = WITH_FILES});
    run((struct run){.cut = slabs(2),
                     .expect = SAIKAI_ERANKS,
                     .expect_text = "'table.dat', which belongs to one rank"});
    run((struct run){.cut = slabs(3), .until = 15, .expect = 1, .expect_from = 10});
}

static void test_gap(void **state)
{
    (void)state;
    run((struct run){.cut = slabs(4), .until = 15, .odd = HOLE});
    expect_log("parts of 'u' leave [10:11, 0:6, 0:5] of the global array to nobody");
    run((struct run){.cut = slabs(3),
                     .expect = SAIKAI_ERANKS,
                     .expect_text = "in gen-0001-000000000010-0 no rank saved [10:11, 0:6, 0:5] of "
                                    "the global array of 'u'"});
    run((struct run){.cut = slabs(3),
                     .odd = HOLE,
                     .until = 11,
                     .expect = 1,
                     .expect_from = 10}); /* the same hole */
    run((struct run){.cut = slabs(4), .odd = HOLE, .until = 11, .expect = 1, .expect_from = 10});
}

static void test_overlap(void **state)
{
    (void)state;
    struct run read = {
        .cut = {1, {10}, {1}, 0, 0}, .expect = 1, .expect_from = 10, .odd = OVERLAPPED};
    run((struct run){.cut = {1, {10}, {2}, 0, 0}, .until = 15, .odd = OVERLAP, .tolerance = 0.25});
    run(read);
    read.cut.grid[0] = 5;
    run(read);
}

static void test_a_halo_without_gaps(void **state)
{
    (void)state;
    double memory[6][5];
    struct sk_vars l = {0};
    struct saikai_error err = {0};
    struct sk_var v = {.name = "u",
                       .type = SAIKAI_F64,
                       .ndims = 2,
                       .dims = {4, 5},
                       .data = memory,
                       .scope = SK_SKC_GLOBAL,
                       .tile = {{8, 5}, {4, 0}}};
    assert_int_equal(sk_var_set_halo(&v, (size_t[]){1, 0}, (size_t[]){1, 0}, &err), 0);
    assert_int_equal(sk_vars_put(&l, &v, &err), 0);
    assert_int_equal(l.v[0].strided, 0); /* planes around planes: one piece of memory */
    assert_ptr_equal(l.v[0].data, memory[1]);
    v.data = memory;
    v.dims[1] = 4;
    assert_int_equal(sk_var_set_halo(&v, (size_t[]){1, 1}, (size_t[]){1, 0}, &err), 0);
    assert_int_equal(sk_vars_put(&l, &v, &err), 0);
    assert_int_equal(l.v[0].strided, 1);
    assert_ptr_equal(l.v[0].data, &memory[1][1]);
    assert_int_equal(sk_vars_replicated(&l, "u", &err), SAIKAI_EINVAL);
    v.tile.offset[0] = 5;
    assert_int_equal(sk_vars_put(&l, &v, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(
        err.text, "in dimension 0 its block of 4 at offset 5 ends behind the global array of 8"));
    sk_vars_free(&l);
}

/* Each rank on a node of its own, protected by parities of others; what is lost is not what another
 * number of ranks can read, and it is said; the prefix has it. */
static void test_protected_nodes(void **state)
{
    (void)state;
    const char *alone = "store.prefix=none; redundancy.scheme=xor; redundancy.group=2";
    const char *both = "redundancy.scheme=xor; redundancy.group=2; redundancy.helper=slices";
    run((struct run){.cut = slabs(4), .until = 25, .nodes = 4, .config = alone});
    run((struct run){.cut = slabs(3),
                     .nodes = 4,
                     .config = alone,
                     .expect = SAIKAI_ERANKS,
                     .expect_text = "(rank 3) no file"});
    remove_dir(NULL);
    make_dir(NULL);
    run((struct run){.cut = slabs(4), .until = 25, .nodes = 4, .config = both});
    run((struct run){
        .cut = slabs(3), .until = 35, .nodes = 4, .config = both, .expect = 1, .expect_from = 20});
    run((struct run){
        .cut = slabs(6), .until = 45, .nodes = 3, .config = both, .expect = 1, .expect_from = 30});
    run((struct run){
        .cut = slabs(6), .until = 55, .nodes = 3, .config = both, .expect = 1, .expect_from = 40});
}

/* ---- what becomes of the files ---- */

static int count_files(const char *root, int ranks_from)
{
    char path[128];
    struct sk_gen_list l;
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", dir, root);
    assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
    for (size_t i = 0; i < l.count; i++) {
        int *ranks;
        size_t count;
        assert_int_equal(sk_gen_ranks(path, l.gen[i], &ranks, &count, NULL), 0);
        for (size_t k = 0; k < count; k++)
            n += ranks[k] >= ranks_from;
        free(ranks);
    }
    sk_gen_list_free(&l);
    return n;
}

static void test_files_of_ranks_that_are_no_more(void **state)
{
    (void)state;
    const char *keep = "store.keep_prefix=1";
    char path[160];
    run((struct run){.cut = slabs(5), .until = 25, .config = keep});
    assert_int_equal(count_files("prefix", 0), 5);
    snprintf(path, sizeof path, "%s/%s/slot-0001-000004-7.tmp", dir, local_root());
    assert_int_equal(sk_io_replace(path, "left by a killed rank", 21, NULL), 0);
    /* until there is something newer, all of it stays */
    run((struct run){.cut = slabs(2), .until = 29, .config = keep, .expect = 1, .expect_from = 20});
    assert_int_equal(count_files("prefix", 0), 5);
    assert_int_equal(count_files(local_root(), 0), 5);
    assert_int_equal(access(path, F_OK), -1);
    run((struct run){.cut = slabs(2), .until = 35, .config = keep, .expect = 1, .expect_from = 20});
    assert_int_equal(count_files("prefix", 0), 2);
    assert_int_equal(count_files(local_root(), 0), 2);
    run((struct run){.cut = slabs(6),
                     .until = 45,
                     .config = "store.keep_prefix=2",
                     .expect = 1,
                     .expect_from = 30});
    assert_int_equal(count_files("prefix", 0), 2 + 6); /* both */
    assert_int_equal(count_files(local_root(), 0), 6);
    run((struct run){.cut = slabs(1),
                     .until = 55,
                     .config = "store.keep_prefix=2",
                     .expect = 1,
                     .expect_from = 40});
    assert_int_equal(count_files("prefix", 1),
                     5); /* the generation before the last is kept with all of its ranks */
    assert_int_equal(count_files(local_root(), 1), 0);
    run((struct run){.cut = slabs(1),
                     .until = 65,
                     .config = "store.keep_prefix=2",
                     .expect = 1,
                     .expect_from = 50});
    assert_int_equal(count_files("prefix", 1), 0);
    run((struct run){.cut = slabs(4), .until = 66, .expect = 1, .expect_from = 60, .finish = 1});
    assert_int_equal(count_files(local_root(), 0), 0);
}

static void test_crossing_between(void **state)
{
    (void)state;
    /* 4 wrote 10 and 20; 3 resumed, and its 30 is damaged: 3 ranks go back to what 4 wrote */
    run((struct run){.cut = slabs(4), .until = 25, .config = "store.keep_local=2"});
    run((struct run){.cut = slabs(3),
                     .until = 35,
                     .config = "store.keep_local=2",
                     .expect = 1,
                     .expect_from = 20});
    damage(local_root(), 2, 30, 1);
    damage("prefix", 2, 30, 1);
    run((struct run){.cut = slabs(3),
                     .until = 35,
                     .config = "store.keep_local=2",
                     .expect = 1,
                     .expect_from = 20});
    run((struct run){.cut = slabs(2), .until = 35, .expect = 1, .expect_from = 30});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        TEST(test_many_shapes),
        TEST(test_random_cuts),
        TEST(test_random_damage),
        TEST(test_other_tiles_of_as_many_ranks),
        TEST(test_lossy_within_bounds),
        TEST(test_lost_and_damaged_files),
        TEST(test_without_the_node_local_copies),
        TEST(test_from_archives_alone),
        TEST(test_several_nodes),
        TEST(test_never_a_silent_fresh_start),
        TEST(test_what_cannot_be),
        TEST(test_unequal_copies),
        TEST(test_files_of_the_program),
        TEST(test_gap),
        TEST(test_overlap),
        TEST(test_a_halo_without_gaps),
        TEST(test_protected_nodes),
        TEST(test_files_of_ranks_that_are_no_more),
        TEST(test_crossing_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
