/* A component: a fault model for a memory that is going bad. Two processes of one node that died by SIGBUS or SIGSEGV within a day, where
 * those of other nodes did not, count for that node.
 *
 *   saikai run --set components=/path/fault_model.so --recovery 'network, physical, bad-memory, process' … */
#include <saikai/component.h>
#include <signal.h>
#include <string.h>

static int is_crash(const struct saikai_fault *f)
{
    return !strcmp(f->kind, "signal") && f->node >= 0 && (f->code == SIGBUS || f->code == SIGSEGV);
}

static int matches(const struct saikai_fault *fault, const struct saikai_fault_view *view)
{
    int here = 1;
    if (!is_crash(fault))
        return 0;
    for (uint32_t i = 0; i < view->n_past; i++)
        if (is_crash(&view->past[i]) && fault->at_s - view->past[i].at_s < 86400) {
            if (view->past[i].node != fault->node)
                return 0;
            here++;
        }
    return here >= 2;
}

static const struct saikai_fault_model_ops ops = {matches, SAIKAI_ANSWER_MIGRATION};

static const struct saikai_component bad_memory = {
    .abi = SAIKAI_COMPONENT_ABI,
    .size_bytes = sizeof bad_memory,
    .kind = SAIKAI_KIND_FAULT_MODEL,
    .name = "bad-memory",
    .description = "two processes of one node crashed within a day, and those of others did not",
    .ops = &ops,
    .ops_size_bytes = sizeof ops,
};

const struct saikai_component *const *saikai_components(void)
{
    static const struct saikai_component *const all[] = {&bad_memory, NULL};
    return all;
}
