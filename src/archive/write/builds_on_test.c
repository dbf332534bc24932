/* On what an archive builds: named from anywhere, with as much memory as there is, and variables that are not in this machine's order. */
#include "archive/file/previous.h"
#include "archive/file/set.h"
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/delta.h"
#include "archive/write/testing.h"
#include "base/log.h"
#include "codec/general/general.h"

#include "base/host/open_files_testing.h"

enum { KIB = 1 << 10, BYTES = 300 * KIB };

static uint8_t bytes[BYTES];

static void fill(uint8_t *to, size_t n, uint64_t s)
{
    for (size_t i = 0; i < n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        to[i] = (uint8_t)(s >> 56);
    }
}

/* Of these bytes, changed here and there. */
static int create(const char *out, const char *previous, uint64_t memory, struct sk_archive_stats *st, struct saikai_error *err)
{
    struct sk_archive_input in = {.name = "state", .data = bytes, .bytes = sizeof bytes};
    struct sk_archive_options o = {.no_sync = 1, .threads = 1, .previous = previous, .memory_bytes = memory};
    for (size_t i = 0; i < sizeof bytes; i += 7001)
        bytes[i]++;
    return sk_archive_create(out, &in, 1, &o, st, err);
}

static void expect(const char *archive, const char *name, const void *data, size_t n)
{
    struct saikai_error err = {0};
    if (sk_archive_extract(archive, at("back"), NULL, NULL, &err))
        fail_msg("%s", err.text);
    put_file(at("original"), data, n);
    assert_true(same_file(at("original"), at("back/%s", name)));
    sk_io_rmtree(at("back"), NULL);
}

/* By names without a directory, from within it, and by such and others together. */
static void names_without_a_directory(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_stats st = {0};
    char before[4096], who[64], whole[512];
    fill(bytes, sizeof bytes, 1);
    assert_non_null(getcwd(before, sizeof before));
    sk_io_mkdirs(at("row"), NULL);
    assert_int_equal(chdir(at("row")), 0);
    put_file(at("row/0.ska.77.tmp"), "left by one that died", 21);
    put_file(at("row/x"), "of a short name", 15);
    snprintf(whole, sizeof whole, "%s", at("row/2.ska"));
    const struct {
        const char *out, *previous;
    } row[] = {{"0.ska", NULL}, {"1.ska", "0.ska"}, {whole, "1.ska"}, {"3.ska", whole}, {"./4.ska", "./3.ska"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        if (create(row[i].out, row[i].previous, 0, &st, &err))
            fail_msg("%zu: %s", i, err.text);
        assert_int_equal(st.depth, i);
        assert_true(i ? st.stored_bytes < BYTES / 10 : st.stored_bytes > BYTES);
        expect(row[i].out, "state", bytes, sizeof bytes);
    }
    assert_int_not_equal(access("0.ska.77.tmp", F_OK), 0);
    assert_int_equal(count_files("."), 6);
    assert_int_equal(sk_ska_builds_on("1.ska", who, sizeof who, &err), 1);
    assert_string_equal(who, "2.ska");
    assert_int_equal(sk_ska_builds_on("4.ska", who, sizeof who, &err), 0);
    assert_int_equal(create("1.ska", "0.ska", 0, &st, &err), SAIKAI_EEXIST);
    /* another directory, and none */
    sk_io_mkdirs(at("elsewhere"), NULL);
    assert_int_equal(create(at("elsewhere/5.ska"), "4.ska", 0, &st, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "another archive in the same directory"));
    assert_int_equal(create(at("nowhere/5.ska"), "4.ska", 0, &st, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "cannot read the directories of 4.ska and"));
    assert_int_equal(create("4.ska", at("row/4.ska"), 0, &st, &err), SAIKAI_EINVAL); /* itself */
    /* gone */
    assert_int_equal(rename("0.ska", "away"), 0);
    assert_int_equal(sk_archive_extract("4.ska", NULL, NULL, NULL, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "builds on 0.ska, which is missing"));
    assert_int_equal(chdir(before), 0);
    sk_io_rmtree(at("row"), NULL);
}

static char said[2000];

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    size_t n = strlen(said);
    if (level <= SK_LOG_WARN)
        snprintf(said + n, sizeof said - n, "%s\n", line);
}

