/* Messages between keepers and the hub: both directions, wrong and stolen keys, forged clients and
 * hubs, old starts, and connections that are replaced. */
#include "backbone/events_testing.h"

#include "backbone/rates/recorder_testing.h"

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
        cmocka_unit_test(the_address_towards_a_host_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
