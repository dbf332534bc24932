/* The archives of made files are those that were always made of them: schemes that are kept, blocks, what they build on and what
 * is stored, byte by byte. What general compressors leave is compared where they are those of the day when it was written down. */
#include "archive/read/extract.h"
#include "archive/write/delta.h"
#include "archive/write/schemes.h"
#include "archive/plan/values_testing.h"
#include "base/hash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host/open_files_testing.h"

static char dir[64];
static int known_compressors;

static const char *at(const char *name)
{
    static char path[4][128];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, 128, "%s/%s", dir, name);
    return p;
}

/* Whether zstd, gzip and lzma give what they gave. */
static int setup(void **state)
{
    (void)state;
    enum { N = 20000 };
    static const uint64_t known = 0xdfc069e7eefb4466;
    static const int backends[] = {SK_BACKEND_ZSTD, SK_BACKEND_ZSTD, SK_BACKEND_GZIP, SK_BACKEND_LZMA};
    static const int levels[] = {1, 9, 6, SK_PACK_LEVELS};
    struct sk_packer packer = {0};
    uint8_t *in = malloc(N), *out = malloc(sk_pack_bound(N));
    uint64_t hash = 0;
    for (size_t i = 0; i < N; i++)
        in[i] = prose(i);
    for (int i = 0; i < 4; i++) {
        int backend = backends[i];
        size_t n = 0;
        if (!sk_pack(&packer, &backend, levels[i], in, N, out, &n, NULL))
            hash = (hash + sk_hash64(out, n)) * 0x9e3779b97f4a7c15u;
    }
    sk_packer_free(&packer);
    free(in);
    free(out);
    known_compressors = hash == known;
    if (!known_compressors)
        print_message("other compressors than those whose bytes are known: %llx\n", (unsigned long long)hash);
    strcpy(dir, "/tmp/saikai-written-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* An archive's blocks: form and length of each part as it is stored. */
static void describe(const char *path, struct sk_buf *out)
{
    struct sk_ska a = {0};
    void *data;
    size_t n;
    assert_int_equal(sk_archive_open(path, &a, NULL), 0);
    assert_int_equal(sk_io_slurp(path, 1 << 28, &data, &n, NULL), 0);
    for (size_t i = 0; i < a.block_count; i++) {
        const struct sk_ska_block *b = &a.blocks[i];
        struct sk_rd in = sk_rd_init((uint8_t *)data + b->offset, b->stored_bytes);
        sk_buf_printf(out, " block %zu of %llu bytes at %llu", i, (unsigned long long)b->size_bytes, (unsigned long long)b->offset);
        if (b->previous)
            sk_buf_printf(out, " after %u", b->previous - 1);
        if (b->own)
            sk_buf_printf(out, " from %u", b->own - 1);
        for (uint32_t k = 0; k < b->count; k++) {
            uint64_t bytes = sk_rd_u64(&in);
            const uint8_t *part = sk_rd_bytes(&in, bytes);
            assert_non_null(part);
            sk_buf_printf(out, "%s%s form %d %llu", k ? ", " : ": ", a.classes[a.parts[b->first + k].class].key, part[0], (unsigned long long)bytes);
        }
        sk_buf_printf(out, "\n");
    }
    sk_buf_printf(out, " %zu bytes %016llx, depth %u on %s\n", n, (unsigned long long)sk_hash64(data, n), a.depth, a.previous ? a.previous : "none");
    sk_ska_free(&a);
    free(data);
}

/* Write the files, add how to the text, and get them back. */
static void write_archive(struct made *m, const char *name, const char *previous, const struct sk_archive_options *o, struct sk_buf *text)
{
    struct sk_ska_plan p;
    struct sk_feed_local feed;
    struct sk_archive_stats st = {0};
    struct saikai_error err = {0};
    made_plan(m, o, &feed, &p);
    sk_ska_plan_options(&p, o);
    if (previous && sk_ska_plan_previous(&p, at(name), at(previous), &err))
        fail_msg("%s", err.text);
    int fd = open(at(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    if (sk_ska_plan_write(&p, fd, at(name), &st, &err))
        fail_msg("%s", err.text);
    close(fd);
    sk_buf_printf(text, "%s: %llu files of %llu bytes in %llu, %llu variables, %llu classes, %llu of skeletons\n", name,
                  (unsigned long long)st.files, (unsigned long long)st.raw_bytes, (unsigned long long)st.stored_bytes,
                  (unsigned long long)st.variables, (unsigned long long)st.classes, (unsigned long long)st.skeleton_bytes);
    describe(at(name), text);
    struct stat is;
    assert_int_equal(stat(at(name), &is), 0);
    assert_int_equal(is.st_size, st.stored_bytes);
    assert_int_equal(sk_archive_extract(at(name), at("back"), &(struct sk_extract_options){.no_sync = 1}, NULL, &err), 0);
    for (int i = 0; i < m->count; i++) {
        void *back;
        size_t n;
        char path[256];
        snprintf(path, sizeof path, "%s/back/%s", dir, m->name[i]);
        assert_int_equal(sk_io_slurp(path, 1 << 28, &back, &n, NULL), 0);
        assert_int_equal(n, m->data[i].len);
        if (n)
            assert_memory_equal(back, m->data[i].data, n);
        free(back);
    }
    sk_io_rmtree(at("back"), NULL);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
}

static void finish(const char *name, struct sk_buf *text)
{
    int known = known_compressors || getenv("SAIKAI_WRITE_PLANS");
    if (known)
        made_expect(name, text);
    sk_buf_free(text);
    if (!known)
        skip();
}

/* Without a general compressor, wherever it is. */
static void what_is_stored_is_the_same(void **state)
{
    (void)state;
    struct sk_buf text = {0};
    struct made m = {0};
    struct sk_archive_options o = {.scheme = SK_SCHEME_AGNOSTIC, .backend = -1, .unit_bytes = 300000, .threads = 1, .no_sync = 1};
    made_seed = 1;
    grid = 0;
    mixture(&m, "run/out.0001.nc");
    mixture(&m, "out.0002.nc");
    made_file(&m, "empty", NULL);
    write_archive(&m, "stored.ska", NULL, &o, &text);
    made_free(&m);
    finish("written-stored", &text);
}

static void schemes_give_the_same(void **state)
{
    (void)state;
    struct sk_buf text = {0};
    static const char *const names[] = {"auto.ska", "agnostic.ska", "agnostic-block.ska", "aware.ska", "aware-block.ska", "quick.ska", "gzip.ska", "best.ska", "small.ska"};
    for (int i = 0; i < 9; i++) {
        struct made m = {0};
        struct sk_archive_options o = {.scheme = i < 5 ? i : 0, .quick = i == 5, .threads = i == 8 ? 50 : 2, .codec_f64 = "zstd", .no_sync = 1};
        o.backend = i == 6 ? SK_BACKEND_GZIP : 0;
        o.level = i == 7 ? SK_PACK_LEVELS : 0;
        o.memory_bytes = i == 8 ? 1 : 0;
        made_seed = 1;
        grid = 0;
        mixture(&m, "out.0001.nc");
        physics(&m, "rank0000.h5", "Grid00000001", 14);
        grid = 1;
        physics(&m, "rank0001.h5", "Grid00000002", 17);
        write_archive(&m, names[i], NULL, &o, &text);
        made_free(&m);
    }
    finish("written-schemes", &text);
}

/* Sets for which something else than what the samples say leaves less. */
static void what_leaves_least_is_kept(void **state)
{
    (void)state;
    struct sk_buf text = {0};
    struct sk_archive_options o = {.threads = 2, .no_sync = 1};
    for (int i = 0; i < 6; i++) {
        struct made m = {0};
        char name[16];
        made_seed = 3;
        if (i < 5)
            made_file(&m, "file", i == 3 ? "fortran" : NULL);
        if (i == 0) { /* a small text: gzip */
            made_bytes(&m, 1500, prose);
        } else if (i == 1) { /* nearly the same, far away: one stream */
            made_bytes(&m, 1300000, dense);
            for (size_t k = 0; k < 1300000; k++)
                sk_buf_put_u8(&m.data[0], (uint8_t)(m.data[0].data[k] + (k % 500 == 7)));
        } else if (i == 2) {
            made_bytes(&m, 1100000, dense);
        } else if (i == 3) {
            records(&m, 400, 4000, prose);
        } else if (i == 4) {
            made_bytes(&m, 1200000, prose);
            made_bytes(&m, 100000, dense);
        } else {
            repeating(&m);
        }
        snprintf(name, sizeof name, "kept%d.ska", i);
        write_archive(&m, name, NULL, &o, &text);
        made_free(&m);
    }
    finish("written-kept", &text);
}

/* Each set after the one before it: with a few bytes changed, renamed, with more files, and as variables that moved. */
static void series_give_the_same(void **state)
{
    (void)state;
    struct sk_buf text = {0};
    static char names[7][16];
    for (int set = 0; set < 7; set++) {
        struct made m = {0};
        struct sk_archive_options o = {.threads = 2, .unit_bytes = set == 4 ? 500000 : 300000, .no_sync = 1, .chain = 5};
        o.memory_bytes = set == 3 ? 64 << 20 : 0;
        made_seed = 1;
        grid = 0;
        mixture(&m, set == 2 ? "other" : "out.0001.nc");
        made_file(&m, set == 2 ? "elsewhere" : "state", NULL);
        made_bytes(&m, 700000, dense);
        for (size_t k = 0; k < 700000; k += 5000)
            m.data[1].data[k] = (uint8_t)(k / 5000 + (size_t)(set == 3 ? 2 : set));
        made_file(&m, "words", NULL);
        made_bytes(&m, 150000 + 1000 * (size_t)set, prose);
        if (set > 3) {
            made_file(&m, "new", "hdf5");
            physics(&m, "rank0001.h5", "Grid00000002", 9);
        }
        snprintf(names[set], sizeof names[set], "s%d.ska", set);
        write_archive(&m, names[set], set ? names[set - 1] : NULL, &o, &text);
        made_free(&m);
    }
    finish("written-series", &text);
}

/* ---- numbers after numbers ---- */

/* Lines of numbers; at another step some columns are others. */
static void table(struct made *m, size_t lines, int step, int labels)
{
    for (size_t i = 0; i < lines; i++)
        sk_buf_printf(&m->data[m->count - 1], labels ? "id=%zu kind=%zu at=%.5f of %g\n" : "%6zu %zu %.5f %g\n", i, i % 7,
                      1e-5 * (double)((i * 7919 + (size_t)step * 31) % 99991), 1e-3 * (double)(i * 104729 % 9973));
}

/* Structures of a number, two values and, in wide ones, sixty more that are the same from step to step. */
static void bodies(struct made *m, size_t n, int step, int wide)
{
    for (size_t i = 0; i < n; i++) {
        double at[2] = {1 + 1e-5 * (double)i + 1e-9 * (double)((i + (size_t)step) * 7919 % 99991), 5 - 1e-4 * (double)(i * 104729 % 9973)};
        sk_buf_put_u64(&m->data[m->count - 1], i);
        sk_buf_put(&m->data[m->count - 1], at, sizeof at);
        for (size_t k = 0; k < 60 && wide; k++)
            sk_buf_put_u64(&m->data[m->count - 1], i * 977 % 1000 + k * k);
    }
}

/* Each set after the one before it, as text, rows and records that change, stay, grow and move. */
static void numbers_after_numbers_give_the_same(void **state)
{
    (void)state;
    enum { SETS = 6 };
    struct sk_buf text = {0};
    static char names[SETS][16];
    for (int set = 0; set < SETS; set++) {
        struct made m = {0};
        struct sk_archive_options o = {.threads = 2, .no_sync = 1, .chain = SETS, .unit_bytes = set == 4 ? 400000 : 0};
        o.memory_bytes = set == 3 ? 100 << 20 : 0; /* too little for columns */
        o.level = set == 5 ? SK_PACK_BEST : 0;
        size_t part = set == 5 ? 4 : 1; /* the strongest compressor is slow */
        made_seed = 9 + (uint32_t)set;
        made_file(&m, set == 2 ? "other.dat" : "table.dat", NULL);
        table(&m, 18000 / part + 10 * (size_t)set, set, 0);
        made_file(&m, "labels.log", NULL);
        table(&m, 3000 / part, set, 1);
        made_file(&m, "bodies", NULL);
        bodies(&m, 20000 / part, set, 0);
        made_file(&m, "wide", NULL);
        bodies(&m, 700 / part, set, 1);
        made_file(&m, "records", "fortran");
        records(&m, 150 / part, 2000, set % 2 ? dense : words);
        if (set > 2) { /* and in two files */
            made_file(&m, "table.dat.2", NULL);
            table(&m, 9000 / part, 1, 0);
        }
        snprintf(names[set], sizeof names[set], "n%d.ska", set);
        write_archive(&m, names[set], set ? names[set - 1] : NULL, &o, &text);
        made_free(&m);
    }
    finish("written-numbers", &text);
}

/* ---- options ---- */

/* As many threads as are wanted, unless each had less than a megabyte for a block. */
static void threads_have_room_for_their_blocks(void **state)
{
    (void)state;
    static const struct {
        int wanted;
        uint64_t memory;
        int threads;
    } cases[] = {{4, (uint64_t)22 << 20, 4}, {4, ((uint64_t)22 << 20) - 1, 3}, {4, (uint64_t)18 << 20, 3}, {4, ((uint64_t)18 << 20) - 1, 2}, {4, 1, 1},
                 {1, 1, 1}, {2, 0, 2}, {1000, (uint64_t)1 << 40, SK_ARCHIVE_THREADS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_ska_plan p = {0};
        sk_ska_plan_options(&p, &(struct sk_archive_options){.threads = cases[i].wanted, .memory_bytes = cases[i].memory});
        if (p.threads != cases[i].threads)
            fail_msg("case %zu: %d", i, p.threads);
        assert_true(p.opt.memory_bytes == (cases[i].memory ? cases[i].memory : (uint64_t)1 << 30));
    }
    struct sk_ska_plan p = {0};
    sk_ska_plan_options(&p, NULL);
    assert_true(p.threads >= 1);
    assert_int_equal(p.opt.backend, SK_BACKEND_ZSTD);
    assert_int_equal(p.opt.merge_bytes, 64 << 10);
    assert_int_equal(p.opt.first_bytes, 100);
    sk_ska_plan_options(&p, &(struct sk_archive_options){.backend = -1, .merge_bytes = 5, .first_bytes = 6});
    assert_int_equal(p.opt.backend, SK_BACKEND_STORE);
    assert_int_equal(p.opt.merge_bytes, 5);
    assert_int_equal(p.opt.first_bytes, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(what_is_stored_is_the_same),
        cmocka_unit_test(schemes_give_the_same),
        cmocka_unit_test(what_leaves_least_is_kept),
        cmocka_unit_test(series_give_the_same),
        cmocka_unit_test(numbers_after_numbers_give_the_same),
        cmocka_unit_test(no_file_is_left_open),
        cmocka_unit_test(threads_have_room_for_their_blocks),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
