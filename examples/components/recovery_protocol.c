/* A component: a recovery protocol for one process at a time. Who dies for the first time on a node is made again in its place, where that
 * can be, or else with the job on the same node. Who dies where a process died within the hour goes to the emptiest other node alone: its
 * neighbours stay where their checkpoints are.
 *
 *   saikai run --set components=/path/recovery_protocol.so --recovery 'network, physical, process=step-aside' … */
#include <saikai/component.h>
#include <stdio.h>

static int died_here_before(const struct saikai_loss *loss, int32_t node)
{
    for (uint32_t i = 0; i < loss->view->n_past; i++) {
        const struct saikai_fault *f = &loss->view->past[i];
        if (f->of & SAIKAI_FAULT_OF_PROCESS && f->node == node && loss->fault->at_s - f->at_s < 3600)
            return 1;
    }
    return 0;
}

/* Spares first, then the node with the fewest ranks; -1: there is none with room but this one. taken: what was decided before. */
static int32_t emptiest(const struct saikai_loss *loss, int32_t but, const struct saikai_treatment *taken, uint32_t n)
{
    int32_t best = -1, least = 0;
    for (uint32_t i = 0; i < loss->view->n_nodes; i++) {
        const struct saikai_node *node = &loss->view->nodes[i];
        int32_t coming = 0;
        for (uint32_t k = 0; k < n; k++)
            coming += taken[k].answer == SAIKAI_ANSWER_MIGRATION && taken[k].node == (int32_t)i;
        if ((int32_t)i == but || node->down || node->state == SAIKAI_NODE_LOST || (loss->room[i] >= 0 && coming >= loss->room[i]))
            continue;
        if (best < 0 || node->ranks + coming < least) {
            best = (int32_t)i;
            least = node->ranks + coming;
        }
    }
    return best;
}

static int decide(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    for (uint32_t i = 0; i < loss->n_lost; i++) {
        const struct saikai_lost_process *p = &loss->lost[i];
        int32_t other = died_here_before(loss, p->node) ? emptiest(loss, p->node, each, i) : -1;
        if (other >= 0) {
            each[i] = (struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, other};
            snprintf(why, why_cap, "processes die on %s", loss->view->nodes[p->node].name);
        } else if (p->twin) {
            each[i].answer = SAIKAI_ANSWER_TRANSFER;
        } else if (p->in_place && loss->fault->of & SAIKAI_FAULT_OF_PROCESS) {
            each[i].answer = SAIKAI_ANSWER_IN_PLACE;
        } /* else RESTART, as it is */
    }
    if (!*why)
        snprintf(why, why_cap, "it died for the first time, or there is nowhere to go");
    return 0;
}

static const struct saikai_recovery_protocol_ops ops = {
    1u << SAIKAI_ANSWER_RESTART | 1u << SAIKAI_ANSWER_MIGRATION | 1u << SAIKAI_ANSWER_IN_PLACE | 1u << SAIKAI_ANSWER_TRANSFER, decide,
};

static const struct saikai_component step_aside = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof step_aside,
    .kind = SAIKAI_KIND_RECOVERY_PROTOCOL,
    .name = "step-aside",
    .description = "a process that dies where one died before goes to another node, alone",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all[] = {&step_aside, NULL};
    return all;
}
