/* Recovery protocols: what is done for each process that a fault takes. The table has the forms that are built in, each of which gives the
 * same answer to all processes, and those of components (saikai/component.h). Pure. */
#ifndef SK_RECOVERY_PROTOCOL_TABLE_H
#define SK_RECOVERY_PROTOCOL_TABLE_H

#include "base/config/kind.h"

#include <saikai/component.h>

enum { SK_N_ANSWERS = SAIKAI_ANSWER_TRANSFER + 1 };

struct sk_recovery_protocol_ops {
    const char *name, *description;
    struct saikai_recovery_protocol_ops ops;
};

extern const struct sk_kind sk_recovery_protocol_kind;
/* The i-th, NULL past the last. The first SK_N_ANSWERS are built in, in the order of SAIKAI_ANSWER_…. */
const struct sk_recovery_protocol_ops *sk_recovery_protocol_at(int i);
/* The name of an answer, which is that of the built-in form that gives it; answer: SAIKAI_ANSWER_… */
const char *sk_answer_name(int answer);

#endif
