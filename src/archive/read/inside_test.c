/* Files read where they lie in archives are what was archived, in any order, by several threads, in
 * little memory; damage is found wherever it is. */
#include "archive/read/inside.h"

#include "archive/write/create.h"
#include "base/file/io.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { FILES = 7, ARCHIVES = 2, BYTES = 300000 };

static char dir[64];
static uint8_t *content[ARCHIVES][FILES];
static size_t size_of[ARCHIVES][FILES];

static void path_of(char path[128], int archive)
{
    snprintf(path, 128, "%s/%d.ska", dir, archive);
}

static int make(void **state)
{
    (void)state;
    unsigned seed = 1;
    strcpy(dir, "/tmp/saikai-inside-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    for (int k = 0; k < ARCHIVES; k++) {
        struct sk_archive_input in[FILES];
        char name[FILES][32], path[128];
        for (int i = 0; i < FILES; i++) {
            size_of[k][i] = i == 3   ? 0
                            : i == 4 ? 1
                                     : BYTES - 1000 * (size_t)i; /* an empty one, too */
            content[k][i] = malloc(BYTES);
            for (size_t b = 0; b < BYTES; b++)
                content[k][i][b] =
                    (uint8_t)(b / 700 * (size_t)(i + 1) + (b % 3 ? 0 : rand_r(&seed) % 64));
            snprintf(name[i], sizeof name[i], "file.%d.%d", k, i);
            in[i] = (struct sk_archive_input){
                .path = name[i], .name = name[i], .data = content[k][i], .bytes = size_of[k][i]};
        }
        struct sk_archive_options o = {.threads = 1, .no_sync = 1, .unit_bytes = 1 << 16};
        path_of(path, k);
        if (sk_archive_create(path, in, FILES, &o, NULL, NULL))
            return -1;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int k = 0; k < ARCHIVES; k++)
        for (int i = 0; i < FILES; i++)
            free(content[k][i]);
    return sk_io_rmtree(dir, NULL);
}

static struct sk_inside *open_all(uint64_t memory)
{
    struct sk_inside *s = NULL;
    char path[128];
    assert_int_equal(sk_inside_new(memory, &s, NULL), 0);
    for (int k = 0; k < ARCHIVES; k++) {
        path_of(path, k);
        assert_int_equal(sk_inside_add(s, path, NULL), 0);
    }
    assert_int_equal(sk_inside_count(s), ARCHIVES * FILES);
    return s;
}

/* The k-th archive's i-th file, whatever number it has. */
static int index_of(const struct sk_inside *s, int k, int i)
{
    char name[32];
    snprintf(name, sizeof name, "file.%d.%d", k, i);
    for (size_t f = 0; f < sk_inside_count(s); f++)
        if (!strcmp(sk_inside_name(s, f), name))
            return (int)f;
    return -1;
}

static int read_at_random(struct sk_inside *s, unsigned seed, int times)
{
    uint8_t *to = malloc(BYTES);
    int bad = 0;
    for (int n = 0; n < times; n++) {
        int k = rand_r(&seed) % ARCHIVES, i = rand_r(&seed) % FILES, f = index_of(s, k, i);
        size_t size = size_of[k][i], at = size ? (size_t)rand_r(&seed) % size : 0;
        size_t length = rand_r(&seed) % 3 ? (size_t)rand_r(&seed) % 900 : size - at;
        length = length > size - at ? size - at : length;
        bad |= f < 0 || sk_inside_size(s, (size_t)f) != size ||
               sk_inside_read(s, (size_t)f, at, to, length, NULL) ||
               memcmp(to, content[k][i] + at, length) != 0;
    }
    free(to);
    return bad;
}

/* Opened and closed again and again, also when something was read, they leave nothing in memory. */
static void expect_nothing_in_memory(void)
{
    enum { ROUNDS = 40, FIRST = 5 };
    size_t before = 0;
    uint8_t byte;
    char path[128];
    path_of(path, 0);
    sk_ska_free(NULL);
    for (int i = 0; i < ROUNDS; i++) {
        struct sk_ska a = {0};
        if (i == FIRST)
            before = mallinfo2().uordblks;
        struct sk_inside *s = open_all(0);
        assert_int_equal(sk_inside_read(s, (size_t)index_of(s, 0, 0), 0, &byte, 1, NULL), 0);
        sk_inside_release(s);
        assert_int_equal(sk_archive_open(path, &a, NULL), 0);
        sk_ska_free(&a);
    }
    assert_true(mallinfo2().uordblks < before + 8 * (ROUNDS - FIRST));
}

