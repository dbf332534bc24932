/* Hosts files are read with errors that name the line, ranks sit in blocks, and spares or the other
 * hosts take over. */
#include "recovery/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

static struct sk_hosts parse(const char *text)
{
    struct saikai_error err = {0};
    struct sk_hosts h = {0};
    int rc = sk_hosts_parse(text, strlen(text), "hosts", &h, &err);
    if (rc)
        fail_msg("%s", err.text);
    return h;
}

static void lines_of_every_form_are_read(void **state)
{
    struct sk_hosts h =
        parse("# two racks\n\nn1 slots=4 # the big one\r\n\tn2\n10.0.0.3 slots=2\nfe80::1");
    assert_int_equal(h.n, 4);
    assert_string_equal(h.host[0].name, "n1");
    assert_int_equal(h.host[0].slots, 4);
    assert_string_equal(h.host[1].name, "n2");
    assert_int_equal(h.host[1].slots, 0);
    assert_int_equal(h.host[2].slots, 2);
    assert_string_equal(h.host[3].name, "fe80::1");
    sk_hosts_free(&h);
}

static void errors_name_the_line(void **state)
{
    static const struct {
        const char *text, *in_error;
    } bad[] = {
        {"", "hosts"},
        {"# nothing\n", "names no host"},
        {"n1\nn2 slots=0\n", "hosts:2"},
        {"n1 slots=x", "hosts:1"},
        {"n1 slots=99999999999", "hosts:1"},
        {"n1\n\nn1 slots=2", "hosts:3"},
        {"n1 slots=1 slots=2", "hosts:1"},
        {"n1 cores=4", "cores=4"},
        {"--oversubscribe", "hosts:1"},
        {"n1;reboot", "hosts:1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct saikai_error err = {0};
        struct sk_hosts h = {.n = 77};
        assert_true(sk_hosts_parse(bad[i].text, strlen(bad[i].text), "hosts", &h, &err) < 0);
        assert_int_equal(h.n, 77);
        if (!strstr(err.text, bad[i].in_error))
            fail_msg("'%s' is not in: %s", bad[i].in_error, err.text);
    }
    struct saikai_error err = {0};
    struct sk_hosts h = {0};
    assert_true(sk_hosts_parse("n1\0n2", 5, "hosts", &h, &err) < 0);
}

static void ranks_sit_in_blocks(void **state)
{
    struct saikai_error err = {0};
    int seat[8];
    struct sk_hosts h = parse("a\nb\nc\nd");
    assert_int_equal(sk_hosts_place(&h, 1, 8, seat, &err), 0);
    static const int even[8] = {0, 0, 0, 1, 1, 1, 2, 2};
    assert_memory_equal(seat, even, sizeof seat);
    assert_int_equal(h.host[2].state, SK_HOST_ACTIVE);
    assert_int_equal(h.host[3].state, SK_HOST_SPARE);
    sk_hosts_free(&h);
    h = parse("a slots=1\nb\nc slots=2");
    assert_int_equal(sk_hosts_place(&h, 0, 8, seat, &err), 0);
    static const int mixed[8] = {0, 1, 1, 1, 1, 1, 2, 2};
    assert_memory_equal(seat, mixed, sizeof seat);
    sk_hosts_free(&h);
}

static void what_does_not_fit_is_refused(void **state)
{
    struct saikai_error err = {0};
    int seat[4];
    struct sk_hosts h = parse("a slots=1\nb slots=2");
    assert_int_equal(sk_hosts_place(&h, 0, 4, seat, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "3 slots"));
    assert_int_equal(sk_hosts_place(&h, 2, 1, seat, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "spares"));
    sk_hosts_free(&h);
}

static void a_spare_takes_the_place_of_a_lost_host(void **state)
{
    struct saikai_error err = {0};
    int seat[4];
    struct sk_hosts h = parse("a\nb\nsmall slots=1\nbig slots=2");
    assert_int_equal(sk_hosts_place(&h, 2, 4, seat, &err), 0);
    assert_int_equal(sk_hosts_lose(&h, 0, 4, seat),
                     3); /* the small one has no room for both ranks */
    static const int want[4] = {3, 3, 1, 1};
    assert_memory_equal(seat, want, sizeof seat);
    assert_int_equal(h.host[0].state, SK_HOST_LOST);
    assert_int_equal(h.host[3].state, SK_HOST_ACTIVE);
    sk_hosts_return(&h, 0);
    assert_int_equal(h.host[0].state, SK_HOST_SPARE);
    sk_hosts_return(&h, 1); /* not lost: nothing changes */
    assert_int_equal(h.host[1].state, SK_HOST_ACTIVE);
    sk_hosts_free(&h);
}

static void without_a_spare_the_ranks_are_spread(void **state)
{
    struct saikai_error err = {0};
    int seat[4];
    struct sk_hosts h = parse("a slots=2\nb slots=1\nc slots=2");
    assert_int_equal(sk_hosts_place(&h, 0, 4, seat, &err), 0);
    assert_int_equal(sk_hosts_lose(&h, 0, 4, seat), -1);
    static const int first[4] = {2, 1, 1, 2}; /* the free slot first, then evenly; others stay */
    assert_memory_equal(seat, first, sizeof seat);
    assert_int_equal(sk_hosts_lose(&h, 1, 4, seat), -1);
    static const int second[4] = {2, 2, 2, 2};
    assert_memory_equal(seat, second, sizeof seat);
    assert_int_equal(sk_hosts_lose(&h, 2, 4, seat), -2);
    sk_hosts_free(&h);
}

static void warm_spares_go_round_the_hosts(void **state)
{
    static const int seat[] = {0, 0, 2, 1, 1}, expect[] = {0, 2, 1, 0, 2};
    for (int i = 0; i < 5; i++)
        assert_int_equal(sk_hosts_warm(seat, 5, i), expect[i]);
    assert_int_equal(sk_hosts_warm(seat, 1, 7), 0);
}

static void names_are_found_with_and_without_a_domain(void **state)
{
    struct sk_hosts h = parse("n1.here\nn1.there\nn2.here\n");
    assert_int_equal(sk_hosts_find(&h, "n1.there"), 1);
    assert_int_equal(sk_hosts_find(&h, "n2"), 2);
    assert_int_equal(sk_hosts_find(&h, "n2.elsewhere"), 2);
    assert_int_equal(sk_hosts_find(&h, "n1"), -1);
    assert_int_equal(sk_hosts_find(&h, "n3"), -1);
    assert_int_equal(sk_hosts_find(&h, "n"), -1);
    sk_hosts_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_every_form_are_read),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(ranks_sit_in_blocks),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_spare_takes_the_place_of_a_lost_host),
        cmocka_unit_test(without_a_spare_the_ranks_are_spread),
        cmocka_unit_test(warm_spares_go_round_the_hosts),
        cmocka_unit_test(names_are_found_with_and_without_a_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
