/* The hub and the tree of node services: services are told where to speak, ranks are heard and answered through several of them, and those
 * whose way is silent get time to come by another one. And the end of a service that others speak to: it lets in its job's services only. */
#include "backbone/events_testing.h"
#include "backbone/frame/branch.h"

#include <stdlib.h>

enum { START = 2 };

static struct sk_link *open_service(const struct sk_link_settings *s, uint64_t number)
{
    struct sk_link *l = NULL;
    assert_int_equal(sk_link_open_service(s, number, job, &l, NULL), 0);
    return l;
}

static void put(struct sk_frame *b, enum sk_message_kind kind, uint32_t rank, uint64_t serial, const char *host)
{
    struct sk_message m = {.kind = kind, .incarnation = START, .rank = rank, .serial = serial};
    snprintf(m.host, sizeof m.host, "%s", host);
    sk_frame_add(b, &m);
}

/* Seven hosts, n0 … n6. */
static int find(void *arg, const char *host, int *n)
{
    (void)arg;
    *n = 7;
    return host[0] == 'n' ? atoi(host + 1) : -1;
}

/* The next entry of this kind that comes to the service. */
static int service_gets(struct sk_hub *h, struct sk_link *l, enum sk_message_kind kind, struct sk_message *m)
{
    struct sk_frame_rd r;
    struct sk_message told;
    for (double end = sk_now() + 60; sk_now() < end;) {
        sk_hub_wait(h, NULL, 0, 0.005);
        while (sk_hub_receive(h, &told))
            ;
        sk_link_wait(l, NULL, 0, 0.005);
        while (sk_link_receive_frame(l, &r))
            while (sk_frame_next(&r))
                if (r.m.kind == kind) {
                    *m = r.m;
                    return 1;
                }
    }
    return 0;
}

/* Hear until this rank has said hello, and all else that came with that. What others said before counts, too. */
static void hears_hello(struct sk_hub *h, uint32_t rank)
{
    struct sk_message m;
    do
        assert_true(hub_hears(h, &m, 60));
    while (m.kind != SK_MSG_HELLO || m.rank != rank);
    while (sk_hub_receive(h, &m))
        ;
}

static void services_are_told_where_to_speak(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    struct sk_link *first = open_service(&s, 1), *last = open_service(&s, 7);
    struct sk_frame b = {0};
    struct sk_message m;
    (void)state;
    assert_int_equal(sk_hub_grow_tree(h, 2, find, NULL, NULL), 0);
    put(&b, SK_MSG_HELLO, 6, 1, "n6");
    sk_link_send_frame(last, &b);
    hears_hello(h, 6);
    put(&b, SK_MSG_HELLO, 0, 1, "n0");
    sk_link_send_frame(first, &b);
    assert_true(service_gets(h, first, SK_MSG_RELAY, &m));
    for (uint64_t i = 0; i < 3; i++) { /* whoever is above the last one listens */
        struct sk_link *l = open_service(&s, 10 + i);
        char host[8], endpoint[32];
        snprintf(host, sizeof host, "n%d", 3 + (int)i);
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", 40003 + (int)i);
        put(&b, SK_MSG_HELLO, 3 + (uint32_t)i, 1, host);
        put(&b, SK_MSG_LISTENS, 0, 0, endpoint);
        sk_link_send_frame(l, &b);
        hears_hello(h, 3 + (uint32_t)i);
        sk_link_close(l);
    }
    sk_link_send_frame(last, &b);
    assert_true(service_gets(h, last, SK_MSG_PARENT, &m));
    assert_memory_equal(m.host, "tcp://127.0.0.1:4000", 20);
    sk_frame_free(&b);
    sk_link_close(first);
    sk_link_close(last);
    sk_hub_close(h);
}

/* Ranks that were told as living, when nothing of them came: those that speak through others, and not one that speaks by itself. */
struct excused {
    int times, self;
};

