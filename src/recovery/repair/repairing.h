/* A fault that is repaired while the others stay: what the supervisor does about it. */
#ifndef SK_RECOVERY_REPAIRING_H
#define SK_RECOVERY_REPAIRING_H

#include "recovery/repair/supervisor_parts.h"

/* 1: the fault is repaired while the others stay; 0: it is not, and s->no_place may say why. */
int sk_supervisor_repair(struct sk_supervisor *s, const struct sk_fault *f, double now);
/* When a repair is under way: order it until it is heard, and see whether it has come to its end. 1: it failed, and all is cleared. */
int sk_supervisor_tick_repair(struct sk_supervisor *s, double now);
/* When a warm spare has died in MPI_Init, where all ranks wait for it, and no fault of theirs is heard of: all is cleared, and started again without spares. */
void sk_supervisor_tick_missed(struct sk_supervisor *s, double now);

#endif
