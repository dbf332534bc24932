/* What is planned for made files is what was planned for them always: classes, blocks, parts, and how each is coded. The plans
 * are in tests/golden/plan, as text; SAIKAI_WRITE_PLANS=DIR writes those of now. */
#include "archive/plan/made_testing.h"
#include "archive/plan/repeats.h"

#include "base/file/io.h"

#include <errno.h>

/* ---- values ---- */

static double wave(size_t z, size_t y, size_t x, double a, double b, double c)
{
    return sin(a * (double)z + 0.3) + cos(b * (double)y) + sin(c * (double)x + 0.1);
}

/* Which grid: the fields of each are others. */
static double grid;

static double density(size_t z, size_t y, size_t x)
{
    return 5 + grid + wave(z, y, x, 0.31, 0.22, 0.13) + 1e-7 * (double)((z * 31 + y * 17 + x * 7919) % 101);
}
static double energy(size_t z, size_t y, size_t x)
{
    return 9 + wave(z, y, x, 0.11, 0.35, 0.21) + 1e-7 * (double)((z * 13 + y * 19 + x * 104729) % 97);
}
static double hydrogen(size_t z, size_t y, size_t x)
{
    return 0.76 * density(z, y, x);
}
static double velocity_x(size_t z, size_t y, size_t x)
{
    return wave(z, y, x, 0.5, 0.4, 0.3) + 1e-7 * (double)((z * 7 + y * 11 + x * 1299709) % 89);
}
static double velocity_y(size_t z, size_t y, size_t x)
{
    return wave(z, y, x, 0.2, 0.6, 0.1) + 1e-7 * (double)((z * 3 + y * 23 + x * 15485863) % 83);
}
static double total(size_t z, size_t y, size_t x)
{
    double u = velocity_x(z, y, x), v = velocity_y(z, y, x);
    return energy(z, y, x) + 0.5 * u * u + 0.5 * v * v;
}
static double weight(size_t z, size_t y, size_t x)
{
    return 2 + 0.5 * wave(z, y, x, 0.17, 0.27, 0.37) + 1e-7 * (double)((z * 5 + y * 29 + x * 32452843) % 79);
}
static double temperature(size_t z, size_t y, size_t x)
{
    return energy(z, y, x) * weight(z, y, x) / (density(z, y, x) + 2 * velocity_x(z, y, x));
}
static double rotated(size_t z, size_t y, size_t x)
{
    double angle = 0.1 * (double)x + 0.7 * (double)y;
    return cos(angle) * velocity_x(z, y, x) + sin(angle) * velocity_y(z, y, x);
}
/* Each value for itself; nothing beside it tells it. */
static double rough(size_t z, size_t y, size_t x)
{
    uint64_t h = (z * 131 + y) * 137 + x + (uint64_t)grid;
    h = (h ^ h >> 7) * 0x9e3779b97f4a7c15u;
    return 1 + (double)(h >> 40) / (1 << 24);
}
static double quotient(size_t z, size_t y, size_t x)
{
    return rough(z, y, x) * weight(z, y, x) / (density(z, y, x) + 2 * energy(z, y, x));
}
static double growth(size_t z, size_t y, size_t x)
{
    return exp(0.31 * (double)z + 0.27 * (double)y + 0.23 * (double)x) * (1 + 1e-9 * rough(z, y, x));
}
static double of_plane(size_t z, size_t y, size_t x)
{
    return rough(0, y, x) + 1e-8 * (double)z;
}
static double square(size_t z, size_t y, size_t x)
{
    double u = rough(z, y, x), v = rough(x, z, y);
    return 3 * u * u + v * v - 0.25 * weight(z, y, x);
}
static double rough_too(size_t z, size_t y, size_t x)
{
    return rough(x, z, y);
}
static double masked(size_t z, size_t y, size_t x)
{
    return (x + y) % 40 < 15 ? 0 : density(z, y, x);
}
static double linear(size_t z, size_t y, size_t x)
{
    return (double)(3 * z + 5 * y + 2 * x);
}
static double counting(size_t z, size_t y, size_t x)
{
    return (double)(z * 1000000 + y * 1000 + x);
}
static double few(size_t z, size_t y, size_t x)
{
    static const double of[] = {0.1, 2.25, 1e9, -3.3};
    return of[(z * 7 + y * 3 + x * x) % 4];
}
static double particle(size_t z, size_t y, size_t x)
{
    (void)z;
    return x == 0 ? (double)y : x == 1 ? 1e-3 * (double)(y * 7919 % 1013) : x == 2 ? 4.5 : sin((double)y);
}
static double noise_value(size_t z, size_t y, size_t x)
{
    (void)z, (void)y, (void)x;
    return 1 + (double)made_noise() / (1 << 24);
}

