/* The committer, called in place of started: what becomes of each checkpoint that is handed to it, of those that build on it, and of
 * the slot, when all goes well and when something fails. */
#include "lib/engine/committer.h"

#include "base/file/io.h"
#include "base/hash.h"
#include "lib/engine/engine_parts.h"
#include "lib/engine/slots.h"
#include "store/form/lineage.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { CELLS = 4096, CHANGED = 64, THIS = 3, MOST = 12 };

static char dir[] = "/tmp/committer-XXXXXX";
static struct sk_engine *e;
static struct sk_config *config;
static struct sk_coding_policy *coding;
static double u[CELLS], state_of[MOST + 1][CELLS]; /* now, and as each generation is to hold it */

static int start(void **state)
{
    (void)state;
    config = sk_config_new();
    if (!config || !mkdtemp(dir))
        return -1;
    return sk_coding_policy_new(config, &coding, NULL);
}

static int end(void **state)
{
    (void)state;
    sk_coding_policy_free(coding);
    sk_config_free(config);
    return sk_io_rmtree(dir, NULL);
}

static int set_up(void **state)
{
    (void)state;
    struct sk_engine_config c = {.local_root = dir, .incarnation = THIS, .nranks = 1, .keep_local = MOST, .keep_prefix = 1};
    e = calloc(1, sizeof *e);
    assert_non_null(e);
    assert_int_equal(sk_ledger_new(MOST, &e->ledger, NULL), 0);
    e->sealing.coding = coding;
    sk_keep_set(&e->keep, &c);
    sk_threads_set(&e->threads);
    e->threads.stopping = 1; /* it ends when all is committed */
    memset(u, 0, sizeof u);
    return sk_where_set(&e->where, &c);
}

static struct sk_gen gen_of(int64_t seq)
{
    return (struct sk_gen){THIS, 10 * seq, 0};
}

static int tear_down(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    for (int i = 1; i <= MOST; i++)
        assert_int_equal(sk_gen_remove_all(dir, gen_of(i), NULL), 0);
    sk_ledger_free(e->ledger);
    sk_engine_free_parts(e);
    return 0;
}

/* The changes of CHANGED cells of the first variable. */
static void write_changes(uint8_t *to, size_t bytes, const struct sk_ranges *changed)
{
    struct sk_memory region = {0, (uint8_t *)u, sizeof u};
    uint8_t *payload = NULL;
    assert_int_equal(sk_delta_start(0, &region, 1, changed, to, bytes, &payload, NULL), 0);
    memcpy(payload, u, CHANGED * sizeof *u);
}

/* Hand one more over: its number. base: the number of what it builds on, 0: it is full. */
static int64_t submit(int64_t base, const char *chain, size_t more)
{
    struct sk_piece p[2] = {{.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = u, .size_bytes = sizeof u,
                             .changes_only = base != 0}};
    struct sk_ranges changed = {0};
    struct sk_skc_index *index = NULL;
    struct sk_slot *slot = NULL;
    uint64_t bytes = 0;
    int64_t seq = sk_ledger_count(e->ledger) + 1;
    for (int i = 0; i < CHANGED; i++)
        u[i] = (double)seq + i;
    memcpy(state_of[seq], u, sizeof u);
    assert_int_equal(sk_ledger_add(e->ledger, gen_of(seq), 1, &seq, NULL), 0);
    sk_ranges_add(&changed, 0, 0, CHANGED * sizeof *u);
    p[1] = (struct sk_piece){.name = SK_LINEAGE_VAR, .type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_CHANGES,
                             .dims = {sk_delta_size(1, &changed)}, .size_bytes = sk_delta_size(1, &changed)};
    assert_int_equal(sk_container_layout(p, base ? 2 : 1, &index, &bytes, NULL), 0);
    if (more) /* a slot that is larger than it needs to be */
        assert_int_equal(sk_shelf_new(&e->shelf, &e->where, &e->stock, base ? SK_SLOT_DELTA : SK_SLOT_FULL, bytes + more, NULL), 0);
    assert_int_equal(sk_engine_acquire(e, base ? SK_SLOT_DELTA : SK_SLOT_FULL, bytes, &slot, NULL), 0);
    if (base)
        write_changes(slot->map + index->chunks[index->vars[1].first_chunk].offset, p[1].size_bytes, &changed);
    else
        memcpy(slot->map + index->chunks[index->vars[0].first_chunk].offset, u, sizeof u);
    sk_ranges_free(&changed);
    struct sk_gen b = base ? gen_of(base) : (struct sk_gen){0};
    struct sk_skc_header h = {.run_id = 7, .iteration = gen_of(seq).iteration, .incarnation = THIS, .nranks = 1, .created_ms = 1,
                              .base_iteration = b.iteration, .base_incarnation = b.incarnation};
    struct sk_wish *wishes = chain ? calloc(2, sizeof *wishes) : NULL;
    if (wishes)
        strcpy(wishes[0].chain, chain);
    sk_engine_submit(e, slot, seq, gen_of(seq), &h, index, wishes, NULL);
    return seq;
}

