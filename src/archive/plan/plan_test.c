/* What is planned for made files is what was planned for them always: classes, blocks, parts, and how each is coded. The plans
 * are in tests/golden/plan, as text; SAIKAI_WRITE_PLANS=DIR writes those of now. */
#include "archive/plan/made_testing.h"
#include "archive/plan/values_testing.h"
#include "archive/plan/repeats.h"
#include "archive/plan/key.h"
#include "base/log.h"
#include "base/types.h"

#include "base/host/open_files_testing.h"

/* ---- comparing ---- */

/* Cut by these options; unit: bytes of a block. */
static void expect_plan(const char *name, struct made *m, const struct sk_archive_options *o, uint64_t unit, uint64_t bytes_unit)
{
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    struct sk_buf text = {0};
    struct saikai_error err = {0};
    made_plan(m, o, &feed, &p);
    p.unit_bytes = unit;
    p.bytes_unit = bytes_unit;
    if (sk_ska_plan_cut(&p, &err))
        fail_msg("%s: %s", name, err.text);
    assert_true(p.sample_seconds >= 0 && p.sample_seconds < 1000);
    made_describe(&p, &text);
    made_expect(name, &text);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    sk_buf_free(&text);
}

/* ---- fields ---- */

static void relations_are_found(void **state)
{
    (void)state;
    struct made m = {0};
    struct sk_archive_options o = {.quick = 1, .threads = 2};
    grid = 0;
    physics(&m, "rank0000.h5", "Grid00000001", 14);
    grid = 1;
    physics(&m, "rank0001.h5", "Grid00000002", 17);
    grid = 2;
    physics(&m, "rank0002.h5", "Grid00000003", 9);
    expect_plan("relations", &m, &o, 1 << 20, 1 << 20);
    made_free(&m);
}

static struct sk_buf told;

static void hear(void *arg, int level, const char *line)
{
    const char *part = strstr(line, "archive: part ");
    (void)arg, (void)level;
    if (part)
        sk_buf_printf(&told, "%s\n", part);
}

/* Who wants to know is told by what each field is predicted. */
static void what_predicts_a_field_is_told(void **state)
{
    (void)state;
    struct made made = {0}, *m = &made;
    struct sk_archive_options o = {.quick = 1, .threads = 1};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    grid = 0;
    made_file(m, "a", "hdf5");
    FIELD("q/energy", energy, 12, 13, 14);
    FIELD("q/u", velocity_x, 12, 13, 14);
    FIELD("q/v", velocity_y, 12, 13, 14);
    FIELD("q/total", total, 12, 13, 14);
    FIELD("q/weight", weight, 12, 13, 14);
    FIELD("q/density", density, 12, 13, 14);
    FIELD("q/temperature", temperature, 12, 13, 14);
    made_plan(m, &o, &feed, &p);
    p.unit_bytes = p.bytes_unit = 1 << 20;
    sk_log_set(hear, NULL, SK_LOG_DEBUG);
    int rc = sk_ska_plan_cut(&p, NULL);
    sk_log_set(NULL, NULL, 0);
    assert_int_equal(rc, 0);
    assert_true(sk_buf_ok(&told) && told.len);
    made_expect("samples/told", &told);
    sk_buf_free(&told);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    made_free(m);
}

