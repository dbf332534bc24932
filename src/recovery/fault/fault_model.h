/* Fault models: which fault is this, and what is done about it. A recovery is a list of models, each with its answer; the first that
 * matches wins. Pure: what a model sees is saikai_fault_view (saikai/component.h), and components may add models. */
#ifndef SK_RECOVERY_FAULT_MODEL_H
#define SK_RECOVERY_FAULT_MODEL_H

#include "base/config/kind.h"

#include <saikai/component.h>

struct sk_fault_model_ops {
    const char *name, *description;
    struct saikai_fault_model_ops ops;
};

/* What is done about a fault. */
struct sk_answer_ops {
    const char *name, *description;
};

extern const struct sk_kind sk_fault_model_kind, sk_answer_kind;
const struct sk_fault_model_ops *sk_fault_model_at(int i);
/* What a twin does for a dead process, whatever the model says (run.protocol=replication): an answer beyond those of components. */
enum { SK_ANSWER_TRANSFER = SAIKAI_ANSWER_IN_PLACE + 1 };

/* Its name; answer: SAIKAI_ANSWER_… */
const char *sk_answer_name(int answer);

enum { SK_MOST_MODELS = 16 };

struct sk_recovery_plan {
    int n;
    struct {
        const struct sk_fault_model_ops *model;
        int answer;
    } step[SK_MOST_MODELS];
};

/* "network, mine=migration, process=restart"; NULL or "": the usual one, as run.recovery has it. SAIKAI_ECONFIG: the sentence says
 * which word is wrong. */
int sk_recovery_parse(const char *text, struct sk_recovery_plan *out, struct saikai_error *err);

/* 1: one of its models has this answer. */
int sk_recovery_has(const struct sk_recovery_plan *p, int answer);

/* The first model that matches, NULL: none does. *answer is what can be done: an IGNORE of what is no silence is a RESTART, as it is
 * when none matches. */
const struct sk_fault_model_ops *sk_recovery_choose(const struct sk_recovery_plan *p, const struct saikai_fault *f,
                                                    const struct saikai_fault_view *v, int *answer);

#endif
