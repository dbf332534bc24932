/* Services of nodes and the hub: they speak for their ranks, what is lost of their frames is asked for, and nobody passes for one. */
#include "backbone/events_testing.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

static struct sk_link *open_service(const struct sk_link_settings *s, uint64_t number)
{
    struct saikai_error err = {0};
    struct sk_link *l = NULL;
    assert_int_equal(sk_link_open_service(s, number, job, &l, &err), 0);
    return l;
}

static void put(struct sk_frame *b, enum sk_message_kind kind, uint32_t rank, uint64_t serial)
{
    sk_frame_add(b, &(struct sk_message){.kind = kind, .rank = rank, .serial = serial, .host = "n1"});
}

static int service_hears(struct sk_hub *h, struct sk_link *l, struct sk_frame_rd *r, double seconds)
{
    for (double end = sk_now() + seconds; sk_now() < end;) {
        sk_hub_wait(h, NULL, 0, 0.005);
        sk_link_wait(l, NULL, 0, 0.005);
        if (sk_link_receive_frame(l, r))
            return 1;
    }
    return 0;
}

/* Frames may come that say only that the hub hears. */
static void service_gets_an_order(struct sk_hub *h, struct sk_link *l, struct sk_frame_rd *r)
{
    do
        assert_true(service_hears(h, l, r, 60));
    while (!sk_frame_next(r));
}

static void a_service_speaks_for_its_ranks(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *l = open_service(&s, 1ull << 63 | 5);
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    struct sk_message m;
    int services;
    for (uint32_t rank = 10; rank < 20; rank++)
        put(&b, SK_MSG_HELLO, rank, 1);
    for (uint32_t rank = 10; rank < 22; rank++)
        put(&b, SK_MSG_ALIVE, rank, 0); /* of the last two nothing was heard: they are not of this service */
    assert_int_equal(sk_link_send_frame(l, &b), 0);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(hub_hears(h, &m, 60));
        assert_int_equal(m.kind, SK_MSG_HELLO);
        assert_int_equal(m.rank, 10 + i);
    }
    assert_true(hub_hears(h, &m, 60));
    assert_int_equal(m.kind, SK_MSG_ALIVE);
    assert_int_equal(m.rank, 10);
    assert_int_equal(m.number, 10); /* in a row */
    assert_false(sk_hub_receive(h, &m));
    assert_true(sk_hub_has_heard(h, 0, 19));
    assert_false(sk_hub_has_heard(h, 0, 20));
    for (uint32_t rank = 10; rank < 20; rank++)
        sk_hub_send(h, &(struct sk_message){.kind = SK_MSG_HEARD, .rank = rank});
    service_gets_an_order(h, l, &r);
    assert_int_equal(r.m.kind, SK_MSG_HEARD); /* two ranks of which no hello came: it is to say all again */
    for (uint32_t rank = 10; rank < 20; rank++)
        sk_hub_send(h, &(struct sk_message){.kind = SK_MSG_SIGNAL, .rank = rank, .number = 10});
    service_gets_an_order(h, l, &r);
    assert_int_equal(r.m.rank, 10);
    assert_int_equal(r.left, 9); /* one entry for all */
    assert_int_equal(sk_hub_frames(h, &services), 1);
    assert_int_equal(services, 1);
    sk_frame_free(&b);
    sk_link_close(l);
    sk_hub_close(h);
}

/* A frame is lost: the service is asked to say all again, and the hello, with the name of the host, counts although a later message of
 * its rank came before it. Of ranks in a row that live, those of other ways are left out. */