/* Where not one block can be compared the archive stands alone, and says so, and what would be enough: with that it builds on the other one. */
static void too_little_memory_to_build_on_another(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_stats st = {0};
    fill(bytes, sizeof bytes, 2);
    sk_io_mkdirs(at("little"), NULL);
    assert_int_equal(create(at("little/0.ska"), NULL, 0, &st, &err), 0);
    said[0] = 0;
    sk_log_set(note, NULL, SK_LOG_WARN);
    int rc = create(at("little/1.ska"), at("little/0.ska"), SK_PACK_TABLES, &st, &err);
    sk_log_set(NULL, NULL, 0);
    assert_int_equal(rc, 0);
    const char *enough = strstr(said, "and would take ");
    unsigned mib = 0;
    if (!strstr(said, "too little memory to build on") || !strstr(said, "little/0.ska: its buffers may take 16") || !enough || sscanf(enough, "and would take %u MiB: this archive stands alone", &mib) != 1)
        fail_msg("%s", said);
    assert_int_equal(st.depth, 0);
    assert_true(st.stored_bytes > BYTES);
    assert_int_equal(rename(at("little/0.ska"), at("little/away")), 0);
    expect(at("little/1.ska"), "state", bytes, sizeof bytes);
    assert_int_equal(rename(at("little/away"), at("little/0.ska")), 0);
    for (unsigned less = 0; less < 2; less++) {
        said[0] = 0;
        sk_log_set(note, NULL, SK_LOG_WARN);
        rc = create(less ? at("little/less.ska") : at("little/more.ska"), at("little/0.ska"), (uint64_t)(mib - less) << 20, &st, &err);
        sk_log_set(NULL, NULL, 0);
        if (rc || st.depth == less || (said[0] != 0) != (less != 0))
            fail_msg("with %u MiB: %d, depth %u, '%s'", mib - less, rc, (unsigned)st.depth, said);
    }
}

/* Nor is it passed over in silence that a scheme has no use for another archive. */
static void schemes_that_stand_alone(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_stats st = {0};
    sk_io_mkdirs(at("scheme"), NULL);
    assert_int_equal(create(at("scheme/0.ska"), NULL, 0, &st, &err), 0);
    for (int scheme = SK_SCHEME_AUTO; scheme <= SK_SCHEME_AWARE_BLOCK; scheme++) {
        struct sk_archive_input in = {.name = "state", .data = bytes, .bytes = sizeof bytes};
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .scheme = scheme, .previous = at("scheme/0.ska")};
        said[0] = 0;
        sk_log_set(note, NULL, SK_LOG_WARN);
        int rc = sk_archive_create(at("scheme/1.ska"), &in, 1, &o, &st, &err);
        sk_log_set(NULL, NULL, 0);
        assert_int_equal(rc, 0);
        assert_int_equal(st.depth, scheme == SK_SCHEME_AUTO);
        assert_int_equal(strstr(said, "this one stands alone, without") != NULL, scheme != SK_SCHEME_AUTO);
    }
}

/* Smooth values of which some columns change: what is predicted alone and what comes after the set before are in other orders of bytes. */
static double moving(int i, int step)
{
    return 300 + 0.01 * (i % 1000) + (i % 4 == 0 ? 1e-3 * step : 0) + 1e-9 * (double)((unsigned)i * 2654435761u % 1000);
}

