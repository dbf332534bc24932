/* Header, index and trailer of a container come back, and what does not hold together is refused,
 * one field after the other. */
#include "format/skc.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const struct sk_skc_header sample_header = {
    .run_id = 0x1122334455667788, .iteration = 1200, .place = 1, .incarnation = 3,
    .rank = 2, .nranks = 4, .created_ms = 1700000000000, .base_iteration = 1100, .base_incarnation = 3,
};

static struct sk_skc_var vars[] = {
    {.name = "u", .type = SAIKAI_F64, .ndims = 3, .dims = {64, 64, 64}, .raw_bytes = 2097152,
     .first_chunk = 0, .chunk_count = 2},
    {.name = "step", .type = SAIKAI_I32, .raw_bytes = 4, .first_chunk = 2, .chunk_count = 1},
    {.name = "none", .type = SAIKAI_F32, .ndims = 1, .dims = {0}, .first_chunk = 3},
};
static struct sk_skc_chunk chunks[] = {
    {128, 1048576, 1048576, 1}, {1048704, 1000, 1048576, 2}, {1049728, 4, 4, 3},
};
static struct sk_skc_index sample = {.var_count = 3, .chunk_count = 3, .vars = vars, .chunks = chunks};
enum { index_offset = 1049792 };

static void test_header(void **state)
{
    (void)state;
    uint8_t raw[SK_SKC_HEADER_BYTES];
    struct sk_skc_header h;
    struct saikai_error err = {0};
    sk_skc_encode_header(&sample_header, raw);
    assert_int_equal(sk_skc_decode_header(raw, sizeof raw, &h, &err), 0);
    assert_int_equal(h.iteration, 1200);
    assert_int_equal(h.nranks, 4);
    uint8_t again[SK_SKC_HEADER_BYTES];
    sk_skc_encode_header(&h, again);
    assert_memory_equal(raw, again, sizeof raw);
    for (size_t bit = 0; bit < 8 * sizeof raw; bit++) {
        raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_true(sk_skc_decode_header(raw, sizeof raw, &h, &err) < 0);
        raw[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(sk_skc_decode_header(raw, sizeof raw - 1, &h, &err), SAIKAI_EDAMAGED);
    raw[8] = 9; /* a version to come, with a right checksum */
    uint64_t hash = sk_hash64(raw, sizeof raw - 8);
    memcpy(raw + sizeof raw - 8, &hash, 8);
    assert_int_equal(sk_skc_decode_header(raw, sizeof raw, &h, &err), SAIKAI_EFORMAT);
    assert_non_null(strstr(err.text, "version 9"));
}

static void test_index(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    struct sk_skc_index *x = NULL;
    struct saikai_error err = {0};
    sk_skc_encode_index(&sample, &b);
    assert_int_equal(b.len, sk_skc_index_bytes(&sample));
    assert_int_equal(sk_skc_decode_index(b.data, b.len, index_offset, &x, &err), 0);
    assert_int_equal(x->var_count, 3);
    assert_string_equal(sk_skc_find(x, "step")->name, "step");
    assert_null(sk_skc_find(x, "v"));
    assert_memory_equal(x->chunks, chunks, sizeof chunks);
    assert_memory_equal(x->vars[0].dims, vars[0].dims, sizeof vars[0].dims);
    sk_skc_index_free(x);
    for (size_t n = 0; n < b.len; n++)
        assert_true(sk_skc_decode_index(b.data, n, index_offset, &x, &err) < 0);
    sk_buf_free(&b);
}

static int encoded(struct sk_skc_index *in, struct sk_skc_index **out, size_t shorter, struct saikai_error *err)
{
    struct sk_buf b = {0};
    sk_skc_encode_index(in, &b);
    assert_int_equal(b.len, sk_skc_index_bytes(in));
    int rc = sk_skc_decode_index(b.data, b.len - shorter, index_offset, out, err);
    sk_buf_free(&b);
    return rc;
}

static void test_tiles(void **state)
{
    (void)state;
    struct sk_skc_index *x = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_skc_version(&sample), 1);
    vars[1].scope = SK_SKC_REPLICATED;
    assert_int_equal(sk_skc_version(&sample), 3);
    vars[0].scope = vars[2].scope = SK_SKC_GLOBAL;
    vars[0].tile = (struct sk_skc_tile){{64, 128, 1000}, {0, 64, 936}};
    vars[2].tile = (struct sk_skc_tile){{0}, {0}};
    assert_int_equal(encoded(&sample, &x, 0, &err), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(x->vars[i].scope, vars[i].scope);
        assert_int_equal(x->vars[i].kind, SK_SKC_MEMORY);
        assert_memory_equal(&x->vars[i].tile, &vars[i].tile, sizeof vars[i].tile);
    }
    sk_skc_index_free(x);
    for (size_t n = 1; n < 300; n++)
        assert_true(encoded(&sample, &x, n, &err) < 0);
    static const struct sk_skc_tile bad[] = {{{64, 128, 1000}, {0, 64, 937}},
                                             {{64, 128, 1000}, {1, 64, 0}},
                                             {{64, 128, 1000}, {0, UINT64_MAX - 3, 0}},
                                             {{1ull << 40, 1ull << 40, 64}, {0, 0, 0}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vars[0].tile = bad[i];
        assert_int_equal(encoded(&sample, &x, 0, &err), SAIKAI_EDAMAGED);
        assert_non_null(strstr(err.text, "'u' outside of its global array"));
    }
    vars[0].tile = (struct sk_skc_tile){{64, 64, 64}, {0}};
    vars[0].kind = SK_SKC_STREAM; /* a stream has no elements to place */
    assert_int_equal(encoded(&sample, &x, 0, &err), SAIKAI_EDAMAGED);
    vars[0].kind = SK_SKC_MEMORY;
    vars[0].scope = 3;
    assert_int_equal(encoded(&sample, &x, 0, &err), SAIKAI_EDAMAGED);
    vars[0].scope = vars[1].scope = vars[2].scope = SK_SKC_OWN;
}

static void expect_bad_index(const char *text)
{
    struct sk_buf b = {0};
    struct sk_skc_index *x = NULL;
    struct saikai_error err = {0};
    sk_skc_encode_index(&sample, &b);
    assert_int_equal(sk_skc_decode_index(b.data, b.len, index_offset, &x, &err), SAIKAI_EDAMAGED);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
    sk_buf_free(&b);
}

static void test_index_that_does_not_hold_together(void **state)
{
    (void)state;
    struct sk_skc_var v0 = vars[0], v1 = vars[1];
    struct sk_skc_chunk c1 = chunks[1];
    strcpy(vars[1].name, "u");
    expect_bad_index("'u' twice");
    vars[1] = v1;
    vars[0].dims[0] = 65;
    expect_bad_index("describes variable 'u' wrongly");
    vars[0] = v0;
    vars[0].dims[0] = (uint64_t)1 << 62;
    expect_bad_index("describes variable 'u' wrongly");
    vars[0] = v0;
    vars[0].type = 77;
    expect_bad_index("wrongly");
    vars[0] = v0;
    chunks[1].offset = 500;
    expect_bad_index("chunk 1 lies outside");
    chunks[1] = c1;
    chunks[1].stored_bytes = UINT64_MAX;
    expect_bad_index("chunk 1 lies outside");
    chunks[1] = c1;
    chunks[1].raw_bytes--;
    expect_bad_index("do not add up");
    chunks[1] = c1;
    vars[1].chunk_count = 0;
    vars[1].raw_bytes = 0;
    vars[1].ndims = 1;
    vars[1].dims[0] = 0;
    expect_bad_index("wrong chunks");
    vars[1] = v1;
}

static void test_trailer(void **state)
{
    (void)state;
    uint8_t raw[SK_SKC_TRAILER_BYTES];
    struct sk_skc_trailer t = {5000, 4000, 500, 42}, u;
    struct saikai_error err = {0};
    sk_skc_encode_trailer(&t, raw);
    assert_int_equal(sk_skc_decode_trailer(raw, sizeof raw, 5000, &u, &err), 0);
    assert_memory_equal(&t, &u, sizeof t);
    assert_int_equal(sk_skc_decode_trailer(raw, sizeof raw, 5001, &u, &err), SAIKAI_EDAMAGED);
    t.index_bytes = 5000;
    sk_skc_encode_trailer(&t, raw);
    assert_int_equal(sk_skc_decode_trailer(raw, sizeof raw, 5000, &u, &err), SAIKAI_EDAMAGED);
    memset(raw, 0, sizeof raw);
    assert_int_equal(sk_skc_decode_trailer(raw, sizeof raw, 5000, &u, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "truncated"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_index_that_does_not_hold_together),
        cmocka_unit_test(test_trailer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
