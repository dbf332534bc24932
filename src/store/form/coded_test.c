/* Coded containers: round trips, bounds that are kept, and every flipped bit is noticed. */
#include "store/form/coded.h"
#include "store/form/container.h"

#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-coded-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void flip(int fd, off_t at, uint8_t mask)
{
    uint8_t v;
    assert_int_equal(pread(fd, &v, 1, at), 1);
    v ^= mask;
    assert_int_equal(pwrite(fd, &v, 1, at), 1);
}

enum { CELLS = 300000,
       PARTS = 6 };
static double smooth[CELLS];
static float wide[40][50];
static int32_t ints[9000];
static float pairs[2000][2];
static char words[5000];
static double one = 0.25;

static const struct sk_piece parts[PARTS] = {
    {.name = "smooth", .type = SAIKAI_F64, .ndims = 3, .dims = {30, 100, 100}, .data = smooth, .size_bytes = sizeof smooth},
    {.name = "wide", .type = SAIKAI_F32, .ndims = 2, .dims = {40, 50}, .data = wide, .size_bytes = sizeof wide},
    {.name = "ints", .type = SAIKAI_I32, .ndims = 1, .dims = {9000}, .data = ints, .size_bytes = sizeof ints},
    {.name = "pairs", .type = SAIKAI_C64, .ndims = 1, .dims = {2000}, .data = pairs, .size_bytes = sizeof pairs},
    {.name = "words", .type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_STREAM, .dims = {5000}, .data = words, .size_bytes = sizeof words},
    {.name = "one", .type = SAIKAI_F64, .data = &one, .size_bytes = sizeof one},
};

static const struct sk_skc_header coded_header = {.iteration = 5, .incarnation = 1, .rank = 0, .nranks = 1};

static void fill_parts(void)
{
    for (int i = 0; i < CELLS; i++)
        smooth[i] = 300 + (i % 100) * 0.01 + (i / 100 % 100) * 0.02 + (i / 10000) * 0.5 + (i % 7) * 1e-4;
    for (int i = 0; i < 2000; i++)
        wide[i / 50][i % 50] = pairs[i][1] = pairs[i][0] = (float)i * 0.5f;
    for (int i = 0; i < 9000; i++)
        ints[i] = i / 3;
    for (int i = 0; i < 5000; i++)
        words[i] = "the same again, "[i % 16];
}

static int write_coded(const char *path, const struct sk_coding *coding, struct sk_skc_index **x, uint64_t *n,
                       struct saikai_error *err)
{
    fill_parts();
    return sk_container_write(path, &coded_header, parts, coding, PARTS, 0, x, n, err);
}

/* As read_back: 1 right, 0 an error says so. */
static int read_parts(const char *path)
{
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    static char out[sizeof smooth];
    int rc = sk_container_open(path, &c, &err);
    for (int i = 0; !rc && i < PARTS; i++) {
        const struct sk_skc_var *v = sk_skc_find(c->index, parts[i].name);
        assert_non_null(v);
        rc = sk_container_read(c, v, out, &err);
        if (!rc && memcmp(out, parts[i].data, parts[i].size_bytes))
            fail_msg("wrong data was returned for %s", parts[i].name);
    }
    sk_container_close(c);
    if (rc && !strstr(err.text, path))
        fail_msg("the error does not name the file: %s", err.text);
    return !rc;
}

static const char *last_exact(void)
{
    return sk_codec_find("zstd") ? "shuffle+zstd:3" : "shuffle+raw";
}

