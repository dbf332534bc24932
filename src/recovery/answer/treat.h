/* Asking a recovery protocol, and checking what it answers. Pure but for what components do. */
#ifndef SK_RECOVERY_TREAT_H
#define SK_RECOVERY_TREAT_H

#include "recovery/answer/recovery_protocol.h"

struct sk_treated {
    int answer;     /* SAIKAI_ANSWER_…, of all together: as soon as one needs a start of the whole job, that */
    int wanted;     /* what it was before it turned out that it cannot be */
    int whole_node; /* of MIGRATION: 1: a spare takes the place of the node; 0: processes go to the nodes that are named */
    char said[240]; /* what a component said, or why its answer, or that of a form that is built in, cannot be; "": nothing */
};

/* Ask; each[loss->n_lost] is what is done for each. cannot: why a process cannot be made again, or its twin go on, where lost says so. What
 * cannot be becomes a restart, or a migration where a node is down. */
void sk_treat(const struct sk_recovery_protocol_ops *by, const struct saikai_loss *loss, const char *cannot, struct saikai_treatment *each,
              struct sk_treated *out);

#endif