static void test_any_bytes_of_any_file(void **state)
{
    (void)state;
    static const uint64_t memory[] = {1, 200000, 0};
    for (int m = 0; m < 3; m++) {
        struct sk_inside *s = open_all(memory[m]);
        assert_int_equal(read_at_random(s, 7, 300), 0);
        uint8_t byte;
        struct saikai_error err = {0};
        assert_int_equal(sk_inside_read(s, (size_t)index_of(s, 0, 4), 1, &byte, 1, &err),
                         SAIKAI_EDAMAGED);
        assert_non_null(strstr(err.text, "file.0.4 is truncated"));
        assert_int_equal(sk_inside_read(s, 0, UINT64_MAX, &byte, 1, NULL), SAIKAI_EDAMAGED);
        sk_inside_release(s);
    }
    expect_nothing_in_memory();
}

static void *reader(void *arg)
{
    return read_at_random(arg, (unsigned)(uintptr_t)&arg, 100) ? arg : NULL;
}

static void test_several_threads(void **state)
{
    (void)state;
    struct sk_inside *s = open_all(200000);
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, reader, s), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    sk_inside_release(s);
}

static int count_fault(void *arg, const char *archive, const struct saikai_error *why)
{
    assert_non_null(strstr(why->text, archive));
    return ++*(int *)arg, 0;
}

/* Any byte that is changed is noticed when the archive is opened, when a file is read, or at the
 * end. */
static void test_every_damage_is_found(void **state)
{
    (void)state;
    char path[128];
    struct stat st;
    path_of(path, 1);
    assert_int_equal(stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at += st.st_size / 150 + 1) {
        uint8_t byte, *to = malloc(BYTES);
        int fd = open(path, O_RDWR), found = 0;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 16;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        struct sk_inside *s = NULL;
        assert_int_equal(sk_inside_new(0, &s, NULL), 0);
        found = sk_inside_add(s, path, NULL) != 0;
        for (size_t f = 0; !found && f < sk_inside_count(s); f += 3)
            if (!sk_inside_read(s, f, 0, to, sk_inside_size(s, f), NULL))
                assert_memory_equal(to, content[1][sk_inside_name(s, f)[7] - '0'],
                                    sk_inside_size(s, f));
            else
                found = 1;
        int rest = 0;
        if (!found)
            assert_int_equal(sk_inside_check_rest(s, count_fault, NULL, &rest, NULL), 0);
        sk_inside_release(s);
        byte ^= 16;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        free(to);
        if (!found && !rest)
            fail_msg("nobody noticed byte %ld", (long)at);
    }
}

static void test_an_archive_that_is_replaced(void **state)
{
    (void)state;
    char path[128], other[140];
    uint8_t byte;
    struct saikai_error err = {0};
    struct sk_inside *s = open_all(0);
    assert_int_equal(sk_inside_is_there(s), 1);
    path_of(path, 0);
    snprintf(other, sizeof other, "%s.old", path);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(sk_inside_is_there(s), 0);
    assert_int_equal(sk_inside_read(s, 0, 0, &byte, 1, &err), SAIKAI_ENOENT);
    path_of(path, 1);
    path_of(other, 0);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(sk_inside_read(s, 0, 0, &byte, 1, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "was replaced"));
    sk_inside_release(s);
}

/* ---- which blocks stay ---- */

enum { BLOCK = 256 << 10, BLOCKS = 4 };

static int make_folder(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-inside-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    return sk_io_rmtree(dir, NULL);
}