static void note_excused(struct excused *e, const struct sk_message *m)
{
    assert_int_equal(m->kind, SK_MSG_ALIVE);
    assert_true(m->incarnation == START && m->rank >= 2 && m->rank + m->number <= 6 && !m->age_ms);
    assert_true(!e->self || m->rank > 4 || m->rank + m->number <= 4);
    e->times++;
}

/* A service speaks for its own ranks 0 and 1, and passes on what others say of 2 to 5, with its age. */
static void what_is_passed_on_is_heard(struct sk_hub *h, struct sk_link *l)
{
    struct sk_frame b = {0};
    struct sk_message m;
    for (uint32_t r = 0; r < 6; r++) {
        if (r == 2) {
            put(&b, SK_MSG_ALIVE, 1, 0, "");
            sk_frame_add(&b, &(struct sk_message){.kind = SK_MSG_KIN, .number = 250});
        }
        put(&b, SK_MSG_HELLO, r, 1, r < 2 ? "n0" : "n1");
    }
    put(&b, SK_MSG_ALIVE, 2, 0, "");
    put(&b, SK_MSG_ALIVE, 3, 0, "");
    sk_link_send_frame(l, &b);
    for (uint32_t r = 0; r < 6; r++) {
        assert_true(hub_hears(h, &m, 60) && m.kind == SK_MSG_HELLO && m.rank == r);
        assert_int_equal(m.age_ms, r < 2 ? 0 : 250);
        if (r == 1)
            assert_true(hub_hears(h, &m, 60) && m.kind == SK_MSG_ALIVE && m.rank == 1 && m.number == 1 && !m.age_ms);
    }
    assert_true(hub_hears(h, &m, 60) && m.kind == SK_MSG_ALIVE && m.rank == 2 && m.number == 2 && m.age_ms == 250);
    sk_frame_free(&b);
}

/* When it is silent, 2 to 5 are told as living once, but not its own, and not a rank that speaks by itself since then. On a busy machine it
 * may seem silent, and the ranks be told, at any time. */
static void who_spoke_through_a_silent_service_gets_time(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    s.incarnation = START;
    struct sk_link *l = open_service(&s, 1), *own = open_link(&s, 4);
    struct excused e = {0};
    struct sk_message m = {.kind = SK_MSG_BEAT, .incarnation = START, .rank = 4, .serial = 9};
    (void)state;
    assert_int_equal(sk_hub_grow_tree(h, 2, find, NULL, NULL), 0);
    what_is_passed_on_is_heard(h, l);
    assert_int_equal(sk_link_send(own, &m), 0);
    while (!e.self) {
        assert_true(hub_hears(h, &m, 60));
        if (m.kind == SK_MSG_ALIVE)
            note_excused(&e, &m);
        else
            e.self = m.kind == SK_MSG_BEAT && m.rank == 4;
    }
    while (!e.times || hub_hears(h, &m, 0.3)) {
        if (!e.times)
            assert_true(hub_hears(h, &m, 60));
        note_excused(&e, &m);
    }
    assert_true(e.times <= 2);
    assert_false(hub_hears(h, &m, 1.5)); /* once */
    sk_link_close(own);
    sk_link_close(l);
    sk_hub_close(h);
}

static void orders_go_through_the_service_that_passes_on(void **state)
{
    struct sk_link_settings s;
    struct sk_hub *h = open_hub(&s);
    s.incarnation = START;
    struct sk_link *l = open_service(&s, 1);
    struct sk_message m;
    (void)state;
    assert_int_equal(sk_hub_grow_tree(h, 2, find, NULL, NULL), 0);
    what_is_passed_on_is_heard(h, l);
    sk_hub_send(h, &(struct sk_message){.kind = SK_MSG_SIGNAL, .incarnation = START, .rank = 5, .number = 10});
    assert_true(service_gets(h, l, SK_MSG_SIGNAL, &m) && m.rank == 5);
    sk_link_close(l);
    sk_hub_close(h);
}

