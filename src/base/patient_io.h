/* Operations of io.h in a directory that may hang. A thread says for which directory it has so much patience and no more; what
 * it does there by io.h is then done by threads of their own (patience.h), with copies of all that they touch. */
#ifndef SK_BASE_PATIENT_IO_H
#define SK_BASE_PATIENT_IO_H

#include "base/patience.h"

/* From here on, in this thread: what is below root fails with SAIKAI_ETIMEDOUT when it takes longer than p has patience. Both
 * must stay until p is NULL again. */
void sk_patient_io(struct sk_patience *p, const char *root);

#endif
