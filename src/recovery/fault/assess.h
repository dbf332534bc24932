/* What a fault is taken for, and how it is answered: the nodes as monitors see them, the faults before it, and the models and
 * recovery protocols of the job. Pure but for what components do. */
#ifndef SK_RECOVERY_ASSESS_H
#define SK_RECOVERY_ASSESS_H

#include "recovery/answer/treat.h"
#include "recovery/fault/detector.h"
#include "recovery/fault/fault_model.h"
#include "recovery/hosts.h"
#include "recovery/repair/rank_copies.h"

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
    const char *lost;    /* by rank: the fault took it */
    const struct sk_copies *copies; /* ranks that are two processes; NULL: all are one, and n_ranks is their number */
    int twins;           /* the twins of all that are lost can go on */
    int in_place;        /* all that are lost can be made again; -1: not known yet */
    const char *cannot;  /* why not */
    double now;
};

struct sk_verdict {
    const struct sk_fault_model_ops *model; /* NULL: none matched */
    int answer;                             /* SAIKAI_ANSWER_… */
    int wanted;                             /* the answer that was wanted before it turned out that it cannot be */
    int leaves;                             /* the host that a migration leaves for the fault itself, -1: only those that are down */
    int spares;                             /* that could take over the ranks of the fault's host */
    /* What is done for each lost process, until the next assessment. */
    uint32_t n_lost;
    const struct saikai_lost_process *lost;
    const struct saikai_treatment *each;
    char said[240]; /* what a component says of that, or why an answer cannot be; "": nothing */
};

struct sk_assessor;
/* NULL: out of memory. */
struct sk_assessor *sk_assessor_new(const struct sk_assess_config *c, int n_hosts, int n_ranks);
void sk_assessor_free(struct sk_assessor *a); /* NULL is accepted */

struct sk_verdict sk_assess(struct sk_assessor *a, const struct sk_fault *f, const struct sk_scene *scene);
/* Of the newest assessment: NULL, or why the host is not to be used. */
const char *sk_assess_down(const struct sk_assessor *a, int host);
/* The fault counts for those after it. */
void sk_assess_remember(struct sk_assessor *a, const struct sk_fault *f, double now);

#endif
