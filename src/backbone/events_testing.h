/* For tests of the hub: a run with its hub and links, what was logged of it, and somebody who has got hold of a key. */
#ifndef SK_BACKBONE_EVENTS_TESTING_H
#define SK_BACKBONE_EVENTS_TESTING_H

#include "backbone/events.h"
#include "backbone/guests.h"
#include "base/clock.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

static const uint8_t job[SK_KEY_BYTES] = {42};

/* Starts 0, 1 and 2 are welcome, with 301 ranks each. */
static inline struct sk_hub *open_hub_of(const uint8_t key[SK_KEY_BYTES], struct sk_link_settings *s)
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

static inline struct sk_hub *open_hub(struct sk_link_settings *s)
{
    return open_hub_of(job, s);
}

static inline struct sk_link *open_link(const struct sk_link_settings *s, uint32_t rank)
{
    struct saikai_error err = {0};
    struct sk_link *l = NULL;
    assert_int_equal(sk_link_open(s, rank, job, &l, &err), 0);
    return l;
}

static inline int hub_hears(struct sk_hub *h, struct sk_message *m, double seconds)
{
    double end = sk_now() + seconds;
    do { /* once at least, however late this process gets its turn */
        sk_hub_wait(h, NULL, 0, 0.02);
        if (sk_hub_receive(h, m))
            return 1;
    } while (sk_now() < end);
    return 0;
}

static inline int link_hears(struct sk_hub *h, struct sk_link *l, struct sk_message *m, double seconds)
{
    for (double end = sk_now() + seconds; sk_now() < end;) {
        sk_hub_wait(h, NULL, 0, 0.005);
        sk_link_wait(l, NULL, 0, 0.005);
        if (sk_link_receive(l, m))
            return 1;
    }
    return 0;
}

static char logged[4096];

static inline void keep_log(void *arg, int level, const char *line)
{
    (void)arg;
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%d %s\n", level, line);
}

static inline void begin_log(void)
{
    *logged = 0;
    sk_log_set(keep_log, NULL, SK_LOG_WARN);
}

/* However long the connection takes. */
static inline void hears_nothing_and_says(struct sk_hub *h, const char *text)
{
    struct sk_message r;
    double begun = sk_now();
    do
        assert_false(hub_hears(h, &r, 0.1));
    while (!strstr(logged, text) && sk_now() - begun < 60);
    assert_non_null(strstr(logged, text));
    assert_false(hub_hears(h, &r, 0.1));
}

/* A client of its own, as somebody would write who has got hold of the key of one rank. */
struct forger {
    void *context, *dealer;
};

static inline struct forger forge(const struct sk_link_settings *s, const uint8_t secret[SK_KEY_BYTES],
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

static inline void forged(struct forger *f, const struct sk_message *m)
{
    struct sk_buf b = {0};
    sk_message_encode(m, &b);
    assert_true(zmq_send(f->dealer, b.data, b.len, 0) >= 0);
    sk_buf_free(&b);
}

static inline void stop_forging(struct forger *f)
{
    zmq_close(f->dealer);
    zmq_ctx_term(f->context);
}

#endif