static void what_was_lost_of_a_service_is_asked_for(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *l = open_service(&s, 5), *own = open_link(&s, 6);
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    struct sk_message m = {.kind = SK_MSG_BEAT, .rank = 6};
    assert_int_equal(sk_link_send(own, &m), 0);
    assert_true(hub_hears(h, &m, 60));
    put(&b, SK_MSG_HELLO, 4, 1);
    put(&b, SK_MSG_BEAT, 4, 2);
    sk_link_send_frame(l, &b);
    assert_true(hub_hears(h, &m, 60) && m.kind == SK_MSG_HELLO);
    assert_true(hub_hears(h, &m, 60) && m.kind == SK_MSG_BEAT);
    put(&b, SK_MSG_HELLO, 4, 1); /* it was told already */
    put(&b, SK_MSG_BEAT, 4, 1);
    for (uint32_t rank = 5; rank < 8; rank++)
        put(&b, SK_MSG_HELLO, rank, rank == 6 ? 1 : 3);
    for (uint32_t rank = 3; rank < 9; rank++)
        put(&b, SK_MSG_ALIVE, rank, 0);
    sk_link_send_frame(l, &b);
    for (uint32_t rank = 5; rank < 8; rank += 2) {
        assert_true(hub_hears(h, &m, 60));
        assert_true(m.kind == SK_MSG_HELLO && m.rank == rank);
    }
    assert_true(hub_hears(h, &m, 60));
    assert_true(m.kind == SK_MSG_ALIVE && m.rank == 4 && m.number == 2); /* 3: nobody knows it, 6: it speaks for itself */
    assert_true(hub_hears(h, &m, 60));
    assert_true(m.kind == SK_MSG_ALIVE && m.rank == 7 && m.number == 1);
    assert_false(sk_hub_receive(h, &m));
    service_gets_an_order(h, l, &r);
    assert_int_equal(r.m.kind, SK_MSG_HEARD); /* for ranks 3 and 6 */
    sk_frame_free(&b);
    sk_link_close(own);
    sk_link_close(l);
    sk_hub_close(h);
}

/* What a service says again of a keeper is no sign that the keeper lives; a hello that was lost before is told, once. */
static void what_is_said_again_is_told_once(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *l = open_service(&s, 5);
    struct sk_frame b = {0};
    struct sk_message m;
    *logged = 0;
    sk_log_set(keep_log, NULL, SK_LOG_INFO);
    put(&b, SK_MSG_BEAT, 4, 2); /* the frame with the hello before it did not come */
    sk_link_send_frame(l, &b);
    assert_true(hub_hears(h, &m, 60) && m.kind == SK_MSG_BEAT);
    assert_null(strstr(logged, "speak through"));
    for (int i = 0; i < 3; i++) {
        put(&b, SK_MSG_HELLO, 4, 1);
        put(&b, SK_MSG_BEAT, 4, 2);
        put(&b, SK_MSG_BEAT, 9, 1 + (uint64_t)i); /* so that something comes */
        sk_link_send_frame(l, &b);
        assert_true(hub_hears(h, &m, 60));
        if (!i) {
            assert_true(m.kind == SK_MSG_HELLO && m.rank == 4);
            assert_true(hub_hears(h, &m, 60));
        }
        assert_true(m.kind == SK_MSG_BEAT && m.rank == 9);
        assert_false(sk_hub_receive(h, &m));
    }
    assert_non_null(strstr(logged, "speak through the service of their node")); /* also when its first word was lost */
    sk_log_set(NULL, NULL, SK_LOG_WARN);
    sk_frame_free(&b);
    sk_link_close(l);
    sk_hub_close(h);
}