static void test_coded_round_trip_and_copy(void **state)
{
    (void)state;
    char path[128], copy[128];
    struct sk_coding coding[PARTS];
    struct sk_skc_index *x = NULL;
    struct sk_container *c = NULL;
    uint64_t n = 0;
    void *a, *b;
    size_t na, nb;
    for (int i = 0; i < PARTS; i++) /* i = 2: plain among the coded ones */
        coding[i] = (struct sk_coding){i == 2 ? NULL : i == 4 ? "wavelet"
                                                   : i % 3    ? last_exact()
                                                              : "predict",
                                       {.threads = 2}};
    snprintf(path, sizeof path, "%s/c.skc", dir);
    snprintf(copy, sizeof copy, "%s/copy.skc", dir);
    a = malloc(8 << 20);
    memset(a, 0xee, 8 << 20); /* a longer file is there already */
    assert_int_equal(sk_io_replace(path, a, 8 << 20, NULL), 0);
    free(a);
    assert_int_equal(write_coded(path, coding, &x, &n, NULL), 0);
    assert_string_equal(x->vars[0].codec, "predict");
    assert_string_equal(x->vars[2].codec, "");
    assert_string_equal(x->vars[3].codec, "predict");
    assert_string_equal(x->vars[4].codec, ""); /* wavelet takes no bytes */
    assert_int_equal(x->vars[0].chunk_count, 1);
    assert_true(x->chunks[0].stored_bytes < sizeof smooth && x->chunks[0].raw_bytes == sizeof smooth);
    assert_true(x->vars[0].max_error == 0);
    sk_skc_index_free(x);
    assert_true(read_parts(path));
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    assert_true(c->trailer.file_bytes == n);
    assert_int_equal(sk_container_verify(c, NULL), 0);
    assert_int_equal(sk_container_copy(c, copy, 1, NULL), 0);
    sk_container_close(c);
    assert_int_equal(sk_io_slurp(path, 1 << 24, &a, &na, NULL), 0);
    assert_int_equal(sk_io_slurp(copy, 1 << 24, &b, &nb, NULL), 0);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    assert_null(memmem(a, na, "\xee\xee\xee\xee\xee\xee\xee\xee", 8));
    free(a);
    free(b);
}

