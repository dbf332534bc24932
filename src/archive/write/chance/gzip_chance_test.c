/* Whether gzip may leave less: of bytes that hardly shrink, of those that shrink alike everywhere, and of mixtures, against what gzip does. */
#include "archive/write/chance/gzip_chance.h"
#include "archive/plan/made_testing.h"
#include "archive/write/chance/pieces.h"
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

/* A feed that counts how many pieces are read. */
struct counting {
    struct sk_ska_feed feed;
    struct sk_ska_feed *real;
};
static int pieces;
static uint64_t near_bytes; /* of classes whose samples said that gzip comes near */

static int fetch(struct sk_ska_feed *feed, const struct sk_ska_range *r, size_t n, struct saikai_error *err)
{
    pieces += (int)n;
    return sk_feed_fetch(((struct counting *)feed)->real, r, n, err);
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
    static const struct sk_feed_ops ops = {fetch, NULL};
    struct counting c = {{&ops, 1}, &feed.feed};
    p.feed = &c.feed;
    assert_int_equal(sk_ska_plan_list(&p, &feed, NULL), 0);
    pieces = 0;
    p.near_bytes = near_bytes;
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

/* What is clear is asked about four pieces only, two where gzip would leave more of one half than all takes, all sixteen where it stays open: by short pieces and by long ones; four of these tell that what gzip leaves at least will not. */
static void no_more_is_read_than_tells(void **state)
{
    (void)state;
    static const struct {
        unsigned letters;
        int64_t more;
        int may, pieces;
    } cases[] = {{6, -SIZE / 4, 0, 2}, {6, -SIZE / 10, 0, 4}, {6, SIZE / 1000, 1, 16}, {100, -SIZE / 3, 0, 4}, {100, SIZE / 1000, 1, 36}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        letters(0, SIZE, cases[i].letters);
        int may = asked(cases[i].more, 0);
        if (may != cases[i].may || pieces != cases[i].pieces)
            fail_msg("case %zu: %d after %d pieces", i, may, pieces);
    }
    letters(0, SIZE, cases[0].letters);
    near_bytes = SIZE / 8;
    assert_int_equal(asked(cases[0].more, 0), 0);
    near_bytes = 0;
    assert_int_equal(pieces, 4);
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

/* From how many bytes of an archive on gzip may be shorter, in steps; of so many bytes in two files. */
static uint64_t limit(size_t total, int whole)
{
    struct sk_archive_input in[] = {{.name = "x", .data = data, .bytes = total / 3}, {.name = "y", .data = data + total / 3, .bytes = total - total / 3}};
    struct sk_feed_local feed;
    struct sk_ska_plan p = {0};
    uint64_t step = total / 64, low = 0, high = total / 8 * 9 / step;
    assert_int_equal(sk_feed_local_init(&feed, in, 2, NULL), 0);
    p.feed = &feed.feed;
    assert_int_equal(sk_ska_plan_list(&p, &feed, NULL), 0);
    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (sk_gzip_may_be_shorter(&p, total, mid * step, whole))
            high = mid;
        else
            low = mid + 1;
    }
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    return low * step;
}

/* The limits are where they were, for bytes of all kinds. */
static void the_limit_is_where_it_was(void **state)
{
    (void)state;
    enum { MOST = 1200000 };
    struct sk_buf text = {0};
    lcg = 7;
    for (int kind = 0; kind < 6; kind++) {
        size_t total = kind == 4 ? MOST - 54321 : kind == 5 ? 100000 : MOST;
        random_bytes(0, MOST);
        if (kind == 0) /* dense, with runs between them that are not */
            for (size_t at = 100000; at + PART < MOST; at += MOST / 5)
                letters(at, PART, 40);
        if (kind == 1)
            letters(0, MOST, 100);
        if (kind == 2)
            letters(0, MOST, 6);
        if (kind == 3) /* from file to file others */
            letters(MOST / 3, MOST / 3 * 2, 12);
        for (size_t at = 0; at < MOST && kind == 4; at += 8)
            data[at] = data[at + 1] = data[at + 2] = 0;
        if (kind == 5)
            letters(0, 100000, 30);
        sk_buf_printf(&text, "kind %d of %zu bytes: gzip from %llu on", kind, total, (unsigned long long)limit(total, 0));
        if (kind == 1 || kind == 4)
            sk_buf_printf(&text, ", after one stream from %llu on", (unsigned long long)limit(total, 1));
        sk_buf_printf(&text, "\n");
    }
    made_expect("samples/chance-gzip", &text);
    sk_buf_free(&text);
}

static void means_of_pieces(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 6};
    assert_true(fabs(sk_pieces_mean(x, 4) - 3) < 1e-12);
    assert_true(fabs(sk_pieces_mean(x, 2) - 1.5) < 1e-12);
    /* squares of what is off: 4 + 1 + 0 + 9; over three, and over four */
    assert_true(fabs(sk_pieces_least(x, 4) - (3 - 4 * sqrt(14.0 / 3 / 4))) < 1e-12);
    assert_true(fabs(sk_pieces_least(x, 2) - (1.5 - 4 * sqrt(0.5 / 1 / 2))) < 1e-12);
}

/* A piece is of one file: it ends where that ends, and files without bytes have none. */
static void pieces_are_of_one_file(void **state)
{
    (void)state;
    struct sk_archive_input in[] = {{.name = "a", .data = "0123456789", .bytes = 10}, {.name = "b", .data = "", .bytes = 0}, {.name = "c", .data = "abcdef", .bytes = 6}};
    static const struct {
        uint64_t at;
        size_t n;
        const char *is;
    } cases[] = {{0, 4, "0123"}, {6, 4, "6789"}, {6, 5, "6789"}, {9, 3, "9"}, {10, 3, "abc"}, {12, 4, "cdef"}, {12, 9, "cdef"}, {15, 1, "f"}, {16, 1, ""}, {99, 1, ""}};
    struct sk_feed_local feed;
    struct sk_ska_plan p = {0};
    assert_int_equal(sk_feed_local_init(&feed, in, 3, NULL), 0);
    p.feed = &feed.feed;
    assert_int_equal(sk_ska_plan_list(&p, &feed, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t to[16] = {0};
        assert_int_equal(sk_pieces_read(&p, cases[i].at, cases[i].n, to), strlen(cases[i].is));
        assert_string_equal((const char *)to, cases[i].is);
    }
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_dense_bytes),           cmocka_unit_test(of_bytes_that_are_alike), cmocka_unit_test(of_two_kinds),         cmocka_unit_test(no_more_is_read_than_tells),
                                       cmocka_unit_test(the_limit_is_where_it_was), cmocka_unit_test(means_of_pieces),         cmocka_unit_test(pieces_are_of_one_file)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