/* An archive of files of one block each, which differ in all bytes. */
static void make_blocks(const char *path, int first)
{
    struct sk_archive_input in[BLOCKS];
    char name[BLOCKS][8];
    uint8_t *data = malloc((size_t)BLOCKS * BLOCK);
    struct sk_archive_options o = {.threads = 1, .no_sync = 1, .quick = 1, .scheme = SK_SCHEME_AGNOSTIC, .unit_bytes = BLOCK};
    for (int i = 0; i < BLOCKS; i++) {
        memset(data + i * BLOCK, first + i, BLOCK);
        data[i * BLOCK + 5] = 200;
        snprintf(name[i], sizeof name[i], "f%d", i);
        in[i] = (struct sk_archive_input){.path = name[i], .name = name[i], .data = data + i * BLOCK, .bytes = BLOCK};
    }
    assert_int_equal(sk_archive_create(path, in, BLOCKS, &o, NULL, NULL), 0);
    free(data);
}

static long reads;
static int count_reads(const char *op, const char *path)
{
    reads += !strcmp(op, "read") && strstr(path, ".ska");
    return 0;
}

/* Whether the archive is read for a byte of this file. */
static int is_read(struct sk_inside *s, size_t file, int value)
{
    uint8_t byte[2];
    reads = 0;
    sk_io_hook = count_reads;
    assert_int_equal(sk_inside_read(s, file, 5, byte, 2, NULL), 0);
    sk_io_hook = NULL;
    assert_true(byte[0] == 200 && byte[1] == value);
    return reads > 0;
}

/* The blocks that were used last stay, as many as there is memory for; one always does. */
static void test_what_was_used_last_stays(void **state)
{
    (void)state;
    static const struct {
        uint64_t memory;
        const char *read, *first; /* first: 1 where the archive is read for it */
    } cases[] = {{0, "01230123", "11110000"},         {2 * BLOCK, "0102010112", "1101010001"}, {2 * BLOCK - 1, "001011", "101110"},
                 {1, "00122", "10110"},               {3 * BLOCK, "0120312013", "1110111101"}, {BLOCK, "0110", "1101"}};
    char path[128];
    snprintf(path, sizeof path, "%s/blocks.ska", dir);
    make_blocks(path, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_inside *s = NULL;
        assert_int_equal(sk_inside_new(cases[i].memory, &s, NULL), 0);
        assert_int_equal(sk_inside_add(s, path, NULL), 0);
        for (size_t k = 0; cases[i].read[k]; k++)
            if (is_read(s, (size_t)(cases[i].read[k] - '0'), 1 + cases[i].read[k] - '0') != cases[i].first[k] - '0')
                fail_msg("memory of %llu bytes, read %zu", (unsigned long long)cases[i].memory, k);
        sk_inside_release(s);
    }
}

static int keep_going;
static uint64_t told_bytes;
static int say(void *arg, const char *archive, const struct saikai_error *why)
{
    assert_non_null(archive);
    assert_non_null(strstr(why->text, archive));
    ++*(int *)arg;
    return keep_going ? 0 : -77;
}
static void more(void *arg, uint64_t bytes)
{
    (void)arg;
    told_bytes += bytes;
}