static void test_plain_writing_gives_what_sealing_gives(void **state)
{
    (void)state;
    char path[128];
    struct sk_skc_index *x = NULL;
    uint64_t n = 0;
    void *written;
    size_t length;
    snprintf(path, sizeof path, "%s/c.skc", dir);
    assert_int_equal(write_coded(path, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(sk_container_layout(parts, PARTS, &x, &n, NULL), 0);
    uint8_t *map = calloc(1, n);
    assert_non_null(map);
    for (int i = 0; i < PARTS; i++)
        memcpy(map + x->chunks[x->vars[i].first_chunk].offset, parts[i].data, parts[i].size_bytes);
    assert_int_equal(sk_container_seal(map, n, &coded_header, x, NULL, NULL), 0);
    assert_int_equal(sk_io_slurp(path, 1 << 24, &written, &length, NULL), 0);
    assert_int_equal(length, n);
    assert_memory_equal(written, map, n);
    free(written);
    free(map);
    sk_skc_index_free(x);
}

static void test_bounds_are_kept_and_recorded(void **state)
{
    (void)state;
    char path[128];
    struct sk_container *c = NULL;
    static double out[CELLS];
    struct sk_coding coding[PARTS] = {
        {"wavelet", {.codec = {.bound = {SK_BOUND_ABS, 1e-3}}, .verify = 1, .threads = 1}}};
    snprintf(path, sizeof path, "%s/c.skc", dir);
    assert_int_equal(write_coded(path, coding, NULL, NULL, NULL), 0);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    const struct sk_skc_var *v = sk_skc_find(c->index, "smooth");
    assert_int_equal(v->bound_kind, SK_BOUND_ABS);
    assert_true(v->bound == 1e-3 && v->max_error > 0 && v->max_error <= 1e-3);
    assert_int_equal(sk_container_read(c, v, out, NULL), 0);
    double most = 0;
    for (int i = 0; i < CELLS; i++) {
        double d = out[i] > smooth[i] ? out[i] - smooth[i] : smooth[i] - out[i];
        most = d > most ? d : most;
    }
    assert_true(most == v->max_error);
    sk_container_close(c);
}

static void count_bytes(void *arg, uint64_t more)
{
    *(uint64_t *)arg += more;
}

static void test_damage_of_coded_containers(void **state)
{
    (void)state;
    char path[128];
    struct sk_coding coding[PARTS];
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    uint64_t seen = 0;
    for (int i = 0; i < PARTS; i++)
        coding[i] = (struct sk_coding){i ? last_exact() : "predict", {.threads = 1}};
    snprintf(path, sizeof path, "%s/c.skc", dir);
    assert_int_equal(write_coded(path, coding, NULL, NULL, NULL), 0);
    int fd = open(path, O_RDWR);
    off_t size = lseek(fd, 0, SEEK_END), harmless = 0, found = 0;
    for (off_t at = 0; at < size; at += at < 400 || at > size - 1200 ? 1 : 101) {
        flip(fd, at, (uint8_t)(1u << at % 8));
        if (read_parts(path))
            harmless++;
        else
            found++;
        flip(fd, at, (uint8_t)(1u << at % 8));
    }
    printf("%lld bytes, %lld flips found, %lld in padding\n", (long long)size, (long long)found, (long long)harmless);
    assert_true(found > 1000 && harmless <= PARTS * SK_SKC_ALIGN);
    flip(fd, 5000, 1);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    assert_int_equal(sk_container_verify(c, &err), SAIKAI_EDAMAGED);
    assert_int_equal(sk_container_verify_var(c, sk_skc_find(c->index, "smooth"), NULL, NULL, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "'smooth'"));
    const struct sk_skc_var *v = sk_skc_find(c->index, "words");
    assert_int_equal(sk_container_verify_var(c, v, count_bytes, &seen, &err), 0);
    assert_true(seen == c->index->chunks[v->first_chunk].stored_bytes);
    sk_container_close(c);
    close(fd);
}

static int fail_at;
static int fail_nth(const char *op, const char *path)
{
    (void)op;
    (void)path;
    return --fail_at == 0 ? ENOSPC : 0;
}

static void test_coded_writing_that_fails_leaves_nothing(void **state)
{
    (void)state;
    char path[128];
    struct saikai_error err = {0};
    struct sk_coding coding[PARTS] = {{"predict", {.threads = 1}}};
    snprintf(path, sizeof path, "%s/c.skc", dir);
    int rc = -1;
    for (int n = 1; rc; n++) {
        fail_at = n;
        sk_io_hook = fail_nth;
        rc = write_coded(path, coding, NULL, NULL, &err);
        sk_io_hook = NULL;
        assert_true(!rc || rc == SAIKAI_ENOSPC);
        assert_int_equal(access(path, F_OK), rc ? -1 : 0);
        if (rc)
            assert_non_null(strstr(err.text, path));
    }
    assert_true(read_parts(path));
    coding[4].chain = "shuffle+nothing";
    assert_int_equal(write_coded(path, coding, NULL, NULL, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "'words'"));
}

/* A frame that is right by itself but is not what the index says. */
static void test_frame_of_another_variable(void **state)
{
    (void)state;
    char path[128];
    struct sk_skc_index *x = NULL;
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    struct sk_coding coding[PARTS] = {{"predict", {.threads = 1}}};
    uint64_t n = 0;
    static double out[2 * CELLS];
    snprintf(path, sizeof path, "%s/c.skc", dir);
    assert_int_equal(write_coded(path, coding, &x, &n, NULL), 0);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    struct sk_skc_var v = *sk_skc_find(c->index, "smooth");
    v.dims[0] *= 2;
    v.raw_bytes *= 2;
    assert_int_equal(sk_container_read(c, &v, out, &err), SAIKAI_EDAMAGED);
    v.chunk_count = 2;
    assert_int_equal(sk_container_read(c, &v, out, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "2 chunks"));
    sk_container_close(c);
    sk_skc_index_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        cmocka_unit_test(remember_open_files),
        TEST(test_coded_round_trip_and_copy),
        TEST(test_plain_writing_gives_what_sealing_gives),
        TEST(test_bounds_are_kept_and_recorded),
        TEST(test_damage_of_coded_containers),
        TEST(test_coded_writing_that_fails_leaves_nothing),
        TEST(test_frame_of_another_variable),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
