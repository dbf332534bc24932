/* The layer's own small messages between any two processes. */
#ifndef SK_WORLD_REPLICA_CONTROL_H
#define SK_WORLD_REPLICA_CONTROL_H

#include <stdint.h>

enum { SK_CONTROL_WORDS = 64, SK_CONTROL_ACK_WORDS = 3 };
enum sk_control { SK_CONTROL_ACK, SK_CONTROL_CUT, SK_CONTROL_CUT_END, SK_CONTROL_LEFT, SK_CONTROL_WILD, SK_CONTROL_OUTCOME, SK_CONTROL_TAKEN, SK_CONTROL_HASH, SK_CONTROL_GONE,
                  SK_CONTROL_BACK };
void sk_control_tell(int process, const uint64_t *word, int n);
/* Until MPI has what the living were told, or it takes too long. */
void sk_control_drain(void);
/* Take what has come. */
void sk_control_listen(void);

#endif
