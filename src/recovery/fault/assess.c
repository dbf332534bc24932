/* Puts together what fault models may see, and asks monitors, models and recovery protocols. */
#include "recovery/fault/assess.h"

#include "recovery/fault/monitor.h"
#include "recovery/fault/unwell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Older ones are forgotten: more than any model is likely to ask for. */
enum { MOST_PAST = 256 };

struct why {
    char text[160];
};

struct sk_assessor {
    struct sk_assess_config c;
    int n_hosts;
    struct saikai_node *node;
    struct why *why;
    int32_t *room; /* by host */
    struct saikai_lost_process *lost;
    struct saikai_treatment *each;
    struct saikai_fault past[MOST_PAST];
    uint32_t n_past;
};

struct sk_assessor *sk_assessor_new(const struct sk_assess_config *c, int n_hosts, int n_ranks)
{
    struct sk_assessor *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->c = *c;
    a->n_hosts = n_hosts;
    a->node = calloc((size_t)n_hosts + 1, sizeof *a->node);
    a->why = calloc((size_t)n_hosts + 1, sizeof *a->why);
    a->room = calloc((size_t)n_hosts + 1, sizeof *a->room);
    a->lost = calloc((size_t)n_ranks, sizeof *a->lost);
    a->each = calloc((size_t)n_ranks, sizeof *a->each);
    if (!a->node || !a->why || !a->room || !a->lost || !a->each || (!a->c.plan.n && sk_recovery_parse(NULL, &a->c.plan, NULL))) {
        sk_assessor_free(a);
        return NULL;
    }
    return a;
}

void sk_assessor_free(struct sk_assessor *a)
{
    if (!a)
        return;
    free(a->node);
    free(a->why);
    free(a->room);
    free(a->lost);
    free(a->each);
    free(a);
}

static struct saikai_fault seen(const struct sk_fault *f, double now)
{
    uint32_t of = (sk_fault_means(f, SK_FAULT_OF_PROCESS) ? SAIKAI_FAULT_OF_PROCESS : 0) |
                  (sk_fault_means(f, SK_FAULT_TAKES_HOST) ? SAIKAI_FAULT_OF_NODE : 0) |
                  (sk_fault_means(f, SK_FAULT_SILENCE) ? SAIKAI_FAULT_SILENCE : 0);
    return (struct saikai_fault){sizeof(struct saikai_fault), of, f->kind ? f->kind->name : "", f->rank, f->host, f->code, f->seconds, now};
}

static void look_at_nodes(struct sk_assessor *a, const struct sk_scene *s)
{
    static const int states[] = {[SK_HOST_ACTIVE] = SAIKAI_NODE_ACTIVE, [SK_HOST_SPARE] = SAIKAI_NODE_SPARE, [SK_HOST_LOST] = SAIKAI_NODE_LOST};
    for (int h = 0; h < a->n_hosts; h++)
        a->node[h] = (struct saikai_node){
            .size_bytes = sizeof *a->node,
            .state = states[s->hosts->host[h].state],
            .answers = !s->answers ? -1 : s->answers[h] ? 1 : s->answered[h] ? 0 : -1,
            .name = s->hosts->host[h].name,
        };
    for (int r = 0; r < s->n_ranks; r++) {
        struct saikai_node *n = &a->node[s->seat[r]];
        n->ranks++;
        n->silent_ranks += sk_detector_rank_silent(s->detector, r, s->now);
    }
    int gone = 0;
    for (int h = 0; h < a->n_hosts; h++)
        gone |= a->node[h].state == SAIKAI_NODE_ACTIVE && a->node[h].answers == 0;
    for (int h = 0; gone && h < a->n_hosts; h++) /* the MPI's launcher takes the processes of others along */
        a->node[h].silent_ranks = a->node[h].answers == 1 ? 0 : a->node[h].silent_ranks;
    sk_unwell_look(s->hosts);
    for (int h = 0; h < a->n_hosts; h++) {
        const struct sk_monitor_ops *by = NULL;
        char why[100] = "";
        if (a->node[h].state != SAIKAI_NODE_LOST)
            sk_monitors_ask(&a->node[h], &by, why, sizeof why);
        snprintf(a->why[h].text, sizeof a->why[h].text, "%s%s(monitor %s)", why, *why ? " " : "", by ? by->name : "");
    }
}

