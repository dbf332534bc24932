/* Chunks are cut where the content of a file says so, as coarse as is asked for, and the same content is cut the same way wherever it
 * stands; and marks count what stands there twice. */
#include "archive/plan/chunks.h"

#include "archive/plan/made_testing.h"
#include "base/hash.h"

enum { MIB = 1 << 20, BYTES = 5 * MIB, LEAST = 1 << 10, USUAL = 5 << 10, MOST = 16 << 10 };

static uint8_t data[BYTES];

static void fill(size_t from, size_t n)
{
    uint64_t s = 7;
    for (size_t i = from; i < from + n; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        data[i] = (uint8_t)(s >> 56);
    }
}

/* The first n bytes, cut. */
static struct sk_chunks cut(size_t n, int coarse, struct sk_marks *marks)
{
    struct sk_archive_input in = {.name = "x", .data = data, .bytes = n};
    struct sk_feed_local feed;
    struct sk_chunks c = {0};
    uint8_t *window = NULL;
    assert_int_equal(sk_feed_local_init(&feed, &in, 1, NULL), 0);
    assert_int_equal(sk_chunks_cut(&feed.feed, 0, n, coarse, &c, marks, &window, NULL), 0);
    free(window);
    sk_feed_local_free(&feed);
    return c;
}

/* Each has the hash of its bytes, and all of them are all bytes. */
static uint64_t digest(const struct sk_chunks *c, size_t n)
{
    uint64_t at = 0, hash = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct sk_file_chunk *x = &c->list[i];
        assert_true(x->bytes > 0 && x->bytes <= n - at);
        assert_true(x->hash == sk_hash64(data + at, x->bytes));
        at += x->bytes;
        uint64_t all[] = {hash, x->bytes, x->plain, x->hash};
        hash = sk_hash64(all, sizeof all);
    }
    assert_int_equal(at, n);
    return hash;
}

/* Ranks compare the lists of each other's files: all must cut alike, today's and tomorrow's. */
static void chunks_are_as_coarse_as_asked(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        uint64_t digest;
    } expected[SK_CHUNKS_COARSEST + 1] = {{1021, 0xb28bcf25b579d7c4}, {510, 0x41ee76022c327cc9}, {254, 0x618214c5bb689e22}, {137, 0x57b70240b7afd24f},
                                          {76, 0xb1b18466f6336851}, {42, 0x61ed6bd1c16eb8da}, {25, 0x9d4dcf7ac3bec8c3}};
    fill(0, BYTES);
    for (int coarse = 0; coarse <= SK_CHUNKS_COARSEST; coarse++) {
        struct sk_chunks c = cut(BYTES, coarse, NULL);
        size_t usual = (size_t)USUAL << coarse;
        for (size_t i = 0; i + 1 < c.count; i++)
            assert_true(c.list[i].bytes >= (size_t)LEAST << coarse && c.list[i].bytes <= (size_t)MOST << coarse && !c.list[i].plain);
        assert_true(c.count > BYTES / usual / 2 && c.count < 2 * BYTES / usual);
        uint64_t d = digest(&c, BYTES);
        if (c.count != expected[coarse].count || d != expected[coarse].digest)
            fail_msg("coarse %d: %zu chunks, %016llx", coarse, c.count, (unsigned long long)d);
        sk_chunks_free(&c);
        assert_true(!c.list && !c.count && !c.cap);
    }
}

/* What has been moved by so many bytes is cut where it was, from the second chunk on at the latest. */
static void content_says_where(void **state)
{
    (void)state;
    enum { MOVED = 777, N = 300000 };
    fill(0, N);
    struct sk_chunks was = cut(N, 0, NULL);
    memmove(data + MOVED, data, N);
    memset(data, 'x', MOVED);
    struct sk_chunks is = cut(N + MOVED, 0, NULL);
    size_t same = 0;
    while (same < was.count && same < is.count && was.list[was.count - 1 - same].hash == is.list[is.count - 1 - same].hash)
        same++;
    assert_true(same + 5 > was.count && was.count > 40);
    sk_chunks_free(&was);
    sk_chunks_free(&is);
}

/* A word again and again: of eight bytes or what divides them. */
static void what_is_plain_is_known(void **state)
{
    (void)state;
    static const struct {
        size_t n, period;
        int plain;
    } cases[] = {{100000, 1, 1}, {100000, 8, 1}, {100000, 4, 1}, {100000, 9, 0}, {9, 1, 1}, {8, 1, 0}, {1, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t k = 0; k < cases[i].n; k++)
            data[k] = (uint8_t)(k % cases[i].period * 31 + 1);
        struct sk_chunks c = cut(cases[i].n, 0, NULL);
        digest(&c, cases[i].n);
        for (size_t k = 0; k < c.count; k++)
            if (c.list[k].plain != (uint32_t)cases[i].plain)
                fail_msg("case %zu, chunk %zu of %u bytes", i, k, c.list[k].bytes);
        sk_chunks_free(&c);
    }
    struct sk_chunks none = cut(0, 0, NULL);
    assert_int_equal(none.count, 0);
}