/* A rank has gone over to a service, and what it said itself before comes later. That is nobody's mischief. */
static void who_is_overtaken_by_itself_is_no_stranger(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *l = open_service(&s, 5), *own = open_link(&s, 4);
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    struct sk_message m = {.kind = SK_MSG_BEAT, .rank = 4};
    assert_int_equal(sk_link_send(own, &m), 0);
    assert_true(hub_hears(h, &m, 60));
    begin_log();
    put(&b, SK_MSG_ALIVE, 4, 0); /* its hello was lost: it is asked for although the rank has been heard */
    put(&b, SK_MSG_HELLO, 5, 1);
    sk_link_send_frame(l, &b);
    assert_true(hub_hears(h, &m, 60) && m.rank == 5);
    service_gets_an_order(h, l, &r);
    assert_int_equal(r.m.kind, SK_MSG_HEARD);
    put(&b, SK_MSG_HELLO, 4, 20);
    sk_link_send_frame(l, &b);
    assert_true(hub_hears(h, &m, 60) && m.kind == SK_MSG_HELLO);
    m = (struct sk_message){.kind = SK_MSG_BEAT, .rank = 4};
    assert_int_equal(sk_link_send(own, &m), 0);
    m.serial = 21;
    m.kind = SK_MSG_EXIT; /* that is how the test knows that the one before has come */
    assert_int_equal(sk_link_send(own, &m), 0);
    assert_true(hub_hears(h, &m, 60) && m.kind == SK_MSG_EXIT);
    assert_null(strstr(logged, "twice"));
    sk_log_set(NULL, NULL, SK_LOG_WARN);
    sk_frame_free(&b);
    sk_link_close(own);
    sk_link_close(l);
    sk_hub_close(h);
}

static void a_missing_frame_is_noticed(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    uint8_t hub_secret[SK_KEY_BYTES], server[SK_KEY_BYTES], secret[SK_KEY_BYTES], data[512];
    const uint8_t as_service[9] = {'N', 5};
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    struct sk_message m;
    sk_key_hub(job, hub_secret);
    assert_int_equal(sk_key_public(hub_secret, server, NULL), 0);
    sk_key_service(job, secret);
    struct forger f = forge(&s, secret, server, as_service);
    for (uint64_t serial = 1; serial < 6; serial += serial == 2 ? 2 : 1) {
        size_t n;
        int again = 0;
        put(&b, SK_MSG_HELLO, 4, serial);
        const void *frame = sk_frame_close(&b, serial, &n);
        assert_true(zmq_send(f.dealer, frame, n, 0) >= 0);
        sk_frame_clear(&b);
        assert_true(hub_hears(h, &m, 60));
        sk_hub_wait(h, NULL, 0, 0); /* sends what is owed */
        int got = zmq_recv(f.dealer, data, sizeof data, 0);
        assert_int_equal(sk_frame_open(data, (size_t)got, &r, NULL), 0);
        while (sk_frame_next(&r))
            again |= r.m.kind == SK_MSG_HEARD;
        assert_int_equal(again, serial == 4);
    }
    sk_frame_free(&b);
    stop_forging(&f);
    sk_hub_close(h);
}

/* Each rank is answered by the way that it took last, and what it said before by another one is old. */
static void a_rank_may_change_its_way(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *l = open_service(&s, 5), *own;
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    struct sk_message m;
    put(&b, SK_MSG_HELLO, 4, 1);
    sk_link_send_frame(l, &b);
    assert_true(hub_hears(h, &m, 60));
    own = open_link(&s, 4);
    m = (struct sk_message){.kind = SK_MSG_BEAT, .rank = 4, .serial = 7};
    assert_int_equal(sk_link_send(own, &m), 0);
    assert_true(hub_hears(h, &m, 60));
    assert_int_equal(m.kind, SK_MSG_BEAT);
    assert_true(m.serial == 7);
    put(&b, SK_MSG_EXIT, 4, 6); /* the service was stopped, and goes on */
    put(&b, SK_MSG_ALIVE, 4, 0);
    put(&b, SK_MSG_HELLO, 5, 1);
    sk_link_send_frame(l, &b);
    assert_true(hub_hears(h, &m, 60));
    assert_int_equal(m.rank, 5);
    sk_hub_send(h, &(struct sk_message){.kind = SK_MSG_KILL, .rank = 4});
    assert_true(link_hears(h, own, &m, 60));
    assert_int_equal(m.kind, SK_MSG_KILL);
    put(&b, SK_MSG_HELLO, 4, 8); /* back to the service */
    sk_link_send_frame(l, &b);
    assert_true(hub_hears(h, &m, 60));
    sk_hub_send(h, &(struct sk_message){.kind = SK_MSG_KILL, .rank = 4});
    do /* it was asked to say all again when it spoke for a rank that was not its own */
        service_gets_an_order(h, l, &r);
    while (r.m.kind == SK_MSG_HEARD);
    assert_int_equal(r.m.kind, SK_MSG_KILL);
    assert_false(sk_link_receive(own, &m));
    sk_frame_free(&b);
    sk_link_close(l);
    sk_link_close(own);
    sk_hub_close(h);
}