/* Families with few fields, and one with more than a bundle may have; members of all sizes. */
static void families_are_sampled(void **state)
{
    (void)state;
    struct made made = {0}, *m = &made;
    struct sk_archive_options o = {.quick = 1, .threads = 3};
    static double (*const of[])(size_t z, size_t y, size_t x) = {density, energy, velocity_x, velocity_y, weight, rotated};
    grid = 0;
    made_file(m, "first.000", "hdf5");
    FIELD("q/rough", rough, 12, 13, 14);
    FIELD("q/weight", weight, 12, 13, 14);
    FIELD("q/density", density, 12, 13, 14);
    FIELD("q/energy", energy, 12, 13, 14);
    FIELD("q/quotient", quotient, 12, 13, 14);
    FIELD("s/rough", rough, 11, 13, 14);
    FIELD("s/rough too", rough_too, 11, 13, 14);
    FIELD("s/weight", weight, 11, 13, 14);
    FIELD("s/square", square, 11, 13, 14);
    FIELD("growth", growth, 12, 20, 20);
    FIELD("plane", of_plane, 9, 21, 20);
    FIELD("large", density, 40, 30, 30);
    FIELD("wide", energy, 2, 3, 9000);
    made_variable(m, (struct made_variable){.name = "f/rough", .type = SAIKAI_F32, .ndims = 3, .dims = {9, 12, 15}, .value = rough});
    made_variable(m, (struct made_variable){.name = "f/half", .type = SAIKAI_F32, .ndims = 3, .dims = {9, 12, 15}, .value = hydrogen});
    made_variable(m, (struct made_variable){.name = "f/all", .type = SAIKAI_F32, .ndims = 3, .dims = {9, 12, 15}, .value = density});
    for (int file = 1; file < 7; file++) {
        char name[32];
        snprintf(name, sizeof name, "next.%03d", file);
        grid = file;
        made_file(m, name, "hdf5");
        for (size_t i = 0; i < 35 && file < 3; i++) {
            snprintf(name, sizeof name, "many/%02zu", i);
            FIELD(name, of[i % 6], 5, 8, 9);
        }
        FIELD("growth", growth, 3 + (size_t)file, 20, 20);
        FIELD("large", density, 2, 20 * (size_t)file, 30);
        FIELD("wide", energy, 1, 1, 100 * (size_t)file);
    }
    expect_plan("families", m, &o, 1 << 20, 1 << 20);
    made_free(m);
}

/* How the only family of seven files is coded, which come in this order. */
static void in_order(const int *order, struct sk_buf *text)
{
    struct made made = {0}, *m = &made;
    struct sk_archive_options o = {.quick = 1, .threads = 2};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    for (int i = 0; i < 7; i++) {
        char name[32];
        snprintf(name, sizeof name, "rank.%d", order[i]);
        grid = order[i];
        made_file(m, name, "hdf5");
        FIELD("q/density", order[i] % 2 ? density : growth, 6 + (size_t)order[i], 13, 14);
        FIELD("q/energy", order[i] % 3 ? energy : rough, 6 + (size_t)order[i], 13, 14);
    }
    made_plan(m, &o, &feed, &p);
    p.unit_bytes = p.bytes_unit = 1 << 20;
    assert_int_equal(sk_ska_plan_cut(&p, NULL), 0);
    for (uint32_t k = 0; k < p.a.blocks[0].count; k++)
        made_recipe(text, &p.recipes[p.a.blocks[0].first + k]);
    assert_true(sk_buf_ok(text) && text->len);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    made_free(m);
}

/* Files of several ranks come in another order than those of one process. */
static void the_order_of_files_does_not_matter(void **state)
{
    (void)state;
    static const int orders[][7] = {{0, 1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1, 0}, {0, 2, 4, 6, 1, 3, 5}};
    struct sk_buf text[3] = {{0}};
    for (int i = 0; i < 3; i++)
        in_order(orders[i], &text[i]);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(text[i].len, text[0].len);
        assert_memory_equal(text[i].data, text[0].data, text[0].len);
    }
    for (int i = 0; i < 3; i++)
        sk_buf_free(&text[i]);
}

