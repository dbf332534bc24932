/* The scrub: a thread that reads what is in the local directory again and again, slowly, and compares every checksum, so that a
 * byte that flipped is found while there is still something to heal it from, and not by the restart that needs it.
 *
 * It only reads, through descriptors of its own (a file that is cut short meanwhile is an error and not a signal), and takes no
 * lock that the program or the committer wait for. What it finds is a suspicion, since files may be retired while they are
 * read: whoever it is told to looks again (heal.c). */
#ifndef SK_LIB_SCRUB_H
#define SK_LIB_SCRUB_H

#include "store/gen.h"
#include "store/holdings.h"

struct sk_scrub;

struct sk_scrub_config {
    const char *root;
    int rank;
    uint32_t incarnation; /* parity files of this start are looked at, too */
    double period; /* seconds in which all is read once … */
    double share;  /* … if that takes no more than this part of one processor's time */
    /* Called by the thread when this rank's file of a generation, or with parity 1 its parity file of it, does not look right. */
    void (*suspect)(void *arg, struct sk_gen gen, int parity, const char *why);
    void *arg;
};

/* NULL with 0: nothing is to be scrubbed (period or share 0). */
int sk_scrub_start(const struct sk_scrub_config *c, struct sk_scrub **out, struct saikai_error *err);
/* At once, wherever it is; once. NULL is accepted by all functions. */
void sk_scrub_stop(struct sk_scrub *s);
/* When nobody uses it any more: after it was stopped. */
void sk_scrub_free(struct sk_scrub *s);
/* What there is from now on, and parity files of this rank; copied. Those that earlier starts made are not looked at: what they
 * protect is coded anew. Without memory the lists stay as they were. */
void sk_scrub_set(struct sk_scrub *s, const struct sk_gen *gen, size_t count, const struct sk_parity_set *set, size_t sets);
/* While on, nothing is read: something that is waited for goes on. */
void sk_scrub_pause(struct sk_scrub *s, int on);
/* How often all was read, and what that took of a processor's time so far. */
void sk_scrub_figures(struct sk_scrub *s, int64_t *passes, uint64_t *bytes, double *cpu_seconds);

#endif
