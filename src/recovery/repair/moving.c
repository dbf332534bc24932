/* Before a start on other hosts: which are not used any more, what takes their place, and which ranks a component sends where. */
#include "recovery/repair/moving.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One thing more that is done. */
static void add(char *then, size_t cap, const char *what)
{
    size_t n = strlen(then);
    snprintf(then + n, cap - n, "%s%s", n ? "; " : "", what);
}

/* A spare that is down, or a host that the answer leaves, is not used any more; then says what took its place. 0; -1: no host is
 * left. */
static int lose_host(struct sk_supervisor *s, int h, char *then, size_t cap)
{
    char what[600];
    const char *name = s->hosts.host[h].name;
    int spare = sk_hosts_lose(&s->hosts, h, s->c.detector.n_ranks, s->seat);
    if (spare == -2)
        return -1;
    if (spare >= 0)
        snprintf(what, sizeof what, "%s takes the place of %s", s->hosts.host[spare].name, name);
    else
        snprintf(what, sizeof what, "no spare host is left: the ranks of %s are spread over the others", name);
    sk_say(s, SK_LOG_WARN, "%s", what);
    add(then, cap, what);
    return 0;
}

/* Processes go to the nodes that a component names, and leave the others of theirs where they are. A host that all have left is a spare. */
static void move(struct sk_supervisor *s, const struct sk_verdict *v, char *then, size_t cap)
{
    for (uint32_t i = 0; i < v->n_lost; i++) {
        int rank = s->c.copies ? sk_copies_process(s->c.copies, v->lost[i].rank, v->lost[i].copy) : v->lost[i].rank;
        int from = s->seat[rank], to = v->each[i].node;
        char what[320];
        if (v->each[i].answer != SAIKAI_ANSWER_MIGRATION || to < 0)
            continue;
        s->seat[rank] = to;
        s->hosts.host[to].state = SK_HOST_ACTIVE;
        if (!sk_hosts_ranks(s->seat, s->c.detector.n_ranks, from))
            s->hosts.host[from].state = sk_assess_down(s->assessor, from) ? SK_HOST_LOST : SK_HOST_SPARE;
        snprintf(what, sizeof what, "rank %d goes to %s", v->lost[i].rank, s->hosts.host[to].name);
        add(then, cap, what);
    }
}

int sk_supervisor_move(struct sk_supervisor *s, const struct sk_verdict *v, char *then, size_t cap)
{
    int rc = 0;
    move(s, v, then, cap);
    for (int h = 0; h < s->hosts.n; h++) { /* spares before the ranks move */
        const char *why = sk_assess_down(s->assessor, h);
        if (!why || s->hosts.host[h].state != SK_HOST_SPARE)
            continue;
        if (s->answered[h] && !s->answers[h])
            sk_say(s, SK_LOG_WARN, "spare host %s does not answer and counts as lost", s->hosts.host[h].name);
        else
            sk_say(s, SK_LOG_WARN, "spare host %s counts as lost: %s", s->hosts.host[h].name, why);
        s->hosts.host[h].state = SK_HOST_LOST;
    }
    int *leave = calloc((size_t)s->hosts.n, sizeof *leave);
    for (int h = 0; leave && h < s->hosts.n; h++) /* all of them before the ranks move */
        leave[h] = s->hosts.host[h].state == SK_HOST_ACTIVE && (h == v->leaves || sk_assess_down(s->assessor, h));
    for (int h = 0; leave && h < s->hosts.n; h++)
        if (leave[h] && sk_assess_down(s->assessor, h) == NULL && !sk_fault_means(&s->fault, SK_FAULT_TAKES_HOST))
            s->hosts.host[h].shunned = 1; /* it lives, and would be a spare again */
    for (int h = 0; leave && h < s->hosts.n; h++)
        if (leave[h] && lose_host(s, h, then, cap))
            rc = -1;
    free(leave);
    return rc;
}
