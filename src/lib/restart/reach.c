/* Looks at the newest generation that could not be used, on every node and in the prefix, and lets
 * rank 0 tell why. */
#include "lib/restart/reach.h"

#include "base/log.h"
#include "lib/restart/far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sk_reach_missing(struct sk_session *s, int64_t ranks, int (*has)(const void *arg, int rank),
                     const void *arg, int64_t *missing, int64_t *first, struct saikai_error *err)
{
    int64_t *seen = calloc((size_t)ranks + 1, sizeof *seen);
    int rc = seen ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %lld ranks", (long long)ranks);
    rc = sk_group_verdict(s->g, rc, err);
    for (int64_t i = 0; !rc && i < ranks; i++)
        seen[i] = has(arg, (int)i);
    if (!rc && ranks && (rc = sk_group_allreduce(s->g, seen, (int)ranks, SK_OP_MAX)))
        sk_fail(err, rc, "the ranks lost contact");
    *missing = *first = 0;
    for (int64_t i = ranks - 1; !rc && i >= 0; i--)
        if (!seen[i]) {
            ++*missing;
            *first = i;
        }
    free(seen);
    return rc;
}

/* The newest up to `most` of which there is anything on this node, or in the prefix. SILENT: it does not answer. */
#define SILENT INT64_MAX
static int64_t newest_in(struct sk_session *s, int far, int64_t most)
{
    struct sk_gen_list l = {0};
    int64_t key = 0;
    int rc = SAIKAI_ENOENT;
    if (far && *s->place.prefix_root)
        rc = sk_far_content_scan(s, &l, NULL);
    else if (!far)
        rc = sk_content_scan(s->place.local_root, &l, NULL);
    if (rc)
        return rc == SAIKAI_ETIMEDOUT ? SILENT : 0;
    for (size_t i = 0; !key && i < l.count; i++)
        if (l.gen[i].incarnation >= s->who.first_incarnation && sk_gen_key(l.gen[i]) <= most)
            key = sk_gen_key(l.gen[i]);
    sk_gen_list_free(&l);
    return key;
}

/* What a rank sees of a generation: on its node, and rank 0 in the prefix. */
struct sight {
    struct sk_content *c[2];
};

static int sees(const void *arg, int rank)
{
    const struct sight *x = arg;
    for (int i = 0; i < 2; i++)
        if (x->c[i] && sk_content_find(x->c[i], rank) >= 0)
            return 1;
    return 0;
}

static void look(struct sk_session *s, struct sk_gen g, struct sight *x)
{
    sk_content_load(s->place.local_root, g, 0, &x->c[0], NULL);
    if (!s->g->rank && *s->place.prefix_root && strcmp(s->place.local_root, s->place.prefix_root) != 0)
        sk_far_content(s, g, &x->c[1], NULL);
}

/* By rank 0. */
static void tell(const struct sk_session *s, struct sk_gen g, const struct sight *x, int64_t ranks,
                 int64_t missing, int64_t first, int64_t taken)
{
    char name[48], why[400], back[120];
    const struct sk_content *p = x->c[1];
    if (!ranks)
        snprintf(why, sizeof why, "no file of it can be read");
    else if (missing)
        snprintf(why, sizeof why,
                 "it was written by %lld ranks, and of %lld of them (rank %lld%s) no file is on "
                 "these nodes or in a prefix: it was not finished, or is lost",
                 (long long)ranks, (long long)missing, (long long)first, missing > 1 ? " …" : "");
    else
        snprintf(why, sizeof why,
                 "its %lld files lie in the node-local directories of other nodes than those of "
                 "the ranks that need them",
                 (long long)ranks);
    size_t n = strlen(why);
    if (p && p->troubles)
        snprintf(why + n, sizeof why - n, " (%.200s)", p->trouble[0].text);
    if (taken)
        snprintf(back, sizeof back, "going back to iteration %lld, %lld iterations are lost",
                 (long long)sk_gen_of_key(taken).iteration,
                 (long long)(g.iteration - sk_gen_of_key(taken).iteration));
    else
        snprintf(back, sizeof back, "there is no older one");
    sk_log(SK_LOG_WARN, "generation %s of iteration %lld is out of reach: %s; %s",
           sk_gen_name(g, name), (long long)g.iteration, why, back);
}

int sk_reach_tell(struct sk_session *s, int64_t taken, int64_t most, int64_t *newest,
                  struct saikai_error *err)
{
    int64_t key = newest_in(s, 0, most), far = s->g->rank ? 0 : newest_in(s, 1, most), ranks = 0, missing = 0, first = 0;
    if (far == SILENT && taken) /* there is something to go on from, and nothing to be said of what may be newer */
        far = 0;
    key = far > key ? far : key;
    int rc = sk_group_allreduce(s->g, &key, 1, SK_OP_MAX);
    *newest = key > taken ? key : 0;
    if (rc)
        return sk_fail(err, rc, "the ranks lost contact");
    if (key == SILENT)
        return sk_fail(err, SAIKAI_ETIMEDOUT, "%s does not answer: nobody knows what is in it", s->place.prefix_root);
    if (!*newest)
        return 0;
    struct sk_gen g = sk_gen_of_key(key);
    struct sight x = {{NULL, NULL}};
    look(s, g, &x);
    for (int i = 0; i < 2; i++)
        if (x.c[i] && x.c[i]->nranks > ranks)
            ranks = x.c[i]->nranks;
    if ((rc = sk_group_allreduce(s->g, &ranks, 1, SK_OP_MAX)))
        sk_fail(err, rc, "the ranks lost contact");
    if (!rc)
        rc = sk_reach_missing(s, ranks, sees, &x, &missing, &first, err);
    if (!rc && s->g->rank == 0)
        tell(s, g, &x, ranks, missing, first, taken);
    sk_content_free(x.c[0]);
    sk_content_free(x.c[1]);
    return rc;
}
