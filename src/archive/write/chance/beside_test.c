/* Whether gzip leaves more than an archive does, of files of two kinds: never said where it leaves less. */
#include "archive/write/chance/beside.h"
#include "archive/write/testing.h"
#include "base/types.h"
#include "codec/general/general.h"

enum { MOST_READ = SK_BESIDE_PIECES * (48 << 10), SIZE = 3 << 20, RUN = 37 << 10, RUNS = SIZE / RUN, ALL = RUNS * RUN, HALF = RUNS / 2 * RUN };
static uint8_t data[ALL], kind[2][ALL], packed[ALL + ALL / 64 + 1024];

/* Runs of bytes that hardly shrink, and of those that do; gzip leaves so much of all runs of each, and of all as they stand. */
static uint64_t by_gzip[2], of_all;

static uint64_t gzip_leaves(const uint8_t *in, size_t n)
{
    struct sk_packer packer = {0};
    int backend = SK_BACKEND_GZIP;
    size_t left = 0;
    assert_int_equal(sk_pack(&packer, &backend, 6, in, n, packed, &left, NULL), 0);
    sk_packer_free(&packer);
    return left;
}

static void make_of(int alike, unsigned many)
{
    lcg = 5;
    for (int i = 0; i < RUNS; i++)
        for (int j = 0; j < RUN; j++)
            kind[i & 1][i / 2 * RUN + j] = data[i * RUN + j] = alike || i & 1 ? (uint8_t)('a' + noise() % many) : (uint8_t)noise();
    by_gzip[0] = gzip_leaves(kind[0], HALF);
    by_gzip[1] = gzip_leaves(kind[1], HALF);
    of_all = gzip_leaves(data, ALL);
}

static void make(unsigned many)
{
    make_of(0, many);
}

/* Runs of each kind are in a block of their own; mixed: all of them are in one. They are of two files, the archive's index takes so many bytes. */
static void cut(struct sk_ska *a, const uint64_t stored[2], int mixed)
{
    struct sk_ska_class c = {.key = "x", .type = SAIKAI_U8};
    uint64_t first = a->files[0].size_bytes;
    for (int k = 0; k < (mixed ? 1 : 2); k++) {
        assert_int_equal(sk_ska_add_class(a, &c), 0);
        assert_int_equal(sk_ska_add_block(a), k);
        assert_int_equal(sk_ska_add_part(a, 0), k);
        for (uint64_t i = 0; i < RUNS; i++)
            if (mixed || (i & 1) == (uint64_t)k)
                assert_true(sk_ska_add_segment(a, &(struct sk_ska_segment){.file = i * RUN >= first, .offset = i * RUN - (i * RUN >= first ? first : 0), .box = {1, 1, RUN}}) >= 0);
        sk_ska_close_part(a);
        sk_ska_close_block(a);
        a->blocks[k].stored_bytes = mixed ? stored[0] + stored[1] : stored[k];
    }
}

struct counting {
    struct sk_ska_feed feed;
    struct sk_ska_feed *real;
    size_t read;
    int fails;
};

static int fetch(struct sk_ska_feed *feed, const struct sk_ska_range *r, size_t n, struct saikai_error *err)
{
    struct counting *c = (struct counting *)feed;
    for (size_t i = 0; i < n; i++)
        c->read += r[i].bytes;
    return c->fails ? sk_fail(err, SAIKAI_EIO, "it cannot be read") : sk_feed_fetch(c->real, r, n, err);
}

static size_t read_bytes;
static uint64_t near_bytes; /* of classes of which samples said that gzip leaves about as little */

/* What is said where the archive leaves so much of what gzip leaves of each kind. */
static int longer(double of_random, double of_letters, int mixed, int fails)
{
    struct sk_archive_input in[] = {{.name = "a", .data = data, .bytes = RUN * (RUNS / 3)}, {.name = "b", .data = data + RUN * (RUNS / 3), .bytes = RUN * (RUNS - RUNS / 3)}};
    const uint64_t stored[2] = {(uint64_t)(of_random * (double)by_gzip[0]), (uint64_t)(of_letters * (double)by_gzip[1])};
    struct sk_feed_local feed;
    struct sk_ska_plan p = {0};
    struct sk_beside b;
    static const struct sk_feed_ops ops = {fetch, NULL};
    assert_int_equal(sk_feed_local_init(&feed, in, 2, NULL), 0);
    struct counting c = {{&ops, 1}, &feed.feed, 0, 0};
    p.feed = &c.feed;
    assert_int_equal(sk_ska_plan_list(&p, &feed, NULL), 0);
    cut(&p.a, stored, mixed);
    sk_beside_look(&p, ALL, stored[0] + stored[1] + 1000, &b);
    assert_int_equal(b.known, 1);
    c.fails = fails;
    c.read = 0;
    p.near_bytes = near_bytes;
    int said = sk_beside_gzip_is_longer(&p, ALL, &b);
    read_bytes = c.read;
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    return said;
}

