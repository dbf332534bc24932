/* What chance decides under the protocol `logging`: which message a receive without a named source and tag gets, whether a receive could still be
 * taken back (MPI_Cancel), and what Test*, Waitany, Waitsome, Probe and Iprobe say. It is kept before the program hears of it (witness.h), and told again to a process that takes the
 * place of a dead one. */
#ifndef SK_WORLD_LOG_CHANCE_H
#define SK_WORLD_LOG_CHANCE_H

#include "world/layer.h"

enum sk_chance {
    SK_CHANCE_TEST, SK_CHANCE_TESTALL, SK_CHANCE_TESTANY, SK_CHANCE_TESTSOME, SK_CHANCE_WAITANY, SK_CHANCE_WAITSOME, SK_CHANCE_GET_STATUS,
    SK_CHANCE_PROBE, SK_CHANCE_IPROBE
};

/* 1: the outcome of this function is chance, and kept; 0: it cannot be, which is said. */
int sk_chance_is_kept(const char *function);
/* 1: these requests are the program's, and kept as above. */
int sk_chance_of(int n, MPI_Request r[], const char *function);

enum { SK_CHANCE_NONE = -1, SK_CHANCE_FREE = -2 };
/* What the process before this one was told by its next call: how many numbers (at most `most`, each below `below`, or at least 0 if that is
 * 0), SK_CHANCE_NONE: nothing had ended, or SK_CHANCE_FREE: nobody knows. Does not return if it made another call. */
int sk_chance_told(enum sk_chance call, int *number, int most, int below);
/* The program is about to hear of it. n: as above. */
void sk_chance_happened(enum sk_chance call, int n, const int *number);

/* The next receive that leaves its message to chance: its number, and 1: what it got is known. */
int sk_chance_next(uint64_t *number, int *source, int *tag);
void sk_chance_matched(uint64_t number, int source, int tag);

/* A receive of the program's begins that could be taken back. 1: the process before this one took it back. */
int sk_chance_begin(void);
/* The number of the newest of these. */
uint64_t sk_chance_newest(void);
/* 1: the process before this one took it back; 0: it was too late for that; -1: nobody knows. */
int sk_chance_told_back(uint64_t number);
void sk_chance_took_back(uint64_t number, int taken);

#endif
