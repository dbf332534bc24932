/* Frames of several messages: they come back in their order, runs of ranks are one entry, and what is malformed anywhere is refused
 * as a whole. */
#include "backbone/frame/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sk_message of(enum sk_message_kind kind, uint32_t rank, uint32_t number)
{
    return (struct sk_message){.kind = kind, .incarnation = 2, .rank = rank, .number = number};
}

static size_t frame(struct sk_frame *b, const struct sk_message *m, int n, uint64_t serial, uint8_t out[SK_FRAME_MAX])
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        sk_frame_add(b, &m[i]);
    const void *data = sk_frame_close(b, serial, &bytes);
    assert_non_null(data);
    assert_in_range(bytes, SK_FRAME_HEAD, SK_FRAME_MAX);
    memcpy(out, data, bytes);
    sk_frame_clear(b);
    return bytes;
}

static void messages_come_back_in_their_order(void **state)
{
    struct sk_message m[] = {of(SK_MSG_HELLO, 4, 0), of(SK_MSG_ALIVE, 4, 0), of(SK_MSG_ALIVE, 5, 0),
                             of(SK_MSG_BEAT, 6, 0),  of(SK_MSG_EXIT, 7, 0),  of(SK_MSG_TELL, 0, 0)};
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    struct saikai_error err = {0};
    uint8_t data[SK_FRAME_MAX];
    strcpy(m[0].host, "n1");
    strcpy(m[5].host, "n1: a sentence");
    m[3].at.iteration = 17;
    m[4].serial = 99;
    assert_true(sk_frame_is_empty(&b));
    size_t n = frame(&b, m, 6, 1ull << 40, data);
    assert_true(sk_frame_is_empty(&b));
    assert_int_equal(sk_frame_open(data, n, &r, &err), 0);
    assert_true(r.serial == 1ull << 40);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(sk_frame_next(&r), 1);
        assert_int_equal(r.m.kind, m[i].kind);
        assert_int_equal(r.m.rank, m[i].rank);
        assert_string_equal(r.m.host, m[i].host);
        assert_true(r.m.at.iteration == m[i].at.iteration && r.m.serial == m[i].serial);
    }
    assert_int_equal(sk_frame_next(&r), 0);
    n = frame(&b, NULL, 0, 3, data); /* an empty one says that its sender lives */
    assert_int_equal(n, SK_FRAME_HEAD);
    assert_int_equal(sk_frame_open(data, n, &r, &err), 0);
    assert_int_equal(sk_frame_next(&r), 0);
    sk_frame_free(&b);
}