/* Where there is memory for blocks of bytes, but not for the larger ones of variables, those alone are built on. */
static void memory_for_some_blocks(void **state)
{
    (void)state;
    enum { VALUES = 700000 };
    static uint8_t file[VALUES * 8 + 256];
    struct saikai_error err = {0};
    struct sk_opened *o = NULL;
    struct sk_unpack_need all = {0}, some = {0}, need;
    struct sk_ska a = {0};
    uint64_t unit;
    fill(bytes, sizeof bytes, 3);
    sk_io_mkdirs(at("some"), NULL);
    struct sk_archive_input in[] = {{.name = "v.nc", .data = file}, {.name = "state", .data = bytes, .bytes = sizeof bytes}};
    for (int set = 0; set < 2; set++) {
        struct sk_archive_options o2 = {.no_sync = 1, .threads = 1, .quick = 1, .previous = set ? at("some/0.ska") : NULL};
        struct sk_archive_stats st = {0};
        in[0].bytes = make_netcdf(file, VALUES, moving, set);
        for (size_t i = 0; i < sizeof bytes; i += 7001)
            bytes[i]++;
        if (set) { /* between what the ones take, and the others */
            assert_int_equal(sk_opened_new(at("some/0.ska"), &o, &err), 0);
            for (size_t i = 0; i < o->a->block_count; i++) {
                assert_int_equal(sk_unpack_need(o, i, &need, &err), 0);
                sk_unpack_most(&all, &need);
                if (sk_previous_usable(o->a, i))
                    sk_unpack_most(&some, &need);
            }
            sk_opened_free(o);
            assert_true(some.raw_bytes && some.raw_bytes < all.raw_bytes / 4);
            o2.memory_bytes = (SK_PACK_TABLES + some.work_bytes + 2 * some.raw_bytes) / 3 * 4 + 4 * KIB;
            assert_int_equal(sk_archive_delta_share(o2.memory_bytes, 1, &all, &unit), 0);
            assert_int_equal(sk_archive_delta_share(o2.memory_bytes, 1, &some, &unit), 1);
        }
        if (sk_archive_create(at("some/%d.ska", set), in, 2, &o2, &st, &err))
            fail_msg("%s", err.text);
    }
    assert_int_equal(sk_archive_open(at("some/1.ska"), &a, &err), 0);
    int built = 0;
    assert_int_equal(a.depth, 1);
    for (size_t i = 0; i < a.block_count; i++) {
        int usable = sk_previous_usable(&a, i);
        if (!usable)
            assert_int_equal(a.blocks[i].previous, 0);
        built += usable && a.blocks[i].previous;
    }
    assert_true(built > 0);
    sk_ska_free(&a);
    expect(at("some/1.ska"), "v.nc", file, in[0].bytes);
    expect(at("some/1.ska"), "state", bytes, sizeof bytes);
}

static void variables_of_another_order(void **state)
{
    (void)state;
    enum { VALUES = 60000 };
    static uint8_t file[VALUES * 8 + 256];
    struct saikai_error err = {0};
    sk_io_mkdirs(at("order"), NULL);
    for (int set = 0; set < 3; set++) {
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .previous = set ? at("order/%d.ska", set - 1) : NULL};
        struct sk_archive_input in = {.name = "v.nc", .data = file, .bytes = make_netcdf(file, VALUES, moving, set)};
        struct sk_archive_stats st = {0};
        if (sk_archive_create(at("order/%d.ska", set), &in, 1, &o, &st, &err))
            fail_msg("%s", err.text);
        expect(at("order/%d.ska", set), "v.nc", file, in.bytes);
    }
}

static int compared;
static void count_compared(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    compared += strstr(line, "after the set before") != NULL;
}

/* Values without a pattern in their lower bits, of which step 0 and step 1 have none alike, and step 2 nearly those of step 0. */
static double rough(int i, int step)
{
    uint64_t x = ((uint64_t)i * 2 + (uint64_t)(step & 1)) * 0x9e3779b97f4a7c15u;
    x ^= x >> 31;
    return 1 + (double)(x * 0xbf58476d1ce4e5b9u >> 12) * 0x1p-52 + (step == 2 ? 1e-9 * (i % 7) : 0);
}

