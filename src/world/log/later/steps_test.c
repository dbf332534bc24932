/* Schedules: ranks that look at theirs at any moment come to the same result. Messages are mailboxes here, and numbers are summed as text, so that the
 * order of each sum shows. */
#include "world/log/later/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 5, TEXT = 200, MOST = 16 };

struct rank {
    int me, n_sent, unsent; /* unsent: so many looks until what was sent may be changed */
    struct sk_steps *steps;
    const struct sk_step *waits;
    char own[TEXT], other[TEXT];
    char order[TEXT]; /* of its steps */
};

static struct rank rank[RANKS];
static struct {
    int n, taken;
    char text[MOST][TEXT];
} box[RANKS][RANKS]; /* from, to */
static int fails_at; /* a receive of this rank, -1: none */

static int send(void *extra, const struct sk_step *s)
{
    struct rank *r = extra;
    strcat(r->order, "s");
    strcpy(box[r->me][s->peer].text[box[r->me][s->peer].n++], s->from);
    r->unsent = 3;
    return 0;
}

static int receive(void *extra, const struct sk_step *s)
{
    struct rank *r = extra;
    assert_null(r->waits); /* one at a time */
    r->waits = s;
    return 0;
}

static int has_received(void *extra, int *rc)
{
    struct rank *r = extra;
    int from = r->waits->peer;
    if (box[from][r->me].taken == box[from][r->me].n)
        return 0;
    strcat(r->order, "r");
    strcpy(r->waits->to, box[from][r->me].text[box[from][r->me].taken++]);
    r->waits = NULL;
    *rc = r->me == fails_at ? 15 : 0;
    return 1;
}

static int here(void *extra, const struct sk_step *s)
{
    struct rank *r = extra;
    char sum[TEXT];
    assert_int_equal(r->unsent, 0);
    strcat(r->order, s->what == SK_STEP_COPY ? "c" : "+");
    snprintf(sum, sizeof sum, s->what == SK_STEP_COPY ? "%s" : "(%s%s)", (const char *)s->from, (const char *)s->to);
    strcpy(s->to, sum);
    return 0;
}

static int has_sent(void *extra)
{
    struct rank *r = extra;
    r->unsent -= r->unsent > 0;
    return !r->unsent;
}

static const struct sk_steps_ops ops = {send, receive, here, has_received, has_sent};

static void add(int me, enum sk_step_kind what, int peer, void *from, void *to)
{
    assert_int_equal(sk_steps_add(rank[me].steps, &(struct sk_step){.what = what, .peer = peer, .from = from, .to = to}), 0);
}

/* Along the chain of ranks, each puts its own behind what comes, and the last one tells all. */
static void plan(void)
{
    memset(box, 0, sizeof box);
    fails_at = -1;
    for (int me = 0; me < RANKS; me++) {
        struct rank *r = &rank[me];
        memset(r, 0, sizeof *r);
        r->me = me;
        r->own[0] = (char)('a' + me);
        r->steps = sk_steps_new();
        assert_non_null(r->steps);
        if (me) {
            add(me, SK_STEP_RECEIVE, me - 1, NULL, r->other);
            add(me, SK_STEP_REDUCE, 0, r->other, r->own);
        }
        if (me + 1 < RANKS) {
            add(me, SK_STEP_SEND, me + 1, r->own, NULL);
            add(me, SK_STEP_RECEIVE, RANKS - 1, NULL, r->own);
        }
        for (int to = 0; me + 1 == RANKS && to + 1 < RANKS; to++)
            add(me, SK_STEP_SEND, to, r->own, NULL);
    }
}

static int all_over(void)
{
    int over = 0;
    for (int r = 0; r < RANKS; r++)
        over += rank[r].steps->at == rank[r].steps->n && !rank[r].unsent;
    return over == RANKS;
}

static void forget(void)
{
    for (int r = 0; r < RANKS; r++)
        sk_steps_free(rank[r].steps);
}

static void the_order_of_looks_changes_nothing(void **state)
{
    char order[RANKS][TEXT];
    for (unsigned turn = 0; turn < 200; turn++) {
        plan();
        srand(turn);
        while (!all_over()) {
            struct rank *r = &rank[rand() % RANKS];
            int is_over = sk_steps_go(r->steps, &ops, r);
            assert_int_equal(is_over, r->steps->at == r->steps->n && !r->unsent);
        }
        for (int r = 0; r < RANKS; r++) {
            assert_string_equal(rank[r].own, "((((ab)c)d)e)");
            if (turn)
                assert_string_equal(rank[r].order, order[r]);
            strcpy(order[r], rank[r].order);
        }
        forget();
    }
}

/* One is lost when all is over, and is given again what it was sent: it comes to the same, and sends the same. */
static void one_begins_again_alone(void **state)
{
    plan();
    while (!all_over())
        for (int r = 0; r < RANKS; r++)
            sk_steps_go(rank[r].steps, &ops, &rank[r]);
    struct rank *lost = &rank[2];
    lost->steps->at = 0;
    strcpy(lost->own, "c");
    box[1][2].taken = box[4][2].taken = 0;
    while (!sk_steps_go(lost->steps, &ops, lost))
        ;
    assert_string_equal(lost->own, "((((ab)c)d)e)");
    assert_string_equal(box[2][3].text[0], box[2][3].text[1]); /* the same message again */
    forget();
}

static void an_error_ends_it(void **state)
{
    plan();
    fails_at = 1;
    for (int turn = 0; turn < 10; turn++)
        for (int r = 0; r < RANKS; r++)
            sk_steps_go(rank[r].steps, &ops, &rank[r]);
    assert_int_equal(rank[1].steps->rc, 15);
    assert_int_equal(sk_steps_go(rank[1].steps, &ops, &rank[1]), 1);
    assert_string_equal(rank[1].order, "r"); /* and nothing after it */
    assert_int_equal(sk_steps_go(rank[2].steps, &ops, &rank[2]), 0);
    forget();
}

static void none_is_over_at_once(void **state)
{
    struct sk_steps *s = sk_steps_new();
    struct rank r = {0};
    assert_int_equal(sk_steps_own(s, malloc(10)), 0);
    assert_int_equal(sk_steps_go(s, &ops, &r), 1);
    assert_int_equal(s->rc, 0);
    sk_steps_free(s);
    sk_steps_free(NULL);
}

static void what_is_done_needs_its_types_no_more(void **state)
{
    char a[TEXT] = "x", b[TEXT] = "y";
    struct sk_steps *s = sk_steps_new();
    struct rank r = {0};
    sk_steps_add(s, &(struct sk_step){.what = SK_STEP_COPY, .from = a, .to = b, .t_from = 7, .t_to = 8});
    sk_steps_add(s, &(struct sk_step){.what = SK_STEP_RECEIVE, .peer = 0, .to = b, .t_to = 9, .op = 10});
    memset(box, 0, sizeof box);
    assert_true(sk_steps_use(s, 7) && sk_steps_use(s, 8) && sk_steps_use(s, 9) && sk_steps_use(s, 10));
    assert_false(sk_steps_use(s, 11));
    assert_int_equal(sk_steps_go(s, &ops, &r), 0);
    assert_false(sk_steps_use(s, 7) || sk_steps_use(s, 8));
    assert_true(sk_steps_use(s, 9) && sk_steps_use(s, 10));
    sk_steps_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_looks_changes_nothing),
        cmocka_unit_test(one_begins_again_alone),
        cmocka_unit_test(an_error_ends_it),
        cmocka_unit_test(none_is_over_at_once),
        cmocka_unit_test(what_is_done_needs_its_types_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
