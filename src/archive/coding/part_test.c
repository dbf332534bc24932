/* Every stencil, relation, filter and form of a part is undone exactly, and the encoding gives the
 * bytes that it always gave. */
#include "archive/coding/block.h"
#include "codec/copies/copies.h"
#include "archive/coding/block_case.h"
#include "archive/coding/unpack.h"
#include "archive/file/ska.h"
#include "base/hash.h"
#include "base/file/io.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t state = 88172645463325252u;
static uint64_t noise(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

enum content { SMOOTH, RANDOM_BITS, ZEROS_AND_WAVES, SPECIAL, CONSTANT, CONTENTS };

static double value(enum content c, size_t i)
{
    static const double odd[] = {
        0.0, -0.0, INFINITY, -INFINITY, NAN, 5e-324, -5e-324, 1.7976931348623157e308, 1, -1};
    uint64_t bits = noise();
    double v;
    switch (c) {
    case SMOOTH:
        return 3 + sin((double)i * 0.05) + 1e-10 * (double)(bits % 100);
    case RANDOM_BITS:
        memcpy(&v, &bits, 8);
        return v;
    case ZEROS_AND_WAVES:
        return i / 7 % 3 ? cos((double)i * 0.1) : 0;
    case SPECIAL:
        return odd[bits % 10];
    default:
        return 42;
    }
}

/* Parts 0 … 2 of two boxes: `type`, filled with contents that depend on `round`; part 1 is close to
 * twice part 0. */
static void fill(struct block_case *b, int type, int big, int round)
{
    static const struct sk_stencil_box boxes[][2] = {{{3, 4, 9}, {2, 4, 9}},
                                             {{1, 1, 200}, {1, 1, 1}},
                                             {{1, 12, 5}, {4, 1, 3}},
                                             {{7, 3, 1}, {16, 16, 20}}};
    memset(b, 0, sizeof *b);
    b->count = 3;
    for (int i = 0; i < 3; i++) {
        struct sk_part *p = &b->parts[i];
        *p = (struct sk_part){
            .type = type, .big_endian = big, .segments = b->segments[i], .count = 2};
        for (int k = 0; k < 2; k++) {
            b->segments[i][k].box = boxes[round % 4][k];
            p->size_bytes += sk_box_count(boxes[round % 4][k]) * sk_type_size(type);
        }
        p->raw = malloc(p->size_bytes);
        size_t n = p->size_bytes / sk_type_size(type);
        for (size_t v = 0; v < n; v++) {
            double x = value((enum content)((round / 4 + (i == 2)) % CONTENTS), v);
            if (i == 1 && round % 2 && type != SAIKAI_U8)
                x = 2 * (type == SAIKAI_F64 ? ((double *)(void *)b->parts[0].raw)[v]
                                            : (double)((float *)(void *)b->parts[0].raw)[v]);
            if (type == SAIKAI_F64)
                ((double *)(void *)p->raw)[v] = x;
            else if (type == SAIKAI_F32)
                ((float *)(void *)p->raw)[v] = (float)x;
            else
                p->raw[v] = (uint8_t)(noise() % 3);
        }
    }
    for (int i = 0; i < 3; i++)
        if (big)
            sk_swap_elements(b->parts[i].raw, b->parts[i].size_bytes, sk_type_size(type));
}

static void check_round_trip(struct block_case *b, const struct sk_recipe *recipes,
                             const char *what, int round)
{
    struct sk_coder c = {0};
    struct sk_buf out = {0};
    struct saikai_error err = {0};
    uint8_t *copy[CASE_PARTS];
    for (int i = 0; i < b->count; i++) {
        copy[i] = malloc(b->parts[i].size_bytes);
        memcpy(copy[i], b->parts[i].raw, b->parts[i].size_bytes);
    }
    if (sk_block_encode(&c, b->parts, b->count, recipes, &out, &err))
        fail_msg("%s, round %d: %s", what, round, err.text);
    size_t n = out.len;
    sk_buf_put(&out, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    for (int i = 0; i < b->count; i++) {
        memset(b->parts[i].raw, 0xa5, b->parts[i].size_bytes);
        b->parts[i].native = 0;
    }
    if (sk_block_decode(&c, out.data, n, b->parts, b->count, &err))
        fail_msg("%s, round %d: %s", what, round, err.text);
    for (int i = 0; i < b->count; i++) {
        if (memcmp(copy[i], b->parts[i].raw, b->parts[i].size_bytes))
            fail_msg("%s, round %d: part %d differs", what, round, i);
        free(copy[i]);
    }
    sk_buf_free(&out);
    sk_coder_free(&c);
}

static void every_stencil_and_relation_is_undone(void **state_)
{
    for (int round = 0; round < 4 * CONTENTS; round++)
        for (int stencil = 0; stencil < SK_STENCILS; stencil++)
            for (int kind = 0; kind < 8; kind++) {
                struct block_case b;
                struct sk_recipe r[3];
                fill(&b, kind & 1 ? SAIKAI_F32 : SAIKAI_F64, kind >> 1 & 1, round);
                for (int i = 0; i < 3; i++) {
                    r[i] = (struct sk_recipe){
                        .form = SK_FORM_PREDICT, .backend = SK_BACKEND_ZSTD, .stencil = stencil};
                    for (int k = 0; k < SK_NEIGHBOURS; k++)
                        r[i].weights[k] = k < 3 ? 0.9 : k < 6 ? -0.8 : 0.7;
                }
                if (kind & 4) { /* a source that is stored as bytes */
                    r[0].form = SK_FORM_BYTES;
                    r[1].relation =
                        (struct sk_relation){.kind = SK_RELATION_QUOTIENT, .num = 1, .den = 1};
                    r[1].relation.term[0] = (struct sk_term){2.0, 0, 0};
                    r[1].relation.under[0] = (struct sk_term){1.0, 0, -1};
                    r[2].relation = (struct sk_relation){.kind = SK_RELATION_COLUMNS, .num = 2};
                    r[2].relation.term[0] = (struct sk_term){1, 0, -1};
                    r[2].relation.term[1] = (struct sk_term){1, 1, -1};
                }
                check_round_trip(&b, r, "prediction", round * 1000 + stencil * 10 + kind);
                case_free(&b);
            }
}

static void every_filter_is_undone(void **state_)
{
    for (int round = 0; round < 8; round++)
        for (int filter = 0; filter < SK_FILTERS; filter++)
            for (int backend = 0; backend < SK_BACKENDS; backend++) {
                struct block_case b;
                struct sk_recipe r[3];
                fill(&b, SAIKAI_U8, 0, round);
                for (int i = 0; i < 3; i++)
                    r[i] = (struct sk_recipe){.form = round % 2 ? SK_FORM_BYTES : SK_FORM_RECORDS,
                                              .backend = backend,
                                              .filter = filter};
                check_round_trip(&b, r, "filter", filter);
                case_free(&b);
            }
}

static void records_and_fields_are_undone(void **state_)
{
    for (int round = 0; round < 4 * CONTENTS; round++) {
        struct block_case b;
        struct sk_recipe r[3];
        fill(&b, SAIKAI_F64, round & 1, round);
        for (int i = 0; i < 3; i++) {
            r[i] = (struct sk_recipe){.form = SK_FORM_FIELDS, .backend = SK_BACKEND_ZSTD};
            b.segments[i][1].box = b.segments[i][0].box; /* one number of fields in a part */
            free(b.parts[i].raw);
            b.parts[i].size_bytes = 16 * sk_box_count(b.segments[i][0].box);
            b.parts[i].raw = calloc(1, b.parts[i].size_bytes);
            for (size_t v = 0; v < b.parts[i].size_bytes / 8; v++)
                ((double *)(void *)b.parts[i].raw)[v] = value((enum content)(round / 4), v);
            if (b.segments[i][0].box.nx > 64)
                r[i].form = SK_FORM_BYTES;
        }
        check_round_trip(&b, r, "fields", round);
        case_free(&b);
    }
    uint8_t file[4000] = {0};
    struct block_case b = {.count = 1};
    size_t at = 0;
    for (uint32_t n = 0; at + n + 8 < 3000; n += 4) {
        memcpy(file + at, &n, 4);
        for (uint32_t k = 0; k < n; k += 4)
            memcpy(file + at + 4 + k, &(uint32_t){1000 + k}, 4);
        memcpy(file + at + 4 + n, &n, 4);
        at += n + 8;
    }
    b.segments[0][0].box = (struct sk_stencil_box){1, 1, 4000};
    b.parts[0] = (struct sk_part){
        .type = SAIKAI_U8, .segments = b.segments[0], .count = 1, .size_bytes = 4000};
    b.parts[0].raw = malloc(4000);
    memcpy(b.parts[0].raw, file, 4000);
    check_round_trip(&b, &(struct sk_recipe){.form = SK_FORM_RECORDS, .backend = SK_BACKEND_ZSTD},
                     "records", 0);
    case_free(&b);
}

/* Records whose lengths, words and kinds of words nobody can foresee, as often as they fit. */
static void fill_records(struct sk_part *p)
{
    for (size_t at = 0; at + 24 <= p->size_bytes;) {
        uint64_t x = noise();
        uint32_t n = p->size_bytes - at >= 28 && x & 2 ? 20 : 16, word = (uint32_t)(x >> 8) | 0x01010101;
        memcpy(p->raw + at, &n, 4);
        for (uint32_t k = 0; k < n; k += 4, word = x & 1 ? word : (uint32_t)noise() | 0x01010101) /* the same words are few as differences */
            memcpy(p->raw + at + 4 + k, &word, 4);
        memcpy(p->raw + at + 4 + n, &n, 4);
        at += n + 8;
    }
}

/* What was the same in the part before costs nothing: the words, how long each record is, and how its words are written. */
static void records_build_on_those_before(void **state_)
{
    enum { BYTES = 60000 };
    struct sk_recipe r = {.form = SK_FORM_RECORDS, .backend = SK_BACKEND_ZSTD};
    if (sk_backend_here(SK_BACKEND_ZSTD) < 0)
        skip();
    struct block_case b = {.count = 1};
    b.segments[0][0].box = (struct sk_stencil_box){1, 1, BYTES};
    b.parts[0] = (struct sk_part){.type = SAIKAI_U8, .segments = b.segments[0], .count = 1, .size_bytes = BYTES};
    b.parts[0].raw = malloc(BYTES);
    fill_records(&b.parts[0]);
    struct sk_part before = b.parts[0];
    const struct sk_part *const same[1] = {&before};
    before.raw = malloc(BYTES);
    memcpy(before.raw, b.parts[0].raw, BYTES);
    struct sk_buf out[2] = {{0}};
    for (int builds = 0; builds < 2; builds++) {
        struct sk_coder c = {.previous = builds ? same : NULL};
        assert_int_equal(sk_block_encode(&c, b.parts, 1, &r, &out[builds], NULL), 0);
        size_t n = out[builds].len;
        sk_buf_put(&out[builds], (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
        memset(b.parts[0].raw, 0xa5, BYTES);
        assert_int_equal(sk_block_decode(&c, out[builds].data, n, b.parts, 1, NULL), 0);
        assert_memory_equal(b.parts[0].raw, before.raw, BYTES);
        uint64_t stored[2]; /* of the lengths and of the kinds of words, behind the part's length, its form and how many of both there are */
        memcpy(&stored[0], out[builds].data + 26, 8);
        memcpy(&stored[1], out[builds].data + 26 + 8 + stored[0] + 1, 8);
        if (builds ? stored[1] > 100 || n > BYTES / 40 : stored[1] < 200 || n < BYTES / 4)
            fail_msg("%zu bytes, %d of them for the kinds", n, (int)stored[1]);
        sk_coder_free(&c);
        sk_buf_free(&out[builds]);
    }
    free(before.raw);
    case_free(&b);
}

/* The bytes of a block depend on no machine, build or thread: a version 1 archive stays readable.
 */
static void the_encoding_does_not_drift(void **state_)
{
    struct block_case b;
    struct sk_coder c = {0};
    struct sk_buf out = {0};
    struct sk_recipe r[3];
    b.count = 3;
    memset(&b, 0, sizeof b);
    b.count = 3;
    for (int i = 0; i < 3; i++) {
        b.segments[i][0].box = (struct sk_stencil_box){4, 5, 6};
        b.parts[i] = (struct sk_part){
            .type = SAIKAI_F64, .segments = b.segments[i], .count = 1, .size_bytes = 960};
        b.parts[i].raw = malloc(960);
        for (int v = 0; v < 120; v++)
            ((double *)(void *)b.parts[i].raw)[v] =
                (1 + i) * (3 + v * 0.125 + (v * 7919 % 64) * 0x1p-40);
        r[i] = (struct sk_recipe){
            .form = SK_FORM_PREDICT, .backend = SK_BACKEND_STORE, .stencil = SK_STENCIL_XYZ};
    }
    r[2].relation = (struct sk_relation){.kind = SK_RELATION_QUOTIENT, .num = 2};
    r[2].relation.term[0] = (struct sk_term){1, 0, -1};
    r[2].relation.term[1] = (struct sk_term){1, 1, -1};
    assert_int_equal(sk_block_encode(&c, b.parts, 3, r, &out, NULL), 0);
    assert_int_equal(out.len, 601);
    assert_true(sk_hash64(out.data, out.len) == 0x199047c740dcb769u);
    sk_buf_free(&out);
    sk_coder_free(&c);
    case_free(&b);
}

/* Stored bytes of which only the first so many ever come. */
struct slow {
    size_t there, asked;
};

static int wait_in_vain(void *arg, size_t n, struct saikai_error *err)
{
    struct slow *s = arg;
    s->asked = n > s->asked ? n : s->asked;
    return n > s->there ? sk_fail(err, SAIKAI_EIO, "no more") : 0;
}

static void what_does_not_arrive_is_an_error(void **state_)
{
    struct block_case b;
    struct sk_recipe r[3] = {{.backend = SK_BACKEND_STORE}, {.backend = SK_BACKEND_STORE}, {.backend = SK_BACKEND_STORE}};
    struct sk_coder c = {0};
    struct sk_buf out = {0};
    fill(&b, SAIKAI_F64, 0, 0);
    assert_int_equal(sk_block_encode(&c, b.parts, b.count, r, &out, NULL), 0);
    size_t n = out.len;
    sk_buf_put(&out, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    for (size_t there = 0; there <= n; there++) {
        struct slow s = {.there = there};
        struct sk_arriving a = {.data = out.data, .wait = wait_in_vain, .arg = &s};
        struct saikai_error err = {0};
        for (int i = 0; i < b.count; i++)
            b.parts[i].native = 0;
        c.arriving = &a;
        assert_int_equal(sk_block_decode(&c, out.data, n, b.parts, b.count, &err), there < n ? SAIKAI_EIO : 0);
        assert_true(s.asked > there || there == n);
        assert_true(s.asked <= n);
    }
    sk_buf_free(&out);
    sk_coder_free(&c);
    case_free(&b);
}

static void large_room_is_room(void **state_)
{
    struct sk_buf b = {0};
    static const size_t sizes[] = {100, (4 << 20) - 8, 5 << 20, 3 << 20, 9 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *p = sk_coder_room(&b, sizes[i]);
        assert_non_null(p);
        assert_ptr_equal(p, b.data);
        assert_true(b.cap >= sizes[i] + 8 && b.len == sizes[i] + 8);
        memset(p, 1, sizes[i] + 8);
    }
    assert_true(b.cap >= 9 << 20);
    sk_buf_free(&b);
}

/* Whole elements alone: what is left over at the end stays as it is. */
static void elements_are_swapped(void **unused)
{
    (void)unused;
    static const uint8_t swapped[][19] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18},
        {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 17, 16, 18},
        {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 16, 17, 18},
        {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 16, 17, 18},
    };
    for (int i = 0; i < 4; i++) {
        _Alignas(8) uint8_t bytes[24];
        for (uint8_t k = 0; k < 24; k++)
            bytes[k] = k;
        sk_swap_elements(bytes, 19, (size_t)1 << i);
        assert_memory_equal(bytes, swapped[i], 19);
        for (uint8_t k = 19; k < 24; k++)
            assert_int_equal(bytes[k], k);
    }
}

/* Parts that a form is not for, and a codec that nobody has. */
static void what_cannot_be_coded_is_told(void **unused)
{
    (void)unused;
    static const struct {
        struct sk_recipe r;
        int type;
        struct sk_stencil_box box[2];
        int rc;
        const char *says;
    } cases[] = {{{.form = SK_FORM_CODEC, .codec = "nowhere"}, SAIKAI_F64, {{1, 1, 8}, {1, 1, 8}}, SAIKAI_ENOTSUP, "there is no codec 'nowhere'"},
                 {{.form = SK_FORM_FIELDS}, SAIKAI_F64, {{1, 4, 2}, {1, 2, 4}}, SAIKAI_EINTERNAL, "records of different lengths in one part"},
                 {{.form = SK_FORM_FIELDS}, SAIKAI_F64, {{1, 1, 65}, {1, 1, 65}}, SAIKAI_EINTERNAL, "records of different lengths"},
                 {{.form = SK_FORM_FIELDS}, SAIKAI_F32, {{1, 1, 8}, {1, 1, 8}}, SAIKAI_EINTERNAL, "records of different lengths"},
                 {{.form = SK_FORM_FIELDS}, SAIKAI_F64, {{1, 1, 64}, {1, 1, 64}}, 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_ska_segment segments[2] = {{.box = cases[i].box[0]}, {.box = cases[i].box[1]}};
        struct sk_part p = {.type = cases[i].type, .segments = segments, .count = 2};
        struct sk_coder c = {0};
        struct sk_buf out = {0};
        struct saikai_error err = {0};
        p.size_bytes = 8 * (sk_box_count(segments[0].box) + sk_box_count(segments[1].box));
        p.raw = calloc(1, p.size_bytes);
        if (sk_block_encode(&c, &p, 1, &cases[i].r, &out, &err) != cases[i].rc || err.code != cases[i].rc ||
            (cases[i].says && !strstr(err.text, cases[i].says)))
            fail_msg("case %zu: %d, %s", i, err.code, err.text);
        free(p.raw);
        sk_buf_free(&out);
        sk_coder_free(&c);
    }
}

/* Of each thread: the stored bytes, the block, what that takes from, and both once more in the order of a filter. */
static void what_unpacking_takes(void **unused)
{
    (void)unused;
    static const struct {
        size_t block;
        int needs;
        uint64_t work, raw;
    } cases[] = {{2, 0, 10 + 9000 + 9000, 9000},
                 {0, 0, 1000 + 5000 + 5000, 5000},
                 {1, 0, 3000 + 5000 + 2 * 5000 + 5000, 4000},
                 {3, 0, 1000 + 5000 + 2 * 7000 + 7000, 7000},
                 {4, 0, 7 + SK_PACK_STRONG_WINDOW + (uint64_t)SK_PACK_STRONG_WINDOW + 1, (uint64_t)SK_PACK_STRONG_WINDOW + 1},
                 {2, SK_SKA_TEXT - 1, 18010, 9000},
                 {2, SK_SKA_TEXT, 18010 + (uint64_t)SK_TEXT_MEMORY, 9000},
                 {2, SK_SKA_ROWS, 18010 + (uint64_t)SK_TEXT_MEMORY + SK_ROWS_MEMORY, 9000},
                 {2, SK_SKA_WIDE, 18010 + (uint64_t)SK_TEXT_MEMORY + SK_ROWS_MEMORY, 9000},
                 {2, SK_SKA_AFTER, 18010 + 2 * (uint64_t)SK_TEXT_MEMORY + SK_ROWS_MEMORY, 9000},
                 {2, SK_SKA_FRAMES, 18010 + 2 * (uint64_t)SK_TEXT_MEMORY + SK_ROWS_MEMORY + SK_FRAMES_MEMORY, 9000},
                 {2, SK_SKA_COPIES, 18010 + 2 * (uint64_t)SK_TEXT_MEMORY + SK_ROWS_MEMORY + SK_FRAMES_MEMORY + SK_COPIES_UNDO_MEMORY, 9000}};
    struct sk_ska_block blocks[] = {{.stored_bytes = 1000, .size_bytes = 5000},
                                    {.stored_bytes = 3000, .size_bytes = 4000, .own = 1},
                                    {.stored_bytes = 10, .size_bytes = 9000},
                                    {.stored_bytes = 999, .size_bytes = 7000, .own = 1},
                                    {.stored_bytes = 7, .size_bytes = (uint64_t)SK_PACK_STRONG_WINDOW + 1}};
    struct sk_ska a = {.blocks = blocks, .block_count = 5};
    struct sk_opened o;
    sk_opened_init(&o, -1, "nowhere", &a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_unpack_need need;
        a.needs = cases[i].needs;
        assert_int_equal(sk_unpack_need(&o, cases[i].block, &need, NULL), 0);
        if (need.work_bytes != cases[i].work || need.raw_bytes != cases[i].raw)
            fail_msg("case %zu: %llu and %llu", i, (unsigned long long)need.work_bytes, (unsigned long long)need.raw_bytes);
    }
    sk_opened_done(&o);
    struct sk_unpack_need most = {5, 5};
    sk_unpack_most(&most, &(struct sk_unpack_need){4, 9});
    assert_true(most.work_bytes == 5 && most.raw_bytes == 9);
    sk_unpack_most(&most, &(struct sk_unpack_need){7, 9});
    assert_true(most.work_bytes == 7 && most.raw_bytes == 9);
    static const struct {
        int wanted, most;
        uint64_t memory;
        int threads;
    } threads[] = {{4, 64, 64, 4}, {4, 64, 63, 3}, {4, 64, 48, 3}, {4, 64, 16, 1}, {4, 64, 0, 1}, {100, 10, 1000, 10}, {1, 10, 0, 1}, {2, 1, 1000, 1}};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        assert_int_equal(sk_unpack_threads(threads[i].wanted, threads[i].most, &most, threads[i].memory), threads[i].threads);
    int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    assert_int_equal(sk_unpack_threads(0, 1 << 20, &most, 1 << 30), processors);
}

/* ---- segments of a block that is unpacked ---- */

static struct {
    char order[16];
    int fails; /* the call that does, from 1 */
} taken;

static int take_segment(void *arg, const struct sk_ska_segment *s, const uint8_t *data, size_t n, struct saikai_error *err)
{
    size_t k = strlen(taken.order);
    assert_ptr_equal(arg, &taken);
    assert_int_equal(n, sk_box_count(s->box) * (s->file ? 8 : 1));
    assert_int_equal(data[0], s->offset);
    taken.order[k] = (char)('a' + s->offset);
    return (int)k + 1 == taken.fails ? sk_fail(err, SAIKAI_ENOSPC, "no room") : 0;
}

/* Those of wanted files and classes, in order, until one is refused or is not what it should be. */
static void segments_are_compared(void **unused)
{
    (void)unused;
    static const uint8_t files[] = {1, 0, 1}, second[] = {0, 1};
    static const struct {
        const uint8_t *wanted, *classes;
        int fails, damaged, rc; /* damaged: which segment has another hash, from 1 */
        const char *order;
    } cases[] = {{NULL, NULL, 0, 0, 0, "abcd"},  {files, NULL, 0, 0, 0, "abd"},           {NULL, second, 0, 0, 0, "cd"}, {files, second, 0, 0, 0, "d"},
                 {NULL, NULL, 2, 0, SAIKAI_ENOSPC, "ab"}, {NULL, NULL, 0, 2, SAIKAI_EDAMAGED, "a"}, {NULL, NULL, 0, 4, SAIKAI_EDAMAGED, "abc"},
                 {files, NULL, 0, 3, 0, "abd"},  {NULL, second, 0, 1, 0, "cd"}};
    _Alignas(8) uint8_t one[30] = {0}, two[24] = {[0] = 2, [16] = 3};
    one[10] = 1;
    struct sk_ska_file all[] = {{.name = "x", .size_bytes = 30}, {.name = "y", .size_bytes = 18}, {.name = "z", .size_bytes = 8}};
    struct sk_ska_class classes[] = {{"bytes", SAIKAI_U8, 0, 0}, {"v", SAIKAI_F64, 0, 0}};
    struct sk_ska_segment segments[] = {{0, 0, {1, 1, 10}, 0}, {0, 1, {1, 2, 10}, 0}, {1, 2, {1, 1, 2}, 0}, {2, 3, {1, 1, 1}, 0}};
    struct sk_ska_part parts[] = {{0, 0, 2, 30}, {1, 2, 2, 24}};
    struct sk_ska_block block = {.count = 2, .size_bytes = 54};
    struct sk_part unpacked[] = {{.type = SAIKAI_U8, .raw = one}, {.type = SAIKAI_F64, .raw = two}};
    const struct sk_ska a = {.files = all, .file_count = 3, .classes = classes, .class_count = 2, .segments = segments, .segment_count = 4,
                             .parts = parts, .part_count = 2, .blocks = &block, .block_count = 1};
    const struct sk_unpacked u = {.parts = unpacked};
    segments[0].hash = sk_hash64(one, 10);
    segments[1].hash = sk_hash64(one + 10, 20);
    segments[2].hash = sk_hash64(two, 16);
    segments[3].hash = sk_hash64(two + 16, 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct saikai_error err = {0};
        memset(&taken, 0, sizeof taken);
        taken.fails = cases[i].fails;
        if (cases[i].damaged)
            segments[cases[i].damaged - 1].hash++;
        int rc = sk_unpack_each(&u, "old.ska", &a, 0, cases[i].wanted, cases[i].classes, take_segment, &taken, &err);
        if (cases[i].damaged)
            segments[cases[i].damaged - 1].hash--;
        if (rc != cases[i].rc || strcmp(taken.order, cases[i].order) || err.code != rc)
            fail_msg("case %zu: %d after %s: %s", i, rc, taken.order, err.text);
        if (rc == SAIKAI_EDAMAGED)
            assert_string_equal(err.text, cases[i].damaged == 2 ? "old.ska: bytes 1 to 21 of x are not what was archived" : "old.ska: bytes 3 to 11 of z are not what was archived");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stencil_and_relation_is_undone),
        cmocka_unit_test(every_filter_is_undone),
        cmocka_unit_test(records_and_fields_are_undone),
        cmocka_unit_test(what_cannot_be_coded_is_told),
        cmocka_unit_test(what_unpacking_takes),
        cmocka_unit_test(segments_are_compared),
        cmocka_unit_test(records_build_on_those_before),
        cmocka_unit_test(the_encoding_does_not_drift),
        cmocka_unit_test(what_does_not_arrive_is_an_error),
        cmocka_unit_test(large_room_is_room),
        cmocka_unit_test(elements_are_swapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