static void commit(void)
{
    assert_null(sk_engine_committer(e));
    assert_null(sk_stock_next(&e->stock));
    assert_false(e->sealing.busy);
}

/* 1: the generation is in its file, and is what it was; 0: there is no file. *base: what it builds on, 0: nothing. */
static int is_saved(int64_t seq, int64_t *base)
{
    struct sk_container *c = NULL;
    static double out[CELLS];
    *base = 0;
    if (!sk_where_has_file(&e->where, gen_of(seq)))
        return 0;
    struct saikai_error err = {0};
    if (sk_lineage_open(dir, gen_of(seq), 0, &c, &err) || sk_container_verify(c, &err) ||
        sk_container_read(c, sk_skc_find(c->index, "u"), out, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(out, state_of[seq], sizeof out);
    *base = c->header.base_iteration / 10;
    sk_container_close(c);
    return 1;
}

static uint64_t file_bytes(int64_t seq)
{
    char path[128];
    struct stat sb;
    assert_int_equal(sk_gen_file(dir, gen_of(seq), 0, path, sizeof path, NULL), 0);
    assert_int_equal(stat(path, &sb), 0);
    return (uint64_t)sb.st_size;
}

static int temporaries(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (const struct dirent *x; (x = readdir(d));)
        n += !strncmp(x->d_name, "slot-", 5);
    closedir(d);
    return n;
}

/* Whatever happens: a file of its own for each slot that is free, and for nothing else; records for what is saved, and for nothing
 * else. */
static void check_stock(int64_t seq, int saved, int64_t base)
{
    int open = 0, records = 0;
    for (const struct sk_held *h = e->stock.all; h; h = h->next) {
        open += h->stage != COMMITTED;
        if (h->stage != COMMITTED) {
            assert_int_equal(h->stage, FREE);
            assert_int_equal(h->base.incarnation, 0);
        }
        assert_null(h->given.index);
        assert_null(h->given.wishes);
        if (h->stage == COMMITTED && h->seq == seq) {
            records++;
            assert_int_equal(h->base.iteration, 10 * base);
            assert_true(h->index_hash && (h->index_hash == e->sealing.tip.index_hash || e->sealing.tip.gen.iteration != 10 * seq));
        }
    }
    assert_int_equal(records, saved);
    assert_int_equal(temporaries(), open);
    struct sk_ledger_entry entry;
    assert_int_equal(sk_ledger_find(e->ledger, seq, &entry, NULL), 0);
    assert_int_equal(entry.states, 1u << (saved ? SK_LEDGER_COMMITTED : SK_LEDGER_LOST));
}

/* ---- one after the other ---- */

/* F: a full one, C: a full one that is coded, D: changes since the one before, O: since the one before that; x, X, y: as F, C, D, but it
 * cannot get its name; W: as C, but it cannot be written.
 * saved: what it builds on then, 0: nothing, -: it is not saved. */
static const struct row {
    const char *what, *submits, *saved;
    unsigned most_deltas;
} rows[] = {
    {"full ones", "FF", "00", 0},
    {"changes", "FDDD", "0123", 0},
    {"and a full one again", "FDFD", "0103", 0},
    {"made full when two are there", "FDDDDDD", "0120450", 2},
    {"one", "FDDDD", "01030", 1},
    {"nothing to build on", "D", "-", 0},
    {"what it builds on is lost", "xDDFD", "---04", 0},
    {"in the middle", "FDxDF", "01--0", 0},
    {"changes themselves", "FDyDF", "01--0", 0},
    {"coded ones", "CC", "00", 0},
    {"coded, and lost", "XC", "-0", 0},
    {"coded, and there is no space", "WC", "-0", 0},
    {"since one that was followed by a lost one", "FxOF", "0--0", 0},
    {"since another one than the newest", "FFOO", "00--", 0},
    {"changes to a coded one, which are more than it", "CDD", "002", 0},
    {"coded after changes", "FDCD", "0100", 0},
    {"made full, and lost", "FDyD", "01--", 1},
};

/* Code of the error, 0: none is expected. */
static int error_of(char what, char want)
{
    return want != '-' ? 0 : strchr("xXyW", what) ? SAIKAI_EIO : SAIKAI_ESTATE;
}

static int no_files(const char *op, const char *path)
{
    char name[64];
    snprintf(name, sizeof name, "%d.tmp", INT_MAX);
    return !strcmp(op, "open") && strstr(path, name) ? EIO : 0;
}

static int no_names(const char *op, const char *path)
{
    return !strcmp(op, "rename") && strstr(path, "rank-") ? EIO : 0;
}

static void test_rows(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int failures = 0, breaks = 0;
        unsigned deltas = 0;
        set_up(state);
        e->sealing.limits.max_deltas = rows[i].most_deltas;
        for (int64_t k = 1, base; rows[i].submits[k - 1]; k++) {
            char what = rows[i].submits[k - 1], want = rows[i].saved[k - 1];
            int64_t on = what == 'O' ? k - 2 : !strchr("Dy", what) ? 0 : k > 1 ? k - 1 : MOST;
            submit(on, strchr("CXW", what) ? "zstd" : NULL, 0);
            sk_io_hook = what == 'W' ? no_files : strchr("xXy", what) ? no_names : NULL;
            commit();
            sk_io_hook = NULL;
            int saved = is_saved(k, &base);
            if (saved != (want != '-') || (saved && base != want - '0'))
                fail_msg("%s: %lld is %ssaved, on %lld", rows[i].what, (long long)k, saved ? "" : "not ", (long long)base);
            check_stock(k, saved, base);
            failures += !saved;
            breaks += !saved;
            assert_true(saved || e->trouble.last_error.code == error_of(what, want));
            deltas = !saved || !base ? 0 : deltas + 1;
            const struct sk_tip *tip = &e->sealing.tip;
            assert_int_equal(e->trouble.failures, failures);
            assert_int_equal(e->trouble.breaks, breaks);
            assert_int_equal(e->trouble.damages, 0);
            assert_int_equal(tip->known, saved);
            if (!saved)
                continue;
            assert_int_equal(tip->gen.iteration, 10 * k);
            assert_int_equal(tip->deltas, deltas);
            assert_true(tip->full_bytes == file_bytes(k - deltas));
            uint64_t sum = 0;
            for (unsigned d = 0; d < deltas; d++)
                sum += file_bytes(k - d);
            assert_true(tip->delta_bytes == sum);
        }
        assert_true(e->healing.list_stale);
        assert_false(e->healing.doubt.any);
        tear_down(state);
    }
}

/* All are committed that were handed over, the oldest first, whatever order they lie in. */
static void test_several_at_once(void **state)
{
    int64_t base;
    (void)state;
    submit(0, NULL, 0);
    submit(1, NULL, 0);
    submit(2, NULL, 0);
    commit();
    for (int64_t k = 1; k <= 3; k++) {
        assert_true(is_saved(k, &base));
        assert_int_equal(base, k - 1);
    }
    assert_int_equal(e->stock.committed_seq, 3);
}

/* ---- slots and room ---- */

static void test_sizes(void **state)
{
    (void)state;
    int64_t base;
    submit(0, NULL, 0);
    submit(0, NULL, 50000);
    commit();
    assert_true(is_saved(1, &base) && is_saved(2, &base));
    assert_int_equal(file_bytes(2), file_bytes(1)); /* it is cut */
}

/* A slot that somebody cut, or removed, meanwhile. */
static void test_broken_slots(void **state)
{
    for (int removed = 0; removed < 2; removed++)
        for (int coded = 0; coded < 2; coded++) {
            int64_t base;
            set_up(state);
            submit(0, coded ? "zstd" : NULL, 0);
            struct sk_slot *slot = sk_stock_next(&e->stock)->slot;
            assert_int_equal(removed ? unlink(slot->tmp_path) : truncate(slot->tmp_path, 100), 0);
            commit();
            assert_false(is_saved(1, &base));
            assert_int_equal(e->trouble.failures, 1);
            assert_int_equal(e->trouble.damages, 1); /* another one is wanted soon */
            assert_int_equal(e->trouble.last_error.code, SAIKAI_EDAMAGED);
            assert_int_equal(sk_ledger_newest(e->ledger, SK_LEDGER_LOST), 1);
            tear_down(state);
        }
}

static void test_hashes(void **state)
{
    (void)state;
    submit(0, NULL, 0);
    commit();
    assert_false(sk_stock_find(&e->stock, 1)->hash_known); /* nobody wants them */
    sk_engine_hash_files(e);
    submit(0, NULL, 0);
    commit();
    const struct sk_held *h = sk_stock_find(&e->stock, 2);
    assert_true(h->hash_known);
    assert_true(h->file_hash == sk_hash64(h->slot->map, h->slot->size_bytes));
    submit(0, "zstd", 0);
    commit();
    assert_false(sk_stock_find(&e->stock, 3)->hash_known); /* the file is not the slot */
}

/* Without room for a second file beside the slot it is saved as it is, and changes stay changes. */
static void test_no_room(void **state)
{
    (void)state;
    int64_t base;
    e->shelf.share = 1e-15;
    if (!sk_engine_has_room(e, 1, NULL))
        skip(); /* nobody knows how much there is */
    e->shelf.share = 0;
    e->sealing.limits.max_deltas = 1;
    submit(0, "zstd", 0);
    submit(1, NULL, 0);
    commit();
    assert_true(file_bytes(1) < sizeof u);
    submit(0, "zstd", 0);
    submit(3, NULL, 0);
    submit(4, NULL, 0);
    e->shelf.share = 1e-15;
    commit();
    e->shelf.share = 0;
    assert_true(file_bytes(3) > sizeof u);
    for (int64_t k = 3; k <= 5; k++) {
        assert_true(is_saved(k, &base));
        assert_int_equal(base, k == 3 ? 0 : k - 1);
        check_stock(k, 1, base);
    }
    assert_true(e->sealing.plain_told && e->sealing.fold_told);
    assert_int_equal(e->trouble.failures, 0);
    submit(5, NULL, 0); /* there is room again */
    commit();
    assert_true(is_saved(6, &base));
    assert_int_equal(base, 0);
}

/* ---- putting changes together fails ---- */

static int no_second_copy(const char *op, const char *path)
{
    char name[64];
    snprintf(name, sizeof name, "%d.tmp", INT_MAX - 1);
    return !strcmp(op, "open") && strstr(path, name) ? EIO : 0;
}

/* The changes are as good, and what they build on is looked at. */
static void test_a_fold_that_fails(void **state)
{
    (void)state;
    int64_t base;
    e->sealing.limits.max_deltas = 1;
    submit(0, NULL, 0);
    submit(1, NULL, 0);
    commit();
    submit(2, NULL, 0);
    sk_io_hook = no_second_copy;
    commit();
    sk_io_hook = NULL;
    assert_true(is_saved(3, &base));
    assert_int_equal(base, 2);
    check_stock(3, 1, 2);
    assert_int_equal(e->trouble.failures, 0);
    assert_true(sk_stock_find(&e->stock, 3)->health.fold_failed);
    assert_true(e->healing.doubt.any && e->healing.doubt.all);
    assert_int_equal(e->sealing.tip.deltas, 2);
}

/* What is damaged below is not put together, as long as a full one was asked for. */
static void test_spoiled(void **state)
{
    (void)state;
    int64_t base;
    e->sealing.limits.max_deltas = 1;
    submit(0, NULL, 0);
    submit(1, NULL, 0);
    commit();
    e->sealing.tip.spoiled = 1;
    submit(2, NULL, 0);
    commit();
    assert_true(is_saved(3, &base));
    assert_int_equal(base, 2);
    assert_true(e->sealing.tip.spoiled);
    submit(0, NULL, 0);
    commit();
    assert_false(e->sealing.tip.spoiled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(test_rows),
        cmocka_unit_test_setup_teardown(test_several_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test(test_broken_slots),
        cmocka_unit_test_setup_teardown(test_hashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_fold_that_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spoiled, set_up, tear_down),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, start, end);
}
