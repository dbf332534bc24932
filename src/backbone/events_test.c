#include "backbone/events.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

static struct sk_hub *open_hub(struct sk_link_settings *s)
{
    struct saikai_error err = {0};
    struct sk_hub *h = NULL;
    *s = (struct sk_link_settings){
        .rank_env = "X", .heartbeat_ms = 100, .node_timeout_ms = 1000, .orphan_timeout_ms = 1000};
    assert_int_equal(sk_hub_open("127.0.0.1", 1, &h, &err), 0);
    assert_int_equal(sk_hub_settings(h, "127.0.0.1", s, &err), 0);
    return h;
}

static struct sk_link *open_link(const struct sk_link_settings *s, uint32_t rank)
{
    struct saikai_error err = {0};
    struct sk_link *l = NULL;
    assert_int_equal(sk_link_open(s, rank, &l, &err), 0);
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
    assert_true(hub_hears(h, &r, 10));
    assert_int_equal(r.rank, 300);
    assert_string_equal(r.host, "n1");
    m = (struct sk_message){.kind = SK_MSG_BEAT, .incarnation = 2, .rank = 0};
    assert_int_equal(sk_link_send(a, &m), 0);
    assert_true(hub_hears(h, &r, 10));
    assert_int_equal(r.rank, 0);
    m = (struct sk_message){.kind = SK_MSG_SIGNAL, .incarnation = 2, .rank = 300, .number = 15};
    sk_hub_send(h, &m);
    assert_true(link_hears(h, b, &r, 10));
    assert_int_equal(r.kind, SK_MSG_SIGNAL);
    assert_int_equal(r.number, 15);
    assert_false(sk_link_receive(a, &r)); /* it was for the other */
    sk_link_close(a);
    sk_link_close(b);
    sk_hub_close(h);
}

static void another_key_is_refused(void **state)
{
    struct sk_link_settings s, other;
    struct sk_hub *h = open_hub(&s), *h2 = open_hub(&other);
    struct sk_message m = {.kind = SK_MSG_BEAT}, r;
    memcpy(s.client_secret, other.client_secret, 32); /* a valid key, but of another run */
    struct sk_link *l = open_link(&s, 0);
    sk_link_send(l, &m);
    assert_false(hub_hears(h, &r, 0.7));
    sk_link_close(l);
    sk_hub_close(h);
    sk_hub_close(h2);
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
    assert_true(hub_hears(h, &r, 10));
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
    assert_true(hub_hears(h, &r, 10));
    new = open_link(&s, 1);
    sk_link_send(new, &m);
    assert_true(hub_hears(h, &r, 10));
    m.kind = SK_MSG_HEARD;
    sk_hub_send(h, &m);
    assert_true(link_hears(h, new, &r, 10));
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
    assert_int_equal(sk_address_towards("no-such-host.invalid", out, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "no-such-host.invalid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_directions_carry_messages),
        cmocka_unit_test(another_key_is_refused),
        cmocka_unit_test(nobody_speaks_for_another_rank),
        cmocka_unit_test(a_new_connection_of_a_rank_replaces_the_old),
        cmocka_unit_test(the_address_towards_a_host_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
