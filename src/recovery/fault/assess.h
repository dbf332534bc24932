/* What a fault is taken for, and how it is answered: the nodes as monitors see them, the faults before it, and the models of the
 * job's recovery. Pure but for what monitors of components do. */
#ifndef SK_RECOVERY_ASSESS_H
#define SK_RECOVERY_ASSESS_H

#include "recovery/fault/detector.h"
#include "recovery/fault/fault_model.h"
#include "recovery/hosts.h"

struct sk_assess_config {
    struct sk_recovery_plan plan; /* n 0: the usual one */
    int repeated_faults;          /* 0: never */
    double repeated_window_s, network_patience_s;
};

/* What is known of the hosts when a fault is assessed. */
struct sk_scene {
    const struct sk_hosts *hosts;
    const int *seat;
    int n_ranks;
    const struct sk_detector *detector;
    const char *answered, *answers; /* as probed at first, and now; NULL: not probed */
    double now;
};

struct sk_verdict {
    const struct sk_fault_model_ops *model; /* NULL: none matched */
    int answer;                             /* SAIKAI_ANSWER_… */
    int leaves;                             /* the host that a migration leaves for the fault itself, -1: only those that are down */
    int spares;                             /* that could take over the ranks of the fault's host */
};

struct sk_assessor;
/* NULL: out of memory. */
struct sk_assessor *sk_assessor_new(const struct sk_assess_config *c, int n_hosts);
void sk_assessor_free(struct sk_assessor *a); /* NULL is accepted */

struct sk_verdict sk_assess(struct sk_assessor *a, const struct sk_fault *f, const struct sk_scene *scene);
/* Of the newest assessment: NULL, or why the host is not to be used. */
const char *sk_assess_down(const struct sk_assessor *a, int host);
/* The fault counts for those after it. */
void sk_assess_remember(struct sk_assessor *a, const struct sk_fault *f, double now);

#endif
