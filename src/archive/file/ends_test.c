/* Both ends of an archive: each is made good by the other, and what is wrong with them is told. */
#include "archive/file/index_testing.h"

#include "archive/file/previous.h"
#include "archive/file/set.h"
#include "archive/read/extract.h"
#include "base/file/io.h"
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-index-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* An archive whose blocks are not what they should be: only its ends are looked at. */
static size_t write_ends(const char *path, struct sk_buf *out)
{
    struct sk_ska a;
    make_index(&a);
    sk_ska_put_header(out, sk_ska_version(&a));
    for (int i = 0; i < DATA_END - 16; i++)
        sk_buf_put_u8(out, (uint8_t)i);
    struct sk_buf index = {0};
    assert_int_equal(sk_ska_put_index(&index, &a, DATA_END, NULL, NULL), 0);
    sk_buf_put(out, index.data, index.len);
    size_t one = index.len / 2;
    assert_memory_equal(index.data, index.data + one, one); /* twice the same */
    sk_buf_free(&index);
    sk_ska_free(&a);
    assert_int_equal(sk_io_replace(path, out->data, out->len, NULL), 0);
    return one;
}

static int read_ends(const char *path, const struct sk_buf *b, size_t n, int *damage, int *ends, char *why)
{
    struct sk_ska a = {0};
    struct saikai_error err = {0};
    assert_int_equal(sk_io_replace(path, b->data, n, NULL), 0);
    int rc = sk_archive_open(path, &a, &err);
    struct sk_ska again = {0};
    assert_int_equal(sk_archive_open(path, &again, NULL) != 0, rc != 0); /* nobody wants to know why */
    sk_ska_free(&again);
    *damage = a.damage;
    int fd = open(path, O_RDONLY);
    *ends = rc ? rc : sk_ska_check_ends(fd, path, &a, &err);
    close(fd);
    snprintf(why, 500, "%.400s", err.text);
    if (!rc)
        assert_int_equal(a.segment_count, 5);
    sk_ska_free(&a);
    return rc;
}

