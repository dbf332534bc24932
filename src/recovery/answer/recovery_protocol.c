/* The table of recovery protocols: those that are built in, and those of components. */
#include "recovery/answer/recovery_protocol.h"

#include <stdatomic.h>

static int all(const struct saikai_loss *loss, struct saikai_treatment *each, int answer)
{
    for (uint32_t i = 0; i < loss->n_lost; i++)
        each[i] = (struct saikai_treatment){answer, -1};
    return 0;
}

/* Of silence alone: the dead stay dead. */
static int ignore(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    (void)why, (void)why_cap;
    return all(loss, each, loss->fault->of & SAIKAI_FAULT_SILENCE ? SAIKAI_ANSWER_IGNORE : SAIKAI_ANSWER_RESTART);
}

static int restart(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    (void)why, (void)why_cap;
    return all(loss, each, SAIKAI_ANSWER_RESTART);
}

/* A single node has no substitute: it is tried again. */
static int migration(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    (void)why, (void)why_cap;
    return all(loss, each, loss->view->n_nodes < 2 ? SAIKAI_ANSWER_RESTART : SAIKAI_ANSWER_MIGRATION);
}

/* A process alone is made again, not a node. */
static int in_place(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    (void)why, (void)why_cap;
    return all(loss, each, loss->fault->of & SAIKAI_FAULT_OF_PROCESS ? SAIKAI_ANSWER_IN_PLACE : SAIKAI_ANSWER_RESTART);
}

/* Also of a node, where each process of it has one elsewhere. */
static int twin(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    (void)why, (void)why_cap;
    int go_on = loss->fault->of & SAIKAI_FAULT_OF_PROCESS;
    for (uint32_t i = 0; !go_on && i < loss->n_lost; i++)
        if (!loss->lost[i].twin)
            return all(loss, each, SAIKAI_ANSWER_RESTART);
    return all(loss, each, SAIKAI_ANSWER_TRANSFER);
}

#define MAY(answer) (1u << SAIKAI_ANSWER_RESTART | 1u << (answer))

/* By SAIKAI_ANSWER_… */
static const struct sk_recovery_protocol_ops forms[SK_N_ANSWERS] = {
    {"ignore", "nothing is done as long as the model matches; of silence alone, else restart", {MAY(SAIKAI_ANSWER_IGNORE), ignore}},
    {"restart", "the job is started again on the same nodes", {MAY(SAIKAI_ANSWER_RESTART), restart}},
    {"migration", "the job is started again, and a spare takes the place of the node", {MAY(SAIKAI_ANSWER_MIGRATION), migration}},
    {"in-place", "the dead process is made again and the others stay (saikai_in_place); restart where that cannot be",
     {MAY(SAIKAI_ANSWER_IN_PLACE), in_place}},
    {"twin", "the twin of the dead process goes on in its place (run.protocol=replication); restart where that cannot be",
     {MAY(SAIKAI_ANSWER_TRANSFER), twin}},
};

static struct sk_recovery_protocol_ops added[SK_MOST_ADDED];
static atomic_int n_added;

static void add(const struct saikai_component *c, int n)
{
    added[n] = (struct sk_recovery_protocol_ops){c->name, c->description, *(const struct saikai_recovery_protocol_ops *)c->ops};
    atomic_store(&n_added, n + 1);
}

const struct sk_recovery_protocol_ops *sk_recovery_protocol_at(int i)
{
    if (i < 0 || i >= SK_N_ANSWERS + atomic_load(&n_added))
        return NULL;
    return i < SK_N_ANSWERS ? &forms[i] : &added[i - SK_N_ANSWERS];
}

SK_OPEN_KIND(sk_recovery_protocol_kind, "recovery-protocol", "recovery protocol", struct sk_recovery_protocol_ops, sk_recovery_protocol_at,
             description, SAIKAI_KIND_RECOVERY_PROTOCOL, struct saikai_recovery_protocol_ops, add);

const char *sk_answer_name(int answer)
{
    return answer >= 0 && answer < SK_N_ANSWERS ? forms[answer].name : "?";
}
