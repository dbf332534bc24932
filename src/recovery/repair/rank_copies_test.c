/* Which process is which copy of which rank, and that two of a rank sit on different hosts wherever there are seats for that. */
#include "recovery/repair/rank_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void processes_are_numbered(void **state)
{
    struct sk_copies c;
    assert_int_equal(sk_copies_make(&c, 5, "1,3-4", NULL), 0);
    assert_int_equal(c.processes, 8);
    assert_int_equal(sk_copies_twin(&c, 0), -1);
    assert_int_equal(sk_copies_twin(&c, 1), 5);
    assert_int_equal(sk_copies_twin(&c, 3), 6);
    assert_int_equal(sk_copies_twin(&c, 7), 4);
    assert_int_equal(c.rank[6], 3);
    assert_false(sk_copies_is_second(&c, 4));
    assert_true(sk_copies_is_second(&c, 5));
    assert_int_equal(sk_copies_process(&c, 4, 1), 7);
    assert_int_equal(sk_copies_process(&c, 4, 0), 4);
    assert_int_equal(sk_copies_process(&c, 2, 1), -1);
    sk_copies_free(&c);
    assert_int_equal(sk_copies_make(&c, 3, "", NULL), 0);
    assert_int_equal(c.processes, 6);
    assert_int_equal(sk_copies_twin(&c, 5), 2);
    sk_copies_free(&c);
}

static void bad_lists_are_errors(void **state)
{
    struct saikai_error err = {0};
    struct sk_copies c;
    assert_int_equal(sk_copies_make(&c, 5, "0-5", &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "run.replicate: '0-5' names rank 5"));
    assert_int_equal(err.code, SAIKAI_ECONFIG);
    assert_null(c.rank);
}

/* Hosts with so many slots each, 0: not told. How many ranks have both processes on one host. */
static int place(int ranks, const char *list, int n_hosts, const int *slots, int *seat)
{
    struct sk_host host[8] = {0};
    struct sk_hosts h = {host, n_hosts};
    struct sk_copies c;
    assert_int_equal(sk_copies_make(&c, ranks, list, NULL), 0);
    for (int i = 0; i < n_hosts; i++)
        host[i].slots = slots[i];
    for (int p = 0; p < c.processes; p++)
        seat[p] = -1;
    int together = sk_copies_place(&c, &h, seat);
    assert_int_equal(together, sk_copies_together(&c, seat));
    for (int p = 0; p < c.processes; p++)
        assert_in_range(seat[p], 0, n_hosts - 1);
    sk_copies_free(&c);
    return together;
}

static void leads_and_twins_are_apart(void **state)
{
    int seat[64];
    assert_int_equal(place(4, "", 2, (int[]){0, 0}, seat), 0);
    static const int halves[] = {0, 0, 0, 0, 1, 1, 1, 1};
    assert_memory_equal(seat, halves, sizeof halves);
    assert_int_equal(place(4, "", 3, (int[]){0, 0, 0}, seat), 0);
    assert_int_equal(place(4, "", 2, (int[]){64, 64}, seat), 0); /* one host would have room for all */
    assert_memory_equal(seat, halves, sizeof halves);
    assert_int_equal(place(4, "", 2, (int[]){64, 0}, seat), 0);
    assert_int_equal(place(8, "6-7", 2, (int[]){0, 0}, seat), 0); /* in blocks by number they would be neighbours */
    assert_int_equal(place(1, "", 2, (int[]){4, 4}, seat), 0);
}

static void what_cannot_be_apart_is_counted(void **state)
{
    int seat[64];
    assert_int_equal(place(4, "", 1, (int[]){0}, seat), 4);
    assert_int_equal(place(4, "1", 1, (int[]){8}, seat), 1);
    assert_int_equal(place(4, "", 2, (int[]){6, 2}, seat), 2);
}

/* Any hosts and any ranks: apart, if no host has to take more than there are ranks; and within slots, as far as they suffice. */
static void any_hosts_and_ranks(void **state)
{
    unsigned random = 7;
    for (int round = 0; round < 20000; round++) {
        int slots[6], seat[64], used[6] = {0}, room = 0, untold = 0, named = 0;
        char list[200] = "";
#define RANDOM(n) ((int)((random = random * 1103515245u + 12345u) >> 16) % (n))
        int n_hosts = 1 + RANDOM(6), ranks = 1 + RANDOM(12);
        for (int i = 0; i < n_hosts; i++) {
            slots[i] = RANDOM(3) ? 1 + RANDOM(16) : 0;
            room += slots[i] < ranks ? slots[i] : ranks;
            untold += !slots[i];
        }
        for (int r = 0; r < ranks; r++)
            if (RANDOM(2) || (r == ranks - 1 && !named)) {
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s%d", named ? "," : "", r);
                named++;
            }
        int together = place(ranks, list, n_hosts, slots, seat);
        for (int p = 0; p < ranks + named; p++)
            used[seat[p]]++;
        int rest = ranks + named > room ? ranks + named - room : 0;
        if (untold ? (rest + untold - 1) / untold <= ranks : !rest)
            assert_int_equal(together, 0);
        for (int i = 0; i < n_hosts && (untold || !rest); i++)
            if (slots[i])
                assert_true(used[i] <= slots[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_are_numbered),
        cmocka_unit_test(bad_lists_are_errors),
        cmocka_unit_test(leads_and_twins_are_apart),
        cmocka_unit_test(what_cannot_be_apart_is_counted),
        cmocka_unit_test(any_hosts_and_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
