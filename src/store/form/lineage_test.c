/* Generations that build on others: read, verified, made full; and every kind of damage to any file of a lineage. */
#include "store/form/lineage.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "capture/delta.h"
#include "store/form/lineage_read.h"
#include "store/form/lineage_testing.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { GENS = 6 };

static char dir[64];
static struct testing_state *before, *now;

static struct sk_gen gen(int i)
{
    return (struct sk_gen){1, 10 * (int64_t)i, 0};
}

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-lineage-XXXXXX");
    assert_non_null(mkdtemp(dir));
    before = testing_state_new();
    now = testing_state_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    testing_state_free(before);
    testing_state_free(now);
    return sk_io_rmtree(dir, NULL);
}

/* GENS generations, the first one full; `now` is the state of the last, `before` of the one before. */
static void write_all(unsigned full_mask)
{
    struct testing_generation g = {.root = dir, .nranks = 2, .rank = 1};
    for (int i = 1; i <= GENS; i++) {
        testing_state_copy(before, now);
        testing_state_step(now, i);
        g.gen = gen(i);
        g.base = full_mask & 1u << i ? (struct sk_gen){0} : gen(i - 1);
        assert_int_equal(testing_write(&g, before, now, i), 0);
    }
}

static int64_t file_of(int i, char *path)
{
    struct stat sb;
    assert_int_equal(sk_gen_file(dir, gen(i), 1, path, 256, NULL), 0);
    assert_int_equal(stat(path, &sb), 0);
    return sb.st_size;
}