/* Pieces of what is all new say that nothing is gained, and then it is made alone, once; what has changed a little is made after the other one alone. */
static void what_gains_nothing_is_not_compared(void **state)
{
    (void)state;
    enum { VALUES = 300000 };
    static uint8_t file[VALUES * 8 + 256];
    struct saikai_error err = {0};
    struct sk_archive_stats st = {0};
    uint64_t first = 0;
    sk_io_mkdirs(at("gain"), NULL);
    for (int set = 0; set < 3; set++) {
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .quick = 1, .previous = set ? at("gain/0.ska") : NULL};
        struct sk_archive_input in = {.name = "v.nc", .data = file, .bytes = make_netcdf(file, VALUES, rough, set)};
        compared = 0;
        sk_log_set(count_compared, NULL, SK_LOG_DEBUG);
        int rc = sk_archive_create(at("gain/%d.ska", set), &in, 1, &o, &st, &err);
        sk_log_set(NULL, NULL, 0);
        if (rc)
            fail_msg("%s", err.text);
        first = set ? first : st.stored_bytes;
        assert_int_equal(compared > 0, set == 2);
        assert_int_equal(st.depth, set == 2);
        assert_true(set == 2 ? st.stored_bytes < first / 2 : st.stored_bytes > VALUES * 6);
        expect(at("gain/%d.ska", set), "v.nc", file, in.bytes);
    }
}

/* From 1 to 2, every bit of it. */
static double uniform(void)
{
    return 1 + (double)((((uint64_t)noise() << 24 | noise()) * 0x9e3779b97f4a7c15u) >> 12) * 0x1p-52;
}

/* Records of four numbers of which every second one is another one from set to set: the others cost nearly nothing. */
static void every_second_number_is_new(void **state)
{
    (void)state;
    enum { RECORDS = 16000, ROW = 4 };
    static double values[RECORDS][ROW];
    struct saikai_error err = {0};
    uint64_t stored[2] = {0};
    sk_io_mkdirs(at("second"), NULL);
    lcg = 5;
    for (int set = 0; set < 2; set++) {
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .previous = set ? at("second/0.ska") : NULL};
        struct sk_archive_input in = {.name = "bodies", .data = values, .bytes = sizeof values};
        struct sk_archive_stats st = {0};
        for (int i = 0; i < RECORDS; i++)
            for (int k = 0; k < ROW; k++)
                if (!set || k % 2 == 0)
                    values[i][k] = uniform();
        if (sk_archive_create(at("second/%d.ska", set), &in, 1, &o, &st, &err))
            fail_msg("%s", err.text);
        stored[set] = st.stored_bytes;
        expect(at("second/%d.ska", set), "bodies", values, sizeof values);
    }
    if (stored[1] > stored[0] / 100 * 56)
        fail_msg("%llu bytes after %llu", (unsigned long long)stored[1], (unsigned long long)stored[0]);
}

/* What is looked at of a part is as it was, and all the rest is new: what it takes alone is not known then, and has to be found out. */
static void pieces_may_be_wrong(void **state)
{
    (void)state;
    enum { ROWS = 220000, ROW = 4, PIECE = 40 * KIB };
    static double values[ROWS][ROW];
    struct saikai_error err = {0};
    uint64_t stored[2] = {0};
    struct sk_archive_stats st = {0};
    sk_io_mkdirs(at("wrong"), NULL);
    lcg = 6;
    for (int set = 0; set < 2; set++) {
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .quick = 1, .previous = set ? at("wrong/0.ska") : NULL};
        struct sk_archive_input in = {.name = "bodies", .data = values, .bytes = sizeof values};
        for (size_t i = 0; i < ROWS; i++) {
            size_t place = i * sizeof values[0], eighth = sizeof values / 8, looked = place / eighth % 2 && place % eighth < PIECE;
            for (int k = 0; k < ROW && !(set && looked); k++)
                values[i][k] = uniform();
        }
        if (sk_archive_create(at("wrong/%d.ska", set), &in, 1, &o, &st, &err))
            fail_msg("%s", err.text);
        stored[set] = st.stored_bytes;
        expect(at("wrong/%d.ska", set), "bodies", values, sizeof values);
    }
    assert_int_equal(st.depth, 0);
    assert_true(stored[1] < stored[0] + stored[0] / 100);
}