static void every_scheme_has_its_plan(void **state)
{
    (void)state;
    static const char *const names[] = {"auto", "agnostic", "agnostic-block", "aware", "aware-block"};
    for (int scheme = SK_SCHEME_AUTO; scheme <= SK_SCHEME_AWARE_BLOCK; scheme++) {
        struct made m = {0};
        struct sk_archive_options o = {.scheme = scheme, .quick = 1, .threads = 2, .merge_bytes = 10001, .codec_f64 = "zstd", .codec_f32 = ""};
        o.single_pass = scheme == SK_SCHEME_AWARE;
        made_seed = 1;
        grid = 0;
        mixture(&m, "run/out.0001.nc");
        mixture(&m, "run/out.0002.nc");
        made_file(&m, "run/empty", NULL);
        expect_plan(names[scheme], &m, &o, 100001, 60001);
        made_free(&m);
    }
}

/* What is larger than a block is cut between planes, else between rows, else within a row. */
static void a_field_is_cut_where_it_can_be(void **state)
{
    (void)state;
    static const uint64_t units[] = {1, 8 * 7, 8 * 11, 8 * 30, 8 * 77, 8 * 100, 8 * 154, 8 * 300, 8 * 692, 8 * 693, 8 * 866, 8 * 5000};
    struct sk_buf text = {0};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct made made = {0}, *m = &made;
        struct sk_archive_options o = {.quick = 1, .threads = 1};
        struct sk_ska_plan p;
        struct sk_feed_local feed;
        made_file(m, "a", "x");
        FIELD("f", density, 9, 7, 11);
        made_file(m, "b", "x");
        FIELD("f", energy, 9, 7, 11);
        made_plan(m, &o, &feed, &p);
        p.unit_bytes = units[i];
        p.bytes_unit = 1 << 16;
        assert_int_equal(sk_ska_plan_cut(&p, NULL), 0);
        sk_buf_printf(&text, "blocks of %llu elements\n", (unsigned long long)units[i] / 8);
        for (size_t b = 0; b < p.a.block_count && b < 40; b++) {
            const struct sk_ska_part *part = &p.a.parts[p.a.blocks[b].first];
            assert_int_equal(p.a.blocks[b].count, 1);
            for (uint32_t s = part->first; s < part->first + part->count; s++)
                sk_buf_printf(&text, " %u@%llu:%zux%zux%zu", p.a.segments[s].file, (unsigned long long)p.a.segments[s].offset / 8,
                              p.a.segments[s].box.nz, p.a.segments[s].box.ny, p.a.segments[s].box.nx);
            sk_buf_printf(&text, "\n");
        }
        sk_ska_plan_free(&p);
        sk_feed_local_free(&feed);
        made_free(m);
    }
    made_expect("cuts", &text);
    sk_buf_free(&text);
}

/* ---- bytes ---- */

static void bytes_get_what_their_sample_says(void **state)
{
    (void)state;
    static const struct {
        const char *name, *form;
        size_t n;
        uint8_t (*byte)(size_t i);
    } kinds[] = {{"header", NULL, 300000, header}, {"dense", NULL, 150000, dense}, {"words", NULL, 250000, words},
                 {"doubles", NULL, 200000, doubles}, {"long words", NULL, 120000, long_words}, {"prose", NULL, 196609, prose}};
    static const int levels[] = {0, 0, 3, 12, SK_PACK_LEVELS};
    static const int backends[] = {0, SK_BACKEND_GZIP, SK_BACKEND_GZIP, SK_BACKEND_GZIP, 0};
    if (sk_backend_here(SK_BACKEND_GZIP) < 0 || sk_backend_here(SK_BACKEND_LZMA) < 0)
        skip();
    for (int i = 0; i < 5; i++) {
        struct made m = {0};
        struct sk_archive_options o = {.quick = 1, .threads = 1, .backend = backends[i], .level = levels[i]};
        char name[32];
        made_seed = 5;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            made_file(&m, kinds[k].name, kinds[k].form);
            made_bytes(&m, kinds[k].n, kinds[k].byte);
        }
        /* too small for a sample, and just large enough */
        made_file(&m, "65535", NULL);
        made_bytes(&m, 65535, words);
        made_file(&m, "e/65536", "form");
        made_bytes(&m, 65536, words);
        snprintf(name, sizeof name, "bytes%d", i);
        expect_plan(name, &m, &o, 1 << 20, 128 << 10);
        made_free(&m);
    }
}

