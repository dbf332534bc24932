/* The bytes of files and of memory as a feed gives them: any ranges in any order, hashes of any length, and what becomes of files that
 * are gone, shorter, or others than they were. */
#include "archive/plan/feed.h"
#include "archive/plan/listing.h"
#include "archive/write/testing.h"
#include "base/hash.h"

#include <fcntl.h>

enum { MIB = 1 << 20, LARGE = 5 * MIB / 2 };

static uint8_t *content;

static int make(void **state)
{
    content = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        content[i] = (uint8_t)(noise() >> 3);
    return setup(state);
}

static int end(void **state)
{
    free(content);
    return teardown(state);
}

/* Two files and one in memory. */
static void begin(struct sk_archive_input in[3], struct sk_feed_local *f)
{
    put_file(at("a"), content, LARGE);
    put_file(at("b"), content + 1000, 5000);
    in[0] = (struct sk_archive_input){.path = at("a"), .name = "a"};
    in[1] = (struct sk_archive_input){.path = at("b"), .name = "b"};
    in[2] = (struct sk_archive_input){.path = "m", .name = "m", .data = content + 7, .bytes = LARGE - 7};
    assert_int_equal(sk_feed_local_init(f, in, 3, NULL), 0);
    assert_int_equal(f->count, 3);
    assert_int_equal(f->feed.loaders, 1);
    assert_int_equal(f->seen[1].st_size, 5000);
    assert_int_equal(f->seen[2].st_size, LARGE - 7);
    assert_true(S_ISREG(f->seen[2].st_mode) && (f->seen[2].st_mode & 0777) == 0600);
}

static void ranges_come_in_any_order(void **state)
{
    (void)state;
    struct sk_archive_input in[3];
    struct sk_feed_local f;
    uint8_t to[6][100];
    static const struct {
        uint32_t file;
        uint64_t offset;
        size_t from;
    } cases[] = {{1, 0, 1000}, {1, 4900, 5900}, {0, 77, 77}, {2, 3, 10}, {0, LARGE - 100, LARGE - 100}, {1, 50, 1050}};
    struct sk_ska_range r[6];
    begin(in, &f);
    for (int i = 0; i < 6; i++)
        r[i] = (struct sk_ska_range){cases[i].file, cases[i].offset, 100, to[i]};
    assert_int_equal(sk_feed_fetch(&f.feed, r, 6, NULL), 0);
    for (int i = 0; i < 6; i++)
        assert_memory_equal(to[i], content + cases[i].from, 100);
    assert_int_equal(sk_feed_fetch(&f.feed, r, 0, NULL), 0);
    assert_int_equal(f.failed, 0);
    sk_feed_local_free(&f);
}

static void hashes_are_of_any_length(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, LARGE - 20};
    struct sk_archive_input in[3];
    struct sk_feed_local f;
    begin(in, &f);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (uint32_t file = 0; file < 3; file += 2) {
            uint64_t hash = 1;
            struct sk_ska_range r = {file, 9, lengths[i], NULL};
            assert_int_equal(sk_feed_hash(&f.feed, &r, &hash, NULL), 0);
            assert_true(hash == sk_hash64(content + (file ? 16 : 9), lengths[i]));
        }
    struct saikai_error err = {0};
    uint64_t hash = 1;
    assert_int_equal(sk_feed_hash(&f.feed, &(struct sk_ska_range){0, 0, LARGE + 1, NULL}, &hash, &err), SAIKAI_EDAMAGED);
    assert_int_equal(hash, 1);
    assert_non_null(strstr(err.text, in[0].path));
    assert_int_equal(f.failed, 1);
    sk_feed_local_free(&f);
}

/* The first one that fails is remembered. */
static void who_failed_is_known(void **state)
{
    (void)state;
    struct sk_archive_input in[3];
    struct sk_feed_local f;
    struct saikai_error err = {0};
    uint8_t to[10];
    begin(in, &f);
    assert_int_equal(sk_feed_local_check(&f, &err), 0);
    assert_int_equal(sk_feed_fetch(&f.feed, &(struct sk_ska_range){1, 4991, 10, to}, 1, &err), SAIKAI_EDAMAGED);
    assert_int_equal(f.failed, 2);
    assert_int_equal(unlink(in[0].path), 0);
    assert_int_equal(sk_feed_fetch(&f.feed, &(struct sk_ska_range){0, 0, 10, to}, 1, &err), SAIKAI_ENOENT);
    assert_int_equal(f.failed, 2);
    assert_int_equal(sk_feed_local_check(&f, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "went away while it was read"));
    assert_int_equal(sk_feed_local_same(&f, 1, &err), 0);
    assert_int_equal(sk_feed_local_same(&f, 2, &err), 0);
    sk_feed_local_free(&f);
    assert_int_equal(sk_feed_local_init(&f, in, 3, &err), SAIKAI_ENOENT);
    assert_int_equal(f.failed, 1);
    assert_int_equal(f.count, 0);
    sk_feed_local_free(&f);
    in[0].path = base; /* a directory */
    assert_int_equal(sk_feed_local_init(&f, in, 3, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "is not a regular file"));
    assert_int_equal(f.failed, 1);
    sk_feed_local_free(&f);
}

