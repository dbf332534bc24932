/* Where there are more processes than cores, a process that waits for a message sleeps until it is rung by whoever has sent it one, or has received one of its own. Each look
 * in vain takes time from those that compute, and each yield lets them run until their turn is over: beside that a ring is cheap. For processes of one host, by memory
 * that they share; where it cannot be shared nobody is rung, and all wait as before. */
#ifndef SK_WORLD_REST_BELL_H
#define SK_WORLD_REST_BELL_H

#include <stdint.h>

/* Where the others find it. */
struct sk_bell_place {
    uint64_t process, descriptor, nonce; /* nonce 0: there is none */
};

/* By one of so many processes. The descriptor stays open until sk_bell_hang. */
void sk_bell_make(int processes, struct sk_bell_place *at);
/* By the others. 1: it is there. */
int sk_bell_find(int processes, const struct sk_bell_place *at);
/* All have come so far. me: which of the processes this one is; all: each has found it, else nobody uses it. */
void sk_bell_hang(int me, int all);
/* What a ring is for, and what a process sleeps for. What it does not sleep for wakes nobody: two switches of a core, for a look in vain. */
enum {
    SK_BELL_SENT = 1,  /* there is something for it */
    SK_BELL_TAKEN = 2, /* what it has sent is received, or need be kept no more */
    SK_BELL_ALL = 4    /* slept for: all that ends this wait rings */
};
/* How often this process has been rung so far. */
uint32_t sk_bell_rung(void);
/* Something that this process may wait for has happened: one of the above. */
void sk_bell_ring(int process, unsigned what);
/* This process has looked for what it waits for since it had been rung so often, in vain: it sleeps until it is rung for this again, or for a moment, since not all
 * rings: the keeper does not, nor, without SK_BELL_ALL, what MPI does by itself. vain: how many looks were before in a row. 0: nobody would ring. */
int sk_bell_sleep(uint32_t rung, unsigned vain, unsigned what);

#endif
