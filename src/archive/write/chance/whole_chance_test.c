/* Whether one stream of all files may be shorter: of numbers that repeat nowhere, far away, or as few values, against what zstd does. */
#include "archive/write/chance/whole_chance.h"
#include "archive/write/chance/pieces.h"
#include "archive/plan/made_testing.h"
#include "archive/write/testing.h"
#include "codec/general/general.h"

enum { SIZE = 4 << 20 };
static uint8_t data[SIZE], packed[SIZE + SIZE / 64 + 1024];

/* Words of which two bytes of eight are always the same. */
static void numbers(size_t from, size_t n)
{
    for (size_t i = from; i + 8 <= from + n; i += 8) {
        uint32_t a = noise(), b = noise();
        memcpy(data + i, &a, 3);
        memcpy(data + i + 3, &b, 3);
        data[i + 6] = 0xf0;
        data[i + 7] = 0x3f;
    }
}

static size_t stream_bytes(void)
{
    struct sk_packer packer = {0};
    int backend = SK_BACKEND_ZSTD;
    size_t stored = 0;
    assert_int_equal(sk_pack(&packer, &backend, 3 | SK_PACK_LONG, data, SIZE, packed, &stored, NULL), 0);
    sk_packer_free(&packer);
    return stored;
}

/* The second half is in a block of the plan that takes it from another one, in stretches. */
static void take_half(struct sk_ska_plan *p)
{
    enum { STRETCH = SIZE / 16 };
    const struct sk_ska_class bytes = {.key = "x", .type = SAIKAI_U8};
    int class = sk_ska_add_class(&p->a, &bytes);
    assert_true(class >= 0);
    for (uint32_t half = 0; half < 2; half++) {
        int block = sk_ska_add_block(&p->a);
        assert_true(block >= 0 && sk_ska_add_part(&p->a, (uint32_t)class) >= 0);
        for (uint64_t at = half * SIZE / 2; at < (half + 1) * SIZE / 2; at += STRETCH) {
            const struct sk_ska_segment s = {0, at, {1, 1, STRETCH}, 0};
            assert_true(sk_ska_add_segment(&p->a, &s) >= 0);
        }
        sk_ska_close_part(&p->a);
        sk_ska_close_block(&p->a);
        p->a.blocks[block].own = half;
    }
    p->taken_bytes = SIZE / 2;
}

/* What is said of an archive of so many bytes; counted: whether what repeats has been counted; taken: the second half is stored once with the first. */
static int asked_of(uint64_t stored, int counted, int taken)
{
    struct sk_archive_input in = {.name = "x", .data = data, .bytes = SIZE};
    struct sk_feed_local feed;
    struct sk_ska_plan p = {0};
    uint8_t *window = NULL;
    assert_int_equal(sk_feed_local_init(&feed, &in, 1, NULL), 0);
    p.feed = &feed.feed;
    assert_int_equal(sk_ska_plan_list(&p, &feed, NULL), 0);
    sk_marks_begin(&p.marks, SIZE);
    if (counted)
        assert_int_equal(sk_chunks_cut(p.feed, 0, SIZE, 0, &p.chunks[0], &p.marks, &window, NULL), 0);
    free(window);
    sk_marks_end(&p.marks);
    if (taken)
        take_half(&p);
    int may = sk_whole_may_be_shorter(&p, SIZE, stored);
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    return may;
}

static int asked(uint64_t stored, int counted)
{
    return asked_of(stored, counted, 0);
}

static void of_numbers_that_repeat_nowhere(void **state)
{
    (void)state;
    numbers(0, SIZE);
    size_t n = stream_bytes();
    assert_int_equal(asked(n / 4 * 3, 1), 0);
    assert_int_equal(asked(n / 4 * 3, 0), 1); /* nobody knows */
    assert_int_equal(asked(n + SIZE / 1000, 1), 1);
}

/* A kilobyte here and there that stood elsewhere is too short for a chunk, and no piece that is looked at has both. */
static void of_numbers_that_repeat_far_away(void **state)
{
    (void)state;
    enum { SHORT = 1 << 10 };
    numbers(0, SIZE);
    size_t alone = stream_bytes();
    for (size_t i = SIZE / 2; i + 2 * SHORT <= SIZE; i += 2 * SHORT)
        memcpy(data + i, data + (i * 7919 + 8 * (noise() & 127)) % (SIZE / 2 - SHORT) / 8 * 8, SHORT);
    size_t n = stream_bytes();
    assert_true(n < alone - alone / 6);
    assert_int_equal(asked(n + SIZE / 1000, 1), 1);
}

/* A half that stands twice: who stores it once already has what one stream would gain by it, and only what is left of the other half counts. */
static void of_what_is_stored_once_already(void **state)
{
    (void)state;
    numbers(0, SIZE);
    memcpy(data + SIZE / 2, data, SIZE / 2);
    size_t n = stream_bytes();
    assert_int_equal(asked_of(n / 8 * 7, 1, 0), 1); /* nobody has found it */
    assert_int_equal(asked_of(n / 8 * 7, 1, 1), 1);
    assert_int_equal(asked_of(n / 4 * 3, 1, 1), 0);
    assert_int_equal(asked_of(n + SIZE / 1000, 1, 1), 1);
    /* of a half that shrinks a lot, the other one's second copy says nothing */
    memset(data, 0, SIZE / 4);
    memcpy(data + SIZE / 2, data, SIZE / 2);
    assert_int_equal(asked_of(stream_bytes() + SIZE / 1000, 1, 1), 1);
}

