/* Wherever memory runs out while containers are written and read: SAIKAI_ENOMEM, and nothing is left behind. And what containers
 * that are too short or not to be written are answered with. */
#define TESTING_CELLS 66000
#include "base/host/no_memory_testing.h"
#include "store/form/lineage_testing.h"
#include "store/form/coded.h"
#include "store/holdings.h"
#include "store/leftovers.h"
#include "store/slot.h"
#include "store/state.h"
#include "store/owner/job.h"
#include "store/owner/lease.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-bounds-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static const char *at(const char *name)
{
    static char path[4][128];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, 128, "%s/%s", dir, name);
    return p;
}

/* ---- writing ---- */

static double values[3000];
static const struct sk_skc_header header = {.run_id = 5, .iteration = 3, .incarnation = 1, .rank = 0, .nranks = 1};

static struct sk_piece piece(const char *name, size_t n)
{
    struct sk_piece p = {.type = SAIKAI_F64, .ndims = 1, .dims = {n}, .data = values, .size_bytes = n * 8};
    strcpy(p.name, name);
    return p;
}

static int write_one(void *arg, struct saikai_error *err)
{
    const struct sk_coding *coding = arg;
    static const ptrdiff_t strides[] = {16};
    struct sk_piece p[3] = {piece("a", 2000), piece("b", 1500), piece("empty", 0)};
    struct sk_coding how[3] = {{0}, coding ? *coding : (struct sk_coding){0}, {0}};
    struct sk_skc_index *index = NULL;
    p[1].strides = coding ? NULL : strides;
    int rc = sk_container_write(at("new.skc"), &header, p, how, 3, 1, &index, NULL, err);
    if (!rc)
        sk_skc_index_free(index);
    return rc;
}

static void no_container(void *arg)
{
    (void)arg;
    sk_io_unlink(at("new.skc"), NULL);
}

static void it_is_good(void *arg)
{
    (void)arg;
    struct sk_container *c = NULL;
    double back[2000];
    assert_int_equal(sk_container_open(at("new.skc"), &c, NULL), 0);
    assert_int_equal(sk_container_verify(c, NULL), 0);
    assert_int_equal(sk_container_read(c, &c->index->vars[0], back, NULL), 0);
    assert_memory_equal(back, values, sizeof back);
    sk_container_close(c);
}

static int read_one(void *arg, struct saikai_error *err)
{
    struct sk_container *c = NULL;
    double back[2000];
    (void)arg;
    int rc = sk_container_open(at("there.skc"), &c, err);
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        rc = sk_container_read(c, v, back, err);
        if (!rc && v->dims[0])
            rc = sk_container_read_box(c, v, (uint64_t[]){5}, (uint64_t[]){v->dims[0] - 9}, back, NULL, err);
    }
    if (!rc)
        rc = sk_container_verify(c, err);
    if (!rc)
        rc = sk_container_copy(c, at("copy.skc"), 1, err);
    sk_container_close(c);
    return rc;
}

static void no_copy(void *arg)
{
    (void)arg;
    sk_io_unlink(at("copy.skc"), NULL);
}

static void containers_are_written_and_read_or_not(void **state)
{
    (void)state;
    struct sk_coding zstd = {.chain = "shuffle+zstd", .opt = {.threads = 1}};
    for (int i = 0; i < 3000; i++)
        values[i] = i * 0.5;
    assert_true(no_memory_sweep(write_one, it_is_good, no_container, NULL) >= 5);
    assert_true(no_memory_sweep(write_one, it_is_good, no_container, &zstd) >= 5);
    for (int coded = 0; coded < 2; coded++) {
        assert_int_equal(write_one(coded ? &zstd : NULL, NULL), 0);
        assert_int_equal(rename(at("new.skc"), at("there.skc")), 0);
        assert_true(no_memory_sweep(read_one, NULL, no_copy, NULL) >= 5);
    }
}

/* A container that lies somewhere else: whatever fails, it is closed there once. */
static int opened, closed;
static void *elsewhere;
static size_t elsewhere_bytes;

static int read_elsewhere(void *arg, uint64_t from, void *data, size_t n, struct saikai_error *err)
{
    (void)arg;
    (void)err;
    memcpy(data, (uint8_t *)elsewhere + from, n);
    return 0;
}