static void each_end_is_made_good_by_the_other(void **state)
{
    (void)state;
    char path[128], why[500];
    struct sk_buf b = {0};
    int damage, ends;
    snprintf(path, sizeof path, "%s/x.ska", dir);
    size_t one = write_ends(path, &b), first = DATA_END, trailer = first + one - SK_SKA_TRAILER_BYTES, second = first + one, last = b.len - 48;
    static const uint8_t head[] = {0x93, 'S', 'K', 'A', '\r', '\n', 0x1a, '\n', 4, 0, 0, 0, 0, 0, 0, 0};
    assert_memory_equal(b.data, head, sizeof head);
    assert_memory_equal(b.data + b.len - 8, "SKAend4\n", 8);
    assert_int_equal(b.len, DATA_END + 2 * one);
    assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), 0);
    assert_int_equal(damage, 0);
    assert_int_equal(ends, 0);
    const struct {
        size_t at;
        int damage;
        const char *says;
    } cases[] = {{0, SK_SKA_HEADER_DAMAGED, "header is damaged"}, {8, SK_SKA_HEADER_DAMAGED, "header is damaged"}, {11, SK_SKA_HEADER_DAMAGED, "header"},
                 {12, 0, "header is damaged"}, {first, 0, "copies of its index"}, {trailer, 0, "copies of its index"}, {trailer + 47, 0, "copies"},
                 {second, SK_SKA_INDEX_DAMAGED, "copies of its index"}, {last - 1, SK_SKA_INDEX_DAMAGED, "copies"},
                 {last, SK_SKA_TRAILER_DAMAGED | SK_SKA_INDEX_DAMAGED, "copies"}, {last + 47, SK_SKA_TRAILER_DAMAGED | SK_SKA_INDEX_DAMAGED, "copies"},
                 {20, 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b.data[cases[i].at] ^= 4;
        if (read_ends(path, &b, b.len, &damage, &ends, why) || damage != cases[i].damage || ends != (cases[i].says ? SAIKAI_EDAMAGED : 0) ||
            (cases[i].says && !strstr(why, cases[i].says)))
            fail_msg("case %zu: damage %d, %d: %s", i, damage, ends, why);
        /* both copies */
        if (cases[i].at >= second) {
            b.data[cases[i].at - one] ^= 4;
            assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), SAIKAI_EDAMAGED);
            assert_non_null(strstr(why, "x.ska"));
            b.data[cases[i].at - one] ^= 4;
        }
        b.data[cases[i].at] ^= 4;
    }
    /* cut short: anywhere behind the first trailer it can be read */
    for (size_t n = 0; n < b.len; n += n > 70 && (n < second - 60 || n > second + 60) ? 7 : 1) {
        int rc = read_ends(path, &b, n, &damage, &ends, why);
        if (n < second)
            assert_non_null(strstr(why, n < 16 ? "not an archive" : n < 64 ? "it is cut short" : "its end is missing or damaged"));
        assert_int_equal(rc, n < 16 ? SAIKAI_EFORMAT : n < second + SK_SKA_TRAILER_BYTES && rc ? SAIKAI_EDAMAGED : 0);
        if (n < second)
            assert_true(rc);
        if (n >= second + SK_SKA_TRAILER_BYTES)
            assert_int_equal(damage, SK_SKA_TRAILER_DAMAGED | SK_SKA_INDEX_DAMAGED);
    }
    /* another format, and a later version of ours */
    memset(b.data, 'x', b.len);
    assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), SAIKAI_EFORMAT);
    assert_non_null(strstr(why, "not an archive"));
    assert_int_equal(read_ends(path, &b, 63, &damage, &ends, why), SAIKAI_EFORMAT);
    memcpy(b.data, head, sizeof head);
    assert_int_equal(read_ends(path, &b, 63, &damage, &ends, why), SAIKAI_EDAMAGED);
    assert_non_null(strstr(why, "cut short"));
    b.data[8] = SK_SKA_VERSION + 1;
    assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), SAIKAI_EFORMAT);
    assert_non_null(strstr(why, "version 12; this program reads versions 1 to 11"));
    b.data[8] = 0;
    assert_int_equal(read_ends(path, &b, b.len, &damage, &ends, why), SAIKAI_EFORMAT);
    sk_buf_free(&b);
}

