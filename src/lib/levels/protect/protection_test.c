/* How a job is protected, by what is wanted and by where its ranks run; and which ranks share a node. */
#include "lib/levels/protect/protection.h"

#include "base/file/io.h"
#include "base/log.h"
#include "lib/levels/neighbours.h"
#include "group/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 12 };

static char said[4096];
static int said_level;

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    said_level = level;
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s\n", line);
}

/* Hosts of the ranks as letters, what is wanted, and what comes of it. */
struct wish {
    const char *hosts, *config;
    const char *scheme; /* NULL: none */
    int parity, domains, groups, members, rc;
    const char *says;
    int level;
};

static int form(struct sk_group *g, void *arg)
{
    const struct wish *w = arg;
    struct sk_config *c = sk_config_new();
    struct sk_protection p = {0};
    struct saikai_error err = {0};
    char host[8] = {w->hosts[g->rank]};
    int rc = sk_config_set_all(c, w->config, SK_FROM_API, &err), bad = rc != 0;
    if (!rc) {
        rc = sk_protection_form(g, c, host, &p, &err);
        bad = w->rc ? rc >= 0 || (rc == w->rc && !strstr(err.text, w->says)) || (!g->rank && rc != w->rc) : rc;
    }
    if (!rc && !w->rc) {
        bad = !p.scheme != !w->scheme || (w->scheme && (strcmp(p.scheme, w->scheme) || p.parity != w->parity)) || p.domains != w->domains;
        if (!bad && w->scheme) { /* all members of a group on other domains, and each group has the same number of it on all of them */
            char others[MOST];
            int64_t number = p.number, least = p.number;
            bad = p.groups != w->groups || p.number < 0 || p.number >= p.groups || p.group->size != w->members ||
                  sk_group_allgather(p.group, host, others, 1) || sk_group_allreduce(p.group, &least, 1, SK_OP_MIN) || least != number;
            for (int i = 0; !bad && strstr(w->config, "=host") && i < p.group->size; i++)
                for (int k = 0; k < i; k++)
                    bad |= others[i] == others[k];
        }
        if (bad)
            fprintf(stderr, "'%s' on %s: %s, parity %d, %d domains, %d groups, %d members\n", w->config, w->hosts, p.scheme ? p.scheme : "none", p.parity,
                    p.domains, p.groups, p.group ? p.group->size : 0);
    } else if (bad) {
        fprintf(stderr, "'%s' on %s: %d '%s'\n", w->config, w->hosts, rc, err.text);
    }
    sk_group_free(p.group);
    sk_config_free(c);
    return bad ? -1 : 0;
}