/* ---- bytes ---- */

static uint8_t header(size_t i)
{
    return (uint8_t)("version 3 of a restart file; step 12; "[i % 38]);
}
static uint8_t dense(size_t i)
{
    (void)i;
    return (uint8_t)made_noise();
}
static uint8_t words(size_t i)
{
    uint32_t v = (uint32_t)(i / 4 * 3 + 100000);
    return (uint8_t)(v >> i % 4 * 8);
}
static uint8_t doubles(size_t i)
{
    double v = 1 + (double)(i / 8) * 1e-6;
    uint8_t b[8];
    memcpy(b, &v, 8);
    return b[i % 8];
}
static uint8_t long_words(size_t i)
{
    uint64_t v = (uint64_t)(i / 8) * 0x100000003 + (i / 8 % 5);
    return (uint8_t)(v >> i % 8 * 8);
}
static uint8_t prose(size_t i)
{
    static const char letters[] = "etaoin shrdlu ";
    uint32_t w = (uint32_t)(i / 6) * 2654435761u >> 23;
    return (uint8_t)(i % 6 == 5 ? ' ' : letters[(w * 7 + i % 6 * 3) % 14]);
}

/* ---- comparing ---- */

static void expect(const char *name, const struct sk_buf *text)
{
    char path[512];
    const char *source = getenv("SAIKAI_SOURCE_DIR"), *write = getenv("SAIKAI_WRITE_PLANS");
    void *golden = NULL;
    size_t n = 0;
    assert_true(sk_buf_ok(text));
    snprintf(path, sizeof path, "%s/%s.txt", write ? write : "", name);
    if (write) {
        assert_int_equal(sk_io_replace(path, text->data, text->len, NULL), 0);
        return;
    }
    snprintf(path, sizeof path, "%s/tests/golden/plan/%s.txt", source ? source : ".", name);
    assert_int_equal(sk_io_slurp(path, 1 << 22, &golden, &n, NULL), 0);
    if (n != text->len || memcmp(golden, text->data, n))
        fail_msg("the plan %s is another one now:\n%s", name, (const char *)text->data);
    free(golden);
}

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
    made_describe(&p, &text);
    expect(name, &text);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    sk_buf_free(&text);
}

/* ---- fields ---- */

#define FIELD(name_, value_, nz, ny, nx) \
    made_variable(m, (struct made_variable){.name = name_, .type = SAIKAI_F64, .ndims = 3, .dims = {nz, ny, nx}, .value = value_})

static void physics(struct made *m, const char *file, const char *group, size_t n)
{
    char name[64];
    static const struct {
        const char *name;
        double (*value)(size_t z, size_t y, size_t x);
    } fields[] = {{"Density", density}, {"Energy", energy}, {"HI", hydrogen}, {"U", velocity_x}, {"V", velocity_y},
                  {"Total", total}, {"Weight", weight}, {"Temperature", temperature}, {"W", rotated}};
    made_file(m, file, "hdf5");
    made_bytes(m, 512, header);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(name, sizeof name, "%s/%s", group, fields[i].name);
        FIELD(name, fields[i].value, n, n + 2, n + 5);
    }
    made_bytes(m, 100, header);
}

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