static int reads;
static int count_reads(const char *op, const char *path)
{
    reads += !strcmp(op, "read") && strstr(path, ".ska");
    return 0;
}

/* What a thread has unpacked last of the archives below is not unpacked again. */
static void what_was_unpacked_last_is_there(void **state)
{
    (void)state;
    enum { BLOCKS = 2 };
    struct saikai_error err = {0};
    struct sk_opened *o = NULL;
    struct sk_unpacker w = {0};
    struct sk_unpacked u = {0};
    const struct sk_part *const *alike = NULL;
    fill(bytes, sizeof bytes, 8);
    sk_io_mkdirs(at("last"), NULL);
    for (int set = 0; set < 3; set++) {
        struct sk_archive_input in = {.name = "state", .data = bytes, .bytes = sizeof bytes};
        struct sk_archive_options o2 = {.no_sync = 1, .threads = 1, .unit_bytes = 256 * KIB, .previous = set ? at("last/%d.ska", set - 1) : NULL};
        for (size_t i = 0; i < sizeof bytes; i += 7001)
            bytes[i]++;
        if (sk_archive_create(at("last/%d.ska", set), &in, 1, &o2, NULL, &err))
            fail_msg("%s", err.text);
    }
    assert_int_equal(sk_opened_new(at("last/2.ska"), &o, &err), 0);
    assert_int_equal(o->a->block_count, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(o->a->blocks[i].previous, i + 1);
    for (int i = 0; i < BLOCKS; i++) /* the archives below are opened */
        assert_int_equal(sk_unpack_block(&w, &u, o, (size_t)i, &err), 0);
    sk_unpacker_free(&w);
    static const struct {
        int alike, block, reads; /* alike: what the block of a next archive would come after */
    } steps[] = {{0, 0, 3}, {0, 0, 1}, {0, 1, 3}, {0, 1, 1}, {0, 0, 3}, {1, 0, 3}, {1, 0, 0}, {1, 1, 3}, {1, 1, 0}, {0, 1, 3}, {0, 1, 1}, {1, 1, 3}};
    struct sk_ska next = *o->a;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        reads = 0;
        sk_io_hook = count_reads;
        int rc = steps[i].alike ? sk_unpack_alike(&w, o, &next, (size_t)steps[i].block, &alike, &err) : sk_unpack_block(&w, &u, o, (size_t)steps[i].block, &err);
        sk_io_hook = NULL;
        const uint8_t *is = steps[i].alike ? alike[0]->raw : u.parts[0].raw;
        size_t n = steps[i].alike ? alike[0]->size_bytes : u.parts[0].size_bytes;
        if (rc || reads != steps[i].reads)
            fail_msg("step %zu: %d, %d reads", i, rc, reads);
        assert_memory_equal(is, bytes + (steps[i].block ? sizeof bytes - n : 0), n);
    }
    sk_unpacker_free(&w);
    sk_unpacked_free(&u);
    sk_opened_free(o);
}

/* Nor is anything decoded, or read again, for one who knows by hashes what a block has; it is checked with all those below. (The archives of the test before.) */
static void a_block_is_checked_without_decoding(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_opened *o = NULL;
    struct sk_unpacker w = {0};
    const struct sk_part *const *alike = NULL;
    static const struct {
        int alike, block, reads;
    } steps[] = {{0, 0, 3}, {0, 0, 0}, {0, 1, 3}, {0, 0, 3}, {1, 1, 3}, {0, 1, 0}};
    assert_int_equal(sk_opened_new(at("last/2.ska"), &o, &err), 0);
    assert_int_equal(sk_unpack_check(&w, o, 1, &err), 0); /* the archives below are opened */
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        size_t k = (size_t)steps[i].block;
        reads = 0;
        sk_io_hook = count_reads;
        int rc = steps[i].alike ? sk_unpack_alike(&w, o, o->a, k, &alike, &err) : sk_unpack_check(&w, o, k, &err);
        sk_io_hook = NULL;
        if (rc || reads != steps[i].reads)
            fail_msg("step %zu: %d, %d reads", i, rc, reads);
        assert_int_equal(w.below.parts != NULL, i >= 4);
    }
    sk_unpacker_free(&w);
    sk_opened_free(o);
}

