/* A group for a thread that works beside the program: it waits without holding a processor, and can
 * be told to stop waiting. Open MPI and MPICH wait by polling, which would take half of a core that
 * the program computes on. */
#ifndef SK_GROUP_PATIENT_H
#define SK_GROUP_PATIENT_H

#include "group/group.h"

#include <stdatomic.h>

/* Local. Takes over g (also on failure); *out waits for transfers by looking at growing distances,
 * at most 0.2 ms. Barrier, broadcast, reduction and gathering are made of g's transfers that do not
 * block (tags 32760 … 32767 are taken for that); split blocks as in g, and what it makes is
 * patient, too.
 *
 * When *stop becomes non-zero, whatever waits gives up with SAIKAI_EPEER, at this and every later
 * call: the groups are then unusable, transfers under way stay under way, and their memory must not
 * be given back. stop NULL: never. It must stay valid until the last of these groups is freed. */
int sk_group_patient(struct sk_group *g, const atomic_int *stop, struct sk_group **out,
                     struct saikai_error *err);

#endif