/* Lines that are there more and more often: by column while that leaves clearly less. */
static void lines_are_taken_apart_where_that_pays(void **state)
{
    (void)state;
    struct sk_buf text = {0};
    for (int tenths = 0; tenths <= TENTHS; tenths++)
        for (size_t n = 60000; n <= 240000; n *= 4) {
            struct made m = {0};
            struct sk_ska_plan p;
            struct sk_feed_local feed;
            made_file(&m, "table", NULL);
            lines(&m.data[0], n, tenths);
            made_plan(&m, &(struct sk_archive_options){.quick = 1, .threads = 1}, &feed, &p);
            p.unit_bytes = p.bytes_unit = 1 << 20;
            assert_int_equal(sk_ska_plan_cut(&p, NULL), 0);
            sk_buf_printf(&text, "%zu bytes, %d tenths again: ", n, tenths);
            made_recipe(&text, &p.recipes[0]);
            sk_buf_printf(&text, " share %.3f near %llu dense %llu\n", p.recipes[0].share, (unsigned long long)p.near_bytes, (unsigned long long)p.dense_bytes);
            sk_ska_plan_free(&p);
            sk_feed_local_free(&feed);
            made_free(&m);
        }
    made_expect("samples/lines", &text);
    sk_buf_free(&text);
}

static void records_are_taken_apart(void **state)
{
    (void)state;
    struct made m = {0};
    struct sk_archive_options o = {.quick = 1, .threads = 1};
    made_seed = 6;
    made_file(&m, "amr_00001.out", "fortran");
    records(&m, 300, 400, words);
    made_file(&m, "text_00001", "fortran");
    records(&m, 30, 4000, prose);
    made_file(&m, "hydro_00001", "fortran");
    records(&m, 40, 4000, dense);
    made_file(&m, "part_00001", "fortran");
    records(&m, 100, 1200, doubles);
    made_file(&m, "part_00002", "fortran");
    records(&m, 130, 1300, doubles);
    expect_plan("records", &m, &o, 1 << 20, 1 << 20);
    made_free(&m);
}

/* ---- repeats ---- */

static void describe_repeats(const struct sk_repeats *r, struct sk_buf *out)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct sk_repeat *x = &r->list[i];
        sk_buf_printf(out, "%u@%llu+%llu is ", x->file, (unsigned long long)x->offset, (unsigned long long)x->bytes);
        if (x->block)
            sk_buf_printf(out, "block %u part %u at %llu\n", x->block - 1, x->part, (unsigned long long)x->at);
        else
            sk_buf_printf(out, "%u@%llu\n", x->from_file, (unsigned long long)x->from);
    }
}

static void what_is_there_twice_is_found(void **state)
{
    (void)state;
    struct made m = {0};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    struct sk_repeats r = {0};
    struct sk_archive_options o = {.threads = 1};
    struct sk_buf text = {0};
    repeating(&m);
    made_plan(&m, &o, &feed, &p);
    assert_int_equal(sk_repeats_find(&p, &r, NULL), 0);
    describe_repeats(&r, &text);
    for (size_t i = 0; i < r.count; i++) {
        const struct sk_repeat *x = &r.list[i];
        assert_memory_equal(m.data[x->file].data + x->offset, m.data[x->from_file].data + x->from, x->bytes);
    }
    for (size_t f = 0; f < p.a.file_count; f++)
        for (size_t i = 0; i < p.scans[f].count; i++)
            sk_buf_printf(&text, "%zu %s %d\n", f, p.scans[f].extents[i].name, p.scans[f].extents[i].repeat);
    made_expect("repeats", &text);
    sk_buf_free(&text);
    sk_repeats_free(&r);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    made_free(&m);
}

