/* Files of numbers as text and in rows of structures: they take less than through general compressors, come back byte for byte, all of them or one, and only then
 * is the archive one of the version that has them. */
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/testing.h"

#include "archive/file/ska.h"
#include "codec/general/general.h"

#include <math.h>

#include "base/host/open_files_testing.h"

enum { FILES = 3 };

static struct sk_buf files[FILES];

static double uniform(void)
{
    return noise() / (double)(1 << 24);
}

static void begin(void)
{
    for (int f = 0; f < FILES; f++)
        files[f].len = 0;
}

/* Atoms at random places. */
static void a_dump(struct sk_buf *b, int step)
{
    sk_buf_printf(b, "ITEM: TIMESTEP\n%d\nITEM: NUMBER OF ATOMS\n6000\nITEM: BOX BOUNDS pp pp pp\n0 16.795961913825074\nITEM: ATOMS id type xs ys zs\n", step);
    for (int i = 0; i < 6000; i++)
        sk_buf_printf(b, "%d %d %g %g %g\n", i + 1, i % 3 / 2 + 1, uniform(), uniform(), uniform());
}

/* A smooth field as OpenFOAM writes it. */
static void a_field(struct sk_buf *b, int step)
{
    sk_buf_printf(b, "FoamFile\n{\n    format      ascii;\n    class       volVectorField;\n}\ninternalField   nonuniform List<vector>\n10000\n(\n");
    for (int i = 0; i < 10000; i++)
        sk_buf_printf(b, "(%g %g 0)\n", sin(i % 100 * 0.03 + step * 1e-4) * cos(i / 100 * 0.02), 1e-3 * cos(i % 100 * 0.05) * (i / 100 + 0.3));
    sk_buf_printf(b, ")\n;\n");
}

/* Structures, behind a header. */
static void a_structure(struct sk_buf *b, int step)
{
    sk_buf_printf(b, "bodies %6d.", step);
    for (int i = 0; i < 6000; i++) {
        struct {
            double at[3];
            int64_t id;
            float mass;
            int32_t kind;
        } body = {{i % 50 + 0.3 * uniform(), i / 50 % 50 + 0.3 * uniform(), sin(0.001 * i + step)}, i, (float)uniform(), i % 3};
        sk_buf_put(b, &body, sizeof body);
    }
}

/* Steps as a solver reports them. */
static void a_log(struct sk_buf *b, int step)
{
    double heat = 300;
    for (int i = 0; i < 2500; i++) {
        sk_buf_printf(b, "Step %d of the run, time step %.3g s\n", step + i, 1e-3 * (1 + i / 100));
        for (int d = 0; d < 3; d++)
            sk_buf_printf(b, "  residual of velocity %c: %.5e at first, %.5e at last, after %d sweeps\n", 'x' + d, 1e-2 * uniform(), 1e-7 * uniform(),
                          3 + (int)(noise() % 3));
        heat += uniform() - 0.5;
        sk_buf_printf(b, "mean temperature %.4f K, at most %.4f K\n\n", heat, heat + 20 * uniform());
    }
}

static void words(struct sk_buf *b, int step)
{
    for (int i = 0; i < 20000; i++)
        sk_buf_printf(b, "%s of %c%c%s", noise() % 3 ? "some" : "fewer", 'a' + noise() % 26, 'a' + noise() % 26, noise() % 9 ? " " : "\n");
    sk_buf_printf(b, "%d\n", step);
}

/* Archive the files and take them out again. Returns the bytes of the archive; *version: its own. */
static uint64_t stored(const char *archive, const char *previous, int scheme, int *version)
{
    struct sk_archive_options o = {.no_sync = 1, .scheme = scheme, .previous = previous};
    struct sk_archive_input in[FILES];
    struct sk_archive_stats st = {0};
    struct saikai_error err = {0};
    char name[FILES][32];
    void *head;
    size_t n;
    for (int f = 0; f < FILES; f++) {
        snprintf(name[f], sizeof name[f], "out.%d", f);
        in[f] = (struct sk_archive_input){NULL, name[f], files[f].data, files[f].len};
    }
    if (sk_archive_create(at("%s", archive), in, FILES, &o, &st, &err) || sk_archive_extract(at("%s", archive), at("back"), NULL, NULL, &err))
        fail_msg("%s", err.text);
    for (int f = 0; f < FILES; f++) {
        put_file(at("original"), files[f].data, files[f].len);
        assert_true(same_file(at("original"), at("back/out.%d", f)));
    }
    sk_io_rmtree(at("back"), NULL);
    assert_int_equal(sk_io_slurp(at("%s", archive), 1 << 26, &head, &n, NULL), 0);
    *version = ((uint8_t *)head)[8];
    free(head);
    return st.stored_bytes;
}

static void they_take_less(void (*make)(struct sk_buf *b, int step), double share, int needs)
{
    int version, plain;
    begin();
    for (int f = 0; f < FILES; f++)
        make(&files[f], f * 100);
    uint64_t ours = stored("numbers.ska", NULL, SK_SCHEME_AUTO, &version), general = stored("plain.ska", NULL, SK_SCHEME_AGNOSTIC, &plain);
    if ((double)ours > share * (double)general)
        fail_msg("%llu bytes, by a general compressor %llu", (unsigned long long)ours, (unsigned long long)general);
    assert_int_equal(version, needs);
    assert_int_equal(plain, SK_SKA_PLAIN);
}