/* The first version has one index and one trailer: what is wrong with them is told. */
static void the_first_version_has_one_end(void **state)
{
    (void)state;
    const char *source = getenv("SAIKAI_SOURCE_DIR");
    char golden[512], path[128];
    void *data;
    size_t n;
    assert_non_null(source);
    snprintf(golden, sizeof golden, "%s/tests/golden/ska/v1-1.ska", source);
    snprintf(path, sizeof path, "%s/first.ska", dir);
    assert_int_equal(sk_io_slurp(golden, 1 << 24, &data, &n, NULL), 0);
    uint8_t *trailer = (uint8_t *)data + n - SK_SKA_TRAILER_BYTES;
    static const struct {
        int at, add, sealed; /* sealed: with the right checksum of the trailer */
        size_t cut;
        const char *says; /* NULL: it is read, and nothing is wrong */
    } cases[] = {{0, 0, 0, 0, NULL}, {0, 0, 1, 0, NULL}, {47, 1, 0, 0, "its end is missing"}, {32, 1, 0, 0, "its end is missing"}, {0, 1, 0, 0, "its end is missing"},
                 {0, 0, 0, 1, "its end is missing"}, {0, 1, 1, 0, "its trailer is damaged"}, {0, -1, 1, 0, "its trailer is damaged"}, {8, 1, 1, 0, "its trailer is damaged"},
                 {8, -1, 1, 0, "its trailer is damaged"}, {22, 127, 1, 0, "its trailer is damaged"}, {24, 1, 1, 0, "the checksum of its index is wrong"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t before[SK_SKA_TRAILER_BYTES];
        struct sk_ska a = {0};
        struct saikai_error err = {0};
        memcpy(before, trailer, sizeof before);
        trailer[cases[i].at] = (uint8_t)(trailer[cases[i].at] + cases[i].add);
        uint64_t seal = sk_hash64(trailer, 32);
        for (int k = 0; cases[i].sealed && k < 8; k++)
            trailer[32 + k] = (uint8_t)(seal >> 8 * k);
        assert_int_equal(sk_io_replace(path, data, n - cases[i].cut, NULL), 0);
        int rc = sk_archive_open(path, &a, &err);
        if (rc != (cases[i].says ? SAIKAI_EDAMAGED : 0) || (rc && !strstr(err.text, cases[i].says)))
            fail_msg("case %zu: %d, %s", i, rc, err.text);
        if (!rc) {
            int fd = open(path, O_RDONLY);
            assert_int_equal(sk_ska_check_ends(fd, path, &a, &err), 0);
            assert_int_equal(a.damage, 0);
            close(fd);
        }
        sk_ska_free(&a);
        memcpy(trailer, before, sizeof before);
    }
    free(data);
}

static long fails, operations;
static int fail_once(const char *op, const char *path)
{
    (void)op;
    return strstr(path, "kept.ska") && ++operations == fails ? EIO : 0;
}

/* Who checks an archive hears of the end that is damaged, though nothing is lost; who restores from it gets all. What cannot be read is
 * never taken for whole. */
static void a_check_looks_at_both_ends(void **state)
{
    (void)state;
    const char *source = getenv("SAIKAI_SOURCE_DIR");
    char golden[512], path[128], out[128];
    struct saikai_error err = {0};
    uint8_t *data;
    size_t n;
    assert_non_null(source);
    snprintf(golden, sizeof golden, "%s/tests/golden/ska/v2-1.ska", source);
    snprintf(path, sizeof path, "%s/kept.ska", dir);
    snprintf(out, sizeof out, "%s/out", dir);
    assert_int_equal(sk_io_slurp(golden, 1 << 24, (void **)&data, &n, NULL), 0);
    assert_int_equal(sk_io_replace(path, data, n, NULL), 0);
    assert_int_equal(sk_archive_extract(path, NULL, NULL, NULL, &err), 0);
    operations = 0;
    sk_io_hook = fail_once;
    for (fails = 1; operations >= fails - 1; fails++) {
        operations = 0;
        int rc = sk_archive_extract(path, NULL, NULL, NULL, &err);
        if (operations < fails) {
            assert_int_equal(rc, 0);
            break;
        }
        if (rc != SAIKAI_EIO && rc != SAIKAI_EDAMAGED)
            fail_msg("operation %ld: %d", fails, rc);
    }
    sk_io_hook = NULL;
    assert_true(fails > 6);
    static const char *const says[] = {"its header is damaged; nothing is lost", "one of the two copies of its index is damaged; nothing is lost"};
    for (int end = 0; end < 2; end++) {
        data[end ? n - 20 : 12] ^= 4;
        assert_int_equal(sk_io_replace(path, data, n, NULL), 0);
        data[end ? n - 20 : 12] ^= 4;
        assert_int_equal(sk_archive_extract(path, NULL, NULL, NULL, &err), SAIKAI_EDAMAGED);
        if (!strstr(err.text, says[end]) || !strstr(err.text, "kept.ska"))
            fail_msg("end %d: %s", end, err.text);
        if (sk_archive_extract(path, out, NULL, NULL, &err))
            fail_msg("end %d: %s", end, err.text);
        assert_int_equal(sk_io_rmtree(out, NULL), 0);
    }
    free(data);
}

/* Files with names that do not shrink. */
static void add_names(struct sk_ska *a, int n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char name[61] = "";
    uint32_t seed = 5;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 60; k++)
            name[k] = letters[(seed = seed * 1664525u + 1013904223u) >> 26];
        sk_ska_add_file(a, &(struct sk_ska_file){.name = name, .mode = 0644});
    }
}

