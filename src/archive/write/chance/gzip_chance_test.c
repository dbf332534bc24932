/* Whether gzip may leave less: of bytes that hardly shrink, of those that shrink alike everywhere, and of mixtures, against what gzip does. */
#include "archive/write/chance/gzip_chance.h"
#include "archive/write/testing.h"
#include "codec/general/general.h"

enum { SIZE = 2 << 20, PART = 24 << 10 };
static uint8_t data[SIZE], packed[SIZE + SIZE / 64 + 1024];

static void random_bytes(size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        data[i] = (uint8_t)noise();
}

static void letters(size_t from, size_t n, unsigned many)
{
    for (size_t i = from; i < from + n; i++)
        data[i] = (uint8_t)('a' + noise() % many);
}

/* What is said of an archive that takes so many bytes more than gzip. */
static int asked(int64_t more, int whole)
{
    struct sk_packer packer = {0};
    int backend = SK_BACKEND_GZIP;
    size_t by_gzip = 0;
    struct sk_archive_input in = {.name = "x", .data = data, .bytes = SIZE};
    struct sk_feed_local feed;
    struct sk_ska_plan p = {0};
    assert_int_equal(sk_pack(&packer, &backend, 6, data, SIZE, packed, &by_gzip, NULL), 0);
    assert_int_equal(sk_feed_local_init(&feed, &in, 1, NULL), 0);
    p.feed = &feed.feed;
    assert_int_equal(sk_ska_plan_list(&p, &feed, NULL), 0);
    int may = sk_gzip_may_be_shorter(&p, SIZE, (uint64_t)((int64_t)by_gzip + more), whole);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    sk_packer_free(&packer);
    return may;
}

/* What has been compressed, with something between that has not: as near as a six-hundredth of all. */
static void of_dense_bytes(void **state)
{
    (void)state;
    random_bytes(0, SIZE);
    for (size_t at = 100000; at + PART < SIZE; at += SIZE / 5)
        letters(at, PART, 40);
    assert_int_equal(asked(-3500, 0), 0);
    assert_int_equal(asked(2500, 0), 1);
    assert_int_equal(asked(200000, 1), 1);
}

/* Pieces that agree leave little open. */
static void of_bytes_that_are_alike(void **state)
{
    (void)state;
    letters(0, SIZE, 100);
    assert_int_equal(asked(-SIZE / 25, 0), 0);
    assert_int_equal(asked(SIZE / 1000, 0), 1);
    letters(0, SIZE, 6);
    assert_int_equal(asked(-SIZE / 10, 0), 0);
    assert_int_equal(asked(SIZE / 1000, 0), 1);
}

/* One half shrinks a lot: pieces of the other one say nothing about it. */
static void of_two_kinds(void **state)
{
    (void)state;
    random_bytes(0, SIZE);
    letters(SIZE / 2, SIZE / 2, 2);
    assert_int_equal(asked(SIZE / 1000, 0), 1);
    assert_int_equal(asked(-SIZE / 1000, 0), 1);
    assert_int_equal(asked(-SIZE / 2, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_dense_bytes), cmocka_unit_test(of_bytes_that_are_alike), cmocka_unit_test(of_two_kinds)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