/* Points that move a little from step to step, each step behind a header. */
static void a_trajectory(struct sk_buf *b, int step)
{
    enum { POINTS = 1500, STEPS = 12 };
    float x[3 * POINTS];
    for (int i = 0; i < 3 * POINTS; i++)
        x[i] = (float)(60 * uniform());
    for (int s = 0; s < STEPS; s++) {
        sk_buf_printf(b, "step %10d, %10d of them,", step + s, POINTS);
        for (int i = 0; i < 3 * POINTS; i++)
            x[i] += (float)(0.02 * (uniform() - 0.5));
        sk_buf_put(b, x, sizeof x);
    }
}

static void trajectories(void **state)
{
    (void)state;
    they_take_less(a_trajectory, 0.62, SK_SKA_FRAMES);
}

static void atoms(void **state)
{
    (void)state;
    they_take_less(a_dump, 0.85, SK_SKA_TEXT);
}

static void fields(void **state)
{
    (void)state;
    they_take_less(a_field, 0.75, SK_SKA_TEXT);
}

static void structures(void **state)
{
    (void)state;
    they_take_less(a_structure, 0.9, SK_SKA_ROWS);
}

static void logs(void **state)
{
    (void)state;
    they_take_less(a_log, 0.8, SK_SKA_WIDE);
}

/* Lines of a probe. */
static void a_table(struct sk_buf *b, int lines)
{
    double pressure = 101325, heat = 293;
    for (int i = 0; i < lines; i++) {
        pressure += 0.1 * (uniform() - 0.5);
        heat += 0.01 * (uniform() - 0.5);
        sk_buf_printf(b, "%.4f,%d,%.3f,%.4f,%.6f\n", 1e-3 * i, i, pressure, heat, 1e-2 * uniform());
    }
}

/* Few of them are numbers, too. */
static void short_tables(void **state)
{
    (void)state;
    begin();
    for (int f = 0; f < FILES; f++)
        a_table(&files[f], 300);
    assert_true(files[0].len > 8 << 10 && files[0].len + files[1].len + files[2].len < 64 << 10);
    int version, plain;
    uint64_t ours = stored("numbers.ska", NULL, SK_SCHEME_AUTO, &version), general = stored("plain.ska", NULL, SK_SCHEME_AGNOSTIC, &plain);
    if (ours > general / 4 * 3)
        fail_msg("%llu bytes, by a general compressor %llu", (unsigned long long)ours, (unsigned long long)general);
    assert_int_equal(version, SK_SKA_TEXT);
}

/* Nor do lines that have come since the set before take more: they are put apart from what is there already. */
static void tables_that_grow(void **state)
{
    int version;
    (void)state;
    begin();
    for (int f = 0; f < FILES; f++)
        a_table(&files[f], 20000);
    uint64_t first = stored("short.ska", NULL, SK_SCHEME_AUTO, &version);
    for (int f = 0; f < FILES; f++)
        a_table(&files[f], 300);
    uint64_t second = stored("grown.ska", at("short.ska"), SK_SCHEME_AUTO, &version);
    if (second > first / 30)
        fail_msg("%llu bytes after %llu", (unsigned long long)second, (unsigned long long)first);
    assert_int_equal(version, SK_SKA_AFTER);
}

/* What has no numbers is stored as before. */
static void text_without_numbers(void **state)
{
    int version;
    (void)state;
    begin();
    for (int f = 0; f < FILES; f++)
        words(&files[f], f);
    stored("words.ska", NULL, SK_SCHEME_AUTO, &version);
    assert_int_equal(version, SK_SKA_PLAIN);
}

/* The set after it may build on one: by what is the same, or alone. */
static void one_set_after_another(void **state)
{
    int version;
    (void)state;
    begin();
    for (int f = 0; f < FILES; f++)
        a_dump(&files[f], f);
    uint64_t first = stored("first.ska", NULL, SK_SCHEME_AUTO, &version);
    memcpy(files[1].data + files[1].len / 2, "99999", 5);
    uint64_t second = stored("second.ska", at("first.ska"), SK_SCHEME_AUTO, &version);
    assert_true(second < first / 2);
    begin();
    for (int f = 0; f < FILES; f++)
        a_dump(&files[f], 1000 + f);
    assert_true(stored("third.ska", at("second.ska"), SK_SCHEME_AUTO, &version) < first + first / 8);
}

static int drop(void **state)
{
    for (int f = 0; f < FILES; f++)
        sk_buf_free(&files[f]);
    return teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(trajectories), cmocka_unit_test(atoms),
        cmocka_unit_test(fields),
        cmocka_unit_test(structures),
        cmocka_unit_test(logs),
        cmocka_unit_test(short_tables),
        cmocka_unit_test(tables_that_grow),
        cmocka_unit_test(text_without_numbers),
        cmocka_unit_test(one_set_after_another),
        cmocka_unit_test(no_file_is_left_open),
    };
    return sk_backend_here(SK_BACKEND_ZSTD) < 0 ? 77 : cmocka_run_group_tests(tests, setup, drop);
}
