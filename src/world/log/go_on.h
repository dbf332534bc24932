/* The protocol `logging` after a repair: counts and messages come into order again. */
#ifndef SK_WORLD_LOG_GO_ON_H
#define SK_WORLD_LOG_GO_ON_H

#include <stdint.h>

/* Before it, when all receives are taken back: 1: this rank could go on. */
int sk_logging_is_able(void);
/* In the repaired world, by all: 1: all are able, and survivors have gone on. before: the number of the repair before it. */
int sk_logging_go_on(int able, uint32_t before);
/* The same, in the process that takes the place of a dead one. */
void sk_logging_join(void);

#endif
