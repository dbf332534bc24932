/* Plays the coding of a cluster stripe by stripe for each form: a node or a link does one thing
 * after the other, and what takes longest decides. */
#include "coding_model.h"

#include <stdlib.h>

enum { MOST_WINDOW = 64 };

struct node {
    double out_free, in_free, cpu_free;
    double ended[MOST_WINDOW]; /* when the node was through with a stripe, by stripe mod window */
};

struct run {
    const struct cm_cluster *c;
    struct node *node; /* data nodes, then coding nodes */
    double *ready;     /* sums or blocks of this stripe, per data node */
    uint64_t stripe;
};

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* When node i has done this much work that can begin at `from`. */
static double work(struct run *r, int i, double seconds, double from)
{
    struct node *n = &r->node[i];
    n->cpu_free = later(n->cpu_free, from) + seconds;
    return n->cpu_free;
}

/* When the message is there. */
static double transfer(struct run *r, int from, int to, double bytes, double ready)
{
    struct node *a = &r->node[from], *b = &r->node[to];
    double start = later(ready, later(a->out_free, b->in_free));
    a->out_free = b->in_free = start + bytes / r->c->bytes_per_second;
    a->ended[r->stripe % (uint64_t)r->c->window] = a->out_free;
    return a->out_free + r->c->latency;
}

/* When node i may begin this stripe: the one `window` before it is through there. */
static double window_opens(const struct run *r, int i)
{
    return r->node[i].ended[r->stripe % (uint64_t)r->c->window];
}

static double read_block(struct run *r, int i)
{
    return work(r, i, r->c->block / r->c->read_rate, window_opens(r, i));
}

static double add(const struct run *r, double sources, double rows)
{
    return sources * rows * r->c->block / r->c->add_rate;
}

static double pipeline(struct run *r)
{
    const struct cm_cluster *c = r->c;
    int k = c->data_nodes, m = c->coding_nodes;
    double at = 0, block = c->block;
    for (int i = 0; i < k; i++) {
        double own = read_block(r, i);
        at = work(r, i, add(r, 1, m), later(own, at));
        at = transfer(r, i, i + 1 < k ? i + 1 : k, m * block, at);
    }
    for (int s = 0; s < m; s++) {
        at = work(r, k + s, block / c->read_rate, at); /* hash and store its row */
        r->node[k + s].ended[r->stripe % (uint64_t)c->window] = at;
        if (s + 1 < m)
            at = transfer(r, k + s, k + s + 1, (m - s - 1) * block, at);
    }
    return at;
}

static double fan_in(struct run *r)
{
    const struct cm_cluster *c = r->c;
    int k = c->data_nodes, m = c->coding_nodes;
    double block = c->block, end = 0;
    for (int i = 0; i < k; i++)
        r->ready[i] = 0;
    for (int i = k - 1; i >= 0; i--) { /* children before parents */
        int children = 2 * i + 2 < k ? 2 : 2 * i + 1 < k ? 1 : 0;
        double own = read_block(r, i);
        double sum = work(r, i, add(r, 1 + children, m), later(own, r->ready[i]));
        for (int s = 0; !i && s < m; s++) {
            double at = work(r, k + s, block / c->read_rate, transfer(r, 0, k + s, block, sum));
            r->node[k + s].ended[r->stripe % (uint64_t)c->window] = at;
            end = later(end, at);
        }
        int parent = (i - 1) / 2;
        if (i)
            r->ready[parent] = later(r->ready[parent], transfer(r, i, parent, m * block, sum));
    }
    return end;
}

static double broadcast(struct run *r)
{
    const struct cm_cluster *c = r->c;
    int k = c->data_nodes, m = c->coding_nodes;
    double block = c->block, end = 0;
    for (int i = 0; i < k; i++)
        r->ready[i] = read_block(r, i);
    for (int s = 0; s < m; s++) {
        double all = 0;
        for (int i = 0; i < k; i++)
            all = later(all, transfer(r, i, k + s, block, r->ready[i]));
        double at = work(r, k + s, add(r, k, 1) + block / c->read_rate, all);
        r->node[k + s].ended[r->stripe % (uint64_t)c->window] = at;
        end = later(end, at);
    }
    return end;
}

double cm_seconds(const struct cm_cluster *c, enum cm_form form)
{
    static double (*const forms[CM_FORMS])(struct run *) = {pipeline, fan_in, broadcast};
    size_t nodes = (size_t)(c->data_nodes + c->coding_nodes);
    struct run r = {
        .c = c, .node = calloc(nodes, sizeof *r.node), .ready = calloc(nodes, sizeof *r.ready)};
    uint64_t stripes = (c->bytes + c->block - 1) / c->block;
    double end = -1;
    for (r.stripe = 0; r.node && r.ready && r.stripe < stripes; r.stripe++)
        end = forms[form](&r);
    free(r.node);
    free(r.ready);
    return end;
}