static void repeats_are_taken(void **state)
{
    (void)state;
    struct made m = {0};
    struct sk_archive_options o = {.threads = 1};
    repeating(&m);
    expect_plan("takes", &m, &o, 1 << 16, 1 << 15);
    made_free(&m);
}

static uint8_t nothing(size_t i)
{
    (void)i;
    return 0;
}

/* Files with these repeats: each is true; *r: per byte of a file whether it is in one. */
static void find_repeats(struct made *m, struct sk_ska_plan *p, struct sk_feed_local *feed, uint8_t *is[MADE_FILES])
{
    struct sk_repeats r = {0};
    struct sk_archive_options o = {.threads = 1};
    made_plan(m, &o, feed, p);
    assert_int_equal(sk_repeats_find(p, &r, NULL), 0);
    for (int f = 0; f < m->count; f++)
        is[f] = calloc(m->data[f].len + 1, 1);
    for (size_t i = 0; i < r.count; i++) {
        const struct sk_repeat *x = &r.list[i];
        assert_true(x->bytes > 0 && x->offset + x->bytes <= m->data[x->file].len);
        assert_true(i == 0 || r.list[i - 1].file < x->file || r.list[i - 1].offset + r.list[i - 1].bytes <= x->offset);
        assert_memory_equal(m->data[x->file].data + x->offset, m->data[x->from_file].data + x->from, x->bytes);
        memset(is[x->file] + x->offset, 1, x->bytes);
    }
    sk_repeats_free(&r);
}

static void drop_repeats(struct made *m, struct sk_ska_plan *p, struct sk_feed_local *feed, uint8_t *is[MADE_FILES])
{
    for (int f = 0; f < m->count; f++)
        free(is[f]);
    sk_ska_plan_free(p);
    sk_feed_local_free(feed);
    made_free(m);
}

static size_t count_repeated(const uint8_t *is, size_t from, size_t end)
{
    size_t n = 0;
    for (size_t i = from; i < end; i++)
        n += is[i];
    return n;
}

/* Zeros are not worth being known, but what is around them is: the repeat goes on over them as long as they are as many. */
static void repeats_go_on_over_zeros(void **state)
{
    (void)state;
    struct made m = {0};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    uint8_t *is[MADE_FILES];
    made_seed = 12;
    made_file(&m, "first", NULL);
    made_bytes(&m, 60000, dense);
    made_bytes(&m, 50000, nothing);
    made_bytes(&m, 60000, dense);
    made_file(&m, "same", NULL);
    again(&m, 0, 0, 170000);
    made_file(&m, "more zeros", NULL);
    again(&m, 0, 0, 110000);
    made_bytes(&m, 70000, nothing);
    made_file(&m, "zeros alone", NULL);
    made_bytes(&m, 80000, nothing);
    made_bytes(&m, 20000, dense);
    find_repeats(&m, &p, &feed, is);
    assert_int_equal(count_repeated(is[0], 0, 170000), 0);
    assert_int_equal(count_repeated(is[1], 0, 170000), 170000);
    size_t n = count_repeated(is[2], 0, 180000);
    assert_true(n > 60000 && n <= 110000);
    assert_int_equal(count_repeated(is[2], 0, n), n);
    assert_int_equal(count_repeated(is[3], 0, 100000), 0);
    drop_repeats(&m, &p, &feed, is);
}

/* Bytes [from, end) of the last file are a variable. */
static void variable_at(struct made *m, size_t from, size_t end)
{
    struct sk_extent e = {.offset = from, .length = end - from, .type = SAIKAI_F64, .ndims = 1, .dims = {(end - from) / 8}};
    assert_int_equal(sk_scan_add(&m->scan[m->count - 1], &e, "v"), 0);
}

