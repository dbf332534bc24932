/* What a restart removes of the files that earlier starts left on the nodes, and what stays, by what the ranks know. Files are made by hand;
 * each of two ranks is on a node of its own. */
#include "lib/restart/leftovers.h"

#include "base/file/io.h"
#include "group/loop.h"
#include "lib/engine/retention.h"
#include "store/holdings.h"
#include "lib/whole/failing/generation_testing.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 2, THIS = 5, MOST = 9 };

static char dir[64];

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-restart-leftovers-XXXXXX");
    return !mkdtemp(dir);
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* Generation n is of iteration 10 n; those up to 4 of the second start, the others of the fourth. */
static struct sk_gen gen_of(int n)
{
    return (struct sk_gen){n > 4 ? 4 : 2, 10 * n, 0};
}

static void put(const char *root, int n, int rank)
{
    struct sk_skc_header h = {.iteration = 10 * n, .incarnation = gen_of(n).incarnation, .rank = (uint32_t)rank, .nranks = N};
    generation_testing_put_small(root, &h);
}

/* A parity file, by its name alone. */
static void put_parity(const char *root, int n, int rank)
{
    char path[PATH_MAX];
    assert_int_equal(sk_parity_set_path(root, (struct sk_parity_set){gen_of(n), 4}, rank, path, sizeof path, NULL), 0);
    *strrchr(path, '/') = 0;
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    assert_int_equal(sk_parity_set_path(root, (struct sk_parity_set){gen_of(n), 4}, rank, path, sizeof path, NULL), 0);
    assert_int_equal(sk_io_replace(path, "", 0, NULL), 0);
}

/* Digits are generations: of each rank here, of both in the prefix, those that rank 1 has coded; what stays of each. */
struct start {
    const char *what, *here[N], *far, *left[N], *coded;
    int from, keep;
    uint32_t first;
    int unread, from_others, away, alone;
};

static int removes(struct sk_group *g, void *arg)
{
    const struct start *t = arg;
    struct sk_session s = {.g = g, .who = {.incarnation = THIS, .first_incarnation = t->first ? t->first : 1}};
    struct saikai_error err = {0};
    struct sk_ledger *ledger = NULL;
    char path[160], text[64], left[MOST + 1] = "";
    int n = 0;
    snprintf(text, sizeof text, "store.keep_local=%d%s", t->keep ? t->keep : 1, t->alone == 2 ? "; store.local=none" : "");
    snprintf(s.place.local_root, sizeof s.place.local_root, "%s/local%d", dir, g->rank);
    snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s/%s", dir, t->alone == 1 ? "local" : "prefix");
    if (t->alone == 1)
        snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s", s.place.local_root);
    s.config = sk_config_new();
    if (sk_config_set_all(s.config, text, SK_FROM_API, &err) || sk_patience_new(0, &s.place.patience, NULL) || sk_ledger_new(9, &ledger, NULL))
        return -1;
    for (const char *p = t->here[g->rank]; *p; p++)
        put(s.place.local_root, *p - '0', g->rank);
    for (const char *p = t->far; p && *p; p++) {
        snprintf(path, sizeof path, "%s/prefix", dir);
        put(path, *p - '0', g->rank);
    }
    for (const char *p = g->rank ? t->coded : NULL; p && *p; p++)
        put_parity(s.place.local_root, *p - '0', 1);
    s.resume.from = t->from ? gen_of(t->from) : (struct sk_gen){0};
    s.resume.unread = t->unread;
    s.resume.from_others = t->from_others;
    s.place.prefix_away = t->away;
    struct sk_engine_config c = {.local_root = s.place.local_root, .incarnation = THIS, .rank = g->rank, .nranks = N, .keep_local = 1, .keep_prefix = 1,
                                 .ledger = ledger};
    if (sk_io_mkdirs(s.place.local_root, NULL) || sk_engine_new(&c, &s.levels.engine, &err))
        return -1;
    sk_engine_set_earlier(s.levels.engine, SK_EARLIER_STAY); /* what goes goes by this alone */
    int rc = sk_session_remove_leftovers(&s);
    for (int i = 1; i <= MOST; i++)
        if (!sk_gen_file(s.place.local_root, gen_of(i), g->rank, path, sizeof path, NULL) && !access(path, F_OK))
            left[n++] = (char)('0' + i);
    sk_engine_free(s.levels.engine);
    sk_ledger_free(ledger);
    sk_patience_free(s.place.patience);
    sk_config_free(s.config);
    if (rc || strcmp(left, t->left[g->rank])) {
        fprintf(stderr, "%s: rank %d: %d, '%s' in place of '%s'\n", t->what, g->rank, rc, left, t->left[g->rank]);
        return -1;
    }
    return 0;
}

static void what_stays(void **state)
{
    (void)state;
    static const struct start cases[] = {
        {"only what is resumed from", {"1234", "1234"}, "4", {"4", "4"}, .from = 4},
        {"as many as are kept", {"1234", "1234"}, "4", {"234", "234"}, .from = 4, .keep = 3},
        {"what was passed over although all have it", {"123467", "123467"}, "", {"467", "467"}, .from = 4},
        {"what some have here, others in the prefix", {"126", "12"}, "6", {"26", "2"}, .from = 2},
        {"what not all have is nothing", {"1246", "124"}, "", {"4", "4"}, .from = 4},
        {"nor what one alone has in between", {"1234", "124"}, "", {"24", "24"}, .from = 4, .keep = 2},
        {"earlier runs are none of ours", {"12467", "12467"}, "", {"1247", "1247"}, .from = 7, .first = 3},
        {"a prefix that is away has no say", {"12", "2"}, "1", {"2", "2"}, .from = 2, .away = 1},
        {"what could not be read stays", {"1234567", "1234567"}, "", {"4567", "4567"}, .from = 4, .unread = 1},
        {"as many as one start has", {"1234567", "1234567"}, "", {"34567", "34567"}, .from = 4, .unread = 1, .keep = 2},
        {"nothing is known", {"123", "123"}, "", {"123", "123"}, .unread = 1},
        {"it is other ranks'", {"123", "123"}, "", {"123", "123"}, .from = 3, .from_others = 1},
        {"there is one place", {"123", "123"}, NULL, {"123", "123"}, .from = 3, .alone = 1},
        {"there is no node-local directory", {"123", "123"}, NULL, {"123", "123"}, .from = 3, .alone = 2},
        {"nothing to go on from: what all have", {"123", "12"}, "", {"12", "12"}, .from = 0},
        {"nor is anything whole", {"1357", "2468"}, "", {"", ""}, .from = 0},
        {"what was coded may be computed later", {"1357", "2468"}, "", {"7", ""}, .from = 0, .coded = "57"},
        {"as much of that as is kept", {"1357", "2468"}, "", {"57", ""}, .from = 0, .coded = "357", .keep = 2},
        {"whoever has it", {"1357", "2468"}, "", {"", "6"}, .from = 0, .coded = "26"},
        {"what is whole as well", {"13567", "24568"}, "", {"567", "56"}, .from = 0, .coded = "7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(sk_loop_run(N, removes, (void *)&cases[i]), 0);
        assert_int_equal(sk_io_rmtree(dir, NULL), 0);
        assert_int_equal(sk_io_mkdirs(dir, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_stays, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
