/* Communicators of the layer's own: contexts, wire tags, members, topologies. */
#include "world/comms/members.h"
#include "world/comms/topology.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Each tag of each context has a number of its own, which an int holds below the layer's numbers for the whole world. */
static void wire(void **state)
{
    (void)state;
    for (int c = 0; c < SK_CONTEXTS; c += c < 3 ? 1 : 204)
        for (int t = 0; t <= SK_WIRE_TAG_MOST; t += t < 3 ? 1 : (1 << 18) - 7) {
            int w = sk_wire(c, t);
            assert_true(w >= 0 && w < 0x7fe00000);
            assert_int_equal(sk_wire_context(w), c);
            assert_int_equal(sk_wire_tag(w), t);
            assert_false(sk_wire_is_own(w));
            assert_true(sk_wire_fits(w, w) && sk_wire_fits(sk_wire_any(c), w) && !sk_wire_fits(sk_wire_any(c + 1), w));
            assert_false(sk_wire_fits(w, sk_wire(c, t ? 0 : 1)));
        }
    for (int i = 0; i < SK_WIRE_OWN; i++) {
        int own = sk_wire_own(SK_CONTEXTS - 1, i);
        assert_true(own > 0 && sk_wire_is_own(own) && !sk_wire_fits(sk_wire_any(SK_CONTEXTS - 1), own) && sk_wire_fits(own, own));
        assert_int_equal(sk_wire_context(own), SK_CONTEXTS - 1);
    }
    for (int i = 0; i <= SK_CONTEXTS; i++) /* of the program's and the layer's tags none is one of these */
        assert_true(sk_wire_is_making(sk_wire_making(i)) && sk_wire_making(i) >= 0x7fe00000 && sk_wire_making(i) < 0x7ffffff0);
    assert_false(sk_wire_is_making(0x7ffffff0) || sk_wire_is_making(-1) || sk_wire_is_making(sk_wire_own(SK_CONTEXTS - 1, SK_WIRE_OWN - 1)) || sk_wire_is_making(1023));
    assert_int_equal(sk_wire_any(0), -1);
    assert_true(sk_wire_is_any(sk_wire_any(7)) && !sk_wire_is_any(0) && !sk_wire_is_own(-1));
    assert_int_equal(sk_wire_context(sk_wire_any(7)), 7);
    assert_int_equal(sk_wire(0, 12345), 12345);
}

static void contexts(void **state)
{
    struct sk_contexts a, b;
    (void)state;
    sk_contexts_begin(&a);
    sk_contexts_begin(&b);
    assert_int_equal(sk_contexts_lowest_free(&a), 1);
    sk_contexts_release(&a, 0); /* the world's is never free */
    assert_int_equal(sk_contexts_lowest_free(&a), 1);
    sk_contexts_take(&a, 1);
    sk_contexts_take(&b, 2);
    assert_int_equal(sk_contexts_lowest_free(&b), 1);
    sk_contexts_unite(&b, &a);
    assert_int_equal(sk_contexts_lowest_free(&b), 3);
    sk_contexts_release(&b, 2);
    assert_int_equal(sk_contexts_lowest_free(&b), 2);
    for (int i = 0; i < SK_CONTEXTS; i++)
        sk_contexts_take(&a, i);
    assert_int_equal(sk_contexts_lowest_free(&a), -1);
    sk_contexts_release(&a, 700);
    assert_int_equal(sk_contexts_lowest_free(&a), 700);
}

static void members(void **state)
{
    struct sk_members *all = sk_members_all(5, 3), *some = sk_members_new(4, 3, (int[]){4, 3, 0}, 5, 3), *other = sk_members_new(5, 3, (int[]){0, 3, 4}, 5, 3),
                      *two = sk_members_new(6, 2, (int[]){3, 0}, 5, 3), *without = sk_members_new(7, 3, (int[]){3, 1, 0}, 5, 3);
    (void)state;
    assert_true(all->n == 5 && all->rank == 3 && all->context == 0 && all->world[4] == 4);
    assert_true(some->n == 3 && some->rank == 1 && some->context == 4 && some->rank_of[4] == 0 && some->rank_of[0] == 2 && some->rank_of[1] == -1);
    assert_int_equal(sk_members_compare(some, some), SK_MEMBERS_SAME);
    assert_int_equal(sk_members_compare(some, other), SK_MEMBERS_SIMILAR);
    assert_int_equal(sk_members_compare(some, two), SK_MEMBERS_OTHERS);
    assert_int_equal(sk_members_compare(some, without), SK_MEMBERS_OTHERS);
    struct sk_split said[] = {{1, 5}, {0, 0}, {1, 5}, {1, -2}, {-1, 0}};
    int out[5] = {0};
    assert_int_equal(sk_members_split(all, said, 3, out), 3);
    assert_true(out[0] == 3 && out[1] == 0 && out[2] == 2); /* by key, and then by rank */
    assert_int_equal(sk_members_split(all, said, 1, out), 1);
    assert_int_equal(out[0], 1);
    assert_int_equal(sk_members_split(all, said, 4, out), 0);
    assert_int_equal(sk_members_split(some, (struct sk_split[]){{2, 1}, {2, 0}, {2, 0}}, 0, out), 3);
    assert_true(out[0] == 3 && out[1] == 0 && out[2] == 4); /* of ranks of the parent */
    sk_members_hold(two);
    sk_members_let_go(two);
    assert_int_equal(two->rank_of[0], 1);
    sk_members_let_go(two);
    sk_members_let_go(all);
    sk_members_let_go(some);
    sk_members_let_go(other);
    sk_members_let_go(without);
    sk_members_let_go(NULL);
}