static void close_elsewhere(void *arg)
{
    (void)arg;
    closed++;
}

static int open_elsewhere(void *arg, struct saikai_error *err)
{
    struct sk_container *c = NULL;
    const struct sk_container_source from = {read_elsewhere, close_elsewhere, arg, elsewhere_bytes};
    opened++;
    int rc = sk_container_open_from("elsewhere", &from, &c, err);
    if (!rc)
        rc = sk_container_verify(c, err);
    sk_container_close(c);
    return rc;
}

static void it_is_closed(void *arg)
{
    (void)arg;
    assert_int_equal(closed, opened);
}

static void a_container_elsewhere_is_closed_once(void **state)
{
    (void)state;
    assert_int_equal(sk_io_slurp(at("there.skc"), 1 << 24, &elsewhere, &elsewhere_bytes, NULL), 0);
    assert_true(no_memory_sweep(open_elsewhere, NULL, it_is_closed, NULL) >= 4);
    free(elsewhere);
}

/* A chunk is looked at, and copied, to its end, however long it is when it is coded. */
static void a_long_chunk_is_looked_at_to_its_end(void **state)
{
    (void)state;
    enum { CELLS = 400000 };
    struct sk_coding zstd = {.chain = "zstd", .opt = {.threads = 1}};
    struct sk_piece p = piece("noise", CELLS);
    struct sk_skc_index *index = NULL;
    struct sk_container *c = NULL;
    uint64_t *noise = malloc(CELLS * 8), seed = 7;
    void *there, *copy;
    size_t n, m;
    for (size_t i = 0; i < CELLS; i++)
        noise[i] = seed = seed * 6364136223846793005u + 1442695040888963407u;
    p.data = noise;
    assert_int_equal(sk_container_write(at("long.skc"), &header, &p, &zstd, 1, 0, &index, NULL, NULL), 0);
    uint64_t end = index->chunks[0].offset + index->chunks[0].stored_bytes;
    assert_true(index->chunks[0].stored_bytes > 2 * SK_SKC_CHUNK_BYTES);
    sk_skc_index_free(index);
    assert_int_equal(sk_container_open(at("long.skc"), &c, NULL), 0);
    assert_int_equal(sk_container_verify(c, NULL), 0);
    assert_int_equal(sk_container_copy(c, at("copy.skc"), 0, NULL), 0);
    sk_container_close(c);
    assert_int_equal(sk_io_slurp(at("long.skc"), 1 << 24, &there, &n, NULL), 0);
    assert_int_equal(sk_io_slurp(at("copy.skc"), 1 << 24, &copy, &m, NULL), 0);
    assert_int_equal(n, m);
    assert_memory_equal(there, copy, n);
    for (uint64_t back = 1; back < 3 * SK_SKC_CHUNK_BYTES; back += SK_SKC_CHUNK_BYTES) {
        ((uint8_t *)there)[end - back] ^= 1;
        assert_int_equal(sk_io_replace(at("long.skc"), there, n, NULL), 0);
        assert_int_equal(sk_container_open(at("long.skc"), &c, NULL), 0);
        assert_int_equal(sk_container_verify(c, NULL), SAIKAI_EDAMAGED);
        sk_container_close(c);
        ((uint8_t *)there)[end - back] ^= 1;
    }
    no_copy(NULL);
    sk_io_unlink(at("long.skc"), NULL);
    free(there);
    free(copy);
    free(noise);
}

/* ---- generations that build on others ---- */

static int read_lineage(void *arg, struct saikai_error *err)
{
    struct sk_container *c = NULL;
    struct sk_gen_list l = {0};
    struct sk_holdings h = {0};
    int *ranks = NULL;
    size_t n;
    static double back[TESTING_CELLS];
    (void)arg;
    int rc = sk_lineage_open(dir, (struct sk_gen){1, 3, 0}, 0, &c, err);
    if (!rc)
        rc = sk_container_read(c, &c->index->vars[0], back, err);
    if (!rc)
        rc = sk_container_read_box(c, &c->index->vars[0], (uint64_t[]){1, 2}, (uint64_t[]){5, 100}, back, NULL, err);
    if (!rc)
        rc = sk_lineage_verify(c, NULL, NULL, err);
    if (!rc)
        rc = sk_container_copy(c, at("copy.skc"), 0, err);
    sk_container_close(c);
    if (!rc)
        rc = sk_gen_scan(dir, -1, &l, err);
    if (!rc)
        rc = sk_gen_ranks(dir, (struct sk_gen){1, 1, 0}, &ranks, &n, err);
    if (!rc)
        rc = sk_holdings_scan(dir, &h, err);
    if (!rc)
        assert_int_equal(h.count, 3);
    free(ranks);
    sk_gen_list_free(&l);
    sk_holdings_free(&h);
    return rc;
}