static void what_is_wanted_and_what_is_possible(void **state)
{
    (void)state;
    static const struct wish cases[] = {
        {"abcd", "redundancy.domain=host", "rs", 2, 4, 1, 4, .says = "checkpoints are protected by rs with 2 parities in 1 group\n", .level = SK_LOG_DEBUG},
        {"abc", "redundancy.domain=host", "xor", 1, 3, 1, 3, .says = "checkpoints are protected by xor with 1 parity in 1 group\n", .level = SK_LOG_DEBUG},
        {"ab", "redundancy.domain=host", "xor", 1, 2, 1, 2, .rc = 0},
        {"aabb", "redundancy.domain=host", "xor", 1, 2, 2, 2, .says = "with 1 parity in 2 groups", .level = SK_LOG_DEBUG},
        {"aaa", "redundancy.domain=host", NULL, .domains = 1},
        {"aaaa", "redundancy.domain=process", "rs", 2, 4, 1, 4, .rc = 0},
        {"abcd", "redundancy.scheme=none", NULL, .domains = 4},
        {"abcd", "redundancy.domain=host; redundancy.scheme=partner", "partner", 1, 4, 1, 4, .rc = 0},
        {"abcd", "redundancy.domain=host; redundancy.parity=1", "rs", 1, 4, 1, 4, .rc = 0},
        {"abc", "redundancy.domain=host; redundancy.parity=2", "rs", 2, 3, 1, 3, .rc = 0},
        {"abcdefgh", "redundancy.domain=host; redundancy.group=4", "rs", 2, 8, 2, 4, .rc = 0},
        /* what the domains do not allow is lessened, and said: as a warning where it was asked for */
        {"abcd", "redundancy.domain=host; redundancy.parity=4", "rs", 3, 4, 1, 4, .says = "checkpoints survive the loss of 3 of each group only", .level = SK_LOG_WARN},
        {"abcdefgh", "redundancy.domain=host; redundancy.parity=4", "rs", 4, 8, 1, 8, .says = "checkpoints are protected by rs with 4 parities in 1 group\n", .level = SK_LOG_DEBUG},
        {"ab", "redundancy.domain=host; redundancy.scheme=rs; redundancy.parity=2", "rs", 1, 2, 1, 2,
         .says = "checkpoints survive the loss of 1 of each group only: groups of 2 ranks cannot have 2 parities\n", .level = SK_LOG_WARN},
        {"ab", "redundancy.domain=host; redundancy.scheme=rs", "rs", 1, 2, 1, 2,
         .says = "checkpoints survive the loss of 1 of each group only: groups of 2 ranks cannot have 2 parities\n", .level = SK_LOG_WARN},
        {"aa", "redundancy.domain=host; redundancy.scheme=xor", NULL, .domains = 1, .says = "checkpoints are not protected against the loss of a node", .level = SK_LOG_WARN},
        {"aaab", "redundancy.domain=host", NULL, .domains = 2, .says = "checkpoints are not protected against the loss of a node", .level = SK_LOG_INFO},
        {"abcd", "redundancy.scheme=xor; redundancy.parity=2", .rc = SAIKAI_ECONFIG, .says = "redundancy.parity 2: scheme xor has 1 to 1"},
        {"abcd", "redundancy.parity=5", .rc = SAIKAI_ECONFIG, .says = "redundancy.parity 5: scheme rs has 1 to 4"},
        {"abcd", "redundancy.domain=planet", .rc = SAIKAI_ECONFIG, .says = "redundancy.domain"},
    };
    sk_log_set(note, NULL, SK_LOG_DEBUG);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        said[0] = 0;
        if (sk_loop_run((int)strlen(cases[i].hosts), form, (void *)&cases[i]))
            fail_msg("case %zu, '%s'", i, said);
        if (!cases[i].rc && cases[i].says && (!strstr(said, cases[i].says) || said_level != cases[i].level))
            fail_msg("'%s' on %s says '%s'", cases[i].config, cases[i].hosts, said);
        const char *end = strchr(said, '\n'); /* one rank says it */
        assert_true(!end || !end[1]);
    }
    sk_log_set(NULL, NULL, SK_LOG_WARN);
}

/* ---- ranks of one node ---- */

struct node {
    const char *hosts, *roots; /* letter of each rank's host, and of its directory; '-': it is not there */
    int leader[MOST];
};

static char dir[64];

static int look(struct sk_group *g, void *arg)
{
    const struct node *n = arg;
    struct saikai_error err = {0};
    char host[2] = {n->hosts[g->rank]}, root[80];
    int *leader = NULL;
    snprintf(root, sizeof root, "%s/%c", dir, n->roots[g->rank]);
    int rc = sk_neighbours(g, host, root, &leader, &err);
    for (int i = 0; !rc && i < g->size; i++)
        rc = leader[i] == n->leader[i] ? 0 : -1;
    free(leader);
    return rc;
}

static void who_shares_a_node(void **state)
{
    (void)state;
    static const struct node cases[] = {
        {"aaaa", "xxxx", {0, 0, 0, 0}}, {"abab", "xxxx", {0, 1, 0, 1}}, {"aabb", "xyxy", {0, 1, 2, 3}}, /* node directories that are not shared */
        {"bbaab", "xxxxx", {0, 0, 2, 2, 0}}, {"aaa", "x-x", {0, 1, 0}}, {"a", "x", {0}}};
    char path[80];
    strcpy(dir, "/tmp/saikai-neighbours-XXXXXX");
    assert_non_null(mkdtemp(dir));
    for (const char *p = "xy"; *p; p++) {
        snprintf(path, sizeof path, "%s/%c", dir, *p);
        assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (sk_loop_run((int)strlen(cases[i].hosts), look, (void *)&cases[i]))
            fail_msg("case %zu", i);
    sk_io_rmtree(dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wanted_and_what_is_possible),
        cmocka_unit_test(who_shares_a_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