/* All kinds of variables of one file, with others of the same group and shape between them. */
static void mixture(struct made *m, const char *file)
{
    made_file(m, file, "netcdf");
    made_bytes(m, 100, header);
    FIELD("a/smooth", density, 4, 30, 40);
    FIELD("a/masked", masked, 4, 30, 40);
    made_variable(m, (struct made_variable){.name = "a/big", .type = SAIKAI_F32, .big_endian = 1, .ndims = 3, .dims = {4, 30, 40}, .value = energy});
    made_variable(m, (struct made_variable){.name = "a/single", .type = SAIKAI_F32, .ndims = 3, .dims = {4, 30, 40}, .value = velocity_x});
    made_variable(m, (struct made_variable){.name = "flat", .type = SAIKAI_F64, .ndims = 1, .dims = {5000}, .value = linear});
    made_variable(m, (struct made_variable){.name = "few", .type = SAIKAI_F64, .ndims = 2, .dims = {50, 60}, .value = few});
    made_variable(m, (struct made_variable){.name = "random", .type = SAIKAI_F64, .ndims = 2, .dims = {50, 70}, .value = noise_value});
    made_bytes(m, 7, header);
    made_variable(m, (struct made_variable){.name = "ids", .type = SAIKAI_I32, .ndims = 1, .dims = {20000}, .value = counting});
    made_variable(m, (struct made_variable){.name = "long ids", .type = SAIKAI_I64, .big_endian = 1, .ndims = 1, .dims = {9000}, .value = counting});
    made_variable(m, (struct made_variable){.name = "particles", .type = SAIKAI_F64, .fields = 1, .ndims = 2, .dims = {900, 4}, .value = particle});
    /* at the bounds of what is worth a part of its own */
    made_variable(m, (struct made_variable){.name = "512", .type = SAIKAI_F64, .ndims = 1, .dims = {64}, .value = linear});
    made_variable(m, (struct made_variable){.name = "504", .type = SAIKAI_F64, .ndims = 1, .dims = {63}, .value = linear});
    made_variable(m, (struct made_variable){.name = "99", .type = SAIKAI_U8, .ndims = 1, .dims = {99}, .value = linear});
    made_variable(m, (struct made_variable){.name = "100", .type = SAIKAI_U8, .ndims = 1, .dims = {100}, .value = linear});
    made_variable(m, (struct made_variable){.name = "one", .type = SAIKAI_F64, .ndims = 1, .dims = {1}, .value = linear});
    /* equal names, which levels of a tree have */
    FIELD("b/x", energy, 1, 20, 30);
    FIELD("b/x", density, 1, 20, 30);
    FIELD("b/y", velocity_x, 1, 20, 30);
    FIELD("b/y", velocity_y, 1, 20, 30);
    made_bytes(m, 900, header);
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
    expect("cuts", &text);
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

static void records(struct made *m, size_t n, size_t length, uint8_t (*byte)(size_t i))
{
    struct sk_buf *out = &m->data[m->count - 1];
    for (size_t i = 0; i < n; i++) {
        sk_buf_put_u32(out, (uint32_t)length);
        made_bytes(m, length, byte);
        sk_buf_put_u32(out, (uint32_t)length);
    }
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

static void again(struct made *m, int file, size_t at, size_t n)
{
    struct sk_buf copy = {0};
    sk_buf_put(&copy, m->data[file].data + at, n);
    sk_buf_put(&m->data[m->count - 1], copy.data, n);
    sk_buf_free(&copy);
}

static void repeating(struct made *m)
{
    made_seed = 8;
    made_file(m, "first", "x");
    made_bytes(m, 50000, dense);
    made_variable(m, (struct made_variable){.name = "v", .type = SAIKAI_F64, .ndims = 2, .dims = {60, 70}, .value = noise_value});
    made_variable(m, (struct made_variable){.name = "w", .type = SAIKAI_F64, .ndims = 2, .dims = {60, 70}, .value = noise_value});
    again(m, 0, 1234, 30000);   /* within a file */
    made_bytes(m, 3000, dense);
    again(m, 0, 40000, 4095);   /* too short to be worth it */
    made_bytes(m, 200000, header); /* a word again and again */
    made_file(m, "second", "x");
    again(m, 0, 0, 50000);
    made_variable(m, (struct made_variable){.name = "v", .type = SAIKAI_F64, .ndims = 2, .dims = {60, 70}, .value = noise_value});
    made_bytes(m, 17, header);
    again(m, 0, 50000, 2 * 33600); /* both variables, under no name */
    made_file(m, "copy", "x");
    again(m, 0, 0, m->data[0].len);
    made_file(m, "tiny", NULL);
    made_bytes(m, 1, header);
    made_file(m, "tiny again", NULL);
    made_bytes(m, 1, header);
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
    expect("repeats", &text);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relations_are_found),
        cmocka_unit_test(families_are_sampled),
        cmocka_unit_test(every_scheme_has_its_plan),
        cmocka_unit_test(a_field_is_cut_where_it_can_be),
        cmocka_unit_test(bytes_get_what_their_sample_says),
        cmocka_unit_test(records_are_taken_apart),
        cmocka_unit_test(what_is_there_twice_is_found),
        cmocka_unit_test(repeats_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