static void services_hear_that_the_job_is_over(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *l = open_service(&s, 5);
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    struct sk_message m;
    put(&b, SK_MSG_TELL, 0, 0);
    put(&b, SK_MSG_HELLO, 4, 1);
    sk_link_send_frame(l, &b);
    begin_log();
    assert_true(hub_hears(h, &m, 60));
    assert_non_null(strstr(logged, "1 n1\n")); /* what it says to the user, as a warning */
    sk_hub_close(h);
    int over = 0;
    for (double end = sk_now() + 60; !over && sk_now() < end;) {
        sk_link_wait(l, NULL, 0, 0.02);
        while (sk_link_receive_frame(l, &r))
            while (sk_frame_next(&r))
                over |= r.m.kind == SK_MSG_END;
    }
    assert_true(over);
    sk_frame_free(&b);
    sk_link_close(l);
}

/* The key of a rank does not make a service, nor the other way round; and a frame counts once. */
static void nobody_passes_for_a_service(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    uint8_t hub_secret[SK_KEY_BYTES], server[SK_KEY_BYTES], secret[SK_KEY_BYTES];
    const uint8_t as_service[9] = {'N', 5}, as_rank_3[9] = {'K', 0, 0, 0, 0, 3};
    struct sk_message hello = {.kind = SK_MSG_HELLO, .rank = 3, .serial = 1}, r;
    struct sk_frame b = {0};
    size_t n;
    sk_key_hub(job, hub_secret);
    assert_int_equal(sk_key_public(hub_secret, server, NULL), 0);
    sk_key_rank(job, 0, 3, secret);
    sk_frame_add(&b, &hello);
    const void *frame = sk_frame_close(&b, 1, &n);
    begin_log();
    struct forger f = forge(&s, secret, server, as_service);
    assert_true(zmq_send(f.dealer, frame, n, 0) >= 0);
    hears_nothing_and_says(h, "in the name of a node's service came from another (0.3)");
    stop_forging(&f);
    sk_hub_close(h);

    h = open_hub(&s);
    begin_log();
    sk_key_service(job, secret);
    f = forge(&s, secret, server, as_rank_3);
    forged(&f, &hello);
    hears_nothing_and_says(h, "in the name of rank 3 came from another (service)");
    stop_forging(&f);
    sk_hub_close(h);

    h = open_hub(&s);
    f = forge(&s, secret, server, as_service);
    begin_log();
    assert_true(zmq_send(f.dealer, frame, n, 0) >= 0);
    assert_true(hub_hears(h, &r, 60));
    assert_true(zmq_send(f.dealer, frame, n, 0) >= 0);
    hears_nothing_and_says(h, "a frame of a node's service came twice");
    stop_forging(&f);
    sk_hub_close(h);

    h = open_hub(&s);
    f = forge(&s, secret, server, as_service);
    begin_log();
    assert_true(zmq_send(f.dealer, frame, n - 1, 0) >= 0);
    hears_nothing_and_says(h, "dropped a frame of a node's service");
    stop_forging(&f);
    sk_hub_close(h);
    sk_frame_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_speaks_for_its_ranks),
        cmocka_unit_test(what_was_lost_of_a_service_is_asked_for),
        cmocka_unit_test(what_is_said_again_is_told_once),
        cmocka_unit_test(who_is_overtaken_by_itself_is_no_stranger),
        cmocka_unit_test(a_missing_frame_is_noticed),
        cmocka_unit_test(a_rank_may_change_its_way),
        cmocka_unit_test(services_hear_that_the_job_is_over),
        cmocka_unit_test(nobody_passes_for_a_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
