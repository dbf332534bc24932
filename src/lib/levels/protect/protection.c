/* Reads the wanted scheme, gathers the failure domains, groups the ranks, and takes less parity
 * where there are too few domains. */
#include "lib/levels/protect/protection.h"

#include "base/log.h"
#include "redundancy/domains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of all ranks' failure domains: all[rank * SK_MAX_HOST]. */
static int gather_domains(struct sk_group *g, const char *rule, const char *host, char **all,
                          const char ***names, struct saikai_error *err)
{
    char mine[SK_MAX_HOST] = "";
    *all = calloc((size_t)g->size, SK_MAX_HOST);
    *names = calloc((size_t)g->size, sizeof **names);
    int rc = *all && *names
                 ? 0
                 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the hosts of %d ranks", g->size);
    if (!rc && (rc = sk_domain_of_rank(rule, host, g->rank, mine, err)))
        sk_error_prefix(err, "redundancy.domain");
    rc = sk_group_verdict(g, rc, err);
    if (!rc && (rc = sk_group_allgather(g, mine, *all, SK_MAX_HOST)))
        sk_fail(err, rc, "the ranks cannot tell each other where they run");
    for (int r = 0; !rc && r < g->size; r++)
        (*names)[r] = *all + (size_t)r * SK_MAX_HOST;
    return rc;
}

/* -1: no memory. */
static int count_domains(const char *const *names, int n)
{
    const char **list = malloc((size_t)n * sizeof *list);
    int count = 1;
    if (!list)
        return -1;
    memcpy(list, names, (size_t)n * sizeof *list);
    qsort(list, (size_t)n, sizeof *list, compare);
    for (int i = 1; i < n; i++)
        count += strcmp(list[i], list[i - 1]) != 0;
    free(list);
    return count;
}

/* What is wanted, before it is known whether it is possible. */
static int choose(const struct sk_config *c, struct sk_protection *p, struct saikai_error *err)
{
    const char *wanted = sk_config_text(c, "redundancy.scheme");
    p->parity = (int)sk_config_int(c, "redundancy.parity");
    p->scheme = wanted;
    if (!strcmp(wanted, "none"))
        p->scheme = NULL;
    else if (sk_is_auto(wanted))
        p->scheme = p->domains < 2 ? NULL : p->domains >= 4 || p->parity > 1 ? sk_scheme_rs.name : sk_scheme_xor.name;
    const struct sk_scheme_ops *ops = p->scheme ? sk_scheme_find(p->scheme) : NULL;
    if (ops && !p->parity)
        p->parity = ops->usual_parity;
    if (ops && p->parity > ops->max_parity)
        return sk_fail(err, SAIKAI_ECONFIG, "redundancy.parity %d: scheme %s has 1 to %d",
                       p->parity, p->scheme, ops->max_parity);
    return 0;
}

/* With as much of the parity as the domains allow; none: p->scheme becomes NULL. */
static int group_ranks(const struct sk_config *c, const char *const *names, int ranks,
                       struct sk_protection *p, struct sk_grouping *v, struct saikai_error *why)
{
    int wanted = (int)sk_config_int(c, "redundancy.group"), rc = 0;
    for (; p->scheme && p->parity > 0; p->parity--) {
        int members = sk_grouping_members(wanted, p->parity, ranks);
        struct saikai_error now = {0};
        rc = members <= p->parity
                 ? sk_fail(&now, SAIKAI_EINVAL, "groups of %d ranks cannot have %d parities",
                           members, p->parity)
                 : sk_grouping_make(names, ranks, members, p->parity + 1, v, &now);
        if (!rc)
            return 0;
        if (!why->code || rc == SAIKAI_ENOMEM)
            *why = now;
        if (rc == SAIKAI_ENOMEM)
            return rc;
    }
    p->scheme = NULL;
    return 0;
}

static void tell(const struct sk_config *c, const struct sk_protection *p, int rank,
                 const struct saikai_error *why)
{
    int asked = !sk_is_auto(sk_config_text(c, "redundancy.scheme")) ||
                sk_config_int(c, "redundancy.parity");
    if (rank)
        return;
    if (why->code && p->scheme)
        sk_log(asked ? SK_LOG_WARN : SK_LOG_INFO,
               "checkpoints survive the loss of %d of each group only: %s", p->parity, why->text);
    else if (why->code)
        sk_log(asked ? SK_LOG_WARN : SK_LOG_INFO,
               "checkpoints are not protected against the loss of a node: %s", why->text);
    else if (p->scheme)
        sk_log(SK_LOG_DEBUG, "checkpoints are protected by %s with %d parit%s in %d group%s",
               p->scheme, p->parity, p->parity == 1 ? "y" : "ies", p->groups,
               p->groups == 1 ? "" : "s");
}

int sk_protection_form(struct sk_group *g, const struct sk_config *c, const char *host,
                       struct sk_protection *out, struct saikai_error *err)
{
    struct sk_protection p = {0};
    struct sk_grouping v = {0};
    struct saikai_error why = {0};
    char *all = NULL;
    const char **names = NULL;
    int rc = gather_domains(g, sk_config_text(c, "redundancy.domain"), host, &all, &names, err);
    if (!rc) {
        p.domains = count_domains(names, g->size);
        rc = p.domains < 0
                 ? sk_fail(err, SAIKAI_ENOMEM, "no memory for the hosts of %d ranks", g->size)
                 : choose(c, &p, err);
        if (!rc && (rc = group_ranks(c, names, g->size, &p, &v, &why)) && err)
            *err = why;
        rc = sk_group_verdict(g, rc, err);
    }
    if (!rc && p.scheme && (rc = sk_group_split(g, v.group[g->rank], v.place[g->rank], &p.group)))
        sk_fail(err, rc, "the redundancy groups could not be made");
    if (!rc) {
        p.number = p.scheme ? v.group[g->rank] : 0;
        p.groups = v.groups;
        tell(c, &p, g->rank, &why);
        *out = p;
    }
    sk_grouping_free(&v);
    free(names);
    free(all);
    return rc;
}
