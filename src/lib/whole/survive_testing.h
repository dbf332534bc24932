/* For the tests of protection: a little program in which each rank has a node, which is a
 * directory, and which can be lost. */
#ifndef SK_LIB_SURVIVE_TESTING_H
#define SK_LIB_SURVIVE_TESTING_H

#include "lib/session/session.h"
#include "store/holdings.h"

enum { SURVIVE_MOST = 8 };

/* One start of the program: iterations from…until, a checkpoint at every tenth. */
struct survive_run {
    int ranks, node_of[SURVIVE_MOST]; /* node of each rank */
    const char *config;
    int64_t from;  /* iteration that must be restored, 0: a fresh start, -1: whatever is found */
    int64_t until; /* == from: go on only until what was restored is protected again */
    int64_t
        unprotected;  /* from this iteration on nothing waits for the protection, 0: always wait */
    int64_t protects; /* what must be protected at the end, 0: nothing to be checked */
    int finalize;
    int changes;  /* how many cells change between two checkpoints, 0: all */
    int may_fail; /* 1: input and output fail: nothing is checked but that no wrong data is restored
                   */
    int expect;   /* error code of the restart */
    int64_t found; /* out: iteration restored, -1: wrong data, -2: the restart failed */
    char said[480]; /* out: and how it said so, on rank 0 */
    long begin_at; /* messages and input and output are counted from the end of this iteration on,
                      -1: from the start */
};

extern char survive_dir[64];
extern char survive_log[16384];
/* The program ends with code 42 at this operation (-1: never): input or output, or a message. */
extern long survive_die_at, survive_operations;
extern int survive_messages, survive_errno; /* 1: messages; instead of the end, this error, once */

/* setup and teardown: a new directory; its end. */
int survive_begin(void **state);
int survive_finish(void **state);
/* Returns 0, or what went wrong in negative numbers. */
int survive_start(struct survive_run *r);
/* The same in a process of its own that ends at operation `at`; its exit code, 42 when it did end
 * there, 0 when there are not so many. r->found is not given back. */
int survive_child(const struct survive_run *r, long at);
void survive_lose(int node);
/* The log of the last start says so. */
void survive_says(const char *text);
/* Of the first start: the iteration that the rank's generation builds on, 0: it is full. */
int64_t survive_builds_on(int node, int rank, int64_t it);
/* Flip a bit of a rank's file: its part of the newest generation, or (parity 1) its newest parity
 * file. 0: there is none. */
int survive_flip(int node, int rank, int parity, long at);

#endif