/* Each has a number of its own for what it gets. */
static void uneven(void **state)
{
    struct sk_members *of = sk_members_new(4, 3, (int[]){4, 3, 0}, 5, 3), *same = sk_members_new(4, 2, (int[]){3, 1}, 5, 3),
                      *even = sk_members_new(9, 2, (int[]){3, 0}, 5, 3), *apart = sk_members_new(9, 2, (int[]){3, 1}, 5, 3);
    (void)state;
    of->to = malloc(3 * sizeof *of->to);
    memcpy(of->to, (int[]){7, 4, 9}, 3 * sizeof *of->to);
    assert_true(sk_members_to(of, 0) == 7 && sk_members_to(of, 2) == 9 && sk_members_to(even, 1) == 9);
    struct sk_members *part = sk_members_part(of, 2, (int[]){0, 3}, 3), *plain = sk_members_part(even, 1, (int[]){3}, 3);
    assert_true(part->context == 4 && part->rank == 1 && part->to[0] == 9 && part->to[1] == 4 && plain->context == 9 && !plain->to);
    assert_true(sk_members_clash(of, same));   /* this process gets both in 4 */
    assert_true(sk_members_clash(of, even) && sk_members_clash(even, of)); /* rank 0 of the world gets both in 9 */
    assert_false(sk_members_clash(of, apart)); /* that is in one of them alone */
    assert_false(sk_members_clash(even, same));
    assert_true(sk_members_clash(even, apart));
    for (int i = 0; i < 6; i++)
        sk_members_let_go((struct sk_members *[]){of, same, even, apart, part, plain}[i]);
}

static int *numbers(int n, const int *list)
{
    int *copy = malloc((size_t)n * sizeof *copy);
    memcpy(copy, list, (size_t)n * sizeof *copy);
    return copy;
}

/* Two groups, seen from both sides: the ranks that messages go to are the other ones, and both together are the same to all. */
static void groups(void **state)
{
    struct sk_members *one = sk_members_new(5, 2, (int[]){3, 1}, 5, 3), *other = sk_members_new(8, 2, (int[]){2, 4}, 5, 4);
    (void)state;
    one->to = numbers(2, (int[]){5, 6});
    one->remote = sk_members_new(5, 2, (int[]){2, 4}, 5, 3);
    one->remote->to = numbers(2, (int[]){7, 8});
    other->to = numbers(2, (int[]){7, 8});
    other->remote = sk_members_new(8, 2, (int[]){3, 1}, 5, 4);
    other->remote->to = numbers(2, (int[]){5, 6});
    assert_int_equal(one->remote->rank, -1);
    assert_ptr_equal(sk_members_peers(one), one->remote);
    assert_ptr_equal(sk_members_peers(one->remote), one->remote);
    struct sk_members *a = sk_members_both(one, 3), *b = sk_members_both(other, 4);
    static const int ranks[] = {2, 4, 3, 1}, contexts_of[] = {7, 8, 5, 6};
    assert_memory_equal(a->world, ranks, sizeof ranks);
    assert_memory_equal(b->world, ranks, sizeof ranks);
    assert_memory_equal(a->to, contexts_of, sizeof ranks);
    assert_memory_equal(b->to, contexts_of, sizeof ranks);
    assert_true(a->n == 4 && a->rank == 2 && a->context == 5 && b->rank == 1 && b->context == 8);
    for (int i = 0; i < 4; i++)
        sk_members_let_go((struct sk_members *[]){one, other, a, b}[i]);
}