/* Its length, and when it was changed, to the nanosecond. */
static void what_changed_is_seen(void **state)
{
    (void)state;
    struct sk_archive_input in[3];
    struct sk_feed_local f;
    struct saikai_error err = {0};
    begin(in, &f);
    struct timespec was = f.seen[1].st_mtim, other[] = {{was.tv_sec, was.tv_nsec}, {was.tv_sec + 1, was.tv_nsec}, {was.tv_sec, (was.tv_nsec + 1) % 1000000000}, was};
    static const int rc[] = {0, SAIKAI_ECHANGED, SAIKAI_ECHANGED, 0};
    for (int i = 0; i < 4; i++) {
        struct timespec times[] = {other[i], other[i]};
        assert_int_equal(utimensat(AT_FDCWD, in[1].path, times, 0), 0);
        assert_int_equal(sk_feed_local_same(&f, 1, &err), rc[i]);
        assert_int_equal(sk_feed_local_check(&f, &err), rc[i]);
    }
    assert_non_null(strstr(err.text, "archive it when it is finished"));
    for (off_t n = 4999; n <= 5001; n++) {
        struct timespec times[] = {was, was};
        assert_int_equal(truncate(in[1].path, n), 0);
        assert_int_equal(utimensat(AT_FDCWD, in[1].path, times, 0), 0);
        assert_int_equal(sk_feed_local_same(&f, 1, &err), n == 5000 ? 0 : SAIKAI_ECHANGED);
    }
    sk_feed_local_free(&f);
}

/* What is known of an input before it is read. */
static void inputs_are_listed(void **state)
{
    (void)state;
    struct sk_archive_input in[3];
    struct sk_feed_local f;
    struct sk_listed l = {0};
    struct saikai_error err = {0};
    begin(in, &f);
    struct timespec times[] = {{-3, 5}, {-3, 5}};
    assert_int_equal(utimensat(AT_FDCWD, in[1].path, times, 0), 0);
    assert_int_equal(chmod(in[1].path, 04750), 0);
    sk_feed_local_free(&f);
    assert_int_equal(sk_feed_local_init(&f, in, 3, NULL), 0);
    for (int look = 0; look < 2; look++) {
        assert_int_equal(sk_list_input(&in[1], &f.seen[1], look, &l, &err), 0);
        assert_string_equal(l.name, "b");
        assert_int_equal(l.size_bytes, 5000);
        assert_int_equal(l.mode, 04750);
        assert_true(l.mtime_ns == -3 * (int64_t)1000000000 + 5);
        assert_true(!l.origin && !l.scan.count && !l.chunks.count);
        sk_listed_free(&l);
        assert_null(l.name);
    }
    assert_int_equal(sk_list_input(&in[2], &f.seen[2], 1, &l, &err), 0);
    assert_int_equal(l.size_bytes, LARGE - 7);
    sk_listed_free(&l);
    assert_int_equal(truncate(in[1].path, 5001), 0);
    assert_int_equal(sk_list_input(&in[1], &f.seen[1], 0, &l, &err), 0); /* nobody looks */
    sk_listed_free(&l);
    assert_int_equal(sk_list_input(&in[1], &f.seen[1], 1, &l, &err), SAIKAI_ECHANGED);
    assert_non_null(strstr(err.text, "changes while it is read"));
    assert_int_equal(unlink(in[1].path), 0);
    assert_int_equal(sk_list_input(&in[1], &f.seen[1], 1, &l, &err), SAIKAI_ENOENT);
    sk_feed_local_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_come_in_any_order), cmocka_unit_test(hashes_are_of_any_length), cmocka_unit_test(who_failed_is_known),
        cmocka_unit_test(what_changed_is_seen),     cmocka_unit_test(inputs_are_listed),
    };
    return cmocka_run_group_tests(tests, make, end);
}