/* An index that is compared in several pieces. */
static void a_large_index_is_compared_to_its_end(void **state)
{
    (void)state;
    char path[128];
    struct sk_ska a = {0};
    struct sk_buf b = {0}, index = {0};
    snprintf(path, sizeof path, "%s/large.ska", dir);
    add_names(&a, 4000);
    sk_ska_put_header(&b, sk_ska_version(&a));
    assert_int_equal(sk_ska_put_index(&index, &a, b.len, NULL, NULL), 0);
    sk_buf_put(&b, index.data, index.len);
    size_t one = index.len / 2;
    assert_true(one > 150000);
    for (int i = -1; i < 4; i++) { /* nowhere, in each piece, in the last byte of the first copy */
        size_t place = i < 0 ? 0 : i < 3 ? 16 + (size_t)i * 65536 + 65500 : 16 + one - SK_SKA_TRAILER_BYTES - 1;
        struct sk_ska back = {0};
        b.data[place] ^= i >= 0;
        assert_int_equal(sk_io_replace(path, b.data, b.len, NULL), 0);
        assert_int_equal(sk_archive_open(path, &back, NULL), 0);
        assert_int_equal(back.file_count, 4000);
        int fd = open(path, O_RDONLY);
        if (sk_ska_check_ends(fd, path, &back, NULL) != (i < 0 ? 0 : SAIKAI_EDAMAGED))
            fail_msg("at %zu", place);
        close(fd);
        sk_ska_free(&back);
        b.data[place] ^= i >= 0;
    }
    sk_buf_free(&index);
    sk_buf_free(&b);
    sk_ska_free(&a);
}

/* An archive of nothing but names; its bytes behind the header are as many as are wanted. */
static size_t write_names(const char *path, struct sk_ska *a, size_t data_end, const char *previous)
{
    struct sk_buf b = {0}, index = {0};
    assert_int_equal(sk_ska_put_index(&index, a, data_end, previous, NULL), 0);
    sk_ska_put_header(&b, sk_ska_version(a));
    while (b.len < data_end)
        sk_buf_put_u8(&b, 0);
    sk_buf_put(&b, index.data, index.len);
    assert_int_equal(sk_io_replace(path, b.data, b.len, NULL), 0);
    size_t one = index.len / 2 - SK_SKA_TRAILER_BYTES;
    sk_buf_free(&b);
    sk_buf_free(&index);
    return one;
}

/* An index comes after that of the archive before only where that pays: where it is much of the archive, which needs the other one anyhow. */
static void an_index_comes_after_another_where_that_pays(void **state)
{
    (void)state;
    enum { FILES = 100, FEW = 15, USUAL, LARGE, ALONE, OLDER, OTHER, GONE, SMALL, CASES };
    char path[128], old[128], gone[128];
    snprintf(path, sizeof path, "%s/after.ska", dir);
    snprintf(old, sizeof old, "%s/before.ska", dir);
    snprintf(gone, sizeof gone, "%s/gone.ska", dir);
    for (int i = USUAL; i < CASES; i++) {
        struct sk_ska a = {0}, before = {0}, back = {0};
        add_names(&before, i == SMALL ? FEW : FILES);
        size_t one = write_names(old, &before, SK_SKA_HEADER_BYTES, NULL);
        assert_true(i == SMALL ? one < 2048 : one > 4096);
        sk_ska_free(&before);
        assert_int_equal(sk_archive_open(old, &before, NULL), 0);
        add_names(&a, i == SMALL ? FEW : FILES);
        a.previous = i == ALONE ? NULL : strdup("before.ska");
        a.previous_hash = before.hash + (i == OTHER);
        a.depth = i != ALONE;
        /* alone it takes so many bytes, or a few more for the other's name */
        size_t alone = write_names(path, &a, SK_SKA_HEADER_BYTES, NULL);
        a.needs = i == OLDER ? SK_SKA_AFTER - 1 : SK_SKA_AFTER;
        size_t stored = write_names(path, &a, i == LARGE ? alone * 16 : alone * 16 - 1, i == GONE ? gone : old);
        if ((a.needs == SK_SKA_INDEX_AFTER) != (i == USUAL) || (i == USUAL ? stored >= alone / 2 : stored != alone))
            fail_msg("case %d: version %d, %zu bytes, alone %zu", i, a.needs, stored, alone);
        assert_int_equal(sk_archive_open(path, &back, NULL), 0);
        assert_int_equal(back.file_count, a.file_count);
        assert_string_equal(back.files[9].name, a.files[9].name);
        assert_int_equal(back.damage, 0);
        sk_ska_free(&a);
        sk_ska_free(&before);
        sk_ska_free(&back);
    }
}

