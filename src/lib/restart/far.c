/* Looks at the prefix by threads that may hang there, with copies of all that they touch. */
#include "lib/restart/far.h"

#include "base/file/patience.h"
#include "lib/levels/aggregator.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct look {
    char root[PATH_MAX];
    struct sk_gen gen;
    const struct sk_level_ops *ops;
    int rank, ranks;
    struct sk_gen_list list;
    struct sk_content *content;
};

static void drop(void *arg)
{
    struct look *l = arg;
    sk_gen_list_free(&l->list);
    sk_content_free(l->content);
    free(l);
}

static int scan(void *arg, struct saikai_error *err)
{
    struct look *l = arg;
    return sk_gen_scan(l->root, l->rank, &l->list, err);
}

static int list(void *arg, struct saikai_error *err)
{
    struct look *l = arg;
    return l->ops->list(l->root, l->rank, &l->list, err);
}

static int archived_ranks(void *arg, struct saikai_error *err)
{
    struct look *l = arg;
    return sk_archived(l->root, l->gen) ? sk_archived_ranks(l->root, l->gen, &l->ranks, err) : 0;
}

static int content_scan(void *arg, struct saikai_error *err)
{
    struct look *l = arg;
    return sk_content_scan(l->root, &l->list, err);
}

static int content(void *arg, struct saikai_error *err)
{
    struct look *l = arg;
    return sk_content_load(l->root, l->gen, 0, &l->content, err);
}

/* *out is to be dropped when the result is 0. */
static int look(struct sk_session *s, int (*fn)(void *, struct saikai_error *), const struct look *what, struct look **out,
                struct saikai_error *err)
{
    struct look *l = malloc(sizeof *l);
    if (!l)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to look at %s", s->place.prefix_root);
    *l = *what;
    snprintf(l->root, sizeof l->root, "%s", s->place.prefix_root);
    int alone = !strcmp(s->place.prefix_root, s->place.local_root);
    int rc = alone ? fn(l, err) : sk_patience_call(s->place.patience, s->place.prefix_root, fn, drop, l, err);
    if (rc == SAIKAI_ETIMEDOUT && !alone)
        return rc;
    if (rc)
        drop(l);
    else
        *out = l;
    return rc;
}

static int look_for_list(struct sk_session *s, int (*fn)(void *, struct saikai_error *), const struct look *what,
                         struct sk_gen_list *out, struct saikai_error *err)
{
    struct look *l;
    int rc = look(s, fn, what, &l, err);
    if (rc)
        return rc;
    *out = l->list;
    l->list = (struct sk_gen_list){0};
    drop(l);
    return 0;
}

int sk_far_scan(struct sk_session *s, int rank, struct sk_gen_list *out, struct saikai_error *err)
{
    return look_for_list(s, scan, &(struct look){.rank = rank}, out, err);
}

int sk_far_list(struct sk_session *s, const struct sk_level_ops *ops, struct sk_gen_list *out, struct saikai_error *err)
{
    return look_for_list(s, list, &(struct look){.ops = ops, .rank = s->g->rank}, out, err);
}

int sk_far_archived_ranks(struct sk_session *s, struct sk_gen gen, int *ranks, struct saikai_error *err)
{
    struct look *l;
    int rc = look(s, archived_ranks, &(struct look){.gen = gen}, &l, err);
    *ranks = rc ? 0 : l->ranks;
    if (!rc)
        drop(l);
    return rc;
}

int sk_far_content_scan(struct sk_session *s, struct sk_gen_list *out, struct saikai_error *err)
{
    return look_for_list(s, content_scan, &(struct look){0}, out, err);
}

int sk_far_content(struct sk_session *s, struct sk_gen gen, struct sk_content **out, struct saikai_error *err)
{
    struct look *l;
    int rc = look(s, content, &(struct look){.gen = gen}, &l, err);
    *out = NULL;
    if (rc)
        return rc;
    *out = l->content;
    l->content = NULL;
    drop(l);
    return 0;
}
