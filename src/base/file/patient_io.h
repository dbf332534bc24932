/* Operations of io.h in a directory that may hang. A thread says for which directory it has so much patience and no more; what
 * it does there by io.h is then done by threads of their own (patience.h), with copies of all that they touch. */
#ifndef SK_BASE_PATIENT_IO_H
#define SK_BASE_PATIENT_IO_H

#include "base/file/patience.h"

/* From here on, in this thread: what is below root fails with SAIKAI_ETIMEDOUT when it takes longer than p has patience. Both
 * must stay until p is NULL again. */
void sk_patient_io(struct sk_patience *p, const char *root);
/* What this thread said, for threads that it starts. */
struct sk_patient {
    struct sk_patience *p;
    const char *root;
};
struct sk_patient sk_patient_now(void);
/* fn(arg, err) and its result: what io.h has no operation for. For a path below root it is waited for as sk_patience_call does,
 * with the same rules for arg and, as its drop, give_up. */
int sk_patient_call(const char *path, int (*fn)(void *arg, struct saikai_error *err), void (*give_up)(void *arg), void *arg,
                    struct saikai_error *err);

#endif