/* Where the end is damaged a trailer is looked for from behind, in pieces of a mebibyte: wherever it lies in these. */
static void a_trailer_is_found_wherever_it_lies(void **state)
{
    (void)state;
    enum { PIECE = 1 << 20 };
    static const size_t behind[] = {48, 49, 96, 5000, PIECE - 48, PIECE - 1, PIECE, PIECE + 1, PIECE + 40, PIECE + 47, PIECE + 48, PIECE + 49, PIECE + 96, 2 * PIECE + 48, 2 * PIECE + 70};
    char path[128], why[500];
    struct sk_buf b = {0};
    int damage, ends;
    snprintf(path, sizeof path, "%s/behind.ska", dir);
    size_t whole = DATA_END + write_ends(path, &b);
    b.len = whole;
    for (size_t i = 0; i < behind[sizeof behind / sizeof *behind - 1]; i++)
        sk_buf_put_u8(&b, (uint8_t)(i * 7));
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        if (read_ends(path, &b, whole + behind[i], &damage, &ends, why))
            fail_msg("%zu bytes behind it: %s", behind[i], why);
        assert_int_equal(damage, SK_SKA_TRAILER_DAMAGED | SK_SKA_INDEX_DAMAGED);
    }
    sk_buf_free(&b);
}

/* A damaged archive beside it is no reason to stop, whatever is wrong with it. */
static void a_damaged_neighbour_builds_on_nothing(void **state)
{
    (void)state;
    char path[128], other[128], who[32] = "";
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/old.ska", dir);
    snprintf(other, sizeof other, "%s/new.ska", dir);
    size_t one = write_ends(path, &b);
    assert_int_equal(sk_ska_builds_on(path, who, sizeof who, &err), 0);
    b.data[DATA_END]++;
    b.data[DATA_END + one]++;
    assert_int_equal(sk_io_replace(other, b.data, b.len, NULL), 0);
    assert_int_equal(sk_ska_builds_on(path, who, sizeof who, &err), 0);
    sk_buf_free(&b);
}

