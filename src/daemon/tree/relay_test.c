/* A service that speaks through another one, over real sockets and by a clock of the test: it goes over when that one hears the launcher and
 * not before, orders and words find their ways, and it comes back to the launcher when there is nothing to be heard of it. */
#include "backbone/events_testing.h"
#include "daemon/tree/relay.h"
#include "daemon/tree/up.h"

static const double answer_s = 0.15; /* as the service of a node expects one, with the heartbeat of these tests */

struct world {
    struct sk_link_settings s;
    struct sk_hub *hub;
    struct sk_relay *relay;
    struct sk_up *up;
    double now; /* of the services: connecting may take as long as it likes */
    uint32_t age_ms; /* as the relay says of the launcher */
    uint64_t at_hub; /* frames of the service that came there */
    int words;       /* … urgent or new, at the relay */
    int heard, changed, orders;
    uint32_t marker;
};

static void begin(struct world *w)
{
    *w = (struct world){.now = 100};
    w->hub = open_hub(&w->s);
    assert_non_null(w->relay = sk_relay_open(&w->s, job));
    assert_memory_equal(sk_relay_endpoint(w->relay), "tcp://127.0.0.1:", 16);
    assert_non_null(w->up = sk_up_new(&w->s, job, w->now));
}

static void end(struct world *w)
{
    sk_up_free(w->up);
    sk_relay_close(w->relay, 1);
    sk_hub_close(w->hub);
}

/* The service says that the program of this rank was started. */
static void say(struct world *w, uint32_t rank)
{
    struct sk_message m = {.kind = SK_MSG_HELLO, .incarnation = 1, .rank = rank, .serial = 1, .host = "n1"};
    struct sk_frame b = {0};
    sk_frame_add(&b, &m);
    sk_up_send(w->up, &b);
    sk_frame_free(&b);
}

/* All look what came; orders for this rank are counted. */
static void look(struct world *w, uint32_t rank)
{
    struct sk_message m;
    struct sk_frame_rd r;
    struct sk_link *links[2];
    int heard, services;
    sk_hub_wait(w->hub, NULL, 0, 0.005);
    while (sk_hub_receive(w->hub, &m))
        ;
    w->at_hub = sk_hub_frames(w->hub, &services);
    w->words += sk_relay_listen(w->relay, w->age_ms, w->now) > SK_CLIENT_NOTHING;
    sk_relay_flush(w->relay);
    sk_up_links(w->up, links);
    sk_branch_wait(sk_relay_branch(w->relay), links, 2, NULL, 0, 0.005);
    while (sk_up_receive(w->up, &r, &heard, w->now)) {
        w->heard += heard;
        while (sk_frame_next(&r))
            w->orders += r.m.kind == SK_MSG_SIGNAL && r.m.rank == rank;
    }
    enum sk_up_turn t = sk_up_turn(w->up, answer_s, w->now);
    assert_true(t != SK_UP_FAILED);
    w->changed += t == SK_UP_CHANGED;
}

static void turn(struct world *w, uint32_t rank)
{
    say(w, rank);
    look(w, rank);
}

/* Whatever the service and the one above have said to each other has come: so has an order for a rank that was heard of last. */
static void settle(struct world *w)
{
    uint32_t rank = 100 + w->marker++;
    const struct sk_message order = {.kind = SK_MSG_SIGNAL, .incarnation = 1, .rank = rank, .number = 10};
    int before = w->orders, given = 0;
    say(w, rank);
    for (double last = sk_now() + 60; w->orders == before && sk_now() < last;) {
        given = given || sk_relay_order(w->relay, &order);
        look(w, rank);
    }
    assert_true(w->orders > before);
}

/* Until this counts more than it did; 0: it does not, in this time. */
static int until_more(struct world *w, const int *count, double seconds)
{
    int before = *count;
    for (double last = sk_now() + seconds; *count == before && sk_now() < last;)
        turn(w, 7);
    return *count > before;
}

static void goes_over(struct world *w)
{
    assert_true(until_more(w, &w->heard, 60)); /* of the launcher */
    sk_up_try(w->up, sk_relay_endpoint(w->relay), sk_relay_number(w->relay), w->now);
    assert_true(until_more(w, &w->changed, 60));
    assert_true(until_more(w, &w->words, 60));
}

/* 1: some of what is said in twenty turns came there. */
static int says_to_the_launcher(struct world *w)
{
    uint64_t before = w->at_hub;
    for (int i = 0; i < 20; i++)
        turn(w, 7);
    return w->at_hub != before;
}

static void orders_and_words_find_their_way(void **state)
{
    (void)state;
    struct world w;
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    size_t n;
    begin(&w);
    goes_over(&w);
    for (double last = sk_now() + 60; says_to_the_launcher(&w);) /* what was under way comes */
        assert_true(sk_now() < last);
    sk_relay_merge(w.relay, &b, w.now, NULL, NULL);
    const void *data = sk_frame_close(&b, 1, &n);
    assert_int_equal(sk_frame_open(data, n, &r, NULL), 0);
    assert_true(sk_frame_next(&r) && r.m.kind == SK_MSG_KIN && sk_frame_next(&r) && r.m.kind == SK_MSG_HELLO && r.m.rank == 7);
    sk_frame_free(&b);
    struct sk_message order = {.kind = SK_MSG_SIGNAL, .incarnation = 1, .rank = 8, .number = 10};
    assert_int_equal(sk_relay_order(w.relay, &order), 0); /* of nobody here */
    order.rank = 7;
    assert_int_equal(sk_relay_order(w.relay, &order), 1);
    assert_true(until_more(&w, &w.orders, 60));
    assert_true(sk_relay_is_needed(w.relay, w.now));
    assert_false(sk_relay_is_needed(w.relay, w.now + 2));
    end(&w);
}

