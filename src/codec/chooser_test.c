/* The chooser takes the smallest result for a slow disk, no work for an endless one, raw for random
 * bits, and only what it was allowed to. */
#include "codec/chooser.h"

#include "base/types.h"
#include "codec/cut.h"
#include "codec/samples.h"
#include "codec/stream.h"
#include "codec/array.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW 1e3 /* bytes/s at which only size matters */

static void *filled(int kind, const struct sk_array *a)
{
    void *x = malloc(sk_array_size_bytes(a));
    sk_sample_fill(kind, a, x, 1);
    return x;
}

static void a_slow_disk_wants_the_smallest(void **state)
{
    struct sk_array a = {SAIKAI_F64, 2, {100, 200}};
    for (int kind = 0; kind < 5; kind++) {
        void *x = filled(kind, &a);
        struct sk_choice slow, size;
        assert_int_equal(
            sk_choose(&a, x, &(struct sk_chooser_options){.bandwidth = SLOW}, &slow, NULL), 0);
        assert_int_equal(sk_choose(&a, x, NULL, &size, NULL), 0);
        assert_string_equal(slow.chain, size.chain);
        assert_true(size.ratio > 1);
        assert_true(slow.t_seconds + slow.c_seconds < slow.n_seconds); /* eq. (1) */
        free(x);
    }
}

static void random_bits_stay_raw(void **state)
{
    struct sk_array a = {SAIKAI_F64, 1, {30000}};
    void *x = filled(8, &a);
    struct sk_choice c;
    assert_int_equal(sk_choose(&a, x, NULL, &c, NULL), 0);
    assert_string_equal(c.chain, "raw");
    free(x);
}

static void an_endless_disk_wants_no_work(void **state)
{
    struct sk_array a = {SAIKAI_F32, 2, {300, 300}};
    void *x = filled(0, &a);
    struct sk_choice c;
    assert_int_equal(sk_choose(&a, x, &(struct sk_chooser_options){.bandwidth = 1e15}, &c, NULL),
                     0);
    assert_string_equal(c.chain, "raw");
    assert_true(c.c_seconds == 0 && c.t_seconds == c.n_seconds);
    free(x);
}

static void candidates_can_be_named(void **state)
{
    struct sk_array a = {SAIKAI_I32, 2, {300, 300}};
    void *x = filled(0, &a);
    struct saikai_error err;
    struct sk_choice c;
    struct sk_chooser_options opt = {.candidates = "fpc, shuffle+gzip:1 raw"};
    assert_int_equal(sk_choose(&a, x, &opt, &c, &err), 0);
    assert_string_equal(c.chain, "shuffle+gzip:1"); /* fpc takes no integers */
    assert_int_equal(c.tried, 2);
    opt.candidates = "gzip,nonsense";
    assert_int_equal(sk_choose(&a, x, &opt, &c, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "nonsense"));
    free(x);
}

static void every_type_has_a_default(void **state)
{
    for (int type = SAIKAI_U8; type <= SAIKAI_C128; type++) {
        struct sk_chain c;
        assert_int_equal(sk_chain_parse(sk_default_chain(type), &c, NULL), 0);
        assert_true(sk_chain_takes(&c, type));
    }
}