/* A variable of which a part is there already is no repeat, nor is the part; what is around it is. */
static void variables_repeat_as_a_whole_or_not(void **state)
{
    (void)state;
    struct made m = {0};
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    uint8_t *is[MADE_FILES];
    made_seed = 13;
    made_file(&m, "first", "x");
    made_bytes(&m, 80000, dense);
    made_file(&m, "ends in one", "x");
    again(&m, 0, 0, 40000);
    made_bytes(&m, 20000, dense);
    variable_at(&m, 8000, 16000);
    variable_at(&m, 32000, 48000);
    made_file(&m, "begins in one", "x");
    made_bytes(&m, 10000, dense);
    again(&m, 0, 40000, 40000);
    variable_at(&m, 2000, 18000);
    variable_at(&m, 24000, 32000);
    made_file(&m, "a hole in one", "x");
    again(&m, 0, 0, 30000);
    made_bytes(&m, 10000, dense);
    again(&m, 0, 40000, 40000);
    variable_at(&m, 16000, 56000);
    find_repeats(&m, &p, &feed, is);
    static const int repeats[][2] = {{0, 0}, {1, 0}, {0, 1}, {0, 0}};
    for (int f = 1; f < 4; f++)
        for (size_t i = 0; i < p.scans[f].count; i++)
            assert_int_equal(p.scans[f].extents[i].repeat, repeats[f][i]);
    assert_int_equal(count_repeated(is[1], 0, 32000), 32000);
    assert_int_equal(count_repeated(is[1], 32000, 60000), 0);
    assert_int_equal(count_repeated(is[2], 0, 18000), 0);
    size_t n = count_repeated(is[2], 18000, 50000); /* the first chunk that is known begins somewhere */
    assert_true(n > 0 && count_repeated(is[2], 50000 - n, 50000) == n);
    assert_int_equal(count_repeated(is[2], 24000, 32000), 8000);
    assert_int_equal(count_repeated(is[3], 0, 16000), 16000);
    assert_int_equal(count_repeated(is[3], 16000, 56000), 0);
    assert_true(count_repeated(is[3], 56000, 80000) > 0);
    drop_repeats(&m, &p, &feed, is);
}