/* What nobody has read is read at the end, each block once; the caller may have it ended by what he says to a fault. */
static void test_the_rest_is_what_nobody_read(void **state)
{
    (void)state;
    char path[2][128];
    struct sk_ska a;
    struct sk_inside *s = NULL;
    int found = 0;
    for (int k = 0; k < 2; k++) {
        snprintf(path[k], sizeof path[k], "%s/rest%d.ska", dir, k);
        make_blocks(path[k], 20 + 10 * k);
    }
    assert_int_equal(sk_inside_new(0, &s, NULL), 0);
    for (int k = 0; k < 2; k++)
        assert_int_equal(sk_inside_add(s, path[k], NULL), 0);
    assert_string_equal(sk_inside_archive(s, 3), path[0]);
    assert_string_equal(sk_inside_archive(s, 4), path[1]);
    assert_string_equal(sk_inside_name(s, 5), "f1");
    assert_int_equal(is_read(s, 5, 31), 1);
    assert_int_equal(is_read(s, 0, 20), 1); /* another archive, and back again */
    assert_int_equal(is_read(s, 6, 32), 1);
    assert_int_equal(sk_archive_open(path[0], &a, NULL), 0);
    assert_int_equal(a.block_count, BLOCKS);
    uint64_t want = a.blocks[1].stored_bytes + a.blocks[2].stored_bytes + a.blocks[3].stored_bytes;
    sk_ska_free(&a);
    assert_int_equal(sk_archive_open(path[1], &a, NULL), 0);
    want += a.blocks[0].stored_bytes + a.blocks[3].stored_bytes;
    told_bytes = 0;
    assert_int_equal(sk_inside_check_rest(s, say, more, &found, NULL), 0);
    assert_int_equal(told_bytes, want);
    assert_int_equal(found, 0);
    told_bytes = 0;
    assert_int_equal(sk_inside_check_rest(s, say, more, &found, NULL), 0); /* now all have been seen */
    assert_int_equal(told_bytes, 0);
    sk_inside_release(s);
    /* two damaged blocks, and an end of the other archive */
    int fd = open(path[1], O_RDWR);
    for (int k = 0; k < 2; k++)
        assert_int_equal(pwrite(fd, "?", 1, (off_t)a.blocks[k].offset + 3), 1);
    close(fd);
    sk_ska_free(&a);
    fd = open(path[0], O_RDWR);
    assert_int_equal(pwrite(fd, "?", 1, 12), 1);
    close(fd);
    for (keep_going = 0; keep_going < 2; keep_going++) {
        found = 0;
        s = NULL;
        assert_int_equal(sk_inside_new(0, &s, NULL), 0);
        for (int k = 0; k < 2; k++)
            assert_int_equal(sk_inside_add(s, path[k], NULL), 0);
        assert_int_equal(sk_inside_check_rest(s, say, NULL, &found, NULL), keep_going ? 0 : -77);
        assert_int_equal(found, keep_going ? 3 : 1);
        sk_inside_release(s);
    }
}

/* An archive that is gone is no reason not to read another one. */
static void test_others_can_still_be_read(void **state)
{
    (void)state;
    char path[2][128], other[140];
    uint8_t byte;
    struct sk_inside *s = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_inside_new(1, &s, NULL), 0);
    for (int k = 0; k < 2; k++) {
        snprintf(path[k], sizeof path[k], "%s/still%d.ska", dir, k);
        make_blocks(path[k], 50 + 10 * k);
        assert_int_equal(sk_inside_add(s, path[k], NULL), 0);
    }
    assert_int_equal(is_read(s, 0, 50), 1);
    snprintf(other, sizeof other, "%s.away", path[1]);
    assert_int_equal(rename(path[1], other), 0);
    assert_int_equal(sk_inside_is_there(s), 0);
    assert_int_equal(sk_inside_read(s, 4, 0, &byte, 1, &err), SAIKAI_ENOENT);
    assert_int_equal(err.code, SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, path[1]));
    assert_int_equal(is_read(s, 1, 51), 1);
    assert_int_equal(rename(other, path[1]), 0);
    assert_int_equal(sk_inside_is_there(s), 1);
    assert_int_equal(is_read(s, 7, 63), 1);
    /* the end of a file, and behind it */
    assert_int_equal(sk_inside_read(s, 7, BLOCK - 1, &byte, 1, &err), 0);
    assert_int_equal(sk_inside_read(s, 7, BLOCK, &byte, 0, &err), 0);
    assert_int_equal(sk_inside_read(s, 7, BLOCK + 1, &byte, 0, &err), SAIKAI_EDAMAGED);
    assert_int_equal(sk_inside_read(s, 7, BLOCK - 1, &byte, 2, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, path[1]));
    sk_inside_release(s);
    sk_inside_release(NULL);
    s = NULL;
    assert_int_equal(sk_inside_new(0, &s, NULL), 0);
    assert_int_equal(sk_inside_add(s, other, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_inside_count(s), 0);
    assert_int_equal(sk_inside_add(s, path[0], &err), 0);
    assert_int_equal(sk_inside_count(s), BLOCKS);
    sk_inside_release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, end)
        cmocka_unit_test(remember_open_files),
        TEST(test_any_bytes_of_any_file),
        TEST(test_several_threads),
        TEST(test_every_damage_is_found),
        TEST(test_an_archive_that_is_replaced),
#define LIGHT_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        LIGHT_TEST(test_what_was_used_last_stays),
        LIGHT_TEST(test_the_rest_is_what_nobody_read),
        LIGHT_TEST(test_others_can_still_be_read),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
