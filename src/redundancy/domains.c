/* The rules that make a domain of a host's name, and dealing ranks of different domains to
 * groups. */
#include "redundancy/domains.h"

#include "base/file/io.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

static int put(char *out, const char *from, size_t n)
{
    n = n < SK_MAX_HOST - 1 ? n : SK_MAX_HOST - 1;
    memcpy(out, from, n);
    out[n] = 0;
    return 0;
}

static int by_regex(const char *expression, const char *host, char *out, struct saikai_error *err)
{
    regex_t re;
    regmatch_t m[2];
    int bad = regcomp(&re, expression, REG_EXTENDED);
    if (bad) {
        char why[120];
        regerror(bad, &re, why, sizeof why);
        return sk_fail(err, SAIKAI_ECONFIG, "failure domains by 'regex:%.80s': %s", expression,
                       why);
    }
    if (regexec(&re, host, 2, m, 0))
        put(out, host, strlen(host));
    else if (m[1].rm_so >= 0)
        put(out, host + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so));
    else
        put(out, host + m[0].rm_so, (size_t)(m[0].rm_eo - m[0].rm_so));
    regfree(&re);
    return 0;
}

static int by_file(const char *path, const char *host, char *out, struct saikai_error *err)
{
    void *data;
    size_t n;
    int rc = sk_io_slurp(path, 16 << 20, &data, &n, err);
    if (rc)
        return rc;
    put(out, host, strlen(host));
    char *rest = NULL;
    int number = 0;
    for (char *next = data; !rc && next;) {
        char *line = next, *words;
        number++;
        if ((next = strchr(line, '\n')))
            *next++ = 0;
        line[strcspn(line, "#")] = 0;
        char *pattern = strtok_r(line, " \t\r", &words), *domain = strtok_r(NULL, " \t\r", &words);
        rest = strtok_r(NULL, " \t\r", &words);
        if (!pattern)
            continue;
        if (!domain || rest)
            rc = sk_fail(err, SAIKAI_ECONFIG,
                         "%s:%d: write a host pattern and the name of its failure domain", path,
                         number);
        else if (!fnmatch(pattern, host, 0)) {
            put(out, domain, strlen(domain));
            break;
        }
    }
    free(data);
    return rc;
}

static int by_hwloc(const char *kind, const char *host, char *out, struct saikai_error *err)
{
#ifdef HAVE_HWLOC
    hwloc_topology_t top;
    hwloc_obj_type_t type;
    hwloc_cpuset_t set = NULL;
    if (hwloc_type_sscanf(kind, &type, NULL, 0))
        return sk_fail(err, SAIKAI_ECONFIG,
                       "failure domains by 'hwloc:%.40s': no such kind of object", kind);
    if (hwloc_topology_init(&top))
        return sk_fail(err, SAIKAI_ENOTSUP,
                       "failure domains by hwloc: the topology cannot be read");
    int number = -1;
    if (!hwloc_topology_load(top) && (set = hwloc_bitmap_alloc()) &&
        !hwloc_get_last_cpu_location(top, set, HWLOC_CPUBIND_PROCESS))
        for (hwloc_obj_t o = NULL; number < 0 && (o = hwloc_get_next_obj_by_type(top, type, o));)
            if (o->cpuset && hwloc_bitmap_intersects(o->cpuset, set))
                number = (int)o->logical_index;
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(top);
    if (number < 0)
        return sk_fail(err, SAIKAI_ECONFIG,
                       "failure domains by 'hwloc:%.40s': %s has no such object", kind, host);
    snprintf(out, SK_MAX_HOST, "%.40s/%d", host, number);
    return 0;
#else
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "failure domains by 'hwloc:%.40s': Saikai was built without hwloc", kind);
#endif
}

static int by_name(const char *none, const char *host, char *out, struct saikai_error *err)
{
    (void)none;
    (void)err;
    return put(out, host, strlen(host));
}

/* The rules: those of an argument end with ':', those without a function are known to sk_domain_of_rank alone. */
static const struct rule {
    const char *begins, *name, *about;
    int (*of)(const char *argument, const char *host, char *out, struct saikai_error *err);
} rules[] = {
    {"host", "host", "the host", by_name},
    {"process", "process", "each process by itself, which protects against no loss of a node: for trying out", NULL},
    {"regex:", "regex:EXPRESSION", "what the expression finds in the host's name", by_regex},
    {"file:", "file:PATH", "lines of host pattern and domain", by_file},
    {"hwloc:", "hwloc:KIND", "parts of a host, such as package or numanode", by_hwloc},
};

static const struct rule *rule_at(int i)
{
    return i >= 0 && i < (int)(sizeof rules / sizeof *rules) ? &rules[i] : NULL;
}

SK_KIND(sk_domain_kind, "domain", "rule of failure domains", struct rule, rule_at, about);

static const struct rule *rule_of(const char *text, const char **argument)
{
    for (int i = 0; text && *text && rule_at(i); i++) {
        size_t n = strlen(rules[i].begins);
        *argument = text + n;
        if (!strncmp(text, rules[i].begins, n) && (text[n - 1] == ':' || !text[n]))
            return &rules[i];
    }
    return text && *text ? NULL : &rules[0];
}

int sk_domain_of(const char *text, const char *host, char *out, struct saikai_error *err)
{
    const char *argument = "";
    const struct rule *r = rule_of(text, &argument);
    if (r && r->of)
        return r->of(argument, host, out, err);
    sk_kind_unknown(&sk_domain_kind, NULL, text, err);
    return err ? err->code = SAIKAI_ECONFIG : SAIKAI_ECONFIG;
}