static void ranks_in_a_row_are_one_entry(void **state)
{
    struct sk_message m[2000];
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    uint8_t data[SK_FRAME_MAX];
    for (uint32_t i = 0; i < 2000; i++)
        m[i] = of(i < 1000 ? SK_MSG_KILL : SK_MSG_SIGNAL, 100 + i, i < 1500 ? 0 : 15);
    size_t n = frame(&b, m, 2000, 1, data);
    assert_in_range(n, 1, 120);
    assert_int_equal(sk_frame_open(data, n, &r, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(sk_frame_next(&r), 1);
        assert_int_equal(r.m.kind, m[i].kind);
        assert_int_equal(r.m.rank, m[i].rank);
        assert_int_equal(r.m.number, m[i].number);
        if (i == 1600)
            break;
    }
    assert_int_equal(r.m.rank, 1700);
    sk_frame_pass(&r, 100);
    assert_int_equal(r.m.rank, 1800);
    assert_int_equal(sk_frame_next(&r), 1);
    assert_int_equal(r.m.rank, 1801);
    sk_frame_skip(&r);
    assert_int_equal(sk_frame_next(&r), 0);
    struct sk_message other = of(SK_MSG_ALIVE, 1, 0), beats[2] = {of(SK_MSG_BEAT, 0, 0), of(SK_MSG_BEAT, 1, 0)};
    struct sk_message starts[2] = {of(SK_MSG_ALIVE, 0, 0), other};
    size_t one = frame(&b, starts, 2, 1, data);
    starts[1].incarnation++; /* of another start: not merged */
    assert_true(frame(&b, starts, 2, 1, data) > one);
    n = frame(&b, beats, 2, 1, data); /* each says its own */
    assert_int_equal(sk_frame_open(data, n, &r, NULL), 0);
    assert_int_equal(sk_frame_next(&r), 1);
    assert_int_equal(r.left, 0);
    sk_frame_free(&b);
}

static void it_is_full_before_it_is_too_long(void **state)
{
    struct sk_frame b = {0};
    struct sk_message m = of(SK_MSG_TELL, 0, 0);
    size_t bytes;
    int n = 0;
    memset(m.host, 'x', SK_MSG_HOST_MAX);
    for (; !sk_frame_is_full(&b); n++)
        sk_frame_add(&b, &m);
    assert_in_range(n, 50, 200);
    assert_non_null(sk_frame_close(&b, 1, &bytes));
    assert_in_range(bytes, 1, SK_FRAME_MAX);
    sk_frame_free(&b);
}

/* One entry for n ranks from this one on, whatever that is. */
static size_t entry(uint32_t n, const struct sk_message *m, uint8_t out[SK_FRAME_MAX])
{
    struct sk_frame b = {0};
    size_t bytes = frame(&b, m, 1, 1, out);
    for (int i = 0; i < 4; i++)
        out[SK_FRAME_HEAD + i] = (uint8_t)(n >> 8 * i);
    sk_frame_free(&b);
    return bytes;
}

static void what_is_malformed_is_refused_as_a_whole(void **state)
{
    struct sk_message m[] = {of(SK_MSG_KILL, 4, 0), of(SK_MSG_BEAT, 6, 0)}, last = of(SK_MSG_KILL, UINT32_MAX, 0);
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    struct saikai_error err = {0};
    uint8_t data[SK_FRAME_MAX];
    size_t n = frame(&b, m, 2, 1, data), first = SK_FRAME_HEAD + 6 + 21;
    for (size_t cut = 0; cut < n; cut++) /* where entries end, it is a shorter frame */
        assert_int_equal(sk_frame_open(data, cut, &r, &err), cut == first || cut == SK_FRAME_HEAD ? 0 : SAIKAI_EFORMAT);
    data[0] ^= 1;
    assert_int_equal(sk_frame_open(data, n, &r, &err), SAIKAI_EFORMAT);
    n = entry(0, &m[0], data);
    assert_int_equal(sk_frame_open(data, n, &r, &err), SAIKAI_EFORMAT);
    n = entry(2, &m[1], data); /* a beat is of one rank */
    assert_int_equal(sk_frame_open(data, n, &r, &err), SAIKAI_EFORMAT);
    n = entry(2, &last, data); /* beyond the last number */
    assert_int_equal(sk_frame_open(data, n, &r, &err), SAIKAI_EFORMAT);
    n = entry(1, &last, data);
    assert_int_equal(sk_frame_open(data, n, &r, &err), 0);
    sk_frame_free(&b);
}

/* Where message_fuzz begins with frames. */
static void write_corpus(const char *folder)
{
    struct sk_message m[] = {of(SK_MSG_HELLO, 4, 0), of(SK_MSG_ALIVE, 4, 0), of(SK_MSG_ALIVE, 5, 0), of(SK_MSG_BEAT, 6, 0)};
    struct sk_frame b = {0};
    uint8_t data[SK_FRAME_MAX];
    char path[512];
    strcpy(m[0].host, "n1");
    size_t n = frame(&b, m, 4, 7, data);
    snprintf(path, sizeof path, "%s/frame", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputc('B', f);
    fwrite(data, 1, n, f);
    fclose(f);
    sk_frame_free(&b);
}

int main(void)
{
    if (getenv("SAIKAI_WRITE_CORPUS"))
        write_corpus(getenv("SAIKAI_WRITE_CORPUS"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_back_in_their_order),
        cmocka_unit_test(ranks_in_a_row_are_one_entry),
        cmocka_unit_test(it_is_full_before_it_is_too_long),
        cmocka_unit_test(what_is_malformed_is_refused_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
