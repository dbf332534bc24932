/* The protector, with an engine and a node of its own for each rank: what a coding holds, what it replaces, and what stays when it
 * fails. */
#include "lib/levels/protect/protector.h"

#include "base/file/io.h"
#include "base/log.h"
#include "group/loop.h"
#include "lib/engine/slots.h"
#include "redundancy/set/parity_file.h"
#include "store/form/lineage.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 4, CELLS = 8192, CHANGED = 16, BEFORE = 2, THIS = 3 };

#define CHECK(x)                                                                                                     \
    do {                                                                                                             \
        if (!(x)) {                                                                                                  \
            fprintf(stderr, "line %d, rank %d: %s: %s\n", __LINE__, g->rank, #x, n->err.text);                       \
            return -1000 - __LINE__;                                                                                 \
        }                                                                                                            \
    } while (0)

static char dir[] = "/tmp/saikai-protector-XXXXXX";

/* A rank, and the node that it is alone on. */
struct node {
    struct sk_config *config;
    struct sk_coding_policy *coding;
    struct sk_ledger *ledger;
    struct sk_engine *engine;
    struct sk_protector *p;
    struct saikai_error err;
    char root[64], host[8];
    int rank;
    double u[CELLS];
};

static int open_protector(struct sk_group *g, struct node *n, const char *settings)
{
    snprintf(n->host, sizeof n->host, "n%d", g->rank);
    snprintf(n->root, sizeof n->root, "%s/%d", dir, g->rank);
    n->rank = g->rank;
    n->config = sk_config_new();
    if (sk_io_mkdirs(n->root, NULL) || !n->config || sk_config_set_all(n->config, settings, SK_FROM_API, &n->err) ||
        sk_coding_policy_new(n->config, &n->coding, &n->err) || sk_ledger_new(16, &n->ledger, &n->err))
        return -1;
    struct sk_engine_config c = {.local_root = n->root, .incarnation = THIS, .rank = g->rank, .nranks = g->size, .keep_local = 1,
                                 .keep_prefix = 1, .ledger = n->ledger, .coding = n->coding, .limits = {.max_ratio = 100}};
    int rc = sk_engine_new(&c, &n->engine, &n->err);
    struct sk_protector_setup s = {g, n->config, n->engine, n->root, n->host, {{1}}, THIS, 0};
    return rc ? rc : sk_protector_new(&s, &n->p, &n->err);
}

static int close_all(struct sk_group *g, struct node *n)
{
    int rc = sk_group_barrier(g);
    sk_protector_free(n->p);
    sk_engine_free(n->engine);
    sk_ledger_free(n->ledger);
    sk_coding_policy_free(n->coding);
    sk_config_free(n->config);
    free(n);
    return rc;
}

static struct sk_gen gen_of(int64_t seq)
{
    return (struct sk_gen){THIS, 10 * seq, 0};
}

/* A checkpoint of the rank is committed; base: the number of the one that it builds on, 0: it is full. */
static int commit(struct node *n, int64_t seq, int64_t base)
{
    struct sk_ranges changed = {0};
    struct sk_skc_index *index = NULL;
    struct sk_slot *slot = NULL;
    struct sk_memory region = {0, (uint8_t *)n->u, sizeof n->u};
    uint64_t bytes = 0, given = seq;
    int64_t number = 0;
    while (number < seq) /* one that this rank has not committed is known all the same */
        if (sk_ledger_count(n->ledger) >= seq || sk_ledger_add(n->ledger, gen_of(sk_ledger_count(n->ledger) + 1), 1, &number, &n->err))
            return -1;
    for (int i = 0; i < CHANGED; i++)
        n->u[i] = (double)given + i + n->rank;
    sk_ranges_add(&changed, 0, 0, CHANGED * sizeof *n->u);
    struct sk_piece p[2] = {{.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = n->u, .size_bytes = sizeof n->u,
                             .changes_only = base != 0},
                            {.name = SK_LINEAGE_VAR, .type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_CHANGES,
                             .dims = {sk_delta_size(1, &changed)}, .size_bytes = sk_delta_size(1, &changed)}};
    int rc = sk_container_layout(p, base ? 2 : 1, &index, &bytes, &n->err);
    if (!rc)
        rc = sk_engine_acquire(n->engine, base ? SK_SLOT_DELTA : SK_SLOT_FULL, bytes, &slot, &n->err);
    if (!rc && base) {
        uint8_t *payload = NULL;
        rc = sk_delta_start(0, &region, 1, &changed, slot->map + index->chunks[index->vars[1].first_chunk].offset, p[1].size_bytes,
                            &payload, &n->err);
        if (!rc)
            memcpy(payload, n->u, CHANGED * sizeof *n->u);
    } else if (!rc) {
        memcpy(slot->map + index->chunks[index->vars[0].first_chunk].offset, n->u, sizeof n->u);
    }
    sk_ranges_free(&changed);
    if (rc)
        return rc;
    struct sk_gen b = base ? gen_of(base) : (struct sk_gen){0};
    struct sk_skc_header h = {.run_id = 7, .iteration = gen_of(seq).iteration, .incarnation = THIS, .nranks = N, .created_ms = 1,
                              .base_iteration = b.iteration, .base_incarnation = b.incarnation};
    sk_engine_submit(n->engine, slot, seq, gen_of(seq), &h, index, NULL, NULL);
    sk_engine_drain(n->engine);
    struct sk_engine_status st;
    sk_engine_status(n->engine, &st);
    return st.committed_seq == seq ? 0 : -1;
}

/* The generation is complete, and coded: what the protector says of that. */
static int protect(struct node *n, int64_t seq, int anew)
{
    struct sk_gen gen = {0};
    int64_t told = 0;
    sk_engine_complete(n->engine, seq);
    sk_engine_drain(n->engine);
    sk_protector_begin(n->p, gen_of(seq), seq, anew);
    if (!sk_protector_busy(n->p))
        return -1;
    int good = sk_protector_drain(n->p, &gen, &told);
    sk_engine_drain(n->engine);
    if (sk_protector_busy(n->p) || (good && (told != seq || sk_gen_key(gen) != sk_gen_key(gen_of(seq)))))
        return -1;
    return good;
}

static int has_data(const struct node *n, int64_t seq)
{
    char path[PATH_MAX];
    return !sk_gen_file(n->root, gen_of(seq), n->rank, path, sizeof path, NULL) && !access(path, F_OK);
}

/* The inode of the file, 0: there is none. */
static ino_t node_of(const char *path)
{
    struct stat sb;
    return stat(path, &sb) ? 0 : sb.st_ino;
}

static ino_t parity_of(const struct node *n, struct sk_gen gen, int rank, uint32_t coder)
{
    char path[PATH_MAX];
    return sk_parity_set_path(n->root, (struct sk_parity_set){gen, coder}, rank, path, sizeof path, NULL) ? 0 : node_of(path);
}

static ino_t parity(const struct node *n, int64_t seq)
{
    return parity_of(n, gen_of(seq), n->rank, THIS);
}

static ino_t spare(const struct node *n)
{
    char path[PATH_MAX];
    return sk_parity_spare_path(n->root, n->rank, path, sizeof path, NULL) ? 0 : node_of(path);
}

/* How many files of this rank the set has, and of how many bytes its parity is; -1: it is not in order. */
static int files_in(struct node *n, int64_t seq, uint64_t *bytes)
{
    char path[PATH_MAX];
    struct sk_parity_header h = {0};
    struct sk_parity_file *f = NULL;
    if (sk_parity_set_path(n->root, (struct sk_parity_set){gen_of(seq), THIS}, n->rank, path, sizeof path, &n->err) ||
        sk_parity_open(path, &h, &f, &n->err))
        return -1;
    int bad = sk_parity_check_table(f, &n->err) || h.record.generation != (uint64_t)sk_gen_key(gen_of(seq)) || h.store.b[0] != 1;
    const struct sk_member *m = &h.record.member[h.member];
    int count = bad || m->rank != (uint32_t)n->rank || strcmp(m->host, n->host) ? -1 : (int)m->parts;
    *bytes = h.blocks * h.record.block;
    sk_parity_file_free(f);
    sk_parity_header_free(&h);
    return count;
}

static int run(int (*program)(struct sk_group *g, void *arg))
{
    strcpy(strrchr(dir, '-') + 1, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    int rc = sk_loop_run(N, program, NULL);
    sk_io_rmtree(dir, NULL);
    return rc;
}

#define BEGIN(settings)                                                                                              \
    (void)arg;                                                                                                       \
    struct node *n = calloc(1, sizeof *n);                                                                           \
    if (!n)                                                                                                          \
        return -1;                                                                                                   \
    CHECK(!open_protector(g, n, settings) && n->p)

/* ---- one after the other ---- */

static int newer_ones(struct sk_group *g, void *arg)
{
    struct sk_protector_status st;
    struct sk_protector_news news;
    uint64_t bytes = 0;
    BEGIN("");
    CHECK(!commit(n, 1, 0) && protect(n, 1, 0) == 1);
    sk_protector_status(n->p, &st);
    CHECK(st.members == N && st.tolerated == 2 && st.groups == 1 && !st.failures && st.seconds > 0);
    CHECK(files_in(n, 1, &bytes) == 1 && bytes >= sizeof n->u && bytes == st.parity_bytes);
    CHECK(!commit(n, 2, 0));
    sk_engine_complete(n->engine, 2);
    sk_engine_drain(n->engine);
    CHECK(has_data(n, 1) && has_data(n, 2)); /* one stays by the retention, the other since it is what can be given back */
    ino_t first = parity(n, 1);
    CHECK(first && !spare(n));
    CHECK(protect(n, 2, 0) == 1);
    CHECK(!has_data(n, 1) && has_data(n, 2) && !parity(n, 1) && parity(n, 2));
    CHECK(spare(n) == first);
    CHECK(!commit(n, 3, 0) && protect(n, 3, 0) == 1);
    CHECK(parity(n, 3) == first && spare(n) && spare(n) != first); /* pages that are there are written again */
    sk_protector_tell(n->p, &news);
    CHECK(news.coded == 3 && news.ended == 3 && news.ready >= 3);
    return close_all(g, n);
}

static void a_newer_set_replaces_the_one_before(void **state)
{
    (void)state;
    assert_int_equal(run(newer_ones), 0);
}

/* ---- one that fails ---- */

static int one_rank_has_no_file(struct sk_group *g, void *arg)
{
    struct sk_protector_status st;
    struct sk_protector_news news;
    BEGIN("");
    CHECK(!commit(n, 1, 0) && protect(n, 1, 0) == 1);
    if (g->rank != 2)
        CHECK(!commit(n, 2, 0));
    CHECK(protect(n, 2, 0) == 0);
    sk_protector_status(n->p, &st);
    CHECK(st.failures == 1 && strstr(st.last_error.text, "is not protected (the one before stays so)"));
    CHECK(strstr(st.last_error.text, "gen-0003-000000000020-0"));
    CHECK(st.last_error.code == (g->rank == 2 ? SAIKAI_ENOENT : SAIKAI_EPEER));
    CHECK(has_data(n, 1) && parity(n, 1) && !parity(n, 2));
    sk_protector_tell(n->p, &news);
    CHECK(news.coded == 1 && news.ended == 2);
    CHECK(!commit(n, 3, 0) && protect(n, 3, 0) == 1);
    sk_protector_status(n->p, &st);
    CHECK(st.failures == 1 && parity(n, 3) && !parity(n, 1) && !has_data(n, 1) && !has_data(n, 2));
    return close_all(g, n);
}

static void one_that_fails_leaves_the_set_before(void **state)
{
    (void)state;
    sk_log_set(sk_log_nowhere, NULL, SK_LOG_ERROR);
    assert_int_equal(run(one_rank_has_no_file), 0);
    sk_log_set(NULL, NULL, SK_LOG_WARN);
}

/* The parity of the second generation does not come to its place on one of the nodes. */
static int one_cannot_place_it(const char *op, const char *path)
{
    return !strcmp(op, "rename") && strstr(path, "/3/gen-0003-000000000020-0/") ? EIO : 0;
}

/* The ranks of another group have theirs: half a job that is protected is none. */
static int one_group_fails(struct sk_group *g, void *arg)
{
    struct sk_protector_status st;
    BEGIN("redundancy.group=2");
    CHECK(!commit(n, 1, 0) && protect(n, 1, 0) == 1 && !commit(n, 2, 0) && !sk_group_barrier(g));
    sk_protector_status(n->p, &st);
    CHECK(st.groups == 2 && st.members == 2);
    if (!g->rank)
        sk_io_hook = one_cannot_place_it;
    CHECK(!sk_group_barrier(g) && protect(n, 2, 0) == 0 && !sk_group_barrier(g));
    if (!g->rank)
        sk_io_hook = NULL;
    sk_protector_status(n->p, &st);
    CHECK(st.failures == 1 && (g->rank != 3 || st.last_error.code == SAIKAI_EIO));
    CHECK(has_data(n, 1) && parity(n, 1) && has_data(n, 2) && !parity(n, 2));
    CHECK(!sk_group_barrier(g) && !commit(n, 3, 0) && protect(n, 3, 0) == 1 && parity(n, 3) && !parity(n, 1) && !has_data(n, 2));
    return close_all(g, n);
}

static void half_a_job_is_not_protected(void **state)
{
    (void)state;
    sk_log_set(sk_log_nowhere, NULL, SK_LOG_ERROR);
    assert_int_equal(run(one_group_fails), 0);
    sk_log_set(NULL, NULL, SK_LOG_WARN);
}

/* ---- those that build on others ---- */

static int chain(struct sk_group *g, void *arg)
{
    uint64_t bytes = 0;
    BEGIN("");
    for (int64_t seq = 1; seq <= 3; seq++) {
        CHECK(!commit(n, seq, seq - 1) && protect(n, seq, 0) == 1);
        CHECK(files_in(n, seq, &bytes) == 1); /* the others are in older sets, which stay */
        for (int64_t old = 1; old <= seq; old++)
            CHECK(has_data(n, old) && parity(n, old));
    }
    CHECK(!commit(n, 4, 3) && !commit(n, 5, 4) && protect(n, 5, 0) == 1);
    CHECK(files_in(n, 5, &bytes) == 2 && !parity(n, 4) && parity(n, 3)); /* no set has had the fourth */
    CHECK(!commit(n, 6, 5) && protect(n, 6, 1) == 1);
    CHECK(files_in(n, 6, &bytes) == 6); /* coded anew: older sets are of no use */
    for (int64_t old = 1; old <= 5; old++)
        CHECK(has_data(n, old) && !parity(n, old));
    CHECK(!commit(n, 7, 0) && protect(n, 7, 0) == 1);
    CHECK(files_in(n, 7, &bytes) == 1);
    for (int64_t old = 1; old <= 6; old++)
        CHECK(!has_data(n, old) && !parity(n, old));
    return close_all(g, n);
}

static void a_set_that_others_build_on_stays(void **state)
{
    (void)state;
    assert_int_equal(run(chain), 0);
}

/* ---- what earlier starts left ---- */

static int put_parity(const struct node *n, struct sk_gen gen, int rank, uint32_t coder)
{
    char path[PATH_MAX], parent[PATH_MAX];
    if (sk_parity_set_path(n->root, (struct sk_parity_set){gen, coder}, rank, path, sizeof path, NULL) ||
        sk_gen_dir(n->root, gen, parent, sizeof parent, NULL) || sk_io_mkdirs(parent, NULL))
        return -1;
    FILE *f = fopen(path, "w");
    return f ? fclose(f) : -1;
}

static int earlier(struct sk_group *g, void *arg)
{
    const struct sk_gen old = {BEFORE, 500, 0}, other = {BEFORE, 400, 0}, newer = {THIS, 9999, 0};
    const int neighbour = (g->rank + 1) % N;
    char path[PATH_MAX];
    BEGIN("redundancy.scheme=xor");
    CHECK(!put_parity(n, old, n->rank, BEFORE) && !put_parity(n, other, neighbour, BEFORE) && !put_parity(n, other, N, BEFORE) &&
          !put_parity(n, newer, n->rank, THIS));
    sk_engine_adopt(n->engine, old);
    sk_protector_adopt(n->p, (struct sk_parity_set){old, BEFORE});
    sk_engine_set_earlier(n->engine, arg ? SK_EARLIER_STAY : SK_EARLIER_RESUMED);
    CHECK(!commit(n, 1, 0) && protect(n, 1, 0) == 1);
    struct sk_protector_status st;
    sk_protector_status(n->p, &st);
    CHECK(st.tolerated == 1 && st.members == N);
    CHECK(!commit(n, 2, 0) && protect(n, 2, 0) == 1);
    if (arg) {
        CHECK(parity_of(n, old, n->rank, BEFORE) && parity_of(n, other, neighbour, BEFORE) && parity_of(n, other, N, BEFORE));
    } else {
        CHECK(!parity_of(n, old, n->rank, BEFORE));
        CHECK(!parity_of(n, other, neighbour, BEFORE) && !parity_of(n, other, N, BEFORE)); /* their ranks run elsewhere now, or nowhere */
        CHECK(!sk_gen_dir(n->root, other, path, sizeof path, NULL) && access(path, F_OK));
    }
    CHECK(parity_of(n, newer, n->rank, THIS)); /* newer than what is protected: it may become so */
    CHECK(parity(n, 2) && !parity(n, 1));
    return close_all(g, n);
}

static int earlier_stay(struct sk_group *g, void *arg)
{
    (void)arg;
    return earlier(g, "they stay");
}

static void what_earlier_starts_left_goes_when_it_may(void **state)
{
    (void)state;
    assert_int_equal(run(earlier), 0);
    assert_int_equal(run(earlier_stay), 0);
}

/* More than it keeps in mind: of those that an earlier start left the newest stay until something is protected in their place, also when
 * a coding fails meanwhile. */
static int many(struct sk_group *g, void *arg)
{
    enum { KEPT = 32, MORE = 3 };
    BEGIN("redundancy.scheme=xor");
    for (int i = 0; i < KEPT + MORE; i++) {
        const struct sk_gen old = {BEFORE, 100 + i, 0};
        CHECK(!put_parity(n, old, n->rank, BEFORE));
        sk_engine_adopt(n->engine, old);
        sk_protector_adopt(n->p, (struct sk_parity_set){old, BEFORE});
    }
    sk_engine_set_earlier(n->engine, SK_EARLIER_RESUMED);
    if (g->rank != 2)
        CHECK(!commit(n, 1, 0));
    CHECK(protect(n, 1, 0) == 0);
    for (int i = 0; i < KEPT + MORE; i++)
        CHECK(!parity_of(n, (struct sk_gen){BEFORE, 100 + i, 0}, n->rank, BEFORE) == (i < MORE));
    CHECK(!commit(n, 2, 0) && protect(n, 2, 0) == 1 && parity(n, 2));
    for (int i = 0; i < KEPT + MORE; i++)
        CHECK(!parity_of(n, (struct sk_gen){BEFORE, 100 + i, 0}, n->rank, BEFORE));
    return close_all(g, n);
}

static void the_newest_of_many_stay(void **state)
{
    (void)state;
    sk_log_set(sk_log_nowhere, NULL, SK_LOG_ERROR);
    assert_int_equal(run(many), 0);
    sk_log_set(NULL, NULL, SK_LOG_WARN);
}

/* ---- in slices ---- */

static int in_slices(struct sk_group *g, void *arg)
{
    struct sk_gen gen = {0};
    int64_t seq = 0;
    int good = 0, heard = 0;
    uint64_t bytes = 0;
    BEGIN("redundancy.helper=slices; redundancy.block=4096");
    CHECK(!commit(n, 1, 0));
    sk_engine_complete(n->engine, 1);
    sk_protector_begin(n->p, gen_of(1), 1, 0);
    CHECK(sk_protector_busy(n->p));
    for (int tick = 0; tick < 100000 && sk_protector_busy(n->p); tick++) {
        struct sk_protector_news news;
        if (sk_protector_wants_slices(n->p))
            sk_protector_slice(n->p);
        sk_protector_tell(n->p, &news);
        int64_t least[3] = {news.ready, news.ended, news.coded};
        CHECK(!sk_group_allreduce(g, least, 3, SK_OP_MIN));
        good = sk_protector_hear(n->p, &(struct sk_protector_news){least[0], least[1], least[2]}, &gen, &seq);
        heard += good;
    }
    CHECK(!sk_protector_busy(n->p) && !sk_protector_wants_slices(n->p));
    CHECK(good == 1 && heard == 1 && seq == 1 && files_in(n, 1, &bytes) == 1);
    return close_all(g, n);
}

static void candidates_code_it_in_slices(void **state)
{
    (void)state;
    assert_int_equal(run(in_slices), 0);
}

/* ---- when there is none ---- */

struct none {
    const char *settings;
    int rc, ranks;
    const char *says;
};

static int refuses(struct sk_group *g, void *arg)
{
    const struct none *x = arg;
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        return -1;
    int rc = open_protector(g, n, x->settings);
    CHECK(rc == x->rc && !n->p);
    CHECK(!x->says || strstr(n->err.text, x->says));
    return close_all(g, n);
}

static void settings_that_are_none_or_wrong(void **state)
{
    (void)state;
    static const struct none cases[] = {
        {"redundancy.scheme=none", 0, N, NULL},
        {"", 0, 1, NULL},
        {"redundancy.block=100", SAIKAI_ECONFIG, N, "redundancy.block: a multiple of 64 bytes up to 4 MiB"},
        {"redundancy.block=8MiB", SAIKAI_ECONFIG, N, "redundancy.block"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(strrchr(dir, '-') + 1, "XXXXXX");
        assert_non_null(mkdtemp(dir));
        if (sk_loop_run(cases[i].ranks, refuses, (void *)&cases[i]))
            fail_msg("'%s'", cases[i].settings);
        sk_io_rmtree(dir, NULL);
    }
    struct sk_gen gen;
    int64_t seq;
    struct sk_protector_news news = {1, 1, 1};
    struct sk_protector_status st = {.failures = 1};
    sk_protector_adopt(NULL, (struct sk_parity_set){{1, 1, 0}, 1});
    assert_int_equal(sk_protector_busy(NULL), 0);
    assert_int_equal(sk_protector_wants_slices(NULL), 0);
    assert_int_equal(sk_protector_hear(NULL, &news, &gen, &seq), 0);
    assert_int_equal(sk_protector_drain(NULL, &gen, &seq), 0);
    sk_protector_tell(NULL, &news);
    assert_int_equal(news.ready + news.ended + news.coded, 0);
    sk_protector_status(NULL, &st);
    assert_int_equal(st.failures, 0);
    sk_protector_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_set_replaces_the_one_before),  cmocka_unit_test(one_that_fails_leaves_the_set_before),
        cmocka_unit_test(half_a_job_is_not_protected),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        cmocka_unit_test(a_set_that_others_build_on_stays),     cmocka_unit_test(what_earlier_starts_left_goes_when_it_may),
        cmocka_unit_test(the_newest_of_many_stay),              cmocka_unit_test(candidates_code_it_in_slices),
        cmocka_unit_test(settings_that_are_none_or_wrong),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