/* Of a mixture gzip leaves very much of some pieces and little of others; it is clear from few all the same. */
static void of_two_kinds(void **state)
{
    (void)state;
    static const unsigned many[] = {2, 6, 60};
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        make(many[i]);
        assert_int_equal(longer(0.93, 0.93, 0, 0), 1);
        assert_true(read_bytes <= MOST_READ);
        assert_int_equal(longer(0.93, 0.93, 0, 1), 0); /* they cannot be read */
    }
}

/* Blocks of which one takes nothing, as all of it is elsewhere, leave very different shares of pieces that gzip leaves as much of. */
static void of_one_kind_in_very_different_blocks(void **state)
{
    (void)state;
    enum { FEW_READ = MOST_READ / 4 };
    make_of(1, 60);
    for (near_bytes = 0; near_bytes <= ALL; near_bytes += ALL) {
        assert_int_equal(longer(0, 1.3, 0, 0), 1);
        assert_true(read_bytes <= FEW_READ);
        assert_int_equal(longer(0, 2.1, 0, 0), 0);
        assert_int_equal(longer(0.9, 1.2, 0, 0), 0);
    }
    near_bytes = 0;
}

/* Where samples have not said that gzip leaves more of nearly all it must be clearer. */
static void samples_say_how_clear_it_must_be(void **state)
{
    (void)state;
    make(2);
    assert_int_equal(longer(0.6, 1.2, 1, 0), 1);
    size_t few = read_bytes;
    near_bytes = ALL;
    int said = longer(0.6, 1.2, 1, 0);
    near_bytes = 0;
    assert_true(!said || read_bytes > few);
}

static void never_where_gzip_is_shorter(void **state)
{
    (void)state;
    static const unsigned many[] = {2, 6, 60};
    static const double of[][2] = {{1.001, 1.001}, {1.02, 1}, {0.9, 2}, {1.3, 0.5}, {1.1, 0.9}};
    for (size_t i = 0; i < 2 * sizeof many / sizeof *many; i++) {
        near_bytes = i & 1 ? ALL : 0;
        make(many[i / 2]);
        for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
            double left = of[k][0] * (double)by_gzip[0] + of[k][1] * (double)by_gzip[1];
            for (int mixed = 0; mixed < 2 && left > (double)of_all; mixed++)
                assert_int_equal(longer(of[k][0], of[k][1], mixed, 0), 0);
        }
    }
    near_bytes = 0;
}

/* What no segment has takes nothing of a piece, and a piece's share is that of the blocks that it is in. */
static void pieces_have_the_share_of_their_blocks(void **state)
{
    (void)state;
    struct sk_ska_plan p = {0};
    struct sk_beside b;
    enum { SPACE = 64 << 10, PIECE = 16 << 10, TOTAL = SPACE * SK_BESIDE_PIECES };
    assert_int_equal(sk_ska_add_file(&p.a, &(struct sk_ska_file){.name = (char[]){"x"}, .size_bytes = TOTAL}), 0);
    assert_int_equal(sk_ska_add_class(&p.a, &(struct sk_ska_class){.key = (char[]){"x"}, .type = SAIKAI_F64}), 0);
    static const struct {
        uint64_t from, values, stored;
    } blocks[] = {{0, SPACE / 8, SPACE / 2}, {SPACE, (SPACE / 2 + PIECE / 4) / 8, 0}, {SPACE + SPACE / 2 + PIECE / 4, SPACE / 8, SPACE / 4}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sk_ska_add_block(&p.a), i);
        assert_int_equal(sk_ska_add_part(&p.a, 0), i);
        assert_int_equal(sk_ska_add_segment(&p.a, &(struct sk_ska_segment){.offset = blocks[i].from, .box = {1, 1, blocks[i].values}}), i);
        sk_ska_close_part(&p.a);
        sk_ska_close_block(&p.a);
        p.a.blocks[i].stored_bytes = blocks[i].stored;
    }
    sk_beside_look(&p, TOTAL, SPACE, &b);
    assert_int_equal(b.known, 1);
    /* a quarter of the second piece is in a block that takes nothing, three quarters of the third are in none */
    assert_true(b.of[0] > 0.4999 && b.of[0] < 0.5001);
    assert_true(b.of[1] > 0.1874 && b.of[1] < 0.1876);
    assert_true(b.of[2] > 0.0624 && b.of[2] < 0.0626);
    assert_true(b.of[3] == 0 && b.of[15] == 0);
    assert_true(b.others > 0.0156 && b.others < 0.0157);
    p.a.files[0].size_bytes = TOTAL / 2; /* pieces would lie too near to each other */
    sk_beside_look(&p, TOTAL / 2, SPACE, &b);
    assert_int_equal(b.known, 0);
    assert_int_equal(sk_beside_gzip_is_longer(&p, TOTAL / 2, &b), 0);
    sk_ska_plan_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_two_kinds), cmocka_unit_test(of_one_kind_in_very_different_blocks), cmocka_unit_test(samples_say_how_clear_it_must_be), cmocka_unit_test(never_where_gzip_is_shorter), cmocka_unit_test(pieces_have_the_share_of_their_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