static void grids(void **state)
{
    struct sk_topology *s = sk_topology_cart(3, (int[]){2, 3, 4}, (int[]){0, 1, 0}), *left;
    int c[3], colour = -1, key = -1;
    (void)state;
    for (int r = 0; r < 24; r++) {
        sk_cart_coords(s, r, c);
        assert_true(c[0] == r / 12 && c[1] == r / 4 % 3 && c[2] == r % 4);
        assert_int_equal(sk_cart_rank(s, c), r);
    }
    assert_int_equal(sk_cart_rank(s, (int[]){1, -1, 3}), 12 + 8 + 3);
    assert_int_equal(sk_cart_rank(s, (int[]){1, 7, 3}), 12 + 4 + 3);
    assert_int_equal(sk_cart_rank(s, (int[]){1, 0, 4}), SK_TOPOLOGY_NOBODY);
    assert_int_equal(sk_cart_rank(s, (int[]){-1, 0, 0}), SK_TOPOLOGY_NOBODY);
    assert_int_equal(sk_cart_along(s, 0, 1, -1), 8);
    assert_int_equal(sk_cart_along(s, 8, 1, 1), 0);
    assert_int_equal(sk_cart_along(s, 8, 1, -7), 4);
    assert_int_equal(sk_cart_along(s, 3, 2, 1), SK_TOPOLOGY_NOBODY);
    assert_int_equal(sk_cart_along(s, 3, 2, -3), 0);
    assert_int_equal(sk_cart_along(s, 3, 0, 1), 15);
    assert_int_equal(sk_cart_along(s, 3, 0, INT_MAX), SK_TOPOLOGY_NOBODY);
    left = sk_cart_sub(s, 12 + 4 + 3, (int[]){1, 0, 1}, &colour, &key);
    assert_true(colour == 1 && key == 7 && left->n[0] == 2 && left->first[0] == 2 && left->first[1] == 4 && !left->second[1]);
    sk_topology_free(left);
    left = sk_cart_sub(s, 12 + 4 + 3, (int[]){0, 0, 0}, &colour, &key);
    assert_true(colour == 19 && key == 0 && left->n[0] == 0);
    assert_int_equal(sk_cart_rank(left, c), 0);
    sk_topology_free(left);
    left = sk_topology_copy(s);
    assert_true(left->kind == SK_TOPOLOGY_CART && left->n[0] == 3 && left->first[2] == 4 && left->second[1] == 1);
    sk_topology_free(left);
    sk_topology_free(s);
    assert_int_equal(sk_cart_size(3, (int[]){2, 3, 4}), 24);
    assert_int_equal(sk_cart_size(0, NULL), 1);
    assert_int_equal(sk_cart_size(2, (int[]){2, 0}), -1);
    assert_int_equal(sk_cart_size(2, (int[]){1 << 20, 1 << 20}), -1);
}

static void graphs(void **state)
{
    const int *begin;
    struct sk_topology *g = sk_topology_graph(4, (int[]){2, 3, 4, 6}, (int[]){1, 3, 0, 3, 0, 2}), *d, *copy;
    (void)state;
    assert_int_equal(sk_graph_neighbours(g, 0, &begin), 2);
    assert_int_equal(begin[1], 3);
    assert_int_equal(sk_graph_neighbours(g, 3, &begin), 2);
    assert_true(begin[0] == 0 && begin[1] == 2);
    copy = sk_topology_copy(g);
    assert_true(copy->n[0] == 4 && copy->n[1] == 6 && copy->second[5] == 2);
    sk_topology_free(copy);
    sk_topology_free(g);
    d = sk_topology_dist(2, (int[]){3, 1}, (int[]){7, 8}, 1, (int[]){2}, (int[]){9});
    copy = sk_topology_copy(d);
    assert_true(copy->weighted && copy->n[0] == 2 && copy->n[1] == 1 && copy->first[1] == 1 && copy->second[0] == 2 && copy->weight[0][1] == 8 &&
                copy->weight[1][0] == 9);
    sk_topology_free(copy);
    sk_topology_free(d);
    d = sk_topology_dist(0, NULL, NULL, 0, NULL, NULL);
    assert_true(!d->weighted && d->n[0] == 0 && !d->weight[0]);
    sk_topology_free(d);
    assert_null(sk_topology_copy(NULL));
    sk_topology_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wire), cmocka_unit_test(contexts), cmocka_unit_test(members), cmocka_unit_test(uneven), cmocka_unit_test(groups), cmocka_unit_test(grids),
                                       cmocka_unit_test(graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
