/* Faults as events of the job that met them (saikai/event.h). */
#ifndef SK_RECOVERY_HISTORY_TELL_H
#define SK_RECOVERY_HISTORY_TELL_H

#include "recovery/history/history.h"

/* Add it to the events of the jobs of a prefix whose leases are of the `saikai run` with this number. What cannot be done is left. Blocks as
 * the file system does. */
void sk_history_tell(const char *prefix, uint64_t run, const struct sk_event *e);

/* each(arg, dir, job) for the stores of a prefix whose leases are of the `saikai run` with this number. Blocks in the same way. */
typedef void sk_history_store(void *arg, const char *dir, const char *job);
void sk_history_stores(const char *prefix, uint64_t run, sk_history_store *each, void *arg);

#endif
