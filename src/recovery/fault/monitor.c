/* The monitors: what keepers and connections tell of a node, and those of components. */
#include "recovery/fault/monitor.h"

#include "recovery/fault/unwell.h"

#include <stdatomic.h>
#include <stdio.h>

static int all_silent(const struct saikai_node *n, char *why, size_t cap)
{
    if (n->state != SAIKAI_NODE_ACTIVE || !n->ranks || n->silent_ranks < n->ranks)
        return 0;
    snprintf(why, cap, "nothing is heard of its ranks");
    return 1;
}

static int answers_no_more(const struct saikai_node *n, char *why, size_t cap)
{
    if (n->answers)
        return 0;
    snprintf(why, cap, "it does not answer any more");
    return 1;
}

static const struct sk_monitor_ops forms[] = {
    {"keepers", "a node is down when all keepers there are silent (run.node_timeout)", {all_silent}},
    {"connection", "a node is down when it answered connections at first and does not any more", {answers_no_more}},
    {"sources", "a node is down when a source of events says that it is not well, and a spare that is well can take its place",
     {sk_unwell_is_down}},
};
enum { n_forms = sizeof forms / sizeof *forms };

static struct sk_monitor_ops added[SK_MOST_ADDED];
static atomic_int n_added;

static void add(const struct saikai_component *c, int n)
{
    added[n] = (struct sk_monitor_ops){c->name, c->description, *(const struct saikai_monitor_ops *)c->ops};
    atomic_store(&n_added, n + 1);
}

const struct sk_monitor_ops *sk_monitor_at(int i)
{
    if (i < 0 || i >= n_forms + atomic_load(&n_added))
        return NULL;
    return i < n_forms ? &forms[i] : &added[i - n_forms];
}

SK_OPEN_KIND(sk_monitor_kind, "monitor", "monitor of nodes", struct sk_monitor_ops, sk_monitor_at, description, SAIKAI_KIND_MONITOR,
             struct saikai_monitor_ops, add);

void sk_monitors_ask(struct saikai_node *node, const struct sk_monitor_ops **by, char *why, size_t why_cap)
{
    const struct sk_monitor_ops *m;
    *by = NULL;
    *why = 0;
    node->down = 0;
    for (int i = 0; !*by && (m = sk_monitor_at(i)); i++)
        if (m->ops.node_is_down(node, why, why_cap))
            *by = m;
    why[why_cap - 1] = 0;
    node->down = *by != NULL;
}
