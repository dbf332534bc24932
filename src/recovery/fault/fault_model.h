/* Fault models: which fault is this, and what is done about it. A recovery is a list of models, each with its recovery protocol
 * (recovery/answer/recovery_protocol.h); the first that
 * matches wins. Pure: what a model sees is saikai_fault_view (saikai/component.h), and components may add models. */
#ifndef SK_RECOVERY_FAULT_MODEL_H
#define SK_RECOVERY_FAULT_MODEL_H

#include "base/config/kind.h"

#include <saikai/component.h>

struct sk_fault_model_ops {
    const char *name, *description;
    struct saikai_fault_model_ops ops;
};

extern const struct sk_kind sk_fault_model_kind;
const struct sk_fault_model_ops *sk_fault_model_at(int i);

enum { SK_MOST_MODELS = 16 };

struct sk_recovery_plan {
    int n;
    struct {
        const struct sk_fault_model_ops *model;
        int protocol; /* what is done about it: place in the table of recovery protocols */
    } step[SK_MOST_MODELS];
};

/* "network, mine=migration, process=restart"; NULL or "": the usual one, as run.recovery has it. SAIKAI_ECONFIG: the sentence says
 * which word is wrong. */
int sk_recovery_parse(const char *text, struct sk_recovery_plan *out, struct saikai_error *err);

/* 1: what is done about one of its models may be this answer (SAIKAI_ANSWER_…). */
int sk_recovery_has(const struct sk_recovery_plan *p, int answer);

/* The first model that matches, NULL: none does; where a node is gone and the plan has no `physical`, that is asked before `process`. *protocol is the one of its step, a restart when none matches. */
const struct sk_fault_model_ops *sk_recovery_choose(const struct sk_recovery_plan *p, const struct saikai_fault *f,
                                                    const struct saikai_fault_view *v, int *protocol);

#endif