/* Blocks are found in this archive and in the one before, if that is the one that was meant. */
static void what_it_builds_on_must_be_there(void **state)
{
    (void)state;
    static const struct {
        int changes; /* 1: the hash, 2: the depth, 3: the name, 4: it names none */
        size_t block;
        uint32_t previous;
        int rc;
        const char *says;
        size_t found;
    } cases[] = {{0, 0, 0, 0, NULL, 0},
                 {0, 2, 0, 0, NULL, 1},
                 {0, 1, 3, 0, NULL, 2},
                 {0, 1, 1, 0, NULL, 0},
                 {0, 1, 4, SAIKAI_EDAMAGED, "has no block 3, which", 0},
                 {1, 1, 3, SAIKAI_EDAMAGED, "builds on another archive than the one that is called", 0},
                 {2, 1, 3, SAIKAI_EDAMAGED, "builds on another archive", 0},
                 {3, 1, 3, SAIKAI_ENOENT, "which is missing: put it back beside it", 0},
                 {4, 1, 3, SAIKAI_EDAMAGED, "its blocks build on no archive", 0}};
    char path[128], other[128];
    struct sk_ska a, old;
    struct sk_buf b = {0}, index = {0};
    snprintf(path, sizeof path, "%s/old.ska", dir);
    snprintf(other, sizeof other, "%s/new.ska", dir);
    make_index(&old);
    free(old.previous);
    old.previous = NULL;
    old.depth = 0;
    sk_ska_put_header(&b, sk_ska_version(&old));
    for (int i = 0; i < DATA_END - 16; i++)
        sk_buf_put_u8(&b, (uint8_t)i);
    assert_int_equal(sk_ska_put_index(&index, &old, DATA_END, NULL, NULL), 0);
    sk_buf_put(&b, index.data, index.len);
    assert_int_equal(sk_io_replace(path, b.data, b.len, NULL), 0);
    sk_ska_free(&old);
    assert_int_equal(sk_archive_open(path, &old, NULL), 0);
    make_index(&a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_opened o, *previous = NULL;
        struct saikai_error err = {0};
        size_t k = 0;
        free(a.previous);
        a.previous = cases[i].changes == 4 ? NULL : strdup(cases[i].changes == 3 ? "none.ska" : "old.ska");
        a.previous_hash = old.hash + (cases[i].changes == 1);
        a.depth = cases[i].changes == 2 ? 0 : 1;
        a.blocks[1].previous = cases[i].previous;
        sk_opened_init(&o, -1, other, &a);
        if (sk_opened_below(&o, cases[i].block, &previous, &k, &err) != cases[i].rc || (cases[i].says && !strstr(err.text, cases[i].says)))
            fail_msg("case %zu: %s", i, err.text);
        if (!cases[i].rc) {
            assert_int_equal(k, cases[i].found);
            if (cases[i].block == 0)
                assert_null(previous);
            else if (cases[i].block == 2)
                assert_ptr_equal(previous, &o);
            else
                assert_string_equal(previous->path, path);
        } else {
            assert_non_null(strstr(err.text, other));
        }
        sk_opened_done(&o);
    }
    sk_ska_free(&a);
    sk_ska_free(&old);
    sk_buf_free(&b);
    sk_buf_free(&index);
}

/* One whose index comes after its own: there is an end to that, however many copies each of its readings has. */
static void an_index_after_itself_is_damaged(void **state)
{
    (void)state;
    char path[128];
    struct sk_ska a = {0};
    struct sk_buf b = {0}, stored = {0}, trailer = {0};
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/itself.ska", dir);
    sk_buf_put_str(&stored, "itself.ska");
    sk_buf_put_u64(&stored, 1);
    sk_buf_put(&stored, "not packed", 10);
    sk_ska_put_header(&b, SK_SKA_INDEX_AFTER);
    sk_buf_put_u64(&trailer, b.len);
    sk_buf_put_u64(&trailer, stored.len);
    sk_buf_put_u64(&trailer, 100 | (uint64_t)3 << 56);
    sk_buf_put_u64(&trailer, sk_hash64(stored.data, stored.len));
    sk_buf_put_u64(&trailer, sk_hash64(trailer.data, 32));
    sk_buf_put(&trailer, "SKAend9\n", 8);
    for (int i = 0; i < 2; i++) {
        sk_buf_put(&b, stored.data, stored.len);
        sk_buf_put(&b, trailer.data, trailer.len);
    }
    assert_int_equal(sk_io_replace(path, b.data, b.len, NULL), 0);
    assert_int_equal(sk_archive_open(path, &a, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "itself.ska"));
    sk_buf_free(&b);
    sk_buf_free(&stored);
    sk_buf_free(&trailer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(each_end_is_made_good_by_the_other),
        cmocka_unit_test(the_first_version_has_one_end),
        cmocka_unit_test(a_check_looks_at_both_ends),
        cmocka_unit_test(a_large_index_is_compared_to_its_end),
        cmocka_unit_test(an_index_comes_after_another_where_that_pays),
        cmocka_unit_test(a_trailer_is_found_wherever_it_lies),
        cmocka_unit_test(a_damaged_neighbour_builds_on_nothing),
        cmocka_unit_test(what_it_builds_on_must_be_there),
        cmocka_unit_test(an_index_after_itself_is_damaged),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
