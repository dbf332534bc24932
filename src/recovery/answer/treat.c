/* Asks a recovery protocol what is done for each lost process, and holds that against what there is: a node that is not there, a twin that
 * does not live. Those that are built in are asked and checked as those of components are. */
#include "recovery/answer/treat.h"

#include <stdio.h>
#include <string.h>

static int is_built_in(const struct sk_recovery_protocol_ops *by)
{
    for (int i = 0; i < SK_N_ANSWERS; i++)
        if (by == sk_recovery_protocol_at(i))
            return 1;
    return 0;
}

/* The one of two answers that the whole job gets: the more it costs the others, the stronger. */
static int stronger(int a, int b)
{
    static const int cost[SK_N_ANSWERS] = {
        [SAIKAI_ANSWER_IGNORE] = 0, [SAIKAI_ANSWER_TRANSFER] = 1, [SAIKAI_ANSWER_IN_PLACE] = 2, [SAIKAI_ANSWER_RESTART] = 3, [SAIKAI_ANSWER_MIGRATION] = 4,
    };
    return cost[a] >= cost[b] ? a : b;
}

/* So many of the lost are to go to this node. */
static int32_t coming(const struct saikai_loss *loss, const struct saikai_treatment *each, int32_t node)
{
    int32_t n = 0;
    for (uint32_t i = 0; i < loss->n_lost; i++)
        n += each[i].answer == SAIKAI_ANSWER_MIGRATION && each[i].node == node;
    return n;
}

/* What is wrong with the node that a process is to go to: 0 nothing; else a sentence in why. */
static int check_node(const struct saikai_loss *loss, const struct saikai_treatment *each, const struct saikai_lost_process *p, int32_t node,
                      char *why, size_t cap)
{
    const struct saikai_fault_view *v = loss->view;
    if (node == -1)
        return 0;
    if (node < 0 || (uint32_t)node >= v->n_nodes)
        return snprintf(why, cap, "rank %d was to go to node %d, and the job has %u nodes", p->rank, node, v->n_nodes);
    const struct saikai_node *n = &v->nodes[node];
    if (n->state == SAIKAI_NODE_LOST || n->down)
        return snprintf(why, cap, "rank %d was to go to %s, which is %s", p->rank, n->name, n->down ? "down" : "not used any more");
    if (node == p->node)
        return snprintf(why, cap, "rank %d was to go to %s, where it was", p->rank, n->name);
    if (loss->room[node] >= 0 && coming(loss, each, node) > loss->room[node])
        return snprintf(why, cap, "%d of them were to go to %s, which has room for %d", coming(loss, each, node), n->name, loss->room[node]);
    return 0;
}

static int check(const struct sk_recovery_protocol_ops *by, const struct saikai_loss *loss, const struct saikai_treatment *each, uint32_t i,
                 const char *cannot, char *why, size_t cap)
{
    const struct saikai_lost_process *p = &loss->lost[i];
    int answer = each[i].answer;
    if (answer < 0 || answer >= SK_N_ANSWERS)
        return snprintf(why, cap, "%d, for rank %d, is no answer", answer, p->rank);
    if (!(by->ops.answers & 1u << answer))
        return snprintf(why, cap, "'%s', for rank %d, is not among the answers that it may give", sk_answer_name(answer), p->rank);
    switch (answer) {
    case SAIKAI_ANSWER_IGNORE:
        return loss->fault->of & SAIKAI_FAULT_SILENCE ? 0 : snprintf(why, cap, "rank %d is dead, and only silence can be ignored", p->rank);
    case SAIKAI_ANSWER_IN_PLACE:
        return p->in_place ? 0 : snprintf(why, cap, "not in place: %s", cannot);
    case SAIKAI_ANSWER_TRANSFER:
        return p->twin ? 0 : snprintf(why, cap, "not by its twin: %s", cannot);
    case SAIKAI_ANSWER_MIGRATION:
        return check_node(loss, each, p, each[i].node, why, cap);
    default:
        return 0;
    }
}

/* As if no component had been asked. */
static int start_again(const struct saikai_loss *loss)
{
    int leave = loss->fault->of & SAIKAI_FAULT_OF_NODE;
    for (uint32_t i = 0; i < loss->view->n_nodes; i++)
        leave |= loss->view->nodes[i].down && loss->view->nodes[i].state != SAIKAI_NODE_LOST;
    return leave ? SAIKAI_ANSWER_MIGRATION : SAIKAI_ANSWER_RESTART;
}

static void ask(const struct sk_recovery_protocol_ops *by, const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t cap,
                int *rc)
{
    for (uint32_t i = 0; i < loss->n_lost; i++)
        each[i] = (struct saikai_treatment){SAIKAI_ANSWER_RESTART, -1};
    *why = 0;
    *rc = by->ops.decide(loss, each, why, cap);
    why[cap - 1] = 0;
    why[strcspn(why, "\r\n")] = 0;
    if (*rc && !*why)
        snprintf(why, cap, "it has no answer");
}

static void sum_up(const struct saikai_loss *loss, const struct saikai_treatment *each, struct sk_treated *out)
{
    out->answer = SAIKAI_ANSWER_IGNORE;
    out->whole_node = 0;
    for (uint32_t i = 0; i < loss->n_lost; i++) {
        out->answer = stronger(each[i].answer, out->answer);
        out->whole_node |= each[i].answer == SAIKAI_ANSWER_MIGRATION && each[i].node < 0;
    }
    out->wanted = out->answer;
}

void sk_treat(const struct sk_recovery_protocol_ops *by, const struct saikai_loss *loss, const char *cannot, struct saikai_treatment *each,
              struct sk_treated *out)
{
    char why[160];
    int wrong, built_in = is_built_in(by);
    *out = (struct sk_treated){0};
    ask(by, loss, each, why, sizeof why, &wrong);
    int wanted = SAIKAI_ANSWER_RESTART;
    for (uint32_t i = 0; !wrong && i < loss->n_lost; i++) {
        wrong = check(by, loss, each, i, cannot, why, sizeof why);
        wanted = wrong ? each[i].answer : wanted;
    }
    if (wrong && !built_in)
        snprintf(out->said, sizeof out->said, "as recovery protocol %s cannot decide: %s", by->name, why);
    else if (wrong)
        snprintf(out->said, sizeof out->said, "%s", why);
    else if (!built_in && *why)
        snprintf(out->said, sizeof out->said, "as recovery protocol %s says: %s", by->name, why);
    if (wrong) {
        int rc, form = built_in ? SAIKAI_ANSWER_RESTART : start_again(loss);
        ask(sk_recovery_protocol_at(form), loss, each, why, sizeof why, &rc);
    }
    sum_up(loss, each, out);
    if (wrong && wanted >= 0 && wanted < SK_N_ANSWERS)
        out->wanted = wanted;
}
