/* What is there twice is stored once: under several names, at other places of a file, and from one set
 * to the next; and the highest level takes the fewest bytes. */
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/testing.h"

#include "codec/general/general.h"

#include "base/host/open_files_testing.h"

enum { FILE_BYTES = 600000, FILES = 3 };

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
    uint64_t s = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        p[i] = (uint8_t)(s >> 56);
    }
}

/* Archive the files in memory, extract them and compare. Returns the bytes of the archive. */
static uint64_t stored(const char *archive, const char *previous, struct sk_archive_input *in, size_t n, int level)
{
    struct sk_archive_options o = {.no_sync = 1, .previous = previous, .level = level};
    struct sk_archive_stats st = {0};
    struct saikai_error err = {0};
    if (sk_archive_create(at("%s", archive), in, n, &o, &st, &err) ||
        sk_archive_extract(at("%s", archive), at("back"), NULL, NULL, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < n; i++) {
        put_file(at("original"), in[i].data, in[i].bytes);
        if (!same_file(at("original"), at("back/%s", in[i].name)))
            fail_msg("%s comes back otherwise", in[i].name);
    }
    sk_io_rmtree(at("back"), NULL);
    return st.stored_bytes;
}

static void one_content_under_several_names(void **state)
{
    (void)state;
    static uint8_t data[FILE_BYTES];
    struct sk_archive_input in[] = {{NULL, "restart", data, sizeof data}, {NULL, "restart.bak-1", data, sizeof data},
                                    {NULL, "old/restart", data, sizeof data}};
    fill(data, sizeof data, 1);
    assert_true(stored("names.ska", NULL, in, FILES, 0) < FILE_BYTES + FILE_BYTES / 50);
}

/* Farther away than a window of any level, with something else before it each time. */
static void repeats_at_other_places(void **state)
{
    (void)state;
    static uint8_t data[5 * FILE_BYTES];
    struct sk_archive_input in = {NULL, "log", data, sizeof data};
    fill(data, sizeof data, 2);
    memcpy(data + 3 * FILE_BYTES + 12345, data + 777, FILE_BYTES);
    memcpy(data + 4 * FILE_BYTES + 54321, data + 777, FILE_BYTES / 2);
    assert_true(stored("places.ska", NULL, &in, 1, 0) < sizeof data - FILE_BYTES - FILE_BYTES / 4);
}

/* Each with a name of its own: those of one kind are compressed together, and not one by one. */
static void small_files_of_many_names(void **state)
{
    (void)state;
    enum { MANY = 200, EACH = 6000 }; /* small sets are also tried as a whole */
    static char names[MANY][24];
    static uint8_t data[MANY][EACH];
    struct sk_archive_input in[MANY];
    struct sk_archive_options o = {.no_sync = 1, .quick = 1};
    struct sk_archive_stats st = {0};
    struct sk_ska a = {0};
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%c%c/%c%c%c.%s", 'a' + i % 3, 'a' + i % 5, 'a' + i % 26, 'a' + i / 26, 'a' + i % 7, i % 2 ? "c" : "txt");
        for (int k = 0; k < EACH; k++)
            data[i][k] = (uint8_t)("some words that all of them have in common "[k % 43] + (k % 50 == i % 50));
        in[i] = (struct sk_archive_input){NULL, names[i], data[i], EACH};
    }
    assert_int_equal(sk_archive_create(at("many.ska"), in, MANY, &o, &st, NULL), 0);
    assert_int_equal(sk_archive_open(at("many.ska"), &a, NULL), 0);
    assert_int_equal(a.class_count, 2);
    assert_true(st.stored_bytes < MANY * EACH / 10);
    sk_ska_free(&a);
    assert_int_equal(sk_archive_extract(at("many.ska"), at("back"), NULL, NULL, NULL), 0);
    put_file(at("original"), data[77], EACH);
    assert_true(same_file(at("original"), at("back/%s", names[77])));
    sk_io_rmtree(at("back"), NULL);
}

/* Doubles that prediction is for, in Fortran records: what did not change costs nearly nothing, also under
 * another name. */