/* What is on its way makes nobody younger; one that does not hear the launcher is left for the launcher, in time. */
static void who_does_not_hear_the_launcher_is_left(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    assert_true(until_more(&w, &w.heard, 60));
    w.age_ms = 800;
    sk_up_try(w.up, sk_relay_endpoint(w.relay), sk_relay_number(w.relay), w.now);
    for (int asked = 0; asked < 5; asked++) { /* it answers, and is not taken */
        double before = w.now;
        w.now += 0.1;
        for (double last = sk_now() + 60; sk_now() < last && !sk_branch_living(sk_relay_branch(w.relay), before);)
            turn(&w, 7);
        assert_int_equal(sk_branch_living(sk_relay_branch(w.relay), before), 1);
    }
    for (int i = 0; i < 20; i++)
        turn(&w, 7);
    assert_int_equal(w.changed, 0);
    w.age_ms = 0;
    w.now += 0.1;
    assert_true(until_more(&w, &w.changed, 60));
    settle(&w);
    assert_int_equal(sk_up_age(w.up, 0, w.now), 0);
    double heard = w.now;
    int told = w.heard, changed = w.changed;
    for (int i = 1; i <= 4; i++) { /* it answers each time, and says how long ago it heard the launcher */
        w.now = heard + 0.1 * i;
        w.age_ms = (uint32_t)(100 * i);
        settle(&w);
        assert_in_range(sk_up_age(w.up, 0, w.now), 100 * i - 1, 100 * i + 1);
    }
    assert_int_equal(sk_up_age(w.up, 0.3, w.now), (int)(1000 * (w.now - sk_up_heard(w.up) - 0.3)));
    assert_true(w.heard == told && w.changed == changed);
    w.now = heard + 1;
    w.age_ms = 1000;
    uint64_t at_hub = w.at_hub;
    assert_true(until_more(&w, &w.changed, 60));
    for (double last = sk_now() + 60; w.at_hub == at_hub && sk_now() < last;)
        turn(&w, 7);
    assert_true(w.at_hub > at_hub);
    end(&w);
}

static void a_service_that_is_gone_is_left_and_another_one_in_its_place_is_not_taken(void **state)
{
    (void)state;
    struct world w;
    begin(&w);
    goes_over(&w);
    settle(&w);
    int changed = w.changed;
    w.now += answer_s + 1.0 / 3 + 0.01; /* a third of the node timeout */
    sk_relay_close(w.relay, 0);
    assert_non_null(w.relay = sk_relay_open(&w.s, job));
    look(&w, 7);
    assert_int_equal(w.changed, changed + 1);
    sk_up_try(w.up, sk_relay_endpoint(w.relay), sk_relay_number(w.relay) + 1, w.now);
    assert_false(until_more(&w, &w.changed, 0.5));
    sk_up_try(w.up, sk_relay_endpoint(w.relay), sk_relay_number(w.relay), w.now);
    assert_true(until_more(&w, &w.changed, 60));
    end(&w);
}

static int count_living(struct sk_relay *relay, double now, uint32_t *rank)
{
    struct sk_frame b = {0};
    struct sk_frame_rd r;
    size_t n;
    int living = 0;
    sk_relay_merge(relay, &b, now, NULL, NULL);
    const void *data = sk_frame_close(&b, 1, &n);
    assert_int_equal(sk_frame_open(data, n, &r, NULL), 0);
    while (sk_frame_next(&r))
        if (r.m.kind == SK_MSG_ALIVE) {
            living++;
            *rank = r.m.rank;
        }
    sk_frame_free(&b);
    return living;
}

/* One of those below falls silent that others speak through: these live as of then, once. */
static void who_speaks_through_a_silent_one_gets_time(void **state)
{
    (void)state;
    struct world w;
    struct sk_link *l = NULL;
    struct sk_frame b = {0};
    uint32_t rank = 0;
    begin(&w);
    assert_int_equal(sk_link_open_above(&w.s, sk_relay_endpoint(w.relay), sk_relay_number(w.relay), 9, job, &l, NULL), 0);
    sk_frame_add(&b, &(struct sk_message){.kind = SK_MSG_HELLO, .incarnation = 1, .rank = 2, .serial = 1, .host = "n2"});
    sk_frame_add(&b, &(struct sk_message){.kind = SK_MSG_KIN, .number = 100});
    sk_frame_add(&b, &(struct sk_message){.kind = SK_MSG_HELLO, .incarnation = 1, .rank = 3, .serial = 1, .host = "n3"});
    sk_link_send_frame(l, &b);
    for (double last = sk_now() + 60; sk_now() < last && sk_relay_listen(w.relay, 0, w.now) == SK_CLIENT_NOTHING;)
        sk_branch_wait(sk_relay_branch(w.relay), &l, 1, NULL, 0, 0.01);
    assert_int_equal(count_living(w.relay, w.now, &rank), 0);
    sk_relay_listen(w.relay, 0, w.now + 0.4);
    assert_int_equal(count_living(w.relay, w.now + 0.4, &rank), 0);
    sk_relay_listen(w.relay, 0, w.now + 0.6);
    assert_int_equal(count_living(w.relay, w.now + 0.6, &rank), 1);
    assert_int_equal(rank, 3);
    sk_relay_listen(w.relay, 0, w.now + 0.7);
    assert_int_equal(count_living(w.relay, w.now + 0.7, &rank), 0);
    sk_frame_free(&b);
    sk_link_close(l);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_and_words_find_their_way),
        cmocka_unit_test(who_does_not_hear_the_launcher_is_left),
        cmocka_unit_test(a_service_that_is_gone_is_left_and_another_one_in_its_place_is_not_taken),
        cmocka_unit_test(who_speaks_through_a_silent_one_gets_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