/* Spares that have room for all ranks of the host. */
static int spares_for(const struct sk_assessor *a, const struct sk_hosts *h, int host)
{
    int n = 0;
    for (int i = 0; host >= 0 && i < a->n_hosts; i++)
        n += a->node[i].state == SAIKAI_NODE_SPARE && !a->node[i].down &&
             (!h->host[i].slots || h->host[i].slots >= a->node[host].ranks);
    return n;
}

/* The processes that the fault took: those that the scene names, and all on nodes that are down. Where that is none, nobody knows whose
 * fault it is, and it is all of them. */
static uint32_t list_lost(struct sk_assessor *a, const struct sk_scene *s)
{
    uint32_t n = 0;
    for (int all = 0; !n && all < 2; all++)
        for (int r = 0; r < s->n_ranks; r++) {
            if (!all && !s->lost[r] && !a->node[s->seat[r]].down)
                continue;
            a->lost[n++] = (struct saikai_lost_process){
                .size_bytes = sizeof *a->lost,
                .rank = s->copies ? s->copies->rank[r] : r,
                .copy = s->copies && sk_copies_is_second(s->copies, r),
                .node = s->seat[r],
                .twin = s->twins,
                .in_place = s->in_place,
            };
        }
    return n;
}

static void find_room(struct sk_assessor *a, const struct sk_hosts *h)
{
    for (int i = 0; i < a->n_hosts; i++) {
        int left = h->host[i].slots - a->node[i].ranks;
        a->room[i] = !h->host[i].slots ? -1 : left > 0 ? left : 0;
    }
}

/* Where each rank is two processes, those that are built in leave it to the twin, if that lives. */
static void ask_protocol(struct sk_assessor *a, const struct sk_scene *s, int form, struct saikai_loss *loss, struct sk_treated *out)
{
    if (s->twins && form < SK_N_ANSWERS)
        form = SAIKAI_ANSWER_TRANSFER;
    find_room(a, s->hosts);
    loss->size_bytes = sizeof *loss;
    loss->n_lost = list_lost(a, s);
    loss->lost = a->lost;
    loss->room = a->room;
    sk_treat(sk_recovery_protocol_at(form), loss, s->cannot ? s->cannot : "", a->each, out);
}

struct sk_verdict sk_assess(struct sk_assessor *a, const struct sk_fault *f, const struct sk_scene *scene)
{
    struct sk_verdict v = {.leaves = -1, .lost = a->lost, .each = a->each};
    struct saikai_fault fault = seen(f, scene->now);
    struct sk_treated t;
    int down = 0, form;
    look_at_nodes(a, scene);
    v.spares = spares_for(a, scene->hosts, f->host);
    struct saikai_fault_view view = {
        .size_bytes = sizeof view,
        .n_nodes = (uint32_t)a->n_hosts,
        .n_past = a->n_past,
        .nodes = a->node,
        .past = a->past,
        .spares = v.spares,
        .repeated_faults = a->c.repeated_faults,
        .repeated_window_s = a->c.repeated_window_s,
        .network_patience_s = a->c.network_patience_s,
    };
    v.model = sk_recovery_choose(&a->c.plan, &fault, &view, &form);
    struct saikai_loss loss = {.fault = &fault, .view = &view, .model = v.model ? v.model->name : ""};
    ask_protocol(a, scene, form, &loss, &t);
    v.answer = t.answer;
    v.wanted = t.wanted;
    v.n_lost = loss.n_lost;
    snprintf(v.said, sizeof v.said, "%s", t.said);
    for (int h = 0; h < a->n_hosts; h++)
        down += a->node[h].down;
    if (t.whole_node && (!down || fault.of & SAIKAI_FAULT_OF_NODE))
        v.leaves = f->host;
    return v;
}

const char *sk_assess_down(const struct sk_assessor *a, int host)
{
    return a->node[host].down ? a->why[host].text : NULL;
}

void sk_assess_remember(struct sk_assessor *a, const struct sk_fault *f, double now)
{
    if (a->n_past == MOST_PAST)
        memmove(a->past, a->past + 1, (--a->n_past) * sizeof *a->past);
    a->past[a->n_past++] = seen(f, now);
}
