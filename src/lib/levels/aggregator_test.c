/* The level of archives by itself, with an engine for each rank: what is archived, what is told of it, what is given back, and what is said
 * when a rank has nothing to give. */
#include "lib/levels/aggregator.h"

#include "base/file/io.h"
#include "base/log.h"
#include "group/loop.h"
#include "lib/engine/engine_parts.h"
#include "lib/engine/slots.h"
#include "lib/levels/level.h"
#include "store/form/lineage.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3, CELLS = 4096, CHANGED = 16, THIS = 2 };

#define CHECK(x)                                                                               \
    do {                                                                                       \
        if (!(x)) {                                                                            \
            fprintf(stderr, "line %d, rank %d: %s: %s\n", __LINE__, g->rank, #x, n->err.text); \
            return -1000 - __LINE__;                                                           \
        }                                                                                      \
    } while (0)

static char dir[] = "/tmp/saikai-aggregator-XXXXXX", said[16384];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    snprintf(said + strlen(said), sizeof said - strlen(said), "%d %s\n", level, line);
    pthread_mutex_unlock(&lock);
}

static int says(const char *text)
{
    pthread_mutex_lock(&lock);
    int found = strstr(said, text) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

struct node {
    struct sk_config *config;
    struct sk_coding_policy *coding;
    struct sk_ledger *ledger;
    struct sk_engine *engine;
    void *level;
    struct saikai_error err;
    char local[96], prefix[96];
    double u[CELLS];
};

static struct sk_job job = {.store = {{7}}};

static int open_node(struct sk_group *g, struct node *n, const char *settings)
{
    snprintf(n->local, sizeof n->local, "%s/local%d", dir, g->rank);
    snprintf(n->prefix, sizeof n->prefix, "%s/prefix", dir);
    n->config = sk_config_new();
    if (sk_io_mkdirs(n->local, NULL) || sk_io_mkdirs(n->prefix, NULL) || !n->config || sk_config_set_all(n->config, settings, SK_FROM_API, &n->err) ||
        sk_config_set_all(n->config, "store.fsync=no", SK_FROM_API, &n->err) || sk_coding_policy_new(n->config, &n->coding, &n->err) ||
        sk_ledger_new(16, &n->ledger, &n->err))
        return -1;
    struct sk_engine_config c = {.local_root = n->local, .prefix_root = n->prefix, .incarnation = THIS, .rank = g->rank, .nranks = g->size,
                                 .keep_local = 4, .keep_prefix = 9, .ledger = n->ledger, .coding = n->coding, .limits = {.max_ratio = 100}};
    int rc = sk_engine_new(&c, &n->engine, &n->err);
    struct sk_level_setup s = {g, n->config, n->engine, n->local, n->prefix, "host", job.store, {{0}}, THIS, 0};
    return rc ? rc : sk_level_archives.open(&s, &n->level, &n->err);
}

static int close_node(struct sk_group *g, struct node *n)
{
    int rc = sk_group_barrier(g);
    sk_level_archives.close(n->level);
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

/* A checkpoint of the rank is committed and complete; base: the number of the one that it builds on, 0: it is full. */
static int commit(struct sk_group *g, struct node *n, int64_t base)
{
    struct sk_ranges changed = {0};
    struct sk_skc_index *index = NULL;
    struct sk_slot *slot = NULL;
    struct sk_memory region = {0, (uint8_t *)n->u, sizeof n->u};
    uint64_t bytes = 0;
    int64_t seq = 0;
    CHECK(!sk_ledger_add(n->ledger, gen_of(sk_ledger_count(n->ledger) + 1), 1, &seq, &n->err));
    for (int i = 0; i < (base ? CHANGED : CELLS); i++)
        n->u[i] = (double)(1000 * seq + i + 100000 * g->rank);
    sk_ranges_add(&changed, 0, 0, CHANGED * sizeof *n->u);
    struct sk_piece p[2] = {{.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = n->u, .size_bytes = sizeof n->u, .changes_only = base != 0},
                            {.name = SK_LINEAGE_VAR, .type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_CHANGES, .dims = {sk_delta_size(1, &changed)},
                             .size_bytes = sk_delta_size(1, &changed)}};
    CHECK(!sk_container_layout(p, base ? 2 : 1, &index, &bytes, &n->err));
    CHECK(!sk_engine_acquire(n->engine, base ? SK_SLOT_DELTA : SK_SLOT_FULL, bytes, &slot, &n->err));
    if (base) {
        uint8_t *payload = NULL;
        CHECK(!sk_delta_start(0, &region, 1, &changed, slot->map + index->chunks[index->vars[1].first_chunk].offset, p[1].size_bytes, &payload, &n->err));
        memcpy(payload, n->u, CHANGED * sizeof *n->u);
    } else {
        memcpy(slot->map + index->chunks[index->vars[0].first_chunk].offset, n->u, sizeof n->u);
    }
    sk_ranges_free(&changed);
    struct sk_gen b = base ? gen_of(base) : (struct sk_gen){0};
    struct sk_skc_header h = {.run_id = 7, .iteration = gen_of(seq).iteration, .incarnation = THIS, .rank = (uint32_t)g->rank, .nranks = (uint32_t)g->size,
                              .created_ms = 1, .base_iteration = b.iteration, .base_incarnation = b.incarnation, .store = job.store};
    sk_engine_submit(n->engine, slot, seq, gen_of(seq), &h, index, NULL, NULL);
    sk_engine_drain(n->engine);
    struct sk_engine_status st;
    sk_engine_status(n->engine, &st);
    CHECK(st.committed_seq == seq);
    sk_engine_complete(n->engine, seq);
    return 0;
}

/* What all ranks know of it when it has ended. */
static int bring(struct sk_group *g, struct node *n, int64_t seq, struct sk_level_heard *h)
{
    int64_t word[SK_LEVEL_WORDS];
    sk_level_archives.bring(n->level, gen_of(seq), seq, 0);
    CHECK(sk_level_archives.wait(n->level, 60) == 1);
    sk_level_archives.tell(n->level, word);
    CHECK(!sk_group_allreduce(g, word, SK_LEVEL_WORDS, SK_OP_MIN));
    sk_level_archives.hear(n->level, word, h);
    CHECK(h->idle && h->was_idle);
    return 0;
}

/* The rank's file of what was given back is what it was. */
static int is_back(struct sk_group *g, struct node *n, const char *root, int64_t seq)
{
    struct sk_container *c = NULL;
    static _Thread_local double out[CELLS];
    char path[PATH_MAX];
    CHECK(!sk_gen_file(root, gen_of(seq), g->rank, path, sizeof path, &n->err) && !sk_container_open(path, &c, &n->err));
    CHECK(c->index->var_count == 1 && c->header.rank == (uint32_t)g->rank && !c->header.base_incarnation);
    CHECK(!sk_container_read(c, &c->index->vars[0], out, &n->err) && !memcmp(out, n->u, sizeof out));
    sk_container_close(c);
    return 0;
}

/* ---- a generation on its way there and back ---- */

static int there_and_back(struct sk_group *g, void *arg)
{
    struct node *n = calloc(1, sizeof *n);
    struct sk_level_heard h;
    struct sk_ledger_entry e;
    struct sk_gen_list l = {0};
    char back[128], path[PATH_MAX];
    int ranks = 0;
    int64_t word[SK_LEVEL_WORDS];
    CHECK(n && !open_node(g, n, arg) && n->level);
    sk_level_archives.tell(n->level, word);
    CHECK(word[0] == 0 && word[1] == 0 && word[2] == 1); /* nothing is there, and nothing on its way */
    CHECK(!sk_archived(n->prefix, gen_of(1)) && !sk_archived_list(n->prefix, &l, &n->err) && !l.count);
    CHECK(!commit(g, n, 0) && !bring(g, n, 1, &h) && h.arrived && h.seq == 1);
    CHECK(!sk_ledger_find(n->ledger, 1, &e, &n->err) && e.states & 1u << SK_LEDGER_COPIED);
    CHECK(sk_archived(n->prefix, gen_of(1)) && !sk_archived(n->prefix, gen_of(2)));
    CHECK(!sk_archived_ranks(n->prefix, gen_of(1), &ranks, &n->err) && ranks == N);
    CHECK(!sk_level_archives.list(n->prefix, g->rank, &l, &n->err) && l.count == 1 && sk_gen_key(l.gen[0]) == sk_gen_key(gen_of(1)));
    sk_gen_list_free(&l);
    snprintf(back, sizeof back, "%s/back%d", dir, g->rank);
    /* each rank wants its own */
    CHECK(!sk_group_barrier(g) && !sk_archived_restore(g, n->prefix, gen_of(1), back, 1, 0, &job, 1 << 20, &n->err));
    CHECK(!is_back(g, n, back, 1) && !sk_io_rmtree(back, &n->err));
    /* only the last one does */
    CHECK(!sk_archived_restore(g, n->prefix, gen_of(1), back, g->rank == N - 1, 0, &job, 1 << 20, &n->err));
    if (g->rank == N - 1)
        CHECK(!is_back(g, n, back, 1));
    CHECK(!sk_gen_file(back, gen_of(1), g->rank, path, sizeof path, &n->err) && (g->rank == N - 1 || access(path, F_OK)));
    sk_io_rmtree(back, NULL);
    /* one that builds on it is whole there; what was put together for that is gone */
    CHECK(!commit(g, n, 1) && !bring(g, n, 2, &h) && h.arrived && h.seq == 2);
    snprintf(back, sizeof back, "%s/full-0002-%06d.tmp", n->local, g->rank);
    CHECK(access(back, F_OK));
    snprintf(back, sizeof back, "%s/all", dir);
    /* all of it, by whichever rank, into one place */
    CHECK(!sk_group_barrier(g) && !sk_archived_restore(g, n->prefix, gen_of(2), back, 0, 1, &job, 1 << 20, &n->err));
    CHECK(!sk_group_barrier(g) && !is_back(g, n, back, 2));
    CHECK(!sk_group_barrier(g) && (g->rank || !sk_io_rmtree(back, &n->err)));
    /* another store's is not given */
    struct sk_job other = {.store = {{8}}};
    CHECK(!sk_group_barrier(g) && sk_archived_restore(g, n->prefix, gen_of(2), back, 1, 0, &other, 1 << 20, &n->err) < 0);
    /* but to one that was copied with it */
    other.former[0] = job.store;
    other.former_count = 1;
    CHECK(!sk_group_barrier(g) && !sk_archived_restore(g, n->prefix, gen_of(2), back, 1, 0, &other, 1 << 20, &n->err) && !is_back(g, n, back, 2));
    CHECK(!sk_group_barrier(g) && (g->rank || !sk_io_rmtree(back, &n->err)));
    CHECK(sk_archived_ranks(n->prefix, gen_of(7), &ranks, &n->err) < 0 && ranks == N);
    sk_level_archives.retire(n->level, 2);
    CHECK(n->engine->keep.any_archived);
    return close_node(g, n);
}

static void generations_go_there_and_come_back(void **state)
{
    (void)state;
    static const char *const settings[] = {"", "far.writers=1", "far.writers=2", "far.writers=9", "far.group=2", "far.order=node"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        *said = 0;
        if (sk_loop_run(N, there_and_back, (void *)settings[i]))
            fail_msg("'%s': %s", settings[i], said);
        assert_string_equal(said, "");
        assert_int_equal(sk_io_rmtree(dir, NULL), 0);
        assert_int_equal(sk_io_mkdirs(dir, NULL), 0);
    }
}

/* Another number of ranks hears who wrote it. */
static int fewer(struct sk_group *g, void *arg)
{
    struct node *n = calloc(1, sizeof *n);
    char back[128], words[400];
    (void)arg;
    CHECK(n);
    snprintf(n->prefix, sizeof n->prefix, "%s/prefix", dir);
    snprintf(back, sizeof back, "%s/back%d", dir, g->rank);
    CHECK(sk_archived_restore(g, n->prefix, gen_of(1), back, 1, 0, &job, 1 << 20, &n->err) == SAIKAI_ERANKS);
    snprintf(words, sizeof words, "%s/gen-0002-000000000010-0 was written by 3 ranks, this job has 2: start it with 3, or afresh with restart.mode=never", n->prefix);
    CHECK(!strcmp(n->err.text, words));
    free(n);
    return 0;
}

/* ---- ranks that have nothing to give ---- */

static int fails(struct sk_group *g, void *arg)
{
    struct node *n = calloc(1, sizeof *n);
    struct sk_level_heard h;
    struct sk_ledger_entry e;
    char path[PATH_MAX];
    (void)arg;
    CHECK(n && !open_node(g, n, "") && !commit(g, n, 0) && !bring(g, n, 1, &h) && h.arrived);
    /* rank 1 does not have it any more: the others' part is not archived either */
    CHECK(!commit(g, n, 0));
    sk_level_archives.bring(n->level, g->rank == 1 ? gen_of(9) : gen_of(2), 2, 0);
    CHECK(sk_level_archives.wait(n->level, 60) == 1);
    CHECK(!sk_ledger_find(n->ledger, 2, &e, &n->err) && !(e.states & 1u << SK_LEDGER_COPIED) && !sk_archived(n->prefix, gen_of(2)));
    CHECK(!sk_group_barrier(g) && !bring(g, n, 1, &h) && h.seq == 1);
    /* of rank 2 it is damaged: its committer is to look at it */
    CHECK(!commit(g, n, 0));
    if (g->rank == 2) {
        CHECK(!sk_gen_file(n->local, gen_of(3), 2, path, sizeof path, &n->err));
        int fd = open(path, O_RDWR);
        CHECK(fd >= 0 && pwrite(fd, "XYZ", 3, 20000) == 3);
        close(fd);
    }
    CHECK(!bring(g, n, 3, &h) && h.arrived && h.seq == 1);
    sk_engine_drain(n->engine);
    struct sk_engine_status st;
    sk_engine_status(n->engine, &st);
    CHECK(st.damages == (g->rank == 2) && !sk_archived(n->prefix, gen_of(3)));
    struct sk_held *held = sk_stock_at(&n->engine->stock, gen_of(3));
    CHECK(held && !held->users.holds);
    CHECK(!commit(g, n, 0) && !bring(g, n, 4, &h) && h.arrived && h.seq == 4);
    return close_node(g, n);
}

static void who_has_nothing_to_give(void **state)
{
    (void)state;
    *said = 0;
    if (sk_loop_run(N, fails, NULL))
        fail_msg("%s", said);
    assert_true(says("1 rank 1: generation gen-0002-000000000090-0 is not archived: ") && says("1 rank 2: generation gen-0002-000000000030-0 is not archived: "));
    assert_true(says("1 rank 0: generation gen-0002-000000000020-0 is not archived: ") && says("1 rank 0: generation gen-0002-000000000030-0 is not archived: "));
    assert_false(says("rank 1: generation gen-0002-000000000030-0") || says("rank 2: generation gen-0002-000000000020-0")); /* rank 0 is enough */
    if (sk_loop_run(2, fewer, NULL))
        fail_msg("%s", said);
}

/* Two settings that say the same are an error of all ranks; without threads files are copied, and rank 0 says so. */
static int cannot_open(struct sk_group *g, void *arg)
{
    struct node *n = calloc(1, sizeof *n);
    (void)arg;
    CHECK(n && open_node(g, n, "far.writers=2; far.group=2") == SAIKAI_ECONFIG && !n->level);
    CHECK(!strcmp(n->err.text, "far.writers and far.group say the same in two ways: set one of them"));
    g->threads = g->rank != 1;
    struct sk_level_setup s = {g, n->config, n->engine, n->local, n->prefix, "host", job.store, {{0}}, THIS, 0};
    CHECK(!sk_level_archives.open(&s, &n->level, &n->err) && !n->level);
    return close_node(g, n);
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    *said = 0;
    if (sk_loop_run(N, cannot_open, NULL))
        fail_msg("%s", said);
    assert_string_equal(said, "1 store.archive=aggregate needs MPI_THREAD_MULTIPLE: each rank's file is copied to the prefix instead\n");
}

static int start(void **state)
{
    (void)state;
    sk_log_set(note, NULL, SK_LOG_WARN);
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generations_go_there_and_come_back),
        cmocka_unit_test(remember_open_files), /* the first one leaves open what all share */
        cmocka_unit_test(who_has_nothing_to_give),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, start, end);
}
