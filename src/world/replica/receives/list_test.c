/* Receives that wait to be given to MPI, among others: which one may go before which, whatever begins, ends, is given out or taken back; and very many of them. */
#include "world/replica/receives/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct sk_replica sk_replica;

enum { OPEN = 12, ROUNDS = 20000, MANY = 200000 };
static struct sk_channel some;
static uint32_t seed = 5;

static int chance(int below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)below);
}

static int fits(int asked, int any, int is)
{
    return asked == any || is == any || asked == is;
}

/* As it is said: those before it that MPI has not, and that could get its message. */
static int is_before(const struct sk_replica_open *const in[], int n, int context, int source, int tag)
{
    for (int i = 0; i < n; i++)
        if ((!in[i]->channel || in[i]->out) && in[i]->context == context && fits(in[i]->source, MPI_ANY_SOURCE, source) && fits(in[i]->tag, MPI_ANY_TAG, tag))
            return 1;
    return 0;
}

static void look_at(const struct sk_replica_open *const in[], int n)
{
    int first = 0;
    while (first < n && in[first]->channel && !in[first]->out)
        first++;
    assert_ptr_equal(sk_receives_first_waiting(), first < n ? in[first] : NULL);
    for (int i = 0; i < n; i++) {
        assert_int_equal(sk_receives_is_behind(in[i]), is_before(in, i, in[i]->context, in[i]->source, in[i]->tag));
        assert_int_equal(sk_receives_is_claimed(in[i], 1, 2, 3), is_before(in, i, 1, 2, 3));
    }
    assert_int_equal(sk_receives_is_claimed(NULL, 0, 1, 1), is_before(in, n, 0, 1, 1));
    const struct sk_replica_open *o = sk_replica.first;
    for (int i = 0; i < n; i++, o = o->next)
        assert_ptr_equal(o, in[i]);
    assert_null(o);
}

static void they_wait_for_those_before_them(void **state)
{
    static struct sk_replica_open all[OPEN];
    struct sk_replica_open *in[OPEN], *out[OPEN];
    int n = 0, rest = OPEN;
    for (int i = 0; i < OPEN; i++)
        out[i] = &all[i];
    for (int round = 0; round < ROUNDS; round++) {
        int what = chance(6), i = n ? chance(n) : 0;
        if (what < 2 && rest) {
            struct sk_replica_open *o = out[--rest];
            *o = (struct sk_replica_open){.context = chance(2), .source = chance(4) - 1, .tag = chance(5) - 1};
            o->source = o->source < 0 ? MPI_ANY_SOURCE : o->source;
            o->tag = o->tag < 0 ? MPI_ANY_TAG : o->tag;
            sk_receives_add(in[n++] = o);
        } else if (what == 2 && n) {
            sk_receives_remove(in[i]);
            sk_receives_remove(in[i]); /* it is in it no more */
            out[rest++] = in[i];
            for (n--; i < n; i++)
                in[i] = in[i + 1];
        } else if (what == 3 && n) {
            in[i]->channel = &some;
        } else if (what == 4 && n) {
            in[i]->out = 1;
            sk_receives_look_again();
        } else if (n) {
            in[i]->out = 0;
        }
        look_at((const struct sk_replica_open *const *)in, n);
    }
    while (n)
        sk_receives_remove(in[--n]);
    assert_null(sk_replica.first);
}

static void very_many_cost_no_more_each(void **state)
{
    struct sk_replica_open *all = calloc(MANY, sizeof *all);
    assert_non_null(all);
    for (int i = 0; i < MANY; i++) {
        sk_receives_add(&all[i]);
        assert_int_equal(sk_receives_is_behind(&all[i]), 0);
        all[i].channel = &some;
    }
    for (int i = MANY; i-- > 0;)
        sk_receives_remove(&all[i]);
    assert_null(sk_receives_first_waiting());
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_wait_for_those_before_them), cmocka_unit_test(very_many_cost_no_more_each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