/* Every array of the data set: the choice by size against the best of the public compressors. */
static void no_peer_is_more_than_a_percent_smaller(void **state)
{
    const char *dir = getenv("SAIKAI_DATA");
    char path[512], line[1024], peer[1024];
    snprintf(path, sizeof path, "%s/arrays/index.csv", dir ? dir : "");
    FILE *index = dir && *dir ? fopen(path, "r") : NULL;
    if (!index)
        skip();
    assert_non_null(fgets(line, sizeof line, index));
    while (fgets(line, sizeof line, index)) {
        struct sk_array a = {0};
        struct sk_choice c;
        struct sk_buf b = {0};
        char *file = strtok(line, ","), *type = strtok(NULL, ","), *dims = strtok(NULL, ",");
        a.type = sk_type_parse(type);
        a.ndims = sk_dims_parse(dims, a.dims);
        size_t n = sk_array_size_bytes(&a), best = n;
        void *x = malloc(n);
        snprintf(path, sizeof path, "%s/arrays/%s", dir, file);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        assert_int_equal(fread(x, 1, n, f), n);
        fclose(f);
        snprintf(path, sizeof path, "%s/arrays/peers-lossless.csv", dir);
        f = fopen(path, "r");
        assert_non_null(f);
        while (fgets(peer, sizeof peer, f)) {
            char *name = strtok(peer, ",");
            strtok(NULL, ",");
            char *bytes = strtok(NULL, ",");
            if (!strncmp(name, file, strlen(name)) && file[strlen(name)] == '.' &&
                strtoul(bytes, NULL, 10) < best)
                best = strtoul(bytes, NULL, 10);
        }
        fclose(f);
        /* the bench tries them all; here those that win somewhere, for the sake of time */
        struct sk_chooser_options opt = {.candidates = "fast predict predict+zstd shuffle+zstd:9"};
        assert_int_equal(sk_choose(&a, x, &opt, &c, NULL), 0);
        assert_int_equal(sk_stream_encode_buf(c.chain, &a, x, NULL, &b, NULL, NULL), 0);
        if ((double)b.len > 1.01 * (double)best)
            print_message("%s: %s makes %zu bytes, a peer %zu\n", file, c.chain, b.len, best);
        assert_true((double)b.len <= 1.01 * (double)best);
        sk_buf_free(&b);
        free(x);
    }
    fclose(index);
}

/* Waves in three dimensions, of three pieces in time: where only size counts, they stay whole where that leaves less; where time counts, and where
 * they are small anyway, pieces are the usual ones. */
static void an_array_stays_whole_where_that_is_smaller(void **state)
{
    const struct sk_array a = {SAIKAI_F32, 3, {64, 96, 128}}, small = {SAIKAI_F32, 2, {96, 128}};
    const struct sk_chooser_options size = {.candidates = "predict"}, time = {.candidates = "predict", .bandwidth = SLOW};
    const size_t n = 64 * 96 * 128;
    float *x = malloc(n * sizeof *x);
    struct sk_choice c;
    struct sk_buf usual = {0}, chosen = {0};
    (void)state;
    for (size_t i = 0; i < n; i++) {
        double u = (double)(i % 128), v = (double)(i / 128 % 96), w = (double)(i / 128 / 96);
        x[i] = (float)(3 + sin(0.11 * u + 0.05 * v + 0.03 * w) + sin(0.07 * v - 0.09 * u + 0.05 * w) + 0.5 * cos(0.041 * u + 0.023 * v - 0.08 * w));
    }
    assert_int_equal(sk_choose(&a, x, &size, &c, NULL), 0);
    assert_int_equal(c.piece_bytes, sk_cut_bounded_bytes(&a));
    assert_int_equal(sk_stream_encode_buf("predict", &a, x, NULL, &usual, NULL, NULL), 0);
    assert_int_equal(sk_stream_encode_buf("predict", &a, x, &(struct sk_stream_options){.piece_bytes = c.piece_bytes}, &chosen, NULL, NULL), 0);
    assert_true(chosen.len < usual.len);
    assert_int_equal(sk_choose(&a, x, &time, &c, NULL), 0);
    assert_int_equal(c.piece_bytes, 0);
    assert_int_equal(sk_choose(&small, x, &size, &c, NULL), 0);
    assert_int_equal(c.piece_bytes, 0);
    sk_buf_free(&usual);
    sk_buf_free(&chosen);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_disk_wants_the_smallest),
        cmocka_unit_test(random_bits_stay_raw),
        cmocka_unit_test(an_endless_disk_wants_no_work),
        cmocka_unit_test(candidates_can_be_named),
        cmocka_unit_test(every_type_has_a_default),
        cmocka_unit_test(an_array_stays_whole_where_that_is_smaller),
        cmocka_unit_test(no_peer_is_more_than_a_percent_smaller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
