/* Pieces of every form that "predict" has ever written (tests/corpus/predict_fuzz, made by lossless_seeds then) give the same values for ever. */
#include "base/file/io.h"
#include "base/hash.h"
#include "base/types.h"
#include "codec/array.h"
#include "codec/codec.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The hash of the values as they were when the piece was made. */
static const struct {
    const char *name;
    uint64_t values;
} pieces[] = {
    {"again-f64-1", 0xff35deb6e50dbe5d},
    {"again-i64-2", 0x51df2d839691e1f0},
    {"along-f32-1", 0x95176ca176250d68},
    {"along-segments-f32-1", 0x001858e5b7752a5f},
    {"few-200-f32-1", 0x798391946d690eab},
    {"few-500-packed-f32-2", 0x45cca8ecd89d9b0d},
    {"few-500-f32-2", 0x45cca8ecd89d9b0d},
    {"few-f32-1", 0x57bb9372e0d65624},
    {"folded-f32-2", 0xbc37bb4f6e8acfc1},
    {"folded-few-f32-1", 0xcde8ab326c0181e7},
    {"parts-f64-1", 0x16857e83fa49ad9f},
    {"predict-constant-f32-2", 0x49c3e9018335bad4},
    {"predict-masked-f64-1", 0x0e9318162a4fce6f},
    {"predict-masked-f64-3", 0x61e5db9a12ef3a06},
    {"predict-noisy-c64-1", 0xd4f200ed9bf12533},
    {"predict-noisy-f32-2", 0x4dadb1999650ab4f},
    {"predict-noisy-f64-1", 0x44693397ebb1e575},
    {"predict-noisy-f64-3", 0x2563abe0ade4763e},
    {"predict-packed-c64-1", 0xd178c5bdfa3af749},
    {"predict-particles-f64-3", 0x997942cf451869c4},
    {"predict-random-f64-3", 0x359c4d821a8fd80c},
    {"predict-repeats-f64-1", 0x9bcf0921c60c7ddd},
    {"predict-scaled-f64-1", 0x99da951a1d3055ad},
    {"predict-scaled-f64-3", 0xcbcca696654c1c14},
    {"predict-smooth-c64-1", 0x5e302d5897e15fcf},
    {"predict-smooth-f32-2", 0x6ba5c0eb3a26fa82},
    {"predict-smooth-f64-1", 0xa3bb9ea109c22c2b},
    {"predict-smooth-f64-3", 0x20bc81d3d1229c5b},
    {"predict-special-c64-1", 0xefa562772c24d248},
    {"predict-zeros-f32-2", 0xa59e6c8bf3758ba4},
    {"segments-f32-1", 0x9179dd4f04516fb8},
    {"steps-f32-3", 0x4ae175770dc74db5},
    {"wide-direct-f32-1", 0x228eaeaf26481825},
    {"wide-f32-2", 0x206f98174d15f3af},
    {"wide-f32-3", 0xcc97cd0226c2cb43},
    {"zeros-all-f64-2", 0x9dc7589824f6df4f},
    {"zeros-bits-f64-1", 0x480e235fe1adee19},
    {"zeros-row-f64-2", 0x94f1e3d2c6beaaf8},
};

/* As in fuzzing.h: u8 type - 1, u8 dimensions, u16 each, the piece. */
static uint64_t values_of(const char *name)
{
    const char *source = getenv("SAIKAI_SOURCE_DIR");
    char path[600];
    struct saikai_error err = {0};
    void *file = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/tests/corpus/predict_fuzz/%s", source ? source : ".", name);
    if (sk_io_slurp(path, SIZE_MAX, &file, &n, &err))
        fail_msg("%s", err.text);
    const uint8_t *p = file;
    struct sk_array a = {.type = 1 + p[0], .ndims = p[1]};
    for (int k = 0; k < a.ndims; k++)
        a.dims[k] = p[2 + 2 * k] | (size_t)p[3 + 2 * k] << 8;
    size_t head = 2 + 2 * (size_t)a.ndims, bytes = sk_array_size_bytes(&a);
    void *x = malloc(bytes);
    if (sk_codec_find("predict")->decode(&a, p + head, n - head, x, &err))
        fail_msg("%s: %s", name, err.text);
    uint64_t hash = sk_hash64(x, bytes);
    free(x);
    free(file);
    return hash;
}

static void old_pieces_give_the_same_values(void **state)
{
    int wrong = 0;
    (void)state;
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
        uint64_t got = values_of(pieces[k].name);
        if (got != pieces[k].values)
            print_error("    {\"%s\", 0x%016" PRIx64 "},\n", pieces[k].name, got), wrong++;
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(old_pieces_give_the_same_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