/* What has not changed is found by its hashes: an archive below that is damaged is told all the same, whichever of two. */
static void unchanged_sets_after_damaged_archives(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_stats st = {0};
    struct sk_archive_input in = {.name = "state", .data = bytes, .bytes = sizeof bytes};
    fill(bytes, sizeof bytes, 9);
    sk_io_mkdirs(at("sound"), NULL);
    for (int set = 0; set < 3; set++) {
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .previous = set ? at("sound/%d.ska", set - 1) : NULL};
        if (set < 2)
            bytes[BYTES / 2] ^= 1;
        if (sk_archive_create(at("sound/%d.ska", set), &in, 1, &o, &st, &err))
            fail_msg("%s", err.text);
        assert_true(!set || st.stored_bytes < BYTES / 100);
        expect(at("sound/%d.ska", set), "state", bytes, sizeof bytes);
    }
    for (int set = 0; set < 2; set++) {
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .previous = at("sound/1.ska")};
        void *was = NULL;
        size_t n = 0;
        assert_int_equal(sk_io_slurp(at("sound/%d.ska", set), BYTES * 2, &was, &n, &err), 0);
        uint8_t *a = was;
        a[set ? 25 : BYTES / 2] ^= 1; /* of the only block */
        put_file(at("sound/%d.ska", set), a, n);
        int rc = sk_archive_create(at("sound/3.ska"), &in, 1, &o, &st, &err);
        if (rc != SAIKAI_EDAMAGED || !strstr(err.text, "cannot build on") || !strstr(err.text, "the checksum of block 0"))
            fail_msg("%d: %d, %s", set, rc, err.text);
        a[set ? 25 : BYTES / 2] ^= 1;
        put_file(at("sound/%d.ska", set), a, n);
        free(was);
    }
}

/* As the archive is begun. */
static int change_once(const char *op, const char *path)
{
    if (!strcmp(op, "write") && strstr(path, "way/1.ska") && !reads++)
        bytes[BYTES / 3] ^= 1;
    return 0;
}

/* What has changed since it was compared is not taken for what is below. */
static void bytes_that_change_on_the_way(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_stats st = {0};
    fill(bytes, sizeof bytes, 10);
    sk_io_mkdirs(at("way"), NULL);
    for (int set = 0; set < 2; set++) {
        struct sk_archive_input in = {.name = "state", .data = bytes, .bytes = sizeof bytes};
        struct sk_archive_options o = {.no_sync = 1, .threads = 1, .previous = set ? at("way/0.ska") : NULL};
        reads = 0;
        sk_io_hook = set ? change_once : NULL;
        int rc = sk_archive_create(at("way/%d.ska", set), &in, 1, &o, &st, &err);
        sk_io_hook = NULL;
        if (rc)
            fail_msg("%s", err.text);
        assert_true(!set || reads);
        expect(at("way/%d.ska", set), "state", bytes, sizeof bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(names_without_a_directory),
        cmocka_unit_test(too_little_memory_to_build_on_another),
        cmocka_unit_test(schemes_that_stand_alone),
        cmocka_unit_test(memory_for_some_blocks),
        cmocka_unit_test(variables_of_another_order),
        cmocka_unit_test(what_gains_nothing_is_not_compared),
        cmocka_unit_test(every_second_number_is_new),
        cmocka_unit_test(pieces_may_be_wrong),
        cmocka_unit_test(what_was_unpacked_last_is_there),
        cmocka_unit_test(a_block_is_checked_without_decoding),
        cmocka_unit_test(unchanged_sets_after_damaged_archives),
        cmocka_unit_test(bytes_that_change_on_the_way),
        cmocka_unit_test(no_file_is_left_open),
    };
    return sk_backend_here(SK_BACKEND_ZSTD) < 0 ? 77 : cmocka_run_group_tests(tests, setup, teardown);
}