/* What comes to the branch within some time; the other end is waited for, too. */
static int branch_hears(struct sk_branch *b, struct sk_link *l, int *place, struct sk_frame_rd *r, double seconds)
{
    for (double end = sk_now() + seconds; sk_now() < end;) {
        sk_branch_wait(b, &l, 1, NULL, 0, 0.01);
        if (sk_branch_receive(b, place, r, sk_now()))
            return 1;
    }
    return 0;
}

static void a_branch_lets_in_services_of_its_job_alone(void **state)
{
    static const uint8_t other[SK_KEY_BYTES] = {43};
    struct sk_link_settings s = {.rank_env = "X", .heartbeat_ms = 100, .node_timeout_ms = 1000, .orphan_timeout_ms = 1000};
    struct sk_branch *branch = NULL;
    struct sk_link *good = NULL, *stranger = NULL, *astray = NULL;
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    uint8_t secret[SK_KEY_BYTES], server[SK_KEY_BYTES], id[9] = {'N', 3};
    int place = -1;
    (void)state;
    assert_int_equal(sk_branch_open("127.0.0.1", 1, job, &branch, NULL), 0);
    assert_memory_equal(sk_branch_endpoint(branch), "tcp://127.0.0.1:", 16);
    assert_int_equal(sk_link_open_above(&s, sk_branch_endpoint(branch), sk_branch_number(branch), 5, job, &good, NULL), 0);
    assert_int_equal(sk_link_open_above(&s, sk_branch_endpoint(branch), sk_branch_number(branch), 6, other, &stranger, NULL), 0);
    /* one of this job that looks for another service, which listened here before */
    assert_int_equal(sk_link_open_above(&s, sk_branch_endpoint(branch), sk_branch_number(branch) + 1, 7, job, &astray, NULL), 0);
    sk_key_relay(job, sk_branch_number(branch), secret);
    assert_int_equal(sk_key_public(secret, server, NULL), 0);
    sk_key_rank(job, 0, 1, secret); /* somebody who has got hold of the key of a rank only */
    snprintf(s.endpoint, sizeof s.endpoint, "%s", sk_branch_endpoint(branch));
    struct forger rank = forge(&s, secret, server, id);
    forged(&rank, &(struct sk_message){.kind = SK_MSG_ALIVE});
    put(&b, SK_MSG_HELLO, 3, 1, "n3");
    sk_link_send_frame(stranger, &b);
    put(&b, SK_MSG_HELLO, 5, 1, "n5");
    sk_link_send_frame(astray, &b);
    put(&b, SK_MSG_HELLO, 4, 1, "n4");
    sk_link_send_frame(good, &b);
    assert_true(branch_hears(branch, good, &place, &r, 60));
    assert_true(place == 0 && sk_frame_next(&r) && r.m.rank == 4);
    assert_int_equal(sk_branch_living(branch, 0), 1);
    sk_branch_put(branch, place, &(struct sk_message){.kind = SK_MSG_AGE, .number = 1});
    sk_branch_flush(branch);
    int came = 0;
    for (double end = sk_now() + 60; !came && sk_now() < end;) {
        sk_branch_wait(NULL, &good, 1, NULL, 0, 0.1);
        came = sk_link_receive_frame(good, &r);
    }
    assert_true(came && sk_frame_next(&r) && r.m.kind == SK_MSG_AGE);
    assert_false(branch_hears(branch, stranger, &place, &r, 0.5));
    stop_forging(&rank);
    sk_frame_free(&b);
    sk_link_close(good);
    sk_link_close(stranger);
    sk_link_close(astray);
    sk_branch_close(branch, 1);
    sk_branch_close(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(services_are_told_where_to_speak),
        cmocka_unit_test(orders_go_through_the_service_that_passes_on),
        cmocka_unit_test(who_spoke_through_a_silent_service_gets_time),
        cmocka_unit_test(a_branch_lets_in_services_of_its_job_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