/* A box of "a", out of the changes of several generations. */
static void check_box(struct sk_container *c)
{
    enum { LOW = 1000, WIDTH = 31000, COLUMNS = TESTING_CELLS / 10 };
    struct saikai_error err = {0};
    const struct sk_skc_var *v = sk_skc_find(c->index, "a");
    double *out = malloc(7 * WIDTH * sizeof *out);
    assert_true(v && out && v->tile.offset[0] == 10);
    if (sk_container_read_box(c, v, (uint64_t[]){2, LOW}, (uint64_t[]){7, WIDTH}, out, NULL, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < 7; i++)
        assert_memory_equal(out + i * WIDTH, now->a + (i + 2) * COLUMNS + LOW, WIDTH * sizeof *out);
    free(out);
}

static void test_reads_every_generation(void **state)
{
    (void)state;
    struct testing_generation g = {.root = dir, .nranks = 2, .rank = 1};
    for (int i = 1; i <= GENS; i++) {
        struct sk_container *c = NULL;
        struct sk_gen base;
        struct saikai_error err = {0};
        testing_state_copy(before, now);
        testing_state_step(now, i);
        g.gen = gen(i);
        g.base = i == 1 ? (struct sk_gen){0} : gen(i - 1);
        assert_int_equal(testing_write(&g, before, now, i), 0);
        if (sk_lineage_open(dir, gen(i), 1, &c, &err))
            fail_msg("%s", err.text);
        assert_int_equal(sk_lineage_length(c), i - 1);
        assert_null(sk_skc_find(c->index, i > 1 ? "?" : SK_LINEAGE_VAR));
        assert_int_equal(c->index->var_count, TESTING_VARS);
        assert_int_equal(testing_compare(c, now), 1);
        check_box(c);
        assert_int_equal(sk_container_verify(c, &err), 0);
        sk_container_close(c);
        assert_int_equal(sk_lineage_base(dir, gen(i), 1, &base, &err), 0);
        assert_true(sk_gen_key(base) == (i == 1 ? 0 : sk_gen_key(gen(i - 1))));
    }
}

static void *slurp(const char *path, size_t *n)
{
    void *data = NULL;
    assert_int_equal(sk_io_slurp(path, 1u << 30, &data, n, NULL), 0);
    return data;
}

/* What the copy of a lineage holds is, to the byte, what a full generation of the same state would be. */
static void test_copy_is_the_full_generation(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    char a[128], b[256], other[96];
    size_t n, m;
    write_all(1u << 1);
    snprintf(a, sizeof a, "%s/copy", dir);
    assert_int_equal(sk_lineage_open(dir, gen(GENS), 1, &c, NULL), 0);
    assert_int_equal(sk_container_copy(c, a, 0, NULL), 0);
    sk_container_close(c);
    snprintf(other, sizeof other, "%s/other", dir);
    struct testing_generation g = {.root = other, .gen = gen(GENS), .nranks = 2, .rank = 1};
    assert_int_equal(testing_write(&g, before, now, GENS), 0);
    assert_int_equal(sk_gen_file(other, gen(GENS), 1, b, sizeof b, NULL), 0);
    void *x = slurp(a, &n), *y = slurp(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
    assert_int_equal(sk_container_open(a, &c, NULL), 0);
    assert_int_equal(testing_compare(c, now), 1);
    sk_container_close(c);
}

static void test_full_ones_between(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    char path[256];
    write_all(1u << 1 | 1u << 4);
    for (int i = 1; i < 4; i++) { /* nothing of the last ones needs these */
        file_of(i, path);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(sk_lineage_open(dir, gen(GENS), 1, &c, NULL), 0);
    assert_int_equal(sk_lineage_length(c), GENS - 4);
    assert_int_equal(testing_compare(c, now), 1);
    sk_container_close(c);
}

static void expect_refusal(const char *what)
{
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_lineage_open(dir, gen(GENS), 1, &c, &err), SAIKAI_EDAMAGED);
    if (!strstr(err.text, what))
        fail_msg("'%s' does not say '%s'", err.text, what);
}

static void test_a_missing_file(void **state)
{
    (void)state;
    char path[256];
    write_all(1u << 1);
    file_of(3, path);
    assert_int_equal(unlink(path), 0);
    expect_refusal("which is missing");
}

/* The same name, rank and run, all checksums right: but not what the delta was made of. */
static void test_another_file_of_the_name(void **state)
{
    (void)state;
    char path[256];
    write_all(1u << 1);
    file_of(1, path);
    assert_int_equal(unlink(path), 0);
    struct testing_generation g = {.root = dir, .gen = gen(1), .nranks = 2, .rank = 1};
    assert_int_equal(testing_write(&g, before, before, 1), 0);
    expect_refusal("builds on another file");
}

static void test_changes_alone_are_no_variable(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    char path[256];
    write_all(1u << 1);
    file_of(GENS, path);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    const struct sk_skc_var *v = sk_skc_find(c->index, "a");
    assert_string_equal(v->codec, SK_LINEAGE_CODEC);
    assert_non_null(sk_lineage_changes(c->index));
    void *out = malloc(v->raw_bytes);
    assert_int_equal(sk_container_read(c, v, out, &err), SAIKAI_EINVAL);
    memset(&err, 0, sizeof err);
    assert_int_equal(sk_container_read_box(c, v, (uint64_t[]){0, 1}, (uint64_t[]){2, 3}, out, NULL, &err), SAIKAI_EINVAL);
    assert_true(strstr(err.text, path) && strstr(err.text, "only the changes of variable 'a'"));
    assert_int_equal(sk_container_verify(c, &err), 0);
    free(out);
    sk_container_close(c);
}

/* Flip a bit anywhere in any file: the right data, or an error. */
static void test_flipped_bits(void **state)
{
    (void)state;
    unsigned seed = 7, refused = 0, good = 0;
    write_all(1u << 1);
    for (int i = 1; i <= GENS; i++) {
        char path[256];
        int64_t n = file_of(i, path);
        int fd = open(path, O_RDWR);
        for (int k = 0; k < 150; k++) {
            /* all over the file, and densely where the tables are */
            int64_t at = k < 40 ? rand_r(&seed) % n : k < 90 ? k * 3 % 128 : n - 1 - rand_r(&seed) % 700;
            uint8_t byte, bad;
            struct sk_container *c = NULL;
            struct saikai_error err = {0};
            assert_int_equal(pread(fd, &byte, 1, at), 1);
            bad = byte ^ (uint8_t)(1u << rand_r(&seed) % 8);
            assert_int_equal(pwrite(fd, &bad, 1, at), 1);
            int rc = sk_lineage_open(dir, gen(GENS), 1, &c, &err);
            int same = rc ? -1 : testing_compare(c, now);
            assert_true(same != 0); /* never wrong data */
            int found = rc || sk_container_verify(c, &err);
            refused += same < 0;
            good += same > 0;
            if (same < 0)
                assert_true(found);
            sk_container_close(c);
            assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        close(fd);
    }
    assert_true(refused > 200 && good > 0);
}

static void test_truncated(void **state)
{
    (void)state;
    write_all(1u << 1);
    for (int i = 1; i <= GENS; i++) {
        char path[256];
        struct sk_container *c = NULL;
        size_t n;
        file_of(i, path);
        void *all = slurp(path, &n);
        assert_int_equal(truncate(path, (off_t)(n * 2 / 3)), 0);
        assert_int_equal(sk_lineage_open(dir, gen(GENS), 1, &c, NULL), SAIKAI_EDAMAGED);
        assert_int_equal(sk_io_replace(path, all, n, NULL), 0);
        free(all);
    }
}

/* ---- files whose checksums are right and whose words are not ---- */

static uint8_t *changes_of(const struct sk_skc_index *x, uint8_t *map)
{
    return map + x->chunks[sk_lineage_changes(x)->first_chunk].offset;
}

static void many_regions(struct sk_skc_index *x, uint8_t *map)
{
    changes_of(x, map)[24 + 7] = 1; /* 2^56 more */
}

static void many_ranges(struct sk_skc_index *x, uint8_t *map)
{
    changes_of(x, map)[32 + 7] = 1;
}

static void newer_version(struct sk_skc_index *x, uint8_t *map)
{
    changes_of(x, map)[4]++;
}

static void damaged_tables(struct sk_skc_index *x, uint8_t *map)
{
    changes_of(x, map)[56 + 8] ^= 1;
}

static void other_variable(struct sk_skc_index *x, uint8_t *map)
{
    uint8_t *delta = changes_of(x, map);
    assert_int_equal(delta[56 + 16], 2); /* "b" */
    delta[56 + 16] = 1;
    sk_delta_seal_tables(delta);
}

static void other_size(struct sk_skc_index *x, uint8_t *map)
{
    uint8_t *delta = changes_of(x, map);
    delta[56 + 8 + 3]++; /* of "a" */
    sk_delta_seal_tables(delta);
}

static void signed_bytes(struct sk_skc_index *x, uint8_t *map)
{
    (void)map;
    ((struct sk_skc_var *)sk_lineage_changes(x))->type = SAIKAI_I8;
}

static void odd_chunks(struct sk_skc_index *x, uint8_t *map)
{
    struct sk_skc_var *v = (struct sk_skc_var *)sk_lineage_changes(x);
    (void)map;
    v->dims[0] = v->raw_bytes -= 8;
    x->chunks[v->first_chunk].raw_bytes -= 8;
}

/* The last generation of `write_all` with this lie. */
static void write_lie(void (*lie)(struct sk_skc_index *, uint8_t *), size_t spare)
{
    char path[256];
    struct testing_generation g = {.root = dir, .gen = gen(GENS), .base = gen(GENS - 1), .nranks = 2, .rank = 1, .spare = spare, .lie = lie};
    file_of(GENS, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(testing_write(&g, before, now, GENS), 0);
}

static void test_lies_about_changes(void **state)
{
    (void)state;
    static const struct {
        void (*lie)(struct sk_skc_index *, uint8_t *);
        size_t spare;
        const char *words;
    } cases[] = {
        {many_regions, 0, "its changes are damaged: they are truncated"}, {many_ranges, 0, "its changes are damaged: they are truncated"},
        {newer_version, 0, "gen-0001-000000000060-0"}, {damaged_tables, 0, "gen-0001-000000000060-0"},
        {other_variable, 0, "they are those of other variables"}, {other_size, 0, "they are those of other variables"},
        {odd_chunks, 0, "their chunks have odd sizes"},
        {signed_bytes, 0, "they are not plain bytes"}, {NULL, 8, "they have the wrong length"},
    };
    struct sk_container *c = NULL;
    write_all(1u << 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_lie(cases[i].lie, cases[i].spare);
        expect_refusal(cases[i].words);
    }
    write_lie(NULL, 0);
    assert_int_equal(sk_lineage_open(dir, gen(GENS), 1, &c, NULL), 0);
    sk_container_close(c);
}

/* Any part of a variable, wherever chunks and changes begin and end. */
static void test_parts(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    struct sk_lineage_trace t;
    struct saikai_error err = {0};
    enum { N = TESTING_CELLS * sizeof(double) };
    uint8_t *out = malloc(N + 2);
    unsigned seed = 3;
    write_all(1u << 1);
    assert_int_equal(sk_lineage_open(dir, gen(GENS), 1, &c, NULL), 0);
    assert_int_equal(sk_lineage_follow(c->lineage, sk_skc_find(c->index, "a"), &t, &err), 0);
    assert_int_equal(t.full, GENS - 1);
    for (int i = 0; i < 120; i++) {
        /* short ones and long ones, over and at the ends of chunks */
        uint64_t lo = i % 3 ? (uint64_t)rand_r(&seed) % N : (uint64_t)(i % 2 + 1) * SK_SKC_CHUNK_BYTES - (uint64_t)(i % 5), hi = lo + (uint64_t)rand_r(&seed) % (i % 4 ? 5000 : N);
        lo = i % 7 ? lo : 0;
        hi = hi < N && i % 11 ? hi : N;
        memset(out, 0xee, N + 2);
        assert_int_equal(sk_lineage_read_part(c->lineage, &t, lo, hi, out + 1, &err), 0);
        assert_memory_equal(out + 1, (uint8_t *)now->a + lo, hi - lo);
        assert_true(out[0] == 0xee && out[1 + hi - lo] == 0xee);
    }
    free(t.region);
    free(out);
    sk_container_close(c);
}

/* What a file builds on has the variable in another shape: it is not put together. */
static void test_a_base_with_another_shape(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    char path[256];
    static uint8_t out[4096];
    struct testing_generation g = {.root = dir, .gen = gen(1), .nranks = 2, .rank = 1};
    testing_state_step(now, 1);
    now->grown = 500;
    assert_int_equal(testing_write(&g, NULL, now, 1), 0);
    g.base = g.gen;
    g.gen = gen(2);
    testing_state_copy(before, now);
    before->grown = now->grown = 1000;
    now->grows[3] ^= 1;
    assert_int_equal(testing_write(&g, before, now, 2), 0);
    assert_int_equal(sk_lineage_open(dir, gen(2), 1, &c, NULL), 0);
    assert_int_equal(sk_container_read(c, sk_skc_find(c->index, "grows"), out, &err), SAIKAI_EDAMAGED);
    assert_true(strstr(err.text, "does not hold variable 'grows', which ") && strstr(err.text, " builds on"));
    file_of(1, path);
    assert_true(strstr(err.text, path) == err.text);
    assert_int_equal(sk_container_verify(c, &err), SAIKAI_EDAMAGED);
    snprintf(path, sizeof path, "%s/copy", dir);
    assert_int_equal(sk_container_copy(c, path, 0, &err), SAIKAI_EDAMAGED);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sk_container_read_box(c, sk_skc_find(c->index, "grows"), (uint64_t[]){5}, (uint64_t[]){10}, out, NULL, &err), SAIKAI_EDAMAGED);
    sk_container_close(c);
}

/* A codec that this build lacks is told of before anything is read, also in a file that this one builds on. */
static void test_what_cannot_be_decoded(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    write_all(1u << 1);
    assert_int_equal(sk_lineage_open(dir, gen(1), 1, &c, NULL), 0);
    assert_int_equal(sk_container_decodable(c, &c->index->vars[0], &err), 0);
    assert_int_equal(sk_lineage_decodable(c, &err), 0);
    sk_container_close(c);
    assert_int_equal(sk_lineage_open(dir, gen(3), 1, &c, NULL), 0);
    for (uint32_t i = 0; i < c->index->var_count; i++) /* also of which there are only changes */
        assert_int_equal(sk_container_decodable(c, &c->index->vars[i], &err), 0);
    strcpy(c->index->vars[1].codec, "strange:3");
    assert_int_equal(sk_container_decodable(c, &c->index->vars[1], &err), SAIKAI_ENOTSUP);
    assert_true(strstr(err.text, c->path) && strstr(err.text, "variable 'text' needs the codecs 'strange:3'"));
    assert_int_equal(sk_lineage_decodable(c, &err), 0); /* its own are none of those */
    for (size_t i = 1; i < 3; i++) {
        struct sk_container *below = c->lineage->link[i].c;
        struct sk_skc_var *last = &below->index->vars[TESTING_VARS - 1];
        char was[sizeof last->codec];
        strcpy(was, last->codec);
        strcpy(last->codec, "strange:3");
        assert_int_equal(sk_lineage_decodable(c, &err), SAIKAI_ENOTSUP);
        assert_non_null(strstr(err.text, below->path));
        strcpy(last->codec, was);
    }
    sk_container_close(c);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        TEST(test_reads_every_generation), TEST(test_copy_is_the_full_generation),
        TEST(test_full_ones_between),      TEST(test_a_missing_file),
        TEST(test_another_file_of_the_name), TEST(test_changes_alone_are_no_variable),
        TEST(test_flipped_bits),           TEST(test_truncated),
        TEST(test_lies_about_changes),     TEST(test_a_base_with_another_shape),
        TEST(test_parts),
        TEST(test_what_cannot_be_decoded),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
