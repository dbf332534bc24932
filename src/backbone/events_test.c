/* Messages between keepers and the hub: both directions, wrong and stolen keys, forged clients and
 * hubs, old starts, and connections that are replaced. */
#include "backbone/events.h"

#include "backbone/guests.h"
#include "backbone/rates/recorder_testing.h"
#include "base/clock.h"
#include "base/log.h"

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

static const uint8_t job[SK_KEY_BYTES] = {42};

/* Starts 0, 1 and 2 are welcome, with 301 ranks each. */
static struct sk_hub *open_hub_of(const uint8_t key[SK_KEY_BYTES], struct sk_link_settings *s)
{
    struct saikai_error err = {0};
    struct sk_hub *h = NULL;
    *s = (struct sk_link_settings){
        .rank_env = "X", .heartbeat_ms = 100, .node_timeout_ms = 1000, .orphan_timeout_ms = 1000};
    assert_int_equal(sk_hub_open("127.0.0.1", 1, key, &h, &err), 0);
    assert_int_equal(sk_hub_settings(h, s, &err), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(sk_hub_admit(h, i, 301, &err), 0);
    return h;
}

static struct sk_hub *open_hub(struct sk_link_settings *s)
{
    return open_hub_of(job, s);
}

static struct sk_link *open_link(const struct sk_link_settings *s, uint32_t rank)
{
    struct saikai_error err = {0};
    struct sk_link *l = NULL;
    assert_int_equal(sk_link_open(s, rank, job, &l, &err), 0);
    return l;
}

static int hub_hears(struct sk_hub *h, struct sk_message *m, double seconds)
{
    for (double end = sk_now() + seconds; sk_now() < end;) {
        sk_hub_wait(h, NULL, 0, 0.02);
        if (sk_hub_receive(h, m))
            return 1;
    }
    return 0;
}

static int link_hears(struct sk_hub *h, struct sk_link *l, struct sk_message *m, double seconds)
{
    for (double end = sk_now() + seconds; sk_now() < end;) {
        sk_hub_wait(h, NULL, 0, 0.005);
        sk_link_wait(l, NULL, 0, 0.005);
        if (sk_link_receive(l, m))
            return 1;
    }
    return 0;
}

static void both_directions_carry_messages(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    s.incarnation = 2;
    struct sk_link *a = open_link(&s, 0), *b = open_link(&s, 300);
    struct sk_message m = {.kind = SK_MSG_HELLO,
                           .incarnation = 2,
                           .rank = 300,
                           .host = "n1",
                           .pid = 9},
                      r;
    assert_int_equal(sk_link_send(b, &m), 0);
    assert_true(hub_hears(h, &r, 60));
    assert_int_equal(r.rank, 300);
    assert_string_equal(r.host, "n1");
    m = (struct sk_message){.kind = SK_MSG_BEAT, .incarnation = 2, .rank = 0};
    assert_int_equal(sk_link_send(a, &m), 0);
    assert_true(hub_hears(h, &r, 60));
    assert_int_equal(r.rank, 0);
    m = (struct sk_message){.kind = SK_MSG_SIGNAL, .incarnation = 2, .rank = 300, .number = 15};
    sk_hub_send(h, &m);
    assert_true(link_hears(h, b, &r, 60));
    assert_int_equal(r.kind, SK_MSG_SIGNAL);
    assert_int_equal(r.number, 15);
    assert_false(sk_link_receive(a, &r)); /* it was for the other */
    sk_link_close(a);
    sk_link_close(b);
    sk_hub_close(h);
}

/* ---- what was logged ---- */

static char logged[4096];

static void keep_log(void *arg, int level, const char *line)
{
    (void)arg;
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%d %s\n", level, line);
}

static void begin_log(void)
{
    *logged = 0;
    sk_log_set(keep_log, NULL, SK_LOG_WARN);
}

/* However long the connection takes. */
static void hears_nothing_and_says(struct sk_hub *h, const char *text)
{
    struct sk_message r;
    double begun = sk_now();
    do
        assert_false(hub_hears(h, &r, 0.1));
    while (!strstr(logged, text) && sk_now() - begun < 60);
    assert_non_null(strstr(logged, text));
    assert_false(hub_hears(h, &r, 0.1));
}

static void another_key_is_refused_and_told(void **state)
{
    struct sk_link_settings s;
    static const uint8_t other[SK_KEY_BYTES] = {43};
    struct sk_hub *h = open_hub_of(other, &s);
    struct sk_message m = {.kind = SK_MSG_BEAT}, r;
    struct sk_link *l = open_link(&s, 0); /* it speaks to the hub of another run */
    sk_link_send(l, &m);
    assert_false(hub_hears(h, &r, 0.7));
    sk_link_close(l);
    sk_hub_close(h);

    h = open_hub(&s);
    begin_log();
    s.incarnation = 3; /* a valid key, of a start that has not been admitted */
    l = open_link(&s, 0);
    m.incarnation = 3;
    sk_link_send(l, &m);
    hears_nothing_and_says(h, "a stranger at 127.0.0.1 tried to talk to this run and was refused");
    assert_false(sk_hub_has_heard(h, 3, 0));
    sk_link_close(l);
    sk_hub_close(h);
}

/* A client of its own, as somebody would write who has got hold of the key of one rank. */
struct forger {
    void *context, *dealer;
};

static struct forger forge(const struct sk_link_settings *s, const uint8_t secret[SK_KEY_BYTES],
                           const uint8_t server[SK_KEY_BYTES], const uint8_t *id)
{
    struct forger f = {.context = zmq_ctx_new()};
    uint8_t public_key[SK_KEY_BYTES];
    int zero = 0;
    f.dealer = zmq_socket(f.context, ZMQ_DEALER);
    assert_int_equal(sk_key_public(secret, public_key, NULL), 0);
    zmq_setsockopt(f.dealer, ZMQ_LINGER, &zero, sizeof zero);
    zmq_setsockopt(f.dealer, ZMQ_ROUTING_ID, id, 9);
    zmq_setsockopt(f.dealer, ZMQ_CURVE_SERVERKEY, server, SK_KEY_BYTES);
    zmq_setsockopt(f.dealer, ZMQ_CURVE_PUBLICKEY, public_key, SK_KEY_BYTES);
    zmq_setsockopt(f.dealer, ZMQ_CURVE_SECRETKEY, secret, SK_KEY_BYTES);
    assert_int_equal(zmq_connect(f.dealer, s->endpoint), 0);
    return f;
}

static void forged(struct forger *f, const struct sk_message *m)
{
    struct sk_buf b = {0};
    sk_message_encode(m, &b);
    assert_true(zmq_send(f->dealer, b.data, b.len, 0) >= 0);
    sk_buf_free(&b);
}

static void stop_forging(struct forger *f)
{
    zmq_close(f->dealer);
    zmq_ctx_term(f->context);
}

static void the_key_of_a_rank_is_good_for_that_rank_and_start_alone(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    uint8_t hub_secret[SK_KEY_BYTES], server[SK_KEY_BYTES], secret[SK_KEY_BYTES];
    const uint8_t as_rank_0[9] = {'K'}, as_rank_3[9] = {'K', 0, 0, 0, 0, 3};
    struct sk_message m = {.kind = SK_MSG_EXIT, .serial = 1}, r;
    sk_key_hub(job, hub_secret);
    assert_int_equal(sk_key_public(hub_secret, server, NULL), 0);
    sk_key_rank(job, 0, 3, secret);
    begin_log();
    struct forger f = forge(&s, secret, server, as_rank_0); /* also its name is the other's */
    forged(&f, &m);
    hears_nothing_and_says(h, "in the name of rank 0 came from another (0.3)");
    stop_forging(&f);
    f = forge(&s, secret, server, as_rank_3);
    forged(&f, &m);
    m.rank = 3;
    m.incarnation = 1; /* of the next start */
    forged(&f, &m);
    assert_false(hub_hears(h, &r, 0.5));
    m.incarnation = 0;
    forged(&f, &m);
    assert_true(hub_hears(h, &r, 60));
    assert_int_equal(r.rank, 3);
    assert_false(sk_hub_has_heard(h, 0, 0));
    assert_true(sk_hub_has_heard(h, 0, 3));
    stop_forging(&f);
    sk_hub_close(h);
}

static void what_came_before_is_dropped_and_told(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    uint8_t hub_secret[SK_KEY_BYTES], server[SK_KEY_BYTES], secret[SK_KEY_BYTES];
    const uint8_t id[9] = {'K'};
    struct sk_message m = {.kind = SK_MSG_EXIT, .serial = 7}, r;
    sk_key_hub(job, hub_secret);
    assert_int_equal(sk_key_public(hub_secret, server, NULL), 0);
    sk_key_rank(job, 0, 0, secret);
    struct forger f = forge(&s, secret, server, id);
    begin_log();
    forged(&f, &m);
    assert_true(hub_hears(h, &r, 60));
    forged(&f, &m);
    m.serial = 6;
    forged(&f, &m);
    hears_nothing_and_says(h, "a message of rank 0 came twice, or too late");
    m.serial = 8;
    forged(&f, &m);
    assert_true(hub_hears(h, &r, 60));
    stop_forging(&f);
    sk_hub_close(h);
}

/* Who has recorded all that a keeper said, and says it again, whole or in part: to this run and to the next one of the same secret. */
static void what_was_recorded_is_refused_and_told(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_message m = {.kind = SK_MSG_EXIT, .rank = 2}, r;
    const int port = atoi(strrchr(s.endpoint, ':') + 1);
    int through, hung_up = 0;
    size_t n;
    struct recorder *tap = recorder_start(port, &through);
    assert_non_null(tap);
    snprintf(s.endpoint, sizeof s.endpoint, "tcp://127.0.0.1:%d", through);
    struct sk_link *l = open_link(&s, 2);
    assert_int_equal(sk_link_send(l, &m), 0);
    assert_true(hub_hears(h, &r, 60));
    uint8_t *said = recorder_end(tap, &n);
    assert_true(n > 200);
    sk_link_close(l);
    begin_log();
    recorder_replay(port, said, n, 60, &hung_up);
    assert_true(hung_up);
    hears_nothing_and_says(h, "somebody without the key of this run tried to talk to it and was refused");
    for (size_t cut = 1; cut < n; cut += n / 20 + 1)
        recorder_replay(port, said, cut, 0.005, NULL);
    assert_false(hub_hears(h, &r, 0.1));
    sk_hub_close(h);
    h = open_hub(&s);
    begin_log();
    recorder_replay(atoi(strrchr(s.endpoint, ':') + 1), said, n, 60, &hung_up);
    assert_true(hung_up);
    hears_nothing_and_says(h, "was refused");
    assert_false(sk_hub_has_heard(h, 0, 2));
    sk_hub_close(h);
    free(said);
}

/* Who listens at the run's address without its key hears nothing, and is not believed. */
static void a_false_hub_is_not_spoken_to(void **state)
{
    struct sk_link_settings s;
    static const uint8_t other[SK_KEY_BYTES] = {44};
    struct sk_hub *h = open_hub_of(other, &s);
    struct sk_link *l = open_link(&s, 0);
    struct sk_message m = {.kind = SK_MSG_HELLO}, r;
    begin_log();
    sk_link_send(l, &m);
    hears_nothing_and_says(h, "somebody without the key of this run tried to talk to it");
    m.kind = SK_MSG_KILL;
    sk_hub_send(h, &m);
    assert_false(link_hears(h, l, &r, 0.4));
    sk_link_close(l);
    sk_hub_close(h);
}

static void only_the_address_in_use_is_bound(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sockaddr_in a = {.sin_family = AF_INET};
    const char *colon = strrchr(s.endpoint, ':');
    a.sin_port = htons((uint16_t)atoi(colon + 1));
    inet_pton(AF_INET, "127.0.0.2", &a.sin_addr); /* all of 127 is this host */
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_not_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
    sk_hub_close(h);
}

static void nobody_speaks_for_another_rank(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *l = open_link(&s, 1);
    struct sk_message m = {.kind = SK_MSG_EXIT, .rank = 2}, r;
    sk_link_send(l, &m);
    m.rank = 1;
    sk_link_send(l, &m);
    assert_true(hub_hears(h, &r, 60));
    assert_int_equal(r.rank, 1);
    sk_link_close(l);
    sk_hub_close(h);
}

static void a_new_connection_of_a_rank_replaces_the_old(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *old = open_link(&s, 1), *new;
    struct sk_message m = {.kind = SK_MSG_BEAT, .rank = 1}, r;
    sk_link_send(old, &m);
    assert_true(hub_hears(h, &r, 60));
    new = open_link(&s, 1);
    sk_link_send(new, &m); /* counted from the beginning: it is taken for one that came before */
    sk_link_send(new, &m);
    assert_true(hub_hears(h, &r, 60));
    m.kind = SK_MSG_HEARD;
    sk_hub_send(h, &m);
    assert_true(link_hears(h, new, &r, 60));
    sk_link_close(old);
    sk_link_close(new);
    sk_hub_close(h);
}

/* ---- services of nodes ---- */

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

static void the_address_towards_a_host_is_found(void **state)
{
    struct saikai_error err = {0};
    char out[64];
    assert_int_equal(sk_address_towards("127.0.0.1", out, &err), 0);
    assert_string_equal(out, "127.0.0.1");
    assert_int_equal(sk_address_of("localhost", out, &err), 0);
    assert_true(!strcmp(out, "127.0.0.1") || !strcmp(out, "::1"));
    assert_int_equal(sk_address_of("no-such-host.invalid", out, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_address_towards("no-such-host.invalid", out, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "no-such-host.invalid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_directions_carry_messages),
        cmocka_unit_test(another_key_is_refused_and_told),
        cmocka_unit_test(the_key_of_a_rank_is_good_for_that_rank_and_start_alone),
        cmocka_unit_test(what_came_before_is_dropped_and_told),
        cmocka_unit_test(what_was_recorded_is_refused_and_told),
        cmocka_unit_test(a_false_hub_is_not_spoken_to),
        cmocka_unit_test(only_the_address_in_use_is_bound),
        cmocka_unit_test(nobody_speaks_for_another_rank),
        cmocka_unit_test(a_new_connection_of_a_rank_replaces_the_old),
        cmocka_unit_test(a_service_speaks_for_its_ranks),
        cmocka_unit_test(what_was_lost_of_a_service_is_asked_for),
        cmocka_unit_test(what_is_said_again_is_told_once),
        cmocka_unit_test(who_is_overtaken_by_itself_is_no_stranger),
        cmocka_unit_test(a_missing_frame_is_noticed),
        cmocka_unit_test(a_rank_may_change_its_way),
        cmocka_unit_test(services_hear_that_the_job_is_over),
        cmocka_unit_test(nobody_passes_for_a_service),
        cmocka_unit_test(the_address_towards_a_host_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