static void lineages_are_read_or_not(void **state)
{
    (void)state;
    struct testing_state *before = testing_state_new(), *now = testing_state_new();
    for (int step = 1; step < 4; step++) {
        struct testing_generation g = {.root = dir, .gen = {1, step, 0}, .base = {step > 1, step - 1, 0}, .nranks = 1};
        testing_state_copy(now, before);
        testing_state_step(now, step);
        assert_int_equal(testing_write(&g, before, now, step), 0);
        testing_state_copy(before, now);
    }
    assert_true(no_memory_sweep(read_lineage, NULL, no_copy, NULL) >= 15);
    struct sk_container *c = NULL;
    assert_int_equal(sk_lineage_open(dir, (struct sk_gen){1, 3, 0}, 0, &c, NULL), 0);
    assert_int_equal(testing_compare(c, now), 1);
    assert_int_equal(sk_lineage_length(c), 2);
    sk_container_close(c);
    testing_state_free(before);
    testing_state_free(now);
}

static int what;
static void change(struct sk_skc_header *h)
{
    switch (what) {
    case 0: h->base_incarnation = 0; break;
    case 1: h->base_iteration = h->iteration; break;
    case 2: h->base_iteration = h->iteration + 1; break;
    case 3: h->base_place = SK_GEN_MAX_PLACE + 1; break;
    case 4: h->base_incarnation = SK_GEN_MAX_INCARNATION + 1; break;
    case 5: h->base_iteration = -1; break;
    case 6: h->place = SK_GEN_MAX_PLACE + 1; break;
    case 7: h->base_incarnation = h->base_iteration = 1; break; /* of the full one */
    case 8: h->nranks++; break;
    case 9: h->run_id++; break;
    case 10: h->rank++; break;
    case 11: h->place++; break;
    default: h->incarnation++; break;
    }
}

/* Change the header of a generation's file, with its checksum; give what it was. */
static void *patch(int64_t iteration, size_t *n)
{
    char path[256];
    void *was;
    struct sk_skc_header h;
    assert_int_equal(sk_gen_file(dir, (struct sk_gen){1, iteration, 0}, 0, path, sizeof path, NULL), 0);
    assert_int_equal(sk_io_slurp(path, 1 << 24, &was, n, NULL), 0);
    uint8_t *now = malloc(*n);
    memcpy(now, was, *n);
    assert_int_equal(sk_skc_decode_header(now, SK_SKC_HEADER_BYTES, &h, NULL), 0);
    change(&h);
    sk_skc_encode_header(&h, now);
    assert_int_equal(sk_io_replace(path, now, *n, NULL), 0);
    free(now);
    return was;
}

static void headers_must_fit(void **state)
{
    (void)state;
    static const struct {
        int64_t file;
        const char *says;
    } cases[] = {{3, "header and its index differ"}, {3, "impossible"}, {3, "impossible"}, {3, "impossible"}, {3, "impossible"}, {3, "impossible"},
                 {3, "impossible"}, {1, "header and its index differ"}, {2, "another file"}, {2, "another file"}, {2, "rank 1 of 1"}, {2, "another file"},
                 {2, "another file"}};
    for (what = 0; what < (int)(sizeof cases / sizeof *cases); what++) {
        struct sk_container *c = NULL;
        struct saikai_error err = {0};
        char path[256];
        size_t n;
        void *was = patch(cases[what].file, &n);
        int rc = sk_lineage_open(dir, (struct sk_gen){1, 3, 0}, 0, &c, &err);
        if (rc != SAIKAI_EDAMAGED || !strstr(err.text, cases[what].says))
            fail_msg("case %d: %d %s", what, rc, err.text);
        assert_int_equal(sk_gen_file(dir, (struct sk_gen){1, cases[what].file, 0}, 0, path, sizeof path, NULL), 0);
        assert_int_equal(sk_io_replace(path, was, n, NULL), 0);
        free(was);
    }
}