static void what_did_not_change(void **state)
{
    (void)state;
    static uint8_t data[FILES][FILE_BYTES];
    static char *const names[] = {"wave.1", "wave.2", "wave.3"}, *const later[] = {"wave.2", "wave.3", "other"};
    struct sk_archive_input in[FILES];
    uint32_t n = FILE_BYTES - 8;
    for (int i = 0; i < FILES; i++) {
        memcpy(data[i], &n, 4);
        memcpy(data[i] + 4 + n, &n, 4);
        for (uint32_t k = 0; k < n / 8; k++) {
            double v = 1 + (double)(k % 977) * 1e-3 + (double)(noise() % 100000) * 1e-9;
            memcpy(data[i] + 4 + 8 * (size_t)k, &v, 8);
        }
        in[i] = (struct sk_archive_input){NULL, names[i], data[i], FILE_BYTES};
    }
    uint64_t alone = stored("first.ska", NULL, in, FILES, 0);
    assert_true(stored("again.ska", at("first.ska"), in, FILES, 0) < alone / 100);
    for (int i = 0; i < FILES; i++)
        in[i].name = later[i];
    assert_true(stored("renamed.ska", at("again.ska"), in, FILES, 0) < alone / 100);
    /* one of three is new */
    fill(data[1], FILE_BYTES, 9);
    uint64_t one = stored("one.ska", at("renamed.ska"), in, FILES, 0);
    assert_true(one > FILE_BYTES / 2 && one < FILE_BYTES + FILE_BYTES / 50);
}

/* A tree of which a line in a few files changed, of the endings with less in the archive before: they take what changed. */
static void a_tree_of_which_little_changed(void **state)
{
    enum { TREE = 120, TEXT = 3 << 10, EVERY = 24 };
    (void)state;
    static char text[TREE][TEXT], name[TREE][32];
    static const char *const endings[] = {"c", "c", "h", "md"};
    struct sk_archive_input in[TREE];
    for (int i = 0; i < TREE; i++) {
        snprintf(name[i], sizeof name[i], "file%d.%s", i, endings[i % 4]);
        for (int k = 0; k < TEXT; k++)
            text[i][k] = k % 60 == 59 ? '\n' : (char)('a' + noise() % 26);
        in[i] = (struct sk_archive_input){NULL, name[i], text[i], TEXT};
    }
    uint64_t alone = stored("tree.ska", NULL, in, TREE, 0);
    for (int i = 0; i < TREE; i += EVERY)
        memset(text[i + 2] + 600, '-', 40), memset(text[i + 3] + 600, '=', 40);
    uint64_t changed = stored("changed.ska", at("tree.ska"), in, TREE, 0);
    if (changed > 2 * TREE / EVERY * alone / TREE / 3)
        fail_msg("%llu bytes, %llu alone", (unsigned long long)changed, (unsigned long long)alone);
}

/* Structures in another order, as of particles that were sorted anew, and such behind some new ones: what is there already is taken from there. */
static void rows_at_other_places(void **state)
{
    enum { ROWS = 20000, NEW = 100, VALUES = 6 };
    (void)state;
    static double row[NEW + ROWS][VALUES], one[VALUES];
    struct sk_archive_input in = {NULL, "rows", row[NEW], sizeof row - sizeof *row * NEW};
    for (int i = 0; i < NEW + ROWS; i++)
        for (int k = 0; k < VALUES; k++)
            row[i][k] = k ? (double)noise() + 1e-8 * (double)noise() : i;
    uint64_t alone = stored("rows.ska", NULL, &in, 1, 0);
    for (int i = NEW; i + 5000 < NEW + ROWS; i += 10) {
        memcpy(one, row[i], sizeof one);
        memcpy(row[i], row[i + 5000], sizeof one);
        memcpy(row[i + 5000], one, sizeof one);
    }
    uint64_t sorted = stored("sorted.ska", at("rows.ska"), &in, 1, 0);
    in.data = row;
    in.bytes = sizeof row;
    uint64_t longer = stored("longer.ska", at("sorted.ska"), &in, 1, 0);
    if (sorted > alone / 10 || longer > alone / 20)
        fail_msg("%llu and %llu bytes, %llu alone", (unsigned long long)sorted, (unsigned long long)longer, (unsigned long long)alone);
}

static void the_highest_level_takes_the_fewest_bytes(void **state)
{
    (void)state;
    static char text[FILE_BYTES];
    struct sk_archive_input in = {NULL, "table", text, sizeof text};
    if (sk_backend_here(SK_BACKEND_LZMA) < 0)
        skip();
    size_t n = 0;
    for (int i = 0; n + 80 < sizeof text; i++)
        n += (size_t)sprintf(text + n, "%8d %.6f %.6f\n", i, i * 0.01, (noise() % 1000) * 0.001);
    uint64_t usual = stored("usual.ska", NULL, &in, 1, 0), zstd = stored("zstd.ska", NULL, &in, 1, 19),
             best = stored("best.ska", NULL, &in, 1, SK_PACK_LEVELS);
    assert_true(best <= usual && best <= zstd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(small_files_of_many_names),
        cmocka_unit_test(one_content_under_several_names),
        cmocka_unit_test(repeats_at_other_places),
        cmocka_unit_test(what_did_not_change),
        cmocka_unit_test(a_tree_of_which_little_changed),
        cmocka_unit_test(rows_at_other_places),
        cmocka_unit_test(the_highest_level_takes_the_fewest_bytes),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