/* Chunks of other ranks, all of which come again: as many are known as a sixteenth of the memory has room for. */
static void as_many_chunks_are_known_as_there_is_room_for(void **state)
{
    (void)state;
    enum { CHUNKS = 2000, BYTES = 512 };
    static const struct {
        uint64_t memory;
        size_t known;
    } cases[] = {{(uint64_t)1 << 30, CHUNKS}, {1 << 19, 2047 / 4 * 3}, {(1 << 19) - 1, 1023 / 4 * 3}, {0, 1023 / 4 * 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m = {0};
        struct sk_archive_options o = {.threads = 1};
        struct sk_ska_plan p;
        struct sk_feed_local feed;
        struct sk_repeats r = {0};
        made_seed = 14;
        made_file(&m, "first", NULL);
        made_bytes(&m, CHUNKS * BYTES, dense);
        made_file(&m, "again", NULL);
        again(&m, 0, 0, CHUNKS * BYTES);
        made_plan(&m, &o, &feed, &p);
        p.opt.memory_bytes = cases[i].memory;
        p.chunked = 1;
        for (int f = 0; f < 2; f++)
            for (uint32_t k = 0; k < CHUNKS; k++)
                assert_int_equal(sk_chunks_add(&p.chunks[f], &(struct sk_file_chunk){.hash = k * 0x9e3779b97f4a7c15u, .bytes = BYTES}), 0);
        assert_int_equal(sk_repeats_find(&p, &r, NULL), 0);
        if (r.count != 1 || r.list[0].file != 1 || r.list[0].offset || r.list[0].from || r.list[0].bytes != cases[i].known * BYTES)
            fail_msg("case %zu: %zu repeats, the first of %llu bytes", i, r.count, r.count ? (unsigned long long)r.list[0].bytes : 0);
        sk_repeats_free(&r);
        sk_ska_plan_free(&p);
        sk_feed_local_free(&feed);
        made_free(&m);
    }
}

/* ---- keys ---- */

/* The key as a whole, and cut where there is less room: nothing is written behind it. */
static void expect_key(const char *pattern, const char *name, int is_array, const char *want)
{
    struct sk_key_rule rule;
    char full[128], out[160], why[100];
    assert_int_equal(sk_key_rule_set(&rule, pattern, why, sizeof why), 0);
    snprintf(full, sizeof full, "%s_%s_%s", want, sk_type_name(SAIKAI_F64), is_array ? "array" : "atomic");
    for (size_t cap = 1; cap <= sizeof full; cap++) {
        size_t n = strlen(full) < cap ? strlen(full) : cap - 1;
        memset(out, '!', sizeof out);
        sk_key_make(&rule, name, SAIKAI_F64, is_array, out, cap);
        if (memcmp(out, full, n) || out[n])
            fail_msg("room for %zu: %.*s", cap, (int)cap, out);
        for (size_t i = cap; i < sizeof out; i++)
            assert_int_equal(out[i], '!');
    }
    sk_key_rule_free(&rule);
    sk_key_rule_free(&rule);
}

static void variables_that_are_alike_have_one_key(void **state)
{
    (void)state;
    struct sk_key_rule rule;
    char why[100] = "", out[64];
    expect_key(NULL, "Grid00000001/Density2", 1, "Grid#/Density2");
    expect_key(NULL, "a1b22/33c4d/v10", 0, "a#b#/#c#d/v10");
    expect_key(NULL, "v", 1, "v");
    expect_key("[0-9]+", "Grid00000001/Density2", 1, "Grid#/Density#");
    expect_key("x*", "axxb", 1, "a#b");
    expect_key("^a", "aab", 0, "#ab");
    expect_key("b$", "aab", 0, "aa#");
    expect_key("nowhere", "a1/b2", 1, "a1/b2");
    assert_int_equal(sk_key_rule_set(&rule, "(", why, sizeof why), -1);
    assert_true(*why);
    sk_key_rule_free(&rule);
    sk_key_rule_free(NULL);
    static const struct {
        const char *form, *file, *key;
    } skeletons[] = {{"hdf5", "run12/data0001.h5", "skeleton:hdf5:data#.h#"}, {NULL, "plain", "skeleton:bytes:plain"}};
    for (size_t i = 0; i < 2; i++)
        for (size_t cap = 1; cap < 40; cap++) {
            size_t n = strlen(skeletons[i].key) < cap ? strlen(skeletons[i].key) : cap - 1;
            memset(out, '!', sizeof out);
            sk_key_skeleton(skeletons[i].form, skeletons[i].file, out, cap);
            assert_memory_equal(out, skeletons[i].key, n);
            assert_int_equal(out[n], 0);
            for (size_t k = cap; k < sizeof out; k++)
                assert_int_equal(out[k], '!');
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(relations_are_found),
        cmocka_unit_test(what_predicts_a_field_is_told),
        cmocka_unit_test(families_are_sampled),
        cmocka_unit_test(the_order_of_files_does_not_matter),
        cmocka_unit_test(every_scheme_has_its_plan),
        cmocka_unit_test(a_field_is_cut_where_it_can_be),
        cmocka_unit_test(bytes_get_what_their_sample_says),
        cmocka_unit_test(lines_are_taken_apart_where_that_pays),
        cmocka_unit_test(records_are_taken_apart),
        cmocka_unit_test(what_is_there_twice_is_found),
        cmocka_unit_test(repeats_are_taken),
        cmocka_unit_test(repeats_go_on_over_zeros),
        cmocka_unit_test(variables_repeat_as_a_whole_or_not),
        cmocka_unit_test(as_many_chunks_are_known_as_there_is_room_for),
        cmocka_unit_test(variables_that_are_alike_have_one_key),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