int sk_domain_of_rank(const char *text, const char *host, int rank, char *out, struct saikai_error *err)
{
    const char *argument = "";
    const struct rule *r = rule_of(text, &argument);
    if (!r || r->of)
        return sk_domain_of(text, host, out, err);
    snprintf(out, SK_MAX_HOST, "%s %d", r->name, rank);
    return 0;
}

int sk_grouping_members(int wanted, int parity, int ranks)
{
    enum { USUAL = 8 };
    int n = wanted ? wanted : parity + USUAL - 1 < USUAL ? USUAL : parity + USUAL - 1;
    if (n > SK_MAX_MEMBERS)
        n = SK_MAX_MEMBERS;
    return n < ranks ? n : ranks;
}

struct entry {
    const char *domain;
    int rank;
};

static int by_domain(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = strcmp(x->domain, y->domain);
    return c ? c : x->rank - y->rank;
}

/* Ranks of the largest domain and number of domains; list is sorted by domain. */
static int largest_domain(const struct entry *list, int ranks, int *domains)
{
    int largest = 0;
    *domains = 0;
    for (int i = 0, n; i < ranks; i += n) {
        n = 1;
        while (i + n < ranks && !strcmp(list[i].domain, list[i + n].domain))
            n++;
        largest = n > largest ? n : largest;
        ++*domains;
    }
    return largest;
}

int sk_grouping_make(const char *const domain[], int ranks, int members, int least,
                     struct sk_grouping *out, struct saikai_error *err)
{
    if (ranks < least || ranks < 2)
        return sk_fail(err, SAIKAI_EINVAL,
                       "redundancy needs %d or more nodes for this parity, and there %s %d: start one process on each "
                       "of more nodes%s",
                       least > 2 ? least : 2, ranks == 1 ? "is" : "are", ranks, ranks > 1 ? ", or use less parity" : "");
    if (members < least)
        return sk_fail(err, SAIKAI_EINVAL,
                       "redundancy groups of %d members are too small for this parity, which needs %d: use larger "
                       "groups or less parity",
                       members, least);
    if (members < 2 || members > SK_MAX_MEMBERS)
        return sk_fail(err, SAIKAI_EINVAL,
                       "redundancy groups of %d members: 2 to %d are possible", members, SK_MAX_MEMBERS);
    struct entry *list = calloc((size_t)ranks + 1, sizeof *list);
    struct sk_grouping v = {0, calloc((size_t)ranks + 1, sizeof(int)),
                            calloc((size_t)ranks + 1, sizeof(int))};
    if (!list || !v.group || !v.place) {
        free(list);
        sk_grouping_free(&v);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to form groups of %d ranks", ranks);
    }
    for (int r = 0; r < ranks; r++)
        list[r] = (struct entry){domain[r], r};
    qsort(list, (size_t)ranks, sizeof *list, by_domain);
    int domains, largest = largest_domain(list, ranks, &domains);
    v.groups = (ranks + members - 1) / members;
    if (v.groups < largest)
        v.groups = largest;
    /* rather one member more than asked for than a group that is too small */
    while (v.groups > largest && ranks / v.groups < least &&
           ranks <= (v.groups - 1) * SK_MAX_MEMBERS)
        v.groups--;
    int rc = 0;
    if (ranks / v.groups < least)
        rc = sk_fail(err, SAIKAI_EINVAL,
                     "no redundancy groups of %d or more members in different failure domains: %d "
                     "ranks on %d "
                     "domain%s, up to %d ranks on one; use more nodes or less parity",
                     least, ranks, domains, domains == 1 ? "" : "s", largest);
    for (int i = 0; !rc && i < ranks; i++) {
        v.group[list[i].rank] = i % v.groups;
        v.place[list[i].rank] = i / v.groups;
    }
    free(list);
    if (rc)
        sk_grouping_free(&v);
    else
        *out = v;
    return rc;
}

void sk_grouping_free(struct sk_grouping *g)
{
    free(g->group);
    free(g->place);
    *g = (struct sk_grouping){0};
}

static int split(struct sk_group *job, const char *all, int members, int least,
                 struct sk_group **out, int *number, struct saikai_error *err)
{
    const char **domain = calloc((size_t)job->size, sizeof *domain);
    struct sk_grouping v = {0};
    int rc =
        domain ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to form groups of %d ranks", job->size);
    for (int r = 0; !rc && r < job->size; r++)
        domain[r] = all + (size_t)r * SK_MAX_HOST;
    if (!rc)
        rc = sk_grouping_make(domain, job->size, members, least, &v, err);
    rc = sk_group_verdict(job, rc, err);
    struct sk_group *g = NULL;
    if (!rc && (rc = sk_group_split(job, v.group[job->rank], v.place[job->rank], &g)))
        sk_fail(err, rc, "the redundancy groups could not be made");
    if (!rc) {
        *out = g;
        *number = v.group[job->rank];
    }
    sk_grouping_free(&v);
    free(domain);
    return rc;
}

int sk_grouping_split(struct sk_group *job, const char *host, const char *rule, int members,
                      int least, struct sk_group **out, int *number, struct saikai_error *err)
{
    char here[256] = "localhost", mine[SK_MAX_HOST] = "";
    if (!host && !gethostname(here, sizeof here - 1))
        host = here;
    char *all = calloc((size_t)job->size, SK_MAX_HOST);
    int rc = 0;
    rc = sk_domain_of_rank(rule, host ? host : here, job->rank, mine, err);
    if (!rc && !all)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to form groups of %d ranks", job->size);
    rc = sk_group_verdict(job, rc, err);
    if (!rc && (rc = sk_group_allgather(job, mine, all, SK_MAX_HOST)))
        sk_fail(err, rc, "the ranks lost contact while groups were formed");
    if (!rc)
        rc = split(job, all, members, least, out, number, err);
    free(all);
    return rc;
}
