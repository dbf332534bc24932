/* Slurm's word about the nodes of the allocation that the job runs in. */
#include "recovery/launch/slurm.h"
#include "recovery/source/ask.h"
#include "recovery/source/health_line.h"
#include "recovery/source/slurm_node.h"
#include "recovery/source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 16384 };

struct node {
    char name[256], states[128];
    int unwell;
};

struct nodes {
    int n;
    struct node *node;
};

static const char *node_list(void)
{
    const char *list = getenv("SLURM_JOB_NODELIST");
    if (!list || !*list)
        list = getenv("SLURM_NODELIST");
    return list && *list ? list : NULL;
}

static int in_allocation(const struct sk_source_view *v)
{
    (void)v;
    return sk_slurm_present() && node_list();
}

/* NULL: memory is out, or there are too many. */
static struct node *find(struct nodes *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->node[i].name, name))
            return &s->node[i];
    struct node *more = s->n < MOST_NODES ? realloc(s->node, (size_t)(s->n + 1) * sizeof *more) : NULL;
    if (!more)
        return NULL;
    s->node = more;
    more[s->n] = (struct node){.unwell = 0};
    snprintf(more[s->n].name, sizeof more->name, "%s", name);
    return &more[s->n++];
}

/* Its state is another one than before. */
static void tell(const struct sk_source_view *v, struct sk_teller *t, struct node *before, const struct sk_slurm_node *now)
{
    struct saikai_event e;
    int at = sk_hosts_find(v->hosts, now->name), of_job = at >= 0 && v->hosts->host[at].state != SK_HOST_SPARE;
    const char *host = at >= 0 ? v->hosts->host[at].name : now->name;
    char why[400];
    if (sk_event_begin(&e, "hw.node-state", now->severity ? now->severity : SAIKAI_EVENT_INFO, NULL))
        return;
    sk_event_put(&e, "state", "%s", *now->states ? now->states : "none");
    sk_event_put(&e, "reason", "%s", now->reason);
    if (now->unwell != before->unwell)
        sk_event_put(&e, SK_NODE_FIELD, "%s", now->unwell ? SK_NODE_UNWELL : SK_NODE_WELL);
    snprintf(why, sizeof why, "Slurm says %s%s%s", now->states, *now->reason ? ": " : "", now->reason);
    if (now->unwell)
        sk_event_put(&e, SK_NODE_WHY, "%s", why);
    sk_teller_tell(t, &e, host);
    if (of_job && now->severity)
        sk_teller_notice(t, host, why);
    before->unwell = now->unwell;
    snprintf(before->states, sizeof before->states, "%s", now->states);
}

static int look(const struct sk_source_view *v, void **state, struct sk_teller *t, struct saikai_error *err)
{
    struct nodes *s = *state ? *state : (*state = calloc(1, sizeof *s));
    char *argv[] = {"scontrol", "--oneliner", "show", "node", (char *)node_list(), NULL};
    struct sk_asked a = {.argv = argv};
    int told = 0;
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the nodes of the allocation");
    if (!argv[4])
        return sk_fail(err, SAIKAI_ENOENT, "there is no Slurm allocation");
    sk_ask(&a, 1, sk_config_time(v->config, "events.limit"));
    for (size_t at = 0; a.output && at < a.n;) {
        const char *end = memchr(a.output + at, '\n', a.n - at);
        size_t length = end ? (size_t)(end - (a.output + at)) : a.n - at;
        struct sk_slurm_node now;
        struct node *before = sk_slurm_node_parse(a.output + at, length, &now) ? find(s, now.name) : NULL;
        if (before && strcmp(before->states, now.states))
            tell(v, t, before, &now);
        told += before != NULL;
        at += length + 1;
    }
    if (!told) {
        char words[200] = "";
        sk_health_words(a.output ? a.output : "", a.n, words, sizeof words);
        sk_fail(err, SAIKAI_EIO, "`scontrol show node %.100s` %s%s%s", argv[4],
                a.end == SK_ASKED_TOO_LONG ? "takes longer than events.limit" : "names no node", *words ? ": " : "", words);
    }
    sk_asked_free(&a, 1);
    return told ? 0 : err ? err->code : SAIKAI_EIO;
}

static void end(void *state)
{
    struct nodes *s = state;
    free(s->node);
    free(s);
}

const struct sk_source_ops sk_source_slurm = {
    .name = "slurm",
    .description = "states of the allocation's nodes, such as drained or failing, from scontrol",
    .here = in_allocation,
    .look = look,
    .end = end,
};