/* Which places are looked at: not those in what is taken, half of a piece or more. */
static void pieces_are_taken_or_not(void **state)
{
    (void)state;
    struct sk_ska_plan p = {0};
    struct sk_ska_file files[] = {{.name = (char *)(uintptr_t)"x", .size_bytes = SIZE}, {.name = (char *)(uintptr_t)"y", .size_bytes = SIZE}};
    take_half(&p);
    p.a.files = files;
    p.a.file_count = 2;
    assert_int_equal(sk_pieces_taken(&p, 0, 4096), 0);
    assert_int_equal(sk_pieces_taken(&p, SIZE / 2 - 2049, 4096), 0);
    assert_int_equal(sk_pieces_taken(&p, SIZE / 2 - 2048, 4096), 1);
    assert_int_equal(sk_pieces_taken(&p, SIZE / 4 * 3, SIZE / 8), 1);
    assert_int_equal(sk_pieces_taken(&p, SIZE - 1, 1), 1);
    assert_int_equal(sk_pieces_taken(&p, SIZE, 4096), 0); /* the next file */
    p.a.files = NULL;
    p.a.file_count = 0;
    sk_ska_plan_free(&p);
}

/* Numbers of a small vocabulary: a piece alone has each once. */
static void of_few_values(void **state)
{
    (void)state;
    enum { VALUES = 8000 };
    static uint8_t value[VALUES][8];
    numbers(0, SIZE);
    memcpy(value, data, sizeof value);
    for (size_t i = 0; i < SIZE; i += 8)
        memcpy(data + i, value[noise() % VALUES], 8);
    assert_int_equal(asked(stream_bytes() + SIZE / 1000, 1), 1);
}

/* One half shrinks a lot: pieces of the other one say nothing about it. */
static void of_two_kinds(void **state)
{
    (void)state;
    numbers(0, SIZE);
    memset(data + SIZE / 3, 0, SIZE / 3);
    size_t n = stream_bytes();
    assert_int_equal(asked(n + SIZE / 1000, 1), 1);
    assert_int_equal(asked(n / 8, 1), 0);
}

/* Each sixteenth has letters of its own: pieces one after another are no shorter than each alone, and nothing is gained by one stream. */
static void of_parts_with_letters_of_their_own(void **state)
{
    (void)state;
    enum { PARTS = 16 };
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i / (SIZE / PARTS) * 16 + (noise() >> 7) % 16);
    assert_int_equal(asked(SIZE / 10 * 3, 1), 0); /* half of it is left of each piece */
    assert_int_equal(asked(SIZE / 2, 1), 1);
}

/* From how many bytes of an archive on one stream may be shorter, in steps. */
static uint64_t limit(size_t total, int level)
{
    enum { STEP = 1024 };
    struct sk_archive_input in = {.name = "x", .data = data, .bytes = total};
    struct sk_feed_local feed;
    struct sk_ska_plan p = {.opt.level = level};
    uint8_t *window = NULL;
    uint64_t low = 0, high = total / 8 * 9 / STEP;
    assert_int_equal(sk_feed_local_init(&feed, &in, 1, NULL), 0);
    p.feed = &feed.feed;
    assert_int_equal(sk_ska_plan_list(&p, &feed, NULL), 0);
    sk_marks_begin(&p.marks, total);
    assert_int_equal(sk_chunks_cut(p.feed, 0, total, 0, &p.chunks[0], &p.marks, &window, NULL), 0);
    free(window);
    sk_marks_end(&p.marks);
    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (sk_whole_may_be_shorter(&p, total, mid * STEP))
            high = mid;
        else
            low = mid + 1;
    }
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    return low * STEP;
}

/* The limits are where they were, for numbers of all kinds. */
static void the_limit_is_where_it_was(void **state)
{
    (void)state;
    struct sk_buf text = {0};
    lcg = 9;
    for (int kind = 0; kind < 6; kind++) {
        /* pieces of 32 KiB, shorter ones, the shortest, and too few bytes */
        size_t total = kind == 1 ? SIZE / 4 : kind == 2 ? 64 * 8192 : kind == 3 ? 64 * 8192 - 1 : SIZE;
        numbers(0, SIZE);
        if (kind == 4) /* from half on the same as before, with others between */
            for (size_t i = SIZE / 2; i + 8192 <= SIZE; i += 16384)
                memcpy(data + i, data + i - SIZE / 2, 8192);
        if (kind == 5)
            for (size_t i = 0; i < SIZE; i += 8)
                memcpy(data + i, data + noise() % 500 * 8, 8);
        sk_buf_printf(&text, "kind %d of %zu bytes: from %llu on, at another level from %llu on\n", kind, total, (unsigned long long)limit(total, 0),
                      (unsigned long long)limit(total, 9));
    }
    made_expect("samples/chance-whole", &text);
    sk_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_numbers_that_repeat_nowhere), cmocka_unit_test(of_numbers_that_repeat_far_away),
                                       cmocka_unit_test(of_what_is_stored_once_already), cmocka_unit_test(pieces_are_taken_or_not), cmocka_unit_test(of_few_values),
                                       cmocka_unit_test(of_two_kinds), cmocka_unit_test(of_parts_with_letters_of_their_own), cmocka_unit_test(the_limit_is_where_it_was)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