static void a_base_is_told(void **state)
{
    (void)state;
    struct sk_gen base = {9, 9, 9};
    struct saikai_error err = {0};
    assert_int_equal(sk_lineage_base(dir, (struct sk_gen){1, 3, 0}, 0, &base, &err), 0);
    assert_true(base.incarnation == 1 && base.iteration == 2 && base.place == 0);
    assert_int_equal(sk_lineage_base(dir, (struct sk_gen){1, 1, 0}, 0, &base, &err), 0);
    assert_int_equal(base.incarnation, 0);
    assert_int_equal(sk_lineage_base(dir, (struct sk_gen){1, 4, 0}, 0, &base, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_io_mkdirs(at("gen-0001-000000000009-0"), NULL), 0);
    assert_int_equal(sk_io_replace(at("gen-0001-000000000009-0/rank-000000.skc"), "short", 5, NULL), 0);
    assert_int_equal(sk_lineage_base(dir, (struct sk_gen){1, 9, 0}, 0, &base, &err), SAIKAI_EDAMAGED);
    uint8_t zeros[SK_SKC_HEADER_BYTES] = {0};
    assert_int_equal(sk_io_replace(at("gen-0001-000000000009-0/rank-000000.skc"), zeros, sizeof zeros, NULL), 0);
    int rc = sk_lineage_base(dir, (struct sk_gen){1, 9, 0}, 0, &base, &err);
    assert_true(rc == SAIKAI_EDAMAGED || rc == SAIKAI_EFORMAT);
    assert_non_null(strstr(err.text, "rank-000000.skc"));
    assert_int_equal(sk_gen_remove_all(dir, (struct sk_gen){1, 9, 0}, NULL), 0);
}

/* ---- on the disk ---- */

static char synced[8][256];
static int syncs;
static int note_sync(const char *op, const char *path)
{
    if (!strcmp(op, "fsync") && syncs < 8)
        snprintf(synced[syncs++], sizeof synced[0], "%s", path);
    return 0;
}

/* The file, the directory of its generation, and the one that has got this. */
static void a_commit_is_on_the_disk(void **state)
{
    (void)state;
    for (int sync = 0; sync < 2; sync++) {
        struct sk_gen g = {1, 20 + sync, 0};
        assert_int_equal(sk_io_replace(at("tmp"), "x", 1, NULL), 0);
        syncs = 0;
        sk_io_hook = note_sync;
        assert_int_equal(sk_gen_commit(dir, g, 0, at("tmp"), sync, NULL), 0);
        sk_io_hook = NULL;
        assert_int_equal(syncs, sync ? 3 : 0);
        if (sync) {
            assert_string_equal(synced[0], at("tmp"));
            assert_string_equal(synced[1], at("gen-0001-000000000021-0"));
            assert_string_equal(synced[2], dir);
        }
        assert_int_equal(sk_gen_remove_all(dir, g, NULL), 0);
    }
    assert_int_equal(write_one(NULL, NULL), 0);
    struct sk_container *c = NULL;
    assert_int_equal(sk_container_open(at("new.skc"), &c, NULL), 0);
    for (int sync = 0; sync < 2; sync++) {
        syncs = 0;
        sk_io_hook = note_sync;
        assert_int_equal(sk_container_copy(c, at("copy.skc"), sync, NULL), 0);
        sk_io_hook = NULL;
        assert_int_equal(syncs, sync);
    }
    sk_container_close(c);
}

/* ---- whose it is ---- */

static int claim(void *arg, struct saikai_error *err)
{
    static struct sk_job j = {.name = "wave", .store = {{7}}, .place = "/somewhere"};
    static struct sk_job back;
    struct sk_leftovers l = {0};
    struct sk_state s = {.incarnation = 3}, t;
    struct sk_slot *slot = NULL;
    (void)arg;
    int rc = sk_job_replace(at("jobs/a"), &j, err);
    if (!rc)
        rc = sk_job_load(at("jobs/a"), &back, err);
    if (!rc)
        rc = sk_state_save(at("jobs/a"), &s, err);
    if (!rc)
        rc = sk_state_load(at("jobs/a"), &t, err);
    if (!rc)
        rc = sk_leftovers_scan(at("jobs"), NULL, &l, err);
    if (!rc)
        assert_int_equal(l.count, 1);
    if (!rc)
        rc = sk_slot_new(at("jobs/a"), 1, 0, 0, 100, &slot, err);
    sk_slot_free(slot, 1);
    sk_leftovers_free(&l);
    return rc;
}

static void a_claim_is_written_or_not(void **state)
{
    (void)state;
    assert_int_equal(sk_io_mkdirs(at("jobs/a"), NULL), 0);
    assert_true(no_memory_sweep(claim, NULL, NULL, NULL) >= 5);
}

/* ---- containers that are none ---- */

static void what_is_too_short_is_damaged(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    void *data;
    size_t n;
    assert_int_equal(write_one(NULL, NULL), 0);
    assert_int_equal(sk_io_slurp(at("new.skc"), 1 << 20, &data, &n, NULL), 0);
    for (size_t k = 0; k < n; k += k < 300 || k + 300 > n ? 1 : 97) {
        assert_int_equal(sk_io_replace(at("cut.skc"), data, k, NULL), 0);
        int rc = sk_container_open(at("cut.skc"), &c, &err);
        if (rc != SAIKAI_EDAMAGED || !strstr(err.text, "cut.skc"))
            fail_msg("%zu bytes: %d, %s", k, rc, err.text);
        if (k < SK_SKC_HEADER_BYTES + SK_SKC_TRAILER_BYTES)
            assert_non_null(strstr(err.text, "truncated, or no container"));
    }
    assert_int_equal(sk_container_open(at("none.skc"), &c, &err), SAIKAI_ENOENT);
    free(data);
}

/* As the user's umask says, and no more. */
static void files_have_the_usual_rights(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    struct stat st;
    sk_io_unlink(at("new.skc"), NULL);
    sk_io_unlink(at("copy.skc"), NULL);
    mode_t old = umask(0);
    assert_int_equal(write_one(NULL, NULL), 0);
    assert_int_equal(sk_container_open(at("new.skc"), &c, NULL), 0);
    assert_int_equal(sk_container_copy(c, at("copy.skc"), 0, NULL), 0);
    sk_container_close(c);
    assert_int_equal(sk_lineage_open(dir, (struct sk_gen){1, 3, 0}, 0, &c, NULL), 0);
    assert_int_equal(sk_container_copy(c, at("full.skc"), 0, NULL), 0);
    sk_container_close(c);
    umask(old);
    assert_int_equal(stat(at("new.skc"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
    assert_int_equal(stat(at("copy.skc"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
    assert_int_equal(stat(at("full.skc"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
}

/* Bytes [at, at + n) of pieces, also of such with gaps. */
static void parts_of_pieces_are_gathered(void **state)
{
    (void)state;
    static const ptrdiff_t strides[] = {80, 16};
    struct sk_piece p = {.type = SAIKAI_F64, .ndims = 2, .dims = {4, 3}, .data = values, .size_bytes = 96, .strides = strides};
    double expected[12];
    uint8_t out[98];
    for (int gaps = 1; gaps >= 0; gaps--) {
        p.strides = gaps ? strides : NULL;
        for (int i = 0; i < 12; i++)
            expected[i] = values[gaps ? i / 3 * 10 + i % 3 * 2 : i];
        for (size_t from = 0; from <= 96; from++)
            for (size_t n = 0; from + n <= 96; n++) {
                memset(out, 0xee, sizeof out);
                sk_container_gather_part(&p, from, out + 1, n);
                assert_memory_equal(out + 1, (uint8_t *)expected + from, n);
                assert_true(out[0] == 0xee && out[n + 1] == 0xee);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(containers_are_written_and_read_or_not),
        cmocka_unit_test(a_container_elsewhere_is_closed_once),
        cmocka_unit_test(a_long_chunk_is_looked_at_to_its_end),
        cmocka_unit_test(lineages_are_read_or_not),
        cmocka_unit_test(headers_must_fit),
        cmocka_unit_test(a_base_is_told),
        cmocka_unit_test(a_commit_is_on_the_disk),
        cmocka_unit_test(a_claim_is_written_or_not),
        cmocka_unit_test(what_is_too_short_is_damaged),
        cmocka_unit_test(files_have_the_usual_rights),
        cmocka_unit_test(parts_of_pieces_are_gathered),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