/* As fine as a sixteenth of the memory bears, at 72 bytes for each chunk. */
static void memory_says_how_coarse(void **state)
{
    (void)state;
    enum { CHUNKS = 10, MEMORY = CHUNKS * 72 * 16 };
    for (int coarse = 0; coarse <= SK_CHUNKS_COARSEST; coarse++) {
        uint64_t most = ((uint64_t)USUAL << coarse) * (CHUNKS + 1) - 1;
        assert_int_equal(sk_chunks_coarse(most, MEMORY), coarse);
        assert_int_equal(sk_chunks_coarse(most + 1, MEMORY), coarse < SK_CHUNKS_COARSEST ? coarse + 1 : -1);
        assert_int_equal(sk_chunks_coarse(most, MEMORY - 1), coarse < SK_CHUNKS_COARSEST ? coarse + 1 : -1);
    }
    assert_int_equal(sk_chunks_coarse(0, 0), 0);
}

/* ---- marks ---- */

static void marks_have_room_for_so_many_bytes(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        size_t slots;
        uint64_t rare;
    } cases[] = {{0, 1 << 10, 0}, {((uint64_t)513 << 7) - 1, 1 << 10, 0}, {(uint64_t)513 << 7, 1 << 11, 0}, {(uint64_t)1024 << 7, 1 << 11, 0},
                 {(uint64_t)1025 << 7, 1 << 12, 0}, {((uint64_t)65537 << 7) - 1, 1 << 17, 0}, {(uint64_t)65537 << 7, 1 << 17, 1}, {(uint64_t)65536 << 9, 1 << 17, 3},
                 {((uint64_t)65537 << 9) - 1, 1 << 17, 3}, {(uint64_t)65537 << 9, 1 << 17, 7}, {(uint64_t)1 << 62, 1 << 17, 0xffffff}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_marks m = {.all = 5, .again = 5};
        sk_marks_begin(&m, cases[i].bytes);
        if (m.slots != cases[i].slots || m.rare != cases[i].rare || m.all || m.again || !m.seen)
            fail_msg("case %zu: %zu slots, %llx", i, m.slots, (unsigned long long)m.rare);
        sk_marks_end(&m);
        assert_null(m.seen);
    }
}

/* Of each hundred and twenty-eight bytes about one is a mark; of what is there twice half of them are known, of what is not nearly none. */
static void marks_count_what_is_there_twice(void **state)
{
    (void)state;
    enum { HALF = 1 << 19 };
    for (int twice = 0; twice < 2; twice++) {
        struct sk_marks m;
        fill(0, 2 * HALF);
        if (twice)
            memcpy(data + HALF, data, HALF);
        sk_marks_begin(&m, 2 * HALF);
        struct sk_chunks with = cut(2 * HALF, 0, &m), without = cut(2 * HALF, 0, NULL);
        assert_true(digest(&with, 2 * HALF) == digest(&without, 2 * HALF)); /* who counts cuts as who does not */
        sk_marks_end(&m);
        double share = (double)m.all * 128 / (2 * HALF), again = (double)m.again / (double)m.all;
        if (share < 0.7 || share > 1.1 || (twice ? again < 0.4 || again > 0.51 : again > 0.01))
            fail_msg("%llu marks, %llu of them again", (unsigned long long)m.all, (unsigned long long)m.again);
        /* of more bytes they are rarer */
        struct sk_marks few;
        sk_marks_begin(&few, (uint64_t)65537 << 9);
        sk_chunks_free(&with);
        with = cut(2 * HALF, 0, &few);
        sk_marks_end(&few);
        double rarer = (double)m.all / (double)few.all;
        if (rarer < 6 || rarer > 10)
            fail_msg("%llu marks, and %llu where they are rare", (unsigned long long)m.all, (unsigned long long)few.all);
        sk_chunks_free(&with);
        sk_chunks_free(&without);
    }
    struct sk_marks ended = {.rare = 0}; /* no room: nothing is counted */
    struct sk_chunks c = cut(2 * HALF, 0, &ended);
    assert_true(!ended.all && c.count > 0);
    sk_chunks_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_as_coarse_as_asked), cmocka_unit_test(content_says_where),
        cmocka_unit_test(what_is_plain_is_known),        cmocka_unit_test(memory_says_how_coarse),
        cmocka_unit_test(marks_have_room_for_so_many_bytes), cmocka_unit_test(marks_count_what_is_there_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
